//! The controller on an API server in memory, under virtual time.

use std::future::Future;

use bowline_cloud::{Fence, Unfenced};
use bowline_testkit::fence::TestFence;
use bowline_testkit::memory_cluster::MemoryCluster;
use bowline_testkit::provider::FakeCloud;
use ipnet::IpNet;
use serde_json::{Value, json};
use sim_kube::{Reply, RequestInfo, Verdict};

use super::*;
use crate::harness::Harness;
use crate::rails::node_filter::NodeFilter;

/// Nodes that wait for ranges.
#[derive(Default)]
struct Cluster(MemoryCluster);

fn path(node: &str) -> String {
    format!("/api/v1/nodes/{node}")
}

fn is_patch(request: &RequestInfo) -> bool {
    request.verb == "patch" && request.resource == "nodes"
}

impl Cluster {
    /// Registers a node; `created` orders nodes by age.
    fn add(&self, name: &str, uid: &str, created: u32, ranges: &[&str]) {
        self.0.put(json!({"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "uid": uid, "creationTimestamp": format!("2026-11-01T08:00:{created:02}Z")},
            "spec": {"podCIDRs": ranges}}));
    }

    fn label(&self, name: &str, label: &str) {
        self.0.edit(&path(name), |node| node["metadata"]["labels"]["test"] = json!(label));
    }

    fn delete(&self, name: &str) {
        self.0.delete(&path(name));
    }

    /// `spec.podCIDRs` of a node, joined.
    fn ranges(&self, name: &str) -> String {
        let list = self.0.get(&path(name)).unwrap()["spec"]["podCIDRs"].clone();
        serde_json::from_value::<Option<Vec<String>>>(list).unwrap().unwrap_or_default().join(" ")
    }

    /// Name and body of each patch of a node.
    fn patches(&self) -> Vec<(String, Value)> {
        let patches = self.0.patches("nodes").into_iter();
        patches.map(|(path, body)| (path.trim_start_matches("/api/v1/nodes/").to_owned(), body)).collect()
    }

    /// Lets `other` write right before the next patch of a node.
    fn before_next_patch(&self, other: impl FnOnce(&MemoryCluster) + Send + 'static) {
        let cluster = self.0.clone();
        self.0.once(is_patch, move |_| {
            other(&cluster);
            Verdict::Pass
        });
    }

    /// Node, type and reason of each event that was posted.
    fn events(&self) -> Vec<[String; 3]> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let events = self.0.events();
        let of = |e: &Value| [text(&e["involvedObject"]["name"]), text(&e["type"]), text(&e["reason"])];
        events.iter().map(of).collect()
    }

    fn messages(&self) -> Vec<String> {
        self.0.events().iter().map(|event| event["message"].as_str().unwrap().to_owned()).collect()
    }
}

/// Another writer gives the node a range.
fn give(cluster: &MemoryCluster, name: &str, range: &str) {
    cluster.edit(&path(name), |node| {
        node["spec"]["podCIDR"] = json!(range);
        node["spec"]["podCIDRs"] = json!([range]);
    });
}

fn options(cluster: &str) -> IpamControllerOptions {
    let cluster: Vec<IpNet> = cluster.split(' ').map(|net| net.parse().unwrap()).collect();
    IpamControllerOptions::new(true, &cluster, &[], 24, 64).unwrap()
}

const V4: &str = "10.0.0.0/16";
const DUAL: &str = "10.0.0.0/16 fd00::/48";

/// Runs the controller on `cluster` while `meanwhile` does something, and stops it then.
async fn run_with(
    options: IpamControllerOptions,
    cluster: &Cluster,
    fence: Arc<dyn Fence>,
    meanwhile: impl Future<Output = ()>,
) -> Result<(), Stopped> {
    run_within(NodeFilter::default(), options, cluster, fence, meanwhile).await
}

async fn run_within(
    node_filter: NodeFilter,
    options: IpamControllerOptions,
    cluster: &Cluster,
    fence: Arc<dyn Fence>,
    meanwhile: impl Future<Output = ()>,
) -> Result<(), Stopped> {
    let harness = Harness::new(&cluster.0, Arc::new(FakeCloud::default()));
    Harness { fence, filter: node_filter, ..harness }.run(&IpamController::new(options), meanwhile).await
}

async fn run(ranges: &str, cluster: &Cluster, meanwhile: impl Future<Output = ()>) {
    run_with(options(ranges), cluster, Arc::new(Unfenced), meanwhile).await.unwrap();
}

