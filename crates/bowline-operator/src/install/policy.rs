//! The admission policy that fences the operator's own account. Whatever the operator is made to do, by a resource or by a defect of
//! ours, the API server lets it write its own objects only, run pods as its own accounts only, and give rights to these only.

use k8s_openapi::api::admissionregistration::v1::{
    MatchCondition, MatchResources, NamedRuleWithOperations, ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding, ValidatingAdmissionPolicyBindingSpec, ValidatingAdmissionPolicySpec,
    Validation, Variable,
};

use super::{Installation, NAME, NAMESPACE, OPENSHIFT_CONFIG, metadata};
use crate::api::OWNER_LABEL;
use crate::migration::ManagerWorkload;
use crate::openshift;
use crate::render::{MANAGED_NAMESPACE, Object, ObjectError, PREFIX, STATIC_USER};

/// What the operator writes with names that are somebody's choice. Nodes and its own resource are no objects of that kind.
const RESOURCES: [&str; 13] = [
    "clusterrolebindings",
    "clusterroles",
    "configmaps",
    "daemonsets",
    "deployments",
    "leases",
    "poddisruptionbudgets",
    "rolebindings",
    "roles",
    "secrets",
    "serviceaccounts",
    "servicemonitors",
    "services",
];
const GROUPS: [&str; 6] =
    ["", "apps", "coordination.k8s.io", "monitoring.coreos.com", "policy", "rbac.authorization.k8s.io"];

/// The policy and its binding.
pub(super) fn objects(installation: &Installation) -> Result<[Object; 2], ObjectError> {
    let policy = ValidatingAdmissionPolicy {
        metadata: metadata(None),
        spec: Some(spec(installation.openshift)),
        status: None,
    };
    let binding = ValidatingAdmissionPolicyBinding {
        metadata: metadata(None),
        spec: Some(ValidatingAdmissionPolicyBindingSpec {
            policy_name: Some(NAME.to_owned()),
            validation_actions: Some(vec!["Deny".to_owned()]),
            ..ValidatingAdmissionPolicyBindingSpec::default()
        }),
    };
    Ok([Object::cluster(&policy)?, Object::cluster(&binding)?])
}

fn spec(is_openshift: bool) -> ValidatingAdmissionPolicySpec {
    let words = |words: &[&str]| Some(words.iter().map(|word| (*word).to_owned()).collect());
    let rule = NamedRuleWithOperations {
        api_groups: words(&GROUPS),
        api_versions: words(&["*"]),
        operations: words(&["CREATE", "UPDATE", "DELETE"]),
        resources: words(&RESOURCES),
        ..NamedRuleWithOperations::default()
    };
    let account = format!("system:serviceaccount:{NAMESPACE}:{NAME}");
    ValidatingAdmissionPolicySpec {
        failure_policy: Some("Fail".to_owned()),
        match_conditions: Some(vec![MatchCondition {
            name: "the-operator-only".to_owned(),
            expression: format!("request.userInfo.username == '{account}'"),
        }]),
        match_constraints: Some(MatchResources {
            resource_rules: Some(vec![rule]),
            ..MatchResources::default()
        }),
        variables: Some(
            variables(is_openshift)
                .into_iter()
                .map(|(name, expression)| Variable { name: name.to_owned(), expression })
                .collect(),
        ),
        validations: Some(
            validations()
                .into_iter()
                .map(|(expression, message)| Validation {
                    expression: format!("variables.openshift || variables.election || ({expression})"),
                    message: Some(format!("{NAME} {message}")),
                    ..Validation::default()
                })
                .collect(),
        ),
        ..ValidatingAdmissionPolicySpec::default()
    }
}

/// What the rules speak of. A variable is worked out when a rule first needs it.
fn variables(is_openshift: bool) -> Vec<(&'static str, String)> {
    let labels = |object: &str| format!("{object} == null ? {{}} : {object}.metadata.?labels.orValue({{}})");
    let [_, managed] = OPENSHIFT_CONFIG;
    // OpenShift's names are the release's, and no resource chooses any of them.
    let openshift = if is_openshift {
        format!(
            "request.namespace in ['{MANAGED_NAMESPACE}', '{managed}'] || variables.owner == '{owner}' || (variables.owner == '' && variables.owned_by == '{owner}')",
            owner = openshift::OWNER
        )
    } else {
        "false".to_owned()
    };
    vec![
        ("name", "string(object == null ? oldObject.metadata.name : object.metadata.name)".to_owned()),
        ("labels", labels("object")),
        ("old_labels", labels("oldObject")),
        (
            "owner",
            format!("'{OWNER_LABEL}' in variables.labels ? string(variables.labels['{OWNER_LABEL}']) : ''"),
        ),
        (
            "owned_by",
            format!(
                "'{OWNER_LABEL}' in variables.old_labels ? string(variables.old_labels['{OWNER_LABEL}']) : ''"
            ),
        ),
        ("openshift", openshift),
        (
            "election",
            format!(
                "request.resource.resource == 'leases' && request.namespace == '{NAMESPACE}' && variables.name == '{NAME}'"
            ),
        ),
        (
            "prefixed",
            format!(
                "variables.name.startsWith('{PREFIX}') || variables.name.startsWith('bowline:') || variables.name.startsWith('bowline-inventory-')"
            ),
        ),
        ("workload", "request.resource.resource in ['deployments', 'daemonsets']".to_owned()),
        // A manager of somebody else, which is stopped, started again, or removed when its time is over.
        (
            "previous",
            "variables.workload && oldObject != null && variables.owned_by == '' && !variables.prefixed"
                .to_owned(),
        ),
        // A workload that an operator before the prefix made: named as its resource, and labelled already.
        (
            "unprefixed",
            "variables.workload && variables.owned_by != '' && variables.name in [variables.owned_by, variables.owned_by + '-shadow', variables.owned_by + '-node']"
                .to_owned(),
        ),
    ]
}

