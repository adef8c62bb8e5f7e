//! Rollouts: upstream's seven, four and seven cases.

use serde_json::{Value, json};

use super::*;

fn deployment(generation: i64, observed: i64, conditions: &Value) -> Rollout {
    let value = json!({
        "metadata": { "name": "ccm", "generation": generation },
        "spec": { "selector": {}, "template": {} },
        "status": { "observedGeneration": observed, "conditions": conditions },
    });
    deployment_rollout(&serde_json::from_value(value).unwrap())
}

fn progressing(status: &str, reason: &str) -> Value {
    json!({ "type": "Progressing", "status": status, "reason": reason, "message": "because" })
}

#[test]
fn a_deployment_is_complete_when_its_controller_says_so_of_the_latest_specification() {
    let available = json!({ "type": "Available", "status": "False", "reason": "MinimumReplicasUnavailable" });
    let cases = [
        ("no conditions", 1, 1, json!([]), false),
        ("new replica set available", 1, 1, json!([progressing("True", "NewReplicaSetAvailable")]), true),
        (
            "an older specification was seen",
            2,
            1,
            json!([progressing("True", "NewReplicaSetAvailable")]),
            false,
        ),
        ("replica set updated", 1, 1, json!([progressing("True", "ReplicaSetUpdated")]), false),
        ("deadline exceeded", 1, 1, json!([progressing("False", "ProgressDeadlineExceeded")]), false),
        ("found a new replica set", 1, 1, json!([progressing("True", "FoundNewReplicaSet")]), false),
        (
            "other conditions beside",
            1,
            1,
            json!([available, progressing("True", "NewReplicaSetAvailable")]),
            true,
        ),
    ];
    for (name, generation, observed, conditions, complete) in cases {
        let found = deployment(generation, observed, &conditions);
        assert_eq!(found == Rollout::Complete, complete, "{name}: {found:?}");
    }
}

#[test]
fn a_deployment_is_stalled_when_its_controller_gave_up_on_the_latest_specification() {
    let exceeded = || json!([progressing("False", "ProgressDeadlineExceeded")]);
    let cases = [
        ("deadline exceeded", 1, 1, exceeded(), true),
        ("it goes on", 1, 1, json!([progressing("True", "ReplicaSetUpdated")]), false),
        ("no conditions", 1, 1, json!([]), false),
        ("of an older specification", 2, 1, exceeded(), false),
    ];
    for (name, generation, observed, conditions, stalled) in cases {
        let found = deployment(generation, observed, &conditions);
        assert_eq!(found == Rollout::Stalled { message: "because".to_owned() }, stalled, "{name}: {found:?}");
    }
}

#[test]
fn a_deployment_without_status_has_not_begun() {
    assert_eq!(deployment_rollout(&Deployment::default()), Rollout::Progressing);
    assert_eq!(daemon_set_rollout(&DaemonSet::default()), Rollout::Progressing);
}

#[test]
fn a_daemon_set_is_complete_when_every_pod_there_is_is_up_to_date() {
    // generation, observed, desired, current, updated, unavailable, misscheduled
    let cases = [
        ("pods are of an older specification", (2, 2, 3, 3, 1, 0, 0), false),
        ("an older specification was seen", (2, 1, 3, 3, 3, 0, 0), false),
        ("all are updated", (2, 2, 3, 3, 3, 0, 0), true),
        ("a node reboots", (2, 2, 3, 3, 3, 1, 0), true),
        ("pods are where they should not be", (2, 2, 3, 3, 3, 0, 2), true),
        ("nodes join", (2, 2, 5, 3, 3, 2, 0), true),
        ("none is scheduled yet", (1, 1, 3, 0, 0, 0, 0), false),
    ];
    for (name, (generation, observed, desired, current, updated, unavailable, misscheduled), complete) in
        cases
    {
        let value = json!({
            "metadata": { "name": "cnm", "generation": generation },
            "spec": { "selector": {}, "template": {} },
            "status": {
                "observedGeneration": observed,
                "desiredNumberScheduled": desired,
                "currentNumberScheduled": current,
                "updatedNumberScheduled": updated,
                "numberUnavailable": unavailable,
                "numberMisscheduled": misscheduled,
                "numberReady": current,
            },
        });
        let found = daemon_set_rollout(&serde_json::from_value(value).unwrap());
        assert_eq!(found == Rollout::Complete, complete, "{name}: {found:?}");
    }
}
