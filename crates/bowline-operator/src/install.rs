//! The operator's own manifests: the resource's definition, and what runs the operator. Made from typed values as everything
//! else that is applied.

mod deployment;
mod policy;
mod rights;

#[cfg(test)]
mod tests;

use clap::Args;
use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use k8s_openapi::api::rbac::v1::{
    ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef, Subject,
};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::CustomResourceExt;

pub use self::rights::{On, Place, Right, rights};
use crate::allowed::Allowed;
use crate::api::CloudControllerManager;
use crate::render::{ALWAYS_THERE, MANAGED_NAMESPACE, Object, ObjectError};

/// Where the operator runs.
pub const NAMESPACE: &str = "bowline-system";
/// Its name.
pub const NAME: &str = "bowline-operator";
const GROUP: &str = "rbac.authorization.k8s.io";
/// Where components of the control plane are.
const SYSTEM: &str = "kube-system";
/// OpenShift's namespaces of configuration: the administrator's, and its own.
const OPENSHIFT_CONFIG: [&str; 2] = ["openshift-config", "openshift-config-managed"];

/// What is installed: an image, what resources may ask for, and what the cluster is.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct Installation {
    /// The image of Bowline
    #[arg(long)]
    pub image: String,
    /// What a `CloudControllerManager` may ask for.
    #[command(flatten)]
    pub allowed: Allowed,
    /// Adds the rights that are needed on OpenShift only
    #[arg(long)]
    pub openshift: bool,
    /// Adds the rights that are needed on Azure only
    #[arg(long)]
    pub azure: bool,
}

impl Installation {
    /// An image, with everything else as the flags' defaults have it.
    #[must_use]
    pub fn of_image(image: &str) -> Self {
        Self { image: image.to_owned(), allowed: Allowed::default(), openshift: false, azure: false }
    }

    fn needs(&self, right: &Right) -> bool {
        match right.on {
            On::All => true,
            On::OpenShift => self.openshift,
            // OpenShift says itself what it runs on.
            On::Azure => self.azure || self.openshift,
        }
    }

    /// The rules of a place, once each.
    fn rules(&self, places: &[Place]) -> Vec<PolicyRule> {
        let all = rights().iter().filter(|right| places.contains(&right.place) && self.needs(right));
        all.map(Right::rule).collect()
    }

    /// The namespaces in which the operator has rights, with these.
    fn namespaces(&self) -> Vec<(String, Vec<PolicyRule>)> {
        let mut all: Vec<(String, Vec<Place>)> = vec![(SYSTEM.to_owned(), vec![Place::System])];
        let mut add = |namespace: &str, place: Place| match all.iter_mut().find(|(name, _)| name == namespace)
        {
            Some((_, places)) => places.push(place),
            None => all.push((namespace.to_owned(), vec![place])),
        };
        add(NAMESPACE, Place::Own);
        for namespace in &self.allowed.allowed_namespaces {
            add(namespace, Place::Managers);
        }
        if self.openshift {
            let [config, managed] = OPENSHIFT_CONFIG;
            add(MANAGED_NAMESPACE, Place::Managers);
            add(config, Place::OpenShiftConfig);
            add(managed, Place::OpenShiftManaged);
        }
        all.into_iter().map(|(namespace, places)| (namespace, self.rules(&places))).collect()
    }
}

/// The definition of `CloudControllerManager`.
#[must_use]
pub fn definition() -> CustomResourceDefinition {
    CloudControllerManager::crd()
}

/// All objects that install the operator, the definition first.
///
/// # Errors
///
/// If one of them has no JSON.
pub fn objects(installation: &Installation) -> Result<Vec<Object>, ObjectError> {
    let mut all = vec![Object::cluster(&definition())?, Object::cluster(&namespace(NAMESPACE))?];
    // Those of managers, but for what exists in every cluster and what OpenShift makes itself.
    let made = installation.allowed.allowed_namespaces.iter();
    for name in made.filter(|name| !ALWAYS_THERE.contains(&name.as_str()) && *name != NAMESPACE) {
        all.push(Object::cluster(&namespace(name))?);
    }
    all.push(Object::namespaced(&ServiceAccount {
        metadata: metadata(Some(NAMESPACE)),
        ..ServiceAccount::default()
    })?);
    all.push(Object::cluster(&ClusterRole {
        metadata: metadata(None),
        rules: Some(installation.rules(&[Place::Cluster])),
        aggregation_rule: None,
    })?);
    all.push(Object::cluster(&ClusterRoleBinding {
        metadata: metadata(None),
        role_ref: role_ref("ClusterRole"),
        subjects: Some(vec![subject()]),
    })?);
    for (namespace, rules) in installation.namespaces() {
        let metadata = metadata(Some(&namespace));
        all.push(Object::namespaced(&Role { metadata: metadata.clone(), rules: Some(rules) })?);
        all.push(Object::namespaced(&RoleBinding {
            metadata,
            role_ref: role_ref("Role"),
            subjects: Some(vec![subject()]),
        })?);
    }
    all.extend(policy::objects(installation)?);
    all.push(Object::namespaced(&deployment::deployment(installation))?);
    all.push(Object::namespaced(&deployment::disruption_budget())?);
    Ok(all)
}

/// Objects as one text of YAML.
///
/// # Errors
///
/// If one of them cannot be written as YAML.
pub fn yaml<'a>(
    objects: impl IntoIterator<Item = &'a Object>,
) -> Result<String, serde_saphyr::SerializeError> {
    let mut text = String::new();
    for object in objects {
        text.push_str("---\n");
        text.push_str(&serde_saphyr::to_string(&object.body)?);
    }
    Ok(text)
}

fn metadata(namespace: Option<&str>) -> ObjectMeta {
    let labels = [("app.kubernetes.io/name", NAME), ("app.kubernetes.io/part-of", "bowline")];
    ObjectMeta {
        name: Some(NAME.to_owned()),
        namespace: namespace.map(str::to_owned),
        labels: Some(labels.map(|(key, value)| (key.to_owned(), value.to_owned())).into()),
        ..ObjectMeta::default()
    }
}

/// Pods on the host's network are refused anywhere but in a privileged namespace. The operator and managers need that network, for
/// they must run in a cluster whose own network waits for the manager.
fn namespace(name: &str) -> Namespace {
    let mut metadata = metadata(None);
    metadata.name = Some(name.to_owned());
    let labels = metadata.labels.get_or_insert_default();
    labels.insert("pod-security.kubernetes.io/enforce".to_owned(), "privileged".to_owned());
    Namespace { metadata, ..Namespace::default() }
}

fn role_ref(kind: &str) -> RoleRef {
    RoleRef { api_group: GROUP.to_owned(), kind: kind.to_owned(), name: NAME.to_owned() }
}

fn subject() -> Subject {
    Subject {
        kind: "ServiceAccount".to_owned(),
        name: NAME.to_owned(),
        namespace: Some(NAMESPACE.to_owned()),
        api_group: None,
    }
}
