//! Situations, each with a name. They begin with a Service that has all it wants, and change what is wanted or what is there.

mod address;
mod ownership;
mod remove;

pub(super) use self::address::address;
pub(super) use self::ownership::ownership;
pub(super) use self::remove::remove;

use openstack_client::load_balancer::OperatingStatus;

use super::*;
use crate::loadbalancer::members::{FoundMembers, Members};

pub(super) type Case = (&'static str, LoadBalancerPlan);

pub(super) fn case(name: &'static str, change: impl FnOnce(&mut Wanted, &mut World)) -> Case {
    let mut wanted = wanted();
    let mut world = World::of(&wanted);
    change(&mut wanted, &mut world);
    (name, world.ensure(&wanted))
}

/// With a second port from the start.
fn two_ports(name: &'static str, change: impl FnOnce(&mut Wanted, &mut World)) -> Case {
    let mut wanted = wanted();
    wanted.listeners.push(listener(1, Protocol::Udp, 53));
    let mut world = World::of(&wanted);
    change(&mut wanted, &mut world);
    (name, world.ensure(&wanted))
}

/// With a provider that takes one thing at a time.
fn serial(name: &'static str, change: impl FnOnce(&mut Wanted, &mut World)) -> Case {
    let mut wanted = Wanted { serial: true, ..wanted() };
    let mut world = World::empty();
    world.settle(&wanted);
    change(&mut wanted, &mut world);
    (name, world.ensure(&wanted))
}

/// With four members in one subnet.
fn in_subnet(name: &'static str, subnets: [&str; 4]) -> Case {
    let mut wanted = wanted();
    let members = |subnets: [&str; 4]| {
        let member = |(node, subnet): (u8, &str)| BatchMember {
            subnet_id: subnet.parse().ok(),
            ..member(node, 30080)
        };
        (1_u8..).zip(subnets).map(member).collect::<Members>()
    };
    wanted.listeners[0].pool.members = members(["old"; 4]);
    let world = World::of(&wanted);
    wanted.listeners[0].pool.members = members(subnets);
    (name, world.ensure(&wanted))
}

/// With two members of these weights, of which some stay and some leave.
fn drained(name: &'static str, weights: [i64; 2], stay: &[u8], leave: &[u8]) -> Case {
    case(name, |wanted, world| {
        world.pool(0).members.change(|all| {
            for (member, weight) in all.iter_mut().zip(weights) {
                (member.weight, member.subnet_id) = (Some(weight), "here".parse().ok());
            }
        });
        let pool = &mut wanted.listeners[0].pool;
        let of = |nodes: &[u8]| nodes.iter().map(|node| member(*node, 30080)).collect::<Vec<_>>();
        let weight = (!stay.is_empty()).then_some(0);
        let leaving = of(leave).into_iter().map(|member| BatchMember { weight, ..member });
        (pool.members, pool.leaving) = (of(stay).into(), Some(leaving.collect()));
    })
}

pub(super) fn ensure() -> Vec<Case> {
    let status = |status: &'static str| {
        move |_: &mut Wanted, world: &mut World| world.lb().provisioning_status = status.into()
    };
    let mut cases = vec![
        case("all is as wanted", |_, _| {}),
        case("there is nothing", |_, world| *world = World::empty()),
        case("there is nothing, and the provider takes one thing at a time", |wanted, world| {
            wanted.serial = true;
            *world = World::empty();
        }),
        case("Octavia only remembers it", status("DELETED")),
        case("it is being created, and has its floating IP", status("PENDING_CREATE")),
        case("it is being created, and has no floating IP", |_, world| {
            world.lb().provisioning_status = ProvisioningStatus::PendingCreate;
            world.floating.clear();
        }),
        case("it is being changed", status("PENDING_UPDATE")),
        case("it is being deleted", status("PENDING_DELETE")),
        case("it is in a state that nobody knows", status("BOOTING")),
        case("it is in ERROR and serves nobody", |_, world| world.fails("ERROR")),
        case("it is in ERROR and was never heard of", |_, world| world.fails("OFFLINE")),
        case("it is in ERROR and never served", |_, world| {
            world.fails("OFFLINE");
            world.published = false;
        }),
        case("it is in ERROR and serves", |_, world| world.fails("ONLINE")),
        case("it is in ERROR and serves, and was never shown", |_, world| {
            world.fails("ONLINE");
            world.published = false;
        }),
        case("it is in ERROR and part of it serves", |_, world| world.fails("DEGRADED")),
        case("it is in ERROR and nobody looks at its members", |_, world| world.fails("NO_MONITOR")),
        case("it is in ERROR and its operating status is not told", |_, world| world.fails("")),
        case("it is in ERROR and one of its pools serves", |_, world| {
            world.fails("ERROR");
            world.pool(0).pool.operating_status = OperatingStatus::Degraded;
        }),
        case("it is in ERROR and not all of its pools were read", |_, world| {
            world.fails("ERROR");
            world.lb().pools.push("pool-9".parse().unwrap());
        }),
        case("it is in ERROR and disabled", |_, world| {
            world.fails("OFFLINE");
            world.lb().admin_state_up = false;
        }),
        case("it is in ERROR and serves nobody, and it must not be replaced", |wanted, world| {
            wanted.recreate_on_error = false;
            world.fails("ERROR");
        }),
        case("it is in ERROR and serves nobody, and others are on it", |_, world| {
            world.fails("ERROR");
            world.lb().tags.push(OTHER_TAG.to_owned());
        }),
        case("it is in ERROR and serves nobody, and another Service has a listener on it", |_, world| {
            world.fails("ERROR");
            world.foreign_listener("TCP", 8080, &[OTHER_TAG]);
        }),
        case("it is in ERROR and serves nobody, and somebody put a listener on it", |_, world| {
            world.fails("ERROR");
            world.foreign_listener("TCP", 8080, &["team-a"]);
        }),
        case("it is in ERROR and serves nobody, and a pool of its listener is somebody's", |_, world| {
            world.l7_pool("mine");
            world.fails("ERROR");
        }),
        case("it is in ERROR and serves nobody, and OCCM made it", |_, world| {
            world.fails("ERROR");
            world.lb().tags.truncate(1);
            world.listener(80).tags.clear();
        }),
        case("a host name is shown", |wanted, _| {
            wanted.publication = Publication::Hostname("web.example".to_owned());
        }),
        case("it has a second address", |wanted, world| {
            let further = json!([{ "subnet_id": "six", "ip_address": "2001:db8::1" }]);
            world.lb().additional_vips = world::from(further);
            wanted.dual_stack = true;
        }),
    ];
    cases.extend(listeners());
    cases.extend(pools());
    cases.extend(tags());
    cases.extend(members());
    cases
}

