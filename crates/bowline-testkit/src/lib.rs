//! The test kit: one of each thing that the tests of Bowline share. Suites take processes, a real API server and waiting from it;
//! unit tests take a cluster in memory ([`memory_cluster`]), a cloud ([`provider`]) and a fence ([`fence`]).
//!
//! It is for tests only: nothing here may be linked into a binary that ships. It depends on no crate above `bowline-cloud`, because the
//! unit tests of those use it. Unit tests move the clock with tokio's paused time.
//!
//! | module | what it is |
//! |---|---|
//! | [`apiserver`] | a real kube-apiserver with etcd |
//! | [`simulated`] | the simulated API server over HTTP |
//! | [`memory_cluster`] | the simulated API server without HTTP, for unit tests |
//! | [`cloud`], [`proxy`], [`http`] | the simulated OpenStack over HTTP, reverse proxies, the server under both |
//! | [`provider`], [`fence`] | a provider and a fence with scripted answers |
//! | [`objects`], [`manifest`] | preconditions in a cluster, and its cleanup |
//! | [`services`], [`nodes`] | Services and Nodes as their owners use them |
//! | [`manager`] | a manager under test: flags, process, serving port |
//! | [`process`], [`command`], [`mod@kubectl`] | programs that run, programs that end, kubectl |
//! | [`script`] | scripts of requests to two servers whose answers are compared |
//! | [`eventually`], [`eventually_blocking`], [`eventually_virtual`], [`Wait`] | waiting for conditions |

pub mod apiserver;
#[expect(
    clippy::indexing_slicing,
    reason = "of JSON: an answer without what is looked for fails the test, as it should"
)]
pub mod cloud;
pub mod command;
mod eventually;
pub mod fence;
pub mod http;
pub mod kubectl;
pub mod manager;
pub mod manifest;
pub mod memory_cluster;
pub mod nodes;
pub mod objects;
pub mod process;
pub mod provider;
pub mod proxy;
pub mod script;
pub mod services;
pub mod simulated;
mod wait;

pub use self::eventually::{deadline, eventually, eventually_blocking, eventually_virtual, scaled};
pub use self::wait::Wait;
