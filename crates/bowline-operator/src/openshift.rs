//! The same loop with OpenShift's inputs and outputs: what cluster-cloud-controller-manager-operator does in two processes, in
//! one pass. None of OpenShift's kinds is required: where they do not exist, nothing of this runs.
//!
//! Everything that is used is watched. A version is published only when the managers are rolled out, and each condition has
//! one writer.

mod cluster_operator;
mod config_hash;
mod inputs;
mod kinds;
mod pass;
mod sync;
mod trouble;
mod watches;

#[cfg(test)]
mod tests;

pub use self::cluster_operator::{NAME, OperatorReport, Reported, related_objects, report};
pub use self::inputs::{Inputs, ProxyInput};
pub use self::kinds::{KINDS, Kind};
pub use self::pass::{OWNER, OpenShift, Parts};
pub use self::trouble::Trouble;
