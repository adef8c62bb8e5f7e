//! What a person asks for.

#![expect(unreachable_pub, reason = "what `KubeSchema` generates within functions is public, too")]

use std::collections::BTreeMap;

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::status::{CloudControllerManagerStatus, Phase};
use crate::platform::Platform;

/// A cloud-controller-manager of this cluster: installed, configured, migrated to, upgraded and removed as this object says.
#[derive(CustomResource, KubeSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[kube(
    group = "bowline.dev",
    version = "v1alpha1",
    kind = "CloudControllerManager",
    plural = "cloudcontrollermanagers",
    singular = "cloudcontrollermanager",
    shortname = "ccm",
    category = "cloud",
    status = "CloudControllerManagerStatus",
    derive = "PartialEq",
    printcolumn = r#"{"name":"Platform","type":"string","jsonPath":".status.platform"}"#,
    printcolumn = r#"{"name":"Phase","type":"string","jsonPath":".status.migration.phase"}"#,
    printcolumn = r#"{"name":"Progress","type":"string","jsonPath":".status.progress"}"#,
    printcolumn = r#"{"name":"Version","type":"string","jsonPath":".status.version"}"#,
    printcolumn = r#"{"name":"Ready","type":"string","jsonPath":".status.ready"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#,
    printcolumn = r#"{"name":"Message","type":"string","jsonPath":".status.message","priority":1}"#,
    validation = Rule::new("self.metadata.name.size() <= 40").message("the name of a CloudControllerManager has at most 40 characters: names of its objects are made of it")
)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[x_kube(
    validation = Rule::new("self.clusterName == oldSelf.clusterName").message("clusterName cannot be changed: the load balancers in the cloud are named by it. Make a new object for another name"),
    validation = Rule::new("self.platform == oldSelf.platform").message("platform cannot be changed: make a new object for another platform"),
    validation = Rule::new("!has(self.replicas) || self.form == 'Deployment'").message("replicas is for the form Deployment: a DaemonSet and static pods have one pod on each control-plane node"),
    validation = Rule::new("self.manager != 'Bowline' || self.platform == 'OpenStack'").message("manager Bowline is for the platform OpenStack; use Upstream for the others")
)]
pub struct CloudControllerManagerSpec {
    /// The cloud.
    pub platform: PlatformName,
    /// Whose cloud-controller-manager: Bowline, or the cloud's own (upstream).
    #[serde(default)]
    pub manager: Manager,
    /// The version to run; without one, the operator's own (Bowline) or the one that fits the API server (Upstream).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The image to run, in place of the one that belongs to the version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub image: Option<String>,
    /// The name of this cluster in the cloud. Load balancers are named by it, and it can never change.
    #[x_kube(validation = Rule::new("self.matches('^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$')").message("clusterName consists of letters, digits, '.', '_' and '-', and begins and ends with a letter or digit"))]
    #[schemars(length(min = 1, max = 100))]
    pub cluster_name: String,
    /// The cloud configuration (`cloud.conf`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cloud_config: Option<CloudConfig>,
    /// A Secret with credentials (`clouds.yaml` for OpenStack), in the manager's namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials: Option<KeyOfObject>,
    /// Where the manager runs.
    #[serde(default = "default_namespace")]
    #[schemars(length(min = 1, max = 63))]
    pub namespace: String,
    /// Where the Lease of the managers is: the one that the previous manager used, so that two never write.
    #[serde(default = "default_lease_namespace")]
    #[schemars(length(min = 1, max = 63))]
    pub lease_namespace: String,
    /// The name of that Lease.
    #[serde(default = "default_lease_name")]
    #[schemars(length(min = 1, max = 63))]
    pub lease_name: String,
    /// Which controllers run, as in `--controllers`.
    #[serde(default = "all_controllers")]
    pub controllers: Vec<String>,
    /// What it runs as.
    #[serde(default)]
    pub form: Form,
    /// How many pods; without a number, two where there are at least two control-plane nodes, else one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 5))]
    pub replicas: Option<i32>,
    /// More flags of the manager. Those that the operator sets itself are refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra_flags: Vec<String>,
    /// `--feature-gates`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub feature_gates: BTreeMap<String, bool>,
    /// The proxy between the manager and the cloud.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxy: Option<ProxySpec>,
    /// Certificates that are trusted besides those of the image: a key (`ca-bundle.crt` without one) of a ConfigMap in the
    /// manager's namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trusted_ca: Option<KeyOfObject>,
    /// `host:port` of the API server for pods that start before the network does; without it, what the cluster says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new("self.matches('^(\\\\[[0-9a-fA-F:]+\\\\]|[^:/]+):[0-9]+$')").message("apiServer is host:port, an IPv6 address in brackets"))]
    pub api_server: Option<String>,
    /// What the manager's own HTTPS server accepts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsSpec>,
    /// How the cluster is brought here from what it has.
    #[serde(default)]
    pub migration: MigrationSpec,
    /// What happens to LoadBalancer Services when this object is deleted.
    #[serde(default)]
    pub deletion_policy: DeletionPolicy,
    /// Whether objects that have the names of the operator's own (`bowline-ccm-NAME`) and were made by somebody else are taken
    /// over. Without it they are refused, and nothing is changed. The operator's own objects have the label `bowline.dev/managed-by`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub adopt: bool,
    /// Nothing is changed while this is true; the status is kept up to date.
    #[serde(default)]
    pub paused: bool,
}

