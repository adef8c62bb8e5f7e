//! What is done again and again, timed: `cargo bench -p bowline-bench --bench micro`. Reported, never asserted: times are those of
//! one machine. What a plan has to be is asserted, so that what is timed is what it says.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "where what is to be timed cannot be made, there is nothing to time"
)]

use std::collections::BTreeMap;
use std::sync::Arc;

use bowline_bench::objects;
use bowline_cloud::{NodeSet, NodeView, Plan, ServiceView};
use bowline_controllers::service::desire::wants;
use bowline_controllers::service::fan_out::{keys_of, tell};
use bowline_controllers::service::nodes::{is_worth_a_look, next_set, select};
use bowline_controllers::view::{SlimNode, SlimService, node_view, service_view};
use bowline_kube::informer::ObjectKey;
use bowline_kube::queue::{KeyedQueue, QueueSettings};
use bowline_openstack::config::{CloudConf, Source, decode};
use bowline_openstack::loadbalancer::features::{ApiVersion, Features};
use bowline_openstack::loadbalancer::found::{Children, Found, FoundBalancer, FoundBy, FoundPool, Tree};
use bowline_openstack::loadbalancer::intent::{Intent, Surroundings};
use bowline_openstack::loadbalancer::members::Rosters;
use bowline_openstack::loadbalancer::ownership::Ownership;
use bowline_openstack::loadbalancer::plan;
use bowline_openstack::loadbalancer::wanted::{Resolved, Rules, Wanted};
use divan::{Bencher, black_box};
use serde_json::{Value, json};

/// A cluster as large as the budgets speak of.
const NODES: usize = 5_000;
/// Services with a load balancer.
const SERVICES: usize = 10_000;
/// `--cluster-name`.
const CLUSTER: &str = "bench";

fn main() {
    divan::main();
}

fn node(number: usize) -> NodeView {
    let node: SlimNode = serde_json::from_value(objects::node(number)).expect("a Node");
    node_view(node)
}

fn nodes() -> Vec<Arc<NodeView>> {
    (0..NODES).map(|number| Arc::new(node(number))).collect()
}

/// Services with a load balancer, in namespaces of a hundred.
fn services() -> Vec<(ObjectKey, Arc<ServiceView>)> {
    let service = |number: usize| {
        let service: SlimService = serde_json::from_value(objects::load_balancer(number)).expect("a Service");
        let key = ObjectKey::namespaced(&format!("team-{}", number / 100), &format!("web-{number}"));
        (key, Arc::new(service_view(service)))
    };
    let mut services: Vec<_> = (0..SERVICES).map(service).collect();
    // As a snapshot has them.
    services.sort_by(|(one, _), (other, _)| one.cmp(other));
    services
}

fn node_set(nodes: &[Arc<NodeView>]) -> NodeSet {
    next_set(&NodeSet::default(), select(nodes))
}

mod decoding {
    use super::*;

    /// A Node of 16 kB, from its bytes to what is kept of it.
    #[divan::bench]
    fn node(bencher: Bencher<'_, '_>) {
        let text = objects::node(1).to_string();
        bencher.bench(|| node_view(serde_json::from_str::<SlimNode>(black_box(&text)).expect("a Node")));
    }

    /// A Service of 1.9 kB.
    #[divan::bench]
    fn service(bencher: Bencher<'_, '_>) {
        let text = objects::load_balancer(1).to_string();
        bencher.bench(|| {
            service_view(serde_json::from_str::<SlimService>(black_box(&text)).expect("a Service"))
        });
    }

    /// A `cloud.conf` with three sections.
    #[divan::bench]
    fn cloud_conf(bencher: Bencher<'_, '_>) {
        let text = "[Global]\nauth-url = https://keystone.example:5000/v3\nregion = RegionOne\n\
            application-credential-id = 5a1b2c3d4e5f\napplication-credential-secret = secret\n\
            ca-file = /etc/ssl/ca.pem\n\n[LoadBalancer]\nenabled = true\nlb-provider = amphora\n\
            floating-network-id = 0c5a1b2c-4b1f-4c38-9d3a-0c5a1b2c3d4e\nsubnet-id = 1c5a1b2c-4b1f-4c38-9d3a-0c5a1b2c3d4e\n\
            create-monitor = true\nmonitor-delay = 10s\nmanage-security-groups = true\n\n\
            [LoadBalancerClass \"internal\"]\nfloating-network-id = 2c5a1b2c-4b1f-4c38-9d3a-0c5a1b2c3d4e\n\n\
            [Networking]\npublic-network-name = public\n";
        bencher.bench(|| decode(&[Source::new("cloud.conf", black_box(text))]).expect("a configuration"));
    }
}

