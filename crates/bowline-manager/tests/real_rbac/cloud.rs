//! A cloud without state outside this process: what it answers depends on the name that it is asked about.
//!
//! | name begins with | what it does |
//! |---|---|
//! | `gone` | its machine does not exist |
//! | `off` | its machine is shut down |
//! | `stuck` | its machine, or load balancer, cannot be looked up or made |
//! | `cut` | no route can be made to it |
//! | `plain`, `loose` | the cloud's own controller fails on this Node, or Service |
//! | `noisy` | the cloud writes an event at every look |
//!
//! The address of a machine is what the Node's label `test/address` says.

use std::collections::BTreeMap;
use std::future::ready;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bowline_cloud::load_balancer::ensure::{EnsureStep, EnsuredView};
use bowline_cloud::{
    About, AddressKind, Answer, Claim, CloudError, Doubt, EnsureLoadBalancer, EnsureOutcome, Ensured,
    EventKind, EventSink, Evidence, ExtraController, Fence, Ingress, Instance, InstanceLookup,
    LoadBalancerPolicy, LoadBalancerRequest, LoadBalancerStatus, LoadBalancers, NodeAddress, NodeView, Notes,
    ObservedLoadBalancer, OneByOne, Plan, Power, Proof, Purpose, RouteChange, Watched, Watches, async_trait,
};
use bowline_testkit::provider::{FakeCloud, FakeRoutes};
use jiff::Timestamp;
use parking_lot::Mutex;

pub(crate) const SCHEME: &str = "named://";
pub(crate) const ADDRESS_LABEL: &str = "test/address";
pub(crate) const BADGE: &str = "test/badge";
pub(crate) const NOTE: &str = "test/load-balancer-id";

/// How soon the cloud asks to be tried again where that is up to it.
const SOON: Duration = Duration::from_millis(300);

fn is(kind: &str, name: &str) -> bool {
    name.starts_with(kind)
}

fn no(what: &str) -> CloudError {
    CloudError::transient(format!("this cloud never makes {what}"))
}

pub(crate) fn named_cloud() -> FakeCloud {
    let machines = Arc::<Machines>::default();
    let instances = Arc::new(OneByOne::new(Arc::clone(&machines), 8));
    let routes = FakeRoutes::new(Vec::new());
    routes.on_change(|change| match change {
        RouteChange::Create { route, .. }
            if route.target_node.as_deref().is_some_and(|node| is("cut", node)) =>
        {
            Err(no("this route").retry_after(SOON))
        }
        _possible => Ok(()),
    });
    let badges = |name, watches, fails_on| Arc::new(Badges { name, watches, fails_on });
    FakeCloud::default()
        .initialized_with(move |context| {
            machines.events.get_or_init(|| Arc::clone(&context.events));
            ready(Ok(()))
        })
        .with_instances(instances)
        .with_load_balancers(Arc::new(Noting(Ensured::new(Balancers::default()))))
        .with_routes(routes)
        .with_extra_controller(badges("badge-controller", Watches::Nodes, "plain"))
        .with_extra_controller(badges("ribbon-controller", Watches::Services, "loose"))
}

#[derive(Default)]
struct Machines {
    events: OnceLock<Arc<dyn EventSink>>,
}

#[async_trait]
impl InstanceLookup for Machines {
    fn claims(&self, _node: &NodeView) -> Claim {
        Claim::Ours
    }

    async fn look_up(&self, node: &NodeView) -> Evidence<Instance> {
        let name = node.name.as_str();
        if is("stuck", name) {
            return Evidence::Unknown(Doubt::new("this cloud never answers for it"));
        }
        if is("gone", name) {
            return Evidence::Absent(Proof::new(format!("this cloud has no machine {name}")));
        }
        if let (true, Some(events)) = (is("noisy", name), self.events.get()) {
            events.emit(About::Node(node), EventKind::Warning, "Noise", "this cloud says so at every look");
        }
        let address = node.labels.get(ADDRESS_LABEL).unwrap_or("192.0.2.1");
        Evidence::Present(Instance {
            provider_id: format!("{SCHEME}{name}"),
            instance_type: Some("small".to_owned()),
            addresses: vec![NodeAddress::new(AddressKind::InternalIP, address)],
            power: if is("off", name) { Power::ShutDown } else { Power::Running },
            ..Instance::default()
        })
    }
}

