//! The sample's cloud-controller-manager as users run it: the real binary, against a real kube-apiserver and etcd, under
//! the rights that we ship. Needs their binaries: `cargo xtask kubernetes`.

#![expect(clippy::indexing_slicing, reason = "an answer without the field fails the test, as it should")]

mod ccm;
mod client_go;
mod controllers;
mod election;
mod go_like;
mod migration;
mod serving;
mod work;
