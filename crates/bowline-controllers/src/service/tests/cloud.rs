//! A cloud in memory: one load balancer for each Service UID, with faults on demand.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bowline_cloud::{
    AnyLoadBalancers, Broken, Capability, Cloud, CloudError, Doubt, Fence, Ingress, LoadBalancerPolicy,
    LoadBalancerRequest, LoadBalancerStatus, LoadBalancers, Notes, ObservedLoadBalancer, Plan, Planned,
    Purpose, Reconciled, Refusal, ServiceKey, ServiceView, SetChange, Shortfall, ShortfallKind, Step,
    StepFacts, Text, Traffic, Verb, Wait, async_trait,
};
use bowline_kube::ledger::Ledger;
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use k8s_openapi::jiff::Timestamp;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;

use crate::metrics::ControllerMetrics;

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Balancer {
    pub(super) ports: Vec<u16>,
    pub(super) nodes: BTreeSet<String>,
    /// Still being built.
    pub(super) building: bool,
    /// The cloud calls it broken.
    pub(super) broken: Option<Traffic>,
}

#[derive(Default)]
pub(super) struct State {
    /// By Service UID.
    pub(super) balancers: BTreeMap<String, Balancer>,
    /// Every change, as text.
    pub(super) changes: Vec<String>,
    /// How each piece of work ended, as text.
    pub(super) ended: Vec<String>,
    /// What all plans refuse, if set.
    pub(super) refusal: Option<&'static str>,
    /// The addresses of load balancers, if they are not the usual one.
    pub(super) addresses: Vec<&'static str>,
    /// The number of Services of each observation.
    pub(super) looks: Vec<usize>,
    pub(super) polls: usize,
    /// What the next steps fail with, last first.
    pub(super) failures: Vec<CloudError>,
    /// What all observations say instead, if set.
    pub(super) doubt: Option<Doubt>,
    /// New load balancers take until a test says so.
    pub(super) builds_slowly: bool,
    /// What is created is not found again.
    pub(super) forgetful: bool,
    /// The name of a Service whose plan panics.
    pub(super) panic_for: Option<String>,
    /// How long steps take, besides a moment.
    pub(super) steps_take: Duration,
    /// The UID of a Service whose steps take 30 s.
    pub(super) slow_for: Option<String>,
    /// Load balancers of another kind.
    pub(super) instead: Option<Arc<dyn AnyLoadBalancers>>,
    pub(super) metrics: Option<ControllerMetrics>,
    /// The call that never comes back: `observe`, or `execute` after it took effect.
    pub(super) hangs_in: Option<&'static str>,
    /// Only for Services whose UID begins with this.
    pub(super) hangs_for: &'static str,
    /// The id that is noted of load balancers, besides the number of their ports, if anything is.
    pub(super) noted_as: Option<&'static str>,
    /// The first step whose text begins so fails, once.
    pub(super) fails_at: Option<&'static str>,
    /// Ports and nodes are changed by one plan, without a look in between.
    pub(super) all_at_once: bool,
    /// Whether it has a word for what is fulfilled: the names of the nodes.
    pub(super) has_words: bool,
    /// What is kept for the next leader: outlives a run.
    pub(super) ledger: Ledger,
    /// The fingerprint that each request brought.
    pub(super) brought: Vec<Vec<Text>>,
    /// What the cloud says of its load balancers instead.
    pub(super) capability: Option<Capability<Arc<dyn AnyLoadBalancers>>>,
}

#[derive(Clone, Default)]
pub(super) struct FakeCloud(Arc<Mutex<State>>, Arc<Notify>);

impl FakeCloud {
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock()
    }

    pub(super) fn shared(&self) -> Arc<dyn Cloud> {
        Arc::new(self.clone())
    }

    /// Says that its configuration was replaced.
    pub(super) fn reconfigure(&self) {
        self.1.notify_one();
    }

    async fn hang_in<'a>(&self, call: &'static str, mut uids: impl Iterator<Item = &'a str>) {
        let hangs = {
            let state = self.state();
            state.hangs_in == Some(call) && uids.any(|uid| uid.starts_with(state.hangs_for))
        };
        if hangs {
            std::future::pending::<()>().await;
        }
    }

    pub(super) fn changes(&self) -> Vec<String> {
        self.state().changes.clone()
    }
}

#[async_trait]
impl Cloud for FakeCloud {
    fn name(&self) -> &str {
        "fake"
    }
    fn load_balancers(&self) -> Capability<Arc<dyn AnyLoadBalancers>> {
        if let Some(capability) = self.state().capability.clone() {
            return capability;
        }
        let instead = self.state().instead.clone();
        Capability::Supported(instead.unwrap_or_else(|| Arc::new(self.clone())))
    }
    fn concluded(&self, Reconciled { what, took, failed }: Reconciled) {
        let end = if failed { "failed" } else { "done" };
        self.state().ended.push(format!("{what:?} {end} {} s", took.as_secs()));
    }
    fn reconfigurations(&self) -> BoxStream<'static, ()> {
        let replaced = self.1.clone();
        stream::unfold(replaced, async |replaced| {
            replaced.notified().await;
            Some(((), replaced))
        })
        .boxed()
    }
}

