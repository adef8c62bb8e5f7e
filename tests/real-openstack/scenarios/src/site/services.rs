//! The part of the application teams: Services, and what is said of them.

use anyhow::Context;
use k8s_openapi::api::core::v1::{Event, Service};
use kube::Api;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use super::{NAMESPACE, Site};
use crate::patience::until;

impl Site<'_> {
    pub(crate) async fn create(&self, service: &Value) -> anyhow::Result<Service> {
        let service = serde_json::from_value(service.clone())?;
        Ok(self.services.create(&PostParams::default(), &service).await?)
    }

    /// Changes a Service by a merge patch.
    pub(crate) async fn edit(&self, name: &str, patch: &Value) -> anyhow::Result<()> {
        self.services.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await?;
        Ok(())
    }

    /// Sets an annotation, or takes it away.
    pub(crate) async fn annotate(&self, name: &str, key: &str, value: Option<&str>) -> anyhow::Result<()> {
        self.edit(name, &json!({"metadata": {"annotations": {key: value}}})).await
    }

    /// Deletes a Service and waits until it is gone.
    pub(crate) async fn delete(&self, name: &str) -> anyhow::Result<()> {
        self.ask_to_delete(name).await?;
        self.until_gone(name).await
    }

    /// Deletes a Service, which stays until its load balancer is gone.
    pub(crate) async fn ask_to_delete(&self, name: &str) -> anyhow::Result<()> {
        self.services.delete(name, &DeleteParams::default()).await.map(drop).context("delete a Service")
    }

    /// Deletes all Services, and waits until they are gone.
    pub(crate) async fn delete_all(&self) -> anyhow::Result<()> {
        for service in self.services.list(&ListParams::default()).await? {
            let name = service.metadata.name.unwrap_or_default();
            self.services.delete(&name, &DeleteParams::default()).await?;
        }
        let seen = until("all Services are gone", async || {
            Ok(self.services.list(&ListParams::default()).await?.items.is_empty().then_some(()))
        });
        seen.await.with_context(|| self.tail())
    }

    /// Waits until a Service is as wanted.
    pub(crate) async fn until_service(
        &self,
        name: &str,
        what: &str,
        wanted: impl Fn(&Value) -> bool,
    ) -> anyhow::Result<Value> {
        let mut last = Value::Null;
        let seen = until(&format!("Service {name} {what}"), async || {
            last = serde_json::to_value(self.services.get(name).await?)?;
            Ok(wanted(&last).then(|| last.clone()))
        })
        .await;
        seen.with_context(|| format!("the Service: {last:#}\n{}", self.tail()))
    }

    /// Waits until a Service has an address and is ready as it is now; the answer is the Service.
    pub(crate) async fn until_ready(&self, name: &str) -> anyhow::Result<Value> {
        self.until_service(name, "is ready", |service| {
            let condition = condition(service);
            address(service).is_some()
                && condition["status"] == "True"
                && condition["observedGeneration"] == service["metadata"]["generation"]
        })
        .await
    }

    /// Waits until a Service is gone.
    pub(crate) async fn until_gone(&self, name: &str) -> anyhow::Result<()> {
        let seen = until(&format!("Service {name} is gone"), async || {
            Ok(self.services.get_opt(name).await?.is_none().then_some(()))
        })
        .await;
        seen.with_context(|| self.tail())
    }

    /// What was said of an object in events: type, reason and text.
    pub(crate) async fn events(&self, name: &str) -> anyhow::Result<Vec<(String, String, String)>> {
        let events: Api<Event> = Api::all(self.client.clone());
        let parameters = ListParams::default().fields(&format!("involvedObject.name={name}"));
        let said = |event: Event| {
            (
                event.type_.unwrap_or_default(),
                event.reason.unwrap_or_default(),
                event.message.unwrap_or_default(),
            )
        };
        Ok(events.list(&parameters).await?.into_iter().map(said).collect())
    }

    /// Waits until a warning about an object says something; the answer is its text.
    pub(crate) async fn until_warned(&self, name: &str, part: &str) -> anyhow::Result<String> {
        let mut last = Vec::new();
        let seen = until(&format!("a warning of {name} with {part:?}"), async || {
            last = self.events(name).await?;
            let mut warnings = last.iter().filter(|(kind, _, text)| kind == "Warning" && text.contains(part));
            Ok(warnings.next().map(|(_, _, text)| text.clone()))
        })
        .await;
        seen.with_context(|| format!("events: {last:#?}\n{}", self.tail()))
    }

    /// The last lines of the manager's log.
    pub(crate) fn tail(&self) -> String {
        let log = std::fs::read_to_string(self.log()).unwrap_or_default();
        let lines: Vec<_> = log.lines().rev().take(40).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join("\n")
    }
}

/// A Service with one port, or with what `spec` gives.
pub(crate) fn service(name: &str, annotations: &[(&str, &str)], spec: &Value) -> Value {
    let mut whole =
        json!({"type": "LoadBalancer", "selector": {"app": name}, "ports": [port("http", 80, "TCP")]});
    for (key, value) in spec.as_object().into_iter().flatten() {
        whole[key] = value.clone();
    }
    let annotations: serde_json::Map<String, Value> =
        annotations.iter().map(|(key, value)| ((*key).to_owned(), json!(value))).collect();
    json!({"metadata": {"name": name, "namespace": NAMESPACE, "annotations": annotations}, "spec": whole})
}

/// A port of a Service.
pub(crate) fn port(name: &str, port: u16, protocol: &str) -> Value {
    json!({"name": name, "port": port, "protocol": protocol})
}

/// The address in a Service's status.
pub(crate) fn address(service: &Value) -> Option<&str> {
    let first = &service["status"]["loadBalancer"]["ingress"][0];
    first["ip"].as_str().or_else(|| first["hostname"].as_str())
}

/// What Bowline says on a Service.
pub(crate) fn condition(service: &Value) -> &Value {
    let conditions = service["status"]["conditions"].as_array().into_iter().flatten();
    let mut ours = conditions.filter(|condition| condition["type"] == "bowline.dev/LoadBalancerReady");
    ours.next().unwrap_or(&Value::Null)
}

/// The id of its load balancer, as it is noted.
pub(crate) fn balancer_id(service: &Value) -> anyhow::Result<&str> {
    let id = service["metadata"]["annotations"]["loadbalancer.openstack.org/load-balancer-id"].as_str();
    id.with_context(|| format!("no load-balancer-id on {service:#}"))
}
