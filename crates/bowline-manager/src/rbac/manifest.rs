//! Generates the manifests from the table: roles and bindings as YAML documents.

use bowline_cloud::shadow::DEFAULT_REPORT;
use serde_json::{Value, json};

use super::{Rights, Rule, SYSTEM_NAMESPACE, Scope, VIEWED_PATHS, VIEWER};

/// The name of the roles and bindings.
const NAME: &str = "bowline-cloud-controller-manager";

/// The name of the roles and bindings for shadow mode.
const SHADOW: &str = "bowline-shadow";

const GENERATED: &str =
    "# Generated from crates/bowline-manager/src/rbac/table.rs by `cargo xtask gen`. Do not edit.\n";

/// The manifest of a manager with the common controllers and a single identity for everything.
///
/// # Errors
///
/// If a document cannot be serialized as YAML.
pub fn manifest(namespace: &str, service_account: &str) -> Result<String, serde_saphyr::SerializeError> {
    Rights::common().manifest(namespace, service_account)
}

/// The manifest for `--use-service-account-credentials`, to be applied instead of [`manifest`]: the process itself can only watch, and each
/// controller's ServiceAccount has that controller's permissions.
///
/// # Errors
///
/// If a document cannot be serialized as YAML.
pub fn service_account_credentials_manifest(
    namespace: &str,
    service_account: &str,
) -> Result<String, serde_saphyr::SerializeError> {
    Rights::common().service_account_credentials_manifest(namespace, service_account)
}

/// The manifest of shadow mode: the read-only identity `shadow_account`, and the permission to write the report, for it and, with
/// `--adopt-only`, for the manager's own identity `service_account`.
///
/// # Errors
///
/// If a document cannot be serialized as YAML.
pub fn shadow_manifest(
    namespace: &str,
    shadow_account: &str,
    service_account: &str,
) -> Result<String, serde_saphyr::SerializeError> {
    Rights::common().shadow_manifest(namespace, shadow_account, service_account)
}

/// The manifest of the viewer: a ServiceAccount that may read the status pages and metrics of managers and nothing in the cluster. The
/// command line requests a token for it, so that no manager receives the user's own token.
///
/// # Errors
///
/// If a document cannot be serialized as YAML.
pub fn viewer_manifest(namespace: &str) -> Result<String, serde_saphyr::SerializeError> {
    let mut account = account(namespace, VIEWER);
    if let Some(fields) = account.as_object_mut() {
        // No pod uses this ServiceAccount.
        fields.insert("automountServiceAccountToken".to_owned(), json!(false));
    }
    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": metadata(VIEWER, None),
        "rules": [{"nonResourceURLs": VIEWED_PATHS, "verbs": ["get"]}]});
    let note = "# For people with the command line, in the namespace of the manager. Who shall use it needs, in that namespace, the right to create\n\
                # serviceaccounts/token of this account: docs/guides/command-line.md.\n";
    text(note, &[account, role, binding(None, VIEWER, &[(namespace, VIEWER)])])
}

impl Rights {
    /// As [`shadow_manifest`].
    ///
    /// # Errors
    ///
    /// If a document cannot be serialized as YAML.
    pub fn shadow_manifest(
        &self,
        namespace: &str,
        shadow_account: &str,
        service_account: &str,
    ) -> Result<String, serde_saphyr::SerializeError> {
        let mut documents = vec![account(namespace, shadow_account)];
        let rules = self.of_shadow();
        let in_system = format!("{SHADOW}-system");
        for (scope, place, name) in [
            (Scope::Cluster, None, SHADOW),
            (Scope::SystemNamespace, Some(SYSTEM_NAMESPACE), in_system.as_str()),
        ] {
            documents.push(role(place, name, &of_scope(&rules, scope)));
            documents.push(binding(place, name, &[(namespace, shadow_account)]));
        }
        let (place, name) = (Some(DEFAULT_REPORT.0), DEFAULT_REPORT.1);
        documents.push(role(place, name, &self.of_report()));
        documents.push(binding(place, name, &[(namespace, shadow_account), (namespace, service_account)]));
        let note = "# For --shadow, with an account that can change nothing, and for --adopt-only besides rbac.yaml.\n";
        text(note, &documents)
    }