/// One event of a Node, 5,000 of which there are.
mod node_event {
    use super::*;

    /// Whether load balancers have to be looked at, for a heartbeat: they need not.
    #[divan::bench]
    fn is_it_worth_a_look(bencher: Bencher<'_, '_>) {
        let (old, new) = (node(1), node(1));
        bencher.bench(|| is_worth_a_look(black_box(&old), black_box(&new)));
    }

    /// The set behind all load balancers is made anew and compared with the one before: nothing has changed.
    #[divan::bench]
    fn the_same_set(bencher: Bencher<'_, '_>) {
        let nodes = nodes();
        let before = node_set(&nodes);
        bencher.bench(|| next_set(black_box(&before), select(black_box(&nodes))));
    }

    /// A Node has joined: the set is made anew, and 10,000 Services with a load balancer get a place in the line. The budget is 5 ms.
    #[divan::bench]
    fn ten_thousand_services_are_told(bencher: Bencher<'_, '_>) {
        let mut nodes = nodes();
        let before = node_set(&nodes);
        nodes.push(Arc::new(node(NODES)));
        let services = services();
        let queue = || KeyedQueue::fair("service", QueueSettings::default(), ObjectKey::namespace);
        bencher.with_inputs(queue).bench_refs(|queue| {
            let after = next_set(black_box(&before), select(black_box(&nodes)));
            assert_ne!(after.epoch, before.epoch);
            tell(queue, keys_of(services.iter().map(|(key, view)| (key, &**view)), wants));
            assert_eq!(queue.len(), SERVICES);
        });
    }

    /// The same, without the set.
    #[divan::bench]
    fn ten_thousand_places_in_the_line(bencher: Bencher<'_, '_>) {
        let services = services();
        let queue = || KeyedQueue::fair("service", QueueSettings::default(), ObjectKey::namespace);
        bencher.with_inputs(queue).bench_refs(|queue| {
            tell(queue, keys_of(services.iter().map(|(key, view)| (key, &**view)), wants));
        });
    }

    /// One Node has another address.
    #[divan::bench]
    fn another_set(bencher: Bencher<'_, '_>) {
        let mut nodes = nodes();
        let before = node_set(&nodes);
        let last = nodes.last_mut().expect("there are Nodes");
        *last = Arc::new(NodeView { addresses: Vec::new(), ..(**last).clone() });
        bencher.bench(|| {
            let after = next_set(black_box(&before), select(black_box(&nodes)));
            assert_ne!(after.epoch, before.epoch);
            after
        });
    }
}

/// The plan for one Service of one port, with each Node as a member.
mod planning {
    use super::*;

    /// From the Service and the Nodes to what is wanted.
    #[divan::bench(args = [100, 5_000])]
    fn what_is_wanted(bencher: Bencher<'_, '_>, members: usize) {
        let scene = Scene::with(members);
        bencher.bench(|| scene.wanted());
    }

    /// All is as it should be.
    #[divan::bench(args = [100, 5_000])]
    fn nothing_to_do(bencher: Bencher<'_, '_>, members: usize) {
        let scene = Scene::with(members);
        let (wanted, found) = (scene.wanted(), scene.found(members));
        assert!(
            matches!(plan::ensure(&wanted, &found), Plan::Settled(_)),
            "{:?}",
            plan::ensure(&wanted, &found)
        );
        bencher.bench(|| plan::ensure(black_box(&wanted), black_box(&found)));
    }

    /// One member is missing.
    #[divan::bench(args = [100, 5_000])]
    fn one_change(bencher: Bencher<'_, '_>, members: usize) {
        let scene = Scene::with(members);
        let (wanted, found) = (scene.wanted(), scene.found(members - 1));
        let Plan::Act(steps) = plan::ensure(&wanted, &found) else { panic!("a step was to be planned") };
        assert_eq!(steps.len(), 1);
        bencher.bench(|| plan::ensure(black_box(&wanted), black_box(&found)));
    }
}

