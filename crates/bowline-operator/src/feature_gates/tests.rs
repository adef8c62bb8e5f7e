//! Feature gates: those of a version, and those that managers are told of.

use serde_json::json;

use super::*;

#[test]
fn managers_are_told_of_gates_that_are_on_and_that_they_know() {
    let mut gates = FeatureGates::on([
        "CloudControllerManagerWebhook",
        "VSphereMixedNodeEnv",
        "CloudControllerManagerWatchBasedRoutesReconciliation",
    ]);
    gates.disabled.insert("ControllerManagerReleaseLeaderElectionLockOnExit".to_owned());
    assert_eq!(
        operand_gates(&gates),
        "CloudControllerManagerWatchBasedRoutesReconciliation=true,CloudControllerManagerWebhook=true"
    );
    assert_eq!(operand_gates(&FeatureGates::default()), "");
}

#[test]
fn the_gates_of_the_own_version_count_and_no_others() {
    let status: FeatureGateStatus = serde_json::from_value(json!({ "featureGates": [
        { "version": "4.20.0", "enabled": [{ "name": "A" }], "disabled": [{ "name": "B" }] },
        { "version": "4.21.0", "enabled": [{ "name": "A" }, { "name": "B" }] },
    ] }))
    .unwrap();
    let old = gates_of_version(&status, "4.20.0").unwrap();
    assert!(old.is_on("A") && !old.is_on("B") && old.disabled.contains("B"));
    assert!(gates_of_version(&status, "4.21.0").unwrap().is_on("B"));
    assert_eq!(gates_of_version(&status, "4.22.0"), None, "not decided yet is not off");
    assert_eq!(gates_of_version(&FeatureGateStatus::default(), "4.20.0"), None);
}

#[test]
fn an_operator_that_was_not_built_for_a_release_takes_the_clusters_version() {
    assert_eq!(version_of_gates("4.20.0", "4.21.0", "4.19.0"), "4.20.0");
    assert_eq!(version_of_gates("0.0.1-snapshot", "4.21.0", "4.19.0"), "4.21.0");
    assert_eq!(version_of_gates("0.0.1-snapshot", "", "4.19.0"), "4.19.0");
}
