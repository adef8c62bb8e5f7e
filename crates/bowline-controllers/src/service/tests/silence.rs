//! A cloud that does not come back, and one that has no load balancers (now, or ever).

use bowline_cloud::Capability;
use serde_json::json;

use super::fairness::finished;
use super::*;

#[tokio::test(start_paused = true)]
async fn a_look_that_never_ends_is_given_up_and_told_and_the_next_one_serves() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    cloud.state().hangs_in = Some("observe");
    cluster.put("web", |_| {});
    let meanwhile = async {
        seconds(299).await;
        assert_eq!(cluster.condition("web"), None);
        seconds(5).await;
        let [status, reason, message] = cluster.condition("web").unwrap();
        assert_eq!((status.as_str(), reason.as_str()), ("Unknown", "CloudNotObserved"));
        assert!(message.contains("did not answer within 5 min"), "{message}");
        assert!(cloud.changes().is_empty(), "silence proves nothing");
        cloud.state().hangs_in = None;
        seconds(320).await;
    };
    run(&cluster, &cloud, meanwhile).await;
    assert_eq!(cloud.changes().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_create_whose_answer_never_comes_is_looked_for_before_it_is_tried_again() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    cloud.state().hangs_in = Some("execute");
    cluster.put("web", |_| {});
    let meanwhile = async {
        seconds(899).await;
        cloud.state().hangs_in = None;
        seconds(60).await;
    };
    run(&cluster, &cloud, meanwhile).await;
    assert_eq!(cloud.changes(), ["create s-web", "ports s-web [80]", "nodes s-web a"], "created once");
    let events = cluster.events();
    let told = |text: &str| text.contains("did not answer within 15 min; it may have taken effect");
    assert!(events.iter().any(|(_, _, text)| told(text)), "{events:?}");
}

#[tokio::test(start_paused = true)]
async fn one_whose_change_hangs_delays_no_other() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    cloud.state().hangs_in = Some("execute");
    cluster.put("stuck", |_| {});
    let meanwhile = async {
        seconds(10).await;
        cloud.state().hangs_in = None;
        cluster.put("web", |_| {});
        seconds(10).await;
        assert!(cluster.condition("web").is_some());
    };
    run(&cluster, &cloud, meanwhile).await;
}

/// A hundred Services whose `call` hangs, not all of them at once, and one that is created after `later`.
async fn served_beside_a_hundred_that_hang_in(call: &'static str, later: u64) {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    cloud.state().hangs_in = Some(call);
    cloud.state().hangs_for = "s-stuck";
    let meanwhile = async {
        for n in 0..100 {
            if n % 20 == 0 {
                seconds(1).await;
            }
            cluster.put(&format!("stuck-{n}"), |_| {});
        }
        seconds(later).await;
        cluster.put("web", |_| {});
        seconds(10).await;
        assert!(cluster.condition("web").is_some(), "{later} s after the start");
        cluster.put("web", |s| s["spec"]["ports"][0]["port"] = json!(81));
        seconds(10).await;
        assert_eq!(cloud.state().balancers["s-web"].ports, [81]);
        assert!(cluster.condition("stuck-1").is_none_or(|[_, reason, _]| reason != "Ensured"));
        // What was begun is finished at the end, and that would be a quarter of an hour.
        cloud.state().hangs_in = None;
    };
    run(&cluster, &cloud, meanwhile).await;
}

#[tokio::test(start_paused = true)]
async fn a_hundred_whose_changes_hang_delay_no_other() {
    for later in [1, 60, 950] {
        served_beside_a_hundred_that_hang_in("execute", later).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_hundred_that_cannot_be_looked_at_delay_no_other() {
    for later in [1, 330, 1000] {
        served_beside_a_hundred_that_hang_in("observe", later).await;
    }
}

/// A thousand Services for which nobody waits, and some that are new, none of which can be looked at; and one that can.
async fn served_beside_a_thousand_that_cannot_be_looked_at(later: u64) {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    for n in 0..1000 {
        finished(&cluster, &cloud, "shop", &format!("stuck-{n}"));
    }
    cloud.state().hangs_in = Some("observe");
    cloud.state().hangs_for = "s-stuck";
    let meanwhile = async {
        seconds(later).await;
        for n in 0..10 {
            seconds(1).await;
            cluster.put(&format!("stuck-new-{n}"), |_| {});
        }
        seconds(1).await;
        cluster.put("web", |_| {});
        seconds(10).await;
        assert!(cluster.condition("web").is_some(), "{later} s after the start");
        cluster.put("web", |s| s["spec"]["ports"][0]["port"] = json!(81));
        seconds(10).await;
        assert_eq!(cloud.state().balancers["s-web"].ports, [81], "{later} s after the start");
        cloud.state().hangs_in = None;
    };
    run(&cluster, &cloud, meanwhile).await;
}

#[tokio::test(start_paused = true)]
async fn a_thousand_that_cannot_be_looked_at_delay_no_other() {
    for later in [1, 330] {
        served_beside_a_thousand_that_cannot_be_looked_at(later).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_cloud_without_load_balancers_ends_the_controller_and_one_without_them_now_asks_for_another_try() {
    let cases = [
        (Capability::Unsupported, Stopped::NotWanted("the cloud fake has no load balancers".into())),
        (Capability::Unavailable("no Octavia".into()), Stopped::Unavailable("no Octavia".into())),
    ];
    for (capability, expected) in cases {
        let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
        cloud.state().capability = Some(capability);
        cluster.put("web", |_| {});
        let options = ServiceOptions::default();
        let ended = run_to_the_end(&cluster, &cloud, options, Arc::new(Unfenced), seconds(60)).await;
        assert_eq!(ended, Err(expected));
        assert!(cloud.state().looks.is_empty() && cluster.patches().is_empty());
        assert!(cluster.reasons().is_empty());
        // The service of the cloud came, and the manager starts the controller again.
        cloud.state().capability = None;
        run(&cluster, &cloud, seconds(60)).await;
        assert_eq!(cloud.changes().len(), 3);
    }
}