/// A Service, a cluster and a cloud.
struct Scene {
    service: ServiceView,
    nodes: NodeSet,
    conf: CloudConf,
    rosters: Rosters,
}

impl Scene {
    fn with(members: usize) -> Self {
        let mut service = objects::load_balancer(0);
        service["spec"]["ports"] = json!([{"port": 80, "protocol": "TCP", "nodePort": 30_080}]);
        service["metadata"]["annotations"] =
            json!({"service.beta.kubernetes.io/openstack-internal-load-balancer": "true"});
        let service: SlimService = serde_json::from_value(service).expect("a Service");
        let nodes: Vec<_> = (0..members).map(|number| Arc::new(node(number))).collect();
        Self {
            service: service_view(service),
            nodes: node_set(&nodes),
            conf: CloudConf::default(),
            rosters: Rosters::default(),
        }
    }

    fn wanted(&self) -> Wanted {
        let config = &self.conf.load_balancer;
        let features = Features::of(&config.lb_provider, ApiVersion(2, 27));
        let around = Surroundings { cluster: CLUSTER, config, classes: &BTreeMap::new(), features };
        let intent = Intent::of(&self.service, &around).expect("a Service that can be served");
        let ownership = Ownership { service: self.service.uid.clone(), ..Ownership::default() };
        let rules = Rules { config, tagged: true, rosters: &self.rosters };
        Wanted::of(intent, &self.nodes, Resolved::default(), ownership, rules, None)
    }

    /// What Octavia has when all is done, with so many of the members.
    fn found(&self, members: usize) -> Found {
        let wanted = self.wanted();
        let [listener] = &wanted.listeners[..] else { panic!("one port, one listener") };
        let tags: Vec<String> = [wanted.names.tag()].into_iter().chain(wanted.ownership.tags()).collect();
        let there = |number: usize, name: &str| json!({"id": format!("{number}"), "name": name, "provisioning_status": "ACTIVE"});
        let mut balancer = there(1, &wanted.names.load_balancer());
        extend(
            &mut balancer,
            json!({"vip_address": "10.20.30.40", "vip_port_id": "9", "provider": "amphora", "tags": tags}),
        );
        let mut front = there(2, &listener.name);
        extend(
            &mut front,
            json!({"protocol": "TCP", "protocol_port": 80, "default_pool_id": "3",
            "connection_limit": listener.connection_limit, "tags": [wanted.names.tag()], "loadbalancers": [{"id": "1"}]}),
        );
        if let Some(cidrs) = &listener.allowed_cidrs {
            extend(&mut front, json!({"allowed_cidrs": **cidrs}));
        }
        if let Some(timeouts) = &listener.timeouts {
            extend(
                &mut front,
                json!({"timeout_client_data": timeouts.client_data, "timeout_member_connect": timeouts.member_connect,
                "timeout_member_data": timeouts.member_data, "timeout_tcp_inspect": timeouts.tcp_inspect}),
            );
        }
        let mut pool = there(3, &listener.pool.name);
        extend(
            &mut pool,
            json!({"protocol": "TCP", "lb_algorithm": "ROUND_ROBIN", "listeners": [{"id": "2"}]}),
        );
        let member = |(place, node): (usize, &Arc<NodeView>)| {
            let mut member = there(10 + place, &node.name);
            extend(
                &mut member,
                json!({"address": node.addresses[0].address, "protocol_port": 30_080, "weight": 1}),
            );
            read(member)
        };
        let members = self.nodes.nodes.values().take(members).enumerate().map(member).collect();
        let tree = Tree {
            listeners: vec![read(front)],
            pools: vec![FoundPool { pool: read(pool), members, monitor: None }],
        };
        let balancer = FoundBalancer {
            balancer: read(balancer),
            by: FoundBy::Name,
            children: Children::Known(tree),
            version: 0,
        };
        Found { balancer: Some(balancer), ..Found::default() }
    }
}

fn extend(object: &mut Value, with: Value) {
    let (Some(object), Value::Object(with)) = (object.as_object_mut(), with) else {
        panic!("both are objects")
    };
    object.extend(with);
}

fn read<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("as Octavia tells it")
}
