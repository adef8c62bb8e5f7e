//! `bowline ccm` as users run it: the real binary, against a real kube-apiserver and etcd, and a simulated OpenStack over
//! HTTP. Needs their binaries: `cargo xtask kubernetes`.

mod nodes;
mod site;
