//! Plans that are performed one step at a time come to an end, and the end is what a new load balancer would be: whatever was
//! wanted before, wherever it was interrupted, whatever somebody did meanwhile. What others have stays as it is.

use proptest::collection::{btree_set, vec};
use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::loadbalancer::members::{FoundMembers, Members};

const SUBNETS: [Option<&str>; 3] = [None, Some("subnet-a"), Some("subnet-b")];

/// Whether the provider takes one thing at a time, for a whole run.
fn wish(serial: bool) -> impl Strategy<Value = Wanted> {
    let at_80 =
        select(vec![None, Some(Protocol::Tcp), Some(Protocol::Http), Some(Protocol::TerminatedHttps)]);
    let at_443 = select(vec![None, Some(Protocol::Tcp), Some(Protocol::TerminatedHttps)]);
    let at_53 = select(vec![None, Some(Protocol::Udp), Some(Protocol::Sctp), Some(Protocol::Tcp)]);
    let also_udp = select(vec![None, Some(Protocol::Udp)]);
    let ports = (at_80, at_443, at_53, also_udp).prop_map(|(at_80, at_443, at_53, also_udp)| {
        let ports = [(at_80, 80), (at_443, 443), (at_53, 53), (also_udp, 80)];
        let mut ports: Vec<_> =
            ports.into_iter().filter_map(|(protocol, port)| Some((protocol?, port))).collect();
        if ports.is_empty() {
            ports.push((Protocol::Tcp, 8080));
        }
        ports
    });
    let address = select(vec![
        WantedAddress::Own { keep_floating_ip: false },
        floating(None, false),
        floating(Some("192.0.2.77"), true),
        floating(Some("192.0.2.78"), true),
    ]);
    (ports, address, options(serial)).prop_map(move |(ports, address, options)| {
        let listeners = ports.into_iter().enumerate();
        let listeners = listeners.map(|(place, (protocol, port))| options.listener(place, &protocol, port));
        Wanted { serial, address, listeners: listeners.collect(), ..wanted() }
    })
}

/// What all ports of a wish have alike.
#[derive(Debug, Clone)]
struct Options {
    limit: i64,
    timeout: i64,
    narrow: bool,
    forwarded: bool,
    certificate: u8,
    proxy: bool,
    sticky: bool,
    monitor: Option<(MonitorType, i64)>,
    nodes: BTreeSet<u8>,
    subnet: Option<&'static str>,
    monitor_port: Option<u16>,
}

fn options(serial: bool) -> impl Strategy<Value = Options> {
    let monitor =
        select(vec![None, Some(MonitorType::Tcp), Some(MonitorType::Http), Some(MonitorType::Ping)]);
    let subnets: &[Option<&str>] = if serial { &SUBNETS[..1] } else { &SUBNETS[1..] };
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let nodes =
        (btree_set(1_u8..6, 0..6), select(subnets.to_vec()), select(vec![None, Some(32000), Some(32001)]));
    let values = (select(vec![-1, 100]), select(vec![50000, 60000]), 0_u8..2, monitor, 5_i64..7);
    (flags, nodes, values).prop_map(|(flags, nodes, values)| {
        let ((narrow, forwarded, proxy, sticky), (nodes, subnet, monitor_port)) = (flags, nodes);
        let (limit, timeout, certificate, monitor, delay) = values;
        let monitor = monitor.map(|kind| (kind, delay));
        Options {
            limit,
            timeout,
            narrow,
            forwarded,
            certificate,
            proxy,
            sticky,
            monitor,
            nodes,
            subnet,
            monitor_port,
        }
    })
}

