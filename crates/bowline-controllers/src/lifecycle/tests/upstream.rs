//! Upstream's cases, by their names. Its two interfaces (v1, V2) are one here: "error deriving the provider ID" and "error"
//! are doubt, "instance not found" is proof of absence.

use super::*;

/// What becomes of a node.
#[derive(Debug, PartialEq)]
enum Fate {
    Untouched,
    Tainted,
    Untainted,
    Deleted,
}

async fn fate(node: Value, says: Evidence<Instance>) -> Fate {
    let world = World::new(vec![node]);
    world.machines.say("node0", says);
    world.one_pass().await;
    let patches = world.patches();
    match (world.deleted().as_slice(), patches.as_slice()) {
        ([], []) => Fate::Untouched,
        ([_], []) => Fate::Deleted,
        ([], [patch]) if patch[1]["op"] == "add" => Fate::Tainted,
        ([], [patch]) if patch[1]["op"] == "remove" => Fate::Untainted,
        other => panic!("{other:?}"),
    }
}

fn without_provider_id(ready: &str) -> Value {
    with(node("node0", ready), "/spec/providerID", Value::Null)
}

fn never_reported() -> Value {
    with(node("node0", "?"), "/status/conditions", json!([]))
}

#[tokio::test(start_paused = true)]
async fn nodes_deleted() {
    let error = || doubt(ErrorClass::Transient);
    for (case, node, says, wanted) in [
        ("not ready, does not exist", node("node0", "False"), gone(), Fate::Deleted),
        ("not ready, provider error", node("node0", "False"), error(), Fate::Untouched),
        ("not ready, exists", node("node0", "False"), there(Power::Running), Fate::Untouched),
        ("unknown, does not exist", node("node0", "Unknown"), gone(), Fate::Deleted),
        ("unknown, exists", node("node0", "Unknown"), there(Power::Running), Fate::Untouched),
        ("ready, does not exist", node("node0", "True"), gone(), Fate::Untouched),
        ("never reported, does not exist", never_reported(), gone(), Fate::Deleted),
    ] {
        assert_eq!(fate(node, says).await, wanted, "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn nodes_shutdown() {
    let error = || doubt(ErrorClass::Transient);
    let shut_down = || there(Power::ShutDown);
    for (case, node, says, wanted) in [
        ("not ready, shut down", node("node0", "False"), shut_down(), Fate::Tainted),
        ("not ready, shut down, no provider ID", without_provider_id("False"), shut_down(), Fate::Tainted),
        // Upstream deletes it. Here it may be bare metal: no machine of it was ever found (SR-4).
        ("no provider ID, does not exist", without_provider_id("False"), gone(), Fate::Untouched),
        ("error deriving the provider ID", without_provider_id("False"), error(), Fate::Untouched),
        (
            "instance not found deriving the provider ID",
            without_provider_id("Unknown"),
            gone(),
            Fate::Untouched,
        ),
        ("power unknown, does not exist", node("node0", "False"), gone(), Fate::Deleted),
        ("not ready, power not reported", node("node0", "False"), there(Power::NotReported), Fate::Untouched),
        ("ready, shut down", node("node0", "True"), shut_down(), Fate::Untouched),
        ("unknown, shut down and does not exist", node("node0", "Unknown"), gone(), Fate::Deleted),
        ("unknown, shut down", node("node0", "Unknown"), shut_down(), Fate::Tainted),
    ] {
        assert_eq!(fate(node, says).await, wanted, "{case}");
    }
}

/// Cases that upstream lacks.
#[tokio::test(start_paused = true)]
async fn the_shutdown_taint_goes_when_the_node_is_ready_or_its_machine_runs() {
    let tainted = |ready: &str| with(node("node0", ready), "/spec/taints", json!([shutdown_taint()]));
    for (case, ready, says, wanted) in [
        ("ready", "True", there(Power::ShutDown), Fate::Untainted),
        ("not ready, runs", "False", there(Power::Running), Fate::Untainted),
        ("not ready, still shut down", "False", there(Power::ShutDown), Fate::Untouched),
        ("not ready, power not reported", "False", there(Power::NotReported), Fate::Untouched),
        ("not ready, error", "False", doubt(ErrorClass::Transient), Fate::Untouched),
    ] {
        assert_eq!(fate(tainted(ready), says).await, wanted, "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn metrics_two_ready_and_one_not_ready_are_one_question_each() {
    let world = World::new(vec![node("a", "True"), node("b", "True"), node("c", "False")]);
    world.one_pass().await;
    let call = |operation: &str, result: &str| {
        format!(
            "cloud_node_lifecycle_controller_cloud_provider_calls_total{{operation=\"{operation}\",result=\"{result}\"}} 1"
        )
    };
    assert!(world.shows(&call("instance_exists", "success")));
    assert!(world.shows(&call("instance_shutdown", "success")));
    assert!(world.shows("cloud_node_lifecycle_controller_monitor_nodes_duration_seconds_count 1"));
}

#[test]
fn constructor_five_workers_are_accepted_and_zero_is_not() {
    let new = |workers| {
        let options = LifecycleOptions { workers, ..LifecycleOptions::default() };
        LifecycleController::new(common_names().remove(1), options)
    };
    assert!(new(5).is_ok());
    assert!(new(0).is_err());
}

#[tokio::test(start_paused = true)]
async fn the_event_of_a_deletion_is_upstreams_and_names_the_very_node() {
    let world = World::new(vec![node("node0", "False")]);
    world.machines.say("node0", gone());
    world.one_pass().await;
    let [event] = world.server().events().try_into().unwrap();
    assert_eq!((event["reason"].as_str(), event["type"].as_str()), (Some("DeletingNode"), Some("Normal")));
    assert_eq!(event["message"], "Deleting node node0 because it does not exist in the cloud provider");
    assert_eq!(event["source"]["component"], "cloud-node-lifecycle-controller");
    assert_eq!(
        event["involvedObject"],
        json!({"apiVersion": "v1", "kind": "Node", "name": "node0", "uid": "uid-node0"})
    );
}