async fn minutes(count: u64) {
    sleep(Duration::from_secs(60 * count)).await;
}

#[test]
fn it_has_upstreams_names() {
    let name = IpamController::new(IpamControllerOptions::default()).name().clone();
    assert_eq!((&*name.canonical, &*name.alias), ("node-ipam-controller", "nodeipam"));
    assert_eq!((&*name.client, &*name.component), ("node-controller", "cidrAllocator"));
}

#[tokio::test(start_paused = true)]
async fn it_does_not_run_where_no_ranges_are_to_be_handed_out() {
    let cluster = Cluster::default();
    let ended = run_with(IpamControllerOptions::default(), &cluster, Arc::new(Unfenced), async {}).await;
    assert!(matches!(ended, Err(Stopped::NotWanted(_))));
}

#[tokio::test(start_paused = true)]
async fn a_new_node_gets_one_range_of_each_family_in_one_write() {
    let cluster = Cluster::default();
    cluster.add("a", "u-a", 1, &[]);
    let relabel = async {
        minutes(1).await;
        cluster.label("a", "x");
        minutes(1).await;
    };
    run(DUAL, &cluster, relabel).await;
    let patch = json!({"metadata": {"uid": "u-a"},
                       "spec": {"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.0.0.0/24", "fd00::/64"]}});
    assert_eq!(cluster.patches(), [("a".to_owned(), patch)]);
    assert!(cluster.events().is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_existing_nodes_have_is_known_before_anything_is_handed_out() {
    let cluster = Cluster::default();
    cluster.add("a-new", "u-1", 9, &[]);
    cluster.add("y-old", "u-2", 1, &["10.0.0.0/24"]);
    cluster.add("z-old", "u-3", 2, &["10.0.1.0/24"]);
    run(V4, &cluster, minutes(1)).await;
    assert_eq!(cluster.ranges("a-new"), "10.0.2.0/24");
    assert_eq!(cluster.patches().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_next_leader_goes_on_from_what_the_nodes_have() {
    let cluster = Cluster::default();
    for name in ["a", "b", "c"] {
        cluster.add(name, name, 1, &[]);
    }
    run(V4, &cluster, minutes(1)).await;
    cluster.delete("b");
    cluster.add("d", "d", 2, &[]);
    cluster.add("e", "e", 3, &[]);
    run(V4, &cluster, minutes(1)).await;
    let mut all: Vec<_> = ["a", "c", "d", "e"].iter().map(|name| cluster.ranges(name)).collect();
    all.sort();
    assert_eq!(all, ["10.0.0.0/24", "10.0.1.0/24", "10.0.2.0/24", "10.0.3.0/24"]);
    assert_eq!(cluster.patches().len(), 5);
}

#[tokio::test(start_paused = true)]
async fn foreign_and_colliding_ranges_quarantine_their_nodes_and_nobody_else() {
    let cluster = Cluster::default();
    cluster.add("a-younger", "u-1", 7, &["10.0.0.0/24"]);
    cluster.add("b-older", "u-2", 3, &["10.0.0.0/24"]);
    cluster.add("c-foreign", "u-3", 4, &["192.168.7.0/24"]);
    cluster.add("d-new", "u-4", 9, &[]);
    run(V4, &cluster, minutes(30)).await;
    assert_eq!(cluster.ranges("d-new"), "10.0.1.0/24");
    assert_eq!(cluster.patches().len(), 1, "quarantined nodes are not written");
    let mut events = cluster.events();
    events.sort();
    assert_eq!(
        events,
        [["a-younger", "Warning", "CIDRConflict"], ["c-foreign", "Warning", "CIDRForeign"]],
        "once each, and about the node that came later"
    );
    assert!(cluster.messages().iter().any(|message| message.contains("overlaps one of node b-older")));
}

#[tokio::test(start_paused = true)]
async fn a_node_waits_while_nothing_is_free_and_is_served_as_soon_as_something_is() {
    let cluster = Cluster::default();
    cluster.add("a", "u-a", 1, &["10.0.0.0/24", "fd00::/64"]);
    cluster.add("b", "u-b", 2, &[]);
    let free_one = async {
        minutes(10).await;
        assert!(cluster.patches().is_empty());
        let message = "Node b status is now: CIDRNotAvailable";
        assert_eq!(cluster.events()[0], ["b", "Normal", "CIDRNotAvailable"], "upstream's kind and words");
        assert_eq!(cluster.messages()[0], message);
        cluster.delete("a");
        sleep(Duration::from_millis(10)).await;
        assert_eq!(cluster.ranges("b"), "10.0.0.0/24 fd00::/64", "long before its back-off ends");
    };
    run("10.0.0.0/24 fd00::/48", &cluster, free_one).await;
}

#[tokio::test(start_paused = true)]
async fn ranges_of_a_node_that_went_while_nobody_watched_are_free_again() {
    let cluster = Cluster::default();
    cluster.add("a", "u-a", 1, &["10.0.0.0/24"]);
    let replace = async {
        minutes(1).await;
        cluster.0.hold_watches("nodes");
        cluster.delete("a");
        cluster.0.expire_watches();
        cluster.0.release_watches("nodes");
        cluster.add("b", "u-b", 2, &[]);
        minutes(10).await;
    };
    run("10.0.0.0/24", &cluster, replace).await;
    assert_eq!(cluster.ranges("b"), "10.0.0.0/24");
}

#[tokio::test(start_paused = true)]
async fn a_namesake_is_a_new_node() {
    let cluster = Cluster::default();
    cluster.add("worker", "u-1", 1, &["10.0.7.0/24"]);
    let replace = async {
        minutes(1).await;
        cluster.delete("worker");
        cluster.add("worker", "u-2", 2, &[]);
        minutes(1).await;
    };
    run(V4, &cluster, replace).await;
    assert_eq!(cluster.ranges("worker"), "10.0.0.0/24");
    assert_eq!(cluster.patches()[0].1["metadata"]["uid"], "u-2");
}

#[tokio::test(start_paused = true)]
async fn a_write_whose_answer_was_lost_costs_no_range() {
    let cluster = Cluster::default();
    cluster.add("a", "u-a", 1, &[]);
    cluster.0.once_answered(is_patch, Reply::Hang);
    let second = async {
        minutes(1).await;
        cluster.add("b", "u-b", 2, &[]);
        minutes(1).await;
    };
    run(V4, &cluster, second).await;
    assert_eq!([cluster.ranges("a"), cluster.ranges("b")], ["10.0.0.0/24", "10.0.1.0/24"]);
    assert_eq!(cluster.patches().len(), 2);
    assert!(cluster.events().is_empty(), "it did work: {:?}", cluster.messages());
}

#[tokio::test(start_paused = true)]
async fn a_failed_write_is_told_and_repeated_with_the_same_range() {
    let cluster = Cluster::default();
    cluster.add("a", "u-a", 1, &[]);
    cluster.0.fail_next_patches("nodes", [500; 3]);
    run(V4, &cluster, minutes(1)).await;
    let patches = cluster.patches();
    assert_eq!(patches.len(), 4);
    assert!(patches.iter().all(|(_, patch)| patch["spec"]["podCIDR"] == "10.0.0.0/24"));
    assert_eq!(cluster.events(), [["a", "Normal", "CIDRAssignmentFailed"]]);
    assert_eq!(cluster.messages(), ["Node a status is now: CIDRAssignmentFailed"]);
}

#[tokio::test(start_paused = true)]
async fn a_lost_race_leaves_the_node_what_it_got_and_frees_what_it_was_promised() {
    let cluster = Cluster::default();
    cluster.add("a", "u-a", 1, &[]);
    cluster.before_next_patch(|cluster| give(cluster, "a", "10.0.1.0/24"));
    let second = async {
        minutes(1).await;
        cluster.add("b", "u-b", 2, &[]);
        cluster.add("c", "u-c", 3, &[]);
        minutes(1).await;
    };
    run("10.0.0.0/23", &cluster, second).await;
    assert_eq!(cluster.ranges("a"), "10.0.1.0/24");
    assert_eq!(cluster.ranges("b"), "10.0.0.0/24");
    assert_eq!(cluster.ranges("c"), "", "nothing is left");
    assert!(cluster.events().iter().all(|event| event[0] == "c"), "{:?}", cluster.events());
}

#[tokio::test(start_paused = true)]
async fn a_range_that_the_server_refuses_is_free_again() {
    let cluster = Cluster::default();
    cluster.add("a", "u-a", 1, &[]);
    cluster.0.fail_next_patches("nodes", [422; 2]);
    run("10.0.0.0/24", &cluster, minutes(1)).await;
    assert_eq!(cluster.ranges("a"), "10.0.0.0/24", "the only one there is, so it was given back");
    assert_eq!(cluster.events(), [["a", "Normal", "CIDRAssignmentFailed"]]);
}

#[tokio::test(start_paused = true)]
async fn a_node_replaced_while_its_range_is_written_does_not_get_the_old_ones() {
    let cluster = Cluster::default();
    cluster.add("worker", "u-1", 1, &[]);
    cluster.before_next_patch(|cluster| {
        let replaced = Cluster(cluster.clone());
        replaced.delete("worker");
        replaced.add("worker", "u-2", 1, &[]);
    });
    run("10.0.0.0/24", &cluster, minutes(1)).await;
    assert_eq!(cluster.ranges("worker"), "10.0.0.0/24", "the only one there is: the promise to u-1 is void");
    let uids: Vec<_> = cluster.patches().iter().map(|(_, patch)| patch["metadata"]["uid"].clone()).collect();
    assert_eq!(uids, ["u-1", "u-2"]);
    assert!(cluster.events().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_node_that_is_gone_when_its_range_is_written_keeps_none() {
    let cluster = Cluster::default();
    cluster.add("a", "u-a", 1, &[]);
    cluster.0.fail_next_patches("nodes", [404]);
    let second = async {
        minutes(1).await;
        cluster.delete("a");
        cluster.add("b", "u-b", 2, &[]);
        minutes(1).await;
    };
    run("10.0.0.0/24", &cluster, second).await;
    assert_eq!(cluster.ranges("b"), "10.0.0.0/24");
    assert!(cluster.events().is_empty());
}

#[tokio::test(start_paused = true)]
async fn without_a_lease_nothing_is_written_and_nobody_is_told() {
    let cluster = Cluster::default();
    cluster.add("a", "u-a", 1, &[]);
    run_with(options(V4), &cluster, Arc::new(TestFence::closed()), minutes(5)).await.unwrap();
    assert!(cluster.patches().is_empty() && cluster.events().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_predecessors_last_write_that_the_watch_tells_late_is_not_given_away() {
    let cluster = Cluster::default();
    cluster.add("a", "u-a", 1, &[]);
    cluster.add("b", "u-b", 2, &[]);
    let late = async {
        sleep(Duration::from_millis(500)).await;
        give(&cluster.0, "b", "10.0.0.0/24");
        minutes(1).await;
    };
    run(V4, &cluster, late).await;
    assert_eq!(cluster.ranges("a"), "10.0.1.0/24");
    assert!(cluster.events().is_empty());
}

#[tokio::test(start_paused = true)]
async fn five_hundred_nodes_cost_five_hundred_writes_and_share_nothing() {
    let cluster = Cluster::default();
    for at in 0..500 {
        cluster.add(&format!("n{at}"), &format!("u{at}"), at % 60, &[]);
    }
    run("10.0.0.0/15 fd00::/48", &cluster, minutes(2)).await;
    let all: std::collections::BTreeSet<_> = (0..500)
        .flat_map(|at| cluster.ranges(&format!("n{at}")).split(' ').map(str::to_owned).collect::<Vec<_>>())
        .collect();
    assert_eq!((all.len(), cluster.patches().len()), (1000, 500));
}

#[tokio::test(start_paused = true)]
async fn while_the_cluster_is_paused_no_range_is_written_and_afterwards_it_is() {
    let cluster = Cluster::default();
    cluster.add("a", "u-a", 1, &[]);
    let fence = TestFence::paused_for("rack 7 moves");
    let meanwhile = async {
        minutes(10).await;
        assert!(cluster.patches().is_empty());
        fence.resume();
        minutes(1).await;
    };
    run_with(options(V4), &cluster, Arc::new(fence.clone()), meanwhile).await.unwrap();
    assert_eq!(cluster.patches().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn nodes_outside_the_filter_get_no_range() {
    let cluster = Cluster::default();
    cluster.add("inside", "u-1", 3, &[]);
    cluster.add("outside", "u-2", 2, &[]);
    cluster.add("outside-with-range", "u-3", 1, &["10.0.0.0/24"]);
    cluster.add("outside-with-foreign-range", "u-4", 1, &["192.0.2.0/24"]);
    cluster.label("inside", "a");
    let meanwhile = async {
        minutes(1).await;
        assert_eq!(cluster.ranges("inside"), "10.0.1.0/24", "what others have is taken");
        assert_eq!(cluster.patches().len(), 1);
        assert!(cluster.events().is_empty(), "{:?}", cluster.events());
        cluster.label("outside", "a");
        minutes(1).await;
        assert_eq!(cluster.ranges("outside"), "10.0.2.0/24", "it is inside now");
    };
    let filter = NodeFilter::parse("test=a").unwrap();
    run_within(filter, options(V4), &cluster, Arc::new(Unfenced), meanwhile).await.unwrap();
}
