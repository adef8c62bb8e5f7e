//! Who performs the steps of a scenario: users, kubelets, and people who own servers. They talk to the API server directly.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, ensure};
use bowline_testkit::eventually;
use k8s_openapi::api::core::v1::{Namespace, Node, Service};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams, Preconditions};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::cloud::Cloud;
use crate::observer::Observer;
use crate::scenario::{SERVERS, Step};
use crate::snapshot::{BALANCER, INTERNAL, Snapshot, UNINITIALISED, Whole, unsettled};
use crate::stage::{NAMESPACE, Stage};

/// Longer than anything takes on a busy machine; who gets here has failed.
pub const PATIENCE: Duration = Duration::from_secs(90);
const LOOK: Duration = Duration::from_millis(25);

/// A cluster on a cloud, for one run.
pub struct Site<'s> {
    /// The cluster.
    pub stage: &'s Stage,
    /// The cloud.
    pub cloud: Cloud,
    /// Who sees.
    pub observer: Observer,
    names: Mutex<BTreeMap<String, String>>,
}

impl<'s> Site<'s> {
    /// One without Nodes and Services.
    ///
    /// # Errors
    /// When the API server does not say who it is.
    pub async fn new(stage: &'s Stage, cloud: Cloud, observer: Observer) -> anyhow::Result<Self> {
        let site = Self { stage, cloud, observer, names: Mutex::default() };
        let system = Api::<Namespace>::all(stage.admin.clone()).get("kube-system").await?;
        site.name(&system.uid().context("a namespace without a UID")?, "cluster", false);
        for server in SERVERS {
            site.name(&site.cloud.server(server).context("no server")?, &format!("server {server}"), true);
        }
        Ok(site)
    }

