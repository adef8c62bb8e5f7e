//! Who performs the steps of a scenario: users, kubelets, and people who own servers. They talk to the API server directly.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Context;
use bowline_testkit::nodes::{self, Nodes};
use bowline_testkit::objects::if_found;
use bowline_testkit::services::{Services, port, service};
use bowline_testkit::{Wait, deadline, eventually};
use k8s_openapi::api::core::v1::{Namespace, Node, Service};
use kube::api::{DeleteParams, ListParams, Preconditions};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::cloud::Cloud;
use crate::cluster::{ChaosCluster, NAMESPACE};
use crate::observer::Observer;
use crate::scenario::{SERVERS, Step};
use crate::snapshot::{BALANCER, INTERNAL, Snapshot, Whole, unsettled};

const POLL_INTERVAL: Duration = Duration::from_millis(25);

/// A cluster on a cloud, for one run.
pub struct Harness<'s> {
    /// The cluster.
    pub cluster: &'s ChaosCluster,
    services: Services,
    nodes: Nodes,
    /// The cloud.
    pub cloud: Cloud,
    /// Who sees.
    pub observer: Observer,
    names: Mutex<BTreeMap<String, String>>,
}

impl<'s> Harness<'s> {
    /// One without Nodes and Services.
    ///
    /// # Errors
    /// When the API server does not say who it is.
    pub async fn new(cluster: &'s ChaosCluster, cloud: Cloud, observer: Observer) -> anyhow::Result<Self> {
        let (services, nodes) = (Services::of(&cluster.admin, NAMESPACE), Nodes::of(&cluster.admin));
        let site = Self { cluster, services, nodes, cloud, observer, names: Mutex::default() };
        let system = Api::<Namespace>::all(cluster.admin.clone()).get("kube-system").await?;
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
            Step::Ports(name, ports) => {
                self.services.edit(name, &json!({"spec": {"ports": rows(ports)}})).await
            }
            Step::Ranges(name, ranges) => {
                self.services.edit(name, &json!({"spec": {"loadBalancerSourceRanges": ranges}})).await
            }
            Step::Internal(name, internal) => {
                let value = internal.then_some("true");
                self.services.edit(name, &json!({"metadata": {"annotations": {INTERNAL: value}}})).await
            }
            Step::Type(name, kind) => self.services.edit(name, &json!({"spec": {"type": kind}})).await,
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
                self.services.until_gone(name).await?;
                self.create(name, ports, &json!({})).await
            }
            Step::Leave(node) => {
                self.nodes.report_ready(node, "Unknown").await?;
                let id = self.cloud.server(node).context("no server")?;
                self.cloud.delete_server(&id).await
            }
            Step::Exchange(node) => self.exchange(node).await,
        }
        .with_context(|| step.to_string())
    }

    async fn join(&self, name: &str) -> anyhow::Result<()> {
        let server = self.cloud.server(name).with_context(|| format!("no server {name}"))?;
        self.nodes.create(nodes::registered(name, &server)).await?;
        self.nodes.report_ready(name, "True").await
    }

    /// As when a machine is rebuilt: its server goes, another one of its name comes, and the new kubelet registers in place of the old.
    async fn exchange(&self, name: &str) -> anyhow::Result<()> {
        self.nodes.report_ready(name, "Unknown").await?;
        let id = self.cloud.server(name).context("no server")?;
        self.cloud.delete_server(&id).await?;
        let new = self.cloud.boot(name);
        self.name(&new, &format!("server {name}"), true);
        // The manager may have been quicker.
        if_found(self.nodes.api.delete(name, &DeleteParams::default()).await)?;
        self.join(name).await
    }

    async fn create(&self, name: &str, ports: &[u16], annotations: &Value) -> anyhow::Result<()> {
        let mut service = service(name, &[], &json!({"ports": rows(ports)}));
        if let Some(metadata) = service.pointer_mut("/metadata/annotations") {
            *metadata = annotations.clone();
        }
        let made = self.services.create(&service).await?;
        self.name(&made.uid().context("a Service without a UID")?, &format!("Service {name}"), true);
        Ok(())
    }

    /// Asks for the deletion of a Service, as it was seen a moment ago: an API server that carries out any other deletion loses a
    /// finalizer that is added meanwhile, which nobody can notice who dies then (a known gap, see `docs/explanation/reliability.md`).
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn delete(&self, name: &str) -> anyhow::Result<()> {
        let services = &self.services.api;
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
            let service = self.services.api.get(name).await?;
            Ok(service.annotations().get(BALANCER).cloned())
        })
        .await
    }

    async fn objects(&self) -> anyhow::Result<(Vec<Service>, Vec<Node>)> {
        let mut services = self.services.list().await?;
        services.retain(|service| service.name_any() != "kubernetes");
        Ok((services, self.nodes.api.list(&ListParams::default()).await?.items))
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
    pub async fn rest(&self, quiet: Duration) -> anyhow::Result<Snapshot> {
        let mut open = Vec::new();
        let wait = Wait::default().every(POLL_INTERVAL);
        let rest = wait.until("everything is at rest", async || {
            let snapshot;
            (snapshot, open) = self.picture().await?;
            let is_quiet = self.observer.quiet_for() >= quiet;
            Ok((open.is_empty() && is_quiet).then_some(snapshot))
        });
        let rest = rest.await;
        rest.with_context(|| format!("never at rest: {}", open.join("; ")))
    }

    /// Waits until everything is as in another run; what differs, if it does not come.
    ///
    /// # Errors
    /// When the API server does not answer.
    pub async fn equals(&self, wanted: &Snapshot, quiet: Duration) -> anyhow::Result<Vec<String>> {
        let deadline = Instant::now() + deadline();
        loop {
            let (snapshot, _) = self.picture().await?;
            let different = snapshot.differences(wanted);
            if (different.is_empty() && self.observer.quiet_for() >= quiet) || Instant::now() > deadline {
                return Ok(different);
            }
            sleep(POLL_INTERVAL).await;
        }
    }
}

fn rows(ports: &[u16]) -> Vec<Value> {
    ports.iter().map(|number| port(&format!("p{number}"), *number, "TCP")).collect()
}
