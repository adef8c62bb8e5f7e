//! What an administrator rules out: `--skip-node-deletion`, and Nodes outside of `--node-filter`.

use super::*;

async fn seconds(n: u64) {
    sleep(Duration::from_secs(n)).await;
}

fn labelled(name: &str, ready: &str, pool: &str) -> Value {
    with(node(name, ready), "/metadata/labels", json!({"pool": pool}))
}

fn filtered(nodes: Vec<Value>, filter: &str) -> World {
    let mut world = World::new(nodes);
    world.harness.filter = NodeFilter::parse(filter).unwrap();
    world
}

fn lost_and_stopped(options: LifecycleOptions) -> World {
    let nodes =
        vec![node("gone", "Unknown"), node("off", "Unknown"), node("up", "True"), node("up2", "True")];
    let world = World::with_options(nodes, options);
    world.machines.say("gone", gone());
    world.machines.say("off", there(Power::ShutDown));
    world
}

#[tokio::test(start_paused = true)]
async fn with_skip_node_deletion_no_node_is_deleted_and_each_is_told_once() {
    let world = lost_and_stopped(LifecycleOptions { skip_deletion: true, ..LifecycleOptions::default() });
    world.run(seconds(3_600)).await.unwrap();
    assert!(world.deleted().is_empty());
    assert!(world.machines.confirmed().is_empty(), "no proof is needed for what is not done");
    assert!(!world.patches().is_empty(), "the taint of the stopped machine is set all the same");
    assert!(world.shows("bowline_node_deletions_held{rail=\"skip\"} 1"));
    let [event] = world.events_of("NodeDeletionHeld").try_into().unwrap();
    assert_eq!((&event["type"], &event["involvedObject"]["name"]), (&json!("Normal"), &json!("gone")));
    assert!(event["message"].as_str().unwrap().contains("--skip-node-deletion"), "{event}");
}

#[tokio::test(start_paused = true)]
async fn without_skip_node_deletion_the_same_nodes_go() {
    let world = lost_and_stopped(LifecycleOptions::default());
    world.run(seconds(60)).await.unwrap();
    assert_eq!(world.deleted(), ["gone"]);
    assert!(world.shows("bowline_node_deletions_held{rail=\"skip\"} 0"));
}

#[tokio::test(start_paused = true)]
async fn skip_node_deletion_opens_no_breaker_however_many_nodes_look_gone() {
    let options = LifecycleOptions { skip_deletion: true, ..LifecycleOptions::default() };
    let world = World::with_options(vec![node("a", "Unknown"), node("b", "Unknown")], options);
    ["a", "b"].into_iter().for_each(|name| world.machines.say(name, gone()));
    world.run(seconds(60)).await.unwrap();
    assert!(world.shows("bowline_node_deletion_breaker_open 0"));
    assert!(world.shows("bowline_node_deletions_held{rail=\"skip\"} 2"));
}

#[tokio::test(start_paused = true)]
async fn nodes_outside_the_filter_are_neither_tainted_nor_deleted() {
    let ours =
        [labelled("gone", "Unknown", "a"), labelled("off", "Unknown", "a"), labelled("up", "True", "a")];
    let others = [labelled("x-gone", "Unknown", "b"), labelled("x-off", "Unknown", "b")];
    let was_off = with(labelled("x-up", "True", "b"), "/spec/taints", json!([shutdown_taint()]));
    let world = filtered(ours.into_iter().chain(others).chain([was_off]).collect(), "pool=a");
    for name in ["gone", "x-gone"] {
        world.machines.say(name, gone());
    }
    for name in ["off", "x-off"] {
        world.machines.say(name, there(Power::ShutDown));
    }
    world.run(seconds(60)).await.unwrap();
    assert_eq!(world.deleted(), ["gone"]);
    let writes = world.server().writes();
    assert!(writes.iter().any(|(what, _)| what == "PATCH /api/v1/nodes/off"), "{writes:?}");
    assert!(!writes.iter().any(|(what, _)| what.contains("/nodes/x-")), "{writes:?}");
}

#[tokio::test(start_paused = true)]
async fn a_node_that_enters_the_filter_is_handled_from_then_on() {
    let world = filtered(vec![labelled("a", "Unknown", "b"), labelled("up", "True", "a")], "pool=a");
    world.machines.say("a", gone());
    let meanwhile = async {
        seconds(60).await;
        assert!(world.deleted().is_empty());
        world.server().put(labelled("a", "Unknown", "a"));
        seconds(10).await;
    };
    world.run(meanwhile).await.unwrap();
    assert_eq!(world.deleted(), ["a"]);
}

#[tokio::test(start_paused = true)]
async fn a_node_that_leaves_the_filter_during_the_direct_read_is_not_deleted() {
    let world = filtered(vec![labelled("a", "Unknown", "a"), labelled("up", "True", "a")], "pool=a");
    world.machines.say("a", gone());
    world.machines.take(Lookup::Confirm, Duration::from_secs(3));
    let meanwhile = async {
        seconds(1).await;
        assert_eq!(world.machines.confirmed().as_slice(), ["a"], "the direct read is under way");
        world.server().put(labelled("a", "Unknown", "b"));
        seconds(60).await;
    };
    world.run(meanwhile).await.unwrap();
    assert!(world.deleted().is_empty());
}
