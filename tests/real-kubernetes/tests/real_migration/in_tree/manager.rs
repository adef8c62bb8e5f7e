//! One kube-controller-manager: it leads by its own Lease, and with the provider inside it serves Services, as the controller of
//! Services did in it. Without, it serves none.
//!
//! It is a task, and ends as a process does that is killed: at once, with whatever it has asked for still being done.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Node, Service};
use kube::api::{ListParams, Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::balancer::{Backend, Balancers};
use super::election::Election;
use crate::cluster::SYSTEM;
use crate::harness::{addresses, wants_balancer};

const LOOK: Duration = Duration::from_millis(250);
const FINALIZER: &str = "service.kubernetes.io/load-balancer-cleanup";

/// A process.
pub(super) struct Manager {
    task: JoinHandle<()>,
}

impl Drop for Manager {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Manager {
    /// Starts it; with `balancers` it has the provider inside.
    pub(super) fn start(client: &Client, identity: String, balancers: Option<Balancers>) -> Self {
        let leases: Api<Lease> = Api::namespaced(client.clone(), SYSTEM);
        let mut election = Election::new(leases, identity);
        let services = balancers.map(|balancers| Services {
            services: Api::namespaced(client.clone(), "default"),
            nodes: Api::all(client.clone()),
            balancers,
            served: BTreeMap::new(),
        });
        let task = tokio::spawn(async move {
            election.won().await;
            match services {
                // Who does not lead any more ends.
                Some(services) => tokio::select! {
                    () = election.lost() => {}
                    () = services.forever() => {}
                },
                None => election.lost().await,
            }
        });
        Self { task }
    }

    pub(super) fn runs(&self) -> bool {
        !self.task.is_finished()
    }

    /// Ends it, and waits until it has. kube-controller-manager does not care how it is asked to.
    pub(super) async fn end(mut self) {
        self.task.abort();
        // Cancelled is what it shall be.
        (&mut self.task).await.ok();
    }
}

/// The controller of Services.
struct Services {
    services: Api<Service>,
    nodes: Api<Node>,
    balancers: Balancers,
    /// What was served last, by UID.
    served: BTreeMap<String, Value>,
}

impl Services {
    async fn forever(mut self) {
        loop {
            if let Err(error) = self.look().await {
                println!("the provider inside: {error:#}");
            }
            sleep(LOOK).await;
        }
    }

    async fn look(&mut self) -> anyhow::Result<()> {
        let nodes = self.nodes.list(&ListParams::default()).await?.items;
        let backends: Vec<Backend> = nodes.iter().filter_map(backend).collect();
        for service in self.services.list(&ListParams::default()).await?.items {
            let has_finalizer = service.finalizers().iter().any(|each| each == FINALIZER);
            if !wants_balancer(&service) {
                continue;
            }
            if service.metadata.deletion_timestamp.is_none() {
                self.serve(&service, has_finalizer, &backends).await?;
            } else if has_finalizer {
                self.balancers.remove(&service).await?;
                self.set_finalizer(&service, false).await?;
            }
        }
        Ok(())
    }

    async fn serve(&mut self, service: &Service, marked: bool, backends: &[Backend]) -> anyhow::Result<()> {
        let uid = service.uid().unwrap_or_default();
        let asked = json!([service.spec, service.metadata.annotations, backends.len()]);
        if marked && self.served.get(&uid) == Some(&asked) {
            return Ok(());
        }
        if !marked {
            self.set_finalizer(service, true).await?;
        }
        let address = self.balancers.ensure(service, backends).await?;
        if addresses(service) != [address.as_str()] {
            let status = json!({ "status": { "loadBalancer": { "ingress": [{ "ip": address }] } } });
            let patch = Patch::Merge(status);
            self.services.patch_status(&service.name_any(), &PatchParams::default(), &patch).await?;
        }
        self.served.insert(uid, asked);
        Ok(())
    }

    async fn set_finalizer(&self, service: &Service, wanted: bool) -> anyhow::Result<()> {
        let mut all: Vec<&str> =
            service.finalizers().iter().map(String::as_str).filter(|each| *each != FINALIZER).collect();
        if wanted {
            all.push(FINALIZER);
        }
        let metadata = json!({ "finalizers": all, "resourceVersion": service.metadata.resource_version });
        let patch = Patch::Merge(json!({ "metadata": metadata }));
        self.services.patch(&service.name_any(), &PatchParams::default(), &patch).await?;
        Ok(())
    }
}

/// A node's internal address.
fn backend(node: &Node) -> Option<Backend> {
    let addresses = node.status.as_ref()?.addresses.as_ref()?;
    let internal = addresses.iter().find(|address| address.type_ == "InternalIP")?;
    Some(Backend { node: node.name_any(), address: internal.address.clone() })
}
