//! Services of one namespace, as their owners use them: created, edited, deleted and read as JSON.

use anyhow::Context;
use k8s_openapi::api::core::v1::{Event, Service};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use serde_json::{Map, Value, json};

use crate::wait::Wait;

/// The annotation that names the load balancer of a Service.
pub const LOAD_BALANCER_ID: &str = "loadbalancer.openstack.org/load-balancer-id";
/// The condition in which Bowline says whether a Service is served.
pub const LOAD_BALANCER_READY: &str = "bowline.dev/LoadBalancerReady";

/// The Services of a namespace.
#[derive(Clone)]
pub struct Services {
    /// For what has no method here.
    pub api: Api<Service>,
    events: Api<Event>,
    wait: Wait,
}

impl Services {
    /// Those of a namespace, as this client may use them.
    #[must_use]
    pub fn of(client: &Client, namespace: &str) -> Self {
        let (api, events) =
            (Api::namespaced(client.clone(), namespace), Api::namespaced(client.clone(), namespace));
        Self { api, events, wait: Wait::default() }
    }

    /// Waits in this way.
    #[must_use]
    pub fn waiting(self, wait: Wait) -> Self {
        Self { wait, ..self }
    }

    /// Creates one.
    ///
    /// # Errors
    /// When it is no Service, or the API server refuses it.
    pub async fn create(&self, service: &Value) -> anyhow::Result<Service> {
        let service: Service = serde_json::from_value(service.clone())?;
        let created = self.api.create(&PostParams::default(), &service).await;
        created.with_context(|| format!("create Service {}", service.name_any()))
    }

    /// Changes one by a merge patch.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn edit(&self, name: &str, patch: &Value) -> anyhow::Result<()> {
        let edited = self.api.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await;
        edited.map(drop).with_context(|| format!("edit Service {name}"))
    }

    /// Sets an annotation, or removes it.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn annotate(&self, name: &str, key: &str, value: Option<&str>) -> anyhow::Result<()> {
        self.edit(name, &json!({"metadata": {"annotations": {key: value}}})).await
    }

    /// Requests the deletion of one, which stays until its load balancer is gone.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn request_delete(&self, name: &str) -> anyhow::Result<()> {
        let deleted = self.api.delete(name, &DeleteParams::default()).await;
        deleted.map(drop).with_context(|| format!("delete Service {name}"))
    }

    /// Deletes one, and waits until it is gone.
    ///
    /// # Errors
    /// When the API server refuses, or it is not gone in time.
    pub async fn delete(&self, name: &str) -> anyhow::Result<()> {
        self.request_delete(name).await?;
        self.until_gone(name).await
    }

    /// Deletes all, and waits until they are gone.
    ///
    /// # Errors
    /// When the API server refuses, or they are not gone in time.
    pub async fn delete_all(&self) -> anyhow::Result<()> {
        for service in self.list().await? {
            self.request_delete(&service.name_any()).await?;
        }
        let names = async || Ok(self.list().await?.iter().map(ResourceExt::name_any).collect());
        self.wait.until_value("all Services are gone", names, Vec::<String>::is_empty).await.map(drop)
    }

    /// All.
    ///
    /// # Errors
    /// When the API server does not answer.
    pub async fn list(&self) -> anyhow::Result<Vec<Service>> {
        Ok(self.api.list(&ListParams::default()).await?.items)
    }

    /// One as JSON.
    ///
    /// # Errors
    /// When it does not exist.
    pub async fn get(&self, name: &str) -> anyhow::Result<Value> {
        Ok(serde_json::to_value(self.api.get(name).await?)?)
    }

    /// Waits until one is as wanted.
    ///
    /// # Errors
    /// With the Service as it was last, when that does not come.
    pub async fn until(
        &self,
        name: &str,
        what: &str,
        wanted: impl Fn(&Value) -> bool,
    ) -> anyhow::Result<Value> {
        let mut last = Value::Null;
        let found = self.wait.until(format!("Service {name} {what}"), async || {
            last = self.get(name).await?;
            Ok(wanted(&last).then(|| last.clone()))
        });
        let found = found.await;
        found.with_context(|| format!("Service {last:#}"))
    }

    /// Waits until one has an address, and its condition says that it is served as it is specified now.
    ///
    /// # Errors
    /// As [`Self::until`].
    pub async fn until_ready(&self, name: &str) -> anyhow::Result<Value> {
        self.until(name, "is ready", |service| {
            let condition = condition(service);
            address(service).is_some()
                && condition.get("status").is_some_and(|status| status == "True")
                && condition.get("observedGeneration") == service.pointer("/metadata/generation")
        })
        .await
    }

    /// Waits until one is gone.
    ///
    /// # Errors
    /// When it is not gone in time.
    pub async fn until_gone(&self, name: &str) -> anyhow::Result<()> {
        let is_gone = async || Ok(self.api.get_opt(name).await?.is_none().then_some(()));
        self.wait.until(format!("Service {name} is gone"), is_gone).await
    }

    /// The events of an object in this namespace.
    ///
    /// # Errors
    /// When the API server does not answer.
    pub async fn events(&self, name: &str) -> anyhow::Result<Vec<Event>> {
        events(&self.events, name).await
    }
}

