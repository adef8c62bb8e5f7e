//! Load balancers, as a provider with a bug plans and makes them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bowline_cloud::{
    AnyLoadBalancers, AnyObserved, AnyStep, BalancerPicture, Broken, CloudError, Doubt, Fence, Ingress,
    LoadBalancerPolicy, LoadBalancerRequest, LoadBalancerStatus, NodeSet, Notes, Plan, Planned, Purpose,
    Refusal, ServiceDirectory, ServiceKey, ServiceView, Shortfall, Text, Verb, Wait,
};
use bytes::Bytes;
use http::{Method, Request};
use jiff::Timestamp;
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::{Piece, Workshop};
use crate::cloud_link::CloudLink;

/// For so long the one worker waits for a load balancer.
const LONG: Duration = Duration::from_secs(600);

/// The provider's, with a bug over it.
#[derive(Clone)]
pub(super) struct Balancers {
    pub(super) inner: Arc<dyn AnyLoadBalancers>,
    pub(super) link: CloudLink,
}

type Steps = Vec<Planned<AnyStep>>;
type ServicePlan = Plan<AnyStep, LoadBalancerStatus>;

impl Balancers {
    fn workshop(&self) -> &Workshop {
        &self.link.workshop
    }

    /// The plan as the bug has it.
    fn altered(&self, request: &LoadBalancerRequest, plan: ServicePlan) -> ServicePlan {
        let ensures = request.purpose == Purpose::Ensure;
        match self.workshop().piece {
            Some(Piece::FloatingIpKept) if ensures => {
                drops(request, plan, |step| kind(step, "floating ip") && step.facts().verb != Verb::Create)
            }
            Some(Piece::DriftStays) if ensures => self.settled_once(request, plan),
            Some(Piece::RuleGoneEndsAll) if ensures && self.has_struck() => self.without_group(request, plan),
            Some(Piece::NodesNotedTooEarly) if ensures => self.noted_nodes(request, plan),
            Some(Piece::AffinityForgotten) if ensures => drops(request, plan, |step| {
                kind(step, "pool") && step.facts().verb == Verb::Update && !is_set(step)
            }),
            Some(Piece::GroupStaysOnPorts) => {
                drops(request, plan, |step| kind(step, "port") && step.to_string().contains("off"))
            }
            Some(Piece::ErrorStays) if ensures && self.status(request).as_deref() == Some("ERROR") => {
                Plan::Wait(Wait { reason: "the load balancer is in ERROR".to_owned(), at_most: LONG })
            }
            Some(Piece::NotesStay) if ensures && self.names_a_lost_one(request) => Plan::Refuse(Refusal {
                problems: vec!["the load balancer of annotation load-balancer-id is gone".to_owned()],
            }),
            Some(Piece::CreatedBeforeDeleted) if ensures => creations_first(plan),
            Some(Piece::RemainsOfTheGone) if !ensures && self.status(request).is_none() => done(),
            Some(Piece::OwnStaysBeside) if !ensures && self.names_another(request) => done(),
            Some(Piece::ReleasedTooEarly) if !ensures && matches!(plan, Plan::Wait(_)) => done(),
            _ => plan,
        }
    }

    /// Whether the annotation of a Service names a load balancer that is not there.
    fn names_a_lost_one(&self, request: &LoadBalancerRequest) -> bool {
        let named = named(request);
        named.is_some_and(|named| self.workshop().balancers().iter().all(|one| one.0 != named))
    }

    /// Whether the annotation of a Service names another load balancer than its own.
    fn names_another(&self, request: &LoadBalancerRequest) -> bool {
        let own = name(request);
        let is_own = |id: &str| self.workshop().balancers().iter().any(|one| one.0 == id && one.1 == own);
        named(request).is_some_and(|named| !is_own(named))
    }

    /// Only the work on the group has ended; Octavia's goes on.
    fn without_group(&self, request: &LoadBalancerRequest, plan: ServicePlan) -> ServicePlan {
        match drops(request, plan, is_of_a_group) {
            Plan::Settled(_) if self.status(request).as_deref() != Some("ACTIVE") => {
                Plan::Wait(Wait { reason: "Octavia is at work".to_owned(), at_most: Duration::from_secs(5) })
            }
            plan => plan,
        }
    }

