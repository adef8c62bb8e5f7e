//! What would be done for one Service, and what the cloud says of Nodes: what the shadow reports of all, for whoever asks about some.
//!
//! The wish and the set of nodes are those of the service controller, the plan is the provider's own. Nothing is written.

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

/// Not more machines are read directly in one look: what a list does not show is rare, or the list is wrong.
const MOST_DIRECT_READS: usize = 50;

/// What would be done for one Service.
#[derive(Debug, Clone)]
pub struct Preview {
    /// The Service.
    pub service: Arc<ServiceView>,
    /// What would be done, and why. Also of one that is settled.
    pub finding: Finding,
    /// What is there, if a load balancer was found.
    pub picture: Option<BalancerPicture>,
}

/// What the cloud says of the machine of a Node.
#[derive(Debug, Clone)]
pub enum Machine {
    /// The Node is somebody else's, and why.
    Foreign(String),
    /// The Node is this cloud's.
    Ours(Evidence<Instance>),
}

/// What the service controller would ask for; none if the Service is not its business. Who leaves is known as far as the Nodes tell.
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

/// The nodes that get the traffic of a Service whose load balancer drains nodes for so long.
#[must_use]
pub fn node_set(nodes: &[Arc<NodeView>], drain: Option<Duration>, now: Timestamp) -> NodeSet {
    let leaves = leaving(&LeavingNodes::default(), &NodeSet::default(), nodes, now);
    let leaving = drain.map(|period| draining(&leaves, period, now).0).unwrap_or_default();
    NodeSet { leaving, ..next_set(&NodeSet::default(), select(nodes)) }
}

/// What would be done, given what was observed for the request. Pure. All steps are told. One that its owner paused is planned for
/// nevertheless, and said to be paused.
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

/// Nobody can say what is there.
#[must_use]
pub fn unknown(service: &Arc<ServiceView>, why: &Doubt) -> Preview {
    let finding = finding(service, Judged::unknown(why));
    Preview { service: service.clone(), finding, picture: None }
}

/// What is planned with what was observed, with not more than so many steps told.
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

/// The machines of Nodes; those that `filter` does not select are foreign. What a list does not show is read directly.
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
