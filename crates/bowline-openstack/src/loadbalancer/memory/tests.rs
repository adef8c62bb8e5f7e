//! What is remembered after changes, and for how long.

use std::time::Duration;

use bowline_cloud::SetChange;
use openstack_client::PoolId;
use openstack_client::load_balancer::{
    BatchMember, HealthMonitor, Listener, ListenerCreate, LoadBalancer, LoadBalancerUpdate, Pool, PoolCreate,
    PoolUpdate,
};
use serde_json::json;
use tokio::time::Instant;

use super::room::MOST_PARTS;
use super::tree::after;
use super::*;
use crate::loadbalancer::found::FoundPool;

fn balancer(status: &str, updated_at: &str) -> LoadBalancer {
    let value = json!({
        "id": "lb-1", "name": "web", "provisioning_status": status, "updated_at": updated_at, "vip_port_id": "port-1",
    });
    serde_json::from_value(value).unwrap()
}

fn listener(id: &str, pool: Option<&str>) -> Listener {
    let value = json!({
        "id": id, "protocol": "TCP", "protocol_port": 80, "default_pool_id": pool, "provisioning_status": "PENDING_CREATE",
    });
    serde_json::from_value(value).unwrap()
}

fn pool(id: &str, listener: &str) -> Pool {
    let value = json!({"id": id, "protocol": "TCP", "listeners": [{"id": listener}]});
    serde_json::from_value(value).unwrap()
}

fn monitor(id: &str) -> HealthMonitor {
    serde_json::from_value(json!({"id": id, "type": "TCP", "delay": 5})).unwrap()
}

fn sent(last: u8) -> BatchMember {
    BatchMember::new([10, 0, 0, last].into(), 30080)
}

fn tree() -> Tree {
    let monitor = Some(monitor("m-1"));
    let members = vec![sent(1).made()].into();
    Tree {
        listeners: vec![listener("l-1", Some("p-1"))],
        pools: vec![FoundPool { pool: pool("p-1", "l-1"), members, monitor }],
    }
}

#[test]
fn each_change_leaves_the_tree_that_octavia_has_then() {
    let done = Answer::Done;
    let at = |id: &str| PoolId::new(id).unwrap();
    let set = Action::SetMembers {
        pool: at("p-1"),
        members: vec![sent(2), sent(3)].into(),
        change: SetChange { before: 1, removed: 1 },
    };
    let changed = after(tree(), &set, &done).unwrap();
    let addresses: Vec<_> =
        changed.pools[0].members.to_vec().iter().map(|one| one.address.to_string()).collect();
    assert_eq!(addresses, ["10.0.0.2", "10.0.0.3"]);

    let gone = after(tree(), &Action::DeletePool(at("p-1")), &done).unwrap();
    assert_eq!((gone.pools.len(), gone.listeners[0].default_pool_id.as_ref()), (0, None));

    let made = Answer::Pool(Box::new(pool("p-2", "l-1")));
    let with_pool = after(gone, &Action::CreatePool(Box::default()), &made).unwrap();
    assert_eq!(with_pool.listeners[0].default_pool_id, Some(at("p-2")));
    assert!(with_pool.pools[0].members.is_empty() && with_pool.pools[0].monitor.is_none());

    let made = Answer::Listener(Box::new(listener("l-2", None)));
    let two = after(tree(), &Action::CreateListener(Box::default()), &made).unwrap();
    assert_eq!(two.listeners.len(), 2);
    assert_eq!(two.listeners[1].provisioning_status, ProvisioningStatus::Active, "when it is at rest");
    let one = after(two, &Action::DeleteListener("l-1".parse().unwrap()), &done).unwrap();
    assert_eq!((one.listeners.len(), one.pools[0].pool.listeners.len()), (1, 0));

    let without = after(tree(), &Action::DeleteMonitor("m-1".parse().unwrap()), &done).unwrap();
    assert!(without.pools[0].monitor.is_none() && without.pools[0].pool.healthmonitor_id.is_none());
}