/// The events of an object.
///
/// # Errors
/// When the API server does not answer.
pub async fn events(events: &Api<Event>, name: &str) -> anyhow::Result<Vec<Event>> {
    let of_it = ListParams::default().fields(&format!("involvedObject.name={name}"));
    Ok(events.list(&of_it).await?.items)
}

/// Waits until a warning about an object contains a text; the answer is its message.
///
/// # Errors
/// With all its events, when none does.
pub async fn until_warned(api: &Api<Event>, name: &str, part: &str, wait: &Wait) -> anyhow::Result<String> {
    let mut last = Vec::new();
    let warned = wait.until(format!("a warning of {name} with {part:?}"), async || {
        let all = events(api, name).await?;
        last = all.into_iter().map(|event| (event.type_.unwrap_or_default(), event.message)).collect();
        let mut warnings =
            last.iter().filter(|(kind, _)| kind == "Warning").filter_map(|(_, text)| text.clone());
        Ok(warnings.find(|text| text.contains(part)))
    });
    let warned = warned.await;
    warned.with_context(|| format!("events of {name}: {last:#?}"))
}

/// A Service of type LoadBalancer with port 80, or with what `spec` says. Without a namespace: that of whoever creates it.
#[must_use]
pub fn service(name: &str, annotations: &[(&str, &str)], spec: &Value) -> Value {
    let mut whole = Map::new();
    whole.insert("type".to_owned(), json!("LoadBalancer"));
    whole.insert("selector".to_owned(), json!({"app": name}));
    whole.insert("ports".to_owned(), json!([port("http", 80, "TCP")]));
    whole.extend(spec.as_object().cloned().unwrap_or_default());
    let annotations: Map<String, Value> =
        annotations.iter().map(|(key, value)| ((*key).to_owned(), json!(value))).collect();
    json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {"name": name, "annotations": annotations}, "spec": whole,
    })
}

/// A port of a Service.
#[must_use]
pub fn port(name: &str, port: u16, protocol: &str) -> Value {
    json!({"name": name, "port": port, "protocol": protocol})
}

/// The first address in a Service's status: IP or host name.
#[must_use]
pub fn address(service: &Value) -> Option<&str> {
    let first = service.pointer("/status/loadBalancer/ingress/0")?;
    first.get("ip").or_else(|| first.get("hostname"))?.as_str()
}

/// Bowline's condition of a Service; null if it has none.
#[must_use]
pub fn condition(service: &Value) -> &Value {
    let conditions = service.pointer("/status/conditions").and_then(Value::as_array);
    let mut ours = conditions
        .into_iter()
        .flatten()
        .filter(|each| each.get("type").is_some_and(|name| name == LOAD_BALANCER_READY));
    ours.next().unwrap_or(&Value::Null)
}

/// The id of a Service's load balancer, as its annotation names it.
///
/// # Errors
/// When it has no such annotation.
pub fn load_balancer_id(service: &Value) -> anyhow::Result<&str> {
    let id = service.pointer("/metadata/annotations").and_then(|all| all.get(LOAD_BALANCER_ID)?.as_str());
    id.with_context(|| format!("no {LOAD_BALANCER_ID} on {service:#}"))
}
