//! The cluster as a whole: its version, and which APIs and objects it has that say what kind of cluster it is.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client};

use crate::migration::ClusterFacts;

/// What was seen of the cluster as a whole.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClusterLook {
    /// For the migration.
    pub facts: ClusterFacts,
    /// Whether there are ServiceMonitors.
    pub has_service_monitor: bool,
}

/// Looks. What may be missing is asked for by name, so that an aggregated API that is down does no harm.
///
/// # Errors
///
/// If the API server does not answer.
pub async fn look_at_cluster(client: &Client) -> Result<ClusterLook, kube::Error> {
    let version = client.apiserver_version().await?;
    let digits: String = version.minor.chars().take_while(char::is_ascii_digit).collect();
    let kubeadm: Api<ConfigMap> = Api::namespaced(client.clone(), "kube-system");
    let facts = ClusterFacts {
        minor: digits.parse().unwrap_or_default(),
        kubeadm_config: kubeadm.get_opt("kubeadm-config").await?.is_some(),
        openshift: has_resource(client, "config.openshift.io/v1", "infrastructures").await?,
    };
    let has_service_monitor = has_resource(client, "monitoring.coreos.com/v1", "servicemonitors").await?;
    Ok(ClusterLook { facts, has_service_monitor })
}

async fn has_resource(client: &Client, api_version: &str, plural: &str) -> Result<bool, kube::Error> {
    match client.list_api_group_resources(api_version).await {
        Ok(found) => Ok(found.resources.iter().any(|resource| resource.name == plural)),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(false),
        Err(error) => Err(error),
    }
}
