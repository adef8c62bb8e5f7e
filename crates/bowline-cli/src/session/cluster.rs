//! The cluster: what commands read of it, as the objects or views that they need. Reads only, but for annotations.

use std::fmt::Debug;
use std::sync::Arc;

use bowline_cloud::{NodeView, ServiceView};
use bowline_controllers::view::{SlimNode, SlimService, node_view, service_view};
use bowline_kube::client::{ClientFactory, load_as_kubectl};
use bowline_kube::objects::{Node, Pod, Service};
use http::Request;
use http_body_util::{BodyExt, Limited};
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Event, Namespace, Secret};
use k8s_openapi::serde::de::DeserializeOwned;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::client::Body;
use kube::{Api, Client, Resource};
use serde_json::{Value, json};

use super::Access;
use super::refusal::{is_refusal, said, with_right};
use crate::ending::Ending;

/// One after the other is fast enough.
const RATE: (f64, u32) = (50.0, 100);

/// A list is read in pages of this size.
const PAGE: u32 = 500;

/// Not more is read of a health page: a line for each part.
const MOST_HEALTH_BYTES: usize = 64 * 1024;

/// The owner of the annotations that commands write.
const FIELD_MANAGER: &str = "bowline-cli";

/// A cluster.
#[derive(Clone)]
pub struct Cluster {
    /// Its client.
    pub client: Client,
    /// Where its API server is.
    pub server: String,
    /// The namespace of the context.
    pub namespace: String,
}

impl Cluster {
    /// The cluster of the flags. Nothing is asked yet.
    ///
    /// # Errors
    ///
    /// [`Ending`] if there is no usable kubeconfig.
    pub fn connect(access: &Access) -> Result<Self, Ending> {
        let config = load_as_kubectl(access.kubeconfig.as_deref(), access.context.as_deref());
        let config = config.map_err(Ending::not_looked)?;
        let (server, namespace) = (config.cluster_url.to_string(), config.default_namespace.clone());
        let (qps, burst) = RATE;
        let factory = ClientFactory::new(config, "bowline", env!("CARGO_PKG_VERSION"), qps, burst);
        let client = factory.client("cli").map_err(Ending::not_looked)?;
        Ok(Self { client, server, namespace })
    }

