//! What kube-rs lacks for a cloud-controller-manager.
//!
//! kube gives the client, the types and the watcher. This crate adds what a CCM needs on top of them: informers over
//! projections, a keyed queue, leader election with a fence, a ledger for the next leader, aggregated events, and writes with guards and deadlines.
//! All waiting is on tokio's clock, so a virtual hour costs a millisecond in a test.

pub mod client;
pub mod clock;
pub mod events;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
pub mod informer;
pub mod lease;
pub mod ledger;
pub mod objects;
pub mod queue;
pub mod terminal;
pub mod write;

#[cfg(test)]
mod scripted_api;
