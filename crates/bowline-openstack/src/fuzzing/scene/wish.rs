//! What a Service wants: a few ports, all with the same options, as an intent makes them.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;

use bowline_cloud::{IpMode, ServiceView};
use openstack_client::load_balancer::{Algorithm, BatchMember, MonitorType, Protocol, SessionPersistence};
use openstack_client::network::EtherType;

use super::super::Choices;
use super::super::choices::id;
use super::ADDRESSES;
use crate::config::CloudConf;
use crate::loadbalancer::group::{WantedGroup, WantedRule};
use crate::loadbalancer::intent::{ExtraTags, MonitorValues, Publication, Removal, Timeouts};
use crate::loadbalancer::names::Names;
use crate::loadbalancer::ownership::Ownership;
use crate::loadbalancer::wanted::{
    FloatingPlace, ListenerKey, Vip, Wanted, WantedAddress, WantedBalancer, WantedListener, WantedMonitor,
    WantedPool,
};

/// The Service of these scenes.
pub(crate) fn service() -> ServiceView {
    ServiceView {
        namespace: "default".into(),
        name: "web".into(),
        uid: "11111111-2222-3333-4444-555555555555".into(),
        ..ServiceView::default()
    }
}

/// What proves that a load balancer is its own.
pub(crate) fn ownership() -> Ownership {
    Ownership { cluster: Some("c1".into()), service: "s1".into(), ..Ownership::default() }
}

/// What is needed to take away what a Service of these scenes has.
pub(crate) fn removal(choices: &mut Choices<'_>) -> Removal {
    let mut config = CloudConf::default().load_balancer;
    config.cascade_delete = choices.once_in(2);
    let removal = Removal::of(&service(), "held", ownership(), &config, true);
    Removal { keep_floating_ip: choices.once_in(4), ..removal }
}

pub(super) fn wanted(choices: &mut Choices<'_>) -> Wanted {
    let names = Names::of("held", &service());
    let serial = choices.once_in(4);
    let options = Options::of(choices, serial);
    let mut listeners = Vec::new();
    // Of one Service at most one port is at a place, for each of the transports.
    for (port, over) in [(80, &TCP), (443, &TCP), (53, &NOT_TCP), (80, &NOT_TCP), (53, &TCP)] {
        if choices.once_in(2) {
            listeners.push(options.listener(choices, &names, listeners.len(), over, port));
        }
    }
    Wanted {
        ownership: ownership(),
        named: choices.of(&[None, Some("lb-1")]).map(id),
        balancer: WantedBalancer {
            provider: "amphora".to_owned(),
            vip: Vip::default(),
            address: None,
            earlier_address: None,
            additional_vips: Vec::new(),
            flavor: None,
            zone: None,
            tagged: !choices.once_in(8),
        },
        listeners,
        address: address(choices),
        group: choices.once_in(2).then(|| group(choices, &names)),
        publication: Publication::Address(IpMode::Vip),
        dual_stack: choices.once_in(4),
        notices: Vec::new(),
        creation: Vec::new(),
        forbidden: Vec::new(),
        withheld: Vec::new(),
        unreadable: Vec::new(),
        serial,
        most_sharers: choices.of(&[2, 1, 0, 9]),
        recreate_on_error: !choices.once_in(4),
        extra_tags: extra_tags(choices),
        names,
    }
}

/// Tags that a Service asks for.
fn extra_tags(choices: &mut Choices<'_>) -> ExtraTags {
    let all = ["env=prod", "team=a", "x"].map(str::to_owned);
    let mut some = || choices.some_of(&all, 3).into_iter().collect();
    ExtraTags { balancer: some(), listener: some(), pool: some() }
}

const TCP: [Protocol; 4] = [Protocol::Tcp, Protocol::Http, Protocol::TerminatedHttps, Protocol::Tcp];
const NOT_TCP: [Protocol; 4] = [Protocol::Udp, Protocol::Sctp, Protocol::Udp, Protocol::Udp];

/// What all ports have alike.
struct Options {
    limit: i64,
    timeout: Option<i64>,
    cidrs: Option<BTreeSet<String>>,
    certificate: Option<String>,
    sticky: bool,
    monitor: Option<(MonitorType, i64)>,
    members: Vec<u8>,
    leaving: Option<Vec<u8>>,
    subnet: Option<&'static str>,
    monitor_port: Option<u16>,
}

