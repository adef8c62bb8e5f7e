//! What fingerprints are made of, pinned: another text makes every new leader read all load balancers once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bowline_cloud::IpMode;
use openstack_client::load_balancer::{
    AdditionalVip, Algorithm, BatchMember, LoadBalancer, MonitorType, Protocol, SessionPersistence,
};
use openstack_client::network::EtherType;
use serde_json::json;

use super::*;
use crate::fuzzing::scene::{ownership, service};
use crate::loadbalancer::group::{WantedGroup, WantedRule};
use crate::loadbalancer::intent::{ExtraTags, MonitorValues, Publication, Timeouts};
use crate::loadbalancer::names::Names;
use crate::loadbalancer::wanted::{
    FloatingPlace, ListenerKey, Vip, WantedAddress, WantedBalancer, WantedListener, WantedMonitor, WantedPool,
};

const WHOLE: &str = include_str!("whole.json");
const PLAIN: &str = include_str!("plain.json");

/// A wish in which everything that can be said is said.
fn whole(serial: bool) -> Wanted {
    let member = |node: u8, weight: i64| BatchMember {
        name: format!("node-{node}"),
        subnet_id: "subnet-1".parse().ok(),
        weight: Some(weight),
        monitor_port: Some(31000),
        ..BatchMember::new([10, 0, 0, node].into(), 30080)
    };
    let listener = WantedListener {
        key: ListenerKey { protocol: Protocol::Tcp, port: 80 },
        name: "listener_0_kube_service_held_default_web".to_owned(),
        connection_limit: 100,
        timeouts: Some(Timeouts { client_data: 1, member_connect: 2, member_data: 3, tcp_inspect: 4 }),
        allowed_cidrs: Some(Arc::new(BTreeSet::from(["10.0.0.0/8".to_owned()]))),
        insert_headers: BTreeMap::from([("X-Forwarded-For".to_owned(), "true".to_owned())]),
        certificate: Some("https://keys/1".to_owned()),
        pool: WantedPool {
            name: "pool_0_kube_service_held_default_web".to_owned(),
            protocol: Protocol::Http,
            algorithm: Algorithm::LeastConnections,
            session_persistence: Some(SessionPersistence::source_ip()),
            members: vec![member(1, 1), member(2, 1)].into(),
            leaving: Some(vec![member(3, 0)]),
            monitor: Some(WantedMonitor {
                name: "monitor_0_kube_service_held_default_web".to_owned(),
                kind: MonitorType::Tcp,
                values: MonitorValues { delay: 5, timeout: 3, max_retries: 1, max_retries_down: Some(3) },
            }),
        },
    };
    let rule = WantedRule {
        ethertype: EtherType::Ipv4,
        protocol: "tcp".to_owned(),
        port: 30080,
        from: "10.0.0.0/24".to_owned(),
    };
    Wanted {
        names: Names::of("held", &service()),
        ownership: ownership(),
        named: None,
        balancer: WantedBalancer {
            provider: "amphora".to_owned(),
            vip: Vip {
                subnet: "subnet-1".parse().ok(),
                network: "network-1".parse().ok(),
                port: "port-1".parse().ok(),
            },
            address: "10.0.0.9".parse().ok(),
            earlier_address: None,
            additional_vips: vec![AdditionalVip {
                subnet_id: "subnet-2".parse().unwrap(),
                port_id: None,
                ip_address: None,
            }],
            flavor: "flavor-1".parse().ok(),
            zone: Some("zone-1".to_owned()),
            tagged: true,
        },
        listeners: vec![listener],
        address: WantedAddress::Floating {
            place: Some(FloatingPlace {
                network: "public".parse().unwrap(),
                subnets: vec!["public-1".parse().unwrap(), "public-2".parse().unwrap()],
            }),
            asked: "192.0.2.1".parse().ok(),
            insist: true,
            keep_floating_ip: false,
        },
        group: Some(WantedGroup {
            name: "lb-sg-1".to_owned(),
            description: "for \"web\"".to_owned(),
            rules: BTreeSet::from([rule]),
            ports: BTreeSet::from(["port-2".parse().unwrap(), "port-3".parse().unwrap()]),
        }),
        publication: Publication::Address(IpMode::Vip),
        dual_stack: false,
        notices: Vec::new(),
        creation: Vec::new(),
        forbidden: Vec::new(),
        withheld: Vec::new(),
        unreadable: Vec::new(),
        serial,
        most_sharers: 2,
        recreate_on_error: true,
        extra_tags: ExtraTags {
            balancer: vec!["a".to_owned()],
            listener: vec!["b".to_owned()],
            pool: vec!["c".to_owned()],
        },
    }
}

