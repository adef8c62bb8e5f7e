//! What OpenShift says of the cluster, read anew in each pass.

use kube::Client;
use serde::Deserialize;

use super::kinds::{API_SERVER, CLUSTER_VERSION, FEATURE_GATE, INFRASTRUCTURE, NETWORK, PROXY};
use crate::feature_gates::{FeatureGateStatus, FeatureGates, gates_of_version, version_of_gates};
use crate::infrastructure::{ClusterNetwork, Infrastructure};
use crate::proxy::ProxySettings;
use crate::tls::{ApiServerTls, TlsConfig, TlsError, resolve};

/// `Proxy/cluster`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ProxyInput {
    /// What the administrator says.
    pub spec: ProxyWish,
    /// What counts.
    pub status: ProxySettings,
}

/// What the administrator says of the proxy.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ProxyWish {
    /// The ConfigMap with certificates.
    #[serde(rename = "trustedCA")]
    pub trusted_ca: Named,
}

/// A name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Named {
    /// It; empty is none.
    pub name: String,
}

/// What OpenShift says.
#[derive(Debug, Clone)]
pub struct Inputs {
    /// `Infrastructure/cluster`.
    pub infrastructure: Option<Infrastructure>,
    /// `Proxy/cluster`.
    pub proxy: ProxyInput,
    /// `Network/cluster`.
    pub network: Option<ClusterNetwork>,
    /// The gates of this release; none if nobody has decided them yet.
    pub gates: Option<FeatureGates>,
    /// What TLS is offered.
    pub tls: Result<TlsConfig, TlsError>,
}

#[derive(Deserialize)]
struct NetworkObject {
    #[serde(default)]
    spec: ClusterNetwork,
}

#[derive(Deserialize)]
struct FeatureGateObject {
    #[serde(default)]
    status: FeatureGateStatus,
}

#[derive(Deserialize)]
struct ApiServerObject {
    #[serde(default)]
    spec: ApiServerTls,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ClusterVersion {
    status: ClusterVersionStatus,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ClusterVersionStatus {
    desired: Release,
    history: Vec<Release>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Release {
    version: String,
}

impl Inputs {
    /// Reads all of it.
    ///
    /// # Errors
    ///
    /// If something cannot be read. That it is not there is no error here.
    pub(super) async fn read(client: &Client, release: &str) -> Result<Self, kube::Error> {
        let version: ClusterVersion = CLUSTER_VERSION.get(client).await?.unwrap_or_default();
        let gates: Option<FeatureGateObject> = FEATURE_GATE.get(client).await?;
        let newest =
            version.status.history.first().map(|release| release.version.as_str()).unwrap_or_default();
        let of = version_of_gates(release, &version.status.desired.version, newest);
        let network: Option<NetworkObject> = NETWORK.get(client).await?;
        let server: Option<ApiServerObject> = API_SERVER.get(client).await?;
        Ok(Self {
            infrastructure: INFRASTRUCTURE.get(client).await?,
            proxy: PROXY.get(client).await?.unwrap_or_default(),
            network: network.map(|network| network.spec),
            gates: gates.and_then(|gates| gates_of_version(&gates.status, of)),
            tls: resolve("", &[], server.map(|server| server.spec).as_ref()),
        })
    }
}
