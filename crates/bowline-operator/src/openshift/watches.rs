//! Everything that a pass reads is watched: also the proxy, the API server's TLS profile and the administrator's ConfigMaps.

use bowline_kube::informer::{Informer, WatchSettings};
use bowline_kube::queue::{KeyedQueue, Priority};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::Client;
use kube::api::DynamicObject;

use super::kinds::{API_VERSION, KINDS};
use crate::operate::{Base, Key, content_of, contents, follow_owned_on_openshift};

/// The namespaces whose ConfigMaps are read, besides the managers' own.
const CONFIG_NAMESPACES: [&str; 2] = ["openshift-config", "openshift-config-managed"];

/// Which of OpenShift's kinds the cluster has; none is: this is not OpenShift.
///
/// # Errors
///
/// If the API server does not say.
pub(super) async fn known(client: &Client) -> Result<Vec<String>, kube::Error> {
    match client.list_api_group_resources(API_VERSION).await {
        Ok(found) => Ok(found.resources.into_iter().map(|resource| resource.name).collect()),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Starts to watch.
pub(super) fn start(base: &Base, queue: &KeyedQueue<Key>, known: &[String], managed_namespace: &str) {
    for kind in KINDS.iter().filter(|kind| known.iter().any(|name| name == kind.plural)) {
        let settings = WatchSettings {
            field_selector: Some(format!("metadata.name={}", kind.name)),
            ..WatchSettings::default()
        };
        let informer = base.dynamic(&format!("openshift-{}", kind.plural), settings, kind.resource(), None);
        follow(&informer, queue);
    }
    follow_owned_on_openshift(base, queue, managed_namespace);
    for namespace in CONFIG_NAMESPACES.into_iter().chain([managed_namespace]) {
        let name = format!("openshift-configmaps-{namespace}");
        let project =
            |object: &DynamicObject| Some(content_of(&(&object.metadata.annotations, contents(object))));
        follow(&base.compared::<ConfigMap, _>(&name, Some(namespace), project), queue);
    }
    let project = |object: &DynamicObject| Some(content_of(&contents(object)));
    follow(&base.compared::<Secret, _>("openshift-secrets", Some(managed_namespace), project), queue);
}

fn follow<P: PartialEq + Send + Sync + 'static>(informer: &Informer<P>, queue: &KeyedQueue<Key>) {
    let (mut changes, queue) = (informer.subscribe(), queue.clone());
    tokio::spawn(async move {
        while changes.next().await.is_some() {
            queue.add(Key::OpenShift, Priority::User);
        }
    });
}
