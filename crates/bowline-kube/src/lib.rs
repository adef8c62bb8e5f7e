//! What a cloud-controller-manager (CCM) needs and kube-rs does not provide.
//!
//! kube provides the client, the types and the watcher. This crate adds informers over projections, a keyed queue, leader election with a
//! fence, a store in which a leader leaves one value per object for the next leader, aggregated events, and writes with guards and
//! deadlines. All waiting uses tokio's clock, so an hour of virtual time takes about a millisecond in a test.

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
