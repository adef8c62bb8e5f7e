//! The rights of the operator, each with its reason. It may grant what it holds and nothing else: it has neither `escalate`
//! nor `bind`.

use k8s_openapi::api::rbac::v1::PolicyRule;

/// Some verbs on some resources of one group, for one purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Right {
    /// The API group; empty for the core.
    pub group: &'static str,
    /// The resources.
    pub resources: &'static [&'static str],
    /// The verbs.
    pub verbs: &'static [&'static str],
    /// What for.
    pub why: &'static str,
}

const READ: &[&str] = &["get", "list", "watch"];
const KEEP: &[&str] = &["get", "list", "watch", "create", "update", "patch", "delete"];

const fn right(
    group: &'static str,
    resources: &'static [&'static str],
    verbs: &'static [&'static str],
    why: &'static str,
) -> Right {
    Right { group, resources, verbs, why }
}

const ALL: [Right; 20] = [
    right(
        "bowline.dev",
        &["cloudcontrollermanagers"],
        &["get", "list", "watch", "update", "patch"],
        "what is asked for, and its finalizer",
    ),
    right(
        "bowline.dev",
        &["cloudcontrollermanagers/status"],
        &["get", "update", "patch"],
        "what is answered",
    ),
    right(
        "",
        &["configmaps", "secrets", "serviceaccounts", "services"],
        KEEP,
        "what managers are made of and configured with, in the namespaces that resources name",
    ),
    right("apps", &["deployments", "daemonsets"], KEEP, "run managers; stop those that are replaced"),
    right("policy", &["poddisruptionbudgets"], KEEP, "keep one of several managers"),
    right(
        "rbac.authorization.k8s.io",
        &["roles", "rolebindings", "clusterroles", "clusterrolebindings"],
        KEEP,
        "the rights of managers",
    ),
    right("monitoring.coreos.com", &["servicemonitors"], KEEP, "metrics, where that API exists"),
    right(
        "admissionregistration.k8s.io",
        &["validatingadmissionpolicies", "validatingadmissionpolicybindings"],
        KEEP,
        "policies of platforms",
    ),
    // Never deleted: what else is in a namespace is not known.
    right(
        "",
        &["namespaces"],
        &["get", "list", "watch", "create", "update", "patch"],
        "the namespace of a manager",
    ),
    right("", &["pods"], READ, "whether managers run, and what components were started with"),
    right(
        "",
        &["nodes"],
        &["get", "list", "watch", "update", "patch", "delete"],
        "nodes that are migrated; the rest is what managers are granted",
    ),
    right("", &["nodes/status", "services/status"], &["patch", "update"], "what managers are granted"),
    right("", &["events"], &["create", "patch", "update"], "tell people what happens"),
    right(
        "coordination.k8s.io",
        &["leases"],
        &["get", "list", "watch", "create", "update", "patch"],
        "the operator's election, and who writes",
    ),
    right("authentication.k8s.io", &["tokenreviews"], &["create"], "who asks for metrics"),
    right("authorization.k8s.io", &["subjectaccessreviews"], &["create"], "who may have metrics"),
    right("discovery.k8s.io", &["endpointslices"], READ, "what Azure's manager is granted"),
    right(
        "config.openshift.io",
        &[
            "apiservers",
            "clusteroperators",
            "clusterversions",
            "featuregates",
            "infrastructures",
            "networks",
            "proxies",
        ],
        READ,
        "what OpenShift says",
    ),
    right(
        "config.openshift.io",
        &["clusteroperators", "clusteroperators/status"],
        &["create", "update", "patch"],
        "what OpenShift is answered",
    ),
    right(
        "operator.openshift.io",
        &["kubecontrollermanagers"],
        READ,
        "who owned the cloud's controllers on OpenShift",
    ),
];

/// All rights of the operator.
#[must_use]
pub fn rights() -> &'static [Right] {
    &ALL
}

impl Right {
    pub(super) fn rule(&self) -> PolicyRule {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        PolicyRule {
            api_groups: Some(vec![self.group.to_owned()]),
            resources: Some(words(self.resources)),
            verbs: words(self.verbs),
            ..PolicyRule::default()
        }
    }
}
