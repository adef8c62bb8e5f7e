//! Protocols and monitors of ports.

use std::sync::Arc;

use bowline_cloud::TrafficPolicy;
use openstack_client::load_balancer::{MonitorType, Protocol};

use super::*;

const REFERENCE: &str = "https://kms.example.org/v1/containers/c-1";

#[derive(Clone, Copy)]
struct Said {
    tls: bool,
    x_forwarded_for: bool,
    proxy: &'static str,
}

const PLAIN: Said = Said { tls: false, x_forwarded_for: false, proxy: "false" };

fn spoken(said: Said, protocol: ServiceProtocol) -> (Protocol, Protocol) {
    let mut case = Case::new().with("proxy-protocol", said.proxy);
    case = case.with("x-forwarded-for", if said.x_forwarded_for { "true" } else { "false" });
    if said.tls {
        case = case.with("default-tls-container-ref", REFERENCE);
    }
    let intent = case.service(|service| service.ports = vec![port(protocol, 443)]).intent();
    (intent.ports[0].listener_protocol.clone(), intent.ports[0].pool_protocol.clone())
}

#[test]
fn get_listener_protocol_and_build_pool_create_opt() {
    use Protocol::{Http, Proxy, ProxyV2, Sctp, Tcp, TerminatedHttps, Udp};
    let tls = Said { tls: true, ..PLAIN };
    let forwarded = Said { x_forwarded_for: true, ..PLAIN };
    for (row, said, spoken_wanted) in [
        ("plain", PLAIN, (Tcp, Tcp)),
        ("TLS", tls, (TerminatedHttps, Http)),
        ("X-Forwarded-For", forwarded, (Http, Http)),
        ("both", Said { x_forwarded_for: true, ..tls }, (TerminatedHttps, Http)),
        ("PROXY", Said { proxy: "true", ..PLAIN }, (Tcp, Proxy)),
        ("PROXY v1", Said { proxy: "v1", ..PLAIN }, (Tcp, Proxy)),
        ("PROXY v2", Said { proxy: "v2", ..PLAIN }, (Tcp, ProxyV2)),
        ("PROXY goes before TLS", Said { proxy: "v2", ..tls }, (TerminatedHttps, ProxyV2)),
    ] {
        assert_eq!(spoken(said, ServiceProtocol::Tcp), spoken_wanted, "{row}");
        assert_eq!(spoken(said, ServiceProtocol::Udp), (Udp, Udp), "{row}: a UDP port stays as it is");
        assert_eq!(spoken(said, ServiceProtocol::Sctp), (Sctp, Sctp), "{row}: an SCTP port stays as it is");
    }
}

#[test]
fn proxy_protocol_with_a_udp_port_works_and_is_told() {
    let case = Case::new().with("proxy-protocol", "v2").service(|service| {
        service.ports = vec![port(ServiceProtocol::Tcp, 443), port(ServiceProtocol::Udp, 443)];
    });
    let intent = case.intent();
    let pools: Vec<_> = intent.ports.iter().map(|port| port.pool_protocol.as_str()).collect();
    assert_eq!(pools, ["PROXYV2", "UDP"]);
    assert_eq!(reasons(&intent), ["LoadBalancerPortsPassedOn"]);
}

#[test]
fn build_listener_create_opt() {
    let both =
        Case::new().with("x-forwarded-for", "true").with("default-tls-container-ref", REFERENCE).intent();
    let listener = &both.ports[0];
    assert_eq!(listener.insert_headers, BTreeMap::from([("X-Forwarded-For".into(), "true".into())]));
    assert_eq!(listener.tls.as_ref().unwrap().text, REFERENCE);
    let plain = &Case::new().intent().ports[0];
    assert!(plain.insert_headers.is_empty() && plain.tls.is_none());
    assert_eq!((plain.place, plain.port, plain.node_port), (0, 80, Some(30_080)));
}

