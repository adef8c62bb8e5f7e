//! Previews what would be done for one Service, and the machines of Nodes: the same as in the shadow report, for single objects.
//!
//! The desired state and the set of nodes are those of the service controller, the plan is the provider's. Nothing is written.

use std::sync::Arc;
use std::time::Duration;

use bowline_cloud::shadow::Finding;
use bowline_cloud::{
    AnyObserved, BalancerPicture, Doubt, ErrorClass, Evidence, Instance, Instances, LoadBalancerPolicy,
    LoadBalancerRequest, NodeSet, NodeView, ServiceView,
};
use k8s_openapi::jiff::Timestamp;

use super::judge::{Judged, Outcome};
use crate::rails::adopt_only::words;
use crate::rails::claim::{Claimed, claimed};
use crate::rails::node_filter::NodeFilter;
use crate::service::desire::{pause_of, purpose};
use crate::service::leaving::{LeavingNodes, draining, leaving};
use crate::service::nodes::{next_set, select};

/// The maximum number of direct reads of machines in one call. Few machines are missing in a list, unless the list is wrong.
const MOST_DIRECT_READS: usize = 50;

/// What would be done for one Service.
#[derive(Debug, Clone)]
pub struct Preview {
    /// The Service.
    pub service: Arc<ServiceView>,
    /// What would be done, and why. Present for settled Services too.
    pub finding: Finding,
    /// The state of the load balancer; `None` if none was found.
    pub picture: Option<BalancerPicture>,
}

/// The machine of a Node.
#[derive(Debug, Clone)]
pub enum Machine {
    /// This manager does not handle the Node, for this reason.
    Foreign(String),
    /// The Node is handled by this manager; the machine according to the cloud.
    Ours(Evidence<Instance>),
}

/// The request that the service controller would make; `None` if it does not handle the Service. Leaving nodes are derived from the Nodes
/// alone, without the state of the service controller.
#[must_use]
pub fn request(
    policy: &dyn LoadBalancerPolicy,
    cluster: &Arc<str>,
    service: &Arc<ServiceView>,
    nodes: &[Arc<NodeView>],
    now: Timestamp,
) -> Option<LoadBalancerRequest> {
    let purpose = purpose(service, false)?;
    let nodes = node_set(nodes, policy.drains(service), now);
    Some(LoadBalancerRequest {
        cluster: cluster.clone(),
        service: service.clone(),
        nodes,
        purpose,
        fingerprints: Vec::new(),
        urgency: bowline_cloud::Urgency::User,
        services: bowline_cloud::ServiceDirectory::default(),
    })
}

/// The nodes that get the traffic of a Service. `drain` is how long its load balancer drains leaving nodes; `None` if it does not.
#[must_use]
pub fn node_set(nodes: &[Arc<NodeView>], drain: Option<Duration>, now: Timestamp) -> NodeSet {
    let leaves = leaving(&LeavingNodes::default(), &NodeSet::default(), nodes, now);
    let leaving = drain.map(|period| draining(&leaves, period, now).0).unwrap_or_default();
    NodeSet { leaving, ..next_set(&NodeSet::default(), select(nodes)) }
}

/// What would be done, from the observation for the request. Pure. Lists all steps. For a Service that its owner paused, the steps are
/// listed and the verdict is paused.
#[must_use]
pub fn preview(
    request: &LoadBalancerRequest,
    observed: Result<Box<dyn AnyObserved>, Doubt>,
    now: Timestamp,
) -> Preview {
    let observed = match observed {
        Ok(observed) => observed,
        Err(doubt) => return unknown(&request.service, &doubt),
    };
    let mut judged = judged(request, observed.as_ref(), now, usize::MAX);
    if let Some(why) = pause_of(&request.service) {
        judged = Judged { planned: judged.planned, ..Judged::paused(why) };
    }
    let finding = finding(&request.service, judged);
    Preview { service: request.service.clone(), finding, picture: observed.picture() }
}

/// The preview if the state of the cloud is unknown.
#[must_use]
pub fn unknown(service: &Arc<ServiceView>, why: &Doubt) -> Preview {
    let finding = finding(service, Judged::unknown(why));
    Preview { service: service.clone(), finding, picture: None }
}

/// Plans with an observation, and lists at most `most_steps` steps.
pub(super) fn judged(
    request: &LoadBalancerRequest,
    observed: &dyn AnyObserved,
    now: Timestamp,
    most_steps: usize,
) -> Judged {
    Outcome {
        service: &request.service,
        purpose: request.purpose,
        plan: &observed.plan(now),
        outlook: observed.expected_status().as_ref(),
        notes: &observed.annotations().missing_from(&request.service.annotations),
        shortfalls: &observed.shortfalls(),
        most_steps,
    }
    .judge()
}

pub(super) fn finding(service: &ServiceView, judged: Judged) -> Finding {
    let Judged { verdict, held, planned, message } = judged;
    let address = (!service.status.ingress.is_empty()).then(|| words(&service.status));
    let (service, uid) = (service.key().to_string(), service.uid.to_string());
    Finding { service, uid, verdict, held, address, planned, message }
}

/// The machines of Nodes; Nodes that `filter` does not select are foreign. A machine that is missing in the list is read directly.
pub async fn machines(
    filter: &NodeFilter,
    instances: &dyn Instances,
    nodes: Vec<Arc<NodeView>>,
) -> Vec<(Arc<NodeView>, Machine)> {
    let Claimed { ours, foreign } = claimed(filter, instances, nodes, |node: &Arc<NodeView>| node.as_ref());
    let mut machines: Vec<_> = foreign.into_iter().map(|(node, why)| (node, Machine::Foreign(why))).collect();
    let mut answers = instances.observe(&ours).await.into_iter();
    let mut reads = 0;
    for node in ours {
        let none = || Evidence::Unknown(Doubt::new("the provider gave fewer answers than asked for"));
        let answer = match answers.next().unwrap_or_else(none) {
            Evidence::Unknown(doubt) if is_not_listed(&doubt) && reads < MOST_DIRECT_READS => {
                reads += 1;
                instances.confirm(&node).await
            }
            answer => answer,
        };
        machines.push((node, Machine::Ours(answer)));
    }
    machines
}

fn is_not_listed(doubt: &Doubt) -> bool {
    doubt.class == ErrorClass::NotFound
}