#[test]
fn what_the_answer_does_not_tell_is_no_tree() {
    let update = Action::UpdatePool("p-1".parse().unwrap(), Box::<PoolUpdate>::default());
    assert_eq!(after(tree(), &update, &Answer::Done), None);
    let elsewhere = Action::UpdatePool("p-9".parse().unwrap(), Box::<PoolUpdate>::default());
    assert_eq!(after(tree(), &elsewhere, &Answer::Pool(Box::new(pool("p-9", "l-1")))), None);
}

#[tokio::test(start_paused = true)]
async fn a_tree_holds_as_long_as_the_load_balancer_does_not_change() {
    let memory = Memory::new(false, None);
    let (now, id) = (Instant::now(), LoadBalancerId::new("lb-1").unwrap());
    let first = balancer("ACTIVE", "one");
    memory.sees(&first, now);
    memory.read(&first, &tree(), now);
    assert!(memory.tree(&first, now).is_some());
    assert!(memory.tree(&balancer("ACTIVE", "two"), now).is_none());

    // A change of ours: the tree goes along, and its time is that of the first sight at rest.
    assert!(memory.begin(&id, 0));
    let action = Action::UpdateBalancer(LoadBalancerUpdate::default());
    let answered = Answer::Balancer(Box::new(balancer("PENDING_UPDATE", "two")));
    memory.accepted(&id, &action, &answered, now);
    assert_eq!(
        memory.just_answered(&id, now).unwrap().provisioning_status,
        ProvisioningStatus::PendingUpdate
    );
    assert!(memory.just_answered(&id, now + Duration::from_secs(4)).is_none());
    assert!(memory.tree(&balancer("ACTIVE", "three"), now).is_some());
    assert!(memory.tree(&balancer("ACTIVE", "four"), now).is_none());

    // One that is at rest long after a change of ours may have been given up and set right: nobody knows what hangs on it.
    assert!(memory.begin(&id, memory.version(&id, memory.changes())));
    memory.accepted(&id, &action, &answered, now);
    assert!(memory.tree(&balancer("ACTIVE", "five"), now + SOON).is_none());

    memory.failed(&id);
    assert!(memory.tree(&balancer("ACTIVE", "three"), now).is_none(), "nobody knows how far it came");
}

#[test]
fn a_look_that_began_before_a_change_plans_for_nothing() {
    let memory = Memory::new(false, None);
    let id = LoadBalancerId::new("lb-1").unwrap();
    let began = memory.changes();
    let version = memory.version(&id, began);
    assert!(memory.begin(&id, version));
    assert!(!memory.begin(&id, version), "it was changed since");
    assert!(!memory.begin(&id, memory.version(&id, began)), "the look may have seen what was there before");
    let began = memory.changes();
    assert!(memory.begin(&id, memory.version(&id, began)));
}

#[tokio::test(start_paused = true)]
async fn more_than_fits_is_forgotten_the_longest_known_first() {
    // Where members are changed one by one each is kept.
    let memory = Memory::new(true, None);
    let now = Instant::now();
    let sees = |number: usize| {
        let mut one = balancer("ACTIVE", "one");
        one.id = LoadBalancerId::new(format!("lb-{number}")).unwrap();
        one
    };
    let mut large = tree();
    large.pools[0].members = (0..200_u8).map(|last| sent(last).made()).collect();
    for number in 0..120 {
        memory.read(&sees(number), &large, now + Duration::from_secs(number as u64));
    }
    assert!(memory.lock().parts <= MOST_PARTS);
    assert!(memory.tree(&sees(119), now).is_some());
    assert!(memory.tree(&sees(0), now).is_none());
}