#[test]
fn a_certificate_is_a_container_or_a_secret_and_in_another_store_anything() {
    let stored =
        |text: &str| Case::new().with("default-tls-container-ref", text).intent().ports[0].tls.clone();
    let container = stored(REFERENCE).unwrap().stored.clone();
    assert!(matches!(container, Some(Stored::Container(id)) if id.as_str() == "c-1"));
    let secret = stored("http://kms/v1/secrets/s-1").unwrap().stored.clone();
    assert!(matches!(secret, Some(Stored::Secret(id)) if id.as_str() == "s-1"));
    let elsewhere = Case::new()
        .conf(|conf| conf.container_store = "vault".to_owned())
        .with("default-tls-container-ref", "anything")
        .intent();
    assert_eq!(
        elsewhere.ports[0].tls,
        Some(Arc::new(TlsReference { text: "anything".to_owned(), stored: None }))
    );
}

#[test]
fn build_monitor_create_opts() {
    use MonitorType::{Http, Sctp, Tcp, UdpConnect};
    let local = |service: &mut ServiceView| {
        service.external_traffic_policy = Some(TrafficPolicy::Local);
        service.health_check_node_port = Some(31_306);
    };
    let cluster = |_service: &mut ServiceView| {};
    let without_port = |service: &mut ServiceView| {
        service.external_traffic_policy = Some(TrafficPolicy::Local);
    };
    type Row = (&'static str, u32, ServiceProtocol, fn(&mut ServiceView), MonitorType, Option<u16>);
    let rows: [Row; 10] = [
        ("ovn", 27, ServiceProtocol::Udp, local, UdpConnect, None),
        ("ovn", 27, ServiceProtocol::Tcp, local, Tcp, None),
        ("amphora", 27, ServiceProtocol::Tcp, cluster, Tcp, None),
        ("amphora", 27, ServiceProtocol::Udp, cluster, UdpConnect, None),
        ("amphora", 27, ServiceProtocol::Sctp, cluster, Sctp, None),
        ("amphora", 27, ServiceProtocol::Tcp, without_port, Tcp, None),
        ("amphora", 27, ServiceProtocol::Tcp, local, Http, Some(31_306)),
        ("amphora", 27, ServiceProtocol::Udp, local, Http, Some(31_306)),
        ("amphora", 15, ServiceProtocol::Udp, local, UdpConnect, None),
        ("amphora", 15, ServiceProtocol::Sctp, local, Http, Some(31_306)),
    ];
    for (provider, minor, protocol, change, kind, monitor_port) in rows {
        let mut case = Case::new()
            .conf(|conf| conf.lb_provider = provider.to_owned())
            .with("enable-health-monitor", "true")
            .service(change);
        case.version = ApiVersion(2, minor);
        case.service.ports = vec![port(protocol, 53)];
        let found = case.intent().ports.remove(0);
        assert_eq!(
            (found.monitor, found.monitor_port),
            (Some(kind), monitor_port),
            "{provider} {minor} {protocol}"
        );

        let off = case.with("enable-health-monitor", "false").intent();
        assert_eq!((&off.monitor, &off.ports[0].monitor, off.ports[0].monitor_port), (&None, &None, None));
    }
}

#[test]
fn values_of_a_monitor_come_from_annotations_and_else_from_cloud_conf() {
    let conf = |conf: &mut LoadBalancer| {
        conf.create_monitor = true;
        conf.monitor_delay = jiff::SignedDuration::from_millis(7_900);
        conf.monitor_max_retries_down = 0;
    };
    let configured = Case::new().conf(conf).intent().monitor.unwrap();
    let wanted = MonitorValues { delay: 7, timeout: 3, max_retries: 1, max_retries_down: None };
    assert_eq!(configured, wanted, "parts of a second do not count");
    let annotated = Case::new()
        .conf(conf)
        .with("health-monitor-delay", "8")
        .with("health-monitor-timeout", "4")
        .with("health-monitor-max-retries", "3")
        .with("health-monitor-max-retries-down", "4")
        .intent();
    let wanted = MonitorValues { delay: 8, timeout: 4, max_retries: 3, max_retries_down: Some(4) };
    assert_eq!(annotated.monitor, Some(wanted));
}

#[test]
fn session_affinity_is_by_the_clients_address() {
    let of = |affinity| Case::new().service(|service| service.session_affinity = affinity).intent();
    assert_eq!(of(Some(SessionAffinity::None)).session_persistence, None);
    assert_eq!(of(None).session_persistence, None);
    assert_eq!(
        of(Some(SessionAffinity::ClientIp)).session_persistence,
        Some(SessionPersistence::source_ip())
    );
}

#[test]
fn a_port_without_a_node_port_has_no_members() {
    for none in [None, Some(0)] {
        let intent = Case::new().service(|service| service.ports[0].node_port = none).intent();
        assert_eq!(intent.ports[0].node_port, None);
    }
}

#[test]
fn ovn_asks_members_by_what_it_has() {
    let monitors = |case: Case| {
        let intent = case.ovn().conf(|conf| conf.create_monitor = true).intent();
        let kinds: Vec<_> = intent.ports.iter().map(|port| port.monitor.clone()).collect();
        (kinds, reasons(&intent))
    };
    let sctp = Case::new().service(|service| service.ports.push(port(ServiceProtocol::Sctp, 3868)));
    let told = vec!["LoadBalancerHealthMonitorIgnored"];
    assert_eq!(monitors(sctp), (vec![Some(MonitorType::Tcp), None], told));
    let local = Case::new().service(|service| {
        service.external_traffic_policy = Some(TrafficPolicy::Local);
        service.health_check_node_port = Some(32_000);
    });
    assert_eq!(monitors(local), (vec![Some(MonitorType::Tcp)], vec!["LoadBalancerHealthMonitorChanged"]));
}

#[test]
fn local_traffic_without_a_health_monitor_is_told_with_what_to_do_and_only_then() {
    const REASON: &str = "LoadBalancerLocalTrafficUnmonitored";
    let told = |case: Case| -> Vec<String> {
        let notices = case.intent().notices.into_iter();
        notices.filter(|notice| notice.reason == REASON).map(|notice| notice.message).collect()
    };
    let local = |protocol: ServiceProtocol| {
        Case::new().service(|service| {
            service.ports = vec![port(protocol, 80)];
            service.external_traffic_policy = Some(TrafficPolicy::Local);
            service.health_check_node_port = Some(32_000);
        })
    };
    let monitored = |case: Case| case.conf(|conf| conf.create_monitor = true);
    let tcp = || local(ServiceProtocol::Tcp);
    for (case, parts) in [
        (tcp(), ["create-monitor in cloud.conf is false", "enable-health-monitor to \"true\""]),
        (
            monitored(tcp()).with("enable-health-monitor", "false"),
            ["enable-health-monitor is \"false\"", "spec.externalTrafficPolicy to Cluster"],
        ),
        (
            monitored(local(ServiceProtocol::Sctp)).ovn(),
            ["provider ovn have no health monitor for SCTP", "another lb-provider"],
        ),
    ] {
        let told = told(case);
        let [message] = told.as_slice() else { panic!("{told:?}") };
        assert!(parts.iter().all(|part| message.contains(part)), "{message}");
    }
    for quiet in [
        monitored(tcp()),
        monitored(tcp()).ovn(),
        monitored(local(ServiceProtocol::Sctp)),
        tcp().with("enable-health-monitor", "true"),
        Case::new(),
    ] {
        assert_eq!(told(quiet), [""; 0]);
    }
}

#[test]
fn what_ovn_cannot_speak_is_refused_before_anything_that_works_is_taken_away() {
    for key in ["proxy-protocol", "x-forwarded-for"] {
        let case = || Case::new().with(key, "true");
        assert_eq!(case().intent().notices, [], "{key}");
        let problems = case().ovn().problems();
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].contains(key) && problems[0].contains("lb-provider"), "{problems:?}");
        let udp = case().ovn().service(|service| service.ports = vec![port(ServiceProtocol::Udp, 53)]);
        assert_eq!(udp.intent().ports.len(), 1, "{key} does not count for UDP");
    }
}
