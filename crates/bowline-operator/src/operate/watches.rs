//! What is watched, and which resources are looked at when it changes. A change is only a reason to look: what is acted on is read.

use std::collections::BTreeSet;
use std::collections::hash_map::DefaultHasher;
use std::fmt::Debug;
use std::hash::{Hash, Hasher};
use std::time::Duration;

use bowline_kube::informer::{Change, Informer, InformerMetrics, InformerSpec, WatchSettings};
use bowline_kube::objects::{Node, Service};
use bowline_kube::queue::{KeyedQueue, Priority};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::DynamicObject;
use kube::core::ApiResource;
use kube::{Api, Client, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::Key;
use crate::api::{CloudControllerManager, OWNER_LABEL, default_namespace};
use crate::apply::{KINDS, Kind};
use crate::migration::{NodeFacts, ServiceFacts};
use crate::observe::{has_resource, node_facts, service_facts};
use crate::openshift;

/// Where components of the control plane are.
const SYSTEM_NAMESPACE: &str = "kube-system";
/// How often a kind is looked for that is not there yet.
const LOOK_FOR_KIND: Duration = Duration::from_secs(30);

/// A resource as far as its changes matter; what the operator itself writes does not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ResourceView {
    pub(super) namespace: String,
    fingerprint: u64,
}

/// What something looks like, in a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Marked {
    /// Whose it is, if it says so.
    pub(crate) owner: Option<String>,
    fingerprint: u64,
}

/// The watches of an operator.
pub(super) struct Watches {
    client: Client,
    queue: KeyedQueue<Key>,
    metrics: InformerMetrics,
    cancel: CancellationToken,
    /// The namespaces that the operator has rights in.
    namespaces: BTreeSet<String>,
    resources: Informer<ResourceView>,
    pub(super) nodes: Informer<NodeFacts>,
    pub(super) services: Informer<ServiceFacts>,
}

impl Watches {
    /// Starts to watch resources, nodes, Services and what has our label.
    pub(super) fn start(
        client: Client,
        queue: KeyedQueue<Key>,
        metrics: InformerMetrics,
        cancel: CancellationToken,
        namespaces: BTreeSet<String>,
    ) -> Self {
        let base = Base { client: client.clone(), metrics: metrics.clone(), cancel: cancel.clone() };
        let resources = base.compared::<CloudControllerManager, _>("resources", None, resource_view);
        let nodes = base.informer("nodes", |node: Node| Some(node_facts(node)), Api::all);
        let services = base.informer("services", |service: Service| service_facts(service), Api::all);
        let watches = Self { client, queue, metrics, cancel, namespaces, resources, nodes, services };
        watches.follow_resources();
        watches.follow(&watches.nodes, Select::All);
        watches.follow(&watches.services, Select::All);
        watches.follow_owned(&base);
        watches
    }

    /// Whether everything that is acted on is known.
    pub(super) async fn synced(&self) -> bool {
        self.resources.synced().await && self.nodes.synced().await && self.services.synced().await
    }

    fn follow_resources(&self) {
        let mut changes = self.resources.subscribe();
        let (queue, resources) = (self.queue.clone(), self.resources.clone());
        let inputs = Inputs {
            base: Base {
                client: self.client.clone(),
                metrics: self.metrics.clone(),
                cancel: self.cancel.clone(),
            },
            queue: self.queue.clone(),
            resources: self.resources.clone(),
        };
        // What is asked for elsewhere is refused, and watches of it would be, too.
        let mut waiting = self.namespaces.clone();
        tokio::spawn(async move {
            while let Some(change) = changes.next().await {
                if let Change::Added { new } | Change::Updated { new, .. } = &change
                    && waiting.remove(&new.view.namespace)
                {
                    inputs.follow(&new.view.namespace);
                }
                queue.add(Key::Resource(change.key().name().to_owned()), Priority::User);
                if matches!(change, Change::Deleted { .. }) {
                    // One that was refused because of it may go on.
                    add_all(&queue, &resources, None);
                }
            }
        });
    }

    fn follow<P: PartialEq + Send + Sync + 'static>(&self, informer: &Informer<P>, select: Select) {
        follow(informer, self.queue.clone(), self.resources.clone(), select);
    }

    /// What has our label, of every kind that is applied. A kind that a cluster can be without is followed when it is there.
    fn follow_owned(&self, base: &Base) {
        let mut system = BTreeSet::from([SYSTEM_NAMESPACE.to_owned()]);
        system.retain(|namespace| !self.namespaces.contains(namespace));
        for kind in KINDS {
            if !kind.is_namespaced {
                // Namespaces are never written, and policies are OpenShift's only.
                if kind.api_version.starts_with("rbac") {
                    follow_owned_kind(base, &self.queue, kind, None);
                }
                continue;
            }
            // In the namespace of the control plane there are roles of managers, whether they run there or not.
            let others = system.iter().filter(|_| kind.api_version.starts_with("rbac"));
            for namespace in self.namespaces.iter().chain(others) {
                follow_owned_kind(base, &self.queue, kind, Some(namespace));
            }
        }
    }
}