    /// The ServiceAccount, roles and bindings of a single identity for everything.
    ///
    /// # Errors
    ///
    /// If a document cannot be serialized as YAML.
    pub fn manifest(
        &self,
        namespace: &str,
        service_account: &str,
    ) -> Result<String, serde_saphyr::SerializeError> {
        let documents = identity(namespace, service_account, &self.of_one_identity());
        text("", &documents)
    }

    /// The manifest for `--use-service-account-credentials`: roles of the same names with fewer permissions for the process, and a role for
    /// the ServiceAccount of each controller. These accounts are in `kube-system` with upstream's names. An identity that may request
    /// tokens for every ServiceAccount can do everything, so the process may only request tokens for these.
    ///
    /// # Errors
    ///
    /// If a document cannot be serialized as YAML.
    pub fn service_account_credentials_manifest(
        &self,
        namespace: &str,
        service_account: &str,
    ) -> Result<String, serde_saphyr::SerializeError> {
        let mut documents = identity(namespace, service_account, &self.of_process());
        for account in self.accounts() {
            let name = format!("{NAME}-{account}");
            documents.push(role(None, &name, &self.of_account(&account)));
            documents.push(binding(None, &name, &[(SYSTEM_NAMESPACE, &account)]));
        }
        let note = "# For --use-service-account-credentials, instead of rbac.yaml: it replaces the roles of that file.\n";
        text(note, &documents)
    }
}

/// A ServiceAccount with these permissions.
fn identity(namespace: &str, service_account: &str, rules: &[Rule]) -> Vec<Value> {
    let mut documents = vec![account(namespace, service_account)];
    let in_system = format!("{NAME}-system");
    for (scope, place, name) in [
        (Scope::Cluster, None, NAME),
        (Scope::LeaseNamespace, Some(namespace), NAME),
        (Scope::SystemNamespace, Some(SYSTEM_NAMESPACE), in_system.as_str()),
    ] {
        documents.push(role(place, name, &of_scope(rules, scope)));
        documents.push(binding(place, name, &[(namespace, service_account)]));
    }
    documents
}

fn account(namespace: &str, name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": namespace}})
}

fn of_scope(rules: &[Rule], scope: Scope) -> Vec<Rule> {
    rules.iter().filter(|rule| rule.scope == scope).cloned().collect()
}

fn text(note: &str, documents: &[Value]) -> Result<String, serde_saphyr::SerializeError> {
    let mut text = format!("{GENERATED}{note}");
    for document in documents {
        text.push_str("---\n");
        text.push_str(&serde_saphyr::to_string(document)?);
    }
    Ok(text)
}

fn role(namespace: Option<&str>, name: &str, rules: &[Rule]) -> Value {
    let kind = if namespace.is_some() { "Role" } else { "ClusterRole" };
    let rules: Vec<Value> = rules.iter().map(policy_rule).collect();
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

/// Binds the role of this name to ServiceAccounts, given by namespace and name.
fn binding(namespace: Option<&str>, name: &str, accounts: &[(&str, &str)]) -> Value {
    let subject = |(namespace, name): &(&str, &str)| json!({"kind": "ServiceAccount", "name": name, "namespace": namespace});
    let subjects: Vec<Value> = accounts.iter().map(subject).collect();
    let (kind, role) = match namespace {
        Some(_) => ("RoleBinding", "Role"),
        None => ("ClusterRoleBinding", "ClusterRole"),
    };
    json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": metadata(name, namespace),
           "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": role, "name": name},
           "subjects": subjects})
}

fn metadata(name: &str, namespace: Option<&str>) -> Value {
    match namespace {
        Some(namespace) => json!({"name": name, "namespace": namespace}),
        None => json!({"name": name}),
    }
}
