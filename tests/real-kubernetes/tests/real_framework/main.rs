//! All controllers together over the scripted cloud, on a real kube-apiserver, under the rights that we ship: in turmoil,
//! and with bad input. Needs the servers' binaries: `cargo xtask kubernetes`.

#![expect(clippy::indexing_slicing, reason = "what is not there fails the test, as it should")]

mod bad_input;
mod harness;
mod kubelet;
mod turmoil;
mod world;
