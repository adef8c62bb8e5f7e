//! What the loop gathers, as one value. What could not be read is in it as such: unknown is not gone.

mod node;
mod workload;

use std::time::Duration;

use jiff::Timestamp;

use super::evidence::{PreflightFacts, ShadowFacts};
use super::mode::ManagerMode;
use crate::flags::Component;

pub use self::node::{KubeletEvidence, NodeFacts, Readiness};
pub use self::workload::{ManagerWorkload, OurWorkload, PodFacts, StaticPodFacts, WorkloadKind, WorkloadRef};

/// What is known of the cluster at one moment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Observed {
    /// What could not be read. As long as there is anything in it, nothing is changed.
    pub unread: Vec<Unread>,
    /// The cluster as a whole.
    pub cluster: ClusterFacts,
    /// All nodes.
    pub nodes: Vec<NodeFacts>,
    /// All Services of type LoadBalancer, and those that still have our finalizer.
    pub services: Vec<ServiceFacts>,
    /// Mirror pods of kube-controller-manager and kube-apiserver.
    pub control_plane: Vec<MirrorPod>,
    /// Leases of cloud-controller-managers and of leader migration, wherever they are.
    pub leases: Vec<LeaseFacts>,
    /// Cloud-controller-managers that are not ours, known by their labels and commands. Those with no replica count too.
    pub managers: Vec<ManagerWorkload>,
    /// Ours, if it is there.
    pub ours: Option<OurWorkload>,
    /// Static pods of ours, as kubelets show them.
    pub static_pods: Vec<StaticPodFacts>,
    /// What our manager says it would do, or held back.
    pub shadow: Option<ShadowFacts>,
    /// Answers to the questions of the preflight that needed a look outside.
    pub preflight: PreflightFacts,
    /// The version that our manager shall have, as the objects that are applied say.
    pub wanted_version: String,
    /// The name of the versioned configuration that our manager shall have.
    pub wanted_config: Option<String>,
    /// The names of the versioned configurations that exist.
    pub configs: Vec<String>,
}

/// Something that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unread {
    /// What: `nodes`, `pods in kube-system`, …
    pub what: String,
    /// Why, and what to do.
    pub why: String,
}

/// The cluster as a whole.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClusterFacts {
    /// The minor version of the API server.
    pub minor: u32,
    /// Whether `ConfigMap kube-system/kubeadm-config` exists.
    pub kubeadm_config: bool,
    /// Whether `config.openshift.io` `Infrastructure/cluster` exists.
    pub openshift: bool,
}

/// A LoadBalancer Service.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServiceFacts {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its UID.
    pub uid: String,
    /// `spec.loadBalancerClass`: with one that is not ours, it is somebody else's.
    pub class: Option<String>,
    /// Addresses and host names in `status.loadBalancer.ingress`.
    pub ingress: Vec<String>,
    /// The annotation that names its load balancer.
    pub load_balancer_id: Option<String>,
    /// Whether it has the finalizer of load balancers.
    pub has_finalizer: bool,
    /// Whether it is being deleted.
    pub deleting: bool,
}

impl ServiceFacts {
    /// `namespace/name`.
    #[must_use]
    pub fn key(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }
}

/// The mirror pod of a static pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MirrorPod {
    /// Of what.
    pub component: Component,
    /// Its name.
    pub name: String,
    /// Its node.
    pub node: String,
    /// Command and arguments.
    pub arguments: Vec<String>,
    /// When its container that runs now began; `None` if none runs or that is not known.
    pub started_at: Option<Timestamp>,
    /// Whether it is ready.
    pub ready: bool,
}

/// A Lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseFacts {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Who holds it; none if it was released.
    pub holder: Option<String>,
    /// For how long it holds without being renewed.
    pub duration: Duration,
    /// When its holder says it renewed it. Another machine's clock: for people only.
    pub renewed_at: Option<Timestamp>,
    /// For how long this process has seen the record (holder, renew time, transitions) unchanged, by its own clock. Zero when it
    /// was first seen just now.
    pub unchanged_for: Duration,
    /// Whether this process has seen the record change: only then somebody is known to be alive behind it.
    pub seen_renewed: bool,
}

impl LeaseFacts {
    /// Whether somebody was seen to renew it, and it still holds.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        self.is_held() && self.seen_renewed && self.unchanged_for < self.duration
    }

    /// Whether nobody can act by it any more: it was released, or has not moved for its whole duration as we watched it.
    #[must_use]
    pub fn is_over(&self) -> bool {
        !self.is_held() || self.unchanged_for > self.duration
    }

    fn is_held(&self) -> bool {
        self.holder.as_deref().is_some_and(|holder| !holder.is_empty())
    }

    /// `namespace/name`.
    #[must_use]
    pub fn key(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }
}

impl Observed {
    /// A Lease by its place.
    #[must_use]
    pub fn lease(&self, namespace: &str, name: &str) -> Option<&LeaseFacts> {
        self.leases.iter().find(|lease| lease.namespace == namespace && lease.name == name)
    }

    /// A node by its name.
    #[must_use]
    pub fn node(&self, name: &str) -> Option<&NodeFacts> {
        self.nodes.iter().find(|node| node.name == name)
    }

    /// A Service by `namespace/name`.
    #[must_use]
    pub fn service(&self, key: &str) -> Option<&ServiceFacts> {
        self.services.iter().find(|service| service.key() == key)
    }

    /// Whether our manager already runs with the version and the configuration that would be applied: applying again rolls out neither.
    #[must_use]
    pub fn runs_what_is_wanted(&self) -> bool {
        self.wanted_config.is_some()
            && self.ours.as_ref().is_some_and(|ours| {
                ours.version == self.wanted_version
                    && ours.mode == Some(ManagerMode::Full)
                    && ours.live().all(|pod| pod.config == self.wanted_config)
            })
    }
}
