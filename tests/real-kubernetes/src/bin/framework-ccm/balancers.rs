//! Load balancers by the plan: observe by the Service's UID, plan purely, perform one step.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use bowline_cloud::{
    About, CloudError, Doubt, EventKind, Fence, Ingress, LoadBalancerRequest, LoadBalancerStatus,
    LoadBalancers, ObservedLoadBalancer, Plan, Planned, Purpose, SetChange, Step, StepFacts, Verb,
    async_trait,
};
use jiff::Timestamp;
use real_kubernetes_tests::framework::protocol::{Balancer, Call, Listener, Port, Reply};

use crate::client::{Client, unexpected};
use crate::desire::{Desire, is_out_of_reach};

const SERVICE: &str = "load-balancer";

pub(crate) struct Balancers {
    client: Arc<Client>,
}

/// One call, with the facts about it.
#[derive(Debug)]
pub(crate) struct CloudStep {
    call: Call,
    facts: StepFacts,
}

impl fmt::Display for CloudStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.call.change().unwrap_or("read"), self.facts.target)
    }
}

impl Step for CloudStep {
    fn facts(&self) -> StepFacts {
        self.facts.clone()
    }
}

impl Balancers {
    pub(crate) fn new(client: Arc<Client>) -> Self {
        Self { client }
    }

    async fn of(&self, requests: &[LoadBalancerRequest]) -> Result<Vec<Balancer>, CloudError> {
        let owners = requests.iter().map(|request| request.service.uid.to_string()).collect();
        match self.client.read(SERVICE, Call::Balancers { owners }).await? {
            Reply::Balancers(balancers) => Ok(balancers),
            other => Err(unexpected(&other)),
        }
    }

    /// Tells of nodes that cannot be behind a load balancer of this Service.
    fn tell_of_unusable_nodes(&self, request: &LoadBalancerRequest) {
        if request.purpose == Purpose::Remove {
            return;
        }
        let service = &request.service;
        for node in request.nodes.iter().filter(|node| is_out_of_reach(service, node)) {
            let families: Vec<_> = service.ip_families.iter().map(|family| family.as_str()).collect();
            let message = format!(
                "Node {} is left out: the Service wants {}, and the node has no such address",
                node.name,
                families.join(", ")
            );
            self.client.events().emit(
                About::Service(service),
                EventKind::Warning,
                "NodeWithoutAddressOfFamily",
                &message,
            );
        }
    }
}

#[async_trait]
impl LoadBalancers for Balancers {
    type Observed = Observed;

    async fn observe(&self, requests: &[LoadBalancerRequest]) -> Vec<Result<Observed, Doubt>> {
        requests.iter().for_each(|request| self.tell_of_unusable_nodes(request));
        let balancers = match self.of(requests).await {
            Ok(balancers) => balancers,
            Err(error) => return requests.iter().map(|_| Err(Doubt::from(&error))).collect(),
        };
        let mut by_owner: BTreeMap<String, Vec<Balancer>> = BTreeMap::new();
        for balancer in balancers {
            by_owner.entry(balancer.owner.clone()).or_default().push(balancer);
        }
        let seen = |request: &LoadBalancerRequest| {
            let balancers = by_owner.get(request.service.uid.as_str()).cloned().unwrap_or_default();
            Ok(Observed { request: request.clone(), balancers })
        };
        requests.iter().map(seen).collect()
    }

    async fn execute(&self, step: &CloudStep, fence: &dyn Fence) -> Result<(), CloudError> {
        self.client.change(SERVICE, step.call.clone(), fence).await
    }
}

/// What the scripted cloud lists for one request.
pub(crate) struct Observed {
    request: LoadBalancerRequest,
    balancers: Vec<Balancer>,
}

impl ObservedLoadBalancer for Observed {
    type Step = CloudStep;

