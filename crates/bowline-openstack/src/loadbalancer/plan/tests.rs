//! Plans as text, and plans performed on a small model of the cloud.

mod arbitrary;
mod cases;
mod converge;
mod golden;
mod recorded;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bowline_cloud::IpMode;
use openstack_client::load_balancer::{Algorithm, BatchMember, MonitorType, Protocol, SessionPersistence};
use serde_json::json;

use super::*;
use crate::config;
use crate::fuzzing::scene::{ownership, service};
use crate::fuzzing::world::{self, World, line};
use crate::loadbalancer::found::FoundBy;
use crate::loadbalancer::intent::{ExtraTags, MonitorValues, Publication, Removal, Timeouts};
use crate::loadbalancer::names::Names;
use crate::loadbalancer::wanted::{
    FloatingPlace, ListenerKey, Vip, WantedAddress, WantedBalancer, WantedListener, WantedMonitor, WantedPool,
};

/// The tag of the Service of these tests, and the name of its load balancer.
const TAG: &str = "kube_service_held_default_web";
const OTHER_TAG: &str = "kube_service_held_default_other";
const LEGACY: &str = "a11111111222233334444555555555555";

fn floating(asked: Option<&str>, insist: bool) -> WantedAddress {
    let place = Some(FloatingPlace { network: "public".parse().unwrap(), subnets: Vec::new() });
    WantedAddress::Floating {
        place,
        asked: asked.map(|address| address.parse().unwrap()),
        insist,
        keep_floating_ip: false,
    }
}

/// A Service with one TCP port, two Nodes, a monitor and a floating IP.
fn wanted() -> Wanted {
    Wanted {
        names: Names::of("held", &service()),
        ownership: ownership(),
        named: None,
        balancer: WantedBalancer {
            provider: "amphora".to_owned(),
            vip: Vip::default(),
            address: None,
            earlier_address: None,
            additional_vips: Vec::new(),
            flavor: None,
            zone: None,
            tagged: true,
        },
        listeners: vec![listener(0, Protocol::Tcp, 80)],
        address: floating(None, false),
        group: None,
        publication: Publication::Address(IpMode::Vip),
        dual_stack: false,
        notices: Vec::new(),
        creation: Vec::new(),
        forbidden: Vec::new(),
        withheld: Vec::new(),
        unreadable: Vec::new(),
        serial: false,
        most_sharers: 2,
        recreate_on_error: true,
        extra_tags: ExtraTags::default(),
    }
}

fn listener(place: usize, protocol: Protocol, port: u16) -> WantedListener {
    let names = Names::of("held", &service());
    let (pool, monitor) = match protocol {
        Protocol::Udp => (Protocol::Udp, MonitorType::UdpConnect),
        Protocol::Sctp => (Protocol::Sctp, MonitorType::Sctp),
        Protocol::Tcp => (Protocol::Tcp, MonitorType::Tcp),
        _ => (Protocol::Http, MonitorType::Tcp),
    };
    let node_port = 30000 + port;
    WantedListener {
        key: ListenerKey { protocol, port },
        name: names.listener(place),
        connection_limit: -1,
        timeouts: Some(Timeouts {
            client_data: 50000,
            member_connect: 5000,
            member_data: 50000,
            tcp_inspect: 0,
        }),
        allowed_cidrs: Some(Arc::new(BTreeSet::from(["0.0.0.0/0".to_owned()]))),
        insert_headers: BTreeMap::new(),
        certificate: None,
        pool: WantedPool {
            name: names.pool(place),
            protocol: pool,
            algorithm: Algorithm::RoundRobin,
            session_persistence: None,
            members: vec![member(1, node_port), member(2, node_port)].into(),
            leaving: None,
            monitor: Some(WantedMonitor {
                name: names.monitor(place),
                kind: monitor,
                values: MonitorValues { delay: 5, timeout: 3, max_retries: 1, max_retries_down: Some(3) },
            }),
        },
    }
}

fn member(node: u8, port: u16) -> BatchMember {
    BatchMember { name: format!("node-{node}"), ..BatchMember::new([10, 0, 0, node].into(), port) }
}

fn removal() -> Removal {
    let mut config = config::CloudConf::default().load_balancer;
    config.cascade_delete = true;
    Removal::of(&service(), "held", ownership(), &config, true)
}

fn affinity() -> Option<SessionPersistence> {
    Some(SessionPersistence::source_ip())
}

/// A plan as text: each step with what it sends, and why.
fn told(plan: &LoadBalancerPlan) -> Vec<String> {
    match plan {
        Plan::Settled(status) => {
            vec![format!("settled: {}", serde_json::to_string(&status.ingress).unwrap())]
        }
        Plan::Act(steps) => steps.iter().map(line).collect(),
        Plan::Wait(wait) => vec![format!("wait {} s: {}", wait.at_most.as_secs(), wait.reason)],
        Plan::Refuse(refusal) => {
            refusal.problems.iter().map(|problem| format!("refused: {problem}")).collect()
        }
        Plan::Elsewhere => vec!["elsewhere".to_owned()],
    }
}