fn listeners() -> Vec<Case> {
    let changed =
        |name, change: fn(&mut WantedListener)| case(name, move |wanted, _| change(&mut wanted.listeners[0]));
    let drifted = |name, change: fn(&mut World)| case(name, move |_, world| change(world));
    vec![
        case("a port is added", |wanted, _| wanted.listeners.push(listener(1, Protocol::Tcp, 443))),
        case("the same port for UDP is added", |wanted, _| {
            wanted.listeners.push(listener(1, Protocol::Udp, 80));
        }),
        two_ports("a port is taken away", |wanted, _| wanted.listeners.truncate(1)),
        two_ports("a port is replaced: the new one comes first", |wanted, _| {
            wanted.listeners[1] = listener(1, Protocol::Tcp, 443);
        }),
        case("another protocol at the same port: the old one goes first", |wanted, _| {
            wanted.listeners[0] = listener(0, Protocol::Http, 80);
        }),
        changed("a connection limit", |wish| wish.connection_limit = 100),
        changed("one timeout", |wish| wish.timeouts.as_mut().unwrap().client_data = 60000),
        changed("timeouts that the cloud does not have", |wish| wish.timeouts = None),
        changed("source ranges", |wish| {
            wish.allowed_cidrs = Some(Arc::new(["192.0.2.0/24".to_owned()].into()));
        }),
        changed("source ranges that the cloud cannot tell", |wish| wish.allowed_cidrs = None),
        drifted("the same source range, written otherwise", |world| {
            world.listener(80).allowed_cidrs = vec!["0.0.0.0/0".to_owned(), "0.0.0.1/0".to_owned()];
        }),
        drifted("somebody cleared the source ranges", |world| world.listener(80).allowed_cidrs.clear()),
        drifted("somebody changed several things of a listener", |world| {
            let listener = world.listener(80);
            (listener.connection_limit, listener.timeout_member_data) = (Some(5), None);
        }),
        drifted("a listener lost the Service's tag: the others stay", |world| {
            world.listener(80).tags = vec!["team-a".to_owned()];
        }),
        drifted("names and descriptions are not compared", |world| {
            world.listener(80).name = "renamed".to_owned();
            world.pool(0).pool.name = "renamed".to_owned();
            world.lb().description = "changed".to_owned();
        }),
        case("X-Forwarded-For: other headers stay", |wanted, world| {
            *wanted = http();
            *world = World::of(wanted);
            world.listener(80).insert_headers.insert("X-Other".to_owned(), "true".to_owned());
            let header = ("X-Forwarded-For".to_owned(), "true".to_owned());
            wanted.listeners[0].insert_headers = [header].into();
        }),
        case("no X-Forwarded-For: other headers stay", |wanted, world| {
            *wanted = http();
            *world = World::of(wanted);
            let header = |name: &str| (name.to_owned(), "true".to_owned());
            world.listener(80).insert_headers = [header("X-Forwarded-For"), header("X-Other")].into();
        }),
        case("another certificate", |wanted, world| {
            wanted.listeners[0] = listener(0, Protocol::TerminatedHttps, 443);
            wanted.listeners[0].certificate = Some("https://keys/containers/1".to_owned());
            *world = World::of(wanted);
            world.float("192.0.2.1", Some("vip-port"), "");
            wanted.listeners[0].certificate = Some("https://keys/containers/2".to_owned());
        }),
        drifted("Octavia gave the listener up", |world| {
            world.listener(80).provisioning_status = ProvisioningStatus::Error;
        }),
        case("a cloud without tags", |wanted, world| {
            wanted.balancer.tagged = false;
            world.lb().tags.clear();
            world.listener(80).tags.clear();
        }),
    ]
}

