//! The static pod: a manifest for the kubelets of control-plane nodes, and the files that it expects there. A kubelet runs it
//! without the API server, so it refers to nothing that is in the API.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Pod, PodSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::error::RenderError;
use super::facts::ClusterFacts;
use super::mode::ManagerMode;
use super::names::{Names, Part};
use super::object::Object;
use super::placement;
use super::pod::{ManagerPod, base, proxy, some};
use super::program::{Credentials, program, variable};
use super::volumes::{self, Mounted};
use crate::api::CloudControllerManagerSpec;
use crate::operate::VERSION;

/// Where kubelets look for static pods.
pub const MANIFESTS: &str = "/etc/kubernetes/manifests";
/// The credentials for the API server, of user `system:cloud-controller-manager`.
pub const KUBECONFIG: &str = "/etc/kubernetes/cloud-controller-manager.conf";
/// The folder of the files that the pod reads.
pub const FOLDER: &str = "/etc/kubernetes/cloud-controller-manager";

/// The folder, of those that are rendered, with what belongs on nodes.
pub const NODE_FOLDER: &str = "nodes";

/// A static pod and its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StaticPod {
    /// The manifest.
    pub pod: Object,
    /// The files that must be on each node, besides the manifest: path and, where it is known, content.
    pub files: Vec<(String, Option<String>)>,
}

/// The static pod of a resource.
///
/// # Errors
///
/// As [`super::plain`]; and if the manager reads its credentials from the API, which a static pod should not wait for.
pub fn static_pod(
    spec: &CloudControllerManagerSpec,
    name: &str,
    mode: ManagerMode,
    facts: &ClusterFacts,
) -> Result<StaticPod, RenderError> {
    let program = program(spec)?;
    if spec.platform == crate::api::PlatformName::Azure {
        let why = "its agents are a DaemonSet; wanted form Deployment or DaemonSet";
        return Err(RenderError::NotStatic { what: "Azure's manager", why });
    }
    let names = Names::new(spec, name, facts.naming, Part::Manager);
    let config_file = facts.config.as_ref().map(|_| format!("{FOLDER}/cloud.conf"));
    let maker = ManagerPod { spec, mode, facts, names: &names };
    let mut container = maker.container(&program, config_file.as_deref(), Some(KUBECONFIG))?;
    let mut env = maker.environment(&program)?;
    // The kubeconfig says where the API server is; certificates are in the folder.
    env.retain(|known| !known.name.starts_with("KUBERNETES_SERVICE_"));
    for known in env.iter_mut().filter(|known| known.name == "SSL_CERT_DIR") {
        *known = variable("SSL_CERT_DIR", format!("{FOLDER}/trusted-ca"));
    }
    let (mounted, files) = from_host(spec, facts, program.credentials);
    container.env = some(env);
    container.volume_mounts = some(mounted.iter().map(|one| one.mount.clone()).collect());
    let mut pod = PodSpec {
        volumes: some(mounted.into_iter().map(|one| one.volume).collect()),
        ..base(container, placement::agent_tolerations())
    };
    // Files of the host have their own owners; a group of the pod means nothing to them.
    if let Some(context) = &mut pod.security_context {
        context.fs_group = None;
    }
    let metadata =
        ObjectMeta { annotations: Some(annotations(spec, facts)), ..names.metadata(names.workload()) };
    let pod = Pod { metadata, spec: Some(proxy(spec).applied_to(&pod)), status: None };
    Ok(StaticPod { pod: Object::namespaced(&pod)?, files })
}

/// A new configuration is another manifest, so that the kubelet starts the pod anew.
fn annotations(spec: &CloudControllerManagerSpec, facts: &ClusterFacts) -> BTreeMap<String, String> {
    let version = spec.version.as_deref().unwrap_or(env!("CARGO_PKG_VERSION")).to_owned();
    let hash = facts.config.as_ref().map(|config| (super::pod::CONFIG_HASH.to_owned(), config.hash.clone()));
    [(VERSION.to_owned(), version)].into_iter().chain(hash).collect()
}

fn from_host(
    spec: &CloudControllerManagerSpec,
    facts: &ClusterFacts,
    credentials: Credentials,
) -> (Vec<Mounted>, Vec<(String, Option<String>)>) {
    let mut mounted =
        vec![volumes::host("kubeconfig", KUBECONFIG, "File"), volumes::host("files", FOLDER, "Directory")];
    let mut files = vec![(KUBECONFIG.to_owned(), None)];
    files.extend(
        facts.config.as_ref().map(|config| (format!("{FOLDER}/cloud.conf"), Some(config.text.clone()))),
    );
    if spec.credentials.is_some() {
        match credentials {
            Credentials::File { folder, file, .. } => {
                mounted.push(volumes::host("credentials", folder, "Directory"));
                files.push((format!("{folder}/{file}"), None));
            }
            Credentials::Folder(folder) => {
                mounted.push(volumes::host("credentials", folder, "Directory"));
                files.push((folder.to_owned(), None));
            }
            Credentials::Read { .. } | Credentials::InConfig => {}
        }
    }
    if spec.trusted_ca.is_some() {
        files.push((format!("{FOLDER}/trusted-ca/{}", crate::trust::CA_BUNDLE), None));
    }
    (mounted, files)
}