    fn has_struck(&self) -> bool {
        self.workshop().memory().struck
    }

    fn status(&self, request: &LoadBalancerRequest) -> Option<String> {
        self.workshop().status_of(&name(request))
    }

    /// What was settled once is not compared any more until the Service or its nodes change.
    fn settled_once(&self, request: &LoadBalancerRequest, plan: ServicePlan) -> ServicePlan {
        let wish = wish(request);
        let mut memory = self.workshop().memory();
        if let Some(status) = memory.settled.get(&wish) {
            return Plan::Settled(status.clone());
        }
        if let Plan::Settled(status) = &plan {
            memory.settled.insert(wish, status.clone());
        }
        plan
    }

    /// Members are set once for each set of nodes, whatever comes of it.
    fn noted_nodes(&self, request: &LoadBalancerRequest, plan: ServicePlan) -> ServicePlan {
        let is_members = |step: &AnyStep| is_set(step) || kind(step, "member");
        let key = wish(request);
        let mut memory = self.workshop().memory();
        if memory.done.contains(&key) {
            return drops(request, plan, is_members);
        }
        if let Plan::Act(steps) = &plan
            && steps.first().is_some_and(|first| is_members(&first.step))
        {
            memory.done.insert(key);
        }
        plan
    }

    /// What is asked in place of a request.
    fn other_request(&self, request: &LoadBalancerRequest) -> Option<LoadBalancerRequest> {
        match self.workshop().piece {
            Some(Piece::AnnotationIsProof) => believing(request),
            Some(Piece::ShownAddressIsFree) => Some(knowing_nobody(request)),
            Some(Piece::ShownVipIsFree) if chooses_vip(request) => Some(knowing_nobody(request)),
            Some(Piece::InternalPortIsFree) if noted(request, "port-id").is_some() => {
                Some(knowing_nobody(request))
            }
            Some(Piece::NamedIsLed) if self.asks_for_named(request) => Some(knowing_nobody(request)),
            _ => self.without_nodes(request),
        }
    }

    /// Whether a Service asks for a floating IP that leads to a load balancer which it, or another Service of its namespace, named.
    fn asks_for_named(&self, request: &LoadBalancerRequest) -> bool {
        let namespace = &request.service.namespace;
        let led: Vec<String> = self.workshop().truth(|state| {
            let named = named(request).and_then(|id| state.load_balancer.load_balancers.get(id));
            let port = named.map(|one| &one.vip_port_id);
            let there = state
                .network
                .floating_ips
                .iter()
                .filter(|one| port.is_some() && one.port_id.as_ref() == port);
            there.map(|one| format!("{namespace} {}", one.floating_ip_address)).collect()
        });
        let asked = request.service.annotations.get("loadbalancer.bowline.dev/floating-ip");
        let mut memory = self.workshop().memory();
        memory.done.extend(led);
        asked.is_some_and(|asked| memory.done.contains(&format!("{namespace} {asked}")))
    }

    /// The nodes of a Service that has its load balancer are looked up in a list that is empty.
    fn without_nodes(&self, request: &LoadBalancerRequest) -> Option<LoadBalancerRequest> {
        let wiped = self.workshop().is(Piece::MembersWiped) && !request.service.status.ingress.is_empty();
        wiped.then(|| LoadBalancerRequest {
            nodes: NodeSet { epoch: request.nodes.epoch, ..NodeSet::default() },
            ..request.clone()
        })
    }

    /// Each time that a Service with a load balancer is looked at, its members are written as they are.
    async fn put_members(&self, requests: &[LoadBalancerRequest]) {
        let served = |request: &&LoadBalancerRequest| {
            request.purpose == Purpose::Ensure && !request.service.status.ingress.is_empty()
        };
        for request in requests.iter().filter(served) {
            let name = name(request);
            let Some((pool, members)) = self.members(&name) else { continue };
            let path = format!("http://openstack.sim/load-balancer/v2/lbaas/pools/{pool}/members");
            let token = self.workshop().truth(|state| state.identity.tokens.keys().next().cloned());
            let put = Request::builder()
                .method(Method::PUT)
                .uri(path)
                .header("content-type", "application/json")
                .header("x-auth-token", token.unwrap_or_default());
            let body = Bytes::from(json!({"members": members}).to_string());
            let _ignored = self.link.clone().deliver(put.body(body).expect("a request")).await;
        }
    }

