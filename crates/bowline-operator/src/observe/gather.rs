//! Puts one look together. Nodes and Services come from informers that are in good health; Leases, workloads and pods are read
//! anew, for a picture that is late could show a writer to be gone that is only not heard of.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use bowline_kube::client::describe;
use bowline_kube::informer::{Informer, InformerHealth};
use bowline_kube::lease::LeaseRecord;
use bowline_kube::objects::{DaemonSet, Deployment, Pod};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::ListParams;
use kube::{Api, Client, Resource, ResourceExt};
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use super::workload::{
    KNOWN_MANAGERS, manager_of_daemon_set, manager_of_deployment, managers_of_pods, our_daemon_set,
    our_deployment, our_last_pods, our_static_pods, static_pods,
};
use super::{ClusterLook, Unchanged, lease_facts, mirror_pod, shadow_facts};
use crate::api::{CloudControllerManager, Form, OWNER_LABEL};
use crate::migration::{
    LeaseFacts, ManagerWorkload, NodeFacts, Observed, OurWorkload, ServiceFacts, StaticPodFacts, Unread,
};
use crate::rollout::Rollout;

/// The mirror pods of a control plane, as kubeadm and others label them.
const CONTROL_PLANE_PODS: &str = "tier=control-plane,component in (kube-controller-manager,kube-apiserver)";
/// Leases of managers that are not where the resource says.
const OTHER_LEASES: [(&str, &str); 5] = [
    ("kube-system", "cloud-controller-manager"),
    ("kube-system", "cloud-provider-extraction-migration"),
    ("kube-system", "k3s-cloud-controller-manager"),
    ("kube-system", "rke2-cloud-controller-manager"),
    ("openshift-cloud-controller-manager", "cloud-controller-manager"),
];

/// What is known besides what is looked at.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    /// The resource.
    pub resource: &'a CloudControllerManager,
    /// The cluster as a whole.
    pub cluster: &'a ClusterLook,
    /// The version that its manager shall have.
    pub version: &'a str,
    /// The name of the versioned configuration that its manager shall have.
    pub config: Option<&'a str>,
    /// What the names of its objects begin with, which is the name of its workload.
    pub base: &'a str,
    /// What the names of its versioned configurations begin with.
    pub config_prefix: &'a str,
    /// The ConfigMap of its report.
    pub report: &'a str,
    /// The workload that is not the manager itself but only looks.
    pub shadow: &'a str,
}

/// Looks at the cluster.
pub struct Gatherer {
    client: Client,
    nodes: Informer<NodeFacts>,
    services: Informer<ServiceFacts>,
    leases: Mutex<Unchanged<LeaseRecord>>,
    addresses: Mutex<Unchanged<Vec<String>>>,
    /// Whether another manager had pods in the last look.
    had_others: AtomicBool,
}

impl Gatherer {
    /// One that reads with `client`, and nodes and Services from these informers.
    #[must_use]
    pub fn new(client: Client, nodes: Informer<NodeFacts>, services: Informer<ServiceFacts>) -> Self {
        Self {
            client,
            nodes,
            services,
            leases: Mutex::default(),
            addresses: Mutex::default(),
            had_others: AtomicBool::default(),
        }
    }

    /// All nodes, with for how long their addresses have been the same.
    #[must_use]
    pub fn nodes(&self) -> Vec<NodeFacts> {
        let now = Instant::now();
        let mut watched = self.addresses.lock();
        let snapshot = self.nodes.snapshot();
        let names: BTreeSet<&str> = snapshot.objects().iter().map(|node| node.view.name.as_str()).collect();
        watched.keep_only(|name| names.contains(name));
        let with_time = |node: &NodeFacts| {
            let (same_for, _) = watched.note(&node.name, node.addresses.clone(), now);
            NodeFacts { addresses_unchanged_for: same_for, ..node.clone() }
        };
        snapshot.objects().iter().map(|node| &node.view).map(with_time).collect()
    }

    /// All Services that have a load balancer, or want one.
    #[must_use]
    pub fn services(&self) -> Vec<ServiceFacts> {
        self.services.snapshot().objects().iter().map(|service| service.view.clone()).collect()
    }