#[derive(Debug, Clone)]
pub(super) enum Change {
    Create,
    Ports(Vec<u16>),
    Nodes(BTreeSet<String>, SetChange),
    Delete,
}

#[derive(Debug, Clone)]
pub(super) struct FakeStep {
    uid: String,
    change: Change,
}

impl fmt::Display for FakeStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.change {
            Change::Create => write!(f, "create {}", self.uid),
            Change::Ports(ports) => write!(f, "ports {} {ports:?}", self.uid),
            Change::Nodes(nodes, _) => {
                let nodes: Vec<_> = nodes.iter().map(String::as_str).collect();
                write!(f, "nodes {} {}", self.uid, nodes.join(","))
            }
            Change::Delete => write!(f, "delete {}", self.uid),
        }
    }
}

impl Step for FakeStep {
    fn facts(&self) -> StepFacts {
        let verb = match self.change {
            Change::Create => Verb::Create,
            Change::Delete => Verb::Delete,
            Change::Ports(_) | Change::Nodes(..) => Verb::Update,
        };
        let facts = StepFacts::new(verb, "load balancer", &self.uid);
        match self.change {
            Change::Nodes(_, set) => facts.replacing(set),
            _ => facts,
        }
    }
}

#[async_trait]
impl LoadBalancers for FakeCloud {
    type Observed = Observed;

    async fn observe(&self, requests: &[LoadBalancerRequest]) -> Vec<Result<Observed, Doubt>> {
        // A round trip: others may run meanwhile.
        tokio::time::sleep(Duration::from_millis(10)).await;
        self.hang_in("observe", requests.iter().map(|request| request.service.uid.as_str())).await;
        let mut state = self.state();
        state.looks.push(requests.len());
        state.brought.extend(requests.iter().map(|request| request.fingerprints.clone()));
        let look = |request: &LoadBalancerRequest| match &state.doubt {
            Some(doubt) => Err(doubt.clone()),
            None => Ok(Observed {
                request: request.clone(),
                balancer: state.balancers.get(request.service.uid.as_str()).cloned(),
                cloud: self.clone(),
            }),
        };
        requests.iter().map(look).collect()
    }

    async fn execute(&self, step: &FakeStep, fence: &dyn Fence) -> Result<(), CloudError> {
        fence.check()?;
        let slow = self.state().slow_for.as_ref() == Some(&step.uid);
        let most = self.state().steps_take;
        tokio::time::sleep(most + Duration::from_millis(if slow { 30_000 } else { 10 })).await;
        self.perform(step)?;
        self.hang_in("execute", std::iter::once(step.uid.as_str())).await;
        Ok(())
    }

    async fn poll(&self, waiting: &[LoadBalancerRequest]) -> Result<Vec<ServiceKey>, CloudError> {
        let mut state = self.state();
        state.polls += 1;
        let ready = |request: &&LoadBalancerRequest| {
            state.balancers.get(request.service.uid.as_str()).is_none_or(|balancer| !balancer.building)
        };
        Ok(waiting.iter().filter(ready).map(|request| request.service.key()).collect())
    }

    fn policy(&self) -> Arc<dyn LoadBalancerPolicy> {
        Arc::new(self.clone())
    }
}

impl LoadBalancerPolicy for FakeCloud {
    fn drains(&self, service: &ServiceView) -> Option<Duration> {
        service
            .annotations
            .get("fake/drain")
            .and_then(|seconds| seconds.parse().ok())
            .map(Duration::from_secs)
    }

    fn node_labels(&self, service: &ServiceView) -> BTreeSet<String> {
        service.annotations.get("fake/label").map(ToOwned::to_owned).into_iter().collect()
    }

    fn annotations_after_removal(&self) -> Notes {
        match self.state().noted_as {
            Some(_id) => Notes::default().without("fake/id").without("fake/ports"),
            None => Notes::default(),
        }
    }
}

/// What was observed, with the cloud, whose script may change until it plans.
pub(super) struct Observed {
    request: LoadBalancerRequest,
    balancer: Option<Balancer>,
    cloud: FakeCloud,
}

impl ObservedLoadBalancer for Observed {
    type Step = FakeStep;

