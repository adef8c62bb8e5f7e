//! What a cloud has for a Service, and what is odd about it.

use std::collections::BTreeSet;

use std::str::FromStr;

use openstack_client::load_balancer::{
    Algorithm, HealthMonitor, Listener, LoadBalancer, Member, MonitorType, OperatingStatus, Pool, Protocol,
    ProvisioningStatus, SessionPersistence,
};
use openstack_client::network::{FloatingIp, Port, SecurityGroup, SecurityGroupRule};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::super::Choices;
use super::super::choices::id;
use super::{ADDRESSES, FORMER, FORMER_OTHER, LEGACY, OTHER, OWN, VIP_PORT};
use crate::loadbalancer::found::{
    Children, Found, FoundBalancer, FoundBy, FoundFloating, FoundPool, OfOther, Tree,
};
use crate::loadbalancer::group::FoundGroup;
use crate::loadbalancer::members::FoundMembers;
use crate::loadbalancer::wanted::{Wanted, WantedListener};

/// What an operating status says is only looked at in ERROR.
const OPERATING: [OperatingStatus; 6] = {
    use OperatingStatus::{Degraded, Error, NoMonitor, Offline, Online};
    [Online, Error, Offline, Error, Degraded, NoMonitor]
};

const STATUS: [ProvisioningStatus; 12] = {
    use ProvisioningStatus::{Active, Deleted, Error, PendingCreate, PendingDelete, PendingUpdate};
    [
        Active,
        Active,
        Active,
        Active,
        Active,
        Active,
        Active,
        Error,
        PendingCreate,
        PendingUpdate,
        PendingDelete,
        Deleted,
    ]
};
/// Of what hangs on a load balancer.
const CHILD_STATUS: [ProvisioningStatus; 6] = {
    use ProvisioningStatus::{Active, Error, PendingUpdate};
    [Active, Active, Active, Active, Error, PendingUpdate]
};
const TAGS: [&str; 9] = [
    OTHER,
    FORMER,
    FORMER_OTHER,
    "bowline-cluster:c1",
    "bowline-cluster:c2",
    "bowline-service:s1",
    "bowline-service:s2",
    "team-a",
    "",
];

#[expect(clippy::expect_used, reason = "who makes things up for a test writes what can be read")]
fn from<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("an object of the cloud")
}

pub(super) fn found(choices: &mut Choices<'_>, wanted: &Wanted) -> Found {
    let balancer = (!choices.once_in(8)).then(|| balancer(choices, wanted));
    let none = balancer.is_none();
    let twins = if choices.once_in(8) { 1 + choices.below(2) } else { 0 };
    Found {
        place_taken: None,
        named_is_gone: none && wanted.named.is_some() && choices.once_in(2),
        namesakes: if choices.once_in(32) { vec![id("lb-1"), id("lb-2")] } else { Vec::new() },
        twins: if none { Vec::new() } else { (0..twins).map(|place| twin(choices, place)).collect() },
        recover: choices.once_in(2),
        has_own: choices.once_in(4),
        owner_may_want_it: choices.once_in(2),
        leaving: BTreeSet::new(),
        known_address: choices.once_in(2).then(|| id(choices.of(&ADDRESSES))),
        is_published: choices.once_in(2),
        floating: floating(choices, wanted, none),
        group: choices.once_in(2).then(|| group(choices, wanted)),
        group_unread: false,
        is_vip_unique: choices.once_in(2),
        balancer,
    }
}

fn balancer(choices: &mut Choices<'_>, wanted: &Wanted) -> FoundBalancer {
    let by = choices.of(&[FoundBy::Name, FoundBy::Id, FoundBy::Name, FoundBy::LegacyName, FoundBy::Id]);
    let name = match by {
        FoundBy::Name => OWN,
        FoundBy::LegacyName => LEGACY,
        FoundBy::Id => choices.of(&[OWN, OTHER, FORMER, FORMER_OTHER, "mine", LEGACY]),
    };
    let mut balancer: LoadBalancer =
        from(json!({ "id": "lb-1", "name": name, "provisioning_status": "ACTIVE", "admin_state_up": true }));
    balancer.provisioning_status = choices.of(&STATUS);
    balancer.operating_status = choices.of(&OPERATING);
    balancer.vip_address =
        choices.of(&[Some("10.0.0.100"), Some("10.0.0.100"), None, Some("2001:db8::1")]).map(id);
    balancer.vip_port_id = (!choices.once_in(8)).then(|| id(VIP_PORT));
    balancer.tags = tags(choices);
    let children = match choices.below(8) {
        6 => Children::AsWanted,
        7 => Children::Busy,
        _ => Children::Known(tree(choices, wanted)),
    };
    let children = if balancer.provisioning_status.is_pending() { Children::Busy } else { children };
    FoundBalancer { balancer, by, children, version: 7 }
}

