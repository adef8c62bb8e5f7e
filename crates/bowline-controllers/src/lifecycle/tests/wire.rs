//! What goes over the wire, how often, and what happens when it fails.

use bowline_testkit::eventually_virtual;

use super::*;

#[tokio::test(start_paused = true)]
async fn a_taint_patch_tests_the_version_that_was_seen_and_sends_nobody_elses_taints_back() {
    let others = json!([{"key": "mine", "effect": "NoExecute", "timeAdded": LONG_AGO}, shutdown_taint()]);
    let world = World::new(vec![
        with(node("a", "True"), "/spec/taints", others),
        with(node("b", "False"), "/spec/taints", json!([{"key": "mine", "effect": "NoExecute"}])),
        node("c", "False"),
    ]);
    world.machines.say("b", there(Power::ShutDown));
    world.machines.say("c", there(Power::ShutDown));
    let [a, b, c] = ["a", "b", "c"].map(|name| world.version(name));
    world.one_pass().await;
    let test = |version| json!({"op": "test", "path": "/metadata/resourceVersion", "value": version});
    assert_eq!(
        world.patches(),
        [
            json!([test(a), {"op": "remove", "path": "/spec/taints/1"}]),
            json!([test(b), {"op": "add", "path": "/spec/taints/-", "value": shutdown_taint()}]),
            json!([test(c), {"op": "add", "path": "/spec/taints", "value": [shutdown_taint()]}]),
        ]
    );
    assert_eq!(world.server().writes().len(), 3, "one write for each node, and no more");
}

#[tokio::test(start_paused = true)]
async fn the_out_of_service_taint_comes_in_the_same_write_if_it_is_wanted() {
    let options = LifecycleOptions { out_of_service_taint: true, ..LifecycleOptions::default() };
    let world = World::with_options(vec![node("a", "False")], options);
    world.machines.say("a", there(Power::ShutDown));
    world.one_pass().await;
    let out_of_service =
        json!({"key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown", "effect": "NoExecute"});
    let [patch] = world.patches().try_into().unwrap();
    assert_eq!(patch[1]["value"], json!([shutdown_taint(), out_of_service]));
}

#[tokio::test(start_paused = true)]
async fn many_nodes_are_one_question_and_ready_ones_are_none() {
    let mut nodes: Vec<_> = (0..50).map(|n| node(&format!("down-{n}"), "Unknown")).collect();
    nodes.extend((0..50).map(|n| node(&format!("up-{n}"), "True")));
    let world = World::new(nodes);
    world.one_pass().await;
    assert_eq!(world.looks(), [50]);
    assert_eq!(world.questions().1, 0);
    let quiet = World::new(vec![node("a", "True")]);
    quiet.run(sleep(Duration::from_secs(60))).await.unwrap();
    assert_eq!(quiet.questions(), (0, 0));
    assert!(quiet.server().writes().is_empty());
}

