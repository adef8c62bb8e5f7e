//! Both directions of SR-3, under virtual time: while the cloud does not know us nothing is deleted and nothing changed,
//! and when it does, everything is done.

mod changed_project;
mod own_controllers;

use std::collections::BTreeSet;
use std::future::Future;
use std::time::Duration;

use async_trait::async_trait;
use bowline_cloud::{
    Capability, Doubt, EnsureLoadBalancer, EnsureOutcome, Ensured, Evidence, Instance, LoadBalancerRequest,
    LoadBalancerStatus, NodeSet, NodeView, Power, Proof, Purpose, ServiceView, Unfenced,
};
use bowline_kube::write::{Change, Guard, Writer};
use bowline_testkit::fence::TestFence;
use bowline_testkit::memory_cluster::MemoryCluster;
use bowline_testkit::provider::{FakeCloud, FakeInstances, FakeRoutes, Lookup};
use k8s_openapi::api::core::v1::Service;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::*;
use crate::controller::Controller;
use crate::harness::Harness;
use crate::lifecycle::{LifecycleController, LifecycleOptions};
use crate::registry::common_names;

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
        *self.id.lock() = Some(id.to_owned());
    }

    fn lock_out(&self, locked_out: bool) {
        *self.locked_out.lock() = locked_out;
    }

    fn here(&self) -> Option<String> {
        self.id.lock().clone()
    }

    fn admit(&self) -> Result<(), CloudError> {
        match *self.locked_out.lock() {
            true => Err(CloudError::new(ErrorClass::Unauthenticated, "401 from the identity service")),
            false => Ok(()),
        }
    }
}

/// The compute service still believes the old token: only the identity service would say that it is void.
fn machine(node: &NodeView, _: Lookup) -> Evidence<Instance> {
    match node.name.as_str() {
        "off" => Evidence::Present(Instance { power: Power::ShutDown, ..Instance::default() }),
        _gone => Evidence::Absent(Proof::new("404")),
    }
}

fn cloud_of(project: &Arc<Project>) -> FakeCloud {
    let routes = FakeRoutes::new(Vec::new());
    let (asked, changed) = (project.clone(), project.clone());
    routes.on_change(move |_| {
        changed.routed.lock().extend(changed.here());
        Ok(())
    });
    FakeCloud::default()
        .identified_by(move || std::future::ready(asked.admit().map(|()| asked.here())))
        .with_instances(Arc::new(FakeInstances::answering(machine)))
        .with_load_balancers(Arc::new(Ensured::new(Balancers(project.clone()))))
        .with_routes(routes)
        .with_extra_controller(project.clone())
}

struct Balancers(Arc<Project>);

#[async_trait]
impl EnsureLoadBalancer for Balancers {
    async fn get(&self, _request: &LoadBalancerRequest) -> Evidence<LoadBalancerStatus> {
        match self.0.admit() {
            Ok(()) if self.0.here().is_some_and(|here| !self.0.balanced.lock().contains(&here)) => {
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
        self.0.balanced.lock().extend(self.0.here());
        Ok(EnsureOutcome::Ready(LoadBalancerStatus::default()))
    }
    async fn update(&self, _request: &LoadBalancerRequest, fence: &dyn Fence) -> Result<(), CloudError> {
        Ok(fence.check()?)
    }
    async fn delete(&self, _request: &LoadBalancerRequest, fence: &dyn Fence) -> Result<(), CloudError> {
        fence.check()?;
        if let Some(here) = self.0.here() {
            self.0.balanced.lock().remove(&here);
        }
        Ok(())
    }
}

fn node(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "uid": format!("uid-{name}"),
                     "creationTimestamp": "2026-11-01T08:00:00Z"},
        "spec": {"providerID": format!("fake://{name}")},
        "status": {"conditions": [{"type": "Ready", "status": if name == "fine" { "True" } else { "False" }}]}
    })
}

/// A cluster in which one Node must go and one be tainted, and the lifecycle controller over it.
struct World {
    server: MemoryCluster,
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
        let cloud: Arc<dyn Cloud> = Arc::new(cloud_of(&project));
        let cloud = Arc::new(WatchedCloud::new(cloud, identity.clone()));
        Self { server: MemoryCluster::with(nodes), project, identity, cloud }
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
        let mut harness = Harness::new(&self.server, self.cloud.clone());
        harness.fence = self.identity.fence(Arc::new(Unfenced));
        let ask = async {
            loop {
                sleep(ask_every).await;
                self.identity.ask(self.cloud.as_ref()).await;
            }
        };
        let asked_meanwhile = async {
            tokio::select! { () = meanwhile => {}, () = ask => {} }
        };
        harness.run(controller, asked_meanwhile).await.unwrap();
    }

    /// What was written to Nodes: method and name.
    fn written(&self) -> Vec<String> {
        self.written_below("/api/v1/nodes/")
    }

    fn written_below(&self, folder: &str) -> Vec<String> {
        let writes = self.server.writes();
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
    world.server.put(json!({"apiVersion": "v1", "kind": "Service",
        "metadata": {"name": "web", "namespace": "ns", "uid": "u"}, "spec": {"ports": [{"port": 80}]}}));
    let Capability::Supported(balancers) = world.cloud.load_balancers() else { panic!("no load balancers") };
    let fence = world.identity.fence(Arc::new(Unfenced));
    let writer = Writer::new(world.server.client(), fence.clone(), Duration::from_secs(5));
    let drop_finalizer = async || {
        let change = Change::Merge(json!({"metadata": {"finalizers": []}}));
        writer.patch_status::<Service>(Some("ns"), "web", &Guard::Uid("u".into()), change).await
    };
    world.project.lock_out(true);
    let looked = balancers.observe(&[request()]).await;
    assert!(matches!(&looked[..], [Err(Doubt { class: ErrorClass::Unauthenticated, .. })]));
    assert!(fence.check().unwrap_err().why.contains("401"), "the cloud's own fence, for every mutating call");
    assert!(drop_finalizer().await.is_err());
    assert!(world.server.writes().is_empty(), "the Service keeps its finalizer");

    world.project.lock_out(false);
    sleep(Duration::from_secs(1)).await;
    balancers.observe(&[request()]).await;
    assert!(fence.check().is_ok());
    drop_finalizer().await.unwrap();
    assert_eq!(world.server.writes().len(), 1);
}

#[test]
fn a_pause_is_seen_through_this_fence() {
    let paused = TestFence::paused_for("rack 7 moves");
    let fence = CloudIdentity::default().fence(Arc::new(paused.clone()));
    assert!(fence.paused().is_some());
    assert_eq!(fence.paused(), paused.paused());
}
