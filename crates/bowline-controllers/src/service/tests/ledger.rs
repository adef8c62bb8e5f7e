//! What is kept for the next leader: on a Service that is written anyway, and in the ledger for the others.

use bowline_cloud::Text;

use super::super::patch::FINGERPRINT;
use super::*;

fn kept(cloud: &FakeCloud, uids: &[&str]) -> Vec<Option<Text>> {
    let ledger = cloud.state().ledger.clone();
    uids.iter().map(|uid| ledger.about(Subject::Service, uid)).collect()
}

#[tokio::test(start_paused = true)]
async fn it_goes_with_the_status_and_another_set_of_nodes_writes_nothing_on_services() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    cloud.state().has_words = true;
    for name in ["web", "api"] {
        cluster.put(name, |_| {});
    }
    run(&cluster, &cloud, seconds(60)).await;
    assert_eq!(cluster.get("web").unwrap()["metadata"]["annotations"][FINGERPRINT], "a");
    assert_eq!(kept(&cloud, &["s-web", "s-api"]), [None, None], "no write for its own sake");
    let written = cluster.patches().len();

    cluster.put_node("b");
    cloud.state().brought.clear();
    run(&cluster, &cloud, seconds(60)).await;
    assert_eq!(cloud.state().brought[0], ["a"], "what the leader before said");
    assert_eq!(cluster.patches().len(), written, "nothing on the Services");
    assert_eq!(kept(&cloud, &["s-web", "s-api"]), [Some("a,b".into()), Some("a,b".into())]);

    cloud.state().brought.clear();
    run(&cluster, &cloud, seconds(60)).await;
    assert_eq!(cloud.state().brought[0], ["a", "a,b"], "both are told to the next");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_kept_of_who_is_gone_whoever_led_then() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    cloud.state().has_words = true;
    for name in ["web", "api"] {
        cluster.put(name, |_| {});
    }
    let meanwhile = async {
        seconds(60).await;
        cluster.put_node("b");
        seconds(60).await;
        cluster.put("api", |service| service["spec"]["type"] = serde_json::json!("ClusterIP"));
        cluster.delete("web");
        seconds(60).await;
    };
    run(&cluster, &cloud, meanwhile).await;
    assert_eq!(kept(&cloud, &["s-web", "s-api"]), [None, None]);
    let annotations = cluster.get("api").unwrap()["metadata"]["annotations"].clone();
    assert!(annotations.get(FINGERPRINT).is_none(), "{annotations}");
    cloud.state().ledger.note(Subject::Service, &"s-before".into(), "x".into());
    run(&cluster, &cloud, seconds(1)).await;
    assert_eq!(kept(&cloud, &["s-before"]), [None]);
}