impl Options {
    fn listener(&self, place: usize, protocol: &Protocol, port: u16) -> WantedListener {
        let mut wish = listener(place, protocol.clone(), port);
        wish.connection_limit = self.limit;
        wish.timeouts.as_mut().unwrap().member_data = self.timeout;
        if self.narrow {
            let ranges = ["192.0.2.0/24".to_owned(), "198.51.100.0/24".to_owned()];
            wish.allowed_cidrs = Some(Arc::new(ranges.into()));
        }
        if self.forwarded && matches!(protocol, Protocol::Http | Protocol::TerminatedHttps) {
            wish.insert_headers = [("X-Forwarded-For".to_owned(), "true".to_owned())].into();
        }
        wish.certificate = (*protocol == Protocol::TerminatedHttps)
            .then(|| format!("https://keys/containers/{}", self.certificate));
        if self.proxy && *protocol == Protocol::Tcp {
            wish.pool.protocol = Protocol::Proxy;
        }
        if self.sticky {
            (wish.pool.session_persistence, wish.pool.algorithm) = (affinity(), Algorithm::SourceIp);
        }
        let monitor = wish.pool.monitor.take().unwrap();
        wish.pool.monitor = self.monitor.clone().map(|(kind, delay)| WantedMonitor {
            kind,
            values: MonitorValues { delay, ..monitor.values },
            ..monitor
        });
        let node = |node: &u8| BatchMember {
            subnet_id: self.subnet.and_then(|subnet| subnet.parse().ok()),
            monitor_port: self.monitor_port,
            ..member(*node, 30000 + port)
        };
        wish.pool.members = self.nodes.iter().map(node).collect();
        wish
    }
}

/// What somebody does to the cloud behind our back.
fn drift(world: &mut World, what: u8) {
    let active = world
        .balancer
        .as_ref()
        .is_some_and(|balancer| balancer.provisioning_status == ProvisioningStatus::Active);
    if !active {
        return;
    }
    let tree = &mut world.tree;
    let mut ours = tree.listeners.iter_mut().filter(|one| !one.tags.contains(&OTHER_TAG.to_owned()));
    match what {
        0 => ours.by_ref().take(1).for_each(|one| one.connection_limit = Some(7)),
        1 => ours.by_ref().take(1).for_each(|one| one.provisioning_status = ProvisioningStatus::Error),
        2 => tree.pools.iter_mut().take(1).for_each(|one| one.members = FoundMembers::default()),
        3 => tree.pools.iter_mut().for_each(|one| one.monitor = None),
        4 => tree
            .pools
            .iter_mut()
            .take(1)
            .for_each(|one| one.pool.provisioning_status = ProvisioningStatus::Error),
        5 => world.fails("ERROR"),
        6 => world.lb().tags.clear(),
        7 => world.floating.retain(|one| one.port_id.is_none()),
        8 => {
            tree.pools.clear();
            tree.listeners.iter_mut().for_each(|one| one.default_pool_id = None);
        }
        _ => {}
    }
}

/// All that is compared, without ids and without the order of things.
fn shape(world: &World) -> String {
    let tree = &world.tree;
    let listeners: BTreeSet<String> = tree.listeners.iter().map(|one| {
        let pools: Vec<String> = tree.pools_of(one).map(|found| {
            let there = found.members.to_vec();
            let members: BTreeSet<_> = there.iter().map(|member| {
                (&member.name, member.address, member.protocol_port, member.monitor_port, &member.subnet_id)
            }).collect();
            let monitor = found.monitor.as_ref().map(|monitor| {
                (&monitor.name, &monitor.kind, monitor.delay, monitor.timeout, &monitor.url_path, &monitor.expected_codes)
            });
            let pool = &found.pool;
            format!("{} {} {:?} {members:?} {monitor:?}", pool.protocol, pool.lb_algorithm, pool.session_persistence)
        }).collect();
        let cidrs: BTreeSet<_> = one.allowed_cidrs.iter().collect();
        let (headers, certificate, tags) = (&one.insert_headers, &one.default_tls_container_ref, &one.tags);
        let (protocol, port, limit, timeout) = (&one.protocol, one.protocol_port, one.connection_limit, one.timeout_member_data);
        format!("{protocol} {port} {limit:?} {timeout:?} {cidrs:?} {headers:?} {certificate:?} {tags:?} {pools:?}")
    }).collect();
    let balancer = world.balancer.as_ref().map(|one| (&one.name, one.tags.iter().collect::<BTreeSet<_>>()));
    format!("{balancer:?} {listeners:#?} and {} pools", tree.pools.len())
}

