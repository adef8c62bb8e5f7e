//! The names and labels of the objects of one resource.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};

use super::facts::RenderedConfig;
use crate::api::{CloudControllerManagerSpec, OWNER_LABEL};

const NAME: &str = "app.kubernetes.io/name";
const INSTANCE: &str = "app.kubernetes.io/instance";
const COMPONENT: &str = "app.kubernetes.io/component";
const MANAGED_BY: &str = "app.kubernetes.io/managed-by";

/// The program that runs, as the label has it.
const MANAGER: &str = "cloud-controller-manager";
/// The agent that Azure has on each node.
const NODE_MANAGER: &str = "cloud-node-manager";
const SHADOW: &str = "shadow";

/// What the names of a resource's objects begin with. The name of a `CloudControllerManager` is the choice of whoever may edit
/// one; without a prefix, that choice could be the name of a ServiceAccount that has rights already.
pub const PREFIX: &str = "bowline-ccm-";

/// How the objects of a resource are named.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Naming {
    /// With [`PREFIX`].
    #[default]
    Prefixed,
    /// The name of the resource alone: manifests for people, and objects that an operator before the prefix made.
    Bare,
}

impl Naming {
    /// What the names of all objects of a resource begin with, its workload's name being just that.
    #[must_use]
    pub fn base(self, owner: &str) -> String {
        match self {
            Self::Prefixed => format!("{PREFIX}{owner}"),
            Self::Bare => owner.to_owned(),
        }
    }
}

/// The workload that runs in shadow mode, from the base of the names ([`Naming::base`]).
#[must_use]
pub fn shadow_name(base: &str) -> String {
    format!("{base}-shadow")
}

/// The ConfigMap that the manager in shadow mode writes its report into, in the manager's namespace.
#[must_use]
pub fn shadow_report_name(base: &str) -> String {
    format!("{base}-shadow-report")
}

/// The ConfigMap or Secret with this configuration. Another text is another object: a pod sees the one that it was made with.
#[must_use]
pub fn config_name(base: &str, config: &RenderedConfig) -> String {
    format!("{base}-config-{}", config.short_hash())
}

/// What runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Manager,
    Shadow,
    NodeManager,
}

/// The names of what belongs to one part of a resource.
#[derive(Debug, Clone)]
pub(super) struct Names<'a> {
    owner: &'a str,
    naming: Naming,
    part: Part,
    pub(super) namespace: &'a str,
}

impl<'a> Names<'a> {
    pub(super) fn new(
        spec: &'a CloudControllerManagerSpec,
        owner: &'a str,
        naming: Naming,
        part: Part,
    ) -> Self {
        Self { owner, naming, part, namespace: &spec.namespace }
    }

    /// What all names begin with.
    pub(super) fn base(&self) -> String {
        self.naming.base(self.owner)
    }

    /// The workload, its ServiceAccount, its Service and its PodDisruptionBudget.
    pub(super) fn workload(&self) -> String {
        match self.part {
            Part::Manager => self.base(),
            Part::Shadow => shadow_name(&self.base()),
            Part::NodeManager => format!("{}-node", self.base()),
        }
    }

    /// The roles and their bindings; their prefix is as old as they are.
    pub(super) fn role(&self) -> String {
        match self.part {
            Part::Manager => format!("bowline:{}", self.owner),
            Part::Shadow => format!("bowline:{}:shadow", self.owner),
            Part::NodeManager => format!("bowline:{}:node", self.owner),
        }
    }

    /// What selects the pods. It never changes: a selector cannot.
    pub(super) fn selector_labels(&self) -> BTreeMap<String, String> {
        let (name, component) = match self.part {
            Part::Manager => (MANAGER, MANAGER),
            Part::Shadow => (MANAGER, SHADOW),
            Part::NodeManager => (NODE_MANAGER, NODE_MANAGER),
        };
        let labels = [(NAME, name), (INSTANCE, self.owner), (COMPONENT, component)];
        labels.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
    }

    /// The labels of all objects.
    pub(super) fn labels(&self) -> BTreeMap<String, String> {
        let mut labels = self.selector_labels();
        labels.insert(MANAGED_BY.to_owned(), crate::api::FIELD_MANAGER.to_owned());
        labels.insert(OWNER_LABEL.to_owned(), self.owner.to_owned());
        labels
    }

    pub(super) fn selector(&self) -> LabelSelector {
        LabelSelector { match_labels: Some(self.selector_labels()), match_expressions: None }
    }

    /// The metadata of an object in the manager's namespace.
    pub(super) fn metadata(&self, name: impl Into<String>) -> ObjectMeta {
        self.metadata_in(self.namespace, name)
    }

    /// The metadata of an object in another namespace.
    pub(super) fn metadata_in(&self, namespace: &str, name: impl Into<String>) -> ObjectMeta {
        ObjectMeta { namespace: Some(namespace.to_owned()), ..self.cluster_metadata(name) }
    }

    /// The metadata of an object of the cluster.
    pub(super) fn cluster_metadata(&self, name: impl Into<String>) -> ObjectMeta {
        ObjectMeta { name: Some(name.into()), labels: Some(self.labels()), ..ObjectMeta::default() }
    }
}
