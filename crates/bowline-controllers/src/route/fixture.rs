//! A cloud of routes in memory that counts its calls, and a controller running on it. For the tests of the loop.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bowline_cloud::{
    Capability, Claim, Cloud, CloudError, Doubt, ErrorClass, Evidence, Fence, Instance, Instances, NodeView,
    Route, RouteChange, Routes, Unfenced,
};
use bowline_kube::clock::Clock;
use bowline_kube::events::{EventMetrics, EventRecorder};
use bowline_kube::informer::InformerSpec;
use bowline_kube::queue::QueueMetrics;
use bowline_kube::write::Writer;
use kube::Api;
use prometheus_client::registry::Registry;
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{RouteController, RouteOptions};
use crate::controller::{Controller, ControllerContext, Stopped};
use crate::deadline::{CallDeadlines, Punctual};
use crate::memory_api::Server;
use crate::metrics::{ControllerMetrics, RouteSyncLabels};
use crate::rails::node_filter::NodeFilter;
use crate::registry::ControllerName;
use crate::view::{SlimNode, SlimService, node_view, service_view};

/// The routes of a cloud.
pub(super) struct FakeRoutes {
    started: Instant,
    pub(super) routes: Mutex<Vec<Route>>,
    /// When a list was asked for, in seconds since the start.
    pub(super) lists: Mutex<Vec<u64>>,
    /// What each call of `apply` was asked, and when: `+node`, `-name`.
    pub(super) applied: Mutex<Vec<(u64, Vec<String>)>>,
    /// Answers of the next lists, in place of the truth.
    pub(super) scripted: Mutex<VecDeque<Result<Vec<Route>, CloudError>>>,
    /// How often changes fail, by their text.
    pub(super) failures: Mutex<BTreeMap<String, u32>>,
    /// How they fail.
    pub(super) failure: Mutex<ErrorClass>,
    /// The call that never comes back: `list`, or `apply` after it took effect.
    pub(super) hangs_in: Mutex<&'static str>,
}

impl FakeRoutes {
    pub(super) fn new(routes: Vec<Route>) -> Arc<Self> {
        Arc::new(Self {
            started: Instant::now(),
            routes: Mutex::new(routes),
            lists: Mutex::default(),
            applied: Mutex::default(),
            scripted: Mutex::default(),
            failures: Mutex::default(),
            failure: Mutex::new(ErrorClass::Transient),
            hangs_in: Mutex::default(),
        })
    }

    pub(super) fn failing(self: Arc<Self>, change: &str, times: u32) -> Arc<Self> {
        self.failures.lock().unwrap().insert(change.to_owned(), times);
        self
    }

    /// All changes asked for, in order.
    pub(super) fn changes(&self) -> Vec<String> {
        self.applied.lock().unwrap().iter().flat_map(|(_, changes)| changes.clone()).collect()
    }

    pub(super) fn seconds(&self) -> u64 {
        self.started.elapsed().as_secs()
    }

    async fn hang_in(&self, call: &str) {
        let hangs = *self.hangs_in.lock().unwrap() == call;
        if hangs {
            std::future::pending::<()>().await;
        }
    }

    fn change(&self, change: &RouteChange, fence: &dyn Fence) -> Result<(), CloudError> {
        fence.check()?;
        if let Some(left) = self.failures.lock().unwrap().get_mut(&text(change)).filter(|left| **left > 0) {
            *left -= 1;
            return Err(CloudError::new(*self.failure.lock().unwrap(), "the router is busy"));
        }
        let mut routes = self.routes.lock().unwrap();
        match change {
            RouteChange::Create { hint, route } => {
                let mut made = Route::new(hint.clone(), route.target_node.clone(), route.destination);
                made.blackhole = route.blackhole;
                routes.push(made);
            }
            RouteChange::Delete(route) => {
                let at = routes.iter().position(|listed| listed == route);
                let gone = || CloudError::new(ErrorClass::NotFound, "no such route");
                routes.remove(at.ok_or_else(gone)?);
            }
        }
        Ok(())
    }
}

fn text(change: &RouteChange) -> String {
    match change {
        RouteChange::Create { route, .. } => format!("+{}", route.target_node.as_deref().unwrap()),
        RouteChange::Delete(route) => format!("-{}", route.name),
    }
}

