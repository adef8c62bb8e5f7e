//! The provider inside kube-controller-manager, and the person who takes it out.
//!
//! There is a kube-controller-manager on every control-plane node. They lead by a Lease of their own and heed none of a
//! cloud-controller-manager; the one that leads serves Services if it has the provider inside, under the names of that time.
//!
//! The person reads the steps in the status of our resource and follows them, one node after the other.

mod balancer;
mod election;
mod manager;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use real_kubernetes_tests::migration::request::{Side, Writer};
use real_kubernetes_tests::migration::writers::Life;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use tokio_util::sync::{CancellationToken, DropGuard};

use self::balancer::Balancers;
use self::manager::Manager;
use crate::cloud::{Cloud, Door};
use crate::cluster::{MigrationCluster, SYSTEM};
use crate::harness::{Harness, node_name};

const INSIDE: &str = "openstack";
const EXTERNAL: &str = "external";
const LOOK: Duration = Duration::from_millis(200);
/// How long a person takes for a node.
const STEP: Duration = Duration::from_millis(400);

/// The kube-controller-manager of a node.
struct Place {
    /// Its `--cloud-provider`.
    provider: String,
    /// Its process, and which of the lives is its.
    process: Option<(Manager, Option<usize>)>,
}

/// What is known of the control plane.
struct Plane {
    places: Vec<Place>,
    starts: usize,
    /// When processes with the provider inside were there.
    lives: Vec<Life>,
}

/// The control plane with its provider inside, and the person. Both are gone when this is dropped.
pub(crate) struct InTree {
    plane: Arc<Mutex<Plane>>,
    began: Instant,
    ends: AtomicUsize,
    _stop: DropGuard,
}

struct Work {
    site: Harness,
    pods: Api<Pod>,
    plane: Arc<Mutex<Plane>>,
    began: Instant,
    first: String,
    nodes: usize,
    door: Door,
    subnet: String,
    floating_network: String,
}

impl InTree {
    /// Starts it on so many control-plane nodes, of so many nodes.
    pub(crate) async fn start(
        stage: &MigrationCluster,
        cloud: &Cloud,
        run: &str,
        first: &str,
        [control_plane, nodes]: [usize; 2],
        began: Instant,
    ) -> anyhow::Result<Self> {
        let inside = || Place { provider: INSIDE.to_owned(), process: None };
        let places = std::iter::repeat_with(inside).take(control_plane).collect();
        let plane = Arc::new(Mutex::new(Plane { places, starts: 0, lives: Vec::new() }));
        let work = Work {
            site: Harness { client: stage.client.clone(), resource: run.to_owned() },
            pods: Api::namespaced(stage.client.clone(), SYSTEM),
            plane: plane.clone(),
            began,
            first: first.to_owned(),
            nodes,
            door: cloud.door().await?,
            subnet: cloud.estate.subnet.clone(),
            floating_network: cloud.estate.external_network.clone(),
        };
        for place in 0..control_plane {
            work.mirror(place, INSIDE).await?;
        }
        let stop = CancellationToken::new();
        tokio::spawn(stop.clone().run_until_cancelled_owned(work.forever()));
        Ok(Self { plane, began, ends: AtomicUsize::new(0), _stop: stop.drop_guard() })
    }

    /// Ends a kube-controller-manager that has the provider inside; whether there was one.
    pub(crate) async fn end(&self) -> anyhow::Result<bool> {
        let which = self.ends.fetch_add(1, Ordering::Relaxed);
        let found = {
            let mut plane = lock(&self.plane);
            let count = plane.places.len();
            let inside = |place: &&mut Place| place.provider == INSIDE && place.process.is_some();
            let mut all: Vec<&mut Place> = plane.places.iter_mut().filter(inside).collect();
            let place = all.get_mut(which % count.max(1));
            place.and_then(|place| place.process.take())
        };
        let Some((process, life)) = found else { return Ok(false) };
        ended(&self.plane, self.began, process, life).await;
        Ok(true)
    }

    /// When somebody with the provider inside could write.
    pub(crate) fn lives(&self) -> Vec<Life> {
        lock(&self.plane).lives.clone()
    }
}

impl Drop for InTree {
    fn drop(&mut self) {
        lock(&self.plane).places.clear();
    }
}

fn lock(plane: &Mutex<Plane>) -> MutexGuard<'_, Plane> {
    plane.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends a process, and writes down that it has ended.
async fn ended(plane: &Mutex<Plane>, began: Instant, process: Manager, life: Option<usize>) {
    process.end().await;
    let mut plane = lock(plane);
    if let Some(life) = life.and_then(|life| plane.lives.get_mut(life)) {
        life.until = Some(began.elapsed());
    }
}