/// The same of OpenShift's managers, in their namespace and in that of the control plane.
pub(crate) fn follow_owned_on_openshift(base: &Base, queue: &KeyedQueue<Key>, managed_namespace: &str) {
    for kind in KINDS.iter().filter(|kind| kind.kind != "Namespace") {
        let places: &[Option<&str>] = match (kind.is_namespaced, kind.kind) {
            (false, "ClusterRole" | "ClusterRoleBinding") => continue,
            (false, _) => &[None],
            (true, "Role" | "RoleBinding") => &[Some(managed_namespace), Some(SYSTEM_NAMESPACE)],
            (true, _) => &[Some(managed_namespace)],
        };
        for place in places {
            follow_owned_kind(base, queue, *kind, *place);
        }
    }
}

fn follow_owned_kind(base: &Base, queue: &KeyedQueue<Key>, kind: Kind, namespace: Option<&str>) {
    let (base, queue, resource) = (base.clone(), queue.clone(), kind.resource());
    let namespace = namespace.map(str::to_owned);
    if !kind.is_optional {
        follow_kind(&base, queue, resource, namespace.as_deref());
        return;
    }
    let cancel = base.cancel.clone();
    tokio::spawn(cancel.run_until_cancelled_owned(async move {
        let (version, plural) = (&resource.api_version, &resource.plural);
        while !has_resource(&base.client, version, plural).await.unwrap_or(false) {
            sleep(LOOK_FOR_KIND).await;
        }
        follow_kind(&base, queue, resource, namespace.as_deref());
    }));
}

/// Looks at whose something of a kind is when it changes.
fn follow_kind(base: &Base, queue: KeyedQueue<Key>, resource: ApiResource, namespace: Option<&str>) {
    let settings = WatchSettings { label_selector: Some(OWNER_LABEL.to_owned()), ..WatchSettings::default() };
    let place = namespace.map(|namespace| format!("-{namespace}")).unwrap_or_default();
    let informer = base.dynamic(&format!("owned-{}{place}", resource.plural), settings, resource, namespace);
    let mut changes = informer.subscribe();
    tokio::spawn(async move {
        while let Some(change) = changes.next().await {
            let views = match &change {
                Change::Added { new } => [Some(new), None],
                Change::Updated { old, new } => [Some(old), Some(new)],
                Change::Deleted { old } => [Some(old), None],
            };
            let owners: BTreeSet<String> =
                views.into_iter().flatten().filter_map(|object| object.view.owner.clone()).collect();
            for owner in owners {
                let key = if owner == openshift::OWNER { Key::OpenShift } else { Key::Resource(owner) };
                queue.add(key, Priority::Background);
            }
        }
    });
}

/// ConfigMaps and Secrets of the namespaces in which managers run.
struct Inputs {
    base: Base,
    queue: KeyedQueue<Key>,
    resources: Informer<ResourceView>,
}

impl Inputs {
    fn follow(&self, namespace: &str) {
        let select = Select::Namespace(namespace.to_owned());
        let name = format!("configmaps-{namespace}");
        let configs = self.base.compared::<ConfigMap, _>(&name, Some(namespace), input);
        follow(&configs, self.queue.clone(), self.resources.clone(), select.clone());
        let name = format!("secrets-{namespace}");
        let secrets = self.base.compared::<Secret, _>(&name, Some(namespace), input);
        follow(&secrets, self.queue.clone(), self.resources.clone(), select);
    }
}

pub(super) fn resource_view(resource: &DynamicObject) -> Option<ResourceView> {
    let (meta, spec) = (&resource.metadata, resource.data.get("spec")?);
    let fingerprint = fingerprint(&(spec, &meta.deletion_timestamp, &meta.annotations, &meta.finalizers));
    let namespace =
        spec.get("namespace").and_then(Value::as_str).map_or_else(default_namespace, str::to_owned);
    Some(ResourceView { namespace, fingerprint })
}

/// A ConfigMap or a Secret that others keep in a namespace. What is ours is followed by its label, and root certificates are nobody's input.
pub(super) fn input(object: &DynamicObject) -> Option<Marked> {
    let is_input = !object.labels().contains_key(OWNER_LABEL) && object.name_any() != "kube-root-ca.crt";
    is_input.then(|| content_of(&contents(object)))
}