fn http() -> Wanted {
    Wanted { listeners: vec![listener(0, Protocol::Http, 80)], ..wanted() }
}

fn pools() -> Vec<Case> {
    let changed = |name, change: fn(&mut WantedPool)| {
        case(name, move |wanted, _| change(&mut wanted.listeners[0].pool))
    };
    let drifted = |name, change: fn(&mut World)| case(name, move |_, world| change(world));
    let monitor = |wish: &mut WantedPool, kind| wish.monitor.as_mut().unwrap().kind = kind;
    let local = move |wish: &mut WantedPool| {
        monitor(wish, MonitorType::Http);
        let change = |member: &mut BatchMember| member.monitor_port = Some(32000);
        wish.members.change(|all| all.iter_mut().for_each(change));
    };
    vec![
        drifted("a listener without a pool", |world| {
            world.tree.pools.clear();
            world.listener(80).default_pool_id = None;
        }),
        changed("another protocol to the members", |wish| wish.protocol = Protocol::Proxy),
        changed("another algorithm and session affinity", |wish| {
            wish.algorithm = Algorithm::LeastConnections;
            wish.session_persistence = affinity();
        }),
        drifted("session affinity that is not wanted", |world| {
            world.pool(0).pool.session_persistence = affinity();
        }),
        case("the cloud adds values to session affinity", |wanted, world| {
            wanted.listeners[0].pool.session_persistence = affinity();
            let more =
                SessionPersistence { persistence_timeout: Some(360), ..SessionPersistence::source_ip() };
            world.pool(0).pool.session_persistence = Some(more);
        }),
        drifted("Octavia gave the pool up", |world| {
            world.pool(0).pool.provisioning_status = ProvisioningStatus::Error;
        }),
        drifted("a pool of ours without a listener is left", |world| {
            let mut left = world.pool(0).clone();
            (left.pool.id, left.pool.name) = ("left".parse().unwrap(), format!("pool_7_{TAG}"));
            left.pool.listeners.clear();
            let mut other = left.clone();
            (other.pool.id, other.pool.name) = ("theirs".parse().unwrap(), format!("pool_7_{OTHER_TAG}"));
            world.tree.pools.extend([left, other]);
        }),
        drifted("a pool that somebody routes to by paths", |world| {
            let mut routed = world.pool(0).clone();
            (routed.pool.id, routed.pool.name) = ("a-routed".parse().unwrap(), "routed".to_owned());
            routed.members = FoundMembers::default();
            world.tree.pools.insert(0, routed);
        }),
        drifted("no health monitor", |world| world.pool(0).monitor = None),
        changed("no health monitor is wanted", |wish| wish.monitor = None),
        changed("other values of the health monitor", |wish| {
            let values = &mut wish.monitor.as_mut().unwrap().values;
            (values.delay, values.max_retries_down) = (10, Some(5));
        }),
        changed("values of the health monitor that are left to Octavia", |wish| {
            wish.monitor.as_mut().unwrap().values.max_retries_down = None;
        }),
        drifted("a health monitor with another name", |world| {
            world.pool(0).monitor.as_mut().unwrap().name = "monitor_1_other".to_owned();
        }),
        drifted("Octavia gave the health monitor up", |world| {
            world.pool(0).monitor.as_mut().unwrap().provisioning_status = ProvisioningStatus::Error;
        }),
        case("externalTrafficPolicy became Local", move |wanted, _| local(&mut wanted.listeners[0].pool)),
        case("somebody changed what the health monitor asks for", move |wanted, world| {
            local(&mut wanted.listeners[0].pool);
            *world = World::of(wanted);
            let monitor = world.pool(0).monitor.as_mut().unwrap();
            (monitor.url_path, monitor.expected_codes) = (Some("/".to_owned()), Some("200-299".to_owned()));
        }),
    ]
}