/// Wishes, each with how many steps it gets before the next one, and what happens before it.
fn story() -> impl Strategy<Value = (Vec<(Wanted, usize, u8)>, Wanted)> {
    any::<bool>().prop_flat_map(|serial| (vec((wish(serial), 0_usize..40, 0_u8..16), 0..4), wish(serial)))
}

fn live(world: &mut World, chapters: &[(Wanted, usize, u8)]) {
    for (wanted, steps, happens) in chapters {
        drift(world, *happens);
        for _step in 0..*steps {
            match world.ensure(wanted) {
                Plan::Act(steps) => world.perform(&steps[0]),
                Plan::Wait(_) => world.finish(),
                _ => break,
            }
        }
    }
}

fn attached(world: &World) -> Vec<String> {
    let here = world.floating.iter().filter(|one| one.port_id.is_some());
    here.map(|one| one.floating_ip_address.to_string()).collect()
}

#[test]
fn a_load_balancer_in_error_that_serves_nobody_is_replaced_behind_the_same_floating_ip() {
    let wanted = wanted();
    let mut world = World::of(&wanted);
    let before = shape(&world);
    world.fails("ERROR");
    assert!(matches!(world.settle(&wanted), Plan::Settled(_)));
    assert_eq!(world.lb().id.as_str(), "lb-2");
    assert_eq!((shape(&world), attached(&world)), (before, vec!["192.0.2.1".to_owned()]));
}

#[test]
fn after_the_cluster_was_renamed_all_is_as_if_it_had_always_been_called_so() {
    let named = |cluster: &str| {
        let names = Names::of(cluster, &service());
        let mut wanted = Wanted { names: names.clone(), ..wanted() };
        let wish = &mut wanted.listeners[0];
        (wish.name, wish.pool.name) = (names.listener(0), names.pool(0));
        wish.pool.monitor.as_mut().unwrap().name = names.monitor(0);
        wanted
    };
    // A name that is in the prefix of all names, too.
    for before in ["before", "kube", "service", "a_b"] {
        let (old, new) = (named(before), named("held"));
        let mut world = World::of(&old);
        (world.by, world.known_address) = (FoundBy::Id, "192.0.2.1".parse().ok());
        assert!(matches!(world.settle(&new), Plan::Settled(_)), "{before}");
        assert_eq!(world.floating[0].description, new.names.floating_ip_description(), "{before}");
        assert_eq!(shape(&world), shape(&World::of(&new)), "{before}");
        let names = |world: &mut World| (world.listener(80).name.clone(), world.pool(0).pool.name.clone());
        assert_eq!(names(&mut world), names(&mut World::of(&new)), "{before}");
        assert_eq!(world.lb().id.as_str(), "lb-1", "it is not made anew");
    }
}

#[test]
fn another_floating_ip_can_be_insisted_on_and_the_one_before_is_given_back_unless_it_is_kept() {
    let mut wanted = wanted();
    let mut world = World::of(&wanted);
    for asked in ["192.0.2.7", "192.0.2.1", "192.0.2.7"] {
        wanted.address = floating(Some(asked), true);
        assert!(matches!(world.settle(&wanted), Plan::Settled(_)));
        assert_eq!(attached(&world), [asked]);
        assert_eq!(world.floating.len(), 1);
    }
    for asked in ["192.0.2.1", "192.0.2.7", "192.0.2.1"] {
        wanted.address = floating(Some(asked), true);
        if let WantedAddress::Floating { keep_floating_ip, .. } = &mut wanted.address {
            *keep_floating_ip = true;
        }
        assert!(matches!(world.settle(&wanted), Plan::Settled(_)));
        assert_eq!(attached(&world), [asked]);
    }
    assert_eq!(world.floating.len(), 2, "none is given back, none is made twice");
}

