//! Azure's policies: an agent changes the Node that it runs on and no other; a timeout is one that Azure knows.

use crate::render::openshift::policy::{Policy, annotation};

const TIMEOUT: &str = "service.beta.kubernetes.io/azure-load-balancer-tcp-idle-timeout";
const NODE_ADMISSION: &str = "openshift-cloud-controller-manager-cloud-provider-azure-node-admission";
/// What the API server knows of a caller whose token belongs to a pod.
const NODE_OF_CALLER: &str = "authentication.kubernetes.io/node-name";

/// Who has the agent's account may change the Node that the token belongs to.
pub(super) fn nodes(namespace: &str) -> Policy {
    let account = format!("system:serviceaccount:{namespace}:cloud-node-manager");
    let caller = format!("request.userInfo.?extra[?'{NODE_OF_CALLER}']");
    Policy {
        name: NODE_ADMISSION,
        binding: NODE_ADMISSION,
        resource: "nodes",
        operations: &["UPDATE"],
        failure: Some("Fail"),
        condition: Some(("agents-of-azure-only", format!("request.userInfo.username == '{account}'"))),
        variables: vec![("node", format!("{caller}.orValue([])"))],
        validations: vec![
            (
                "size(variables.node) == 1".to_owned(),
                format!(
                    "the token of a cloud node manager must belong to a pod on a node ({NODE_OF_CALLER})"
                ),
            ),
            (
                "size(variables.node) == 0 || object.metadata.name == variables.node[0]".to_owned(),
                "a cloud node manager may change the Node that it runs on, and no other".to_owned(),
            ),
        ],
    }
}

/// A timeout of idle connections is a number of minutes that Azure accepts.
pub(super) fn idle_timeout() -> Policy {
    Policy {
        name: "azure-load-balancer-tcp-idle-timeout-annotation-validation-policy",
        binding: "azure-load-balancer-tcp-idle-timeout-validation-annotation-binding",
        resource: "services",
        operations: &["CREATE", "UPDATE"],
        failure: None,
        condition: None,
        variables: annotation(TIMEOUT),
        validations: vec![(
            "!variables.changed || (variables.value.matches('^[0-9]{1,3}$') && int(variables.value) >= 4 && int(variables.value) <= 100)"
                .to_owned(),
            format!("annotation '{TIMEOUT}' is a whole number of minutes from 4 to 100"),
        )],
    }
}
