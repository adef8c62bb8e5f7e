//! kube's own client and watcher on the server, under virtual time: what controllers rely on.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::needless_pass_by_value,
    reason = "helpers of tests fail by panicking, and take literals"
)]

mod cluster;
mod custom;
mod faults;
mod kubectl;
mod limits;
mod objects;
mod patches;
mod services;
mod watches;
