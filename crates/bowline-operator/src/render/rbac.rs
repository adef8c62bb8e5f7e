//! The rights of what runs. Bowline's come from the table that the manager itself is tested with.

use bowline_manager::rbac::{Part as RightsPart, Rights, Rule, SYSTEM_NAMESPACE, Scope};
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::rbac::v1::{
    ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef, Subject,
};

use super::error::RenderError;
use super::mode::ManagerMode;
use super::names::Names;
use super::object::Object;
use crate::api::{CloudControllerManagerSpec, Manager, PlatformName};

const GROUP: &str = "rbac.authorization.k8s.io";
/// The name of the Lease in the manager's table.
const DEFAULT_LEASE: &str = "cloud-controller-manager";
/// Who a static pod is: it has no ServiceAccount.
pub const STATIC_USER: &str = "system:cloud-controller-manager";

/// Rights in the three places where a manager has some.
#[derive(Debug, Default)]
pub(super) struct Grants {
    pub(super) cluster: Vec<PolicyRule>,
    pub(super) lease_namespace: Vec<PolicyRule>,
    pub(super) system_namespace: Vec<PolicyRule>,
    pub(super) own_namespace: Vec<PolicyRule>,
}

/// A rule on one group.
pub(super) fn rule(group: &str, resources: &[&str], names: &[&str], verbs: &[&str]) -> PolicyRule {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    PolicyRule {
        api_groups: Some(vec![group.to_owned()]),
        resources: Some(words(resources)),
        resource_names: Some(words(names)).filter(|names| !names.is_empty()),
        verbs: words(verbs),
        non_resource_urls: None,
    }
}

/// The rights of the manager that a resource asks for.
pub(super) fn manager(spec: &CloudControllerManagerSpec, mode: ManagerMode, report: &str) -> Grants {
    let mut grants = match spec.manager {
        Manager::Bowline => bowline(&spec.lease_name, &Rights::common().of_one_identity()),
        Manager::Upstream => upstream(spec),
    };
    if spec.manager == Manager::Bowline && mode == ManagerMode::ServiceOnly {
        grants.own_namespace.push(reports(report));
    }
    grants
}

/// The rights of a manager in shadow mode: to look, to know who asks it, and to write its report. It could not change a
/// Service or a Node if it tried.
pub(super) fn shadow(spec: &CloudControllerManagerSpec, report: &str) -> Grants {
    use RightsPart::{Authentication, Authorities, Authorization, Cluster, Informers};
    let all = Rights::common();
    let looks = |rule: &&Rule| {
        matches!(rule.part, Informers | Cluster | Authentication | Authorities | Authorization)
    };
    let rights: Vec<Rule> = all.rules().iter().filter(looks).cloned().collect();
    let mut grants = bowline(&spec.lease_name, &rights);
    grants.own_namespace.push(reports(report));
    grants
}

/// The right to report: by server-side apply, which may create what it names.
fn reports(report: &str) -> PolicyRule {
    rule("", &["configmaps"], &[report], &["create", "patch"])
}

fn bowline(lease: &str, rights: &[Rule]) -> Grants {
    let mut grants = Grants::default();
    for right in rights {
        // The Lease, and the ledger beside it.
        let renamed = |name: &String| match name.strip_prefix(DEFAULT_LEASE) {
            Some(rest) => format!("{lease}{rest}"),
            None => name.clone(),
        };
        let names: Vec<String> = right.names.iter().map(renamed).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let granted = rule(right.group, &[right.resource], &names, &right.verbs);
        match right.scope {
            Scope::Cluster => grants.cluster.push(granted),
            Scope::SystemNamespace => grants.system_namespace.push(granted),
            _of_the_lease => grants.lease_namespace.push(granted),
        }
    }
    grants
}

/// The rights of the cloud's own managers, which share a library: what its controllers write, and no more than that.
fn upstream(spec: &CloudControllerManagerSpec) -> Grants {
    let leases = "coordination.k8s.io";
    let mut cluster = vec![
        rule("", &["nodes"], &[], &["get", "list", "watch", "patch", "update", "delete"]),
        rule("", &["nodes/status"], &[], &["patch", "update"]),
        rule("", &["services"], &[], &["get", "list", "watch", "patch", "update"]),
        rule("", &["services/status"], &[], &["patch", "update"]),
        rule("", &["events"], &[], &["create", "patch", "update"]),
        rule("authentication.k8s.io", &["tokenreviews"], &[], &["create"]),
        rule("authorization.k8s.io", &["subjectaccessreviews"], &[], &["create"]),
    ];
    if spec.platform == PlatformName::Azure {
        cluster.push(rule("discovery.k8s.io", &["endpointslices"], &[], &["get", "list", "watch"]));
    }
    let authentication = ["extension-apiserver-authentication"];
    Grants {
        cluster,
        lease_namespace: vec![
            rule(leases, &["leases"], &[], &["create"]),
            rule(leases, &["leases"], &[&spec.lease_name], &["get", "list", "watch", "update", "patch"]),
        ],
        system_namespace: vec![rule("", &["configmaps"], &authentication, &["get", "list", "watch"])],
        own_namespace: reads_objects(spec),
    }
}

