//! The pod that managers of all platforms on OpenShift have in common.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec, DeploymentStrategy};
use k8s_openapi::api::core::v1::{
    Affinity, Container, EnvVar, PodSpec, PodTemplateSpec, Probe, Toleration, Volume, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};

use super::OpenShiftInputs;
use super::script;
use crate::feature_gates::operand_gates;
use crate::platform::Platform;
use crate::render::error::RenderError;
use crate::render::flags::PORT;
use crate::render::object::Object;
use crate::render::placement::{before_the_network, on_lost_nodes, on_masters, one_per_node};
use crate::render::pod::{https_port, requests};

/// The label that names the platform of a manager.
pub(super) const MANAGER_LABEL: &str = "infrastructure.openshift.io/cloud-controller-manager";
/// The ServiceAccount of managers.
pub(super) const ACCOUNT: &str = "cloud-controller-manager";
/// The ConfigMap with the cloud configuration.
pub(super) const CLOUD_CONF: &str = "cloud-conf";

/// What is made for.
pub(super) struct Cluster<'a> {
    pub(super) inputs: &'a OpenShiftInputs<'a>,
    pub(super) platform: &'a Platform,
}

/// A platform's manager.
pub(super) struct Operand {
    /// The name of the Deployment, also a label.
    pub(super) name: &'static str,
    /// The program in the image.
    pub(super) program: &'static str,
    /// What stands before each flag.
    pub(super) indent: &'static str,
    /// The flags before those of TLS.
    pub(super) flags: Vec<String>,
    /// The flags after them.
    pub(super) last_flags: Vec<&'static str>,
    pub(super) env: Vec<EnvVar>,
    pub(super) mounts: Vec<VolumeMount>,
    pub(super) volumes: Vec<Volume>,
    pub(super) init_containers: Vec<Container>,
    pub(super) cpu: &'static str,
    pub(super) memory: &'static str,
    pub(super) liveness: Option<Probe>,
    pub(super) grace: Option<i64>,
    pub(super) tolerations: Vec<Toleration>,
    /// Whether the account is in the field that is called so no longer.
    pub(super) old_account_field: bool,
}

impl Operand {
    /// One with the habits of most.
    pub(super) fn new(name: &'static str, program: &'static str) -> Self {
        Self {
            name,
            program,
            indent: "  ",
            flags: Vec::new(),
            last_flags: vec!["--secure-port=0"],
            env: Vec::new(),
            mounts: Vec::new(),
            volumes: Vec::new(),
            init_containers: Vec::new(),
            cpu: "200m",
            memory: "50Mi",
            liveness: None,
            grace: None,
            tolerations: usual_tolerations(),
            old_account_field: false,
        }
    }
}

fn usual_tolerations() -> Vec<Toleration> {
    let mut all = vec![on_masters()];
    all.extend(on_lost_nodes());
    all.extend(before_the_network());
    all
}

