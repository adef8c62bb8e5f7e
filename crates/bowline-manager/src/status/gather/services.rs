//! The Services: what each requests, its state, and its last plan.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use bowline_cloud::{ConditionStatus, ServiceView, Standing};
use bowline_controllers::reference::CONDITIONS;
use bowline_controllers::service::desire::purpose;
use bowline_kube::informer::{Informer, Snapshot};

use super::{SERVICES_PER_PAGE, balancer, listing as paged};
use crate::status::board::{Board, Parts};
use crate::status::notebook::{Notes, Stood};
use crate::status::overview::{Listing, ServiceCounts, ServiceRow};
use crate::status::query::Query;

/// How urgently a Service needs a user's attention.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Need {
    None,
    Held,
    Moving,
    Trouble,
}

struct Seen<'a> {
    view: Arc<ServiceView>,
    stood: Option<&'a Stood>,
    need: Need,
}

/// The number of Services that do not have what they request, by reason.
pub(in crate::status) fn unsettled(board: &Board) -> BTreeMap<&'static str, u64> {
    let (services, _known) = views(&board.parts());
    let notes = board.notebook.read();
    let mut counts = BTreeMap::new();
    for seen in services.into_iter().filter_map(|view| seen(&notes, view)) {
        if let Some(reason) = reason(&seen) {
            *counts.entry(reason).or_default() += 1;
        }
    }
    counts
}

/// Why a Service does not have what it requests. Reasons come from a fixed set, because anyone who may write the status of Services could
/// invent conditions.
fn reason(seen: &Seen<'_>) -> Option<&'static str> {
    let condition =
        seen.view.condition.as_deref().filter(|condition| condition.status != ConditionStatus::True);
    let known = |reason: &str| CONDITIONS.iter().find(|row| row.reason == reason).map(|row| row.reason);
    let said = || condition.and_then(|condition| known(&condition.reason));
    Some(match seen.stood.map(|stood| &stood.standing) {
        // The Service works, but lacks something that it requests.
        Some(Standing::Settled) => return said(),
        Some(Standing::Elsewhere) => return None,
        Some(Standing::Waits { .. }) => "WaitingForCloud",
        Some(Standing::Acts { .. }) => "InProgress",
        Some(Standing::Refused { .. }) => "Refused",
        Some(Standing::Unknown { .. }) => "CloudNotObserved",
        Some(Standing::Failed { .. }) if seen.view.deleted_at.is_some() => "RemovalFailed",
        Some(Standing::Failed { .. }) => "SyncFailed",
        Some(Standing::Held { rail, .. }) => rail,
        None if seen.need == Need::None => return said(),
        None => said().unwrap_or("NotObserved"),
    })
}

/// All Services, and whether the informer's first list was complete.
fn views(parts: &Parts) -> (Vec<Arc<ServiceView>>, bool) {
    let Some(informer) = &parts.services else { return (Vec::new(), false) };
    let snapshot = informer.snapshot();
    (snapshot.objects().iter().map(|object| object.view.clone()).collect(), informer.has_synced())
}

pub(super) fn listing(board: &Board, query: &Query) -> (Listing<ServiceRow>, ServiceCounts) {
    let parts = board.parts();
    let (services, known) = views(&parts);
    let notes = board.notebook.read();
    let ours: Vec<Seen<'_>> = services.into_iter().filter_map(|view| seen(&notes, view)).collect();
    let count = |need: Need| ours.iter().filter(|seen| seen.need == need).count();
    let counts = ServiceCounts {
        settled: count(Need::None),
        moving: count(Need::Moving),
        held: count(Need::Held),
        troubled: count(Need::Trouble),
    };
    let total = ours.len();
    let mut sorted: Vec<_> = ours.into_iter().filter(|seen| matches(seen, query)).collect();
    sorted.sort_by(|a, b| {
        (Reverse(a.need), &a.view.namespace, &a.view.name).cmp(&(
            Reverse(b.need),
            &b.view.namespace,
            &b.view.name,
        ))
    });
    let nodes = parts.nodes.as_ref().map(Informer::snapshot);
    let row = |seen: &Seen<'_>| {
        let behind = || {
            let objects = nodes.as_ref().map(Snapshot::objects).unwrap_or_default();
            objects.iter().map(|object| &object.view)
        };
        row(&notes, seen, behind)
    };
    (paged(sorted.into_iter(), total, known, (query.service_page, SERVICES_PER_PAGE), row), counts)
}

/// `None` unless the Service has a load balancer of this manager or requests one.
fn seen(notes: &Notes, view: Arc<ServiceView>) -> Option<Seen<'_>> {
    purpose(&view, false)?;
    let stood = notes.services.get(&view.key());
    let need = match stood.map(|stood| &stood.standing) {
        Some(Standing::Settled | Standing::Elsewhere) => Need::None,
        Some(Standing::Waits { .. } | Standing::Acts { .. }) => Need::Moving,
        Some(Standing::Held { .. }) => Need::Held,
        Some(_) => Need::Trouble,
        None if view.status.ingress.is_empty() || view.deleted_at.is_some() => Need::Moving,
        None => Need::None,
    };
    Some(Seen { view, stood, need })
}

fn matches(seen: &Seen<'_>, query: &Query) -> bool {
    let name = || format!("{}/{}", seen.view.namespace, seen.view.name);
    (!query.unsettled || seen.need != Need::None)
        && (query.service.is_empty() || name().contains(&query.service))
}

fn row<'n, N>(notes: &Notes, seen: &Seen<'_>, behind: impl Fn() -> N) -> ServiceRow
where
    N: Iterator<Item = &'n Arc<bowline_cloud::NodeView>>,
{
    let view = &seen.view;
    let key = view.key();
    let kept = notes.balancers.iter().find(|(of, _)| *of == key).map(|(_, drawn)| drawn.clone());
    let plan = notes.plans.iter().find(|(of, _)| *of == key).map(|(_, plan)| plan.clone());
    ServiceRow {
        namespace: view.namespace.to_string(),
        name: view.name.to_string(),
        addresses: addresses(view),
        standing: seen.stood.map(|stood| stood.standing.clone()),
        since: seen.stood.map(|stood| stood.since),
        says: says(seen),
        leaving: view.deleted_at.is_some(),
        balancer: balancer::shown(kept, || balancer::asked_for(view, behind())),
        plan,
    }
}

fn addresses(view: &ServiceView) -> Vec<String> {
    let ingress = view.status.ingress.iter();
    let words = ingress.filter_map(|ingress| {
        let name = ingress.hostname.as_ref().map(ToString::to_string);
        name.or_else(|| ingress.ip.map(|ip| ip.to_string()))
    });
    words.collect()
}

/// What the Service waits for, or its problem, in one line.
fn says(seen: &Seen<'_>) -> Option<String> {
    let from_standing = seen.stood.and_then(|stood| match &stood.standing {
        Standing::Settled | Standing::Elsewhere => None,
        Standing::Waits { reason } => Some(reason.clone()),
        Standing::Acts { steps, .. } => steps.first().map(|step| format!("{} – {}", step.text, step.reason)),
        Standing::Refused { problems } => Some(problems.join("; ")),
        Standing::Unknown { why } | Standing::Failed { why } | Standing::Held { why, .. } => {
            Some(why.clone())
        }
    });
    let condition = || seen.view.condition.as_deref().filter(|c| c.status != ConditionStatus::True);
    match seen.stood {
        Some(_) => from_standing,
        None => condition().map(|condition| condition.message.to_string()),
    }
}
