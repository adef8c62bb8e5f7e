//! The second policy: it warns who changes an annotation that counts only when a load balancer is created, of a Service that has one.
//!
//! Nothing is refused: a Service is created again with the same manifest, and then the value counts.

use serde_json::{Value, json};

use super::expression::{self, MATCHES, list, quoted};
use crate::loadbalancer::annotations::{ANNOTATIONS, Effect};

/// The name of the policy and of its binding.
pub const NAME: &str = "bowline-openstack-service-recreation";

/// The Service was a load balancer of the controller before, and shows an address.
const WAS_SERVED: &str = "has(oldObject.status) && has(oldObject.status.loadBalancer) &&\n\
     has(oldObject.status.loadBalancer.ingress) && size(oldObject.status.loadBalancer.ingress) > 0";

/// The rows that count only when a load balancer is created.
pub(super) fn keys() -> Vec<&'static str> {
    ANNOTATIONS.iter().filter(|row| row.effect == Effect::Creation).map(|row| row.key).collect()
}

pub(super) fn policy() -> Value {
    let services = json!({
        "apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["services"],
    });
    let said = |whose: &str| format!("(key in variables.{whose} ? variables.{whose}[key] : \"\")");
    let changed = format!(
        "{}.filter(key,\n  {} != {})",
        list(&keys()).replace(", ", ",\n  "),
        said("annotations"),
        said("before")
    );
    let variables: Vec<Value> = expression::annotations_now_and_before()
        .into_iter()
        .chain([("changed", changed)])
        .map(|(name, expression)| json!({"name": name, "expression": expression}))
        .collect();
    let text = " counts only when a load balancer is created: this Service keeps what its load balancer has. To get what is asked for, \
                set spec.type to ClusterIP until the load balancer is deleted, and then to LoadBalancer again";
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": NAME},
        "spec": {
            "failurePolicy": "Ignore",
            "matchConstraints": {"resourceRules": [services]},
            "matchConditions": [
                {"name": "load-balancer-of-this-controller", "expression": MATCHES},
                {"name": "was-one-before", "expression": MATCHES.replace("object.", "oldObject.")},
                {"name": "has-an-address", "expression": WAS_SERVED},
            ],
            "variables": variables,
            "validations": [{
                "expression": "size(variables.changed) == 0",
                "message": "this annotation counts only when a load balancer is created",
                "messageExpression": format!("\"annotation \" + variables.changed.join(\", \") + {}", quoted(text)),
            }],
        },
    })
}

pub(super) fn binding() -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": NAME},
        "spec": {"policyName": NAME, "validationActions": ["Warn"]},
    })
}
