//! The condition of a Service: what it says, when it is worth a write, and what it must not cause.

use bowline_cloud::{CloudError, Doubt, ErrorClass};
use serde_json::json;
use sim_kube::Verdict;

use super::*;

fn said(status: &str, reason: &str, message: &str) -> Option<[String; 3]> {
    Some([status, reason, message].map(str::to_owned))
}

fn ready() -> Option<[String; 3]> {
    said("True", "Ensured", "The load balancer is as the Service asks")
}

#[tokio::test(start_paused = true)]
async fn a_service_that_is_served_quickly_says_so_with_its_status_at_no_further_cost() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    cluster.put("web", |_| {});
    run(&cluster, &cloud, seconds(60)).await;
    assert_eq!(cluster.condition("web"), ready());
    let patches = cluster.patches();
    assert_eq!(patches.len(), 2, "{patches:?}");
    let status = &patches[1]["status"];
    assert!(status["loadBalancer"].is_object() && status["conditions"].is_array(), "{status}");
}

#[tokio::test(start_paused = true)]
async fn a_long_wait_is_said_once_and_a_creation_costs_three_writes_then() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    cloud.state().builds_slowly = true;
    cluster.put("web", |_| {});
    let meanwhile = async {
        seconds(80).await;
        assert_eq!(cluster.condition("web"), None, "not worth a write yet");
        assert!(cluster.events().iter().any(|(_, _, text)| text.contains("amphora boots")));
        seconds(920).await;
        assert_eq!(
            cluster.condition("web"),
            said("False", "WaitingForCloud", "Waiting for the cloud: amphora boots")
        );
        cloud.state().balancers.values_mut().for_each(|balancer| balancer.building = false);
        seconds(60).await;
    };
    run(&cluster, &cloud, meanwhile).await;
    assert_eq!(cluster.condition("web"), ready());
    assert_eq!(cluster.patches().len(), 3, "{:?}", cluster.patches());
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_said_once_although_its_words_change_and_ends_with_the_success() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    cluster.put("web", |_| {});
    let no_quota = |n| CloudError::new(ErrorClass::Forbidden, "no quota").request_id(format!("req-{n}"));
    cloud.state().failures = (0..4).map(no_quota).collect();
    let meanwhile = async {
        seconds(70).await;
        assert_eq!(
            cluster.condition("web"),
            said(
                "False",
                "SyncFailed",
                "Tried again with a growing pause; the last failure: no quota (request id req-3)"
            )
        );
        seconds(300).await;
    };
    run(&cluster, &cloud, meanwhile).await;
    assert_eq!(cluster.condition("web"), ready());
    assert_eq!(cluster.patches().len(), 3, "{:?}", cluster.patches());
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_asks_to_wait_again_and_again_is_told_of_in_the_end() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    cluster.put("web", |_| {});
    let busy = |n: u32| {
        CloudError::new(ErrorClass::Throttled, "still building")
            .request_id(format!("req-{n}"))
            .retry_after(Duration::from_secs(10))
    };
    cloud.state().failures = (0..12).map(busy).collect();
    run(&cluster, &cloud, seconds(110)).await;
    let [status, reason, message] = cluster.condition("web").unwrap();
    assert_eq!((status.as_str(), reason.as_str()), ("False", "WaitingForCloud"));
    assert!(message.contains("still building"), "{message}");
    assert!(cluster.events().iter().all(|(kind, ..)| kind == "Normal"));
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_seen_is_unknown_and_what_is_refused_waits_for_a_person() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    cluster.put("web", |_| {});
    cluster.put("odd", |s| s["metadata"]["annotations"]["fake"] = json!("refuse"));
    let meanwhile = async {
        seconds(30).await;
        assert_eq!(
            cluster.condition("odd"),
            said("False", "Refused", "Waiting for a change of the Service or of the cloud: no such flavor")
        );
        cloud.state().doubt = Some(Doubt::new("wrong password"));
        cluster.put("web", |s| s["spec"]["ports"][0]["port"] = json!(81));
        seconds(30).await;
        let [status, reason, message] = cluster.condition("web").unwrap();
        assert_eq!((status.as_str(), reason.as_str()), ("Unknown", "CloudNotObserved"));
        assert!(message.ends_with("wrong password"), "{message}");
        cloud.state().doubt = None;
        cluster.put("odd", |s| s["metadata"]["annotations"]["fake"] = json!("fine"));
        seconds(300).await;
    };
    run(&cluster, &cloud, meanwhile).await;
    assert_eq!((cluster.condition("web"), cluster.condition("odd")), (ready(), ready()));
}

#[tokio::test(start_paused = true)]
async fn what_others_say_of_a_service_stays_and_what_we_said_goes_with_the_type() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    let foreign = json!({"type": "example.org/Scanned", "status": "True", "reason": "A", "message": "b",
        "lastTransitionTime": START});
    cluster.put("web", |s| s["status"]["conditions"] = json!([foreign]));
    let meanwhile = async {
        seconds(30).await;
        let both = cluster.get("web").unwrap()["status"]["conditions"].as_array().unwrap().len();
        assert_eq!(both, 2);
        cluster.put("web", |s| s["spec"]["type"] = json!("ClusterIP"));
        seconds(30).await;
    };
    run(&cluster, &cloud, meanwhile).await;
    let service = cluster.get("web").unwrap();
    assert_eq!(service["status"]["conditions"], json!([foreign]));
    assert!(service["metadata"]["finalizers"].is_null());
}