impl Cluster<'_> {
    /// The name of the platform's provider in messages.
    pub(super) fn provider(&self) -> String {
        self.platform.name()
    }

    /// The cluster's name in the cloud.
    pub(super) fn infrastructure_name(&self) -> Result<&str, RenderError> {
        let name = self.inputs.infrastructure.status.infrastructure_name.as_str();
        let missing = RenderError::MissingValue { provider: self.provider(), field: "infrastructureName" };
        Some(name).filter(|name| !name.is_empty()).ok_or(missing)
    }

    /// The gates of the cluster that managers know, in the form of the flag.
    pub(super) fn feature_gates(&self) -> String {
        format!("--feature-gates={}", operand_gates(self.inputs.gates))
    }

    /// The flags of the election, the same for all.
    pub(super) fn election(&self) -> Vec<String> {
        vec![
            "--leader-elect=true".to_owned(),
            "--leader-elect-lease-duration=137s".to_owned(),
            "--leader-elect-renew-deadline=107s".to_owned(),
            "--leader-elect-retry-period=26s".to_owned(),
            format!("--leader-elect-resource-namespace={}", self.inputs.namespace),
        ]
    }

    /// Flags where `ELECTION` stands for those of the election.
    pub(super) fn flags(&self, words: &[&str]) -> Vec<String> {
        let expand = |word: &&str| match *word {
            ELECTION => self.election(),
            word => vec![word.to_owned()],
        };
        words.iter().flat_map(expand).collect()
    }

    /// The Deployment of a manager.
    pub(super) fn deployment(&self, operand: Operand) -> Result<Object, RenderError> {
        let image = self.inputs.images.manager(self.platform)?.to_owned();
        let labels = labels(operand.name, MANAGER_LABEL, self.platform);
        let replicas = if self.inputs.infrastructure.is_single_replica() { 1 } else { 2 };
        let metadata = ObjectMeta {
            name: Some(operand.name.to_owned()),
            namespace: Some(self.inputs.namespace.to_owned()),
            labels: Some(labels.clone()),
            ..ObjectMeta::default()
        };
        let pod = self.inputs.proxy.applied_to(&self.pod(operand, image, &labels));
        let deployment = Deployment {
            metadata,
            spec: Some(DeploymentSpec {
                replicas: Some(replicas),
                selector: LabelSelector { match_labels: Some(labels.clone()), match_expressions: None },
                // The host's port is taken as long as the old pod is there.
                strategy: Some(DeploymentStrategy {
                    type_: Some("Recreate".to_owned()),
                    rolling_update: None,
                }),
                template: template(&labels, BTreeMap::new(), pod),
                ..DeploymentSpec::default()
            }),
            status: None,
        };
        Ok(Object::namespaced(&deployment)?)
    }

    fn pod(&self, operand: Operand, image: String, labels: &BTreeMap<String, String>) -> PodSpec {
        let account = Some(ACCOUNT.to_owned());
        let (account, old_account) =
            if operand.old_account_field { (None, account) } else { (account, None) };
        PodSpec {
            affinity: Some(Affinity { pod_anti_affinity: Some(one_per_node(labels)), ..Affinity::default() }),
            host_network: Some(true),
            init_containers: Some(operand.init_containers.clone()).filter(|all| !all.is_empty()),
            node_selector: Some([("node-role.kubernetes.io/master".to_owned(), String::new())].into()),
            priority_class_name: Some("system-cluster-critical".to_owned()),
            service_account: old_account,
            service_account_name: account,
            termination_grace_period_seconds: operand.grace,
            tolerations: Some(operand.tolerations.clone()),
            volumes: Some(operand.volumes.clone()),
            containers: vec![self.container(operand, image)],
            ..PodSpec::default()
        }
    }

    fn container(&self, operand: Operand, image: String) -> Container {
        let mut flags = operand.flags;
        // Suites before the version, as ever.
        flags.extend(self.inputs.tls.operand_flags().into_iter().rev());
        flags.extend(operand.last_flags.iter().map(|flag| (*flag).to_owned()));
        Container {
            name: "cloud-controller-manager".to_owned(),
            image: Some(image),
            image_pull_policy: Some("IfNotPresent".to_owned()),
            command: Some(script::command(script::start(operand.program, operand.indent, &flags))),
            env: Some(operand.env).filter(|all| !all.is_empty()),
            liveness_probe: operand.liveness,
            ports: Some(vec![https_port(PORT)]),
            resources: Some(requests(operand.cpu, operand.memory)),
            termination_message_policy: Some("FallbackToLogsOnError".to_owned()),
            volume_mounts: Some(operand.mounts),
            ..Container::default()
        }
    }
}

/// Stands for the flags of the election in a list of flags.
pub(super) const ELECTION: &str = "ELECTION";

/// The labels that object, selector and pods share.
pub(super) fn labels(name: &str, kind: &str, platform: &Platform) -> BTreeMap<String, String> {
    let both = [("k8s-app", name), (kind, platform.openshift_name())];
    both.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

/// A pod template with the annotation that lets management workloads have processors of their own.
pub(super) fn template(
    labels: &BTreeMap<String, String>,
    mut annotations: BTreeMap<String, String>,
    pod: PodSpec,
) -> PodTemplateSpec {
    annotations.insert(
        "target.workload.openshift.io/management".to_owned(),
        r#"{"effect": "PreferredDuringScheduling"}"#.to_owned(),
    );
    let metadata =
        ObjectMeta { labels: Some(labels.clone()), annotations: Some(annotations), ..ObjectMeta::default() };
    PodTemplateSpec { metadata: Some(metadata), spec: Some(pod) }
}
