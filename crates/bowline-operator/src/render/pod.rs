//! The pod of a manager on plain Kubernetes.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    Container, ContainerPort, EnvVar, PodSpec, PodTemplateSpec, ResourceRequirements,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::error::RenderError;
use super::facts::ClusterFacts;
use super::flags::{Arguments, port};
use super::mode::ManagerMode;
use super::names::{Names, config_name};
use super::program::{CONFIG_FILE, CONFIG_FOLDER, Credentials, Program, image, program, variable};
use super::volumes::{self, Mounted};
use super::{hardening, placement};
use crate::api::{CloudControllerManagerSpec, KeyOfObject};
use crate::proxy::ProxySettings;
use crate::trust::CA_BUNDLE;

/// The annotation of a pod template with the hash of its configuration.
pub const CONFIG_HASH: &str = "bowline.dev/config-hash";

const TRUSTED_CA_FOLDER: &str = "/etc/bowline/trusted-ca";
/// Where images have the certificates of the system.
const SYSTEM_CA: &str = "/etc/ssl/certs/ca-certificates.crt";

/// What a manager's pod is made of.
pub(super) struct ManagerPod<'a> {
    pub(super) spec: &'a CloudControllerManagerSpec,
    pub(super) mode: ManagerMode,
    pub(super) facts: &'a ClusterFacts,
    pub(super) names: &'a Names<'a>,
}

impl ManagerPod<'_> {
    /// The template for a Deployment or a DaemonSet.
    pub(super) fn template(&self) -> Result<PodTemplateSpec, RenderError> {
        let metadata = ObjectMeta {
            labels: Some(self.names.labels()),
            annotations: Some(self.annotations()),
            ..ObjectMeta::default()
        };
        Ok(PodTemplateSpec { metadata: Some(metadata), spec: Some(self.pod_spec()?) })
    }

    /// Configuration that changes makes new pods; also that which has the same name as before.
    fn annotations(&self) -> BTreeMap<String, String> {
        let config = self.facts.config.as_ref().map(|config| config.hash.as_str());
        let parts = [config, self.facts.inputs_hash.as_deref()];
        let hash = parts.into_iter().flatten().collect::<Vec<_>>().join("-");
        [("kubectl.kubernetes.io/default-container", "cloud-controller-manager"), (CONFIG_HASH, &hash)]
            .into_iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect()
    }

    fn pod_spec(&self) -> Result<PodSpec, RenderError> {
        let program = program(self.spec)?;
        let mounted = self.mounted(&program);
        let config_file = self.facts.config.as_ref().map(|_| format!("{CONFIG_FOLDER}/{CONFIG_FILE}"));
        let mut container = self.container(&program, config_file.as_deref(), None)?;
        container.env = some(self.environment(&program)?);
        container.volume_mounts = some(mounted.iter().map(|one| one.mount.clone()).collect());
        let pod = PodSpec {
            affinity: Some(placement::spread(&self.names.selector_labels())),
            service_account_name: Some(self.names.workload()),
            volumes: some(mounted.into_iter().map(|one| one.volume).collect()),
            ..base(container, placement::manager_tolerations())
        };
        Ok(proxy(self.spec).applied_to(&pod))
    }

    /// The container without what comes from the API.
    pub(super) fn container(
        &self,
        program: &Program,
        config_file: Option<&str>,
        kubeconfig: Option<&str>,
    ) -> Result<Container, RenderError> {
        let flags = Arguments {
            spec: self.spec,
            base: self.names.base(),
            mode: self.mode,
            provider: program.provider,
            config_file,
            kubeconfig,
            platform: Vec::new(),
            elsewhere: program.elsewhere,
        };
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let probes = hardening::probes(program.health, port(self.mode));
        Ok(Container {
            name: "cloud-controller-manager".to_owned(),
            image: Some(image(self.spec, self.facts)?),
            command: some(words(program.command)),
            args: some([words(program.subcommand), flags.flags()?].concat()),
            ports: Some(vec![https_port(port(self.mode))]),
            liveness_probe: Some(probes.liveness),
            readiness_probe: Some(probes.readiness),
            startup_probe: Some(probes.startup),
            ..hardened(with_memory_limit(requests("50m", program.memory), program.memory_limit))
        })
    }

    fn mounted(&self, program: &Program) -> Vec<Mounted> {
        let mut all = Vec::new();
        if let Some(config) = &self.facts.config {
            let name = config_name(&self.names.base(), config);
            let mount = if super::config::is_inline(self.spec) {
                volumes::config_map_key
            } else {
                volumes::secret_key
            };
            all.push(mount("cloud-config", &name, CONFIG_FILE, CONFIG_FOLDER, CONFIG_FILE));
        }
        if let Some(secret) = &self.spec.credentials {
            all.extend(credentials(program.credentials, secret));
        }
        if let Some(ca) = &self.spec.trusted_ca {
            let key = ca.key.as_deref().unwrap_or(CA_BUNDLE);
            all.push(volumes::config_map_key("trusted-ca", &ca.name, key, TRUSTED_CA_FOLDER, CA_BUNDLE));
        }
        all
    }

    /// Variables: where the API server is, where credentials and certificates are, what the platform wants.
    pub(super) fn environment(&self, program: &Program) -> Result<Vec<EnvVar>, RenderError> {
        let mut all = api_server(self.spec.api_server.as_ref().or(self.facts.api_server.as_ref()))?;
        all.extend(program.variables.iter().map(|(name, value)| variable(name, *value)));
        if let Some(secret) = &self.spec.credentials {
            all.extend(credential_variables(program.credentials, self.names.namespace, secret));
        }
        if self.spec.trusted_ca.is_some() {
            // Both, for whoever is told one of them looks nowhere else.
            all.push(variable("SSL_CERT_FILE", SYSTEM_CA));
            all.push(variable("SSL_CERT_DIR", TRUSTED_CA_FOLDER));
        }
        Ok(all)
    }
}

