//! The operator on the real kube-apiserver. No controller runs there: what kubelets and controllers would do, `stage` does.

mod applying;
mod openshift;
mod plain;
mod removal;
mod stage;
mod standby;
