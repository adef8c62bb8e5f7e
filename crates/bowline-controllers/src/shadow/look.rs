//! Observes all Services and Nodes in the cloud, and classifies what would be done. Changes nothing.

use std::sync::Arc;

use bowline_cloud::shadow::{Availability, AvailabilityState, Finding, NodeReport};
use bowline_cloud::{
    AnyLoadBalancers, AnyObserved, Capability, Doubt, Evidence, Instances, LoadBalancerRequest, NodeView,
    Purpose, ServiceView, Urgency,
};

use super::ShadowOptions;
use super::judge::{Judged, MOST_STEPS};
use super::preview::{Machine, finding, judged, machines};
use crate::controller::ControllerContext;
use crate::service::desire::{pause_of, purpose};
use crate::service::nodes::SharedNodes;

/// The result of one observation.
pub(super) struct Seen {
    pub(super) project: Option<String>,
    pub(super) cloud_problem: Option<String>,
    pub(super) load_balancers: Availability,
    pub(super) instances: Availability,
    /// All Services, including settled ones.
    pub(super) services: Vec<Finding>,
    pub(super) nodes: NodeReport,
}

/// One observation.
pub(super) struct Look<'a> {
    pub(super) options: &'a ShadowOptions,
    pub(super) context: &'a ControllerContext,
    pub(super) nodes: &'a SharedNodes,
}

impl Look<'_> {
    pub(super) async fn all(&self) -> Seen {
        let identity = self.context.cloud.identity().await;
        let (project, cloud_problem) = match identity {
            Ok(project) => (project, None),
            Err(error) => (None, Some(error.to_string())),
        };
        let (load_balancers, balancers) = available(self.context.cloud.load_balancers());
        let (machines, instances) = available(self.context.cloud.instances());
        let services = self.services(balancers.as_deref(), &load_balancers).await;
        let nodes = self.machines(instances.as_deref(), &machines).await;
        Seen { project, cloud_problem, load_balancers, instances: machines, services, nodes }
    }

    async fn services(&self, balancers: Option<&dyn AnyLoadBalancers>, can: &Availability) -> Vec<Finding> {
        let snapshot = self.context.services.snapshot();
        let services = snapshot.objects().iter().map(|object| object.view.clone());
        let ours: Vec<_> =
            services.filter_map(|service| Some((purpose(&service, false)?, service))).collect();
        let Some(balancers) = balancers else {
            let judged = |service: &Arc<ServiceView>| finding(service, not_planned(can));
            return ours.iter().map(|(_, service)| judged(service)).collect();
        };
        let mut findings = Vec::with_capacity(ours.len());
        let mut requests = Vec::new();
        for (purpose, service) in ours {
            match pause_of(&service) {
                Some(why) => findings.push(finding(&service, Judged::paused(why))),
                None => requests.push(self.request(balancers, service, purpose)),
            }
        }
        for batch in requests.chunks(self.options.batch.max(1)) {
            let mut answers = balancers.observe(batch).await.into_iter();
            for request in batch {
                let judged = self.judge(request, answers.next());
                findings.push(finding(&request.service, judged));
            }
        }
        findings
    }

    /// The request that the service controller would make.
    fn request(
        &self,
        balancers: &dyn AnyLoadBalancers,
        service: Arc<ServiceView>,
        purpose: Purpose,
    ) -> LoadBalancerRequest {
        let (nodes, _drained_at) =
            self.nodes.current(balancers.policy().drains(&service), self.context.clock.now());
        let cluster = self.options.cluster_name.clone();
        LoadBalancerRequest {
            cluster,
            service,
            nodes,
            purpose,
            fingerprints: Vec::new(),
            urgency: Urgency::Background,
            services: self.context.service_directory(),
        }
    }

    fn judge(
        &self,
        request: &LoadBalancerRequest,
        answer: Option<Result<Box<dyn AnyObserved>, Doubt>>,
    ) -> Judged {
        let none = || Err(Doubt::new("the provider gave fewer answers than asked for"));
        match answer.unwrap_or_else(none) {
            Ok(observed) => judged(request, observed.as_ref(), self.context.clock.now(), MOST_STEPS),
            Err(doubt) => Judged::unknown(&doubt),
        }
    }

    async fn machines(&self, instances: Option<&dyn Instances>, can: &Availability) -> NodeReport {
        let snapshot = self.context.nodes.snapshot();
        let all: Vec<_> = snapshot.objects().iter().map(|object| object.view.clone()).collect();
        let name = |node: &Arc<NodeView>| node.name.to_string();
        let without = all.iter().filter(|node| node.provider_id.is_none());
        let mut report = NodeReport {
            total: all.len(),
            without_provider_id: without.map(name).collect(),
            ..NodeReport::default()
        };
        let Some(instances) = instances else {
            if can.state == AvailabilityState::Unavailable {
                report.unknown = all.iter().map(name).collect();
            }
            return report;
        };
        for (node, machine) in machines(&self.context.node_filter, instances, all).await {
            count(&mut report, name(&node), &machine);
        }
        report
    }
}

fn count(report: &mut NodeReport, name: String, machine: &Machine) {
    match machine {
        Machine::Foreign(_) => report.foreign.push(name),
        Machine::Ours(Evidence::Present(_)) => report.present += 1,
        Machine::Ours(Evidence::Absent(_)) => report.absent.push(name),
        Machine::Ours(Evidence::Unknown(_)) => report.unknown.push(name),
    }
}

fn available<T>(capability: Capability<T>) -> (Availability, Option<T>) {
    match capability {
        Capability::Supported(part) => {
            (Availability { state: AvailabilityState::Available, message: None }, Some(part))
        }
        Capability::Unsupported => {
            let message = Some("this cloud, as it is configured, has none".to_owned());
            (Availability { state: AvailabilityState::Unsupported, message }, None)
        }
        Capability::Unavailable(why) => {
            (Availability { state: AvailabilityState::Unavailable, message: Some(why) }, None)
        }
    }
}

/// The result if nothing could be planned: settled if the cloud has no load balancers, unknown if they are unavailable.
fn not_planned(can: &Availability) -> Judged {
    let why = can.message.clone().unwrap_or_default();
    match can.state {
        AvailabilityState::Unsupported => Judged::nothing(&why),
        AvailabilityState::Available | AvailabilityState::Unavailable => Judged::unknown(&Doubt::new(why)),
    }
}