#[test]
fn members_move_to_another_subnet_while_others_take_the_traffic() {
    let mut wanted = wanted();
    let members = |subnet: &str| {
        let member = |node| BatchMember { subnet_id: subnet.parse().ok(), ..member(node, 30080) };
        (1..8).map(member).collect::<Members>()
    };
    wanted.listeners[0].pool.members = members("old");
    let mut world = World::of(&wanted);
    wanted.listeners[0].pool.members = members("new");
    loop {
        match world.ensure(&wanted) {
            Plan::Act(steps) => world.perform(&steps[0]),
            Plan::Wait(_) => world.finish(),
            end => break assert!(matches!(end, Plan::Settled(_))),
        }
        assert!(world.pool(0).members.len() >= 4, "more than half of them stay");
    }
    assert_eq!(shape(&world), shape(&World::of(&wanted)));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn whatever_was_before_the_end_is_what_a_new_load_balancer_would_be((chapters, last) in story()) {
        let mut world = World::empty();
        live(&mut world, &chapters);
        let end = world.settle(&last);
        let Plan::Settled(status) = &end else { panic!("{end:?}") };
        let fresh = World::of(&Wanted { serial: false, ..last.clone() });
        prop_assert_eq!(shape(&world), shape(&fresh));
        let attached: Vec<_> = world.floating.iter().filter(|one| one.port_id.is_some()).collect();
        let shown = status.ingress[0].ip.unwrap();
        match &last.address {
            WantedAddress::Own { .. } => prop_assert!(attached.is_empty() && shown.to_string() == world.vip),
            WantedAddress::Floating { asked, .. } => {
                prop_assert_eq!(attached.len(), 1);
                prop_assert_eq!(attached[0].floating_ip_address, shown);
                prop_assert!(asked.is_none_or(|asked| asked == shown));
            }
        }
        prop_assert!(matches!(world.ensure(&last), Plan::Settled(_)), "it is settled for good");
    }

    #[test]
    fn whatever_was_before_a_service_that_goes_leaves_nothing((chapters, _) in story(), cascade: bool) {
        let mut world = World::empty();
        live(&mut world, &chapters);
        let removal = Removal { cascade, ..removal() };
        let end = world.run(|world| world.remove(&removal));
        prop_assert!(matches!(end, Plan::Settled(_)), "{:?}", end);
        prop_assert!(world.balancer.is_none() && world.floating.is_empty(), "{:?}", world);
    }

    #[test]
    fn what_other_services_have_is_never_touched((chapters, last) in story(), cascade: bool) {
        let mut world = World::empty();
        world.settle(&last);
        world.foreign_listener("TCP", 9999, &[OTHER_TAG]);
        world.lb().tags.push(OTHER_TAG.to_owned());
        let theirs = |world: &World| world.tree.listeners.iter().find(|one| one.protocol_port == 9999).cloned();
        let before = theirs(&world);
        // Without the loss of tags, by which theirs are known.
        let chapters: Vec<_> = chapters.into_iter().filter(|(_, _, happens)| !(5..7).contains(happens)).collect();
        live(&mut world, &chapters);
        world.settle(&last);
        let removal = Removal { cascade, ..removal() };
        let end = world.run(|world| world.remove(&removal));
        prop_assert!(matches!(end, Plan::Settled(_)), "{:?}", end);
        prop_assert!(before.is_some());
        prop_assert_eq!(theirs(&world), before);
        prop_assert_eq!(&world.lb().tags, &["bowline-cluster:c1", OTHER_TAG]);
    }
}
