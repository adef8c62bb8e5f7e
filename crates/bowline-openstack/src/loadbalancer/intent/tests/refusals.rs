//! What is refused, and that all of it is told at once.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::loadbalancer::annotations::{ANNOTATIONS, Annotation, Kind};

/// Values that a kind does not accept.
pub(in crate::loadbalancer) fn wrong_values(row: &Annotation) -> &'static [&'static str] {
    match row.kind {
        // A text that is too long is not quoted whole: see below.
        Kind::Text | Kind::ShortText => &[],
        Kind::Id => &["a b", "a/b", "a?b", "ä"],
        Kind::Flag => &["yes", "True", "1", " true"],
        Kind::Number { .. } => &["ten", "1.5", "1s", "-2", "99999999999999999999", " 1"],
        Kind::Word(_) => &["nonsense", "round_robin", "V2"],
        Kind::Class => &["no-such-class"],
        Kind::NamePattern => &["~(", "public-["],
        Kind::Tags => &["!", "&"],
        Kind::ExtraTags => {
            &["kube_service_x_y_z", "env=prod, Bowline-Cluster:c1", "bowline-service:s1", "a\u{1b}[0m"]
        }
        Kind::Selector => &["=v", "a=b,=c"],
        Kind::Certificate => &["nonsense", "https://kms/v1/orders/o-1", "https://kms/v1/secrets/"],
        Kind::Networks => &["10.0.0.1", "10.0.0.0/33", "10.0.0.0/8,x"],
        Kind::Duration { .. } => &["30", "-1s", "25h", "1d", "5 m", "soon"],
        Kind::Address => &["10.0.0", "10.0.0.0/8", "web.example"],
    }
}

#[test]
fn every_wrong_value_is_refused_with_key_value_and_what_is_accepted() {
    let mut tried = 0;
    for row in ANNOTATIONS {
        for value in wrong_values(row) {
            let problems = Case::new().with(row.key, value).problems();
            let [problem] = &*problems else { panic!("{} {value:?}: {problems:?}", row.key) };
            assert!(problem.contains(row.key), "{problem}");
            if row.kind == Kind::Networks {
                assert!(problem.contains("192.0.2.0/24"), "{problem}");
            } else {
                assert!(problem.contains(&format!("{value:?}; accepted: ")), "{problem}");
            }
            tried += 1;
        }
    }
    assert!(tried > 100, "{tried} tried");
}

#[test]
fn what_ovn_does_not_speak_is_refused_with_what_to_do_and_passed_on_for_other_than_tcp() {
    let secret = "https://kms/v1/secrets/11111111-2222-3333-4444-555555555555";
    for (key, value) in
        [("proxy-protocol", "v2"), ("x-forwarded-for", "true"), ("default-tls-container-ref", secret)]
    {
        let problems = Case::new().ovn().with(key, value).problems();
        let [problem] = &*problems else { panic!("{key}: {problems:?}") };
        assert!(
            problem.contains("provider ovn") && problem.contains(key) && problem.contains("remove it"),
            "{problem}"
        );
        let udp = Case::new()
            .ovn()
            .with(key, value)
            .service(|service| service.ports = vec![port(ServiceProtocol::Udp, 53)]);
        udp.intent();
    }
    let configured = Case::new().ovn().conf(|conf| conf.default_tls_container_ref = secret.to_owned());
    assert!(configured.problems()[0].contains("cloud.conf"), "{:?}", configured.problems());
    Case::new().ovn().with("proxy-protocol", "false").with("x-forwarded-for", "false").intent();
}

#[test]
fn a_network_beside_the_subnet_of_the_configuration_is_told_to_have_no_effect() {
    let told = |case: Case| case.intent().notices.iter().any(|notice| notice.message.contains("network-id"));
    let of_site = |case: Case| case.conf(|conf| conf.subnet_id = "s-1".to_owned());
    assert!(told(of_site(Case::new()).with("network-id", "n-1")));
    assert!(!told(of_site(Case::new()).with("network-id", "n-1").with("subnet-id", "s-2")));
    assert!(!told(Case::new().with("network-id", "n-1")));
    assert!(!told(of_site(Case::new())));
}

#[test]
fn wrong_values_are_refused_also_where_they_would_not_count() {
    for row in ANNOTATIONS {
        for value in wrong_values(row).iter().take(1) {
            let case =
                Case::new().internal().ovn().with("enable-health-monitor", "false").with(row.key, value);
            assert_eq!(case.problems().len(), 1, "{} {value:?}", row.key);
        }
    }
}