fn tags(choices: &mut Choices<'_>) -> Vec<String> {
    let own = choices.once_in(2).then_some(OWN);
    own.into_iter().chain(choices.some_of(&TAGS, 6)).map(str::to_owned).collect()
}

fn twin(choices: &mut Choices<'_>, place: usize) -> FoundBalancer {
    let mut balancer: LoadBalancer =
        from(json!({ "id": format!("twin-{place}"), "name": OWN, "provisioning_status": "ACTIVE" }));
    balancer.provisioning_status = choices.of(&STATUS);
    FoundBalancer { balancer, by: FoundBy::Name, children: Children::Busy, version: 3 }
}

fn tree(choices: &mut Choices<'_>, wanted: &Wanted) -> Tree {
    let mut tree = Tree::default();
    for wish in &wanted.listeners {
        if !choices.once_in(5) {
            as_wanted(choices, wish, &mut tree);
        }
    }
    for _odd in 0..choices.below(4) {
        odd(choices, wanted, &mut tree);
    }
    for _more in 0..choices.below(5) {
        twist(choices, &mut tree);
    }
    // Octavia holds two members of a place for one.
    tree.pools.iter_mut().for_each(no_member_twice);
    tree
}

fn no_member_twice(found: &mut FoundPool) {
    let mut seen = BTreeSet::new();
    found.members.change(|all| all.retain(|member| seen.insert((member.address, member.protocol_port))));
}

/// What has not yet been made of this kind. They are not in the order of their ids.
fn next<T: FromStr>(kind: &str, count: usize) -> T {
    id(&format!("{kind}-{}", (count * 7 + 3) % 10))
}

/// The listener of a wish with its pool, as it was made.
fn as_wanted(choices: &mut Choices<'_>, wish: &WantedListener, tree: &mut Tree) {
    let (listener_id, pool_id) = (next("listener", tree.listeners.len()), next("pool", tree.pools.len()));
    let mut listener: Listener = from(json!({ "id": "x", "protocol": "TCP", "protocol_port": 1 }));
    (listener.id, listener.name) = (listener_id, wish.name.clone());
    (listener.protocol, listener.protocol_port) = (wish.key.protocol.clone(), wish.key.port);
    listener.provisioning_status = ProvisioningStatus::Active;
    listener.connection_limit = Some(wish.connection_limit);
    listener.default_pool_id = Some(pool_id);
    listener.allowed_cidrs = wish.allowed_cidrs.iter().flat_map(|cidrs| cidrs.iter()).cloned().collect();
    listener.insert_headers = wish.insert_headers.clone();
    listener.default_tls_container_ref = wish.certificate.clone();
    listener.timeout_client_data = wish.timeouts.map(|timeouts| timeouts.client_data);
    listener.timeout_member_connect = wish.timeouts.map(|timeouts| timeouts.member_connect);
    listener.timeout_member_data = wish.timeouts.map(|timeouts| timeouts.member_data);
    listener.timeout_tcp_inspect = wish.timeouts.map(|timeouts| timeouts.tcp_inspect);
    listener.tags = if choices.once_in(4) { tags(choices) } else { vec![OWN.to_owned()] };
    // Octavia has no two of a protocol at a port, and a list that was read in pages may tell of them.
    if tree.listeners.iter().any(|old| at(old) == at(&listener)) && !choices.once_in(8) {
        return;
    }
    let mut found = pool(choices, &wish.pool.name, tree.pools.len());
    found.pool.protocol = wish.pool.protocol.clone();
    found.pool.lb_algorithm = wish.pool.algorithm.clone();
    found.pool.session_persistence = wish.pool.session_persistence.clone();
    found.pool.listeners = vec![listener.id.clone()];
    let members = wish.pool.members.each().enumerate();
    found.members = members.map(|(place, member)| as_member(&member, tree.pools.len() * 8 + place)).collect();
    found.monitor = wish.pool.monitor.as_ref().map(|monitor| {
        let mut made = self::monitor(tree.pools.len());
        (made.kind, made.name) = (monitor.kind.clone(), monitor.name.clone());
        made.delay = monitor.values.delay;
        let http = monitor.http();
        made.url_path = http.map(|[path, ..]| path.to_owned());
        made.http_method = http.map(|[_, method, _]| method.to_owned());
        made.expected_codes = http.map(|[.., codes]| codes.to_owned());
        made
    });
    tree.listeners.push(listener);
    tree.pools.push(found);
}