/// Load balancers, all with the same address, by the UID of their Service.
#[derive(Default)]
struct Balancers {
    made: Mutex<BTreeMap<String, LoadBalancerStatus>>,
}

#[async_trait]
impl EnsureLoadBalancer for Balancers {
    async fn get(&self, request: &LoadBalancerRequest) -> Evidence<LoadBalancerStatus> {
        match self.made.lock().get(request.service.uid.as_str()) {
            Some(status) => Evidence::Present(status.clone()),
            None => Evidence::Absent(Proof::new("this cloud has not made it")),
        }
    }

    async fn ensure(
        &self,
        request: &LoadBalancerRequest,
        fence: &dyn Fence,
    ) -> Result<EnsureOutcome, CloudError> {
        fence.check()?;
        if is("stuck", &request.service.name) {
            return Err(no("this load balancer"));
        }
        let ip = IpAddr::V4(Ipv4Addr::new(198, 51, 100, 1));
        let status = LoadBalancerStatus { ingress: vec![Ingress { ip: Some(ip), ..Ingress::default() }] };
        self.made.lock().insert(request.service.uid.to_string(), status.clone());
        Ok(EnsureOutcome::Ready(status))
    }

    async fn update(&self, _request: &LoadBalancerRequest, _fence: &dyn Fence) -> Result<(), CloudError> {
        Ok(())
    }

    async fn delete(&self, request: &LoadBalancerRequest, fence: &dyn Fence) -> Result<(), CloudError> {
        fence.check()?;
        self.made.lock().remove(request.service.uid.as_str());
        Ok(())
    }
}

/// Notes the load balancer on its Service as long as it is there.
struct Noting(Ensured<Balancers>);

#[async_trait]
impl LoadBalancers for Noting {
    type Observed = Noted;

    async fn observe(&self, requests: &[LoadBalancerRequest]) -> Vec<Result<Noted, Doubt>> {
        let views = LoadBalancers::observe(&self.0, requests).await;
        let noted = |(request, view): (&LoadBalancerRequest, Result<EnsuredView, Doubt>)| {
            Ok(Noted { request: request.clone(), view: view? })
        };
        requests.iter().zip(views).map(noted).collect()
    }

    async fn execute(&self, step: &EnsureStep, fence: &dyn Fence) -> Result<(), CloudError> {
        LoadBalancers::execute(&self.0, step, fence).await
    }

    fn policy(&self) -> Arc<dyn LoadBalancerPolicy> {
        Arc::new(NotedPolicy)
    }
}

struct NotedPolicy;

impl LoadBalancerPolicy for NotedPolicy {
    fn annotations_after_removal(&self) -> Notes {
        Notes::default().without(NOTE)
    }
}

/// What was observed, and for whom.
struct Noted {
    request: LoadBalancerRequest,
    view: EnsuredView,
}

impl ObservedLoadBalancer for Noted {
    type Step = EnsureStep;

    fn plan(&self, now: Timestamp) -> Plan<EnsureStep, LoadBalancerStatus> {
        ObservedLoadBalancer::plan(&self.view, now)
    }

    fn is_there(&self) -> bool {
        ObservedLoadBalancer::is_there(&self.view)
    }

    fn annotations(&self) -> Notes {
        match (self.request.purpose, ObservedLoadBalancer::is_there(&self.view)) {
            (Purpose::Ensure, true) => Notes::default().with(NOTE, self.request.service.uid.as_str()),
            (Purpose::Remove, false) => Notes::default().without(NOTE),
            _in_between => Notes::default(),
        }
    }
}

/// A controller of the cloud's own: a label on Nodes, an annotation on Services.
struct Badges {
    name: &'static str,
    watches: Watches,
    fails_on: &'static str,
}

#[async_trait]
impl ExtraController for Badges {
    fn name(&self) -> &str {
        self.name
    }

    fn watches(&self) -> Watches {
        self.watches
    }

    async fn reconcile(&self, object: &Watched, _fence: &dyn Fence) -> Result<Answer, CloudError> {
        let badge = BTreeMap::from([(BADGE.to_owned(), Some("yes".to_owned()))]);
        let (name, answer) = match object {
            Watched::Node(node) => (&node.name, Answer { labels: badge, ..Answer::default() }),
            Watched::Service(service) => (&service.name, Answer { annotations: badge, ..Answer::default() }),
        };
        if is(self.fails_on, name) { Err(no("this badge")) } else { Ok(answer) }
    }
}