    /// What cannot be relied on now.
    #[must_use]
    pub fn unread(&self) -> Vec<Unread> {
        let now = Instant::now();
        let problem =
            |health: InformerHealth| health.problem(now).map(|why| Unread { what: health.name.clone(), why });
        [self.nodes.health(), self.services.health()].into_iter().filter_map(problem).collect()
    }

    /// One look.
    pub async fn look(&self, known: Known<'_>) -> Observed {
        let mut observed = Observed {
            unread: self.unread(),
            cluster: known.cluster.facts.clone(),
            nodes: self.nodes(),
            services: self.services(),
            wanted_version: known.version.to_owned(),
            wanted_config: known.config.map(str::to_owned),
            ..Observed::default()
        };
        let control_plane = self.pods(Some("kube-system"), CONTROL_PLANE_PODS).await;
        let control_plane = taken("mirror pods in kube-system", control_plane, &mut observed.unread);
        observed.control_plane = control_plane.iter().filter_map(mirror_pod).collect();
        // Before the Leases: whoever renews one after this look is not among those that were gone in it.
        let managers = self.managers().await;
        observed.managers = taken("managers of others", managers, &mut observed.unread);
        let leases = self.leases(known.resource, &observed.managers).await;
        observed.leases = taken("leases of managers", leases, &mut observed.unread);
        let nodes = observed.nodes.iter().filter(|node| node.control_plane).count();
        match self.ours(known, nodes).await {
            Ok((ours, static_pods)) => (observed.ours, observed.static_pods) = (ours, static_pods),
            Err(error) => observed.unread.push(unread("our manager", &error)),
        }
        match self.configs(known).await {
            Ok((report, configs)) => {
                observed.shadow = report.as_ref().and_then(shadow_facts);
                observed.configs = configs;
            }
            Err(error) => observed.unread.push(unread("our configurations", &error)),
        }
        observed
    }

    async fn pods(&self, namespace: Option<&str>, selector: &str) -> Result<Vec<Pod>, kube::Error> {
        list(self.api(namespace), selector).await
    }

    fn api<K>(&self, namespace: Option<&str>) -> Api<K>
    where
        K: Resource<Scope = k8s_openapi::NamespaceResourceScope>,
        K::DynamicType: Default,
    {
        match namespace {
            Some(namespace) => Api::namespaced(self.client.clone(), namespace),
            None => Api::all(self.client.clone()),
        }
    }

    /// The Leases. When the last pod of others has gone, what it renewed says nothing of who is left: on the host's network, the
    /// name of a holder is that of its node, which may be that of our pod, too.
    async fn leases(
        &self,
        resource: &CloudControllerManager,
        managers: &[ManagerWorkload],
    ) -> Result<Vec<LeaseFacts>, kube::Error> {
        let spec = &resource.spec;
        let mut places: BTreeSet<(&str, &str)> = BTreeSet::from(OTHER_LEASES);
        places.insert((&spec.lease_namespace, &spec.lease_name));
        let mut found = Vec::new();
        for (namespace, name) in places {
            let api: Api<Lease> = Api::namespaced(self.client.clone(), namespace);
            found.extend(api.get_opt(name).await?);
        }
        let now = Instant::now();
        let mut watched = self.leases.lock();
        let mut facts: Vec<LeaseFacts> =
            found.iter().map(|lease| lease_facts(lease, &mut watched, now)).collect();
        let has_others = managers.iter().any(|manager| manager.live().next().is_some());
        if self.had_others.swap(has_others, Ordering::Relaxed) && !has_others {
            watched.forget_changes();
            facts.iter_mut().for_each(|lease| lease.seen_renewed = false);
        }
        Ok(facts)
    }

    async fn managers(&self) -> Result<Vec<ManagerWorkload>, kube::Error> {
        let mut managers: Vec<ManagerWorkload> = Vec::new();
        let mut orphans: Vec<Pod> = Vec::new();
        for (key, values) in KNOWN_MANAGERS {
            // What has our label is ours, whatever it is called.
            let selector = format!("{key} in ({}),!{OWNER_LABEL}", values.join(","));
            let pods = self.pods(None, &selector).await?;
            let deployments: Vec<Deployment> = list(self.api(None), &selector).await?;
            let daemon_sets: Vec<DaemonSet> = list(self.api(None), &selector).await?;
            let found = deployments.iter().filter_map(|each| manager_of_deployment(each, &pods));
            let found = found.chain(daemon_sets.iter().filter_map(|each| manager_of_daemon_set(each, &pods)));
            for manager in found {
                if !managers.iter().any(|known| known.workload.uid == manager.workload.uid) {
                    managers.push(manager);
                }
            }
            orphans.extend(pods);
        }
        // Pods whose workload was deleted, and static pods, write as any other.
        let left = managers_of_pods(&orphans, &managers);
        managers.extend(left);
        Ok(managers)
    }

