//! What a person can do about a Service or a Node: one row for each piece of advice, in the order in which a person would follow them.

pub mod node;
pub mod service;

use bowline_cloud::PAUSED;

use crate::status::leader::Leader;

/// What comes first wherever it is so, for nothing else helps.
fn no_manager_works(leader: &Leader) -> Option<String> {
    leader.problem.as_deref().map(|why| format!("no manager works: {why}; see kubectl bowline doctor"))
}

/// Nothing is changed while the cloud does not know who asks.
fn identity_lost(leader: &Leader) -> Option<String> {
    leader.identity_lost.as_deref().map(|why| {
        format!(
            "the cloud does not know the manager any more ({why}), so nothing is changed: renew the credentials in its cloud.conf"
        )
    })
}

fn cluster_paused(leader: &Leader) -> Option<String> {
    let why = leader.paused.as_deref()?;
    let (namespace, lease) = leader.lease.split_once('/').unwrap_or_default();
    Some(format!(
        "the whole cluster is paused ({why}): kubectl -n {namespace} annotate lease {lease} {PAUSED}-"
    ))
}
