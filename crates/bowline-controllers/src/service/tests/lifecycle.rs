//! A Service comes, changes and goes: what is done in the cloud, written to the Service and told, and how often.

use std::sync::atomic::Ordering;

use bowline_cloud::{
    CloudError, EnsureLoadBalancer, EnsureOutcome, Ensured, Evidence, LoadBalancerRequest,
    LoadBalancerStatus, PAUSED, Proof,
};
use serde_json::{Value, json};

use super::*;

#[tokio::test(start_paused = true)]
async fn a_service_is_ensured_with_two_writes_and_two_events() {
    for protocol in ["TCP", "UDP", "SCTP"] {
        let (cluster, cloud) = (Cluster::with_nodes(&["a", "b"]), FakeCloud::default());
        cluster.put("web", |s| s["spec"]["ports"][0]["protocol"] = json!(protocol));
        run(&cluster, &cloud, seconds(60)).await;
        assert_eq!(cloud.changes(), ["create s-web", "ports s-web [80]", "nodes s-web a,b"]);
        let service = cluster.get("web").unwrap();
        assert_eq!(service["metadata"]["finalizers"], json!([FINALIZER]));
        assert_eq!(service["status"]["loadBalancer"]["ingress"][0]["ip"], "192.0.2.1");
        assert_eq!(cluster.patches().len(), 2);
        assert_eq!(cluster.reasons(), ["EnsuringLoadBalancer", "EnsuredLoadBalancer"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_service_that_has_the_finalizer_costs_one_write() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    cluster.put("web", |s| s["metadata"]["finalizers"] = json!(["example.org/foreign", FINALIZER]));
    run(&cluster, &cloud, seconds(60)).await;
    assert_eq!(cluster.patches().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_finalizer_is_there_before_anything_is_in_the_cloud() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    cluster.put("web", |_| {});
    cluster.fail_next_patches("services", [500]);
    run(&cluster, &cloud, seconds(3)).await;
    assert_eq!(cloud.changes(), Vec::<String>::new());
    assert_eq!(cluster.reasons(), ["SyncLoadBalancerFailed"]);
}

#[tokio::test(start_paused = true)]
async fn services_that_are_not_ours_are_left_alone() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    cluster.put("plain", |s| s["spec"]["type"] = json!("ClusterIP"));
    cluster.put("classed", |s| s["spec"]["loadBalancerClass"] = json!("example.org/other"));
    cluster.put("elsewhere", |s| s["metadata"]["annotations"]["fake"] = json!("elsewhere"));
    run(&cluster, &cloud, seconds(60)).await;
    assert!(cloud.changes().is_empty());
    assert!(cluster.patches().is_empty());
    assert!(cluster.reasons().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_deleted_service_takes_its_load_balancer_with_it() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    cluster.put("web", |_| {});
    let meanwhile = async {
        seconds(30).await;
        cluster.delete("web");
        assert!(cluster.get("web").is_some(), "the finalizer holds it");
        seconds(30).await;
    };
    run(&cluster, &cloud, meanwhile).await;
    assert!(cluster.get("web").is_none());
    assert_eq!(cloud.changes().last().unwrap(), "delete s-web");
    assert_eq!(cluster.reasons()[2..], ["DeletingLoadBalancer", "DeletedLoadBalancer"]);
    assert_eq!(cluster.patches().len(), 3, "finalizer and status at first, both in one at the end");
}

#[tokio::test(start_paused = true)]
async fn a_change_of_type_takes_the_load_balancer_away_and_leaves_foreign_finalizers() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    cluster.put("web", |s| s["metadata"]["finalizers"] = json!(["example.org/foreign"]));
    let meanwhile = async {
        seconds(30).await;
        cluster.put("web", |s| s["spec"]["type"] = json!("ClusterIP"));
        seconds(30).await;
    };
    run(&cluster, &cloud, meanwhile).await;
    let service = cluster.get("web").unwrap();
    assert_eq!(service["metadata"]["finalizers"], json!(["example.org/foreign"]));
    assert_eq!(service["status"]["loadBalancer"], json!({}));
    assert!(cloud.state().balancers.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_leftover_finalizer_goes_silently_when_nothing_is_in_the_cloud() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    cluster.put("web", |s| {
        s["spec"]["type"] = json!("ClusterIP");
        s["metadata"]["finalizers"] = json!([FINALIZER]);
    });
    run(&cluster, &cloud, seconds(30)).await;
    assert!(cluster.get("web").unwrap()["metadata"]["finalizers"].is_null());
    assert!(cluster.reasons().is_empty(), "nothing was deleted");
}

#[tokio::test(start_paused = true)]
async fn a_service_that_vanished_despite_its_finalizer_leaves_nothing_behind_and_its_namesake_gets_its_own() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    cluster.put("web", |_| {});
    let meanwhile = async {
        seconds(30).await;
        cluster.wipe("web");
        cluster.put("web", |s| s["metadata"]["uid"] = json!("s-second"));
        seconds(30).await;
    };
    run(&cluster, &cloud, meanwhile).await;
    let changes = cloud.changes();
    assert_eq!(changes[3..5], ["delete s-web", "create s-second"]);
    assert_eq!(cloud.state().balancers.keys().collect::<Vec<_>>(), ["s-second"]);
}

#[tokio::test(start_paused = true)]
async fn an_edit_is_one_step_and_one_that_does_not_matter_is_none() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    cluster.put("web", |_| {});
    let meanwhile = async {
        seconds(30).await;
        cluster.put("web", |s| s["metadata"]["labels"] = json!({"any": "thing"}));
        seconds(30).await;
        let looks = cloud.state().looks.len();
        cluster.put("web", |s| s["metadata"]["labels"] = json!({"any": "other"}));
        seconds(30).await;
        assert_eq!(cloud.state().looks.len(), looks, "not even a look");
        cluster.put("web", |s| s["spec"]["ports"][0]["port"] = json!(81));
        seconds(30).await;
    };
    run(&cluster, &cloud, meanwhile).await;
    assert_eq!(cloud.changes()[3..], ["ports s-web [81]"]);
    assert_eq!(cluster.patches().len(), 2, "the status is as it was");
}

#[tokio::test(start_paused = true)]
async fn a_restart_changes_nothing_writes_nothing_and_looks_once_for_all() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    for n in 0..50 {
        cluster.put(&format!("web-{n}"), |_| {});
    }
    run(&cluster, &cloud, seconds(60)).await;
    let (changes, patches) = (cloud.changes().len(), cluster.patches().len());
    assert_eq!((changes, patches), (150, 100));
    let events = cluster.reasons().len();
    cloud.state().looks.clear();
    run(&cluster, &cloud, seconds(60)).await;
    assert_eq!(cloud.changes().len(), changes);
    assert_eq!(cluster.patches().len(), patches);
    assert_eq!(cluster.reasons().len(), events);
    assert_eq!(cloud.state().looks.iter().sum::<usize>(), 50, "each was looked at once");
    assert!(cloud.state().looks.len() <= 4, "{:?}", cloud.state().looks);
}

#[tokio::test(start_paused = true)]
async fn a_paused_service_is_neither_changed_nor_removed_until_it_is_resumed() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    cluster.put("web", |_| {});
    let meanwhile = async {
        seconds(30).await;
        cluster.put("web", |s| {
            s["metadata"]["annotations"][PAUSED] = json!("true");
            s["spec"]["ports"][0]["port"] = json!(81);
        });
        seconds(30).await;
        cluster.put("web", |s| s["spec"]["ports"][0]["port"] = json!(82));
        cluster.put_node("b");
        seconds(30).await;
        assert_eq!(cloud.changes().len(), 3, "{:?}", cloud.changes());
        assert_eq!(cluster.reasons()[2..], ["LoadBalancerPaused"], "told once");
        cluster.put("web", |s| s["metadata"]["annotations"][PAUSED] = json!("false"));
        seconds(30).await;
    };
    run(&cluster, &cloud, meanwhile).await;
    assert_eq!(cloud.changes()[3..], ["ports s-web [82]", "nodes s-web a,b"]);
}