fn at(listener: &Listener) -> (&Protocol, u16) {
    (&listener.protocol, listener.protocol_port)
}

fn pool(choices: &mut Choices<'_>, name: &str, count: usize) -> FoundPool {
    let mut pool: Pool = from(json!({ "id": "x", "protocol": "TCP" }));
    pool.id = next("pool", count);
    name.clone_into(&mut pool.name);
    pool.provisioning_status = ProvisioningStatus::Active;
    pool.admin_state_up = choices.of(&[Some(true), None, Some(false)]);
    FoundPool { pool, members: FoundMembers::default(), monitor: None }
}

fn monitor(count: usize) -> HealthMonitor {
    let mut monitor: HealthMonitor = from(
        json!({ "id": "x", "type": "TCP", "delay": 5, "timeout": 3, "max_retries": 1, "max_retries_down": 3 }),
    );
    monitor.id = next("monitor", count);
    monitor.provisioning_status = ProvisioningStatus::Active;
    monitor
}

fn as_member(wish: &openstack_client::load_balancer::BatchMember, count: usize) -> Member {
    let mut member = member(count);
    (member.address, member.protocol_port) = (wish.address, wish.protocol_port);
    (member.name, member.subnet_id) = (wish.name.clone(), wish.subnet_id.clone());
    (member.monitor_port, member.weight) = (wish.monitor_port, wish.weight.or(Some(1)));
    member
}

fn member(count: usize) -> Member {
    let mut member: Member = from(json!({ "id": "x", "address": "10.0.0.1", "protocol_port": 30080 }));
    member.id = id(&format!("member-{}", (count * 13 + 5) % 100));
    member
}

/// Something that nobody wants: a listener, maybe with a pool, or a pool alone.
fn odd(choices: &mut Choices<'_>, wanted: &Wanted, tree: &mut Tree) {
    let pool_name = match choices.below(4) {
        0 => wanted.names.pool(choices.below(3)),
        1 => format!("pool_0_{OTHER}"),
        2 => format!("pool_0_{FORMER}"),
        _ => "theirs".to_owned(),
    };
    let mut found = pool(choices, &pool_name, tree.pools.len());
    for place in 0..choices.below(3) {
        let mut new = member(tree.pools.len() * 8 + place);
        new.address = [10, 0, 0, u8::try_from(place).unwrap_or_default() + 1].into();
        found.members.change(|all| all.push(new));
    }
    found.monitor = choices.once_in(3).then(|| monitor(tree.pools.len()));
    if !choices.once_in(4) {
        let mut listener: Listener = from(json!({ "id": "x", "protocol": "TCP", "protocol_port": 1 }));
        listener.id = next("listener", tree.listeners.len());
        listener.protocol =
            choices.of(&[Protocol::Tcp, Protocol::Http, Protocol::Udp, Protocol::Sctp, Protocol::Prometheus]);
        listener.protocol_port = choices.of(&[8080, 80, 443, 53, 9999]);
        listener.tags = choices
            .of(&[&[OTHER][..], &[OWN], &[], &["team-a"], &[FORMER], &[FORMER_OTHER], &[""], &[OTHER, OWN]])
            .iter()
            .map(|tag| (*tag).to_owned())
            .collect();
        listener.provisioning_status = choices.of(&CHILD_STATUS);
        if tree.listeners.iter().any(|old| at(old) == at(&listener)) && !choices.once_in(8) {
            return;
        }
        if choices.once_in(2) {
            found.pool.listeners = vec![listener.id.clone()];
            listener.default_pool_id = Some(found.pool.id.clone());
        }
        tree.listeners.push(listener);
    }
    tree.pools.push(found);
}

