//! SR-15 and silence: a paused cluster, and a cloud that does not come back.

use super::*;

async fn seconds(n: u64) {
    sleep(Duration::from_secs(n)).await;
}

#[tokio::test(start_paused = true)]
async fn while_the_cluster_is_paused_no_node_is_deleted_or_tainted_and_afterwards_they_are() {
    let mut world = World::new(vec![node("gone", "Unknown"), node("off", "Unknown"), node("up", "True")]);
    world.machines.say("gone", gone());
    world.machines.say("off", there(Power::ShutDown));
    let fence = TestFence::paused_for("rack 7 moves");
    world.harness.fence = Arc::new(fence.clone());
    let meanwhile = async {
        seconds(600).await;
        assert!(world.deleted().is_empty() && world.patches().is_empty());
        assert!(world.shows("bowline_node_deletions_held{rail=\"pause\"} 1"));
        assert!(world.questions().0 > 50, "looks go on");
        fence.resume();
        seconds(10).await;
    };
    world.run(meanwhile).await.unwrap();
    assert_eq!(world.deleted(), ["gone"]);
    assert!(!world.patches().is_empty(), "the taint is set");
    let [event] = world.events_of("NodeDeletionHeld").try_into().unwrap();
    assert!(event["message"].as_str().unwrap().contains("rack 7 moves"), "{event}");
}

#[tokio::test(start_paused = true)]
async fn a_look_that_never_ends_deletes_nothing_and_the_next_one_counts() {
    let world = World::new(vec![node("a", "Unknown"), node("b", "True")]);
    world.machines.say("a", gone());
    world.machines.take(Lookup::Observe, Duration::from_secs(1 << 30));
    let meanwhile = async {
        seconds(304).await;
        assert!(world.deleted().is_empty());
        assert!(world.shows("bowline_node_deletions_held{rail=\"evidence\"} 1"));
        world.machines.take(Lookup::Observe, Duration::ZERO);
        // The second look is under way, and given up too.
        seconds(310).await;
    };
    world.run(meanwhile).await.unwrap();
    assert_eq!(world.deleted(), ["a"]);
}

#[tokio::test(start_paused = true)]
async fn a_direct_read_that_never_ends_proves_nothing() {
    let world = World::new(vec![node("a", "Unknown"), node("b", "True")]);
    world.machines.say("a", gone());
    world.machines.take(Lookup::Confirm, Duration::from_secs(1 << 30));
    world.run(seconds(304)).await.unwrap();
    assert!(world.deleted().is_empty());
    let [event] = world.events_of("NodeDeletionHeld").try_into().unwrap();
    let message = event["message"].as_str().unwrap();
    assert!(
        message.contains("did not answer within 5 min when asked for the instance of node a"),
        "{message}"
    );
}