impl Options {
    fn of(choices: &mut Choices<'_>, serial: bool) -> Self {
        let kinds = [None, Some(MonitorType::Tcp), Some(MonitorType::Http), Some(MonitorType::UdpConnect)];
        let monitor = choices.of(&kinds).map(|kind| (kind, choices.of(&[5, 6])));
        let cidrs = ["0.0.0.0/0", "192.0.2.0/24", "198.51.100.0/24"].map(str::to_owned);
        let all = [1, 2, 3, 4, 5, 6];
        Self {
            limit: choices.of(&[-1, 100]),
            timeout: choices.of(&[Some(50000), None, Some(60000)]),
            cidrs: (!choices.once_in(4)).then(|| choices.some_of(&cidrs, 2).into_iter().collect()),
            certificate: choices.once_in(2).then(|| "https://keys/containers/1".to_owned()),
            sticky: choices.once_in(4),
            monitor,
            members: choices.some_of(&all, 2),
            leaving: (!serial && choices.once_in(3)).then(|| choices.some_of(&all, 3)),
            subnet: choices.of(&[None, Some("subnet-a"), Some("subnet-b")]),
            monitor_port: choices.of(&[None, Some(32000)]),
        }
    }

    fn listener(
        &self,
        choices: &mut Choices<'_>,
        names: &Names,
        place: usize,
        protocols: &[Protocol; 4],
        port: u16,
    ) -> WantedListener {
        let protocol = choices.of(protocols);
        let http = matches!(protocol, Protocol::Http | Protocol::TerminatedHttps);
        let forwarded =
            (http && choices.once_in(2)).then(|| ("X-Forwarded-For".to_owned(), "true".to_owned()));
        let timeouts = self.timeout.map(|timeout| Timeouts {
            client_data: 50000,
            member_connect: 5000,
            member_data: timeout,
            tcp_inspect: 0,
        });
        WantedListener {
            name: names.listener(place),
            connection_limit: self.limit,
            timeouts,
            allowed_cidrs: self.cidrs.clone().map(Arc::new),
            insert_headers: forwarded.into_iter().collect(),
            certificate: self.certificate.clone().filter(|_one| protocol == Protocol::TerminatedHttps),
            pool: self.pool(choices, names, place, &protocol, port),
            key: ListenerKey { protocol, port },
        }
    }

    fn pool(
        &self,
        choices: &mut Choices<'_>,
        names: &Names,
        place: usize,
        protocol: &Protocol,
        port: u16,
    ) -> WantedPool {
        let speaks = match protocol {
            Protocol::Tcp => choices.of(&[Protocol::Tcp, Protocol::Proxy]),
            Protocol::Udp | Protocol::Sctp => protocol.clone(),
            _ => Protocol::Http,
        };
        let member = |node: &u8| self.member(*node, 30000 + port);
        // Somebody has to serve, as where wishes are made.
        let weight = (!self.members.is_empty()).then_some(0);
        let leaving = self.leaving.as_ref().map(|nodes| {
            let gone = nodes.iter().filter(|node| !self.members.contains(node));
            gone.map(|node| BatchMember { weight, ..member(node) }).collect()
        });
        let values = |delay| MonitorValues { delay, timeout: 3, max_retries: 1, max_retries_down: None };
        WantedPool {
            name: names.pool(place),
            protocol: speaks,
            algorithm: if self.sticky { Algorithm::SourceIp } else { Algorithm::RoundRobin },
            session_persistence: self.sticky.then(SessionPersistence::source_ip),
            members: self.members.iter().map(member).collect(),
            leaving,
            monitor: self.monitor.clone().map(|(kind, delay)| WantedMonitor {
                name: names.monitor(place),
                kind,
                values: values(delay),
            }),
        }
    }

    fn member(&self, node: u8, port: u16) -> BatchMember {
        BatchMember {
            name: format!("node-{node}"),
            subnet_id: self.subnet.map(id),
            monitor_port: self.monitor_port,
            ..BatchMember::new(IpAddr::from([10, 0, 0, node]), port)
        }
    }
}

fn address(choices: &mut Choices<'_>) -> WantedAddress {
    let keep_floating_ip = choices.once_in(4);
    if choices.once_in(4) {
        return WantedAddress::Own { keep_floating_ip };
    }
    let place = FloatingPlace { network: id("public"), subnets: Vec::new() };
    WantedAddress::Floating {
        place: (!choices.once_in(4)).then_some(place),
        asked: choices.once_in(2).then(|| id(choices.of(&ADDRESSES))),
        insist: choices.once_in(2),
        keep_floating_ip,
    }
}

fn group(choices: &mut Choices<'_>, names: &Names) -> WantedGroup {
    let rule = |port| WantedRule {
        ethertype: EtherType::Ipv4,
        protocol: "tcp".to_owned(),
        port,
        from: "10.0.0.0/24".to_owned(),
    };
    WantedGroup {
        name: names.security_group(),
        description: names.security_group_description(),
        rules: choices.some_of(&[30080, 30443, 30053], 2).into_iter().map(rule).collect(),
        ports: choices.some_of(&["port-1", "port-2", "port-3"], 2).into_iter().map(id).collect(),
    }
}
