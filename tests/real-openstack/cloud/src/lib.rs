//! A real OpenStack on loopback to test against: Keystone, Placement, Glance, Nova, Neutron and Octavia, as released.
//!
//! [`up`] installs ([`prepare`] does only that), configures, starts and seeds it; [`Cloud::open`] gives a test what it needs to know and to break. What is not
//! real: the hypervisor (Nova's fake driver), the datapath (OVS' dummy) and the agent in the amphorae (Octavia's no-op driver), so
//! that no packet flows. Everything above is: databases, queues, OVN, states and their timing.
//!
//! Independent of the rest of the workspace: it must not know what is tested with it.

// The same file that the test harness and xtask use.
#[path = "../../../../crates/bowline-testkit/src/apiserver/cache.rs"]
#[expect(unreachable_pub, reason = "the file is part of a library as well")]
mod cache;
mod certificates;
mod cloud;
mod configure;
mod description;
mod faults;
mod fingerprint;
mod http;
mod install;
mod interrupt;
mod machine;
mod process;
mod procfs;
mod progress;
mod settings;
mod shell;
mod start;
mod status;
mod template;
mod units;
mod up;

pub use cloud::{Cloud, Service, TableLock};
pub use description::{Account, Accounts, ApplicationCredential, Description, Estate, Server, Tls};
pub use faults::{Fault, inflict};
pub use interrupt::{Interrupt, Interrupted};
pub use machine::Unsupported;
pub use settings::{Choices, Settings};
pub use shell::{ConfOptions, Who, cloud_conf, exports};
pub use status::{ApiStatus, ServiceState, ServiceStatus, Status};
pub use up::{down, prepare, up, wipe};
