//! The provider inside kube-controller-manager, and the person who takes it out.
//!
//! One process writes for all control-plane nodes: it stands for the leader among the kube-controller-managers, and it heeds no Lease of
//! a cloud-controller-manager. It is the upstream manager, without election and with the controller of Services alone: what was inside
//! is where its code came from. The names of its load balancers are therefore those of today.
//!
//! The person reads the steps in the status of our resource and follows them, one node after the other.

use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use migration_tests::request::{Side, Writer};
use serde_json::{Value, json};
use sim_openstack::MEMBER;
use tokio::time::sleep;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::cloud::Cloud;
use crate::process::Process;
use crate::site::{CLUSTER, Site, node_name};
use crate::stage::{SYSTEM, Stage};

const INSIDE: &str = "openstack";
const EXTERNAL: &str = "external";
const LOOK: Duration = Duration::from_millis(200);
/// How long a person takes for a node.
const STEP: Duration = Duration::from_millis(400);

/// What is known of the control plane.
struct Plane {
    /// `--cloud-provider` of the nodes' kube-controller-managers.
    providers: Vec<String>,
    process: Option<Process>,
    starts: usize,
}

/// The control plane with its provider inside, and the person. Both are gone when this is dropped.
pub(crate) struct InTree {
    plane: Arc<Mutex<Plane>>,
    _stop: DropGuard,
}

struct Work {
    site: Site,
    pods: Api<Pod>,
    plane: Arc<Mutex<Plane>>,
    first: String,
    nodes: usize,
    program: PathBuf,
    arguments: Vec<String>,
    log: PathBuf,
}

impl InTree {
    /// Starts it on so many control-plane nodes, of so many nodes.
    pub(crate) async fn start(
        stage: &Stage,
        cloud: &Cloud,
        run: &str,
        first: &str,
        [control_plane, nodes]: [usize; 2],
    ) -> anyhow::Result<Self> {
        let conf = stage.folder().join(format!("{run}-inside-cloud.conf"));
        std::fs::write(&conf, cloud.conf(MEMBER))?;
        let arguments = vec![
            "--cloud-provider=openstack".to_owned(),
            format!("--cluster-name={CLUSTER}"),
            "--controllers=service".to_owned(),
            "--leader-elect=false".to_owned(),
            "--secure-port=0".to_owned(),
            format!("--cloud-config={}", conf.display()),
            format!("--kubeconfig={}", stage.kubeconfig.display()),
        ];
        let providers = vec![INSIDE.to_owned(); control_plane];
        let plane = Arc::new(Mutex::new(Plane { providers, process: None, starts: 0 }));
        let work = Work {
            site: Site { client: stage.client.clone(), resource: run.to_owned() },
            pods: Api::namespaced(stage.client.clone(), SYSTEM),
            plane: plane.clone(),
            first: first.to_owned(),
            nodes,
            program: stage.occm.clone(),
            arguments,
            log: stage.folder().join(format!("{run}-inside.log")),
        };
        for place in 0..control_plane {
            work.mirror(place, INSIDE).await?;
        }
        let stop = CancellationToken::new();
        tokio::spawn(stop.clone().run_until_cancelled_owned(work.forever()));
        Ok(Self { plane, _stop: stop.drop_guard() })
    }

    /// Ends the process; whether there was one.
    pub(crate) fn end(&self, hard: bool) -> anyhow::Result<bool> {
        let mut plane = lock(&self.plane);
        let Some(process) = plane.process.as_mut() else { return Ok(false) };
        if hard {
            process.kill();
        } else {
            process.ask_to_end()?;
        }
        Ok(true)
    }
}

impl Drop for InTree {
    fn drop(&mut self) {
        lock(&self.plane).process = None;
    }
}

fn lock(plane: &Mutex<Plane>) -> MutexGuard<'_, Plane> {
    plane.lock().unwrap_or_else(PoisonError::into_inner)
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
        self.lead()?;
        let Ok(status) = self.site.status().await else { return Ok(()) };
        let steps = status["migration"]["steps"].as_array().cloned().unwrap_or_default();
        for step in steps.iter().filter(|step| step["done"] == json!(false)) {
            self.follow(step).await?;
        }
        Ok(())
    }

    /// There is a process as long as any node has the provider inside.
    fn lead(&self) -> anyhow::Result<()> {
        let mut plane = lock(&self.plane);
        let is_inside = plane.providers.iter().any(|provider| provider == INSIDE);
        let runs = plane.process.as_mut().is_some_and(Process::runs);
        if !is_inside || runs {
            return Ok(());
        }
        plane.starts += 1;
        let writer = Writer { side: Side::Old, process: format!("inside.{}", plane.starts) };
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).arg(format!("--user-agent={}", writer.agent()));
        plane.process = Some(Process::start(command, &self.log)?);
        Ok(())
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
        let count = lock(&self.plane).providers.len();
        for place in 0..count {
            if lock(&self.plane).providers[place] == provider {
                continue;
            }
            sleep(STEP).await;
            {
                let mut plane = lock(&self.plane);
                // Whoever led is gone; another node that still has it inside takes over.
                plane.process = None;
                provider.clone_into(&mut plane.providers[place]);
            }
            self.mirror(place, provider).await?;
            self.lead()?;
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
