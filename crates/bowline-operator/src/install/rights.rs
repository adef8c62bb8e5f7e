//! The rights of the operator, each with where it holds and what for. It may grant what it holds and nothing else: it has neither
//! `escalate` nor `bind`.
//!
//! What holds everywhere is what managers are granted everywhere, and what it takes to see them. Secrets, workloads and accounts are
//! written in listed namespaces alone.

use k8s_openapi::api::rbac::v1::PolicyRule;

/// Where a right holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// Everywhere.
    Cluster,
    /// In each namespace that a `CloudControllerManager` may name.
    Managers,
    /// In `kube-system`.
    System,
    /// In the operator's own namespace.
    Own,
    /// In the namespace of the administrator's configuration of OpenShift.
    OpenShiftConfig,
    /// In the namespace of OpenShift's own configuration.
    OpenShiftManaged,
}

/// On which clusters a right is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum On {
    /// On all.
    All,
    /// On OpenShift.
    OpenShift,
    /// On Azure, OpenShift or not.
    Azure,
}

/// Some verbs on some resources of one group, for one purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Right {
    /// Where.
    pub place: Place,
    /// On which clusters.
    pub on: On,
    /// The API group; empty for the core.
    pub group: &'static str,
    /// The resources; a path that begins with `/` is none of a group.
    pub resources: &'static [&'static str],
    /// Only objects of these names; empty for all.
    pub names: &'static [&'static str],
    /// The verbs.
    pub verbs: &'static [&'static str],
    /// What for.
    pub why: &'static str,
}

const READ: &[&str] = &["get", "list", "watch"];
const KEEP: &[&str] = &["get", "list", "watch", "create", "update", "patch", "delete"];
const RBAC: &str = "rbac.authorization.k8s.io";
const LEASES: &str = "coordination.k8s.io";
const OPENSHIFT: &str = "config.openshift.io";

const fn right(
    place: Place,
    group: &'static str,
    resources: &'static [&'static str],
    verbs: &'static [&'static str],
    why: &'static str,
) -> Right {
    Right { place, on: On::All, group, resources, names: &[], verbs, why }
}

impl Right {
    const fn named(mut self, names: &'static [&'static str]) -> Self {
        self.names = names;
        self
    }

    const fn on(mut self, on: On) -> Self {
        self.on = on;
        self
    }
}

use Place::{Cluster, Managers, OpenShiftConfig, OpenShiftManaged, Own, System};