/// With tags that the Service asks for on everything.
fn tagged(name: &'static str, change: impl FnOnce(&mut Wanted, &mut World)) -> Case {
    case(name, |wanted, world| {
        let tags = |tags: &[&str]| tags.iter().map(|tag| (*tag).to_owned()).collect();
        let (balancer, listener) = (tags(&["env=prod", "team=a"]), tags(&["env=prod"]));
        wanted.extra_tags = ExtraTags { balancer, listener, pool: tags(&["env=prod"]) };
        change(wanted, world);
    })
}

fn tags() -> Vec<Case> {
    vec![
        tagged("tags are asked for, and there is nothing", |_, world| *world = World::empty()),
        tagged("tags are asked for that are missing", |_, world| {
            world.lb().tags.push("by-hand".to_owned());
            world.listener(80).tags.push("by-hand".to_owned());
            world.pool(0).pool.tags.push("by-hand".to_owned());
        }),
        tagged("tags are asked for, and one of them is there", |_, world| {
            world.lb().tags.push("team=a".to_owned());
        }),
        tagged("tags are asked for and are there, and so are others", |wanted, world| {
            *world = World::of(wanted);
            world.lb().tags.push("by-hand".to_owned());
            world.listener(80).tags.insert(0, "by-hand".to_owned());
            world.pool(0).pool.tags.push("by-hand".to_owned());
        }),
        tagged("tags were asked for, and are not any more", |wanted, world| {
            *world = World::of(wanted);
            wanted.extra_tags = ExtraTags::default();
        }),
        tagged("tags are asked for, and there would be too many", |_, world| {
            world.lb().tags.extend((0..98).map(|tag| format!("by-hand-{tag}")));
            world.listener(80).tags.extend((0..100).map(|tag| format!("by-hand-{tag}")));
            world.pool(0).pool.tags.extend((0..100).map(|tag| format!("by-hand-{tag}")));
        }),
        tagged("tags are asked for, of an Octavia without tags", |wanted, _| wanted.balancer.tagged = false),
        tagged("tags are asked for, and a port comes to the load balancer", |wanted, _| {
            wanted.listeners.push(listener(1, Protocol::Udp, 53));
        }),
        tagged("tags are asked for, and the pool is in error", |wanted, world| {
            *world = World::of(wanted);
            world.pool(0).pool.provisioning_status = ProvisioningStatus::Error;
        }),
    ]
}

