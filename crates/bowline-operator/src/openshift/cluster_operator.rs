//! What is said in `ClusterOperator/cloud-controller-manager`. The report is pure; it is written as one full update of the status,
//! over the version that was read, and only if it is another one.

use jiff::Timestamp;
use kube::api::DynamicObject;
use serde_json::{Value, json};

use super::Trouble;
use super::kinds::{API_VERSION, CLUSTER_OPERATOR};
use crate::rollout::{Cause, OperatorStatus, REASON_AS_EXPECTED, REASON_SYNC_FAILED};

/// The name of the ClusterOperator.
pub const NAME: &str = "cloud-controller-manager";

/// A condition of OpenShift's own migration that is over.
const OWNER_CONDITION: &str = "CloudControllerOwner";

/// How the managers are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reported<'a> {
    /// All is applied and rolled out, or there is nothing to apply.
    Available,
    /// Something was applied, or is rolled out.
    Progressing,
    /// Something is wrong, and has been for long enough.
    Degraded(&'a Trouble),
    /// Something is wrong since a moment ago: nothing is said yet.
    Failing,
}

/// What is said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperatorReport<'a> {
    /// How the managers are.
    pub managers: Reported<'a>,
    /// What is wrong with the configuration, if that is to be told.
    pub config: Option<&'a Trouble>,
    /// What is wrong with the trusted certificates, if that is to be told.
    pub trust: Option<&'a Trouble>,
    /// The version of the release.
    pub version: &'a str,
    /// Now.
    pub now: Timestamp,
}

/// The new status, made of the old one.
#[must_use]
pub fn report(old: &OperatorStatus, said: &OperatorReport<'_>) -> OperatorStatus {
    let mut new = old.clone();
    part(
        &mut new,
        "CloudConfigController",
        "Cloud Config Controller",
        "sync cloud config",
        said.config,
        said.now,
    );
    part(
        &mut new,
        "TrustedCABundleControllerController",
        "Trusted CA Bundle Controller",
        "sync trusted CA bundle",
        said.trust,
        said.now,
    );
    match said.managers {
        Reported::Available => {
            new.set_available(said.version, None, said.now);
            new.conditions.retain(|condition| condition.type_ != OWNER_CONDITION);
        }
        Reported::Progressing => {
            new.set_progressing(said.version, said.now);
            // What was wrong is over: something was applied.
            new.set("Degraded", "False", REASON_AS_EXPECTED, "", said.now);
        }
        Reported::Degraded(trouble) => {
            let cause = Cause { reason: trouble.reason, message: &trouble.message };
            new.set_degraded(said.version, cause, said.now);
        }
        Reported::Failing => {}
    }
    new
}

/// The two conditions of a part.
fn part(
    status: &mut OperatorStatus,
    name: &str,
    title: &str,
    doing: &str,
    wrong: Option<&Trouble>,
    now: Timestamp,
) {
    let (available, degraded) = (format!("{name}Available"), format!("{name}Degraded"));
    match wrong {
        None => {
            let message = format!("{title} works as expected");
            status.set(&available, "True", REASON_AS_EXPECTED, &message, now);
            status.set(&degraded, "False", REASON_AS_EXPECTED, &message, now);
        }
        Some(trouble) => {
            let message = format!("{title} failed to {doing}: {}", trouble.message);
            status.set(&available, "False", REASON_SYNC_FAILED, &message, now);
            status.set(&degraded, "True", REASON_SYNC_FAILED, &message, now);
        }
    }
}

/// What belongs to the operator, in the order that OpenShift has it in.
#[must_use]
pub fn related_objects(operator_namespace: &str, managed_namespace: &str) -> Value {
    json!([
        { "group": "", "resource": "namespaces", "name": operator_namespace },
        { "group": "config.openshift.io", "resource": "clusteroperators", "name": NAME },
        { "group": "", "resource": "namespaces", "name": managed_namespace },
    ])
}

/// The status that is in a ClusterOperator; one that cannot be read is none.
pub(super) fn status_of(object: &DynamicObject) -> OperatorStatus {
    let status = object.data.get("status").cloned().unwrap_or(Value::Null);
    serde_json::from_value(status).unwrap_or_default()
}

/// The ClusterOperator with another status; `None` if it is the same. What is not ours in it stays.
pub(super) fn with_status(
    object: &DynamicObject,
    status: &OperatorStatus,
    related: &Value,
) -> Option<DynamicObject> {
    let mut new = object.clone();
    let data = new.data.as_object_mut()?;
    let target = data.entry("status").or_insert_with(|| json!({}));
    if !target.is_object() {
        *target = json!({});
    }
    let target = target.as_object_mut()?;
    target.insert("conditions".to_owned(), serde_json::to_value(&status.conditions).ok()?);
    target.insert("versions".to_owned(), serde_json::to_value(&status.versions).ok()?);
    target.insert("relatedObjects".to_owned(), related.clone());
    (new.data != object.data).then_some(new)
}

/// A ClusterOperator that says nothing yet.
pub(super) fn empty() -> Value {
    json!({ "apiVersion": API_VERSION, "kind": CLUSTER_OPERATOR.kind, "metadata": { "name": NAME }, "spec": {} })
}