/// One thing is otherwise than it was made.
fn twist(choices: &mut Choices<'_>, tree: &mut Tree) {
    let (on_listener, on_pool) = (choices.below(tree.listeners.len()), choices.below(tree.pools.len()));
    let other = choices.below(tree.listeners.len());
    let other = tree.listeners.get(other).map(|listener| listener.id.clone());
    let Some(listener) = tree.listeners.get_mut(on_listener) else { return };
    let what = choices.below(18);
    match what {
        0 => listener.provisioning_status = choices.of(&CHILD_STATUS),
        1 => listener.tags = tags(choices),
        2 => listener.connection_limit = choices.of(&[None, Some(7)]),
        3 => {
            listener.default_pool_id =
                choices.of(&[None, Some("pool-3"), Some("pool-0"), Some("pool-9")]).map(id);
        }
        4 => listener.allowed_cidrs = vec!["198.51.100.0/24".to_owned(), "10.1.2.3/8".to_owned()],
        5 => listener.timeout_member_data = None,
        6 => drop(listener.insert_headers.insert("X-Forwarded-Port".to_owned(), "true".to_owned())),
        7 => listener.default_tls_container_ref = Some("https://keys/containers/2".to_owned()),
        _ => {}
    }
    let Some(found) = tree.pools.get_mut(on_pool) else { return };
    match what {
        8 => found.pool.provisioning_status = choices.of(&CHILD_STATUS),
        9 => found.pool.protocol = choices.of(&[Protocol::Tcp, Protocol::Http, Protocol::Udp]),
        10 => found.pool.lb_algorithm = choices.of(&[Algorithm::LeastConnections, Algorithm::RoundRobin]),
        11 => found.pool.session_persistence = choices.of(&[None, Some(SessionPersistence::source_ip())]),
        12 => found.pool.listeners.extend(other),
        13 => found.pool.listeners.clear(),
        14 => found.monitor = choices.once_in(2).then(|| monitor(on_pool)),
        15 => {
            if let Some(monitor) = &mut found.monitor {
                monitor.provisioning_status = choices.of(&CHILD_STATUS);
                monitor.kind = choices.of(&[MonitorType::Tcp, MonitorType::Http, MonitorType::Ping]);
            }
        }
        16 => found.members.change(|all| all.iter_mut().for_each(|member| twist_member(choices, member))),
        17 => found.members.change(|all| all.truncate(choices.below(3))),
        _ => {}
    }
}

fn twist_member(choices: &mut Choices<'_>, member: &mut Member) {
    match choices.below(8) {
        0 => member.weight = choices.of(&[None, Some(0), Some(5)]),
        1 => member.subnet_id = choices.of(&[None, Some("subnet-a"), Some("subnet-b")]).map(id),
        2 => member.monitor_port = choices.of(&[None, Some(32000), Some(1)]),
        3 => "renamed".clone_into(&mut member.name),
        4 => member.protocol_port = 31000,
        5 => member.address = [10, 0, 0, choices.of(&[1, 2, 77])].into(),
        _ => {}
    }
}