    fn plan(&self, _now: Timestamp) -> Plan<CloudStep, LoadBalancerStatus> {
        let Self { request, balancers } = self;
        if request.purpose == Purpose::Remove {
            return plan_removal(balancers);
        }
        let wanted = match Desire::of(request) {
            Ok(wanted) => wanted,
            Err(refusal) => return Plan::Refuse(refusal),
        };
        let Some(balancer) = balancers.first() else {
            let (owner, name) =
                (request.service.uid.to_string(), request.service.default_load_balancer_name());
            let facts = StepFacts::new(Verb::Create, "load balancer", &name);
            let call = Call::CreateBalancer { owner, name, settings: wanted.settings };
            return act([Planned::new(CloudStep { call, facts }, "the Service has none")]);
        };
        let steps = steps_to(balancer, wanted);
        if steps.is_empty() {
            let ingress = Ingress { ip: Some(IpAddr::V4(balancer.address)), ..Ingress::default() };
            return Plan::Settled(LoadBalancerStatus { ingress: vec![ingress] });
        }
        act(steps)
    }

    fn is_there(&self) -> bool {
        !self.balancers.is_empty()
    }
}

fn act(steps: impl IntoIterator<Item = Planned<CloudStep>>) -> Plan<CloudStep, LoadBalancerStatus> {
    Plan::Act(steps.into_iter().collect())
}

fn plan_removal(balancers: &[Balancer]) -> Plan<CloudStep, LoadBalancerStatus> {
    let Some(balancer) = balancers.first() else { return Plan::Settled(LoadBalancerStatus::default()) };
    // Piece by piece, as most clouds want it: so it can be interrupted between any two.
    if let Some(listener) = balancer.listeners.first() {
        return act([delete_listener(balancer, listener, "its load balancer is not wanted any more")]);
    }
    let facts = StepFacts::new(Verb::Delete, "load balancer", &balancer.name);
    let call = Call::DeleteBalancer { balancer: balancer.id, owner: balancer.owner.clone() };
    act([Planned::new(CloudStep { call, facts }, "the Service does not want it any more")])
}

fn steps_to(balancer: &Balancer, wanted: Desire) -> Vec<Planned<CloudStep>> {
    let (id, owner) = (balancer.id, &balancer.owner);
    let mut steps = Vec::new();
    if balancer.settings != wanted.settings {
        let call = Call::SetSettings { balancer: id, owner: owner.clone(), settings: wanted.settings };
        let facts = StepFacts::new(Verb::Update, "load balancer", &balancer.name);
        steps.push(Planned::new(CloudStep { call, facts }, "the Service's settings changed"));
    }
    let same = |one: &Port, other: &Port| one.port == other.port && one.protocol == other.protocol;
    for listener in &balancer.listeners {
        match wanted.ports.iter().find(|port| same(port, &listener.port)) {
            None => steps.push(delete_listener(balancer, listener, "the Service has no such port")),
            Some(port) if *port != listener.port => {
                let (listener, owner, port) = (listener.id, owner.clone(), port.clone());
                let facts = StepFacts::new(Verb::Update, "listener", target(balancer, &port));
                let call = Call::SetListener { balancer: id, listener, owner, port };
                steps.push(Planned::new(CloudStep { call, facts }, "the Service's port changed"));
            }
            Some(_same) => {}
        }
    }
    for port in wanted.ports {
        if !balancer.listeners.iter().any(|listener| same(&listener.port, &port)) {
            let facts = StepFacts::new(Verb::Create, "listener", target(balancer, &port));
            let call = Call::CreateListener { balancer: id, owner: owner.clone(), port };
            steps.push(Planned::new(CloudStep { call, facts }, "the Service has a port more"));
        }
    }
    if balancer.hosts != wanted.hosts {
        let removed = balancer.hosts.keys().filter(|name| !wanted.hosts.contains_key(*name)).count();
        let change = SetChange { before: balancer.hosts.len(), removed };
        let facts = StepFacts::new(Verb::Update, "hosts", &balancer.name).replacing(change);
        let call = Call::SetHosts { balancer: id, owner: owner.clone(), hosts: wanted.hosts };
        steps.push(Planned::new(CloudStep { call, facts }, "the nodes changed"));
    }
    steps
}

fn delete_listener(balancer: &Balancer, listener: &Listener, reason: &str) -> Planned<CloudStep> {
    let facts = StepFacts::new(Verb::Delete, "listener", target(balancer, &listener.port));
    let (balancer, listener, owner) = (balancer.id, listener.id, balancer.owner.clone());
    Planned::new(CloudStep { call: Call::DeleteListener { balancer, listener, owner }, facts }, reason)
}

fn target(balancer: &Balancer, port: &Port) -> String {
    format!("{} {} {}", balancer.name, port.protocol, port.port)
}