/// Rules, and what is said where one does not hold.
fn validations() -> Vec<(String, &'static str)> {
    let unchanged = unchanged_pods();
    let stopped = ManagerWorkload::PREVIOUS_REPLICAS;
    let token = "object.metadata.?annotations['kubernetes.io/service-account.name'].orValue('')";
    vec![
        (
            "request.resource.resource != 'leases'".to_owned(),
            "writes no Lease but that of its own election",
        ),
        (
            "request.operation != 'CREATE' || variables.owner != ''".to_owned(),
            "makes objects with its label only",
        ),
        (
            "request.operation != 'CREATE' || variables.prefixed || request.resource.resource in ['configmaps', 'secrets', 'services', 'poddisruptionbudgets', 'servicemonitors']"
                .to_owned(),
            "makes accounts, roles and workloads under its prefix only",
        ),
        (
            "request.operation == 'CREATE' || variables.prefixed || (variables.workload ? variables.previous || variables.unprefixed : variables.owned_by != '')"
                .to_owned(),
            "changes and deletes only what it made",
        ),
        // Its label on a workload of others would make that its own in the next request.
        (
            "request.operation != 'UPDATE' || variables.prefixed || variables.owner == variables.owned_by".to_owned(),
            "adds, changes and removes its label on objects under its prefix only",
        ),
        (
            format!(
                "!variables.previous || (object == null ? '{stopped}' in oldObject.metadata.?annotations.orValue({{}}) : ({unchanged}))"
            ),
            "stops and starts managers of others, deletes them when they are stopped, and changes nothing of what they run",
        ),
        (
            "!variables.workload || object == null || variables.previous || (object.spec.template.spec.?serviceAccountName.orValue('') in [variables.name, variables.name.replace('-dry-run', '')] && !object.spec.template.spec.?hostPID.orValue(false) && !object.spec.template.spec.?hostIPC.orValue(false))"
                .to_owned(),
            "runs pods as the account of their workload's name only, and not with the host's processes",
        ),
        (
            "!variables.workload || object == null || variables.previous || (object.spec.template.spec.?volumes.orValue([]).all(volume, !has(volume.hostPath)) && (object.spec.template.spec.containers + object.spec.template.spec.?initContainers.orValue([])).all(container, !container.?securityContext.?privileged.orValue(false) && container.?securityContext.?capabilities.?add.orValue([]).size() == 0))"
                .to_owned(),
            "runs no privileged containers, adds no capabilities, and mounts nothing of the host",
        ),
        (
            format!(
                "!(request.resource.resource in ['rolebindings', 'clusterrolebindings']) || object == null || (object.roleRef.name.startsWith('bowline:') && object.?subjects.orValue([]).all(subject, (subject.kind == 'User' && subject.name == '{STATIC_USER}') || (subject.kind == 'ServiceAccount' && (subject.name.startsWith('{PREFIX}') || subject.name in [variables.owner, variables.owner + '-node', variables.owner + '-shadow', variables.owner + '-scraper']))))"
            ),
            "binds its own roles to its own accounts only",
        ),
        (
            format!(
                "request.resource.resource != 'secrets' || object == null || object.?type.orValue('') != 'kubernetes.io/service-account-token' || ({token} == variables.name && variables.name.endsWith('-scraper'))"
            ),
            "asks for the tokens of its scrapers only",
        ),
    ]
}

/// That a request changes nothing of what a workload runs, and how, but for the node selector by which DaemonSets are stopped.
fn unchanged_pods() -> String {
    let (stopped, _) = ManagerWorkload::STOPPED;
    let (new, old) = ("object.spec.template.spec", "oldObject.spec.template.spec");
    let same = |new: &str, old: &str, except: &str| {
        [
            format!("{new}.all(key, key == '{except}' || (key in {old} && {new}[key] == {old}[key]))"),
            format!("{old}.all(key, key == '{except}' || key in {new})"),
        ]
        .join(" && ")
    };
    let selector = |pod: &str| format!("{pod}.?nodeSelector.orValue({{}})");
    [
        same(new, old, "nodeSelector"),
        same(&selector(new), &selector(old), stopped),
        "object.spec.template.?metadata == oldObject.spec.template.?metadata".to_owned(),
    ]
    .join(" && ")
}