    fn names(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Names an identifier: the how-manieth of this name.
    fn name(&self, id: &str, name: &str, numbered: bool) {
        let mut names = self.names();
        let before = names.values().filter(|given| given.starts_with(&format!("{name}/"))).count();
        let name = if numbered { format!("{name}/{}", before + 1) } else { name.to_owned() };
        names.insert(id.to_owned(), name);
    }

    /// Performs a step.
    ///
    /// # Errors
    /// When it cannot be performed.
    pub async fn perform(&self, step: &Step) -> anyhow::Result<()> {
        self.observer.tell(step);
        match *step {
            Step::Join(node) => self.join(node).await,
            Step::Create(name, ports) => self.create(name, ports, &json!({})).await,
            Step::Ports(name, ports) => self.edit(name, &json!({"spec": {"ports": rows(ports)}})).await,
            Step::Ranges(name, ranges) => {
                self.edit(name, &json!({"spec": {"loadBalancerSourceRanges": ranges}})).await
            }
            Step::Internal(name, internal) => {
                let value = internal.then_some("true");
                self.edit(name, &json!({"metadata": {"annotations": {INTERNAL: value}}})).await
            }
            Step::Type(name, kind) => self.edit(name, &json!({"spec": {"type": kind}})).await,
            Step::Share { guest, host, ports } => {
                let id = self.balancer_of(host).await?;
                self.create(guest, ports, &json!({BALANCER: id})).await
            }
            Step::Delete(name) => self.delete(name).await,
            Step::Part { host, guest } => {
                self.until_joined(guest).await?;
                self.delete(host).await
            }
            Step::Replace(name, ports) => {
                self.delete(name).await?;
                self.until_gone(name).await?;
                self.create(name, ports, &json!({})).await
            }
            Step::Leave(node) => {
                self.report(node, "Unknown").await?;
                let id = self.cloud.server(node).context("no server")?;
                self.cloud.delete_server(&id).await
            }
            Step::Exchange(node) => self.exchange(node).await,
        }
        .with_context(|| step.to_string())
    }

    async fn join(&self, name: &str) -> anyhow::Result<()> {
        let server = self.cloud.server(name).with_context(|| format!("no server {name}"))?;
        let node = json!({
            "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
            "spec": {"taints": [{"key": UNINITIALISED, "value": "true", "effect": "NoSchedule"}]},
            "status": {"nodeInfo": {
                "systemUUID": server, "architecture": "amd64", "bootID": "", "containerRuntimeVersion": "",
                "kernelVersion": "", "kubeProxyVersion": "", "kubeletVersion": "", "machineID": "",
                "operatingSystem": "linux", "osImage": "",
            }},
        });
        self.stage.nodes().create(&PostParams::default(), &serde_json::from_value(node)?).await?;
        self.report(name, "True").await
    }

    async fn report(&self, node: &str, ready: &str) -> anyhow::Result<()> {
        let patch = json!({"status": {"conditions": [{"type": "Ready", "status": ready, "reason": "Run"}]}});
        let nodes = self.stage.nodes();
        nodes.patch_status(node, &PatchParams::default(), &Patch::Strategic(patch)).await?;
        Ok(())
    }

    /// As when a machine is rebuilt: its server goes, another one of its name comes, and the new kubelet registers in place of the old.
    async fn exchange(&self, name: &str) -> anyhow::Result<()> {
        self.report(name, "Unknown").await?;
        let id = self.cloud.server(name).context("no server")?;
        self.cloud.delete_server(&id).await?;
        let new = self.cloud.boot(name);
        self.name(&new, &format!("server {name}"), true);
        match self.stage.nodes().delete(name, &DeleteParams::default()).await {
            Ok(_) => {}
            // The manager was quicker.
            Err(kube::Error::Api(status)) if status.is_not_found() => {}
            Err(error) => return Err(error.into()),
        }
        self.join(name).await
    }

    async fn create(&self, name: &str, ports: &[u16], annotations: &Value) -> anyhow::Result<()> {
        let service = json!({
            "metadata": {"name": name, "annotations": annotations},
            "spec": {"type": "LoadBalancer", "selector": {"app": name}, "ports": rows(ports)},
        });
        let made =
            self.stage.services().create(&PostParams::default(), &serde_json::from_value(service)?).await?;
        self.name(&made.uid().context("a Service without a UID")?, &format!("Service {name}"), true);
        Ok(())
    }

    async fn edit(&self, name: &str, patch: &Value) -> anyhow::Result<()> {
        self.stage.services().patch(name, &PatchParams::default(), &Patch::Merge(patch)).await?;
        Ok(())
    }

    /// Asks for the deletion of a Service, as it was seen a moment ago: an API server that carries out any other deletion loses a
    /// finalizer that is added meanwhile, which nobody can notice who dies then (a known gap, see `docs/explanation/reliability.md`).
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn delete(&self, name: &str) -> anyhow::Result<()> {
        let services = self.stage.services();
        eventually(&format!("Service {name} is deleted as it was seen"), async || {
            let seen = services.get(name).await?;
            let (uid, resource_version) = (seen.uid(), seen.resource_version());
            let preconditions = Some(Preconditions { uid, resource_version });
            match services.delete(name, &DeleteParams { preconditions, ..DeleteParams::default() }).await {
                Ok(_gone) => Ok(Some(())),
                Err(kube::Error::Api(status)) if status.is_conflict() => Ok(None),
                Err(error) => Err(error.into()),
            }
        })
        .await
    }

    async fn until_gone(&self, name: &str) -> anyhow::Result<()> {
        eventually(&format!("Service {name} is gone"), async || {
            Ok(self.stage.services().get_opt(name).await?.is_none().then_some(()))
        })
        .await
    }

    async fn until_joined(&self, guest: &str) -> anyhow::Result<()> {
        let tag = format!("kube_service_kubernetes_{NAMESPACE}_{guest}");
        eventually(&format!("Service {guest} is on a load balancer"), async || {
            let joined = self.cloud.look(|state| {
                state.load_balancer.load_balancers.iter().any(|balancer| balancer.tags.contains(&tag))
            });
            Ok(joined.then_some(()))
        })
        .await
    }

    /// The load balancer of a Service, once it has one: its user reads it there.
    async fn balancer_of(&self, name: &str) -> anyhow::Result<String> {
        eventually(&format!("Service {name} has a load balancer"), async || {
            let service = self.stage.services().get(name).await?;
            Ok(service.annotations().get(BALANCER).cloned())
        })
        .await
    }

    async fn objects(&self) -> anyhow::Result<(Vec<Service>, Vec<Node>)> {
        let all = ListParams::default();
        let mut services = self.stage.services().list(&all).await?.items;
        services.retain(|service| service.name_any() != "kubernetes");
        Ok((services, self.stage.nodes().list(&all).await?.items))
    }

    /// What is there, and why it is not at rest.
    ///
    /// # Errors
    /// When the API server does not answer.
    pub async fn picture(&self) -> anyhow::Result<(Snapshot, Vec<String>)> {
        let (services, nodes) = self.objects().await?;
        let names = self.names().clone();
        Ok(self.cloud.look(|state| {
            let foreign = self.observer.foreign();
            let whole = Whole { services: &services, nodes: &nodes, state, foreign, names: &names };
            (Snapshot::of(&whole), unsettled(&whole))
        }))
    }

    /// Waits until nothing is left to do and nothing was written for a while.
    ///
    /// # Errors
    /// When that does not come.
    pub async fn rest(&self, quiet: Duration, patience: Duration) -> anyhow::Result<Snapshot> {
        let deadline = Instant::now() + patience;
        loop {
            let (snapshot, open) = self.picture().await?;
            if open.is_empty() && self.observer.quiet_for() >= quiet {
                return Ok(snapshot);
            }
            ensure!(Instant::now() < deadline, "never at rest: {}", open.join("; "));
            sleep(LOOK).await;
        }
    }

    /// Waits until everything is as in another run; what differs, if it does not come.
    ///
    /// # Errors
    /// When the API server does not answer.
    pub async fn equals(&self, wanted: &Snapshot, quiet: Duration) -> anyhow::Result<Vec<String>> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let (snapshot, _) = self.picture().await?;
            let different = snapshot.differences(wanted);
            if (different.is_empty() && self.observer.quiet_for() >= quiet) || Instant::now() > deadline {
                return Ok(different);
            }
            sleep(LOOK).await;
        }
    }
}

fn rows(ports: &[u16]) -> Vec<Value> {
    ports.iter().map(|port| json!({"name": format!("p{port}"), "port": port, "protocol": "TCP"})).collect()
}
