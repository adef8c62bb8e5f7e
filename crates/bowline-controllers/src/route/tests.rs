//! The route controller on an API server and a cloud in memory, under virtual time.

use bowline_cloud::{CloudError, ErrorClass, Evidence, Instance};
use bowline_testkit::fence::TestFence;
use bowline_testkit::provider::{FakeCloud, FakeInstances, FakeRoutes};
use serde_json::json;
use tokio::time::sleep;

use super::fixture::{Bench, node, route, served};
use super::*;
use crate::rails::node_filter::NodeFilter;

/// A server whose Node has no provider ID yet.
fn server(name: &str) -> Evidence<Instance> {
    Evidence::Present(Instance { provider_id: format!("fake://{name}"), ..Instance::default() })
}

async fn seconds(count: u64) {
    sleep(Duration::from_secs(count)).await;
}

#[tokio::test(start_paused = true)]
async fn new_nodes_get_their_routes_in_batches_and_are_told_so_once() {
    let mut bench = Bench::new((0..5).map(|i| node(i, None)).collect());
    bench.options.batch = 2;
    let routes = FakeRoutes::new(vec![]);
    bench.run(&routes, seconds(25)).await;
    assert_eq!(*routes.lists.lock(), [0, 10, 20], "one list for each reconcile");
    let calls: Vec<_> = routes.applied.lock().iter().map(|(at, c)| (*at, c.len())).collect();
    assert_eq!(calls, [(0, 2), (0, 2), (0, 1)]);
    let mut conditions = bench.conditions();
    conditions.sort();
    let expected: Vec<_> = (0..5).map(|i| format!("n{i}/status False RouteCreated")).collect();
    assert_eq!(conditions, expected);
    assert_eq!((bench.syncs("changed", "periodic"), bench.syncs("noop", "periodic")), (1, 2));
    assert!(bench.events().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_world_in_order_is_not_written_to() {
    let calico = node(1, Some(("False", "CalicoIsUp")));
    let bench = Bench::new(vec![served(0), calico]);
    let routes = FakeRoutes::new(vec![route(0), route(1)]);
    bench.run(&routes, seconds(115)).await;
    assert!(routes.applied.lock().is_empty());
    assert!(bench.harness.server.writes().is_empty(), "not even what a CNI says is taken over");
    assert_eq!(bench.syncs("noop", "periodic"), 12);
}

#[tokio::test(start_paused = true)]
async fn a_burst_of_nodes_is_one_reconcile_and_other_changes_are_none() {
    let mut bench = Bench::new(vec![served(0)]);
    bench.options.period = Duration::from_secs(3600);
    let routes = FakeRoutes::new(vec![route(0)]);
    let burst = async {
        seconds(60).await;
        (1..50).for_each(|i| bench.harness.server.put(served(i)));
        seconds(60).await;
        let mut unrelated = served(0);
        unrelated["metadata"]["labels"] = json!({"a": "b"});
        bench.harness.server.put(unrelated);
        seconds(60).await;
    };
    bench.run(&routes, burst).await;
    assert_eq!(*routes.lists.lock(), [0, 61]);
    let sizes: Vec<_> = routes.applied.lock().iter().map(|(_, changes)| changes.len()).collect();
    assert_eq!(sizes, [49]);
    assert_eq!(bench.syncs("changed", "node_change"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_steady_stream_of_changes_does_not_list_without_a_pause() {
    let mut bench = Bench::new(vec![]);
    bench.options.period = Duration::from_secs(3600);
    let routes = FakeRoutes::new(vec![]);
    let stream = async {
        seconds(1).await;
        for i in 0..100 {
            bench.harness.server.put(served(i));
            sleep(Duration::from_millis(500)).await;
        }
        seconds(10).await;
    };
    bench.run(&routes, stream).await;
    let lists = routes.lists.lock().len();
    assert!((10..=13).contains(&lists), "{lists} lists in 60 s, 5 s apart");
    assert_eq!(routes.routes.lock().len(), 100);
}

#[tokio::test(start_paused = true)]
async fn a_route_that_cannot_be_made_is_told_and_tried_again_for_itself() {
    let bench = Bench::new(vec![node(0, None), node(1, None)]);
    let routes = FakeRoutes::new(vec![]).failing("+n1", 3, ErrorClass::Transient);
    bench.run(&routes, seconds(50)).await;
    let tries: Vec<_> = routes.applied.lock().clone();
    let at: Vec<_> = tries.iter().map(|(at, changes)| (*at, changes.join(" "))).collect();
    let expected = [(0, "+n0 +n1"), (5, "+n1"), (15, "+n1"), (35, "+n1")];
    assert_eq!(at, expected.map(|(at, changes)| (at, changes.to_owned())));
    let conditions = bench.conditions();
    for said in ["n0/status False RouteCreated", "n1/status True NoRouteCreated"] {
        assert!(conditions.contains(&said.to_owned()), "{conditions:?}");
    }
    assert_eq!(conditions.last().map(String::as_str), Some("n1/status False RouteCreated"));
    let (reason, message) = &bench.events()[0];
    assert_eq!(reason, "FailedToCreateRoute");
    assert_eq!(message, "Could not create route u1 10.120.1.0/24 for node n1: the router is busy");
    assert_eq!(bench.syncs("error", "periodic"), 3, "failed changes are errors");
}

#[tokio::test(start_paused = true)]
async fn a_node_that_changed_is_not_kept_waiting_by_its_old_failures() {
    let mut bench = Bench::new(vec![node(1, None)]);
    bench.options.retry = Backoff::new(Duration::from_secs(300), Duration::from_secs(300));
    let routes = FakeRoutes::new(vec![]).failing("+n1", 1, ErrorClass::Transient);
    let change = async {
        seconds(30).await;
        let mut moved = node(1, None);
        moved["status"]["addresses"][0]["address"] = json!("192.0.2.200");
        bench.harness.server.put(moved);
        seconds(5).await;
    };
    bench.run(&routes, change).await;
    let at: Vec<_> = routes.applied.lock().iter().map(|(at, _)| *at).collect();
    assert_eq!(at, [0, 31]);
}

#[tokio::test(start_paused = true)]
async fn a_failed_list_takes_nothing_away_and_backs_off() {
    let bench = Bench::new(vec![served(0)]);
    let routes = FakeRoutes::new(vec![route(0), route(1), route(2)]);
    for _ in 0..3 {
        routes.scripted.lock().push_back(Err(CloudError::transient("the list was cut short")));
    }
    bench.run(&routes, seconds(34)).await;
    assert_eq!(*routes.lists.lock(), [0, 5, 15]);
    assert!(routes.applied.lock().is_empty());
    assert!(bench.harness.server.writes().is_empty());
    assert_eq!(bench.syncs("error", "periodic"), 3);
}

#[tokio::test(start_paused = true)]
async fn without_nodes_stale_routes_go_after_a_second_look() {
    let bench = Bench::new(vec![]);
    let routes = FakeRoutes::new(vec![route(0), route(1)]);
    bench.run(&routes, seconds(9)).await;
    assert_eq!(*routes.lists.lock(), [0, 5]);
    assert_eq!(routes.applied.lock()[..], [(5, vec!["-r0".to_owned(), "-r1".to_owned()])]);
    assert_eq!((bench.syncs("held", "periodic"), bench.syncs("changed", "periodic")), (1, 1));
    let events = bench.events();
    assert_eq!((events.len(), events[0].0.as_str()), (1, "RouteRemovalHeld"));
}

#[tokio::test(start_paused = true)]
async fn a_list_that_is_wrong_for_a_moment_takes_nothing_away() {
    let bench = Bench::new(vec![served(0), served(1), node(2, None)]);
    let truth = vec![route(0), route(1)];
    let routes = FakeRoutes::new(truth.clone());
    let nameless = truth.iter().cloned().map(|mut route| {
        route.target_node = None;
        route
    });
    routes.scripted.lock().push_back(Ok(nameless.collect()));
    bench.run(&routes, seconds(25)).await;
    assert_eq!(routes.changes(), ["+n2"], "what only adds is not held");
    assert_eq!(bench.conditions(), ["n2/status False RouteCreated"]);
    assert_eq!(bench.syncs("held", "periodic"), 1);
}

#[tokio::test(start_paused = true)]
async fn the_route_of_one_deleted_node_goes_at_once_and_a_re_made_one_has_the_old_taken_away_first() {
    let bench = Bench::new((0..5).map(served).collect());
    let mut listed: Vec<_> = (0..5).map(route).collect();
    listed[1].blackhole = true;
    let routes = FakeRoutes::new(listed);
    let delete = async {
        seconds(20).await;
        bench.harness.server.delete("/api/v1/nodes/n4");
        seconds(3).await;
    };
    bench.run(&routes, delete).await;
    assert_eq!(routes.changes(), ["-r1", "+n1", "-r4"]);
    assert_eq!(routes.applied.lock().last().map(|(at, _)| *at), Some(21));
}

#[tokio::test(start_paused = true)]
async fn a_route_that_cannot_be_taken_away_is_an_error_and_tried_again() {
    let bench = Bench::new((0..3).map(served).collect());
    let routes = FakeRoutes::new((0..4).map(route).collect()).failing("-r3", 1, ErrorClass::Transient);
    bench.run(&routes, seconds(9)).await;
    assert_eq!(routes.changes(), ["-r3", "-r3"]);
    assert_eq!((bench.syncs("error", "periodic"), bench.syncs("changed", "periodic")), (1, 1));
    assert!(bench.events().is_empty() && bench.conditions().is_empty(), "no Node lacks anything");
}

#[tokio::test(start_paused = true)]
async fn without_a_lease_nothing_is_changed_or_told() {
    let mut bench = Bench::new(vec![node(0, None)]);
    bench.harness.fence = Arc::new(TestFence::closed());
    let routes = FakeRoutes::new(vec![]);
    bench.run(&routes, seconds(60)).await;
    assert!(routes.routes.lock().is_empty());
    assert!(bench.harness.server.writes().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_lost_identity_stops_the_changes_and_is_not_held_against_the_nodes() {
    let mut bench = Bench::new((0..5).map(|i| node(i, None)).collect());
    bench.options.batch = 1;
    let routes = FakeRoutes::new(vec![]).failing("+n0", u32::MAX, ErrorClass::Unauthenticated);
    bench.run(&routes, seconds(1)).await;
    assert_eq!(routes.changes(), ["+n0"], "the others would only fail alike");
    assert!(bench.conditions().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_cni_that_contradicts_hears_once_of_a_missing_route() {
    let bench = Bench::new(vec![node(0, Some(("False", "CiliumIsUp")))]);
    let routes = FakeRoutes::new(vec![]).failing("+n0", u32::MAX, ErrorClass::Transient);
    bench.run(&routes, seconds(600)).await;
    assert_eq!(bench.conditions(), ["n0/status True NoRouteCreated"]);
}

#[tokio::test(start_paused = true)]
async fn it_does_not_start_without_a_use_for_it_and_says_why() {
    let supported = || FakeCloud::default().with_routes(FakeRoutes::new(vec![]));
    let mut bench = Bench::new(vec![]);
    let now = || std::future::ready(());
    let none = bench.run_on(FakeCloud::default(), now()).await;
    assert_eq!(none, Err(Stopped::NotWanted("the cloud fake has no routes".into())));
    let away = FakeCloud::default();
    away.set_routes(Capability::Unavailable("Neutron is away".into()));
    let later = bench.run_on(away, now()).await;
    assert_eq!(later, Err(Stopped::Unavailable("Neutron is away".into())));
    bench.options.cluster_cidrs.clear();
    let Err(Stopped::NotWanted(why)) = bench.run_on(supported(), now()).await else { panic!() };
    assert!(why.contains("--cluster-cidr"), "{why}");
    bench.options.configure_cloud_routes = false;
    let Err(Stopped::NotWanted(why)) = bench.run_on(supported(), now()).await else { panic!() };
    assert!(why.contains("--configure-cloud-routes"), "{why}");
}

#[tokio::test(start_paused = true)]
async fn a_list_that_never_comes_is_given_up_and_nothing_is_concluded_from_it() {
    let bench = Bench::new(vec![served(0)]);
    let routes = FakeRoutes::new(vec![route(0), route(1)]);
    *routes.hangs_in.lock() = "list";
    let meanwhile = async {
        seconds(302).await;
        assert_eq!(bench.syncs("error", "periodic"), 1);
        assert!(routes.changes().is_empty());
        *routes.hangs_in.lock() = "";
        seconds(330).await;
    };
    bench.run(&routes, meanwhile).await;
    assert_eq!(routes.changes(), ["-r1"]);
}

#[tokio::test(start_paused = true)]
async fn changes_whose_answer_never_comes_are_looked_at_before_they_are_tried_again() {
    let bench = Bench::new(vec![node(0, None)]);
    let routes = FakeRoutes::new(vec![]);
    *routes.hangs_in.lock() = "apply";
    let meanwhile = async {
        seconds(800).await;
        *routes.hangs_in.lock() = "";
        seconds(200).await;
    };
    bench.run(&routes, meanwhile).await;
    assert_eq!(routes.changes(), ["+n0"], "it was found, and not made again");
    assert!(bench.events()[0].1.contains("did not answer within 15 min"), "{:?}", bench.events());
    assert_eq!(bench.conditions().last().unwrap(), "n0/status False RouteCreated");
}

#[tokio::test(start_paused = true)]
async fn while_the_cluster_is_paused_no_route_is_changed_and_afterwards_they_are() {
    let mut bench = Bench::new(vec![node(0, None), served(1)]);
    let fence = TestFence::paused_for("rack 7 moves");
    bench.harness.fence = Arc::new(fence.clone());
    let routes = FakeRoutes::new(vec![route(1), route(9)]);
    let meanwhile = async {
        seconds(600).await;
        assert!(routes.changes().is_empty() && bench.conditions().is_empty());
        assert!(routes.lists.lock().len() > 50, "looks go on");
        fence.resume();
        seconds(30).await;
    };
    bench.run(&routes, meanwhile).await;
    assert_eq!(routes.changes(), ["+n0", "-r9"]);
    let events = bench.events();
    assert_eq!(events.len(), 1, "told once: {events:?}");
    assert!(events[0].0 == "RoutesPaused" && events[0].1.contains("rack 7 moves"), "{events:?}");
    assert_eq!(bench.harness.metrics.times_held_back("pause"), 1);
}

#[tokio::test(start_paused = true)]
async fn stale_routes_that_may_not_be_changed_now_need_no_second_look_until_they_may() {
    for fence in [TestFence::paused_for("rack 7 moves"), TestFence::closed()] {
        let mut bench = Bench::new(vec![]);
        bench.harness.fence = Arc::new(fence.clone());
        let routes = FakeRoutes::new(vec![route(0), route(1)]);
        let meanwhile = async {
            seconds(600).await;
            assert_eq!(bench.harness.metrics.times_held_back("second-look"), 0);
            assert!(routes.applied.lock().is_empty(), "nothing is tried that cannot succeed");
            fence.resume();
            fence.open();
            seconds(20).await;
        };
        bench.run(&routes, meanwhile).await;
        assert_eq!(routes.changes(), ["-r0", "-r1"]);
        assert_eq!(bench.harness.metrics.times_held_back("second-look"), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn nodes_outside_the_filter_get_no_routes() {
    let in_pool = |i: u8, pool: &str| {
        let mut node = node(i, None);
        node["metadata"]["labels"] = json!({"pool": pool});
        node
    };
    let mut bench = Bench::new(vec![in_pool(0, "a"), in_pool(1, "b"), in_pool(2, "b")]);
    bench.harness.filter = NodeFilter::parse("pool=a").unwrap();
    let routes = FakeRoutes::new(vec![route(2)]);
    let enters = async {
        seconds(60).await;
        let conditions = bench.conditions();
        assert!(
            !conditions.is_empty() && conditions.iter().all(|c| c == "n0/status False RouteCreated"),
            "{conditions:?}"
        );
        let applied: Vec<_> = routes.applied.lock().iter().flat_map(|(_, all)| all.clone()).collect();
        assert_eq!(applied, ["+n0"], "the route of n2 is left alone too");
        bench.harness.server.put(in_pool(1, "a"));
        seconds(20).await;
    };
    bench.run(&routes, enters).await;
    let applied: Vec<_> = routes.applied.lock().iter().flat_map(|(_, all)| all.clone()).collect();
    assert_eq!(applied, ["+n0", "+n1"]);
}

#[tokio::test(start_paused = true)]
async fn sr4_a_node_without_provider_id_that_this_cloud_never_had_gets_no_route_and_no_condition() {
    let bench = Bench::new(vec![node(0, None), node(1, None), node(2, None)]);
    let routes = FakeRoutes::new(vec![route(2)]);
    let servers = FakeInstances::with([("n0", server("n0"))]);
    let cloud = FakeCloud::default().with_routes(routes.clone()).with_instances(servers.clone());
    let appears = async {
        seconds(60).await;
        assert_eq!(routes.changes(), ["+n0"], "neither a new route of n1 nor the one that n2 has is touched");
        assert!(bench.conditions().iter().all(|said| said.starts_with("n0/")), "{:?}", bench.conditions());
        assert_eq!(servers.observed(), [["n0", "n1", "n2"]], "not with every reconcile");
        servers.say("n1", server("n1"));
        seconds(300).await;
    };
    bench.run_on(cloud, appears).await.unwrap();
    assert_eq!(routes.changes(), ["+n0", "+n1"]);
    assert!(bench.conditions().contains(&"n1/status False RouteCreated".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_new_node_gets_its_route_before_its_provider_id() {
    let bench = Bench::new(vec![]);
    let routes = FakeRoutes::new(vec![]);
    let servers = FakeInstances::with([("n3", server("n3"))]);
    let cloud = FakeCloud::default().with_routes(routes.clone()).with_instances(servers);
    let joins = async {
        seconds(60).await;
        bench.harness.server.put(node(3, None));
        seconds(10).await;
    };
    bench.run_on(cloud, joins).await.unwrap();
    assert_eq!(routes.changes(), ["+n3"]);
}
