//! Migrations of whole clusters: what is asked of a cloud during one and what must hold of it, and what happens amid it, from a
//! seed. Functions of their input; the clusters themselves are in the test `real_migration`.

pub mod balancers;
pub mod plan;
pub mod request;
pub mod writers;
