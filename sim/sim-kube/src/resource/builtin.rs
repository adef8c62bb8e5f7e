//! The resources that the real server has compiled in, as one table. Custom resources are `custom.rs`.

use super::Resource;

/// What a row says beyond the names, one letter each:
/// `n` namespaced, `s` status, `c` scale, `g` generation, `p` PUT creates, `U` PUT needs a resourceVersion,
/// `d` DELETE answers with the object, `v` answered but never stored, `e` stored in core's bucket.
type Row = (&'static str, &'static str, &'static str, &'static str, &'static str, &'static [&'static str]);

const ROWS: &[Row] = &[
    ("", "v1", "nodes", "Node", "s", &["no"]),
    ("", "v1", "services", "Service", "nspd", &["svc"]),
    ("", "v1", "pods", "Pod", "nsgd", &["po"]),
    ("", "v1", "namespaces", "Namespace", "sd", &["ns"]),
    ("", "v1", "events", "Event", "np", &["ev"]),
    ("", "v1", "configmaps", "ConfigMap", "n", &["cm"]),
    ("", "v1", "secrets", "Secret", "n", &[]),
    ("", "v1", "serviceaccounts", "ServiceAccount", "nd", &["sa"]),
    ("", "v1", "endpoints", "Endpoints", "np", &["ep"]),
    ("", "v1", "replicationcontrollers", "ReplicationController", "nscg", &["rc"]),
    ("", "v1", "persistentvolumes", "PersistentVolume", "sd", &["pv"]),
    ("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", "nsd", &["pvc"]),
    ("", "v1", "limitranges", "LimitRange", "np", &["limits"]),
    ("", "v1", "resourcequotas", "ResourceQuota", "nsd", &["quota"]),
    ("events.k8s.io", "v1", "events", "Event", "npe", &["ev"]),
    ("coordination.k8s.io", "v1", "leases", "Lease", "npU", &[]),
    ("coordination.k8s.io", "v1beta1", "leasecandidates", "LeaseCandidate", "npU", &[]),
    ("coordination.k8s.io", "v1alpha2", "leasecandidates", "LeaseCandidate", "npU", &[]),
    ("apps", "v1", "deployments", "Deployment", "nscg", &["deploy"]),
    ("apps", "v1", "daemonsets", "DaemonSet", "nsg", &["ds"]),
    ("apps", "v1", "replicasets", "ReplicaSet", "nscg", &["rs"]),
    ("apps", "v1", "statefulsets", "StatefulSet", "nscg", &["sts"]),
    ("apps", "v1", "controllerrevisions", "ControllerRevision", "n", &[]),
    ("batch", "v1", "jobs", "Job", "nsg", &[]),
    ("batch", "v1", "cronjobs", "CronJob", "nsg", &["cj"]),
    ("rbac.authorization.k8s.io", "v1", "roles", "Role", "np", &[]),
    ("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding", "np", &[]),
    ("rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", "p", &[]),
    ("rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding", "p", &[]),
    ("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", "nsgU", &["pdb"]),
    ("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice", "ng", &[]),
    ("networking.k8s.io", "v1", "ingresses", "Ingress", "nsg", &["ing"]),
    ("networking.k8s.io", "v1", "ingressclasses", "IngressClass", "g", &[]),
    ("networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy", "ng", &["netpol"]),
    ("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", "g", &["pc"]),
    ("storage.k8s.io", "v1", "storageclasses", "StorageClass", "d", &["sc"]),
    (
        "apiextensions.k8s.io",
        "v1",
        "customresourcedefinitions",
        "CustomResourceDefinition",
        "sgU",
        &["crd", "crds"],
    ),
    ("authentication.k8s.io", "v1", "tokenreviews", "TokenReview", "v", &[]),
    ("authentication.k8s.io", "v1", "selfsubjectreviews", "SelfSubjectReview", "v", &[]),
    ("authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview", "v", &[]),
    ("authorization.k8s.io", "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", "v", &[]),
    ("authorization.k8s.io", "v1", "localsubjectaccessreviews", "LocalSubjectAccessReview", "nv", &[]),
    ("authorization.k8s.io", "v1", "selfsubjectrulesreviews", "SelfSubjectRulesReview", "v", &[]),
    (
        "admissionregistration.k8s.io",
        "v1",
        "validatingadmissionpolicies",
        "ValidatingAdmissionPolicy",
        "sgU",
        &[],
    ),
    (
        "admissionregistration.k8s.io",
        "v1",
        "validatingadmissionpolicybindings",
        "ValidatingAdmissionPolicyBinding",
        "gU",
        &[],
    ),
    (
        "admissionregistration.k8s.io",
        "v1",
        "validatingwebhookconfigurations",
        "ValidatingWebhookConfiguration",
        "gU",
        &[],
    ),
    (
        "admissionregistration.k8s.io",
        "v1",
        "mutatingwebhookconfigurations",
        "MutatingWebhookConfiguration",
        "gU",
        &[],
    ),
];

/// Resources that `kubectl get all` shows.
const IN_ALL: &[&str] = &[
    "pods",
    "services",
    "replicationcontrollers",
    "deployments",
    "daemonsets",
    "replicasets",
    "statefulsets",
    "jobs",
    "cronjobs",
];

/// Every compiled-in resource.
pub(crate) fn builtin() -> Vec<Resource> {
    ROWS.iter().map(resource).collect()
}

fn resource(&(group, version, plural, kind, letters, short_names): &Row) -> Resource {
    let has = |letter| letters.contains(letter);
    Resource {
        group: group.to_owned(),
        version: version.to_owned(),
        plural: plural.to_owned(),
        singular: kind.to_lowercase(),
        kind: kind.to_owned(),
        list_kind: format!("{kind}List"),
        namespaced: has('n'),
        short_names: short_names.iter().map(|&name| name.to_owned()).collect(),
        categories: if IN_ALL.contains(&plural) { vec!["all".to_owned()] } else { Vec::new() },
        has_status: has('s'),
        has_scale: has('c'),
        builtin: true,
        virtual_only: has('v'),
        create_on_update: has('p'),
        unconditional_update: !has('U'),
        returns_deleted: has('d'),
        has_generation: has('g'),
        stored_in_core: has('e'),
        ..Resource::default()
    }
}
