//! The kinds of OpenShift that are read, and the one that is written.

use kube::api::DynamicObject;
use kube::core::ApiResource;
use kube::{Api, Client};
use serde::de::DeserializeOwned;

/// A kind of `config.openshift.io/v1` of which there is one object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    /// The kind.
    pub kind: &'static str,
    /// Its name in paths.
    pub plural: &'static str,
    /// The name of the one object.
    pub name: &'static str,
}

const fn one(kind: &'static str, plural: &'static str, name: &'static str) -> Kind {
    Kind { kind, plural, name }
}

pub(super) const INFRASTRUCTURE: Kind = one("Infrastructure", "infrastructures", "cluster");
pub(super) const PROXY: Kind = one("Proxy", "proxies", "cluster");
pub(super) const NETWORK: Kind = one("Network", "networks", "cluster");
pub(super) const FEATURE_GATE: Kind = one("FeatureGate", "featuregates", "cluster");
pub(super) const CLUSTER_VERSION: Kind = one("ClusterVersion", "clusterversions", "version");
pub(super) const API_SERVER: Kind = one("APIServer", "apiservers", "cluster");
pub(super) const CLUSTER_OPERATOR: Kind = one("ClusterOperator", "clusteroperators", super::NAME);

/// Group and version of all of them.
pub(super) const API_VERSION: &str = "config.openshift.io/v1";

/// All of them.
pub const KINDS: [Kind; 7] =
    [INFRASTRUCTURE, PROXY, NETWORK, FEATURE_GATE, CLUSTER_VERSION, API_SERVER, CLUSTER_OPERATOR];

impl Kind {
    /// What a client needs to know of it.
    #[must_use]
    pub fn resource(&self) -> ApiResource {
        ApiResource {
            group: "config.openshift.io".to_owned(),
            version: "v1".to_owned(),
            api_version: API_VERSION.to_owned(),
            kind: self.kind.to_owned(),
            plural: self.plural.to_owned(),
        }
    }

    /// The object, as far as a type reads it; `None` if it, or its kind, does not exist.
    ///
    /// # Errors
    ///
    /// If the API server does not say.
    pub(super) async fn get<T: DeserializeOwned>(&self, client: &Client) -> Result<Option<T>, kube::Error> {
        let Some(object) = self.object(client).await? else { return Ok(None) };
        let value = serde_json::to_value(object).map_err(kube::Error::SerdeError)?;
        serde_json::from_value(value).map(Some).map_err(kube::Error::SerdeError)
    }

    /// The whole object.
    ///
    /// # Errors
    ///
    /// If the API server does not say.
    pub(super) async fn object(&self, client: &Client) -> Result<Option<DynamicObject>, kube::Error> {
        let api: Api<DynamicObject> = Api::all_with(client.clone(), &self.resource());
        api.get_opt(self.name).await
    }
}