    fn plan(&self, _now: Timestamp) -> Plan<FakeStep, LoadBalancerStatus> {
        let (request, service) = (&self.request, &self.request.service);
        assert_ne!(self.cloud.state().panic_for.as_deref(), Some(service.name.as_str()), "scripted panic");
        let act = |change| {
            Plan::Act(vec![Planned::new(FakeStep { uid: service.uid.to_string(), change }, "it differs")])
        };
        if let Some(problem) = self.cloud.state().refusal {
            return Plan::Refuse(Refusal { problems: vec![problem.into()] });
        }
        match service.annotations.get("fake") {
            Some("elsewhere") => return Plan::Elsewhere,
            Some("refuse") => return Plan::Refuse(Refusal { problems: vec!["no such flavor".into()] }),
            _ => {}
        }
        let Some(balancer) = &self.balancer else {
            return match request.purpose {
                Purpose::Ensure => act(Change::Create),
                Purpose::Remove => Plan::Settled(LoadBalancerStatus::default()),
            };
        };
        if balancer.building {
            return Plan::Wait(Wait { reason: "amphora boots".into(), at_most: Duration::from_secs(30) });
        }
        if request.purpose == Purpose::Remove || balancer.broken.is_some() {
            return act(Change::Delete);
        }
        let ports: Vec<_> = service.ports.iter().map(|port| port.port).collect();
        let mut nodes: BTreeSet<_> = request.nodes.nodes.keys().map(ToString::to_string).collect();
        // Of those that leave, who is there stays, marked.
        let leaving = request.nodes.leaving.keys().map(ToString::to_string);
        let there = |name: &String| balancer.nodes.iter().any(|node| node.trim_start_matches('~') == name);
        nodes.extend(leaving.filter(there).map(|name| format!("~{name}")));
        let removed = balancer.nodes.difference(&nodes).count();
        let set = SetChange { before: balancer.nodes.len(), removed };
        if ports != balancer.ports {
            let step = |change| FakeStep { uid: service.uid.to_string(), change };
            let rest = Planned::new(step(Change::Nodes(nodes, set)), "they differ").at_once();
            let rest = Some(rest).filter(|_rest| self.cloud.state().all_at_once);
            let first = Planned::new(step(Change::Ports(ports)), "they differ");
            return Plan::Act(std::iter::once(first).chain(rest).collect());
        }
        if nodes != balancer.nodes {
            return act(Change::Nodes(nodes, set));
        }
        let addresses = self.cloud.state().addresses.clone();
        let addresses = if addresses.is_empty() { vec!["192.0.2.1"] } else { addresses };
        let ingress = |address: &&str| Ingress { ip: address.parse().ok(), ..Ingress::default() };
        Plan::Settled(LoadBalancerStatus { ingress: addresses.iter().map(ingress).collect() })
    }

    fn is_there(&self) -> bool {
        self.balancer.is_some()
    }

    fn annotations(&self) -> Notes {
        match (self.cloud.state().noted_as, self.request.purpose, &self.balancer) {
            (Some(id), Purpose::Ensure, Some(balancer)) => {
                let ports = balancer.ports.len().to_string();
                Notes::default().with("fake/id", id).with("fake/ports", ports)
            }
            (Some(_), Purpose::Remove, None) => Notes::default().without("fake/id").without("fake/ports"),
            _ => Notes::default(),
        }
    }

    fn fingerprint(&self) -> Option<Text> {
        let balancer = self.balancer.as_ref().filter(|_balancer| self.cloud.state().has_words)?;
        Some(balancer.nodes.iter().map(String::as_str).collect::<Vec<_>>().join(",").into())
    }

    fn shortfalls(&self) -> Vec<Shortfall> {
        let annotations = &self.request.service.annotations;
        let short = |key: &str, kind: ShortfallKind| {
            let message = annotations.get(key).filter(|_text| self.balancer.is_some())?.to_owned();
            Some(Shortfall { kind, message })
        };
        let invalid = short("fake/invalid", ShortfallKind::InvalidValue);
        invalid.into_iter().chain(short("fake/creation", ShortfallKind::RecreationNeeded)).collect()
    }

    fn broken(&self) -> Option<Broken> {
        let traffic = self.balancer.as_ref()?.broken?;
        Some(Broken { id: self.request.service.uid.to_string(), traffic })
    }
}

impl FakeCloud {
    fn perform(&self, step: &FakeStep) -> Result<(), CloudError> {
        let mut state = self.state();
        if let Some(failure) = state.failures.pop() {
            return Err(failure);
        }
        if state.fails_at.is_some_and(|beginning| step.to_string().starts_with(beginning)) {
            state.fails_at = None;
            return Err(CloudError::transient("502"));
        }
        state.changes.push(step.to_string());
        let (uid, building) = (step.uid.clone(), state.builds_slowly);
        match &step.change {
            Change::Create if state.forgetful => {}
            Change::Create => drop(state.balancers.insert(uid, Balancer { building, ..Balancer::default() })),
            Change::Delete => drop(state.balancers.remove(&uid)),
            Change::Ports(ports) => state.balancers.get_mut(&uid).unwrap().ports = ports.clone(),
            Change::Nodes(nodes, _) => state.balancers.get_mut(&uid).unwrap().nodes = nodes.clone(),
        }
        Ok(())
    }
}