const ALL: &[Right] = &[
    right(
        Cluster,
        "bowline.dev",
        &["cloudcontrollermanagers"],
        &["get", "list", "watch", "update", "patch"],
        "what is asked for, and its finalizer",
    ),
    right(
        Cluster,
        "bowline.dev",
        &["cloudcontrollermanagers/status"],
        &["get", "update", "patch"],
        "what is answered",
    ),
    right(Cluster, RBAC, &["clusterroles", "clusterrolebindings"], KEEP, "the rights of managers"),
    right(Cluster, "apps", &["deployments", "daemonsets"], READ, "see managers of others, wherever they run"),
    right(Cluster, "", &["pods"], READ, "whether managers run, and what components were started with"),
    right(
        Cluster,
        "",
        &["nodes"],
        &["get", "list", "watch", "update", "patch", "delete"],
        "nodes that are migrated; the rest is what managers are granted",
    ),
    right(
        Cluster,
        "",
        &["services"],
        &["get", "list", "watch", "update", "patch"],
        "see who needs a load balancer; the rest is what managers of others are granted",
    ),
    right(
        Cluster,
        "",
        &["nodes/status", "services/status"],
        &["patch", "update"],
        "what managers are granted",
    ),
    right(Cluster, "", &["events"], &["create", "patch", "update"], "tell people what happens"),
    right(
        Cluster,
        "",
        &["namespaces"],
        &["get"],
        "what managers are granted, to know the cluster by its UID",
    )
    .named(&["kube-system"]),
    right(
        Cluster,
        LEASES,
        &["leases"],
        &["get"],
        "see who writes, wherever other managers keep their Leases",
    )
    .named(&[
        "cloud-controller-manager",
        "cloud-provider-extraction-migration",
        "k3s-cloud-controller-manager",
        "rke2-cloud-controller-manager",
    ]),
    right(Cluster, "authentication.k8s.io", &["tokenreviews"], &["create"], "who asks for metrics"),
    right(Cluster, "authorization.k8s.io", &["subjectaccessreviews"], &["create"], "who may have metrics"),
    right(Cluster, "", &["/metrics"], &["get"], "what the account that scrapes a manager is granted"),
    right(
        Managers,
        "",
        &["configmaps", "secrets", "serviceaccounts", "services"],
        KEEP,
        "what managers are made of and configured with",
    ),
    right(
        Managers,
        "apps",
        &["deployments", "daemonsets"],
        KEEP,
        "run managers; stop those that are replaced",
    ),
    right(Managers, "policy", &["poddisruptionbudgets"], KEEP, "keep one of several managers"),
    right(Managers, RBAC, &["roles", "rolebindings"], KEEP, "the rights of managers"),
    right(Managers, "monitoring.coreos.com", &["servicemonitors"], KEEP, "metrics, where that API exists"),
    right(
        Managers,
        LEASES,
        &["leases"],
        &["get", "list", "watch", "create", "update", "patch"],
        "who writes; the rest is what managers are granted",
    ),
    right(
        System,
        RBAC,
        &["roles", "rolebindings"],
        KEEP,
        "the right of managers to read who signs certificates",
    ),
    right(
        System,
        "",
        &["configmaps"],
        READ,
        "who signs certificates, which managers are granted, too; what kubeadm says of the cluster",
    )
    .named(&["extension-apiserver-authentication", "kubeadm-config"]),
    right(
        Own,
        LEASES,
        &["leases"],
        &["get", "list", "watch", "create", "update", "patch"],
        "the operator's election",
    ),
    right(Cluster, "discovery.k8s.io", &["endpointslices"], READ, "what Azure's manager is granted")
        .on(On::Azure),
    right(
        System,
        LEASES,
        &["leases"],
        &["get", "list", "update", "create"],
        "what Azure's manager is granted on OpenShift",
    )
    .on(On::OpenShift),
    right(
        Cluster,
        "admissionregistration.k8s.io",
        &["validatingadmissionpolicies", "validatingadmissionpolicybindings"],
        KEEP,
        "policies of platforms",
    )
    .on(On::OpenShift),
    right(
        Cluster,
        OPENSHIFT,
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
    )
    .on(On::OpenShift),
    right(
        Cluster,
        OPENSHIFT,
        &["clusteroperators", "clusteroperators/status"],
        &["create", "update", "patch"],
        "what OpenShift is answered",
    )
    .on(On::OpenShift),
    right(
        Cluster,
        "operator.openshift.io",
        &["kubecontrollermanagers"],
        READ,
        "who owned the cloud's controllers on OpenShift",
    )
    .on(On::OpenShift),
    right(
        OpenShiftConfig,
        "",
        &["configmaps"],
        READ,
        "the administrator's cloud configuration and certificates",
    )
    .on(On::OpenShift),
    right(
        OpenShiftManaged,
        "",
        &["configmaps"],
        &["get", "list", "watch", "create", "update", "patch"],
        "the cloud configuration that OpenShift keeps",
    )
    .on(On::OpenShift),
];

/// All rights that the operator can have.
#[must_use]
pub fn rights() -> &'static [Right] {
    ALL
}

impl Right {
    pub(super) fn rule(&self) -> PolicyRule {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        if self.resources.iter().all(|resource| resource.starts_with('/')) {
            return PolicyRule {
                non_resource_urls: Some(words(self.resources)),
                verbs: words(self.verbs),
                ..PolicyRule::default()
            };
        }
        PolicyRule {
            api_groups: Some(vec![self.group.to_owned()]),
            resources: Some(words(self.resources)),
            resource_names: Some(words(self.names)).filter(|names| !names.is_empty()),
            verbs: words(self.verbs),
            ..PolicyRule::default()
        }
    }
}
