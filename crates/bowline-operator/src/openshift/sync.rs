//! Two ConfigMaps in the managers' namespace: the cloud configuration, transformed, and the trusted certificates. A source that
//! is wrong leaves the last good one in place.

use std::collections::BTreeMap;
use std::path::Path;

use bowline_kube::write::{Attempt, Place, Writer};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::ObjectMeta;
use kube::{Api, Client};

use super::{Inputs, Trouble};
use crate::api::FIELD_MANAGER;
use crate::apply::kind_of;
use crate::config::{self, Origin, needs_sync, prefers_managed};
use crate::infrastructure::Infrastructure;
use crate::platform::Platform;
use crate::trust::{self, CA_BUNDLE, CLOUD_CA_BUNDLE, Named};

const CONFIG_NAMESPACE: &str = "openshift-config";
const MANAGED_CONFIG: (&str, &str) = ("openshift-config-managed", "kube-cloud-config");
const CLOUD_CONFIG: &str = "cloud-conf";
const TRUSTED_CA: &str = "ccm-trusted-ca";
const OWNING_COMPONENT: (&str, &str) =
    ("openshift.io/owning-component", "Cloud Compute / Cloud Controller Manager");
/// The gate behind which the managed configuration of vSphere is ours.
const MULTI_VCENTER: &str = "VSphereMultiVCenterDay2";

/// Keeps the two ConfigMaps.
pub(super) struct Sync<'a> {
    pub(super) client: &'a Client,
    pub(super) writer: &'a Writer,
    pub(super) namespace: &'a str,
    pub(super) system_ca_file: &'a Path,
}