#[test]
fn all_wrong_values_are_told_at_once() {
    let mut case = Case::new();
    let rows: Vec<_> = ANNOTATIONS.iter().filter(|row| !wrong_values(row).is_empty()).collect();
    for row in &rows {
        case = case.with(row.key, wrong_values(row)[0]);
    }
    let case = case.service(|service| {
        service.ports.clear();
        service.load_balancer_ip = Some("nowhere".into());
    });
    let problems = case.problems();
    assert_eq!(problems.len(), rows.len() + 2, "{problems:#?}");
    assert!(problems.iter().any(|problem| problem.contains("spec.loadBalancerIP is \"nowhere\"")));
    assert!(problems.iter().any(|problem| problem.starts_with("spec.ports is empty")));
}

#[test]
fn good_values_at_the_limits_are_accepted() {
    for (key, values) in [
        ("connection-limit", ["-1", "2147483647"]),
        ("timeout-client-data", ["0", "31536000000"]),
        ("health-monitor-delay", ["1", "+60"]),
        ("health-monitor-max-retries", ["1", "10"]),
        ("health-monitor-max-retries-down", ["0", "10"]),
        ("proxy-protocol", ["false", ""]),
        ("lb-method", ["SOURCE_IP", ""]),
    ] {
        for value in values {
            assert!(Case::new().with(key, value).read().is_ok(), "{key} {value:?}");
        }
    }
}

#[test]
fn an_unknown_class_is_refused_with_the_classes_that_are_there() {
    let class = LoadBalancerClass::default;
    let case = Case::new().class("gold", class()).class("silver", class()).with("class", "bronze");
    assert_eq!(
        case.problems(),
        [
            "annotation loadbalancer.openstack.org/class is \"bronze\"; accepted: the name of a [LoadBalancerClass] of \
          cloud.conf (gold, silver)"
        ]
    );
}

#[test]
fn proxy_protocol_and_x_forwarded_for_exclude_each_other() {
    let case = |proxy: &str| Case::new().with("x-forwarded-for", "true").with("proxy-protocol", proxy);
    assert!(case("false").read().is_ok());
    assert_eq!(
        case("v2").problems(),
        [
            "annotations loadbalancer.openstack.org/proxy-protocol and loadbalancer.openstack.org/x-forwarded-for exclude \
          each other; remove one of them"
        ]
    );
}

#[test]
fn get_proxy_protocol_from_service_annotation() {
    for (value, wanted) in [
        ("false", None),
        ("true", Some(ProxyProtocol::V1)),
        ("v1", Some(ProxyProtocol::V1)),
        ("v2", Some(ProxyProtocol::V2)),
    ] {
        assert_eq!(ProxyProtocol::asked(value), wanted, "{value}");
    }
    assert_eq!(Case::new().with("proxy-protocol", "garbage").problems().len(), 1);
}

#[test]
fn what_is_wrong_in_cloud_conf_is_told_with_section_and_key() {
    let case = Case::new()
        .conf(|conf| {
            conf.subnet_id = "a b".into();
            conf.create_monitor = true;
            conf.monitor_delay = jiff::SignedDuration::from_millis(900);
            conf.floating_subnet = "~(".into();
            conf.node_selector = "=x".into();
        })
        .class("gold", LoadBalancerClass { network_id: "c d".into(), ..Default::default() })
        .with("class", "gold");
    let problems = case.problems();
    let starts: Vec<_> = problems.iter().filter_map(|problem| problem.split(';').next()).collect();
    assert_eq!(
        starts,
        [
            "subnet-id of [LoadBalancer] in cloud.conf is \"a b\"",
            "network-id of [LoadBalancerClass \"gold\"] in cloud.conf is \"c d\"",
            "floating-subnet of [LoadBalancer] in cloud.conf is \"~(\"",
            "monitor-delay of [LoadBalancer] in cloud.conf is 0",
            "node-selector of [LoadBalancer] in cloud.conf is \"=x\"",
        ]
    );
    let internal = Case::new().internal().conf(|conf| conf.floating_subnet = "~(".into());
    assert!(internal.read().is_ok(), "what an internal Service does not use cannot stop it");
}

