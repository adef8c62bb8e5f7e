//! Which object: kind, namespace and name. The kinds that can be applied are a table: what is not in it is refused, so that
//! nothing is ever applied that could not be watched and removed again.

use std::fmt;

use kube::core::ApiResource;
use serde::{Deserialize, Serialize};

/// A kind that can be applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    /// Group and version as objects write them.
    pub api_version: &'static str,
    /// The name of the kind.
    pub kind: &'static str,
    /// Its name in paths.
    pub plural: &'static str,
    /// Whether its objects are in a namespace.
    pub is_namespaced: bool,
    /// Whether a cluster may be without it.
    pub is_optional: bool,
}

const fn kind(
    api_version: &'static str,
    kind: &'static str,
    plural: &'static str,
    is_namespaced: bool,
) -> Kind {
    Kind { api_version, kind, plural, is_namespaced, is_optional: false }
}

/// All of them.
pub const KINDS: [Kind; 15] = [
    kind("v1", "Namespace", "namespaces", false),
    kind("v1", "ServiceAccount", "serviceaccounts", true),
    kind("v1", "ConfigMap", "configmaps", true),
    kind("v1", "Secret", "secrets", true),
    kind("v1", "Service", "services", true),
    kind("rbac.authorization.k8s.io/v1", "Role", "roles", true),
    kind("rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings", true),
    kind("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", false),
    kind("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "clusterrolebindings", false),
    kind("apps/v1", "Deployment", "deployments", true),
    kind("apps/v1", "DaemonSet", "daemonsets", true),
    kind("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets", true),
    kind(
        "admissionregistration.k8s.io/v1",
        "ValidatingAdmissionPolicy",
        "validatingadmissionpolicies",
        false,
    ),
    kind(
        "admissionregistration.k8s.io/v1",
        "ValidatingAdmissionPolicyBinding",
        "validatingadmissionpolicybindings",
        false,
    ),
    Kind {
        api_version: "monitoring.coreos.com/v1",
        kind: "ServiceMonitor",
        plural: "servicemonitors",
        is_namespaced: true,
        is_optional: true,
    },
];

/// A kind that is not in the table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unhandled type {kind} of {api_version}: objects of this kind are not applied")]
pub struct UnknownKind {
    /// Group and version.
    pub api_version: String,
    /// The kind.
    pub kind: String,
}

/// The row of a kind.
///
/// # Errors
///
/// If there is none.
pub fn kind_of(api_version: &str, kind: &str) -> Result<&'static Kind, UnknownKind> {
    let mut all = KINDS.iter();
    all.find(|row| row.api_version == api_version && row.kind == kind)
        .ok_or_else(|| UnknownKind { api_version: api_version.to_owned(), kind: kind.to_owned() })
}

impl Kind {
    /// What a client needs to know of it.
    #[must_use]
    pub fn resource(&self) -> ApiResource {
        let (group, version) = self.api_version.split_once('/').unwrap_or(("", self.api_version));
        ApiResource {
            group: group.to_owned(),
            version: version.to_owned(),
            api_version: self.api_version.to_owned(),
            kind: self.kind.to_owned(),
            plural: self.plural.to_owned(),
        }
    }
}

/// One object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectId {
    /// Group and version.
    pub api_version: String,
    /// The kind.
    pub kind: String,
    /// The namespace, if the kind has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The name.
    pub name: String,
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{} {namespace}/{}", self.kind, self.name),
            None => write!(f, "{} {}", self.kind, self.name),
        }
    }
}
