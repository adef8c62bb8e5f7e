//! The operator on the real kube-apiserver. No controller runs there: what kubelets and controllers would do, `harness` does.

#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "an object without what is looked for fails the test, as it should"
)]
#![expect(clippy::needless_pass_by_value, reason = "values written down at the call")]

mod applying;
mod attacks;
mod hand_over;
mod harness;
mod openshift;
mod plain;
mod removal;
mod standby;
mod static_pods;
mod telling;
mod upgrade;
