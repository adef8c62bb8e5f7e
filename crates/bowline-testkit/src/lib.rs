//! The test kit: one of each thing that the test suites of Bowline need and that is too heavy for a unit test.
//!
//! It is for tests only: nothing here may be linked into a binary that ships.
//!
//! | module | what it is |
//! |---|---|
//! | [`apiserver`] | a real kube-apiserver with etcd |
//! | [`simulated`] | the simulated API server over HTTP |
//! | [`objects`], [`manifest`] | preconditions in a cluster, and its cleanup |
//! | [`services`], [`nodes`] | Services and Nodes as their owners use them |
//! | [`manager`] | a manager under test: flags, process, serving port |
//! | [`process`], [`command`], [`mod@kubectl`] | programs that run, programs that end, kubectl |
//! | [`eventually`], [`Wait`] | waiting for conditions |

pub mod apiserver;
#[expect(
    clippy::indexing_slicing,
    reason = "of JSON: an answer without what is looked for fails the test, as it should"
)]
pub mod cloud;
pub mod command;
mod eventually;
pub mod http;
pub mod kubectl;
pub mod manager;
pub mod manifest;
pub mod nodes;
pub mod objects;
pub mod process;
pub mod proxy;
pub mod services;
pub mod simulated;
mod wait;

pub use self::eventually::{deadline, eventually, within};
pub use self::wait::Wait;
