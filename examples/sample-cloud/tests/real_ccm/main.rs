//! The sample's cloud-controller-manager as users run it: the real binary, against a real kube-apiserver and etcd, under
//! the rights that we ship. Needs their binaries: `cargo xtask kubernetes`.

mod ccm;
mod election;
mod go_like;
mod migration;
mod serving;
mod work;