#[tokio::test(start_paused = true)]
async fn what_a_former_leader_said_of_a_service_of_another_type_is_taken_back() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    cluster.put("web", |s| s["metadata"]["annotations"]["fake"] = json!("refuse"));
    run(&cluster, &cloud, seconds(10)).await;
    assert!(cluster.condition("web").is_some());
    cluster.put("web", |s| {
        s["spec"]["type"] = json!("ClusterIP");
        s["metadata"]["annotations"] = json!({});
    });
    run(&cluster, &cloud, seconds(10)).await;
    assert_eq!(cluster.condition("web"), None);
    assert!(cloud.changes().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_removal_that_fails_says_why_and_is_not_tried_sooner_for_that() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    cluster.put("web", |_| {});
    let meanwhile = async {
        seconds(30).await;
        cloud.state().failures = (0..2).map(|_| CloudError::transient("in use")).collect();
        cluster.delete("web");
        seconds(4).await;
        let [_, reason, message] = cluster.condition("web").unwrap();
        assert_eq!(reason, "RemovalFailed");
        assert!(message.ends_with("in use"), "{message}");
        assert_eq!(cloud.state().failures.len(), 1, "what we wrote is no reason for another try");
        seconds(60).await;
    };
    run(&cluster, &cloud, meanwhile).await;
    assert!(cluster.get("web").is_none());
}

#[tokio::test(start_paused = true)]
async fn a_new_leader_writes_no_condition_on_services_that_are_as_they_should_be() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    for n in 0..20 {
        cluster.put(&format!("web-{n}"), |_| {});
    }
    run(&cluster, &cloud, seconds(30)).await;
    // As another manager left them.
    for n in 0..10 {
        cluster.put(&format!("web-{n}"), |s| s["status"]["conditions"] = json!([]));
    }
    cluster.clear_log();
    run(&cluster, &cloud, seconds(60)).await;
    assert!(cluster.patches().is_empty(), "{:?}", cluster.patches());
}

#[tokio::test(start_paused = true)]
async fn what_a_served_service_asks_for_and_does_not_get_is_said_once_and_ends_when_it_is_corrected() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    cluster.put("web", |_| {});
    let meanwhile = async {
        seconds(30).await;
        cluster.clear_log();
        let invalid = |value: serde_json::Value| {
            cluster.put("web", move |s| s["metadata"]["annotations"]["fake/invalid"] = value);
        };
        cluster.put("web", |s| s["metadata"]["annotations"] = json!({"fake/creation": "flavor is old"}));
        seconds(30).await;
        assert_eq!(cluster.condition("web"), said("False", "RecreationNeeded", "flavor is old"));
        invalid(json!("x is ten"));
        seconds(30).await;
        assert_eq!(cluster.condition("web"), said("False", "InvalidValue", "x is ten; flavor is old"));
        // Its nodes are followed all the same, without another word.
        cluster.put_node("b");
        seconds(600).await;
        assert!(cloud.state().balancers.values().all(|balancer| balancer.nodes.len() == 2));
        assert_eq!(cluster.patches().len(), 2, "{:?}", cluster.patches());
        cluster.put("web", |s| s["metadata"]["annotations"] = json!({}));
        seconds(30).await;
    };
    run(&cluster, &cloud, meanwhile).await;
    assert_eq!(cluster.condition("web"), ready());
    assert_eq!(cluster.patches().len(), 3, "{:?}", cluster.patches());
    // Another leader has nothing to add.
    cluster.put("web", |s| s["metadata"]["annotations"] = json!({"fake/invalid": "x is ten"}));
    run(&cluster, &cloud, seconds(30)).await;
    cluster.clear_log();
    run(&cluster, &cloud, seconds(60)).await;
    assert!(cluster.patches().is_empty(), "{:?}", cluster.patches());
}

#[tokio::test(start_paused = true)]
async fn a_slow_change_of_nodes_leaves_a_service_ready_and_a_slow_edit_does_not() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    cluster.put("web", |_| {});
    let builds =
        |building| cloud.state().balancers.values_mut().for_each(|balancer| balancer.building = building);
    let meanwhile = async {
        seconds(30).await;
        builds(true);
        cluster.put_node("b");
        seconds(600).await;
        assert_eq!(cluster.condition("web"), ready());
        builds(false);
        seconds(30).await;
        builds(true);
        cluster.put("web", |s| s["spec"]["ports"][0]["port"] = json!(81));
        seconds(600).await;
        assert_eq!(
            cluster.condition("web"),
            said("False", "WaitingForCloud", "Waiting for the cloud: amphora boots")
        );
        builds(false);
        seconds(30).await;
    };
    run(&cluster, &cloud, meanwhile).await;
    assert_eq!(cluster.condition("web"), ready());
    assert_eq!(cluster.patches().len(), 4, "finalizer, status, waits, ready");
}