/// A wish in which as little as can be is said.
fn plain() -> Wanted {
    let whole = whole(true);
    let mut listeners = whole.listeners.clone();
    for listener in &mut listeners {
        (listener.timeouts, listener.allowed_cidrs, listener.certificate) = (None, None, None);
        listener.insert_headers.clear();
        let pool = &mut listener.pool;
        (pool.session_persistence, pool.leaving, pool.monitor) = (None, None, None);
        pool.members = Vec::new().into();
    }
    let address = WantedAddress::Own { keep_floating_ip: true };
    Wanted { listeners, address, group: None, ..whole }
}

fn there() -> LoadBalancer {
    let balancer = json!({"id": "lb-1", "name": "web", "created_at": "2026-01-01T00:00:00", "updated_at": "2026-01-02T00:00:00"});
    serde_json::from_value(balancer).unwrap()
}

#[test]
fn what_a_fingerprint_is_made_of_stays_the_same() {
    let text =
        |wanted: &Wanted| serde_json::to_string_pretty(&Described::of(wanted, &there()).unwrap()).unwrap();
    for (wanted, made_of, fingerprint) in [
        (whole(false), WHOLE, "2-f76302e51a40d005"),
        (whole(true), WHOLE, "2-f76302e51a40d005"),
        (plain(), PLAIN, "2-e23680ef4dd4a3f0"),
    ] {
        assert_eq!(text(&wanted), made_of.trim_end());
        assert_eq!(wanted.fingerprint(&there()).unwrap(), fingerprint);
    }
}

#[test]
fn a_fingerprint_of_the_first_form_is_recognised() {
    for (wanted, first) in
        [(whole(false), "8b8a3eda949e1554"), (whole(true), "850f830302abdded"), (plain(), "cbee1a899070aa27")]
    {
        let present = wanted.fingerprint(&there()).unwrap();
        assert!(wanted.is_noted(&there(), &present, &["0123456789abcdef", first]), "{first}");
        assert!(wanted.is_noted(&there(), &present, &[&present]));
        assert!(!wanted.is_noted(&there(), &present, &["0123456789abcdef", "2-0123456789abcdef"]));
    }
}

type Change = fn(&mut Wanted);

#[test]
fn every_part_of_a_wish_counts() {
    let changes: [(&str, Change); 16] = [
        ("tag", |wanted| wanted.names = Names::of("other", &service())),
        ("address kept", |wanted| wanted.address = WantedAddress::Own { keep_floating_ip: true }),
        ("address given up", |wanted| wanted.address = WantedAddress::Own { keep_floating_ip: false }),
        ("limit", |wanted| wanted.listeners[0].connection_limit = 7),
        ("port", |wanted| wanted.listeners[0].key.port = 81),
        ("timeouts", |wanted| wanted.listeners[0].timeouts = None),
        ("cidrs", |wanted| wanted.listeners[0].allowed_cidrs = None),
        ("headers", |wanted| wanted.listeners[0].insert_headers.clear()),
        ("certificate", |wanted| wanted.listeners[0].certificate = None),
        ("algorithm", |wanted| wanted.listeners[0].pool.algorithm = Algorithm::RoundRobin),
        ("persistence", |wanted| wanted.listeners[0].pool.session_persistence = None),
        ("members", |wanted| wanted.listeners[0].pool.members.change(|all| all.truncate(1))),
        ("draining", |wanted| wanted.listeners[0].pool.leaving = None),
        ("monitor", |wanted| wanted.listeners[0].pool.monitor = None),
        ("rules", |wanted| wanted.group.as_mut().unwrap().rules.clear()),
        ("ports", |wanted| wanted.group.as_mut().unwrap().ports.clear()),
    ];
    for serial in [false, true] {
        let mut seen = BTreeMap::from([(whole(serial).fingerprint(&there()).unwrap(), "nothing")]);
        for (what, change) in changes {
            let mut wanted = whole(serial);
            change(&mut wanted);
            let other = seen.insert(wanted.fingerprint(&there()).unwrap(), what);
            assert_eq!(other, None, "{what}");
        }
        let mut later = there();
        later.updated_at = Some("2026-01-03T00:00:00".to_owned());
        assert!(!seen.contains_key(&whole(serial).fingerprint(&later).unwrap()), "the time of change");
    }
}
