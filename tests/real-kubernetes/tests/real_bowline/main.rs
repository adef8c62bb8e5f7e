//! `bowline` as people run it: the real binary, a real kube-apiserver and etcd, the rights that are shipped, and a simulated OpenStack over
//! HTTP. The playground, which brings its own API server, is driven by the real clients.
//!
//! Needs the binary (`cargo build --bin bowline`) and the programs of `cargo xtask kubernetes` and `cargo xtask openstack-client`. What needs
//! a client that is missing is not tested, said aloud.

#![expect(
    clippy::indexing_slicing,
    reason = "an answer without what is looked for fails the test, as it should"
)]

#[path = "../../../../sim/sim-openstack/tests/openstack_client/location.rs"]
#[allow(dead_code, unreachable_pub, reason = "the file is part of xtask as well")]
mod client_location;
mod harness;
mod nodes;
mod openstack;
mod people;
mod playground;
#[path = "../../../../crates/bowline/tests/playground/process.rs"]
mod playground_process;
mod services;
mod shadow;