/// A request for a load balancer with so many members, and Octavia's answer to it.
fn request(number: usize, members: u16) -> (LoadBalancerCreate, MadeLoadBalancer) {
    let node = |node: u16| {
        let [high, low] = node.to_be_bytes();
        BatchMember {
            name: format!("node-{node:05}.cluster.example.org"),
            subnet_id: "eb598304-d28f-4f72-83ef-fe9006b2b0e9".parse().ok(),
            ..BatchMember::new([10, 0, high, low].into(), 30080 + u16::try_from(number).unwrap())
        }
    };
    let nodes: Vec<_> = (0..members).map(node).collect();
    let name = format!("kube_service_kubernetes_default_web-{number}");
    let pool = PoolCreate { name: format!("pool_0_{name}"), members: nodes.clone(), ..PoolCreate::default() };
    let listener = ListenerCreate {
        name: format!("listener_0_{name}"),
        protocol_port: 80,
        default_pool: Some(pool),
        ..ListenerCreate::default()
    };
    let (lb, l, p) = (format!("lb-{number}"), format!("l-{number}"), format!("p-{number}"));
    // Octavia tells members in an order of its own.
    let told: Vec<_> = nodes
        .iter()
        .rev()
        .map(|one| {
            json!({"id": format!("m-{number}-{}", one.address), "name": one.name, "address": one.address, "weight": 1,
                "protocol_port": one.protocol_port, "subnet_id": one.subnet_id, "admin_state_up": true,
                "provisioning_status": "PENDING_CREATE"})
        })
        .collect();
    let answer = json!({
        "id": lb, "name": name, "provisioning_status": "PENDING_CREATE", "created_at": "now",
        "listeners": [{"id": l, "name": listener.name, "protocol": listener.protocol, "protocol_port": 80, "default_pool_id": p}],
        "pools": [{"id": p, "name": format!("pool_0_{name}"), "protocol": "TCP", "listeners": [{"id": l}], "members": told,
            "healthmonitor": null}],
    });
    let new = LoadBalancerCreate { name, listeners: vec![listener], ..LoadBalancerCreate::default() };
    (new, serde_json::from_value(answer).unwrap())
}

/// A memory of so many load balancers that were just made, each with so many members, and the bytes that it takes.
fn filled(balancers: usize, members: u16) -> (Memory, i64) {
    let now = Instant::now();
    let memory = Memory::new(false, None);
    let counted = allocation_counter::measure(|| {
        for number in 0..balancers {
            let (new, made) = request(number, members);
            memory.made(&new, made, now);
        }
        // What was only kept for a moment goes.
        memory.lock().sweep(now + SEEN);
    });
    (memory, counted.bytes_current)
}

#[tokio::test(start_paused = true)]
async fn what_octavia_answers_to_a_creation_is_the_tree() {
    let now = Instant::now();
    let (memory, _) = filled(2, 300);
    let mut active = request(1, 300).1.balancer;
    active.provisioning_status = ProvisioningStatus::Active;
    let tree = memory.tree(&active, now).unwrap();
    assert_eq!((tree.listeners[0].id.as_str(), tree.pools[0].pool.id.as_str()), ("l-1", "p-1"));
    assert_eq!(tree.pools[0].members.len(), 300);
    assert_eq!(memory.rosters().backends(), 300, "one list for both");
    // One that is not told whole is no tree.
    let (new, mut made) = request(3, 2);
    made.parts.as_mut().unwrap().pools[0].members.truncate(1);
    memory.made(&new, made, now);
    active.id = LoadBalancerId::new("lb-3").unwrap();
    assert!(memory.tree(&active, now).is_none());
}

#[tokio::test(start_paused = true)]
async fn the_members_of_all_load_balancers_take_the_room_of_one_list() {
    let (few, _) = filled(40, 10);
    drop(few);
    let (_few, small) = filled(40, 10);
    let (_many, large) = filled(40, 2_000);
    let each = small / 40;
    println!("{each} B for a load balancer, {} B for each of the members", (large - small) / 1_990);
    assert!(each < 6_000, "{each} bytes for each load balancer");
    assert!(large - small < 200 * 1_990, "{large} bytes are more than one list and {small}");
}
