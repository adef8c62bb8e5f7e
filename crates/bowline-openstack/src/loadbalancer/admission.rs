//! The admission policies: the API server itself refuses an annotation that no Service could use, and [warns](recreation) where one has no
//! effect on the load balancer that is there, without a webhook.
//!
//! Made from the table of [`annotations`](super::annotations). It judges a value only where the verdict can be told without
//! cloud.conf, and exactly: what [`Intent`](super::intent::Intent) accepts it must never refuse. What it lets through is still
//! judged by the controller.

mod expression;
pub mod recreation;
#[cfg(test)]
mod tests;

use serde_json::{Value, json};

pub use self::expression::judges;
pub(super) use self::expression::{MATCHES, quoted, shown};

/// The name of the policy and of its binding.
pub const NAME: &str = "bowline-openstack-service-annotations";

const HEAD: &str = "\
# Generated from crates/bowline-openstack/src/loadbalancer/annotations/rows.rs by `cargo xtask gen`. Do not edit.
# What they are and how to use them: docs/guides/admission.md
";

/// The policies and their bindings, as YAML.
///
/// # Errors
///
/// If a document cannot be written as YAML.
pub fn manifest() -> Result<String, serde_saphyr::SerializeError> {
    let mut text = HEAD.to_owned();
    for document in [policy(), binding(), recreation::policy(), recreation::binding()] {
        text.push_str("---\n");
        text.push_str(&serde_saphyr::to_string(&document)?);
    }
    Ok(text)
}

fn policy() -> Value {
    let services = json!({
        "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["services"],
    });
    let variables: Vec<Value> = expression::variables()
        .into_iter()
        .map(|(name, expression)| json!({"name": name, "expression": expression}))
        .collect();
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": NAME},
        "spec": {
            // What cannot be evaluated, such as a value of many kilobytes, is left to the controller.
            "failurePolicy": "Ignore",
            "matchConstraints": {"resourceRules": [services]},
            "matchConditions": [{"name": "load-balancer-of-this-controller", "expression": MATCHES}],
            "variables": variables,
            // One validation for all: of several that fail, the API server tells the first only.
            "validations": [{
                "expression": expression::ACCEPTS,
                "message": "an annotation of this Service cannot be used; see docs/reference/annotations.md",
                "messageExpression": expression::message(),
            }],
        },
    })
}

fn binding() -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": NAME},
        "spec": {"policyName": NAME, "validationActions": ["Deny"]},
    })
}
