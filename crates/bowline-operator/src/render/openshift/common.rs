//! What all platforms on OpenShift share: volumes, the Service, the PodDisruptionBudget.

use k8s_openapi::api::core::v1::{
    ConfigMapVolumeSource, HostPathVolumeSource, KeyToPath, SecretVolumeSource, Service, ServicePort,
    ServiceSpec, Volume, VolumeMount,
};
use k8s_openapi::api::policy::v1::{PodDisruptionBudget, PodDisruptionBudgetSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::operand::{CLOUD_CONF, Cluster, MANAGER_LABEL};
use crate::render::error::RenderError;
use crate::render::flags::PORT;
use crate::render::object::Object;
use crate::render::volumes::mount;
use crate::trust::CA_BUNDLE;

/// The PodDisruptionBudget, unless there is one replica only, and the Service.
pub(super) fn objects(cluster: &Cluster<'_>) -> Result<Vec<Object>, RenderError> {
    let mut all = Vec::new();
    if !cluster.inputs.infrastructure.is_single_replica() {
        all.push(Object::namespaced(&disruption_budget(cluster))?);
    }
    all.push(Object::namespaced(&service(cluster))?);
    Ok(all)
}

/// By the platform's name, which is not the Deployment's on IBM Cloud.
fn name(cluster: &Cluster<'_>) -> String {
    format!("{}-cloud-controller-manager", cluster.platform.name())
}

fn selector(cluster: &Cluster<'_>) -> std::collections::BTreeMap<String, String> {
    [(MANAGER_LABEL.to_owned(), cluster.platform.openshift_name().to_owned())].into()
}

fn metadata(cluster: &Cluster<'_>) -> ObjectMeta {
    ObjectMeta {
        name: Some(name(cluster)),
        namespace: Some(cluster.inputs.namespace.to_owned()),
        ..ObjectMeta::default()
    }
}

fn disruption_budget(cluster: &Cluster<'_>) -> PodDisruptionBudget {
    let selector = LabelSelector { match_labels: Some(selector(cluster)), match_expressions: None };
    PodDisruptionBudget {
        metadata: metadata(cluster),
        spec: Some(PodDisruptionBudgetSpec {
            min_available: Some(IntOrString::Int(1)),
            selector: Some(selector),
            unhealthy_pod_eviction_policy: Some("AlwaysAllow".to_owned()),
            ..PodDisruptionBudgetSpec::default()
        }),
        status: None,
    }
}

fn service(cluster: &Cluster<'_>) -> Service {
    let labels = [("k8s-app".to_owned(), name(cluster))].into();
    let port = ServicePort {
        name: Some("https".to_owned()),
        port: PORT,
        protocol: Some("TCP".to_owned()),
        ..ServicePort::default()
    };
    Service {
        metadata: ObjectMeta { labels: Some(labels), ..metadata(cluster) },
        spec: Some(ServiceSpec {
            ports: Some(vec![port]),
            selector: Some(selector(cluster)),
            type_: Some("ClusterIP".to_owned()),
            ..ServiceSpec::default()
        }),
        status: None,
    }
}

/// The node's own settings, of which the manager's shell reads one file.
pub(super) fn host_settings() -> Volume {
    let source =
        HostPathVolumeSource { path: "/etc/kubernetes".to_owned(), type_: Some("Directory".to_owned()) };
    Volume { name: HOST_SETTINGS.to_owned(), host_path: Some(source), ..Volume::default() }
}

const HOST_SETTINGS: &str = "host-etc-kube";
const TRUSTED_CA: &str = "trusted-ca";

/// Where they are.
pub(super) fn host_settings_mount() -> VolumeMount {
    mount(HOST_SETTINGS, "/etc/kubernetes")
}

/// The trusted certificates.
pub(super) fn trusted_ca() -> Volume {
    config_map(TRUSTED_CA, "ccm-trusted-ca", &[(CA_BUNDLE, "tls-ca-bundle.pem")])
}

/// Where they are.
pub(super) fn trusted_ca_mount() -> VolumeMount {
    mount(TRUSTED_CA, "/etc/pki/ca-trust/extracted/pem")
}

/// The cloud configuration as one file.
pub(super) fn cloud_conf(volume: &str, file: &str) -> Volume {
    config_map(volume, CLOUD_CONF, &[("cloud.conf", file)])
}

/// Some keys of a ConfigMap as files; all of them if none is named.
pub(super) fn config_map(volume: &str, name: &str, keys: &[(&str, &str)]) -> Volume {
    let source = ConfigMapVolumeSource {
        name: name.to_owned(),
        items: items(keys),
        ..ConfigMapVolumeSource::default()
    };
    Volume { name: volume.to_owned(), config_map: Some(source), ..Volume::default() }
}

/// The same of a Secret.
pub(super) fn secret(volume: &str, name: &str, keys: &[(&str, &str)]) -> Volume {
    let source = SecretVolumeSource {
        secret_name: Some(name.to_owned()),
        items: items(keys),
        ..SecretVolumeSource::default()
    };
    Volume { name: volume.to_owned(), secret: Some(source), ..Volume::default() }
}

fn items(keys: &[(&str, &str)]) -> Option<Vec<KeyToPath>> {
    let item = |(key, path): &(&str, &str)| KeyToPath {
        key: (*key).to_owned(),
        path: (*path).to_owned(),
        mode: None,
    };
    Some(keys.iter().map(item).collect::<Vec<_>>()).filter(|items| !items.is_empty())
}
