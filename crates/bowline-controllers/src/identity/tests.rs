//! Both directions of SR-3, under virtual time: while the cloud does not know us nothing is deleted and nothing changed,
//! and when it does, everything is done.

mod changed_project;
mod own_controllers;

use std::collections::BTreeSet;
use std::future::Future;
use std::time::Duration;

use async_trait::async_trait;
use bowline_cloud::{
    AnyLoadBalancers, Capability, Claim, Doubt, EnsureLoadBalancer, EnsureOutcome, Ensured, Evidence,
    ExtraController, Instance, Instances, LoadBalancerRequest, LoadBalancerStatus, NodeSet, NodeView, Power,
    Proof, Purpose, Route, RouteChange, Routes, ServiceView, Unfenced,
};
use bowline_kube::clock::Clock;
use bowline_kube::events::{EventMetrics, EventRecorder};
use bowline_kube::informer::InformerSpec;
use bowline_kube::queue::QueueMetrics;
use bowline_kube::write::{Change, Guard, Writer};
use k8s_openapi::api::core::v1::Service;
use kube::Api;
use prometheus_client::registry::Registry;
use serde_json::{Value, json};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::controller::{Controller, ControllerContext};
use crate::lifecycle::{LifecycleController, LifecycleOptions};
use crate::memory_api::Server;
use crate::metrics::ControllerMetrics;
use crate::registry::common_names;
use crate::view::{SlimNode, SlimService, node_view, service_view};

/// A cloud with a password, a project, and no machine but shut-down ones.
#[derive(Default)]
struct Project {
    /// Its id; `None` if it cannot say.
    id: Mutex<Option<String>>,
    locked_out: Mutex<bool>,
    /// The projects that have a load balancer.
    balanced: Mutex<BTreeSet<String>>,
    /// The projects that routes were made in.
    routed: Mutex<BTreeSet<String>>,
    /// How often its own controller was called.
    called: Mutex<usize>,
}

impl Project {
    fn called(id: &str) -> Arc<Self> {
        Arc::new(Self {
            id: Mutex::new(Some(id.to_owned())),
            balanced: Mutex::new([id.to_owned()].into()),
            ..Self::default()
        })
    }

    fn is(&self, id: &str) {
        *self.id.lock().unwrap() = Some(id.to_owned());
    }

    fn lock_out(&self, locked_out: bool) {
        *self.locked_out.lock().unwrap() = locked_out;
    }

    fn here(&self) -> Option<String> {
        self.id.lock().unwrap().clone()
    }

    fn admit(&self) -> Result<(), CloudError> {
        match *self.locked_out.lock().unwrap() {
            true => Err(CloudError::new(ErrorClass::Unauthenticated, "401 from the identity service")),
            false => Ok(()),
        }
    }
}

struct TheCloud(Arc<Project>);

#[async_trait]
impl Cloud for TheCloud {
    fn name(&self) -> &str {
        "project"
    }
    async fn identity(&self) -> Result<Option<String>, CloudError> {
        self.0.admit()?;
        Ok(self.0.id.lock().unwrap().clone())
    }
    fn instances(&self) -> Capability<Arc<dyn Instances>> {
        Capability::Supported(self.0.clone())
    }
    fn load_balancers(&self) -> Capability<Arc<dyn AnyLoadBalancers>> {
        Capability::Supported(Arc::new(Ensured::new(Balancers(self.0.clone()))))
    }
    fn routes(&self) -> Capability<Arc<dyn Routes>> {
        Capability::Supported(self.0.clone())
    }
    fn extra_controllers(&self) -> Vec<Arc<dyn ExtraController>> {
        vec![self.0.clone()]
    }
}

#[async_trait]
impl Instances for Project {
    fn claims(&self, _node: &NodeView) -> Claim {
        Claim::Ours
    }
    async fn observe(&self, nodes: &[Arc<NodeView>]) -> Vec<Evidence<Instance>> {
        let mut answers = Vec::new();
        for node in nodes {
            answers.push(self.confirm(node).await);
        }
        answers
    }
    /// The compute service still believes the old token: only the identity service would say that it is void.
    async fn confirm(&self, node: &NodeView) -> Evidence<Instance> {
        match node.name.as_str() {
            "off" => Evidence::Present(Instance { power: Power::ShutDown, ..Instance::default() }),
            _gone => Evidence::Absent(Proof::new("404")),
        }
    }
}

#[async_trait]
impl Routes for Project {
    async fn list(&self, _cluster: &str) -> Result<Vec<Route>, CloudError> {
        Ok(Vec::new())
    }
    async fn apply(
        &self,
        _cluster: &str,
        changes: &[RouteChange],
        fence: &dyn Fence,
    ) -> Vec<Result<(), CloudError>> {
        let change = |_change| {
            fence.check()?;
            self.routed.lock().unwrap().extend(self.here());
            Ok(())
        };
        changes.iter().map(change).collect()
    }
}

struct Balancers(Arc<Project>);