/// What is in a ConfigMap or a Secret, as it is written down.
pub(crate) fn contents(object: &DynamicObject) -> [Option<&Value>; 2] {
    ["data", "binaryData"].map(|field| object.data.get(field))
}

/// Which resources are looked at.
#[derive(Debug, Clone)]
enum Select {
    All,
    Namespace(String),
}

fn follow<P: PartialEq + Send + Sync + 'static>(
    informer: &Informer<P>,
    queue: KeyedQueue<Key>,
    resources: Informer<ResourceView>,
    select: Select,
) {
    let mut changes = informer.subscribe();
    tokio::spawn(async move {
        while changes.next().await.is_some() {
            let namespace = match &select {
                Select::All => None,
                Select::Namespace(namespace) => Some(namespace.as_str()),
            };
            add_all(&queue, &resources, namespace);
        }
    });
}

fn add_all(queue: &KeyedQueue<Key>, resources: &Informer<ResourceView>, namespace: Option<&str>) {
    for resource in resources.snapshot().objects() {
        if namespace.is_none_or(|namespace| resource.view.namespace == namespace) {
            queue.add(Key::Resource(resource.key.name().to_owned()), Priority::Background);
        }
    }
}

/// What every informer needs.
#[derive(Clone)]
pub(crate) struct Base {
    pub(crate) client: Client,
    pub(crate) metrics: InformerMetrics,
    pub(crate) cancel: CancellationToken,
}

impl Base {
    /// Starts an informer.
    pub(crate) fn informer<K, P>(
        &self,
        name: &str,
        project: impl Fn(K) -> Option<P> + Send + Sync + 'static,
        api_of: impl Fn(Client) -> Api<K> + Send + Sync + 'static,
    ) -> Informer<P>
    where
        K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + 'static,
        P: PartialEq + Send + Sync + 'static,
    {
        let spec = InformerSpec::new(name, project).metrics(&self.metrics);
        let (informer, task) = spec.build(self.client.clone(), api_of);
        tokio::spawn(task.run(self.cancel.clone()));
        informer
    }

    /// Starts an informer over what is compared with what it was, and not understood: kinds without a type share one reader.
    pub(crate) fn compared<Kind, P>(
        &self,
        name: &str,
        namespace: Option<&str>,
        project: impl Fn(&DynamicObject) -> Option<P> + Send + Sync + 'static,
    ) -> Informer<P>
    where
        Kind: Resource<DynamicType = ()>,
        P: PartialEq + Send + Sync + 'static,
    {
        let (resource, namespace) = (ApiResource::erase::<Kind>(&()), namespace.map(str::to_owned));
        let spec = InformerSpec::new(name, move |object| project(&object)).metrics_of::<Kind>(&self.metrics);
        let (informer, task) = spec.build(self.client.clone(), move |client| match &namespace {
            Some(namespace) => Api::namespaced_with(client, namespace, &resource),
            None => Api::all_with(client, &resource),
        });
        tokio::spawn(task.run(self.cancel.clone()));
        informer
    }

    /// Starts an informer over a kind that is known at run time only.
    pub(crate) fn dynamic(
        &self,
        name: &str,
        settings: WatchSettings,
        resource: ApiResource,
        namespace: Option<&str>,
    ) -> Informer<Marked> {
        let spec = InformerSpec::new(name, marked).settings(settings);
        let namespace = namespace.map(str::to_owned);
        let (informer, task) = spec.build(self.client.clone(), move |client| match &namespace {
            Some(namespace) => Api::namespaced_with(client, namespace, &resource),
            None => Api::all_with(client, &resource),
        });
        tokio::spawn(task.run(self.cancel.clone()));
        informer
    }
}

/// An object in a number: everything but its version and who wrote which field when.
pub(crate) fn marked(mut object: DynamicObject) -> Option<Marked> {
    object.metadata.resource_version = None;
    object.metadata.managed_fields = None;
    let owner = object.labels().get(OWNER_LABEL).cloned();
    Some(Marked { owner, fingerprint: fingerprint(&object) })
}

/// What something contains, in a number.
pub(crate) fn content_of(value: &impl Serialize) -> Marked {
    Marked { owner: None, fingerprint: fingerprint(value) }
}

fn fingerprint(value: &impl Serialize) -> u64 {
    let mut hasher = DefaultHasher::new();
    serde_json::to_string(value).unwrap_or_default().hash(&mut hasher);
    hasher.finish()
}