/// What every pod of ours has.
pub(crate) fn base(
    container: Container,
    tolerations: Vec<k8s_openapi::api::core::v1::Toleration>,
) -> PodSpec {
    PodSpec {
        containers: vec![container],
        // The cluster's DNS may wait for the manager.
        dns_policy: Some("Default".to_owned()),
        enable_service_links: Some(false),
        // So may the cluster's network.
        host_network: Some(true),
        priority_class_name: Some("system-cluster-critical".to_owned()),
        security_context: Some(hardening::pod()),
        // Work under way gets two seconds and the Lease is released after it; the rest is for a cloud that is slow to answer.
        termination_grace_period_seconds: Some(30),
        tolerations: Some(tolerations),
        ..PodSpec::default()
    }
}

/// What every container of ours has.
pub(crate) fn hardened(resources: ResourceRequirements) -> Container {
    Container {
        image_pull_policy: Some("IfNotPresent".to_owned()),
        resources: Some(resources),
        security_context: Some(hardening::container()),
        termination_message_policy: Some("FallbackToLogsOnError".to_owned()),
        ..Container::default()
    }
}

pub(crate) fn https_port(port: i32) -> ContainerPort {
    ContainerPort {
        container_port: port,
        name: Some("https".to_owned()),
        protocol: Some("TCP".to_owned()),
        ..ContainerPort::default()
    }
}

/// The same with a limit on memory, if there is one. Processor time has none: a manager that is throttled loses its lease.
pub(crate) fn with_memory_limit(
    resources: ResourceRequirements,
    limit: Option<&str>,
) -> ResourceRequirements {
    let limits = limit.map(|limit| [("memory".to_owned(), Quantity(limit.to_owned()))].into());
    ResourceRequirements { limits, ..resources }
}

/// Requests without limits, for programs whose need of memory is not bounded.
pub(crate) fn requests(cpu: &str, memory: &str) -> ResourceRequirements {
    let both = [("cpu", cpu), ("memory", memory)];
    let requests = both.map(|(name, amount)| (name.to_owned(), Quantity(amount.to_owned())));
    ResourceRequirements { requests: Some(requests.into()), ..ResourceRequirements::default() }
}

fn credentials(place: Credentials, secret: &KeyOfObject) -> Option<Mounted> {
    match place {
        Credentials::File { folder, file, .. } => {
            let key = secret.key.as_deref().unwrap_or(file);
            Some(volumes::secret_key("credentials", &secret.name, key, folder, file))
        }
        Credentials::Folder(folder) => Some(volumes::secret("credentials", &secret.name, folder)),
        Credentials::Read { .. } | Credentials::InConfig => None,
    }
}

fn credential_variables(place: Credentials, namespace: &str, secret: &KeyOfObject) -> Vec<EnvVar> {
    match place {
        Credentials::File { folder, file, variable: Some(name) } => {
            vec![variable(name, format!("{folder}/{file}"))]
        }
        Credentials::Read { namespace: of_namespace, name } => {
            vec![variable(of_namespace, namespace), variable(name, secret.name.as_str())]
        }
        _ => Vec::new(),
    }
}

/// The address of the API server for who cannot use the one of its Service yet.
pub(super) fn api_server(place: Option<&String>) -> Result<Vec<EnvVar>, RenderError> {
    let Some(place) = place else { return Ok(Vec::new()) };
    let wrong = || RenderError::ApiServer { found: place.clone() };
    let (host, port) = place.rsplit_once(':').ok_or_else(wrong)?;
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let is_host = !host.is_empty() && (bare.is_some() || !host.contains([':', '/', '[', ']']));
    if !is_host || port.parse::<u16>().is_err() {
        return Err(wrong());
    }
    Ok(vec![
        variable("KUBERNETES_SERVICE_HOST", bare.unwrap_or(host)),
        variable("KUBERNETES_SERVICE_PORT", port),
    ])
}

/// The proxy that a resource names.
pub(super) fn proxy(spec: &CloudControllerManagerSpec) -> ProxySettings {
    let asked = spec.proxy.clone().unwrap_or_default();
    ProxySettings {
        http_proxy: asked.http.unwrap_or_default(),
        https_proxy: asked.https.unwrap_or_default(),
        no_proxy: asked.no.unwrap_or_default(),
    }
}

/// Nothing instead of an empty list.
pub(super) fn some<T>(all: Vec<T>) -> Option<Vec<T>> {
    Some(all).filter(|all| !all.is_empty())
}
