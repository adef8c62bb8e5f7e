//! The whole of Bowline in a simulated world: replicas of the manager with their leader election, all controllers and the
//! OpenStack provider, between `sim-kube` and `sim-openstack`, with people and cloud operators at work and with faults, in one
//! thread on virtual time, all of it from one seed.
//!
//! [`run()`] is the one entry: a [`Case`](case::Case) in, a [`Report`](report::Report) out, and the same case gives the same
//! report. Nothing here knows how Bowline decides; it sees requests and states, as a cluster and a cloud do.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a simulation that cannot go on is of no use, and must say so at once"
)]

pub mod action;
pub mod case;
pub mod cloud_link;
pub mod fault;
pub mod invariants;
pub mod kube_link;
pub mod museum;
pub mod net;
pub mod replica;
pub mod report;
mod run;
pub mod scenarios;
pub mod shrink;
pub mod swarm;
pub mod tally;
pub mod trace;
pub mod world;

pub use run::run;
