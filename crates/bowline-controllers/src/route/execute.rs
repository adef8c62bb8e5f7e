//! Executes planned changes in the cloud and writes conditions. Its only decision is to stop when further requests are pointless.

use std::collections::BTreeMap;

use bowline_cloud::{CloudError, ErrorClass, Fence, NodeView, Planned, RouteChange, Routes};
use bowline_kube::write::{Change, Guard, WriteClass, WriteError, Writer};
use ipnet::IpNet;
use k8s_openapi::api::core::v1::Node;
use k8s_openapi::jiff::Timestamp;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::condition::Network;

/// An executed change and its result.
pub(super) type Tried = (RouteChange, Result<(), CloudError>);

/// Executes the changes of a reconcile in the cloud.
pub(super) struct Hands<'a> {
    pub(super) routes: &'a dyn Routes,
    pub(super) cluster: &'a str,
    pub(super) fence: &'a dyn Fence,
    pub(super) cancel: &'a CancellationToken,
    pub(super) batch: usize,
}

impl Hands<'_> {
    /// Executes the changes in batches; the changes of one destination are never split. Returns every change that was tried, by
    /// destination. Missing changes were not begun, because the process stops or may not change anything.
    pub(super) async fn perform(
        &self,
        changes: BTreeMap<IpNet, Vec<Planned<RouteChange>>>,
    ) -> BTreeMap<IpNet, Vec<Tried>> {
        let mut tried: BTreeMap<IpNet, Vec<Tried>> = BTreeMap::new();
        for batch in batches(changes, self.batch) {
            if self.cancel.is_cancelled() {
                break;
            }
            let steps: Vec<RouteChange> = batch.iter().map(|(_, planned)| planned.step.clone()).collect();
            let mut answers = self.routes.apply(self.cluster, &steps, self.fence).await.into_iter();
            let mut useless = false;
            for (destination, planned) in batch {
                let answer = answers.next().unwrap_or_else(no_answer);
                let answer = forgive_gone(&planned.step, answer);
                useless |= answer.as_ref().is_err_and(|error| may_not_go_on(error.class()));
                log(&planned, &answer);
                tried.entry(destination).or_default().push((planned.step, answer));
            }
            if useless {
                break;
            }
        }
        tried
    }
}

/// Whether an error concerns this process and not the change: further changes would fail the same way.
pub(super) fn may_not_go_on(class: ErrorClass) -> bool {
    matches!(class, ErrorClass::Fenced | ErrorClass::Unauthenticated)
}

fn no_answer() -> Result<(), CloudError> {
    Err(CloudError::transient("the cloud gave no answer about this change"))
}

/// Deleting a route that does not exist counts as success.
fn forgive_gone(step: &RouteChange, answer: Result<(), CloudError>) -> Result<(), CloudError> {
    match (step, answer) {
        (RouteChange::Delete(_), Err(error)) if error.class() == ErrorClass::NotFound => Ok(()),
        (_, answer) => answer,
    }
}

fn log(planned: &Planned<RouteChange>, answer: &Result<(), CloudError>) {
    let (verb, route) = match &planned.step {
        RouteChange::Create { route, .. } => ("create", route),
        RouteChange::Delete(route) => ("delete", route),
    };
    let node = route.target_node.as_deref().unwrap_or("?");
    let (destination, reason) = (route.destination, &planned.reason);
    match answer {
        Ok(()) => info!(verb, %destination, node, name = route.name, reason, "changed a route"),
        Err(error) => {
            warn!(verb, %destination, node, name = route.name, reason, %error, "could not change a route");
        }
    }
}

type Batch = Vec<(IpNet, Planned<RouteChange>)>;

fn batches(changes: BTreeMap<IpNet, Vec<Planned<RouteChange>>>, size: usize) -> Vec<Batch> {
    let mut batches: Vec<Batch> = Vec::new();
    for (destination, steps) in changes {
        let steps = steps.into_iter().map(|planned| (destination, planned));
        match batches.last_mut() {
            Some(last) if last.len() + steps.len() <= size => last.extend(steps),
            _ => batches.push(steps.collect()),
        }
    }
    batches
}

/// Writes the condition, with the UID of the Node as precondition. A deleted or replaced Node counts as success.
pub(super) async fn write_condition(
    writer: &Writer,
    node: &NodeView,
    network: Network,
    now: Timestamp,
) -> Result<(), WriteError> {
    let guard = Guard::Uid(node.uid.to_string());
    let change = Change::Strategic(network.patch(now));
    match writer.patch_status::<Node>(None, &node.name, &guard, change).await {
        Ok(_written) => Ok(()),
        Err(error) if error.class() == WriteClass::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use bowline_cloud::Route;

    use super::*;

    #[test]
    fn a_batch_is_full_when_the_next_destination_does_not_fit_whole() {
        let net = |i: u8| -> IpNet { format!("10.0.{i}.0/24").parse().unwrap() };
        let steps = |i: u8, count: usize| {
            let delete = RouteChange::Delete(Route::new("", None, net(i)));
            (net(i), vec![Planned::new(delete, ""); count])
        };
        let changes = BTreeMap::from([steps(0, 2), steps(1, 1), steps(2, 2), steps(3, 5), steps(4, 1)]);
        let sizes: Vec<_> = batches(changes, 3).iter().map(Vec::len).collect();
        assert_eq!(sizes, [3, 2, 5, 1]);
    }
}