#[async_trait]
impl Routes for FakeRoutes {
    async fn list(&self, cluster: &str) -> Result<Vec<Route>, CloudError> {
        assert_eq!(cluster, "kubernetes");
        self.lists.lock().unwrap().push(self.seconds());
        self.hang_in("list").await;
        let scripted = self.scripted.lock().unwrap().pop_front();
        scripted.unwrap_or_else(|| Ok(self.routes.lock().unwrap().clone()))
    }

    async fn apply(
        &self,
        _: &str,
        changes: &[RouteChange],
        fence: &dyn Fence,
    ) -> Vec<Result<(), CloudError>> {
        self.applied.lock().unwrap().push((self.seconds(), changes.iter().map(text).collect()));
        let answers = changes.iter().map(|change| self.change(change, fence)).collect();
        self.hang_in("apply").await;
        answers
    }
}

/// A cloud that has nothing but these routes.
pub(super) struct FakeCloud(pub(super) Capability<Arc<dyn Routes>>);

impl Cloud for FakeCloud {
    fn name(&self) -> &str {
        "fake"
    }
    fn routes(&self) -> Capability<Arc<dyn Routes>> {
        self.0.clone()
    }
}

/// The same with servers: those of the Nodes of these names, which have no provider ID yet.
pub(super) struct CloudWithServers {
    pub(super) routes: Arc<FakeRoutes>,
    pub(super) servers: Arc<FakeServers>,
}

impl Cloud for CloudWithServers {
    fn name(&self) -> &str {
        "fake"
    }
    fn routes(&self) -> Capability<Arc<dyn Routes>> {
        Capability::Supported(self.routes.clone())
    }
    fn instances(&self) -> Capability<Arc<dyn Instances>> {
        Capability::Supported(self.servers.clone())
    }
}

/// Servers by the names of their Nodes, and how often they were looked up.
#[derive(Default)]
pub(super) struct FakeServers {
    pub(super) names: Mutex<Vec<String>>,
    pub(super) lookups: Mutex<Vec<Vec<String>>>,
}

#[async_trait]
impl Instances for FakeServers {
    fn claims(&self, _: &NodeView) -> Claim {
        Claim::Ours
    }
    async fn observe(&self, nodes: &[Arc<NodeView>]) -> Vec<Evidence<Instance>> {
        let asked: Vec<String> = nodes.iter().map(|node| node.name.to_string()).collect();
        self.lookups.lock().unwrap().push(asked.clone());
        let names = self.names.lock().unwrap();
        let answer = |name: String| match names.contains(&name) {
            true => {
                Evidence::Present(Instance { provider_id: format!("fake://{name}"), ..Instance::default() })
            }
            false => Evidence::Unknown(Doubt::new("no server of that name")),
        };
        asked.into_iter().map(answer).collect()
    }
    async fn confirm(&self, _: &NodeView) -> Evidence<Instance> {
        Evidence::Unknown(Doubt::new("nobody asked"))
    }
}

/// What a controller runs on, apart from its cloud.
pub(super) struct Bench {
    pub(super) server: Server,
    pub(super) options: RouteOptions,
    pub(super) fence: Arc<dyn Fence>,
    pub(super) metrics: ControllerMetrics,
    pub(super) filter: NodeFilter,
}

impl Bench {
    pub(super) fn new(nodes: Vec<Value>) -> Self {
        Self {
            server: Server::new(nodes),
            options: RouteOptions {
                cluster_cidrs: vec!["10.120.0.0/16".parse().unwrap()],
                ..RouteOptions::default()
            },
            fence: Arc::new(Unfenced),
            metrics: ControllerMetrics::register(&mut Registry::default()),
            filter: NodeFilter::default(),
        }
    }

    /// Runs the controller over `routes` while `meanwhile` does something, and stops it then.
    pub(super) async fn run(&self, routes: &Arc<FakeRoutes>, meanwhile: impl Future<Output = ()>) {
        let cloud = FakeCloud(Capability::Supported(routes.clone()));
        self.run_on(cloud, meanwhile).await.unwrap();
    }