fn floating(choices: &mut Choices<'_>, wanted: &Wanted, without_balancer: bool) -> FoundFloating {
    let mut all = Vec::new();
    for (place, address) in ADDRESSES.into_iter().enumerate() {
        if choices.once_in(3) {
            all.push(one_floating(choices, wanted, place, address));
        }
    }
    let asked = match &wanted.address {
        crate::loadbalancer::wanted::WantedAddress::Floating { asked, .. } => *asked,
        crate::loadbalancer::wanted::WantedAddress::Own { .. } => None,
    };
    let of_port = |one: &&FloatingIp| one.port_id == Some(id(VIP_PORT));
    let own = wanted.names.floating_ip_description();
    let asked = all.iter().find(|one| Some(one.floating_ip_address) == asked).cloned();
    let of_another = asked.as_ref().is_some_and(|one| wanted.names.other_owner(&one.description).is_some());
    let of_others = all.iter().filter(of_port).filter(|_one| choices.once_in(8)).cloned();
    let of_other = |floating| OfOther { floating, why: "is the address of Service shop/other".to_owned() };
    let of_others = of_others.map(of_other).collect();
    let proven = all.iter().filter(|_one| choices.once_in(2)).map(|one| one.id.clone()).collect();
    FoundFloating {
        asked_owner: (of_another && choices.once_in(2))
            .then(|| "is the address of Service shop/other".to_owned()),
        of_others,
        proven,
        asked,
        attached: all.iter().filter(|_one| !without_balancer).filter(of_port).cloned().collect(),
        left: all.iter().filter(|one| one.port_id.is_none() && one.description == own).cloned().collect(),
    }
}

fn one_floating(choices: &mut Choices<'_>, wanted: &Wanted, place: usize, address: &str) -> FloatingIp {
    let mut floating: FloatingIp =
        from(json!({ "id": "x", "floating_ip_address": address, "floating_network_id": "public" }));
    floating.id = id(&format!("fip-{}", (place * 3 + 2) % 4));
    floating.port_id = choices.of(&[Some(VIP_PORT), None, Some("port-of-another")]).map(id);
    // Of further ones that lead here each leads to another address.
    floating.fixed_ip_address =
        if place == 0 { None } else { Some([10, 0, 1, u8::try_from(place).unwrap_or_default()].into()) };
    floating.description = match choices.below(5) {
        0 => String::new(),
        1 => "mine".to_owned(),
        2 => "Floating IP for Kubernetes external service default/web from cluster before".to_owned(),
        3 => "Floating IP for Kubernetes external service default/other from cluster held".to_owned(),
        _ => wanted.names.floating_ip_description(),
    };
    floating
}

fn group(choices: &mut Choices<'_>, wanted: &Wanted) -> FoundGroup {
    let mut group: SecurityGroup = from(json!({ "id": "sg-1" }));
    group.name = if choices.once_in(8) { "default".to_owned() } else { wanted.names.security_group() };
    let rules = (0..choices.below(5)).map(|place| rule(choices, place)).collect();
    group.rules = (!choices.once_in(6)).then_some(rules);
    let ports = ["port-1", "port-2", "port-3", "port-4"];
    let ports = choices.some_of(&ports, 2).into_iter().map(|name| port(choices, name)).collect();
    FoundGroup { group, ports }
}

fn rule(choices: &mut Choices<'_>, place: usize) -> SecurityGroupRule {
    let mut rule: SecurityGroupRule =
        from(json!({ "id": "x", "security_group_id": "sg-1", "direction": "ingress" }));
    rule.id = id(&format!("rule-{}", (place * 3 + 2) % 5));
    rule.direction = choices.of(&["ingress", "ingress", "egress", "sideways"]).into();
    rule.ethertype = choices.of(&["IPv4", "IPv4", "IPv6", ""]).into();
    rule.protocol = choices.of(&[Some("tcp"), Some("TCP"), Some("6"), Some("udp"), None]).map(str::to_owned);
    rule.port_range_min = choices.of(&[Some(30080), Some(30443), None]);
    rule.port_range_max = choices.of(&[rule.port_range_min, rule.port_range_min, None, Some(1)]);
    rule.remote_ip_prefix = choices
        .of(&[Some("10.0.0.0/24"), Some("10.0.0.7/24"), None, Some("x"), Some("::/0")])
        .map(str::to_owned);
    rule.remote_group_id = choices.once_in(6).then(|| id("sg-9"));
    rule
}

fn port(choices: &mut Choices<'_>, name: &str) -> Port {
    let mut port: Port = from(json!({ "id": name, "network_id": "net" }));
    port.security_groups = choices
        .of(&[Some(&["sg-1"][..]), Some(&["sg-9"]), Some(&["sg-9", "sg-1"]), None, Some(&[])])
        .map(|groups| groups.iter().map(|group| id(group)).collect());
    port.tags = choices.some_of(&["sg-1", "team-a"], 2).into_iter().map(str::to_owned).collect();
    port
}
