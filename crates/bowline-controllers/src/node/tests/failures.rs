//! What goes wrong: the cloud, the API server, other people, the lease.

use std::sync::Arc;
use std::time::Duration;

use bowline_cloud::{Capability, CloudError, Doubt, ErrorClass, Evidence, Instance, Proof};
use bowline_testkit::eventually_virtual;
use bowline_testkit::fence::TestFence;
use bowline_testkit::provider::FakeCloud;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::{FakeInstances, Lookup, Run, Server, UNINITIALIZED, instance, node, tainted};
use crate::controller::Stopped;

fn unknown(why: &str) -> Evidence<Instance> {
    Evidence::Unknown(Doubt::new(why))
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_an_event_and_a_metric_and_is_retried_within_a_minute() {
    let server = Server::with([tainted("n")]);
    let script = FakeInstances::with([("n", unknown("Nova did not answer"))]);
    let metrics = Run::on(&server, &script).for_seconds(600).await;
    assert!(server.patches().is_empty(), "the taint stays");
    let message =
        "Node could not be initialized: the cloud cannot tell about this machine: Nova did not answer";
    assert_eq!(server.events(), [("CloudNodeInitializationFailed".to_owned(), message.to_owned())]);
    assert_eq!(metrics.node.failing.get(), 1);
    // 1, 2, 4, 8, 16 and 32 s, then once a minute.
    assert!((14..=16).contains(&script.observed().len()), "{}", script.observed().len());
    assert_eq!(metrics.node.failures("unknown"), script.observed().len() as u64);
}

#[tokio::test(start_paused = true)]
async fn a_node_is_initialised_soon_after_the_cloud_knows_it_and_the_delay_is_measured() {
    let server = Server::with([tainted("n")]);
    let script = FakeInstances::with([("n", Evidence::Absent(Proof::new("Nova answered 404 for server n")))]);
    let comes = async {
        sleep(Duration::from_secs(200)).await;
        script.say("n", Evidence::Present(instance("n")));
        let began = Instant::now();
        eventually_virtual("both patches", || server.patches().len() == 2).await;
        assert!(began.elapsed() <= Duration::from_secs(61), "{:?}", began.elapsed());
    };
    let metrics = Run::on(&server, &script).during(comes).await.unwrap();
    assert_eq!(metrics.node.failing.get(), 0);
    let mut registry = Registry::default();
    registry.register("taint", "", metrics.taint_removal_delay_seconds.clone());
    registry.register("sync", "", metrics.initial_node_sync_delay_seconds.clone());
    let mut scrape = String::new();
    encode(&mut scrape, &registry).unwrap();
    for wanted in
        ["taint_count 1", "sync_count 1", r#"taint_bucket{le="256.0"} 0"#, r#"taint_bucket{le="1024.0"} 1"#]
    {
        assert!(scrape.contains(wanted), "{wanted}: registered a minute before the start\n{scrape}");
    }
}

#[tokio::test(start_paused = true)]
async fn one_node_that_fails_holds_up_no_other() {
    let server = Server::with([tainted("bad"), tainted("good")]);
    let script =
        FakeInstances::with([("bad", unknown("broken")), ("good", Evidence::Present(instance("good")))]);
    Run::on(&server, &script).for_seconds(1).await;
    assert_eq!(server.node("good")["spec"]["taints"], Value::Null);
    assert_eq!(server.node("bad")["spec"]["taints"][0]["key"], UNINITIALIZED);
}

#[tokio::test(start_paused = true)]
async fn the_cloud_is_asked_again_when_it_wants_to_be() {
    let server = Server::with([tainted("n")]);
    let doubt = Doubt { retry_after: Some(Duration::from_secs(150)), ..Doubt::new("too many requests") };
    let script = FakeInstances::with([("n", Evidence::Unknown(doubt))]);
    Run::on(&server, &script).for_seconds(200).await;
    assert_eq!(script.observed().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_cloud_that_answers_too_little_has_not_answered() {
    let server = Server::with([tainted("n"), node("m")]);
    let script = FakeInstances::with([]);
    script.answer_at_most(0);
    Run::on(&server, &script).for_seconds(1).await;
    assert!(server.patches().is_empty());
    assert!(server.events()[0].1.contains("fewer answers"), "{:?}", server.events());
}

#[tokio::test(start_paused = true)]
async fn a_machine_without_addresses_stays_tainted_unless_kubelet_knows_an_ip() {
    let mut knows = tainted("knows");
    knows["status"]["addresses"] = json!([{"type": "InternalIP", "address": "10.9.9.9"}]);
    let server = Server::with([tainted("n"), knows]);
    let bare = |name: &str| Evidence::Present(Instance { addresses: vec![], ..instance(name) });
    let script = FakeInstances::with([("n", bare("n")), ("knows", bare("knows"))]);
    let metrics = Run::on(&server, &script).for_seconds(10).await;
    assert_eq!(server.node("n")["spec"]["taints"][0]["key"], UNINITIALIZED);
    assert!(metrics.node.failures("no_addresses") > 0);
    let known = server.node("knows");
    assert_eq!(known["spec"]["taints"], Value::Null);
    assert_eq!(known["status"]["addresses"][0]["address"], "10.9.9.9", "nothing is cleared");
}

#[tokio::test(start_paused = true)]
async fn a_taint_that_somebody_adds_in_between_is_not_lost() {
    let theirs = json!([
        {"key": "theirs", "effect": "NoSchedule"}, {"key": UNINITIALIZED, "effect": "NoSchedule"},
    ]);
    for skip_addresses in [false, true] {
        let mut waiting = tainted("n");
        if skip_addresses {
            waiting["status"]["addresses"] = json!(instance("n").addresses);
        }
        let server = Server::with([waiting]);
        server.merge_before_next_patch("n", json!({"spec": {"taints": theirs}}));
        Run::on(&server, &FakeInstances::with([("n", Evidence::Present(instance("n")))]))
            .for_seconds(5)
            .await;
        assert_eq!(server.node("n")["spec"]["taints"], json!([{"key": "theirs", "effect": "NoSchedule"}]));
        assert_eq!(server.events().len(), 1, "a conflict is nobody's failure: {:?}", server.events());
    }
}

#[tokio::test(start_paused = true)]
async fn a_conflict_on_a_late_picture_is_retried_until_the_picture_is_right() {
    let server = Server::with([tainted("n")]);
    let script = FakeInstances::with([("n", Evidence::Present(instance("n")))]);
    let late = async {
        sleep(Duration::from_millis(50)).await;
        server.deliver_only(0);
        server.merge("n", &json!({"metadata": {"labels": {"theirs": "1"}}}));
        sleep(Duration::from_secs(3)).await;
        assert_eq!(server.node("n")["spec"]["taints"][0]["key"], UNINITIALIZED);
        server.catch_up();
        sleep(Duration::from_secs(3)).await;
    };
    Run::on(&server, &script).during(late).await.unwrap();
    assert_eq!(server.node("n")["spec"]["taints"], Value::Null);
    assert_eq!(server.node("n")["metadata"]["labels"]["theirs"], "1");
}

#[tokio::test(start_paused = true)]
async fn an_api_server_that_fails_is_tried_again_and_told_about() {
    let server = Server::with([tainted("n")]);
    server.fail_next([500, 403]);
    let metrics = Run::on(&server, &FakeInstances::with([("n", Evidence::Present(instance("n")))]))
        .for_seconds(30)
        .await;
    assert_eq!(server.node("n")["spec"]["taints"], Value::Null);
    assert_eq!(metrics.node.failures("write"), 2);
    let (failed, synced): (Vec<_>, Vec<_>) =
        server.events().into_iter().partition(|(reason, _)| reason == "CloudNodeInitializationFailed");
    assert_eq!((failed.len(), synced.len()), (2, 1));
    assert!(failed[1].1.contains("grant verb \"patch\""), "{failed:?}");
}

#[tokio::test(start_paused = true)]
async fn without_a_lease_nothing_is_written_and_nobody_is_told() {
    let server = Server::with([tainted("n"), node("m")]);
    let script = FakeInstances::with([
        ("n", Evidence::Present(instance("n"))),
        ("m", Evidence::Present(instance("m"))),
    ]);
    let mut run = Run::on(&server, &script);
    run.harness.fence = Arc::new(TestFence::closed());
    run.for_seconds(120).await;
    assert!(server.patches().is_empty() && server.events().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_namesake_gets_nothing_that_was_decided_for_the_old_node() {
    let server = Server::with([tainted("n")]);
    let script = FakeInstances::with([("n", Evidence::Present(instance("n")))]);
    script.take(Lookup::Observe, Duration::from_secs(5));
    let replace = async {
        sleep(Duration::from_secs(2)).await;
        let mut other = tainted("n");
        other["metadata"]["uid"] = json!("uid-other");
        server.put(other);
        script.say("n", unknown("not yet"));
        sleep(Duration::from_secs(30)).await;
    };
    Run::on(&server, &script).during(replace).await.unwrap();
    assert!(server.patches().is_empty());
}

#[tokio::test(start_paused = true)]
async fn two_nodes_of_one_machine_are_both_initialised_and_both_told_about() {
    let server = Server::with([tainted("old"), tainted("new")]);
    let same = |name: &str| Evidence::Present(Instance { provider_id: "fake://1".into(), ..instance(name) });
    Run::on(&server, &FakeInstances::with([("old", same("old")), ("new", same("new"))])).for_seconds(5).await;
    let told: Vec<_> = server
        .events()
        .into_iter()
        .filter(|(reason, _)| reason == "DuplicateProviderID")
        .map(|(_, m)| m)
        .collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].contains("fake://1 is also that of old"), "{told:?}");
    assert_eq!(server.node("old")["spec"]["taints"], Value::Null);
    assert_eq!(server.node("new")["spec"]["taints"], Value::Null);
}

#[tokio::test(start_paused = true)]
async fn a_cloud_without_instances_has_no_use_for_this_controller() {
    for (capability, stopped) in [
        (Capability::Unsupported, Stopped::NotWanted("the cloud has no instances to look up".to_owned())),
        (Capability::Unavailable("no Nova".to_owned()), Stopped::Unavailable("no Nova".to_owned())),
    ] {
        let cloud = FakeCloud::default();
        cloud.set_instances(capability);
        let ended = Run::over(&Server::with([]), cloud).during(sleep(Duration::from_secs(1))).await;
        assert_eq!(ended.err(), Some(stopped));
    }
}

#[tokio::test(start_paused = true)]
async fn a_look_up_that_never_ends_is_given_up_told_and_made_again() {
    let server = Server::with([tainted("n")]);
    let script = FakeInstances::with([]);
    script.take(Lookup::Observe, Duration::from_secs(1 << 30));
    Run::on(&server, &script).for_seconds(700).await;
    assert!(server.patches().is_empty(), "silence proves nothing");
    let (reason, message) = server.events().first().unwrap().clone();
    assert_eq!(reason, "CloudNodeInitializationFailed");
    assert!(message.contains("did not answer within 5 min"), "{message}");
    assert!(script.observed().len() >= 3, "both loops go on: {}", script.observed().len());
}

#[tokio::test(start_paused = true)]
async fn while_the_cluster_is_paused_a_node_waits_and_afterwards_it_is_initialised_at_once() {
    let server = Server::with([tainted("n")]);
    let script = FakeInstances::with([("n", Evidence::Present(instance("n")))]);
    let fence = TestFence::paused_for("rack 7 moves");
    let mut run = Run::on(&server, &script);
    run.harness.fence = Arc::new(fence.clone());
    let meanwhile = async {
        sleep(Duration::from_secs(600)).await;
        assert!(server.patches().is_empty());
        fence.resume();
        sleep(Duration::from_secs(6)).await;
        assert_eq!(server.patches().len(), 2);
    };
    run.during(meanwhile).await.unwrap();
    let events = server.events();
    assert_eq!(
        events.iter().map(|(reason, _)| reason.as_str()).collect::<Vec<_>>(),
        ["CloudNodeInitializationPaused", "Synced"]
    );
    assert!(events[0].1.contains("rack 7 moves"), "{events:?}");
}

#[tokio::test(start_paused = true)]
async fn a_node_that_a_closed_fence_held_is_initialised_soon_after_it_opens_and_not_after_its_back_off() {
    let lost = CloudError::new(ErrorClass::Unauthenticated, "401");
    for seen in [Evidence::Present(instance("n")), Evidence::Unknown(Doubt::from(&lost))] {
        let (server, gate) = (Server::with([tainted("n")]), TestFence::closed());
        let script = FakeInstances::with([("n", seen)]);
        let mut run = Run::on(&server, &script);
        run.harness.fence = Arc::new(gate.clone());
        let opens = async {
            sleep(Duration::from_secs(610)).await;
            assert!(server.patches().is_empty());
            script.say("n", Evidence::Present(instance("n")));
            gate.open();
            sleep(Duration::from_secs(6)).await;
            assert_eq!(server.patches().len(), 2);
        };
        run.during(opens).await.unwrap();
    }
}