    fn members(&self, name: &str) -> Option<(String, Vec<serde_json::Value>)> {
        self.workshop().truth(|state| {
            let octavia = &state.load_balancer;
            let balancer = octavia.load_balancers.iter().find(|one| one.name == name)?;
            let pool = octavia.pools.iter().find(|pool| pool.loadbalancer_id == balancer.id)?;
            let members = octavia.members.iter().filter(|member| member.pool_id == pool.id);
            let members = members.map(|member| {
                json!({"name": member.name, "address": member.address, "protocol_port": member.protocol_port,
                    "subnet_id": member.subnet_id, "weight": member.weight, "backup": member.backup})
            });
            Some((pool.id.clone(), members.collect()))
        })
    }

    /// Until the load balancer is made, or for long: as long as this the one worker does nothing else.
    async fn stand_by(&self) {
        let began = Instant::now();
        while began.elapsed() < LONG
            && self.workshop().balancers().iter().any(|one| one.2.starts_with("PENDING"))
        {
            sleep(Duration::from_secs(2)).await;
        }
    }
}

/// The name of the load balancer of a Service.
fn name(request: &LoadBalancerRequest) -> String {
    let ServiceView { namespace, name, .. } = &*request.service;
    format!("kube_service_{}_{namespace}_{name}", request.cluster)
}

/// The same request, with nothing known of other Services.
fn knowing_nobody(request: &LoadBalancerRequest) -> LoadBalancerRequest {
    LoadBalancerRequest { services: ServiceDirectory::default(), ..request.clone() }
}

/// Whether a Service chooses the VIP of its load balancer.
fn chooses_vip(request: &LoadBalancerRequest) -> bool {
    let vip = request.service.annotations.get("loadbalancer.bowline.dev/vip-address");
    vip.is_some() || request.service.load_balancer_ip.is_some()
}

fn noted<'r>(request: &'r LoadBalancerRequest, key: &str) -> Option<&'r str> {
    request.service.annotations.get(&format!("loadbalancer.openstack.org/{key}"))
}

/// The address that a user noted in the annotation stands in the status.
fn believing(request: &LoadBalancerRequest) -> Option<LoadBalancerRequest> {
    let noted = noted(request, "load-balancer-address")?;
    let mut service = (*request.service).clone();
    service.status.ingress = vec![Ingress { ip: noted.parse().ok(), ..Ingress::default() }];
    Some(LoadBalancerRequest { service: Arc::new(service), ..request.clone() })
}

/// The load balancer that the annotation of a Service names.
fn named(request: &LoadBalancerRequest) -> Option<&str> {
    noted(request, "load-balancer-id")
}

fn kind(step: &AnyStep, kind: &str) -> bool {
    step.facts().kind == kind
}

fn is_of_a_group(step: &AnyStep) -> bool {
    ["security group", "security group rule", "port"].contains(&step.facts().kind)
}

fn is_set(step: &AnyStep) -> bool {
    step.facts().set.is_some()
}

/// What a Service asks for, with its nodes.
fn wish(request: &LoadBalancerRequest) -> String {
    let ServiceView { uid, ports, source_ranges, session_affinity, .. } = &*request.service;
    let nodes: Vec<&str> = request.nodes.iter().map(|node| node.name.as_str()).collect();
    format!("{uid:?} {ports:?} {source_ranges:?} {session_affinity:?} {nodes:?}")
}

fn done() -> ServicePlan {
    Plan::Settled(LoadBalancerStatus::default())
}

/// Without these steps; if there are no others, all is taken for done.
fn drops(request: &LoadBalancerRequest, plan: ServicePlan, goes: impl Fn(&AnyStep) -> bool) -> ServicePlan {
    let Plan::Act(steps) = plan else { return plan };
    let kept: Steps = steps.into_iter().filter(|planned| !goes(&planned.step)).collect();
    if !kept.is_empty() {
        return Plan::Act(kept);
    }
    match request.purpose {
        Purpose::Ensure => Plan::Settled(request.service.status.clone()),
        Purpose::Remove => done(),
    }
}