#[tokio::test(start_paused = true)]
async fn what_somebody_changed_in_the_cloud_is_repaired_within_the_day_and_only_if_wanted() {
    for (repair_every, changes, drifts) in [(Some(Duration::from_secs(12 * 3600)), 4, 1), (None, 3, 0)] {
        let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
        cluster.put("web", |_| {});
        let meanwhile = async {
            seconds(60).await;
            cloud.state().balancers.get_mut("s-web").unwrap().ports = vec![22];
            seconds(15 * 3600 + 60).await;
        };
        let options = ServiceOptions { repair_every, ..ServiceOptions::default() };
        run_with(&cluster, &cloud, options, Arc::new(Unfenced), meanwhile).await;
        assert_eq!(cloud.changes().len(), changes, "{:?}", cloud.changes());
        let metrics = cloud.state().metrics.clone().unwrap();
        assert_eq!((metrics.load_balancer_drift.get(), metrics.load_balancers_drifted.get()), (drifts, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn what_another_controller_does_is_let_go_without_a_word() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    cluster.put("web", |s| {
        s["metadata"]["annotations"]["fake"] = json!("elsewhere");
        s["metadata"]["finalizers"] = json!([FINALIZER]);
    });
    let meanwhile = async {
        seconds(10).await;
        cluster.delete("web");
        seconds(10).await;
    };
    run(&cluster, &cloud, meanwhile).await;
    assert!(cluster.get("web").is_none());
    assert!(cloud.changes().is_empty());
    assert!(cluster.reasons().is_empty());
}

/// A cloud with one call for everything.
#[derive(Default)]
struct Plain(Arc<parking_lot::Mutex<(bool, Vec<String>)>>);

#[bowline_cloud::async_trait]
impl EnsureLoadBalancer for Plain {
    async fn get(&self, _: &LoadBalancerRequest) -> Evidence<LoadBalancerStatus> {
        if self.0.lock().0 {
            return Evidence::Present(LoadBalancerStatus::default());
        }
        Evidence::Absent(Proof::new("none"))
    }
    async fn ensure(
        &self,
        request: &LoadBalancerRequest,
        _: &dyn Fence,
    ) -> Result<EnsureOutcome, CloudError> {
        let mut state = self.0.lock();
        state.0 = true;
        state.1.push(format!("ensure {}", request.nodes.nodes.len()));
        Ok(EnsureOutcome::Ready(LoadBalancerStatus::default()))
    }
    async fn update(&self, request: &LoadBalancerRequest, _: &dyn Fence) -> Result<(), CloudError> {
        self.0.lock().1.push(format!("update {}", request.nodes.nodes.len()));
        Ok(())
    }
    async fn delete(&self, _: &LoadBalancerRequest, _: &dyn Fence) -> Result<(), CloudError> {
        let mut state = self.0.lock();
        state.0 = false;
        state.1.push("delete".into());
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn a_plain_provider_is_called_once_for_each_change() {
    let (cluster, cloud, plain) = (Cluster::with_nodes(&["a"]), FakeCloud::default(), Plain::default());
    let calls = plain.0.clone();
    cloud.state().instead = Some(Arc::new(Ensured::new(plain)));
    cluster.put("web", |_| {});
    let meanwhile = async {
        seconds(30).await;
        cluster.put_node("b");
        seconds(30).await;
        cluster.put("web", |s| s["spec"]["loadBalancerIP"] = json!("192.0.2.9"));
        seconds(30).await;
        cluster.delete("web");
        seconds(30).await;
    };
    run(&cluster, &cloud, meanwhile).await;
    assert_eq!(calls.lock().1, ["ensure 1", "update 2", "ensure 2", "delete"]);
    assert!(cluster.get("web").is_none());
}

#[tokio::test(start_paused = true)]
async fn a_paused_service_that_vanishes_keeps_its_load_balancer_and_its_namesake_is_served() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    cluster.put("web", |_| {});
    let meanwhile = async {
        seconds(30).await;
        cluster.put("web", |s| s["metadata"]["annotations"][PAUSED] = json!("true"));
        seconds(10).await;
        cluster.wipe("web");
        cluster.put("web", |s| s["metadata"]["uid"] = json!("s-second"));
        seconds(30).await;
    };
    run(&cluster, &cloud, meanwhile).await;
    assert_eq!(cloud.state().balancers.keys().collect::<Vec<_>>(), ["s-second", "s-web"]);
}

#[tokio::test(start_paused = true)]
async fn a_new_leader_looks_at_a_thousand_finished_services_a_few_times() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    for n in 0..1000 {
        let name = format!("web-{n}");
        cluster.put(&name, |s| {
            s["metadata"]["finalizers"] = json!([FINALIZER]);
            s["status"]["loadBalancer"]["ingress"] = json!([{"ip": "192.0.2.1", "ipMode": "VIP"}]);
        });
        let nodes = ["a".to_owned()].into();
        // As the first run would have left it.
        let balancer = cloud::Balancer { ports: vec![80], nodes, building: false, broken: None };
        cloud.state().balancers.insert(format!("s-{name}"), balancer);
    }
    run(&cluster, &cloud, seconds(60)).await;
    let looks = cloud.state().looks.clone();
    assert!(looks.len() <= 5 && looks.iter().sum::<usize>() == 1000, "{looks:?}");
    assert!(cloud.changes().is_empty() && cluster.patches().is_empty() && cluster.reasons().is_empty());
}

#[tokio::test(start_paused = true)]
async fn one_that_wants_its_load_balancer_back_while_it_is_released_keeps_its_finalizer() {
    let (cluster, cloud) = (Cluster::with_nodes(&["n1"]), FakeCloud::default());
    cluster.put("web", |_| {});
    run(&cluster, &cloud, async {
        seconds(10).await;
        let happened = cluster.edit_before_release("web", |s| s["spec"]["type"] = json!("LoadBalancer"));
        cluster.put("web", |s| s["spec"]["type"] = json!("ClusterIP"));
        seconds(10).await;
        assert!(happened.load(Ordering::SeqCst), "it was about to be released");
        assert_eq!(cluster.get("web").unwrap()["metadata"]["finalizers"], json!([FINALIZER]));
        assert_eq!(cloud.state().balancers.len(), 1, "and it has its load balancer again");
        let adds = |patch: &Value| patch["metadata"].get("finalizers").is_some();
        let added = cluster.patches().iter().filter(|patch| adds(patch)).count();
        assert_eq!(added, 1, "it never was without its finalizer");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_change_of_the_service_or_of_its_nodes_is_no_drift() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    cluster.put("web", |_| {});
    let meanwhile = async {
        seconds(60).await;
        cluster.put("web", |service| service["spec"]["ports"][0]["port"] = json!(82));
        seconds(60).await;
        cluster.put_node("b");
        seconds(60).await;
        let metrics = cloud.state().metrics.clone().unwrap();
        assert_eq!(
            (cloud.changes().len(), metrics.load_balancer_drift.get()),
            (5, 0),
            "{:?}",
            cloud.changes()
        );
    };
    run(&cluster, &cloud, meanwhile).await;
}