fn members() -> Vec<Case> {
    let changed = |name, change: fn(&mut Vec<BatchMember>)| {
        case(name, move |wanted, _| wanted.listeners[0].pool.members.change(change))
    };
    vec![
        changed("a Node joins", |members| members.push(member(3, 30080))),
        changed("a Node leaves and another joins", |members| members[1] = member(3, 30080)),
        changed("all Nodes leave", Vec::clear),
        changed("another node port", |members| {
            members.iter_mut().for_each(|member| member.protocol_port = 31000);
        }),
        changed("eight Nodes join", |members| members.extend((3..11).map(|node| member(node, 30080)))),
        two_ports("a Node joins, for two ports", |wanted, _| {
            for wish in &mut wanted.listeners {
                wish.pool.members.change(|all| all.push(member(3, all[0].protocol_port)));
            }
        }),
        case("somebody renamed a member and drained another", |_, world| {
            world.pool(0).members.change(|all| {
                all[0].name = "renamed".to_owned();
                (all[1].weight, all[1].admin_state_up) = (Some(0), Some(false));
            });
        }),
        case("somebody drained a member", |_, world| {
            world.pool(0).members.change(|all| all[1].weight = Some(0));
        }),
        drained("a Node is about to leave", [1, 1], &[1], &[2]),
        drained("a Node leaves and is drained already", [1, 0], &[1], &[2]),
        drained("a Node has left after it was drained", [1, 0], &[1], &[]),
        drained("a Node that was to leave stays", [1, 0], &[1, 2], &[]),
        drained("a Node joins while another is drained", [1, 0], &[1, 3], &[2]),
        drained("all Nodes are about to leave, and serve until then", [1, 1], &[], &[1, 2]),
        drained("all Nodes leave, after one was drained", [1, 0], &[], &[1, 2]),
        drained("all Nodes are about to leave, and somebody gave one another weight", [5, 1], &[], &[1, 2]),
        drained("a Node that was never a member leaves", [1, 1], &[1, 2], &[3]),
        drained("a Node has the address of one that leaves", [1, 1], &[1, 2], &[2]),
        case("another node port while a Node is drained", |wanted, _| {
            let pool = &mut wanted.listeners[0].pool;
            (pool.members, pool.leaving) = (vec![member(1, 31000)].into(), Some(vec![member(2, 31000)]));
        }),
        in_subnet("members in the right subnet", ["old"; 4]),
        in_subnet("a member must be in another subnet", ["old", "old", "new", "old"]),
        in_subnet("all members must be in another subnet", ["new"; 4]),
        serial("one by one: all is as wanted", |_, _| {}),
        serial("one by one: a Node leaves and another joins", |wanted, _| {
            wanted.listeners[0].pool.members.change(|all| all[0] = member(3, 30080));
        }),
        serial("one by one: another monitor port", |wanted, _| {
            wanted.listeners[0].pool.members.change(|all| all[0].monitor_port = Some(32000));
        }),
    ]
}