/// Some managers read their credentials and certificates from the API: the Secret that the resource names, and no other.
fn reads_objects(spec: &CloudControllerManagerSpec) -> Vec<PolicyRule> {
    let read = ["get", "list", "watch"];
    let secret = spec.credentials.iter().map(|secret| rule("", &["secrets"], &[&secret.name], &read));
    match spec.platform {
        PlatformName::VSphere => secret.collect(),
        PlatformName::Nutanix => secret.chain([rule("", &["configmaps"], &[], &read)]).collect(),
        _ => Vec::new(),
    }
}

/// What Azure's agent of each node needs.
pub(super) fn node_manager() -> Grants {
    Grants {
        cluster: vec![
            rule("", &["nodes"], &[], &["get", "list", "watch", "patch", "update"]),
            rule("", &["nodes/status"], &[], &["patch"]),
        ],
        ..Grants::default()
    }
}

/// Who gets rights.
pub(super) fn subjects(names: &Names<'_>, is_static: bool) -> Vec<Subject> {
    let account = Subject {
        kind: "ServiceAccount".to_owned(),
        name: names.workload(),
        namespace: Some(names.namespace.to_owned()),
        api_group: None,
    };
    let user = Subject {
        kind: "User".to_owned(),
        name: STATIC_USER.to_owned(),
        namespace: None,
        api_group: Some(GROUP.to_owned()),
    };
    if is_static { vec![user] } else { vec![account] }
}

/// A ServiceAccount.
pub(super) fn account(names: &Names<'_>) -> Result<Object, RenderError> {
    let account = ServiceAccount { metadata: names.metadata(names.workload()), ..ServiceAccount::default() };
    Ok(Object::namespaced(&account)?)
}

/// Roles and bindings of the rights. Roles in one namespace have names that differ by what they are for.
pub(super) fn objects(
    names: &Names<'_>,
    lease_namespace: &str,
    grants: Grants,
    subjects: &[Subject],
) -> Result<Vec<Object>, RenderError> {
    let mut all = Vec::new();
    if !grants.cluster.is_empty() {
        all.extend(everywhere(names, grants.cluster, subjects)?);
    }
    let places = [
        (lease_namespace, names.role(), grants.lease_namespace),
        (SYSTEM_NAMESPACE, format!("{}:system", names.role()), grants.system_namespace),
        (names.namespace, format!("{}:own", names.role()), grants.own_namespace),
    ];
    for (namespace, name, rules) in places {
        if !rules.is_empty() {
            all.extend(within(names, namespace, &name, rules, subjects)?);
        }
    }
    Ok(all)
}

fn everywhere(
    names: &Names<'_>,
    rules: Vec<PolicyRule>,
    subjects: &[Subject],
) -> Result<[Object; 2], RenderError> {
    let metadata = names.cluster_metadata(names.role());
    let role = ClusterRole { metadata: metadata.clone(), rules: Some(rules), aggregation_rule: None };
    let role_ref = role_ref("ClusterRole", &names.role());
    let binding = ClusterRoleBinding { metadata, role_ref, subjects: Some(subjects.to_vec()) };
    Ok([Object::cluster(&role)?, Object::cluster(&binding)?])
}

fn within(
    names: &Names<'_>,
    namespace: &str,
    name: &str,
    rules: Vec<PolicyRule>,
    subjects: &[Subject],
) -> Result<[Object; 2], RenderError> {
    let metadata = names.metadata_in(namespace, name);
    let role = Role { metadata: metadata.clone(), rules: Some(rules) };
    let binding =
        RoleBinding { metadata, role_ref: role_ref("Role", name), subjects: Some(subjects.to_vec()) };
    Ok([Object::namespaced(&role)?, Object::namespaced(&binding)?])
}

/// A reference to a role.
pub(super) fn role_ref(kind: &str, name: &str) -> RoleRef {
    RoleRef { api_group: GROUP.to_owned(), kind: kind.to_owned(), name: name.to_owned() }
}
