//! Load balancers: what a Service may say about Octavia and Neutron, and what things are called there.
//!
//! Pure so far: no client, no clock, no runtime. [`annotations`] is the table of what a Service may say, [`features`] is what
//! the cloud can do, [`names`] knows what things are called in it.

pub mod annotations;
pub mod features;
pub mod names;
pub mod subnet_choice;