    /// Our manager; while there is none, what only looks for us. And its static pods. Static pods are the manager when that is what
    /// is wanted and they run everywhere; until then, what runs otherwise is.
    async fn ours(
        &self,
        known: Known<'_>,
        control_plane: usize,
    ) -> Result<(Option<OurWorkload>, Vec<StaticPodFacts>), kube::Error> {
        let (name, namespace) = (known.resource.name_any(), known.resource.spec.namespace.as_str());
        let selector = format!("{OWNER_LABEL}={name}");
        let pods = self.pods(Some(namespace), &format!("app.kubernetes.io/instance={name}")).await?;
        let deployments: Vec<Deployment> = list(self.api(Some(namespace)), &selector).await?;
        let daemon_sets: Vec<DaemonSet> = list(self.api(Some(namespace)), &selector).await?;
        // One that was made under the resource's bare name is ours until another one has replaced it.
        let names = [known.base, name.as_str()];
        let deployment =
            names.iter().find_map(|called| deployments.iter().find(|each| each.name_any() == **called));
        let daemon_set =
            names.iter().find_map(|called| daemon_sets.iter().find(|each| each.name_any() == **called));
        let shadow = deployments.iter().find(|each| each.name_any() == known.shadow);
        let static_pods = static_pods(known.base, &pods);
        let placed = our_static_pods(namespace, known.base, &static_pods, control_plane);
        let is_wanted = known.resource.spec.form == Form::StaticPod;
        let everywhere = |placed: &&OurWorkload| is_wanted && placed.rollout == Rollout::Complete;
        let ours = placed.as_ref().filter(everywhere).cloned();
        let ours =
            ours.or_else(|| deployment.and_then(|each| our_deployment(each, &pods, known.config_prefix)));
        let ours =
            ours.or_else(|| daemon_set.and_then(|each| our_daemon_set(each, &pods, known.config_prefix)));
        let ours = ours.or(placed);
        let ours = ours.or_else(|| shadow.and_then(|each| our_deployment(each, &pods, known.config_prefix)));
        Ok((ours.or_else(|| our_last_pods(&pods, known.config_prefix)), static_pods))
    }

    /// The report, and the names of the versioned configurations.
    async fn configs(&self, known: Known<'_>) -> Result<(Option<ConfigMap>, Vec<String>), kube::Error> {
        let namespace = known.resource.spec.namespace.as_str();
        let selector = format!("{OWNER_LABEL}={}", known.resource.name_any());
        let maps: Vec<ConfigMap> = list(self.api(Some(namespace)), &selector).await?;
        let secrets: Vec<Secret> = list(self.api(Some(namespace)), &selector).await?;
        let names = maps.iter().map(ResourceExt::name_any).chain(secrets.iter().map(ResourceExt::name_any));
        let configs = names.filter(|name| name.starts_with(known.config_prefix)).collect();
        let api: Api<ConfigMap> = self.api(Some(namespace));
        Ok((api.get_opt(known.report).await?, configs))
    }
}

async fn list<K>(api: Api<K>, selector: &str) -> Result<Vec<K>, kube::Error>
where
    K: Resource + Clone + DeserializeOwned + std::fmt::Debug,
{
    Ok(api.list(&ListParams::default().labels(selector)).await?.items)
}

fn taken<T>(what: &str, found: Result<Vec<T>, kube::Error>, missing: &mut Vec<Unread>) -> Vec<T> {
    found.unwrap_or_else(|error| {
        missing.push(unread(what, &error));
        Vec::new()
    })
}

pub(crate) fn unread(what: &str, error: &kube::Error) -> Unread {
    Unread { what: what.to_owned(), why: describe(error) }
}