pub(crate) fn default_namespace() -> String {
    "kube-system".to_owned()
}

fn default_lease_namespace() -> String {
    "kube-system".to_owned()
}

fn default_lease_name() -> String {
    "cloud-controller-manager".to_owned()
}

fn all_controllers() -> Vec<String> {
    vec!["*".to_owned()]
}

/// The clouds that there is a manager for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum PlatformName {
    /// Amazon Web Services.
    #[serde(rename = "AWS")]
    Aws,
    /// Microsoft Azure.
    Azure,
    /// Google Cloud.
    #[serde(rename = "GCP")]
    Gcp,
    /// IBM Cloud.
    #[serde(rename = "IBMCloud")]
    IbmCloud,
    /// Nutanix.
    Nutanix,
    /// OpenStack.
    OpenStack,
    /// IBM Power Virtual Server.
    #[serde(rename = "PowerVS")]
    PowerVs,
    /// VMware vSphere.
    VSphere,
}

impl From<PlatformName> for Platform {
    fn from(name: PlatformName) -> Self {
        match name {
            PlatformName::Aws => Self::Aws,
            PlatformName::Azure => Self::Azure,
            PlatformName::Gcp => Self::Gcp,
            PlatformName::IbmCloud => Self::IbmCloud,
            PlatformName::Nutanix => Self::Nutanix,
            PlatformName::OpenStack => Self::OpenStack,
            PlatformName::PowerVs => Self::PowerVs,
            PlatformName::VSphere => Self::VSphere,
        }
    }
}

/// Whose manager.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Manager {
    /// Ours.
    #[default]
    Bowline,
    /// The cloud's own.
    Upstream,
}

/// What the manager runs as.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Form {
    /// A Deployment on control-plane nodes.
    #[default]
    Deployment,
    /// A DaemonSet on control-plane nodes.
    DaemonSet,
    /// Static pods: rendered for a person to put on the control-plane nodes, and not applied.
    StaticPod,
}

/// Where the cloud configuration comes from: exactly one of these.
#[derive(KubeSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[x_kube(validation = Rule::new("[has(self.inline), has(self.configMap), has(self.secret)].filter(x, x).size() == 1").message("cloudConfig has exactly one of inline, configMap and secret"))]
pub struct CloudConfig {
    /// The text itself. Not for passwords: this object can be read by many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inline: Option<String>,
    /// A key (`cloud.conf` without one) of a ConfigMap in the manager's namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_map: Option<KeyOfObject>,
    /// A key (`cloud.conf` without one) of a Secret in the manager's namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<KeyOfObject>,
}

/// A key of a ConfigMap or a Secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KeyOfObject {
    /// The object's name.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// The key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// As the variables of the same names.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProxySpec {
    /// `HTTP_PROXY`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<String>,
    /// `HTTPS_PROXY`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub https: Option<String>,
    /// `NO_PROXY`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no: Option<String>,
}

/// As the flags of the same names.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TlsSpec {
    /// `--tls-min-version`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_version: Option<String>,
    /// `--tls-cipher-suites`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cipher_suites: Vec<String>,
}

/// How the cluster is brought here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MigrationSpec {
    /// Whether phases that change something wait for a person.
    #[serde(default)]
    pub approval: Approval,
    /// With `approval: Manual`, the phases that may be entered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approve: Vec<Phase>,
    /// Services (`namespace/name`) whose load balancers may be made, removed or get another address by the hand-over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accept: Vec<String>,
    /// The way back: as soon as this is true, the previous manager gets the cluster back.
    #[serde(default)]
    pub rollback: bool,
    /// For how many hours what was there before is kept after the migration.
    #[serde(default = "keep_hours")]
    #[schemars(range(min = 0, max = 8760))]
    pub keep_previous_hours: u32,
    /// How soon what stays as it is becomes `Blocked`.
    #[serde(default)]
    pub urgency: Urgency,
}

impl Default for MigrationSpec {
    /// As an object that says nothing of it.
    fn default() -> Self {
        Self {
            approval: Approval::default(),
            approve: Vec::new(),
            accept: Vec::new(),
            rollback: false,
            keep_previous_hours: keep_hours(),
            urgency: Urgency::default(),
        }
    }
}

const fn keep_hours() -> u32 {
    24
}

/// Who says that a phase may begin.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Approval {
    /// The operator, when its checks hold.
    #[default]
    Automatic,
    /// A person, by `migration.approve`.
    Manual,
}

/// How long phases may take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Urgency {
    /// Ten minutes for what the operator can do itself.
    #[default]
    Normal,
    /// As long as it takes.
    Patient,
}

/// What happens to LoadBalancer Services when the object is deleted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum DeletionPolicy {
    /// As long as there are any, nothing is removed.
    #[default]
    Refuse,
    /// Their load balancers stay in the cloud, and nobody looks after them.
    Orphan,
}
