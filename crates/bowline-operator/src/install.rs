//! The operator's own manifests: the resource's definition, and what runs the operator. Made from typed values as everything
//! else that is applied.

mod deployment;
mod rights;

#[cfg(test)]
mod tests;

use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, RoleRef, Subject};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::CustomResourceExt;

pub use self::rights::{Right, rights};
use crate::api::CloudControllerManager;
use crate::render::{Object, ObjectError};

/// Where the operator runs.
pub const NAMESPACE: &str = "bowline-system";
/// Its name.
pub const NAME: &str = "bowline-operator";
const GROUP: &str = "rbac.authorization.k8s.io";

/// The definition of `CloudControllerManager`.
#[must_use]
pub fn definition() -> CustomResourceDefinition {
    CloudControllerManager::crd()
}

/// All objects that install the operator from an image, the definition first.
///
/// # Errors
///
/// If one of them has no JSON.
pub fn objects(image: &str) -> Result<Vec<Object>, ObjectError> {
    Ok(vec![
        Object::cluster(&definition())?,
        Object::cluster(&namespace())?,
        Object::namespaced(&ServiceAccount {
            metadata: metadata(Some(NAMESPACE)),
            ..ServiceAccount::default()
        })?,
        Object::cluster(&role())?,
        Object::cluster(&binding())?,
        Object::namespaced(&deployment::deployment(image))?,
        Object::namespaced(&deployment::disruption_budget())?,
    ])
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

/// Pods on the host's network are refused anywhere but in a privileged namespace. The operator needs that network for it must
/// run in a cluster whose own network waits for the manager that it installs.
fn namespace() -> Namespace {
    let mut metadata = metadata(None);
    metadata.name = Some(NAMESPACE.to_owned());
    let labels = metadata.labels.get_or_insert_default();
    labels.insert("pod-security.kubernetes.io/enforce".to_owned(), "privileged".to_owned());
    Namespace { metadata, ..Namespace::default() }
}

fn role() -> ClusterRole {
    let rules = rights().iter().map(Right::rule).collect();
    ClusterRole { metadata: metadata(None), rules: Some(rules), aggregation_rule: None }
}

fn binding() -> ClusterRoleBinding {
    ClusterRoleBinding {
        metadata: metadata(None),
        role_ref: RoleRef {
            api_group: GROUP.to_owned(),
            kind: "ClusterRole".to_owned(),
            name: NAME.to_owned(),
        },
        subjects: Some(vec![Subject {
            kind: "ServiceAccount".to_owned(),
            name: NAME.to_owned(),
            namespace: Some(NAMESPACE.to_owned()),
            api_group: None,
        }]),
    }
}
