//! The rights the manager needs, as one table: the shipped manifest and the documentation are generated from it.
//!
//! A test on a real API server runs the manager under exactly these rights.

use serde_json::{Value, json};

/// One right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// Where it applies.
    pub scope: Scope,
    /// The API group; empty for the core.
    pub group: &'static str,
    /// The resource.
    pub resource: &'static str,
    /// Only objects of these names; empty for all.
    pub names: &'static [&'static str],
    /// The verbs.
    pub verbs: &'static [&'static str],
    /// What for.
    pub why: &'static str,
}

/// Where a right applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Everywhere.
    Cluster,
    /// In the namespace of the Lease.
    LeaseNamespace,
    /// In `kube-system`, where the controllers' ServiceAccounts are.
    ServiceAccounts,
}

/// Every right, and what it is for.
pub const RULES: &[Rule] = &[
    Rule {
        scope: Scope::Cluster,
        group: "",
        resource: "nodes",
        names: &[],
        verbs: &["list", "watch", "patch", "delete"],
        why: "see Nodes; initialise, label, taint them and give them pod ranges; delete those whose machine is gone",
    },
    Rule {
        scope: Scope::Cluster,
        group: "",
        resource: "nodes/status",
        names: &[],
        verbs: &["patch"],
        why: "write the addresses of Nodes, and whether their network is reachable",
    },
    Rule {
        scope: Scope::Cluster,
        group: "",
        resource: "services",
        names: &[],
        verbs: &["list", "watch"],
        why: "see Services",
    },
    Rule {
        scope: Scope::Cluster,
        group: "",
        resource: "services/status",
        names: &[],
        verbs: &["patch"],
        why: "write the addresses of load balancers, and the finalizer that keeps a Service until its load balancer is gone",
    },
    Rule {
        scope: Scope::Cluster,
        group: "",
        resource: "events",
        names: &[],
        verbs: &["create", "patch"],
        why: "tell people what happens",
    },
    Rule {
        scope: Scope::Cluster,
        group: "authentication.k8s.io",
        resource: "tokenreviews",
        names: &[],
        verbs: &["create"],
        why: "ask who a caller of the serving port is",
    },
    Rule {
        scope: Scope::Cluster,
        group: "authorization.k8s.io",
        resource: "subjectaccessreviews",
        names: &[],
        verbs: &["create"],
        why: "ask what a caller of the serving port may",
    },
    Rule {
        scope: Scope::LeaseNamespace,
        group: "coordination.k8s.io",
        resource: "leases",
        names: &[],
        verbs: &["create"],
        why: "make the Lease (a create cannot be limited to a name)",
    },
    Rule {
        scope: Scope::LeaseNamespace,
        group: "coordination.k8s.io",
        resource: "leases",
        names: &["cloud-controller-manager", "cloud-provider-extraction-migration"],
        verbs: &["get", "update", "list", "watch"],
        why: "leader election and migration; list and watch let a standby take over at once when a leader leaves",
    },
];

/// What the process needs besides with `--use-service-account-credentials`, in `kube-system` alone: who may ask for the
/// tokens of every ServiceAccount may do everything. The controllers' own rights are those that the API server gives to
/// their ServiceAccounts (`system:controller:node-controller` and so on).
pub const SERVICE_ACCOUNT_CREDENTIALS: &[Rule] = &[
    Rule {
        scope: Scope::ServiceAccounts,
        group: "",
        resource: "serviceaccounts",
        names: &[],
        verbs: &["get", "create"],
        why: "find or make the ServiceAccount of each controller",
    },
    Rule {
        scope: Scope::ServiceAccounts,
        group: "",
        resource: "serviceaccounts/token",
        names: &["node-controller", "service-controller", "route-controller"],
        verbs: &["create"],
        why: "ask for their tokens",
    },
];

/// The name of the roles and bindings.
const NAME: &str = "bowline-cloud-controller-manager";

