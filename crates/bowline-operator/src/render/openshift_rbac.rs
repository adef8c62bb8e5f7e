//! Roles and bindings under OpenShift's names. They are for accounts in `kube-system` that managers make themselves.

use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, Subject};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::error::RenderError;
use super::object::Object;
use super::rbac::role_ref;

/// A binding of a role to one account.
pub(super) struct Bound<'a> {
    pub(super) name: &'a str,
    pub(super) role: &'a str,
    pub(super) subject: Subject,
}

/// An account of the managers' own making.
pub(super) fn system_account(name: &str) -> Subject {
    account("kube-system", name)
}

/// A ServiceAccount.
pub(super) fn account(namespace: &str, name: &str) -> Subject {
    Subject {
        kind: "ServiceAccount".to_owned(),
        name: name.to_owned(),
        namespace: Some(namespace.to_owned()),
        api_group: None,
    }
}

fn metadata(namespace: Option<&str>, name: &str) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.to_owned()),
        namespace: namespace.map(str::to_owned),
        ..ObjectMeta::default()
    }
}

/// A ClusterRole.
pub(super) fn cluster_role(name: &str, rules: Vec<PolicyRule>) -> Result<Object, RenderError> {
    let role = ClusterRole { metadata: metadata(None, name), rules: Some(rules), aggregation_rule: None };
    Ok(Object::cluster(&role)?)
}

/// A Role.
pub(super) fn role(namespace: &str, name: &str, rules: Vec<PolicyRule>) -> Result<Object, RenderError> {
    Ok(Object::namespaced(&Role { metadata: metadata(Some(namespace), name), rules: Some(rules) })?)
}

impl Bound<'_> {
    /// As a ClusterRoleBinding.
    pub(super) fn everywhere(self) -> Result<Object, RenderError> {
        let binding = ClusterRoleBinding {
            metadata: metadata(None, self.name),
            role_ref: role_ref("ClusterRole", self.role),
            subjects: Some(vec![self.subject]),
        };
        Ok(Object::cluster(&binding)?)
    }

    /// As a RoleBinding.
    pub(super) fn within(self, namespace: &str) -> Result<Object, RenderError> {
        let binding = RoleBinding {
            metadata: metadata(Some(namespace), self.name),
            role_ref: role_ref("Role", self.role),
            subjects: Some(vec![self.subject]),
        };
        Ok(Object::namespaced(&binding)?)
    }
}
