//! Every rail in a pair: it holds the harmful action back, and it lets the right one pass.

use super::*;

/// The system UUID of a physical machine.
const METAL: &str = "4c4c4544-0046-3510-8052-b4c04f4e4d32";

fn many(range: std::ops::Range<usize>, ready: &str) -> Vec<Value> {
    range.map(|n| node(&format!("n{n:03}"), ready)).collect()
}

/// A cluster of `all` nodes, of which the first `lost` are not ready and gone from the cloud.
fn cluster(all: usize, lost: usize) -> World {
    let mut nodes = many(0..lost, "Unknown");
    nodes.extend(many(lost..all, "True"));
    let world = World::new(nodes);
    (0..lost).for_each(|n| world.machines.say(&format!("n{n:03}"), gone()));
    world
}

async fn seconds(n: u64) {
    sleep(Duration::from_secs(n)).await;
}

fn held(world: &World, rail: &str, count: usize) -> bool {
    world.shows(&format!("bowline_node_deletions_held{{rail=\"{rail}\"}} {count}"))
}

#[tokio::test(start_paused = true)]
async fn sr1_only_proof_by_a_direct_read_deletes() {
    for (case, at_once, direct, deletes) in [
        ("both say gone", gone(), gone(), true),
        ("not in the snapshot, then proven gone", doubt(ErrorClass::NotFound), gone(), true),
        ("not in the snapshot, but there", doubt(ErrorClass::NotFound), there(Power::Running), false),
        ("gone at first, but there", gone(), there(Power::Running), false),
        ("gone at first, then a bad password", gone(), doubt(ErrorClass::Unauthenticated), false),
        ("a 404 that proves nothing", gone(), doubt(ErrorClass::NotFound), false),
        ("gone at first, then a time-out", gone(), doubt(ErrorClass::Transient), false),
        ("a bad password", doubt(ErrorClass::Unauthenticated), gone(), false),
        ("a time-out", doubt(ErrorClass::Transient), gone(), false),
    ] {
        let world = World::new(vec![node("a", "Unknown"), node("b", "True")]);
        world.machines.say_differently("a", at_once, direct);
        world.one_pass().await;
        assert_eq!(world.deleted().len(), usize::from(deletes), "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn sr1_a_node_that_is_kept_for_want_of_proof_is_told_why_once() {
    let world = World::new(vec![node("a", "Unknown")]);
    world.machines.say_differently("a", gone(), doubt(ErrorClass::Transient));
    world.run(seconds(60)).await.unwrap();
    let [event] = world.server().events().try_into().unwrap();
    assert_eq!(event["reason"], "NodeDeletionHeld");
    assert_eq!(
        event["message"],
        "Not deleting node a: the cloud gave no proof that its machine is gone: nobody knows"
    );
    assert!(held(&world, "evidence", 1));
}

#[tokio::test(start_paused = true)]
async fn sr1_a_cloud_that_does_not_answer_direct_reads_is_not_hammered() {
    let world = cluster(100, 20);
    let unclear = doubt(ErrorClass::Transient);
    (0..20).for_each(|n| world.machines.say_differently(&format!("n{n:03}"), gone(), unclear.clone()));
    world.one_pass().await;
    assert_eq!(world.questions(), (1, 3));
    assert!(held(&world, "evidence", 20));
}

#[tokio::test(start_paused = true)]
async fn sr2_a_tenth_goes_within_ten_minutes_and_the_next_tenth_after() {
    let world = cluster(100, 25);
    let meanwhile = async {
        seconds(590).await;
        assert_eq!(world.deleted().len(), 10);
        assert!(held(&world, "budget", 15));
        seconds(20).await;
    };
    world.run(meanwhile).await.unwrap();
    assert_eq!(world.deleted().len(), 19, "then a tenth of the ninety that are left");
    assert!(world.shows("bowline_node_deletion_breaker_open 0"));
}

#[tokio::test(start_paused = true)]
async fn sr2_when_more_than_a_third_seems_gone_none_is_deleted_and_it_is_told() {
    let world = cluster(100, 34);
    world.run(seconds(3_600)).await.unwrap();
    assert!(world.deleted().is_empty());
    assert!(world.shows("bowline_node_deletion_breaker_open 1"));
    assert!(held(&world, "breaker", 34));
    assert_eq!(world.questions().1, 0, "what will not be deleted is not read directly");
    let told = world.events_of("NodeDeletionHeld");
    assert_eq!(told.len(), 34, "each node once, though there were many passes");
    assert!(told[0]["message"].as_str().unwrap().contains("34 of 100 nodes seem gone at once"));
}

#[tokio::test(start_paused = true)]
async fn sr2_the_breaker_closes_when_reads_are_healthy_again() {
    let world = cluster(10, 10);
    let meanwhile = async {
        seconds(30).await;
        (0..10).for_each(|n| world.machines.say(&format!("n{n:03}"), there(Power::Running)));
        world.machines.say("n003", gone());
        seconds(50).await;
        assert!(world.controller.brake().is_open() && world.deleted().is_empty());
        seconds(30).await;
    };
    world.run(meanwhile).await.unwrap();
    assert!(!world.controller.brake().is_open());
    assert_eq!(world.deleted(), ["n003"], "the one that is gone indeed");
}

#[tokio::test(start_paused = true)]
async fn sr2_the_breaker_stays_open_while_the_cloud_does_not_answer() {
    let world = cluster(10, 10);
    let meanwhile = async {
        seconds(30).await;
        (0..10).for_each(|n| world.machines.say(&format!("n{n:03}"), doubt(ErrorClass::Transient)));
        seconds(600).await;
    };
    world.run(meanwhile).await.unwrap();
    assert!(world.controller.brake().is_open());
}

#[tokio::test(start_paused = true)]
async fn sr2_a_person_who_resets_the_breaker_lets_them_go_within_the_budget() {
    let world = cluster(20, 10);
    let brake = world.controller.brake();
    let meanwhile = async {
        seconds(30).await;
        assert!(brake.reset());
        seconds(30).await;
        assert_eq!(world.deleted().len(), 2, "a tenth");
        seconds(600).await;
    };
    world.run(meanwhile).await.unwrap();
    assert_eq!(world.deleted().len(), 3, "and a tenth of the eighteen that are left");
}

#[tokio::test(start_paused = true)]
async fn sr2_announced_removals_do_not_count_and_do_not_wait() {
    let autoscaler = json!([{"key": "ToBeDeletedByClusterAutoscaler", "value": "1", "effect": "NoSchedule"}]);
    let mut nodes: Vec<_> = many(0..10, "Unknown")
        .into_iter()
        .map(|node| with(node, "/spec/taints", autoscaler.clone()))
        .collect();
    let released = json!({plan::RELEASE_ANNOTATION: "true"});
    nodes.extend(
        many(10..12, "Unknown").into_iter().map(|n| with(n, "/metadata/annotations", released.clone())),
    );
    nodes.extend(many(12..14, "Unknown"));
    nodes.extend(many(14..20, "True"));
    let world = World::new(nodes);
    (0..13).for_each(|n| world.machines.say(&format!("n{n:03}"), gone()));
    world.one_pass().await;
    assert_eq!(world.deleted().len(), 13, "twelve were announced, one more is within the budget");
    assert!(world.shows("bowline_node_deletion_breaker_open 0"));
    assert!(world.shows("bowline_nodes_deleted_total 13"));
}

#[tokio::test(start_paused = true)]
async fn sr2_nodes_that_are_being_deleted_do_not_count_and_are_not_deleted_twice() {
    let going = |node| {
        with(with(node, "/metadata/deletionTimestamp", json!(NOW)), "/spec/unschedulable", json!(true))
    };
    let mut nodes: Vec<_> = many(0..5, "Unknown").into_iter().map(going).collect();
    nodes.extend(many(5..6, "Unknown"));
    nodes.extend(many(6..10, "True"));
    let world = World::new(nodes);
    (0..6).for_each(|n| world.machines.say(&format!("n{n:03}"), gone()));
    world.one_pass().await;
    assert_eq!(world.deleted(), ["n005"]);
}

#[tokio::test(start_paused = true)]
async fn sr4_nodes_of_others_are_never_touched_and_ours_beside_them_are() {
    let foreign = |name: &str, ready: &str| with(node(name, ready), "/spec/providerID", json!("metal://1"));
    let world = World::new(vec![
        foreign("gone", "Unknown"),
        foreign("stopped", "Unknown"),
        with(foreign("ready", "True"), "/spec/taints", json!([shutdown_taint()])),
        node("ours", "Unknown"),
    ]);
    world.machines.say("gone", gone());
    world.machines.say("stopped", there(Power::ShutDown));
    world.machines.say("ours", gone());
    world.one_pass().await;
    assert_eq!(world.deleted(), ["ours"]);
    assert!(world.patches().is_empty());
    assert_eq!(world.looks(), [1], "the cloud is not even asked");
    assert!(held(&world, "claim", 2));
}

/// A Node as a machine registers that no cloud-controller-manager ever initialised: bare metal, for example.
fn without_id(node: Value) -> Value {
    with(node, "/spec/providerID", Value::Null)
}

/// Ten Ready Nodes of ours, so that neither the budget nor the breaker stops anything, and these.
fn beside_ten(others: Vec<Value>) -> World {
    let mut nodes = many(0..10, "True");
    nodes.extend(others);
    World::new(nodes)
}

#[tokio::test(start_paused = true)]
async fn sr4_node_without_provider_id_never_found_in_cloud_is_not_deleted() {
    for (at_once, direct) in [(doubt(ErrorClass::NotFound), gone()), (gone(), gone())] {
        let metal =
            with(without_id(node("metal", "Unknown")), "/status/nodeInfo", json!({"systemUUID": METAL}));
        let world = beside_ten(vec![metal]);
        world.machines.say_differently("metal", at_once, direct);
        world.run(seconds(3_600)).await.unwrap();
        assert!(world.deleted().is_empty() && world.patches().is_empty());
        assert!(held(&world, "claim", 1));
        assert_eq!(world.questions().1, 0, "no proof could delete it, so none is asked for");
        let [event] = world.server().events().try_into().unwrap();
        assert_eq!(
            (event["reason"].as_str(), event["type"].as_str()),
            (Some("NodeDeletionHeld"), Some("Normal"))
        );
        let message = event["message"].as_str().unwrap();
        assert!(message.contains("no cloud ever found a machine for this Node"), "{message}");
    }
}

/// A machine that the cloud shows under its provider ID.
fn identified(name: &str, power: Power) -> Evidence<Instance> {
    Evidence::Present(Instance { provider_id: format!("fake://{name}"), power, ..Instance::default() })
}

/// The cloud has no machine of this name any more, and proves it for the provider ID that the machine had.
fn is_gone_now(world: &World, name: &str) {
    world.machines.say(name, doubt(ErrorClass::NotFound));
    world.machines.say(&format!("fake://{name}"), gone());
}

#[tokio::test(start_paused = true)]
async fn sr4_node_without_provider_id_found_once_is_deleted_when_its_machine_is_gone() {
    let world = beside_ten(vec![without_id(node("ours", "Unknown"))]);
    world.machines.say("ours", identified("ours", Power::Running));
    let meanwhile = async {
        seconds(7).await;
        is_gone_now(&world, "ours");
        seconds(20).await;
    };
    world.run(meanwhile).await.unwrap();
    assert_eq!(world.deleted(), ["ours"]);
    assert!(held(&world, "claim", 0));
}

#[tokio::test(start_paused = true)]
async fn sr4_the_next_leader_knows_which_nodes_without_provider_id_were_found() {
    let carried = Ledger::default();
    let lead = || {
        let mut world =
            beside_ten(vec![without_id(node("ours", "Unknown")), without_id(node("metal", "Unknown"))]);
        world.harness.machines = SeenMachines::kept_in(carried.clone());
        world.machines.say("metal", doubt(ErrorClass::NotFound));
        world.machines.say("fake://metal", gone());
        world
    };
    let first = lead();
    first.machines.say("ours", identified("ours", Power::Running));
    first.one_pass().await;
    let next = lead();
    is_gone_now(&next, "ours");
    next.one_pass().await;
    assert_eq!(next.deleted(), ["ours"], "and never the one that no leader found");
    assert!(held(&next, "claim", 1));
}

#[tokio::test(start_paused = true)]
async fn sr4_a_node_without_provider_id_stays_while_a_machine_of_its_name_is_there_or_may_be() {
    for (case, by_name) in [
        ("made anew since", identified("other", Power::Running)),
        ("several of its name", doubt(ErrorClass::Invalid)),
        ("no answer", doubt(ErrorClass::Transient)),
    ] {
        let world = beside_ten(vec![without_id(node("a", "Unknown"))]);
        world.harness.machines.saw(&NodeView { uid: "uid-a".into(), ..NodeView::default() }, "fake://a");
        world.machines.say_differently("a", doubt(ErrorClass::NotFound), by_name);
        world.machines.say("fake://a", gone());
        world.one_pass().await;
        assert!(world.deleted().is_empty(), "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn sr4_nodes_that_no_cloud_found_neither_open_the_breaker_nor_widen_the_budget() {
    let metal = (0..20).map(|n| without_id(node(&format!("metal{n:02}"), "Unknown")));
    let world = World::new(metal.chain(many(0..2, "Unknown")).chain(many(2..10, "True")).collect());
    (0..20).for_each(|n| world.machines.say(&format!("metal{n:02}"), doubt(ErrorClass::NotFound)));
    (0..2).for_each(|n| world.machines.say(&format!("n{n:03}"), gone()));
    world.one_pass().await;
    assert_eq!(world.deleted(), ["n000"], "one in ten");
    assert!(world.shows("bowline_node_deletion_breaker_open 0") && held(&world, "claim", 20));
}

#[tokio::test(start_paused = true)]
async fn sr4_the_shutdown_taint_of_a_ready_node_without_provider_id_goes_only_if_its_machine_is_found() {
    for (found, patches) in [(doubt(ErrorClass::NotFound), 0), (identified("a", Power::Running), 1)] {
        let ready = with(without_id(node("a", "True")), "/spec/taints", json!([shutdown_taint()]));
        let world = beside_ten(vec![ready]);
        world.machines.say("a", found);
        world.one_pass().await;
        assert_eq!(world.patches().len(), patches);
        assert!(world.deleted().is_empty() && held(&world, "claim", 0));
    }
}

#[tokio::test(start_paused = true)]
async fn sr5_a_node_is_deleted_by_its_uid_and_a_namesake_that_came_meanwhile_is_not() {
    let world = World::new(vec![node("a", "Unknown")]);
    world.machines.say("a", gone());
    world.one_pass().await;
    let delete = world.server().writes().into_iter().find(|(what, _)| what.starts_with("DELETE"));
    assert_eq!(delete.unwrap().1["preconditions"], json!({"uid": "uid-a"}));

    let world = World::new(vec![node("a", "True")]);
    world.machines.say("a", gone());
    let meanwhile = async {
        seconds(1).await;
        let new = with(node("a", "Unknown"), "/metadata/uid", json!("uid-2"));
        world.server().put(with(new, "/metadata/creationTimestamp", json!(NOW)));
        seconds(60).await;
    };
    world.run(meanwhile).await.unwrap();
    assert!(
        world.deleted().is_empty(),
        "it is too new, and nothing that was known of the old one holds for it"
    );
}

/// The direct read takes two seconds; what happens meanwhile counts.
#[tokio::test(start_paused = true)]
async fn sr5_a_node_that_comes_back_during_the_direct_read_is_not_deleted() {
    let without_id = with(node("a", "Unknown"), "/spec/providerID", Value::Null);
    for (case, before, now, deletes) in [
        ("it stays away", node("a", "Unknown"), node("a", "False"), true),
        ("it becomes Ready", node("a", "Unknown"), node("a", "True"), false),
        (
            "another has its name",
            node("a", "Unknown"),
            with(node("a", "Unknown"), "/metadata/uid", json!("2")),
            false,
        ),
        ("it gets its provider ID", without_id, node("a", "Unknown"), false),
        (
            "its deletion is asked for",
            node("a", "Unknown"),
            with(node("a", "Unknown"), "/metadata/deletionTimestamp", json!(NOW)),
            false,
        ),
    ] {
        let world = World::new(vec![before]);
        world.machines.say("a", gone());
        world.harness.machines.saw(&NodeView { uid: "uid-a".into(), ..NodeView::default() }, "fake://a");
        world.machines.take(Lookup::Confirm, Duration::from_secs(2));
        let meanwhile = async {
            seconds(1).await;
            world.server().put(now.clone());
            world.machines.say("a", there(Power::Running));
            seconds(3).await;
        };
        world.run(meanwhile).await.unwrap();
        assert_eq!(world.deleted().len(), usize::from(deletes), "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn sr14_a_new_node_is_spared_for_five_minutes_and_then_goes() {
    for provider_id in [json!("fake://a"), Value::Null] {
        let new = with(node("a", "False"), "/metadata/creationTimestamp", json!(NOW));
        let world = World::new(vec![with(new, "/spec/providerID", provider_id.clone())]);
        world.machines.say("a", gone());
        if provider_id.is_null() {
            world.harness.machines.saw(&NodeView { uid: "uid-a".into(), ..NodeView::default() }, "fake://a");
        }
        let meanwhile = async {
            seconds(299).await;
            assert!(world.deleted().is_empty() && held(&world, "grace", 1));
            seconds(10).await;
        };
        world.run(meanwhile).await.unwrap();
        assert_eq!(world.deleted(), ["a"]);
        assert_eq!(world.events_of("NodeDeletionHeld").len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn sr14_a_new_node_whose_machine_was_seen_goes_at_once() {
    let new = with(node("a", "False"), "/metadata/creationTimestamp", json!(NOW));
    let world = World::new(vec![new]);
    let meanwhile = async {
        seconds(7).await;
        world.machines.say("a", gone());
        seconds(5).await;
    };
    world.run(meanwhile).await.unwrap();
    assert_eq!(world.deleted(), ["a"]);
}

#[tokio::test(start_paused = true)]
async fn sr14_a_new_node_whose_machine_another_controller_saw_goes_at_once_and_one_of_another_id_does_not() {
    for (uid, seen, goes) in
        [("uid-a", "fake://a", true), ("uid-a", "fake://b", false), ("uid-before", "fake://a", false)]
    {
        let new = with(node("a", "False"), "/metadata/creationTimestamp", json!(NOW));
        let world = World::new(vec![new]);
        world.machines.say("a", gone());
        // As the node controller does when it has initialised a Node that had no ID before.
        world.harness.machines.saw(&NodeView { uid: uid.into(), ..NodeView::default() }, seen);
        world.one_pass().await;
        assert_eq!(world.deleted().len(), usize::from(goes), "{uid} {seen}");
        assert!(goes || held(&world, "grace", 1));
    }
}

#[tokio::test(start_paused = true)]
async fn sr14_a_node_that_is_spared_is_forgotten_when_its_age_speaks_for_it() {
    let world = World::new(vec![node("a", "True")]);
    let old = NodeView { uid: "uid-a".into(), provider_id: Some("fake://a".into()), ..NodeView::default() };
    world.harness.machines.saw(&old, "fake://a");
    world.one_pass().await;
    assert!(!world.harness.machines.knows(&old), "nothing is kept for nodes that the rail does not hold");
}

#[tokio::test(start_paused = true)]
async fn sr14_new_nodes_that_the_cloud_does_not_know_yet_do_not_open_the_breaker() {
    let new = many(0..8, "False").into_iter().map(|n| with(n, "/metadata/creationTimestamp", json!(NOW)));
    let mut nodes: Vec<_> = new.collect();
    nodes.extend(many(8..10, "Unknown"));
    let world = World::new(nodes);
    (0..9).for_each(|n| world.machines.say(&format!("n{n:03}"), doubt(ErrorClass::NotFound)));
    world.machines.say_differently("n008", doubt(ErrorClass::NotFound), gone());
    world.one_pass().await;
    assert_eq!(world.deleted(), ["n008"], "an old one that is gone goes nevertheless");
    assert!(!world.controller.brake().is_open());
}