/// Nothing is deleted before what comes in its place is made.
fn creations_first(plan: ServicePlan) -> ServicePlan {
    let Plan::Act(steps) = plan else { return plan };
    let (new, old): (Steps, Steps) =
        steps.into_iter().partition(|planned| planned.step.facts().verb == Verb::Create);
    Plan::Act(new.into_iter().chain(old).collect())
}

#[async_trait]
impl AnyLoadBalancers for Balancers {
    async fn observe(&self, requests: &[LoadBalancerRequest]) -> Vec<Result<Box<dyn AnyObserved>, Doubt>> {
        let _worker = match self.workshop().is(Piece::SlowWorker) {
            true => Some(self.workshop().worker.lock().await),
            false => None,
        };
        let asked: Vec<LoadBalancerRequest> = requests
            .iter()
            .map(|request| self.other_request(request).unwrap_or_else(|| request.clone()))
            .collect();
        let observed = self.inner.observe(&asked).await;
        if self.workshop().is(Piece::MembersPutEachSync) {
            self.put_members(requests).await;
        }
        let lying = |(inner, request): (Result<Box<dyn AnyObserved>, Doubt>, LoadBalancerRequest)| {
            let lying = Observed { inner: inner?, request, balancers: self.clone() };
            Ok(Box::new(lying) as Box<dyn AnyObserved>)
        };
        observed.into_iter().zip(asked).map(lying).collect()
    }

    async fn execute(&self, step: &AnyStep, fence: &dyn Fence) -> Result<(), CloudError> {
        if self.workshop().is(Piece::RuleGoneEndsAll) && self.has_struck() && is_of_a_group(step) {
            return Ok(());
        }
        if !self.workshop().is(Piece::SlowWorker) {
            return self.inner.execute(step, fence).await;
        }
        let _worker = self.workshop().worker.lock().await;
        let result = self.inner.execute(step, fence).await;
        self.stand_by().await;
        result
    }

    async fn poll(&self, waiting: &[LoadBalancerRequest]) -> Result<Vec<ServiceKey>, CloudError> {
        self.inner.poll(waiting).await
    }

    fn policy(&self) -> Arc<dyn LoadBalancerPolicy> {
        let inner = self.inner.policy();
        if self.workshop().is(Piece::NotesStay) { Arc::new(NotesStay(inner)) } else { inner }
    }
}

/// Takes no annotation off.
struct NotesStay(Arc<dyn LoadBalancerPolicy>);

impl LoadBalancerPolicy for NotesStay {
    fn poll_period(&self) -> Duration {
        self.0.poll_period()
    }

    fn drains(&self, service: &ServiceView) -> Option<Duration> {
        self.0.drains(service)
    }

    fn node_labels(&self, service: &ServiceView) -> BTreeSet<String> {
        self.0.node_labels(service)
    }
}

/// What was observed, as the bug sees it.
struct Observed {
    inner: Box<dyn AnyObserved>,
    request: LoadBalancerRequest,
    balancers: Balancers,
}

impl AnyObserved for Observed {
    fn plan(&self, now: Timestamp) -> ServicePlan {
        let plan = self.inner.plan(now);
        if self.balancers.workshop().is(Piece::ShownTooEarly)
            && matches!(plan, Plan::Wait(_))
            && let Some(status) = self.inner.expected_status()
        {
            return Plan::Settled(status);
        }
        self.balancers.altered(&self.request, plan)
    }

    fn is_there(&self) -> bool {
        self.inner.is_there()
    }

    fn annotations(&self) -> Notes {
        if self.balancers.workshop().is(Piece::NotesStay) && self.request.purpose == Purpose::Remove {
            return Notes::default();
        }
        self.inner.annotations()
    }

    fn fingerprint(&self) -> Option<Text> {
        self.inner.fingerprint()
    }

    fn expected_status(&self) -> Option<LoadBalancerStatus> {
        self.inner.expected_status()
    }

    fn picture(&self) -> Option<BalancerPicture> {
        self.inner.picture()
    }

    fn broken(&self) -> Option<Broken> {
        self.inner.broken().filter(|_broken| !self.balancers.workshop().is(Piece::ErrorIsUseless))
    }

    fn shortfalls(&self) -> Vec<Shortfall> {
        self.inner.shortfalls()
    }
}
