//! The cluster as a whole: its version, and which APIs and objects it has that say what kind of cluster it is.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client};
use serde::Deserialize;

use crate::migration::ClusterFacts;

/// What was seen of the cluster as a whole.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClusterLook {
    /// For the migration.
    pub facts: ClusterFacts,
    /// Whether there are ServiceMonitors.
    pub has_service_monitor: bool,
    /// `host:port` of the API server as kubeadm was told it: reachable before the cluster's own network is.
    pub api_server: Option<String>,
}

/// What is read of `kubeadm-config`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClusterConfiguration {
    control_plane_endpoint: Option<String>,
}

/// The address of the API server in the ConfigMap that kubeadm keeps; none if it was not told one with a port.
pub(super) fn control_plane_endpoint(kubeadm: &ConfigMap) -> Option<String> {
    let text = kubeadm.data.as_ref()?.get("ClusterConfiguration")?;
    let read: ClusterConfiguration = serde_saphyr::from_str(text).ok()?;
    read.control_plane_endpoint.filter(|endpoint| {
        endpoint.rsplit_once(':').is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok())
    })
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
    let kubeadm = kubeadm.get_opt("kubeadm-config").await?;
    let facts = ClusterFacts {
        minor: digits.parse().unwrap_or_default(),
        kubeadm_config: kubeadm.is_some(),
        openshift: has_resource(client, "config.openshift.io/v1", "infrastructures").await?,
    };
    let has_service_monitor = has_resource(client, "monitoring.coreos.com/v1", "servicemonitors").await?;
    let api_server = kubeadm.as_ref().and_then(control_plane_endpoint);
    Ok(ClusterLook { facts, has_service_monitor, api_server })
}

/// Whether the API server has a kind.
///
/// # Errors
///
/// If it cannot be asked.
pub(crate) async fn has_resource(
    client: &Client,
    api_version: &str,
    plural: &str,
) -> Result<bool, kube::Error> {
    match client.list_api_group_resources(api_version).await {
        Ok(found) => Ok(found.resources.iter().any(|resource| resource.name == plural)),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(false),
        Err(error) => Err(error),
    }
}