#[tokio::test(start_paused = true)]
async fn nodes_are_looked_at_each_period_and_soon_after_one_ceased_to_be_ready() {
    let world = World::new(vec![node("a", "False"), node("b", "True")]);
    let began = Instant::now();
    let meanwhile = async {
        sleep(Duration::from_secs(11)).await;
        assert_eq!(world.looks(), [1, 1, 1], "at 0, 5 and 10 s");
        world.machines.say("b", there(Power::ShutDown));
        world.server().put(node("b", "Unknown"));
        eventually_virtual("a patch", || !world.patches().is_empty()).await;
    };
    world.run(meanwhile).await.unwrap();
    assert_eq!(world.looks(), [1, 1, 1, 2]);
    assert!((12_000..12_300).contains(&began.elapsed().as_millis()), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_heartbeat_between_look_and_write_does_not_make_the_write_fail() {
    let world = World::new(vec![node("a", "False")]);
    let meanwhile = async {
        sleep(Duration::from_secs(1)).await;
        world
            .server()
            .edit(&path("a"), |node| node["status"]["conditions"][0]["reason"] = json!("Heartbeat"));
        let newer = world.version("a");
        world.machines.say("a", there(Power::ShutDown));
        sleep(Duration::from_secs(5)).await;
        assert_eq!(world.patches()[0][0]["value"], newer);
    };
    world.run(meanwhile).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_deletion_that_is_refused_is_an_event_and_is_tried_again() {
    let world = World::new(vec![node("node0", "False")]);
    world.refuse_deletions(403);
    world.machines.say("node0", gone());
    world.run(sleep(Duration::from_secs(12))).await.unwrap();
    let [event] = world.events_of("DeletingNodeFailed").try_into().unwrap();
    assert_eq!(event["type"], "Warning");
    let message = event["message"].as_str().unwrap();
    assert!(message.starts_with("Failed deleting node node0: delete nodes node0"), "{message}");
    assert_eq!(world.questions(), (3, 3), "it is asked for again each time");
}

#[tokio::test(start_paused = true)]
async fn without_a_lease_nothing_is_written_and_nothing_announced() {
    let mut world = World::new(vec![node("a", "False"), node("b", "False")]);
    world.harness.fence = Arc::new(TestFence::closed());
    world.machines.say("a", gone());
    world.machines.say("b", there(Power::ShutDown));
    world.one_pass().await;
    assert!(world.server().writes().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_cloud_whose_machines_become_unavailable_stops_the_controller_with_the_reason() {
    let world = World::new(vec![node("a", "True")]);
    let meanwhile = async {
        sleep(Duration::from_secs(3)).await;
        world.cloud.set_instances(Capability::Unavailable("no Nova".to_owned()));
        sleep(Duration::from_secs(60)).await;
    };
    assert_eq!(world.run(meanwhile).await, Err(Stopped::Unavailable("no Nova".to_owned())));
}

#[tokio::test(start_paused = true)]
async fn a_cloud_that_asks_for_a_pause_is_left_alone_so_long() {
    let world = World::new(vec![node("a", "False")]);
    let throttled = Doubt {
        class: ErrorClass::Throttled,
        retry_after: Some(Duration::from_secs(30)),
        ..Doubt::new("429")
    };
    world.machines.say("a", Evidence::Unknown(throttled));
    world.run(sleep(Duration::from_secs(59))).await.unwrap();
    assert_eq!(world.questions(), (2, 0), "at 0 and 30 s");
}

#[tokio::test(start_paused = true)]
async fn a_stop_during_a_read_ends_it_and_nothing_is_written() {
    let world = World::new(vec![node("a", "Unknown")]);
    world.machines.say("a", gone());
    world.machines.take(Lookup::Confirm, Duration::from_secs(3_600));
    let began = Instant::now();
    world.run(sleep(Duration::from_secs(1))).await.unwrap();
    assert_eq!(began.elapsed().as_secs(), 1);
    assert!(world.server().writes().is_empty());
    assert!(world.shows(
        "cloud_node_lifecycle_controller_cloud_provider_calls_total{operation=\"instance_exists\",result=\"canceled\"} 1"
    ));
}

#[tokio::test(start_paused = true)]
async fn a_deletion_that_was_refused_costs_no_budget_and_one_that_may_have_happened_does() {
    for (code, tried) in [(403, 2), (500, 1)] {
        let world = World::new((0..10).map(|n| node(&format!("n{n}"), "Unknown")).collect());
        world.refuse_deletions(code);
        ["n4", "n7"].iter().for_each(|name| world.machines.say(name, gone()));
        world.run(sleep(Duration::from_secs(60))).await.unwrap();
        assert_eq!(world.events_of("DeletingNodeFailed").len(), tried, "{code}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_cloud_that_answers_for_too_few_nodes_has_said_nothing_about_the_rest() {
    let world = World::new(vec![node("a", "Unknown"), node("b", "Unknown"), node("c", "Unknown")]);
    world.machines.say("b", gone());
    world.machines.answer_at_most(1);
    world.one_pass().await;
    assert!(world.deleted().is_empty());
    assert!(world.shows("bowline_node_deletions_held{rail=\"evidence\"} 2"));
}

#[tokio::test(start_paused = true)]
async fn a_ready_node_does_not_wait_for_a_slow_cloud_to_lose_its_taint() {
    let tainted = with(node("b", "True"), "/spec/taints", json!([shutdown_taint()]));
    let world = World::new(vec![node("a", "Unknown"), tainted]);
    world.machines.take(Lookup::Observe, Duration::from_secs(3_600));
    world.one_pass().await;
    assert_eq!(world.patches().len(), 1);
}