#[tokio::test(start_paused = true)]
async fn an_outage_while_only_nodes_change_is_not_written_on_every_service() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    (0..20).for_each(|n| cluster.put(&format!("web-{n}"), |_| {}));
    let meanwhile = async {
        seconds(30).await;
        cluster.clear_log();
        cloud.state().doubt = Some(Doubt::from(&CloudError::transient("502")));
        cluster.put_node("b");
        seconds(600).await;
        assert!(cluster.events().iter().any(|(_, _, text)| text.contains("502")), "it is told");
        cloud.state().doubt = None;
        seconds(400).await;
    };
    run(&cluster, &cloud, meanwhile).await;
    assert!(cloud.state().balancers.values().all(|balancer| balancer.nodes.len() == 2));
    assert!(cluster.patches().is_empty(), "{:?}", cluster.patches());
}

#[tokio::test(start_paused = true)]
async fn a_new_leader_in_a_short_outage_writes_nothing_on_services_that_serve_and_in_a_long_one_says_it() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    cluster.put("web", |_| {});
    run(&cluster, &cloud, seconds(30)).await;
    cluster.clear_log();
    cloud.state().doubt = Some(Doubt::from(&CloudError::transient("502")));
    let meanwhile = async {
        seconds(10).await;
        cloud.state().doubt = None;
        seconds(300).await;
    };
    run(&cluster, &cloud, meanwhile).await;
    assert!(cluster.patches().is_empty(), "{:?}", cluster.patches());
    cloud.state().doubt = Some(Doubt::from(&CloudError::transient("502")));
    run(&cluster, &cloud, seconds(300)).await;
    assert_eq!(cluster.condition("web").unwrap()[1], "CloudNotObserved");
}

#[tokio::test(start_paused = true)]
async fn a_service_that_was_deleted_and_made_again_at_once_says_for_itself_why_it_is_refused() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    let refuse = |s: &mut serde_json::Value| s["metadata"]["annotations"]["fake"] = json!("refuse");
    cluster.put("odd", refuse);
    let meanwhile = async {
        seconds(10).await;
        assert!(cluster.condition("odd").is_some());
        cluster.wipe("odd");
        cluster.put("odd", |s| {
            refuse(s);
            s["metadata"]["uid"] = json!("s-odd-2");
        });
        seconds(10).await;
        assert!(cluster.condition("odd").is_some());
    };
    run(&cluster, &cloud, meanwhile).await;
}

#[tokio::test(start_paused = true)]
async fn a_condition_that_somebody_took_away_is_said_again_with_the_next_try() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    cluster.put("odd", |s| s["metadata"]["annotations"]["fake"] = json!("refuse"));
    let meanwhile = async {
        seconds(10).await;
        cluster.put("odd", |s| s["metadata"]["annotations"]["note"] = json!("seen"));
        seconds(10).await;
        cluster.put("odd", |s| {
            s["status"]["conditions"] = json!([]);
            s["metadata"]["annotations"]["note"] = json!("try again");
        });
        seconds(10).await;
        assert!(cluster.condition("odd").is_some());
    };
    run(&cluster, &cloud, meanwhile).await;
}

/// The simulation found it (seed 4448): the Service said for hours that its load balancer is broken, which was repaired.
#[tokio::test(start_paused = true)]
async fn a_condition_whose_write_had_no_answer_is_replaced_although_the_informer_never_showed_the_one_before()
{
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    cluster.put("web", |_| {});
    let meanwhile = async {
        cluster.withhold();
        seconds(10).await;
        assert_eq!(cluster.condition("web"), ready());
        cloud.state().refusal = Some("the load balancer is in ERROR");
        let writer = cluster.clone();
        cluster.once(
            |request| request.verb == "patch" && request.resource == "services",
            move |request| {
                let refused = request.json()["status"]["conditions"].clone();
                writer.put("web", |service| service["status"]["conditions"] = refused);
                Verdict::Break
            },
        );
        cluster.put_node("b");
        seconds(10).await;
        assert_eq!(cluster.condition("web").unwrap()[1], "Refused");
        cluster.deliver();
        cloud.state().refusal = None;
        cluster.put_node("c");
        seconds(10).await;
        assert_eq!(cluster.condition("web"), ready());
    };
    run(&cluster, &cloud, meanwhile).await;
}

/// As the one above, but the answer came, and somebody else wrote before the informer showed it.
#[tokio::test(start_paused = true)]
async fn a_condition_that_the_informer_skips_does_not_hide_what_stands_there_for_ever() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    cluster.put("web", |_| {});
    let meanwhile = async {
        cluster.withhold();
        seconds(10).await;
        assert_eq!(cluster.condition("web"), ready());
        cluster
            .put("web", |service| service["status"]["conditions"][0]["reason"] = json!("WrittenByAnother"));
        cluster.deliver();
        seconds(90).await;
        cluster.put_node("b");
        seconds(10).await;
        assert_eq!(cluster.condition("web"), ready());
    };
    run(&cluster, &cloud, meanwhile).await;
}