    pub(super) async fn run_on(
        &self,
        cloud: impl Cloud + 'static,
        meanwhile: impl Future<Output = ()>,
    ) -> Result<(), Stopped> {
        let (client, cancel) = (self.server.client(), CancellationToken::new());
        let (nodes, node_task) = InformerSpec::new("nodes", |node: SlimNode| Some(Arc::new(node_view(node))))
            .build(client.clone(), Api::all);
        let (services, _idle) =
            InformerSpec::new("services", |service: SlimService| Some(Arc::new(service_view(service))))
                .build(client.clone(), Api::all);
        let clock = Clock::system();
        let events = EventRecorder::new(
            client.clone(),
            "route_controller",
            "",
            clock.clone(),
            EventMetrics::default(),
        );
        let cloud: Arc<dyn Cloud> = Arc::new(cloud);
        let context = ControllerContext {
            cloud: Arc::new(Punctual::new(cloud, CallDeadlines::default())),
            nodes,
            services,
            writer: Writer::new(client, self.fence.clone(), Duration::from_secs(5)),
            events: events.clone(),
            fence: self.fence.clone(),
            clock,
            queues: QueueMetrics::register(&mut Registry::default()),
            metrics: self.metrics.clone(),
            journal: bowline_cloud::Journal::default(),
            ledger: bowline_kube::ledger::Ledger::default(),
            machines: crate::rails::seen_machines::SeenMachines::default(),
            node_filter: self.filter.clone(),
        };
        let name =
            ControllerName::new("node-route-controller", "route", "route-controller", "route_controller");
        let controller = RouteController::new(name, self.options.clone());
        let stop = async {
            meanwhile.await;
            cancel.cancel();
        };
        let (ended, ..) =
            tokio::join!(controller.run(context, cancel.clone()), node_task.run(cancel.clone()), stop);
        events.flush(Duration::from_secs(5)).await.unwrap();
        ended
    }

    pub(super) fn syncs(&self, outcome: &'static str, trigger: &'static str) -> u64 {
        self.metrics.route_syncs.get_or_create(&RouteSyncLabels { outcome, trigger }).get()
    }

    /// The conditions written: Node path and reason.
    pub(super) fn conditions(&self) -> Vec<String> {
        let writes = self.server.writes.lock().unwrap();
        let patches = writes.iter().filter(|(what, _)| what.starts_with("PATCH /api/v1/nodes/"));
        patches
            .map(|(what, body)| {
                let name = what.trim_start_matches("PATCH /api/v1/nodes/");
                let condition = &body["status"]["conditions"][0];
                assert_eq!(condition["type"], "NetworkUnavailable");
                format!("{name} {} {}", condition["status"], condition["reason"]).replace('"', "")
            })
            .collect()
    }

    /// The events posted: reason and message.
    pub(super) fn events(&self) -> Vec<(String, String)> {
        let writes = self.server.writes.lock().unwrap();
        let posts = writes.iter().filter(|(what, _)| what.starts_with("POST"));
        let field = |body: &Value, name: &str| body[name].as_str().unwrap().to_owned();
        posts.map(|(_, body)| (field(body, "reason"), field(body, "message"))).collect()
    }
}

/// A Node with the pod range `10.120.<i>.0/24`, called `n<i>`, whose condition is (status, reason).
pub(super) fn node(i: u8, condition: Option<(&str, &str)>) -> Value {
    let conditions: Vec<_> = condition
        .map(|(status, reason)| json!({"type": "NetworkUnavailable", "status": status, "reason": reason}))
        .into_iter()
        .collect();
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": format!("n{i}"), "uid": format!("u{i}"), "resourceVersion": "7"},
        "spec": {"podCIDRs": [format!("10.120.{i}.0/24")]},
        "status": {"conditions": conditions, "addresses": [{"type": "InternalIP", "address": format!("192.0.2.{i}")}]},
    })
}

/// A Node whose routes are there and known to be.
pub(super) fn served(i: u8) -> Value {
    node(i, Some(("False", "RouteCreated")))
}

/// The route `r<i>` to that Node.
pub(super) fn route(i: u8) -> Route {
    let destination = format!("10.120.{i}.0/24").parse().unwrap();
    Route::new(format!("r{i}"), Some(format!("n{i}")), destination)
}