proptest! {
    #[test]
    fn any_text_in_any_annotation_is_used_or_refused_by_its_key(place in 0..ANNOTATIONS.len(), value in ".{0,40}") {
        let row = &ANNOTATIONS[place];
        if let Err(refusal) = Case::new().with(row.key, &value).read() {
            prop_assert!(refusal.problems.iter().all(|problem| problem.contains(row.key)), "{}", refusal);
        }
    }

    #[test]
    fn any_number_is_used_within_the_limits_of_its_row_and_refused_beyond(place in 0..ANNOTATIONS.len(), number: i64) {
        let row = &ANNOTATIONS[place];
        if let Kind::Number { least, most, .. } = row.kind {
            for number in [number, number % 12, least, most, least - 1, most + 1] {
                let read = Case::new().with(row.key, &number.to_string()).read();
                prop_assert_eq!(read.is_ok(), (least..=most).contains(&number), "{} {}", row.key, number);
            }
        }
    }
}

#[test]
fn values_that_are_longer_than_any_use_are_refused_in_a_short_message() {
    let long = |part: &str| part.repeat(256 << 10);
    for (key, value) in [
        ("node-selector", long("k,")),
        ("floating-subnet", long("a")),
        ("floating-subnet", "~(a{1000}){1000}".to_owned()),
        ("floating-subnet-tags", long("t,")),
        ("timeout-client-data", long("9")),
        ("timeout-client-data", long("\u{1f600}")),
        ("connection-limit", format!("-{}", long("9"))),
        ("lb-method", long("\u{1f600}")),
        ("load-balancer-id", long("i")),
        ("class", long("c")),
        ("hostname", long("h")),
        ("availability-zone", long("z")),
        ("default-tls-container-ref", format!("https://{}/containers/c-1", long("k"))),
        ("loadbalancer.bowline.dev/drain", long("1h")),
        ("loadbalancer.bowline.dev/floating-ip", long("1.")),
    ] {
        let problems = Case::new().with(key, &value).problems();
        let [problem] = &*problems else { panic!("{} problems of {key}", problems.len()) };
        assert!(problem.contains(key) && problem.len() < 640, "{problem}");
    }
}

#[test]
fn ports_and_source_ranges_have_limits() {
    let ports = |count: u16| {
        move |service: &mut ServiceView| {
            service.ports = (1..=count).map(|number| port(ServiceProtocol::Tcp, number)).collect();
        }
    };
    let ranges = |count: u32| {
        move |service: &mut ServiceView| {
            let range = |number: u32| std::net::Ipv4Addr::from(number).to_string() + "/32";
            service.source_ranges = (0..count).map(|number| range(number).into()).collect();
        }
    };
    Case::new().service(ports(1_000)).service(ranges(20)).intent();
    Case::new().service(ports(2)).service(ranges(10_000)).intent();
    Case::new().service(ranges(20_000)).intent();
    let problems = Case::new().service(ports(1_001)).problems();
    assert_eq!(problems, ["spec.ports has 1001 ports; accepted: at most 1000"]);
    let problems = Case::new().service(ports(1_000)).service(ranges(21)).problems();
    assert!(problems[0].starts_with("1000 ports and 21 source ranges need"), "{problems:?}");
}

/// One Service of a thousand ports with a reference of 250 KB took 250 MB of memory, several times.
#[test]
fn a_thousand_ports_share_one_certificate_reference_of_limited_length() {
    let reference = |length: usize| {
        let around = "https:///containers/c-1".len();
        format!("https://{}/containers/c-1", "k".repeat(length - around))
    };
    for store in ["barbican", "external"] {
        let with = |length: usize| {
            Case::new()
                .conf(|conf| conf.container_store = store.to_owned())
                .with("default-tls-container-ref", &reference(length))
                .service(|service| {
                    service.ports = (1..=1_000).map(|number| port(ServiceProtocol::Tcp, number)).collect();
                })
        };
        for length in [256, 250 << 10] {
            let problems = with(length).problems();
            let [problem] = &*problems else { panic!("{} problems", problems.len()) };
            assert!(
                problem.contains("a reference of up to 255 characters") && problem.len() < 512,
                "{problem}"
            );
        }
        let intent = with(255).intent();
        let references: Vec<_> = intent.ports.iter().filter_map(|port| port.tls.as_ref()).collect();
        assert!(references.len() == 1_000 && references.iter().all(|one| Arc::ptr_eq(one, references[0])));
    }
    let configured = Case::new().conf(|conf| conf.default_tls_container_ref = reference(256)).problems();
    assert!(configured[0].contains("in cloud.conf") && configured[0].len() < 512, "{configured:?}");
}

#[test]
fn a_value_that_ovn_does_not_speak_is_not_quoted_whole() {
    let reference = format!("https://{}/containers/c-1", "k".repeat(200));
    let problems = Case::new().ovn().with("default-tls-container-ref", &reference).problems();
    assert!(problems[0].contains("provider ovn") && !problems[0].contains(&reference), "{problems:?}");
}