    /// The UID of the cluster: that of its namespace kube-system. None if it may not be read.
    ///
    /// # Errors
    ///
    /// If the API server does not answer.
    pub async fn uid(&self) -> Result<Option<String>, kube::Error> {
        match Api::<Namespace>::all(self.client.clone()).get("kube-system").await {
            Ok(namespace) => Ok(namespace.metadata.uid),
            Err(kube::Error::Api(status)) if status.code == 403 || status.code == 404 => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// All Nodes.
    ///
    /// # Errors
    ///
    /// If they cannot be listed whole.
    pub async fn nodes(&self) -> Result<Vec<Arc<NodeView>>, Ending> {
        let nodes = all(&Api::<SlimNode>::all(self.client.clone()), "Nodes", "list nodes").await?;
        Ok(nodes.into_iter().map(|node| Arc::new(node_view(node))).collect())
    }

    /// All Services.
    ///
    /// # Errors
    ///
    /// If they cannot be listed whole.
    pub async fn services(&self) -> Result<Vec<Arc<ServiceView>>, Ending> {
        let services =
            all(&Api::<SlimService>::all(self.client.clone()), "Services", "list services").await?;
        Ok(services.into_iter().map(|service| Arc::new(service_view(service))).collect())
    }

    /// One Service, as the view and as the object.
    ///
    /// # Errors
    ///
    /// If it is not there or cannot be read.
    pub async fn service(&self, namespace: &str, name: &str) -> Result<(Arc<ServiceView>, Service), Ending> {
        let (what, right) =
            (format!("Service {namespace}/{name}"), format!("get services in namespace {namespace}"));
        let object = Api::<Service>::namespaced(self.client.clone(), namespace).get(name).await;
        let object = object.map_err(|error| not_read(&what, &right, &error))?;
        let slim = Api::<SlimService>::namespaced(self.client.clone(), namespace).get(name).await;
        let slim = slim.map_err(|error| not_read(&what, &right, &error))?;
        Ok((Arc::new(service_view(slim)), object))
    }

    /// One Node.
    ///
    /// # Errors
    ///
    /// If it is not there or cannot be read.
    pub async fn node(&self, name: &str) -> Result<Arc<NodeView>, Ending> {
        let node = Api::<SlimNode>::all(self.client.clone()).get(name).await;
        let node = node.map_err(|error| not_read(&format!("Node {name}"), "get nodes", &error))?;
        Ok(Arc::new(node_view(node)))
    }

    /// The pods of a namespace.
    ///
    /// # Errors
    ///
    /// If they cannot be listed.
    pub async fn pods(&self, namespace: &str) -> Result<Vec<Pod>, Ending> {
        let right = format!("list pods in namespace {namespace}");
        all(&Api::<Pod>::namespaced(self.client.clone(), namespace), "pods", &right).await
    }

    /// A Lease, if it is there.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub async fn lease(&self, namespace: &str, name: &str) -> Result<Option<Lease>, Ending> {
        let lease = Api::<Lease>::namespaced(self.client.clone(), namespace).get_opt(name).await;
        let right = format!("get leases in namespace {namespace}");
        lease.map_err(|error| not_read(&format!("Lease {namespace}/{name}"), &right, &error))
    }

    /// The Leases of a namespace.
    ///
    /// # Errors
    ///
    /// If they cannot be listed.
    pub async fn leases(&self, namespace: &str) -> Result<Vec<Lease>, Ending> {
        let right = format!("list leases in namespace {namespace}");
        all(&Api::<Lease>::namespaced(self.client.clone(), namespace), "Leases", &right).await
    }

    /// The value of a Secret's key, as text.
    ///
    /// # Errors
    ///
    /// If it cannot be read, or is no text.
    pub async fn secret(&self, namespace: &str, name: &str, key: &str) -> Result<String, Ending> {
        let what = format!("Secret {namespace}/{name}");
        let secret = Api::<Secret>::namespaced(self.client.clone(), namespace).get(name).await;
        let right = format!("get secrets in namespace {namespace}");
        let secret = secret.map_err(|error| not_read(&what, &right, &error))?;
        let value = secret.data.and_then(|mut data| data.remove(key));
        let value = value.ok_or_else(|| Ending::not_looked(format!("{what} has no key {key}")))?;
        String::from_utf8(value.0).map_err(|_bytes| Ending::not_looked(format!("{what}: {key} is no text")))
    }

    /// The events about an object, the latest last. Those of a Node are in the namespace `default`.
    ///
    /// # Errors
    ///
    /// If they cannot be listed.
    pub async fn events(&self, namespace: &str, kind: &str, name: &str) -> Result<Vec<Event>, Ending> {
        let chosen = format!("involvedObject.kind={kind},involvedObject.name={name}");
        let list = ListParams::default().fields(&chosen);
        let events = Api::<Event>::namespaced(self.client.clone(), namespace).list(&list).await;
        let right = format!("list events in namespace {namespace}");
        let mut events = events.map_err(|error| not_read("events", &right, &error))?.items;
        events.sort_by_key(last_seen);
        Ok(events)
    }

    /// All events of Nodes, which are in the namespace `default`.
    ///
    /// # Errors
    ///
    /// If they cannot be listed.
    pub async fn node_events(&self) -> Result<Vec<Event>, Ending> {
        let list = ListParams::default().fields("involvedObject.kind=Node");
        let events = Api::<Event>::namespaced(self.client.clone(), "default").list(&list).await;
        let events = events.map_err(|error| not_read("events", "list events in namespace default", &error));
        Ok(events?.items)
    }

    /// Whether a user may do something.
    ///
    /// # Errors
    ///
    /// If nobody may be asked.
    pub async fn may(&self, user: &str, what: ResourceAttributes) -> Result<bool, Ending> {
        let spec = SubjectAccessReviewSpec {
            user: Some(user.to_owned()),
            groups: Some(groups_of(user)),
            resource_attributes: Some(what),
            ..SubjectAccessReviewSpec::default()
        };
        let review = SubjectAccessReview { spec, ..SubjectAccessReview::default() };
        let api = Api::<SubjectAccessReview>::all(self.client.clone());
        let answer = api.create(&PostParams::default(), &review).await;
        let right = "create subjectaccessreviews";
        let answer = answer.map_err(|error| not_read("what the manager may do", right, &error))?;
        Ok(answer.status.is_some_and(|status| status.allowed))
    }

    /// What a page of a pod says, through the API server.
    ///
    /// # Errors
    ///
    /// What came back instead.
    pub async fn page(&self, namespace: &str, pod: &str, port: u16, path: &str) -> Result<String, String> {
        let path = format!("/api/v1/namespaces/{namespace}/pods/https:{pod}:{port}/proxy{path}");
        let request = Request::get(path).body(Vec::new()).map_err(|error| error.to_string())?;
        self.client.request_text(request).await.map_err(|error| said(&error))
    }

    /// What a pod's `/readyz?verbose` says, through the API server, which shows the pod no credentials: whether all is well or not, which
    /// is another status code.
    ///
    /// # Errors
    ///
    /// Why there is no such answer.
    pub async fn health(&self, namespace: &str, pod: &str, port: u16) -> Result<String, String> {
        let path = format!("/api/v1/namespaces/{namespace}/pods/https:{pod}:{port}/proxy/readyz?verbose");
        let request = Request::get(path).body(Body::empty()).map_err(|error| error.to_string())?;
        let answer = self.client.send(request).await.map_err(|error| said(&error))?;
        let status = answer.status();
        let body = Limited::new(answer.into_body(), MOST_HEALTH_BYTES).collect().await;
        let text = String::from_utf8_lossy(&body.map_err(|error| error.to_string())?.to_bytes()).into_owned();
        let is_verbose = text.lines().any(|line| line.starts_with("[+]") || line.starts_with("[-]"));
        let refused = || format!("its health cannot be read through the API server: {}", status.as_u16());
        is_verbose.then_some(text).ok_or_else(refused)
    }

    /// The last lines of a pod's log, or of the one before its container was started again.
    ///
    /// # Errors
    ///
    /// What came back instead.
    pub async fn log(
        &self,
        namespace: &str,
        pod: &str,
        lines: usize,
        previous: bool,
    ) -> Result<String, String> {
        let path =
            format!("/api/v1/namespaces/{namespace}/pods/{pod}/log?tailLines={lines}&previous={previous}");
        let request = Request::get(path).body(Vec::new()).map_err(|error| error.to_string())?;
        self.client.request_text(request).await.map_err(|error| said(&error))
    }

    /// Something that the API server says at a path.
    ///
    /// # Errors
    ///
    /// What came back instead.
    pub async fn raw(&self, path: &str) -> Result<Value, String> {
        let request = Request::get(path).body(Vec::new()).map_err(|error| error.to_string())?;
        self.client.request(request).await.map_err(|error| said(&error))
    }

    /// All objects of a resource, if the API server knows it: the group with its version, and the resource.
    ///
    /// # Errors
    ///
    /// What came back instead.
    pub async fn raw_if_served(&self, group: &str, resource: &str) -> Result<Option<Value>, String> {
        let get = async |path: String| match Request::get(path).body(Vec::new()) {
            Ok(request) => self.client.request::<Value>(request).await,
            Err(error) => Err(kube::Error::HttpError(error)),
        };
        match get(format!("/apis/{group}/{resource}")).await {
            Ok(value) => Ok(Some(value)),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            // Rights are looked at before resources: who may not list it is refused also where there is nothing to list.
            Err(refused) if is_refusal(&refused) => match get(format!("/apis/{group}")).await {
                Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
                _served => Err(with_right(&refused, &format!("list {resource}"))),
            },
            Err(error) => Err(said(&error)),
        }
    }

    /// Writes annotations on a Service of this UID; none removes one.
    ///
    /// # Errors
    ///
    /// If it is not allowed, or the Service is another one by now.
    pub async fn annotate_service(
        &self,
        service: &ServiceView,
        annotations: &[(&str, Option<String>)],
    ) -> Result<(), Ending> {
        let api = Api::<Service>::namespaced(self.client.clone(), &service.namespace);
        let written = annotate(&api, &service.name, &service.uid, annotations).await;
        let right = format!("patch services in namespace {}", service.namespace);
        written.map_err(|error| not_written(&format!("Service {}", service.key()), &right, &error))
    }

    /// The same for a Node.
    ///
    /// # Errors
    ///
    /// If it is not allowed, or the Node is another one by now.
    pub async fn annotate_node(
        &self,
        node: &NodeView,
        annotations: &[(&str, Option<String>)],
    ) -> Result<(), Ending> {
        let api = Api::<Node>::all(self.client.clone());
        let written = annotate(&api, &node.name, &node.uid, annotations).await;
        written.map_err(|error| not_written(&format!("Node {}", node.name), "patch nodes", &error))
    }
}

/// The groups of a ServiceAccount, by which most rights are given.
fn groups_of(user: &str) -> Vec<String> {
    let mut groups = vec!["system:authenticated".to_owned()];
    if let Some((namespace, _name)) =
        user.strip_prefix("system:serviceaccount:").and_then(|rest| rest.split_once(':'))
    {
        groups.push("system:serviceaccounts".to_owned());
        groups.push(format!("system:serviceaccounts:{namespace}"));
    }
    groups
}

/// When an event was last seen.
#[must_use]
pub fn last_seen(event: &Event) -> Option<jiff::Timestamp> {
    let series =
        event.series.as_ref().and_then(|series| series.last_observed_time.as_ref()).map(|time| time.0);
    let last = event.last_timestamp.as_ref().map(|time| time.0);
    let made = event.event_time.as_ref().map(|time| time.0);
    [series, last, made].into_iter().flatten().max()
}

async fn annotate<K>(
    api: &Api<K>,
    name: &str,
    uid: &str,
    annotations: &[(&str, Option<String>)],
) -> Result<(), kube::Error>
where
    K: Resource + Clone + DeserializeOwned + Debug,
{
    let map: serde_json::Map<String, Value> =
        annotations.iter().map(|(key, value)| ((*key).to_owned(), json!(value))).collect();
    // With the UID a namesake that came in between is not touched.
    let patch = Patch::Merge(json!({"metadata": {"uid": uid, "annotations": map}}));
    let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
    api.patch_metadata(name, &params, &patch).await.map(drop)
}

/// Reads a list whole.
async fn all<K>(api: &Api<K>, what: &str, right: &str) -> Result<Vec<K>, Ending>
where
    K: Resource + Clone + DeserializeOwned + Debug,
{
    let mut items = Vec::new();
    let mut list = ListParams::default().limit(PAGE);
    loop {
        let page = api.list(&list).await.map_err(|error| not_read(what, right, &error))?;
        items.extend(page.items);
        match page.metadata.continue_.filter(|next| !next.is_empty()) {
            Some(next) => list = list.continue_token(&next),
            None => return Ok(items),
        }
    }
}

fn not_read(what: &str, right: &str, error: &kube::Error) -> Ending {
    Ending::not_looked(format!("{what} cannot be read: {}", with_right(error, right)))
}

/// What the API server refuses was looked at, and is not done. Of what it did not answer nothing follows.
fn not_written(what: &str, right: &str, error: &kube::Error) -> Ending {
    let why = format!("{what} cannot be annotated: {}", with_right(error, right));
    match error {
        kube::Error::Api(_) => Ending::refused(why),
        _ => Ending::not_looked(why),
    }
}