impl Work {
    async fn forever(self) {
        loop {
            if let Err(error) = self.look().await {
                println!("the control plane: {error:#}");
            }
            sleep(LOOK).await;
        }
    }

    async fn look(&self) -> anyhow::Result<()> {
        self.start_all();
        let Ok(status) = self.site.status().await else { return Ok(()) };
        let steps = status["migration"]["steps"].as_array().cloned().unwrap_or_default();
        for step in steps.iter().filter(|step| step["done"] == json!(false)) {
            self.follow(step).await?;
        }
        Ok(())
    }

    /// What kubelets do: every kube-controller-manager that has ended is started again.
    fn start_all(&self) {
        let plane = &mut *lock(&self.plane);
        for (number, place) in plane.places.iter_mut().enumerate() {
            if place.process.as_ref().is_some_and(|(process, _)| process.runs()) {
                continue;
            }
            if let Some((_, Some(life))) = place.process.take()
                && let Some(life) = plane.lives.get_mut(life)
            {
                life.until = Some(self.began.elapsed());
            }
            plane.starts += 1;
            let writer = Writer { side: Side::Old, process: format!("inside.{}", plane.starts) };
            let identity = format!("{}_{}", node_name(&self.first, number), plane.starts);
            let balancers = (place.provider == INSIDE).then(|| Balancers {
                door: self.door.clone(),
                writer: writer.clone(),
                subnet: self.subnet.clone(),
                floating_network: self.floating_network.clone(),
            });
            let life = balancers.is_some().then_some(plane.lives.len());
            if life.is_some() {
                plane.lives.push(Life { writer, from: self.began.elapsed(), until: None });
            }
            place.process = Some((Manager::start(&self.site.client, identity, balancers), life));
        }
    }

    /// Follows a step, if it says what is to be set where.
    async fn follow(&self, step: &Value) -> anyhow::Result<()> {
        let what = step["what"].as_str().unwrap_or_default();
        let wanted = [INSIDE, EXTERNAL]
            .into_iter()
            .find(|provider| what.contains(&format!("--cloud-provider={provider}")));
        match wanted {
            Some(provider) if what.starts_with("start kube-controller-manager") => {
                self.set_managers(provider).await
            }
            Some(provider) if what.starts_with("start kubelet") => {
                for place in 0..self.nodes {
                    sleep(STEP / 4).await;
                    self.site.declare_kubelet(&node_name(&self.first, place), provider).await?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Sets the flag of one kube-controller-manager after the other. Its old process is gone before the new one is told of.
    async fn set_managers(&self, provider: &str) -> anyhow::Result<()> {
        let count = lock(&self.plane).places.len();
        for number in 0..count {
            let is_set = |place: &Place| place.provider == provider;
            if lock(&self.plane).places.get(number).is_none_or(is_set) {
                continue;
            }
            sleep(STEP).await;
            let before = {
                let mut plane = lock(&self.plane);
                let Some(place) = plane.places.get_mut(number) else { return Ok(()) };
                provider.clone_into(&mut place.provider);
                place.process.take()
            };
            if let Some((process, life)) = before {
                ended(&self.plane, self.began, process, life).await;
            }
            // Whoever writes again is told of before it does.
            self.mirror(number, provider).await?;
            self.start_all();
        }
        Ok(())
    }

    /// The mirror pod of a node's kube-controller-manager, made anew.
    async fn mirror(&self, place: usize, provider: &str) -> anyhow::Result<()> {
        let node = node_name(&self.first, place);
        let name = format!("kube-controller-manager-{node}");
        let gone = self.pods.delete(&name, &DeleteParams::default().grace_period(0)).await;
        match gone {
            Err(kube::Error::Api(status)) if status.is_not_found() => {}
            other => drop(other?),
        }
        let pod = json!({
            "metadata": {
                "name": name, "annotations": { "kubernetes.io/config.mirror": "x" },
                "labels": { "tier": "control-plane", "component": "kube-controller-manager" },
            },
            "spec": { "nodeName": node, "hostNetwork": true, "containers": [{
                "name": "kube-controller-manager", "image": "registry.k8s.io/kube-controller-manager:v1.25.0",
                "command": ["kube-controller-manager", format!("--cloud-provider={provider}"), "--leader-elect=true"],
            }] },
        });
        self.pods.create(&PostParams::default(), &serde_json::from_value(pod)?).await?;
        let now = Timestamp::now();
        let status = json!({ "status": {
            "phase": "Running", "startTime": now, "conditions": [{ "type": "Ready", "status": "True" }],
            "containerStatuses": [{
                "name": "kube-controller-manager", "ready": true, "restartCount": 0, "image": "x", "imageID": "x",
                "state": { "running": { "startedAt": now } },
            }],
        } });
        self.pods.patch_status(&name, &PatchParams::default(), &Patch::Merge(status)).await?;
        Ok(())
    }
}