#[async_trait]
impl EnsureLoadBalancer for Balancers {
    async fn get(&self, _request: &LoadBalancerRequest) -> Evidence<LoadBalancerStatus> {
        match self.0.admit() {
            Ok(()) if self.0.here().is_some_and(|here| !self.0.balanced.lock().unwrap().contains(&here)) => {
                Evidence::Absent(Proof::new("404"))
            }
            Ok(()) => Evidence::Present(LoadBalancerStatus::default()),
            Err(error) => error.into(),
        }
    }
    async fn ensure(
        &self,
        _request: &LoadBalancerRequest,
        fence: &dyn Fence,
    ) -> Result<EnsureOutcome, CloudError> {
        fence.check()?;
        self.0.balanced.lock().unwrap().extend(self.0.here());
        Ok(EnsureOutcome::Ready(LoadBalancerStatus::default()))
    }
    async fn update(&self, _request: &LoadBalancerRequest, fence: &dyn Fence) -> Result<(), CloudError> {
        Ok(fence.check()?)
    }
    async fn delete(&self, _request: &LoadBalancerRequest, fence: &dyn Fence) -> Result<(), CloudError> {
        fence.check()?;
        if let Some(here) = self.0.here() {
            self.0.balanced.lock().unwrap().remove(&here);
        }
        Ok(())
    }
}

fn node(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "uid": format!("uid-{name}"), "resourceVersion": "7",
                     "creationTimestamp": "2026-11-01T08:00:00Z"},
        "spec": {"providerID": format!("project://{name}")},
        "status": {"conditions": [{"type": "Ready", "status": if name == "fine" { "True" } else { "False" }}]}
    })
}

/// A cluster in which one Node must go and one be tainted, and the lifecycle controller over it.
struct World {
    server: Server,
    project: Arc<Project>,
    identity: CloudIdentity,
    cloud: Arc<dyn Cloud>,
}

impl World {
    fn new(project: Arc<Project>) -> Self {
        let identity = CloudIdentity::default();
        let nodes = ["gone", "off", "fine", "fine-too"].into_iter().enumerate().map(|(index, name)| {
            let mut node = node(if name == "fine-too" { "fine" } else { name });
            node["metadata"]["name"] = json!(name);
            node["spec"]["podCIDRs"] = json!([format!("10.0.{index}.0/24")]);
            node
        });
        let cloud: Arc<dyn Cloud> = Arc::new(TheCloud(project.clone()));
        let cloud = Arc::new(WatchedCloud::new(cloud, identity.clone()));
        Self { server: Server::new(nodes.collect()), project, identity, cloud }
    }

    /// Runs the lifecycle controller while `meanwhile` does something.
    async fn run(&self, meanwhile: impl Future<Output = ()>) {
        let controller = LifecycleController::new(common_names().remove(1), LifecycleOptions::default());
        self.identity.ask(self.cloud.as_ref()).await;
        self.run_controller(&controller.unwrap(), Duration::from_secs(5), meanwhile).await;
    }

    /// Runs `controller`; the cloud is asked who we are from time to time.
    async fn run_controller(
        &self,
        controller: &dyn Controller,
        ask_every: Duration,
        meanwhile: impl Future<Output = ()>,
    ) {
        let (client, cancel) = (self.server.client(), CancellationToken::new());
        let (nodes, node_task) = InformerSpec::new("nodes", |node: SlimNode| Some(Arc::new(node_view(node))))
            .build(client.clone(), Api::all);
        let (services, service_task) =
            InformerSpec::new("services", |service: SlimService| Some(Arc::new(service_view(service))))
                .build(client.clone(), Api::all);
        let clock = Clock::simulated("2026-11-02T08:00:00Z".parse().unwrap());
        let fence = self.identity.fence(Arc::new(Unfenced));
        let mut registry = Registry::default();
        let context = ControllerContext {
            cloud: self.cloud.clone(),
            nodes,
            services,
            writer: Writer::new(client.clone(), fence.clone(), Duration::from_secs(5)),
            events: EventRecorder::new(client, "test", "", clock.clone(), EventMetrics::default()),
            fence,
            clock,
            queues: QueueMetrics::register(&mut registry),
            metrics: ControllerMetrics::register(&mut registry),
            journal: bowline_cloud::Journal::default(),
            ledger: bowline_kube::ledger::Ledger::default(),
            machines: crate::rails::seen_machines::SeenMachines::default(),
            node_filter: crate::rails::node_filter::NodeFilter::default(),
        };
        let ask = async {
            loop {
                sleep(ask_every).await;
                self.identity.ask(self.cloud.as_ref()).await;
            }
        };
        let stop = async {
            meanwhile.await;
            cancel.cancel();
        };
        let (ended, ..) = tokio::join!(
            controller.run(context, cancel.clone()),
            node_task.run(cancel.clone()),
            service_task.run(cancel.clone()),
            stop,
            cancel.run_until_cancelled(ask)
        );
        ended.unwrap();
    }

    /// What was written to Nodes: method and name.
    fn written(&self) -> Vec<String> {
        self.written_below("/api/v1/nodes/")
    }

