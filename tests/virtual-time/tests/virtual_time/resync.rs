//! `bowline resync` while the manager works: what it would not have looked at for hours is looked at now, and only that.

use std::time::Duration;

use bowline_cli::resync::{self, Resynced};
use bowline_cli::session::{Access, Cluster, Consent, Session};
use bowline_cli::target::ServiceTarget;
use bowline_controllers::rails::node_filter::NodeFilter;
use bowline_kube::client::ClientFactory;
use serde_json::json;
use sim_openstack::Config;

use super::stack::Stack;
use super::tally::{Cost, clear, cost};
use super::world::{World, seconds, until};

const MINUTES: Duration = Duration::from_secs(180);

const HOUR: u64 = 3600;

/// The command, in the cluster of this world.
async fn resync(world: &World, service: Option<&str>) -> Resynced {
    let now = world.cloud.sim.now();
    let renewed = format!("{now:.6}");
    let held = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": "cloud-controller-manager", "namespace": "kube-system"},
        "spec": {"holderIdentity": "host_1", "leaseDurationSeconds": 15, "renewTime": renewed, "acquireTime": renewed},
    });
    world.kube.seed(held).unwrap();
    let nowhere = kube::Config::new(http::Uri::from_static("http://kubernetes.sim"));
    let client = ClientFactory::new(nowhere, "bowline", "test", 50.0, 100).wrap("cli", world.kube.clone());
    let session = Session {
        cluster: Cluster {
            client,
            server: "http://kubernetes.sim".to_owned(),
            namespace: "default".to_owned(),
        },
        managers: Vec::new(),
        node_filter: NodeFilter::default(),
        cluster_name: "kubernetes".into(),
        cluster_uid: None,
        notes: Vec::new(),
        access: Access {
            manager_namespace: "kube-system".to_owned(),
            lease: "cloud-controller-manager".to_owned(),
            ..Access::default()
        },
        now,
        consent: Consent::default(),
    };
    let service = service.map(|name| ServiceTarget(name.to_owned()));
    resync::ask(&session, "default", service.as_ref()).await.unwrap()
}

/// Somebody takes a member out of every pool. Nothing about the load balancers tells of it.
fn take_members(world: &World) {
    world.edit(|state| {
        let octavia = &mut state.load_balancer;
        let pools: Vec<String> = octavia.pools.iter().map(|pool| pool.id.clone()).collect();
        for pool in pools {
            let first = octavia.members.find_ids("pool_id", &pool).into_iter().next().unwrap();
            octavia.members.remove(&first).unwrap();
        }
    });
}

/// Three Nodes and two Services whose load balancers lost a member hours ago.
async fn drifted() -> (World, Stack) {
    let world = World::new(Config::default(), 3);
    world.register(1..=3);
    let stack = Stack::start(&world).await;
    until("three Nodes", MINUTES, || world.initialised() == 3).await;
    world.apply("web", 1);
    world.apply("shop", 1);
    until("both Services", MINUTES, || world.served() == 2).await;
    seconds(60).await;
    assert_eq!(world.members(), 6);
    take_members(&world);
    seconds(2 * HOUR).await;
    assert_eq!(world.members(), 4, "nobody looks for hours, for nothing tells of it");
    clear(&world);
    (world, stack)
}

/// What it cost until there were so many members, and all was quiet.
async fn repaired(world: &World, what: &str, members: usize) -> Cost {
    let took = until(what, Duration::from_secs(30), || world.members() == members).await;
    seconds(60).await;
    let cost = cost(world);
    cost.print(&format!("{what} ({took:?})"));
    assert_eq!(world.members(), members, "{}", cost.detail());
    cost
}

#[tokio::test(start_paused = true)]
async fn a_service_that_a_person_resyncs_is_repaired_now_and_no_other_is_looked_at() {
    let (world, stack) = drifted().await;
    let asked = resync(&world, Some("web")).await;
    assert_eq!((asked.asked, asked.nobody_works), (vec!["default/web".to_owned()], None));
    let cost = repaired(&world, "resync one of two Services that drifted", 5).await;
    assert_eq!(cost.changes, 1, "{}", cost.detail());
    assert!(cost.reads <= 5, "{}", cost.detail());
    // The command's own, and the note that is taken anew. With two polls it is 8 calls in all.
    assert!(cost.writes <= 2, "{}", cost.detail());

    clear(&world);
    resync(&world, Some("web")).await;
    seconds(60).await;
    let again = super::tally::cost(&world);
    again.print("resync a Service that is as it should be");
    assert_eq!(again.changes, 0, "{}", again.detail());
    assert_eq!(world.members(), 5, "the other Service waits for its turn");
    stack.stop().await;
}

#[tokio::test(start_paused = true)]
async fn all_services_are_resynced_for_little_more_than_one() {
    let (world, stack) = drifted().await;
    let mut asked = resync(&world, None).await;
    asked.asked.sort();
    assert_eq!(asked.asked, ["default/shop", "default/web"]);
    let cost = repaired(&world, "resync both Services that drifted", 6).await;
    assert_eq!(cost.changes, 2, "{}", cost.detail());
    assert!(cost.reads <= 9, "{}", cost.detail());
    stack.stop().await;
}