/// The manifest: ServiceAccount, roles and bindings, as YAML documents.
///
/// # Errors
///
/// If a document cannot be written as YAML.
pub fn manifest(namespace: &str, service_account: &str) -> Result<String, serde_saphyr::SerializeError> {
    let subject = subject(namespace, service_account);
    documents(&[
        json!({"apiVersion": "v1", "kind": "ServiceAccount",
               "metadata": {"name": service_account, "namespace": namespace}}),
        role("ClusterRole", None, NAME, RULES, Scope::Cluster),
        binding("ClusterRoleBinding", None, NAME, ("ClusterRole", NAME), &subject),
        role("Role", Some(namespace), NAME, RULES, Scope::LeaseNamespace),
        binding("RoleBinding", Some(namespace), NAME, ("Role", NAME), &subject),
        // The authorities for client certificates on the serving port.
        binding(
            "RoleBinding",
            Some("kube-system"),
            &format!("{NAME}-authentication-reader"),
            ("Role", "extension-apiserver-authentication-reader"),
            &subject,
        ),
    ])
}

/// What to apply besides for `--use-service-account-credentials`.
///
/// # Errors
///
/// If a document cannot be written as YAML.
pub fn service_account_credentials_manifest(
    namespace: &str,
    service_account: &str,
) -> Result<String, serde_saphyr::SerializeError> {
    let name = format!("{NAME}-service-accounts");
    let subject = subject(namespace, service_account);
    documents(&[
        role("Role", Some("kube-system"), &name, SERVICE_ACCOUNT_CREDENTIALS, Scope::ServiceAccounts),
        binding("RoleBinding", Some("kube-system"), &name, ("Role", &name), &subject),
    ])
}

fn subject(namespace: &str, service_account: &str) -> Value {
    json!([{"kind": "ServiceAccount", "name": service_account, "namespace": namespace}])
}

fn documents(documents: &[Value]) -> Result<String, serde_saphyr::SerializeError> {
    let mut text = String::from(
        "# Generated from crates/bowline-manager/src/rbac.rs by `cargo xtask gen`. Do not edit.\n",
    );
    for document in documents {
        text.push_str("---\n");
        text.push_str(&serde_saphyr::to_string(document)?);
    }
    Ok(text)
}

fn role(kind: &str, namespace: Option<&str>, name: &str, rules: &[Rule], scope: Scope) -> Value {
    let rules: Vec<Value> = rules.iter().filter(|rule| rule.scope == scope).map(policy_rule).collect();
    json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": metadata(name, namespace),
           "rules": rules})
}

fn policy_rule(rule: &Rule) -> Value {
    let mut policy = json!({"apiGroups": [rule.group], "resources": [rule.resource], "verbs": rule.verbs});
    if let (Some(policy), false) = (policy.as_object_mut(), rule.names.is_empty()) {
        policy.insert("resourceNames".to_owned(), json!(rule.names));
    }
    policy
}

fn binding(kind: &str, namespace: Option<&str>, name: &str, role: (&str, &str), subjects: &Value) -> Value {
    json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": metadata(name, namespace),
           "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": role.0, "name": role.1}, "subjects": subjects})
}

fn metadata(name: &str, namespace: Option<&str>) -> Value {
    match namespace {
        Some(namespace) => json!({"name": name, "namespace": namespace}),
        None => json!({"name": name}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_granted_that_is_commonly_over_granted() {
        for rule in RULES.iter().chain(SERVICE_ACCOUNT_CREDENTIALS) {
            assert!(!rule.verbs.contains(&"*") && rule.resource != "*" && rule.group != "*", "{rule:?}");
            assert!(
                !["secrets", "configmaps", "endpoints", "persistentvolumes"].contains(&rule.resource),
                "{rule:?}"
            );
            assert!(!rule.why.is_empty());
        }
    }

    #[test]
    fn the_manifest_is_six_documents_that_hold_every_rule() {
        let text = manifest("kube-system", "ccm").unwrap();
        let documents: Vec<Value> =
            text.split("---\n").skip(1).map(|document| serde_saphyr::from_str(document).unwrap()).collect();
        assert_eq!(documents.len(), 6);
        let granted: usize =
            documents.iter().filter_map(|document| document["rules"].as_array()).map(Vec::len).sum();
        assert_eq!(granted, RULES.len());
        assert_eq!(documents[1]["rules"][0]["verbs"], json!(["list", "watch", "patch", "delete"]));
    }
}