    fn written_below(&self, folder: &str) -> Vec<String> {
        let writes = self.server.writes.lock().unwrap();
        let folder = format!(" {folder}");
        let nodes = writes.iter().filter_map(|(what, _)| what.split_once(folder.as_str()));
        let mut nodes: Vec<_> = nodes.map(|(method, name)| format!("{method} {name}")).collect();
        nodes.sort();
        nodes.dedup();
        nodes
    }
}

const EVERYTHING: [&str; 2] = ["DELETE gone", "PATCH off"];

#[tokio::test(start_paused = true)]
async fn who_is_known_to_the_cloud_deletes_and_taints_as_ever() {
    for project in [Project::called("a"), Arc::new(Project::default())] {
        let world = World::new(project);
        world.run(sleep(Duration::from_secs(30))).await;
        assert_eq!(world.written(), EVERYTHING);
        assert_eq!(*world.identity.watch().borrow(), None);
    }
}

#[tokio::test(start_paused = true)]
async fn with_a_bad_password_nothing_is_deleted_or_changed_and_with_a_good_one_everything_is() {
    let world = World::new(Project::called("a"));
    world.identity.ask(world.cloud.as_ref()).await;
    world.project.lock_out(true);
    let meanwhile = async {
        sleep(Duration::from_secs(3600)).await;
        assert_eq!(world.written(), Vec::<String>::new(), "although the machine is said to be gone");
        assert!(matches!(&*world.identity.watch().borrow(), Some(Loss::Refused(why)) if why.contains("401")));
        world.project.lock_out(false);
        sleep(Duration::from_secs(60)).await;
    };
    world.run(meanwhile).await;
    assert_eq!(world.written(), EVERYTHING);
    assert_eq!(*world.identity.watch().borrow(), None, "by itself");
}

#[tokio::test(start_paused = true)]
async fn another_projects_404_deletes_nothing() {
    let world = World::new(Project::called("a"));
    world.identity.ask(world.cloud.as_ref()).await;
    world.project.is("b");
    let meanwhile = async {
        sleep(Duration::from_secs(3600)).await;
        assert_eq!(world.written(), Vec::<String>::new());
        let (known, found) = ("a".to_owned(), "b".to_owned());
        assert_eq!(*world.identity.watch().borrow(), Some(Loss::Changed { known, found }));
        world.project.is("a");
        sleep(Duration::from_secs(60)).await;
    };
    world.run(meanwhile).await;
    assert_eq!(world.written(), EVERYTHING);
}

fn request() -> LoadBalancerRequest {
    LoadBalancerRequest {
        fingerprints: Vec::new(),
        urgency: bowline_cloud::Urgency::User,
        services: bowline_cloud::ServiceDirectory::default(),
        cluster: "c".into(),
        service: Arc::new(ServiceView { name: "web".into(), uid: "u".into(), ..ServiceView::default() }),
        nodes: NodeSet::default(),
        purpose: Purpose::Remove,
    }
}

#[tokio::test(start_paused = true)]
async fn one_refused_look_closes_the_fence_for_services_too_and_one_answered_look_opens_it() {
    let world = World::new(Arc::new(Project::default()));
    let Capability::Supported(balancers) = world.cloud.load_balancers() else { panic!("no load balancers") };
    let fence = world.identity.fence(Arc::new(Unfenced));
    let writer = Writer::new(world.server.client(), fence.clone(), Duration::from_secs(5));
    let drop_finalizer = async || {
        let change = Change::Merge(json!({"metadata": {"finalizers": []}}));
        writer.patch_status::<Service>(Some("ns"), "web", &Guard::Uid("u".into()), change).await
    };
    world.project.lock_out(true);
    let looked = balancers.observe(&[request()]).await;
    assert!(matches!(&looked[..], [Evidence::Unknown(Doubt { class: ErrorClass::Unauthenticated, .. })]));
    assert!(fence.check().unwrap_err().why.contains("401"), "the cloud's own fence, for every mutating call");
    assert!(drop_finalizer().await.is_err());
    assert!(world.server.writes.lock().unwrap().is_empty(), "the Service keeps its finalizer");

    world.project.lock_out(false);
    sleep(Duration::from_secs(1)).await;
    balancers.observe(&[request()]).await;
    assert!(fence.check().is_ok());
    drop_finalizer().await.unwrap();
    assert_eq!(world.server.writes.lock().unwrap().len(), 1);
}

#[test]
fn a_pause_is_seen_through_this_fence() {
    #[derive(Debug)]
    struct Paused;
    impl Fence for Paused {
        fn check(&self) -> Result<(), Fenced> {
            Err(Fenced { why: "paused".into() })
        }
        fn paused(&self) -> Option<Pause> {
            Some(Pause { why: "rack 7 moves".into(), until: "it has moved".into() })
        }
    }
    let fence = CloudIdentity::default().fence(Arc::new(Paused));
    assert_eq!(fence.paused(), Paused.paused());
}