impl Sync<'_> {
    /// Brings the configuration up to date.
    ///
    /// # Errors
    ///
    /// If it cannot be made; then what is there stays.
    pub(super) async fn config(
        &self,
        infrastructure: &Infrastructure,
        inputs: &Inputs,
    ) -> Result<(), Trouble> {
        let network = inputs.network.as_ref();
        let network = network
            .ok_or_else(|| Trouble::transient("NetworkMissing", "Network cluster does not exist yet"))?;
        let status = infrastructure.status.platform_status.as_ref();
        let status =
            status.ok_or_else(|| Trouble::terminal("PlatformUnknown", "platformStatus is required"))?;
        if !needs_sync(&status.platform) {
            return Ok(());
        }
        let gates = inputs.gates.as_ref();
        let gates = gates.ok_or_else(|| {
            Trouble::transient(
                "FeatureGatesUnknown",
                "FeatureGate cluster does not have the gates of this release yet",
            )
        })?;
        let (origin, source) = self.source(infrastructure, &status.platform).await?;
        let binary = source.as_ref().and_then(|source| source.binary_data.clone());
        let data = source.map(|source| source.data.unwrap_or_default());
        let made = config::sync(data, &origin, config::Inputs { infrastructure, network, gates });
        let made = made.map_err(|error| Trouble::terminal("ConfigInvalid", format!("{origin}: {error}")))?;
        for warning in &made.warnings {
            tracing::warn!(%origin, "{warning}");
        }
        if status.platform == Platform::VSphere && gates.is_on(MULTI_VCENTER) {
            let (namespace, name) = MANAGED_CONFIG;
            self.upsert(namespace, name, made.data.clone(), None, None).await?;
        }
        self.upsert(self.namespace, CLOUD_CONFIG, made.data, binary, None).await
    }

    /// The ConfigMap that the configuration is made of, and where it is.
    async fn source(
        &self,
        infrastructure: &Infrastructure,
        platform: &Platform,
    ) -> Result<(Origin, Option<ConfigMap>), Trouble> {
        let (namespace, name) = MANAGED_CONFIG;
        if prefers_managed(platform)
            && let Some(found) = self.get(namespace, name).await?
        {
            return Ok((Origin { namespace: namespace.to_owned(), name: name.to_owned() }, Some(found)));
        }
        let name = infrastructure.spec.cloud_config.name.clone();
        let found = match name.as_str() {
            "" => None,
            name => self.get(CONFIG_NAMESPACE, name).await?,
        };
        // Without a name there is nothing that could be missing.
        let found = if name.is_empty() { Some(ConfigMap::default()) } else { found };
        Ok((Origin { namespace: CONFIG_NAMESPACE.to_owned(), name }, found))
    }

    /// Brings the trusted certificates up to date.
    ///
    /// # Errors
    ///
    /// If they cannot be made; then what is there stays.
    pub(super) async fn trust(&self, inputs: &Inputs) -> Result<(), Trouble> {
        let file = self.system_ca_file.display();
        let system = tokio::fs::read_to_string(self.system_ca_file).await;
        let system = system.map_err(|error| {
            Trouble::transient(
                "SystemCAUnreadable",
                format!("the certificates of the system, {file}: {error}"),
            )
        })?;
        let name = &inputs.proxy.spec.trusted_ca.name;
        let proxy = match name.as_str() {
            "" => None,
            name => Some(self.text(CONFIG_NAMESPACE, name, CA_BUNDLE).await?),
        };
        let cloud = self.text(self.namespace, CLOUD_CONFIG, CLOUD_CA_BUNDLE).await?;
        let proxy_place = format!("ConfigMap {CONFIG_NAMESPACE}/{name}, key {CA_BUNDLE}");
        let cloud_place = format!("ConfigMap {}/{CLOUD_CONFIG}, key {CLOUD_CA_BUNDLE}", self.namespace);
        let proxy = proxy.as_ref().map(|text| Named { place: &proxy_place, text: text.as_deref() });
        let cloud = cloud.as_ref().map(|text| Named { place: &cloud_place, text: Some(text) });
        let bundle = trust::merge(&system, proxy, cloud);
        let bundle = bundle.map_err(|problem| {
            Trouble::transient(
                "SystemCAInvalid",
                format!("the certificates of the system, {file}: {problem}"),
            )
        })?;
        for ignored in &bundle.ignored {
            tracing::warn!("{ignored}");
        }
        let data = BTreeMap::from([(CA_BUNDLE.to_owned(), bundle.text)]);
        self.upsert(self.namespace, TRUSTED_CA, data, None, Some(OWNING_COMPONENT)).await
    }

    async fn get(&self, namespace: &str, name: &str) -> Result<Option<ConfigMap>, Trouble> {
        let api: Api<ConfigMap> = Api::namespaced(self.client.clone(), namespace);
        api.get_opt(name).await.map_err(Trouble::read("a ConfigMap"))
    }

    async fn text(&self, namespace: &str, name: &str, key: &str) -> Result<Option<String>, Trouble> {
        let found = self.get(namespace, name).await?;
        Ok(found.and_then(|found| found.data?.remove(key)))
    }

    /// Makes a ConfigMap have this data, and no other. Labels and annotations of others stay; a write that would change nothing
    /// is not sent.
    async fn upsert(
        &self,
        namespace: &str,
        name: &str,
        data: BTreeMap<String, String>,
        binary: Option<BTreeMap<String, ByteString>>,
        annotation: Option<(&str, &str)>,
    ) -> Result<(), Trouble> {
        let kind = kind_of("v1", "ConfigMap").map_err(Trouble::write)?.resource();
        let place = Place { resource: &kind, namespace: Some(namespace), name };
        let old = self.get(namespace, name).await?;
        let mut new = old.clone().unwrap_or_else(|| ConfigMap {
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                namespace: Some(namespace.to_owned()),
                ..ObjectMeta::default()
            },
            ..ConfigMap::default()
        });
        new.data = Some(data);
        new.binary_data = binary;
        new.immutable = None;
        if let Some((key, value)) = annotation {
            new.metadata.annotations.get_or_insert_default().insert(key.to_owned(), value.to_owned());
        }
        match old {
            Some(old) if old == new => return Ok(()),
            Some(_) => self.writer.replace(place, "", FIELD_MANAGER, &new).await,
            None => self.writer.create(place, FIELD_MANAGER, &new, Attempt::Real).await,
        }
        .map(drop)
        .map_err(Trouble::write)
    }
}
