//! A real kube-apiserver and etcd for tests, on free loopback ports, with throw-away certificates and RBAC.
//!
//! ```no_run
//! # async fn a_test() -> anyhow::Result<()> {
//! use bowline_testkit::apiserver::{Cluster, Identity};
//!
//! let cluster = Cluster::shared().await?; // one per test process
//! let namespace = cluster.namespace("leases").await?; // what separates the tests
//! let client = cluster.client(&Identity::service_account(&namespace, "controller")).await?;
//! # Ok(())
//! # }
//! ```
//!
//! Tests that break the server (stop, pause) take their own with [`Cluster::start`]: those methods need `&mut`, which
//! [`Cluster::shared`] does not hand out. There is no kube-controller-manager: namespaces are never emptied, owners
//! are not collected, no ServiceAccount appears by itself.
//!
//! The servers stop when the `Cluster` is dropped, when a test panics, and when the test process is killed; their
//! folder (data, logs, keys) goes with them. `BOWLINE_KEEP=1` leaves the folder behind.

mod arguments;
pub mod binaries;
mod cluster;
mod identity;
mod janitor;
mod outage;
mod pki;
mod ports;
mod process;
mod ready;
mod runs;

pub use binaries::{Binaries, cache_folder, kubernetes_version};
pub use cluster::Cluster;
pub use identity::Identity;
pub use runs::RunCluster;
