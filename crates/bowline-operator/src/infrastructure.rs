//! The parts of OpenShift's `Infrastructure` and `Network` that decisions are made of. All fields may be
//! missing, and what is not named here is ignored: these types are read, never written back.

use serde::Deserialize;

use crate::platform::Platform;

/// `Infrastructure/cluster`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Infrastructure {
    /// What the administrator says.
    pub spec: InfrastructureSpec,
    /// What the installer found.
    pub status: InfrastructureStatus,
}

/// Why nothing can be made for an infrastructure.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InfrastructureError {
    /// It does not say what the cluster runs on.
    #[error("platform status is not populated on infrastructure")]
    NoStatus,
    /// It says so with an empty name.
    #[error("no platform provider found on infrastructure")]
    NoPlatform,
}

impl Infrastructure {
    /// The platform with what it has to say.
    ///
    /// # Errors
    ///
    /// If it says nothing.
    pub fn platform_status(&self) -> Result<&PlatformStatus, InfrastructureError> {
        let status = self.status.platform_status.as_ref().ok_or(InfrastructureError::NoStatus)?;
        if status.platform.openshift_name().is_empty() {
            return Err(InfrastructureError::NoPlatform);
        }
        Ok(status)
    }

    /// Whether there is one control-plane node only, by intent.
    #[must_use]
    pub fn is_single_replica(&self) -> bool {
        self.status.control_plane_topology == "SingleReplica"
    }
}

/// What the administrator says of the infrastructure.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct InfrastructureSpec {
    /// Which ConfigMap has the cloud configuration.
    pub cloud_config: CloudConfigRef,
    /// Platform details that may change after the installation.
    pub platform_spec: PlatformSpec,
}

/// A key of a ConfigMap in `openshift-config`; empty is none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct CloudConfigRef {
    /// The ConfigMap.
    pub name: String,
    /// The key in it.
    pub key: String,
}

/// Platform details that may change after the installation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct PlatformSpec {
    /// Those of vSphere.
    pub vsphere: Option<VSphereSpec>,
}

/// What the installer found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct InfrastructureStatus {
    /// The cluster's name in the cloud.
    pub infrastructure_name: String,
    /// How many control-plane nodes there are meant to be.
    pub control_plane_topology: String,
    /// The platform.
    pub platform_status: Option<PlatformStatus>,
}

/// The platform with what it has to say.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct PlatformStatus {
    /// Which one.
    #[serde(rename = "type")]
    pub platform: Platform,
    /// What Azure adds.
    pub azure: Option<AzureStatus>,
    /// What a platform of somebody else adds.
    pub external: Option<ExternalStatus>,
    /// What vSphere adds.
    pub vsphere: Option<VSphereStatus>,
}

/// What Azure adds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AzureStatus {
    /// Which of the Azure clouds; empty is the public one.
    pub cloud_name: String,
}

/// What a platform of somebody else adds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ExternalStatus {
    /// Whether it brings a cloud-controller-manager.
    pub cloud_controller_manager: ExternalManager,
}

/// Whether a cloud-controller-manager is brought.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ExternalManager {
    /// `External`, `None` or nothing.
    pub state: String,
}

/// What vSphere adds to the status.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct VSphereStatus {
    /// The addresses of the API server inside the cluster.
    #[serde(rename = "apiServerInternalIPs")]
    pub api_server_internal_ips: Vec<String>,
    /// The addresses of the routers.
    #[serde(rename = "ingressIPs")]
    pub ingress_ips: Vec<String>,
}

/// What vSphere adds to the spec.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct VSphereSpec {
    /// The vCenters.
    pub vcenters: Vec<VCenterSpec>,
    /// Where machines are put.
    pub failure_domains: Vec<FailureDomain>,
    /// Which networks nodes take their addresses from.
    pub node_networking: NodeNetworking,
}

/// One vCenter.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct VCenterSpec {
    /// Its host name or address.
    pub server: String,
    /// Its port; zero is the usual one.
    pub port: u16,
    /// The data centers used in it.
    pub datacenters: Vec<String>,
}

/// One place where machines are put.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct FailureDomain {
    /// The vCenter.
    pub server: String,
    /// What is there.
    pub topology: Topology,
}

/// What a failure domain consists of.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Topology {
    /// The data center.
    pub datacenter: String,
}

/// Which networks nodes take their addresses from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct NodeNetworking {
    /// For the addresses seen from outside.
    pub external: NodeNetwork,
    /// For the addresses seen inside.
    pub internal: NodeNetwork,
}

/// One kind of network of nodes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeNetwork {
    /// Its name.
    pub network: String,
    /// The subnets to take addresses from.
    pub network_subnet_cidr: Vec<String>,
    /// The subnets to take none from.
    pub exclude_network_subnet_cidr: Vec<String>,
}

/// The cluster's networks, as `Network/cluster` names them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterNetwork {
    /// The ranges of Service addresses: one, or two of different families with the first family first.
    pub service_network: Vec<String>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_infrastructure_that_does_not_say_its_platform_is_refused_in_upstreams_words() {
        let read = |value| serde_json::from_value::<Infrastructure>(value).unwrap();
        let cases = [
            (json!({}), Err("platform status is not populated on infrastructure")),
            (json!({ "status": {} }), Err("platform status is not populated on infrastructure")),
            (
                json!({ "status": { "platformStatus": {} } }),
                Err("no platform provider found on infrastructure"),
            ),
            (
                json!({ "status": { "platformStatus": { "type": "" } } }),
                Err("no platform provider found on infrastructure"),
            ),
            (json!({ "status": { "platformStatus": { "type": "AWS" } } }), Ok(Platform::Aws)),
            (json!({ "status": { "platformStatus": { "type": "None" } } }), Ok(Platform::None)),
        ];
        for (value, wanted) in cases {
            let infrastructure = read(value.clone());
            let found = infrastructure.platform_status().map(|status| status.platform.clone());
            assert_eq!(found.map_err(|error| error.to_string()), wanted.map_err(str::to_owned), "{value}");
        }
    }

    #[test]
    fn only_one_topology_is_a_single_replica() {
        for (topology, is_single) in [
            ("SingleReplica", true),
            ("HighlyAvailable", false),
            ("DualReplica", false),
            ("External", false),
            ("", false),
        ] {
            let value = json!({ "status": { "controlPlaneTopology": topology, "infrastructureName": "x", "unknown": 1 } });
            let infrastructure: Infrastructure = serde_json::from_value(value).unwrap();
            assert_eq!(infrastructure.is_single_replica(), is_single, "{topology}");
        }
    }
}
