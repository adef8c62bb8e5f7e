//! The fields of the Service itself.

use bowline_cloud::{
    IpFamily, IpFamilyPolicy, Protocol, Purpose, ServicePort, SessionAffinity, TrafficPolicy,
};

use super::annotations::{amphora, monitored, ovn};
use super::course::{Course, Living, Setting, Shows, run};
use crate::loadbalancer::annotations as rows;

fn at_once(name: &str, settings: &[Setting]) -> Course {
    let settings = std::iter::once(Setting::none()).chain(settings.iter().cloned()).collect();
    Course { name: name.to_owned(), shows: Shows::AtOnce, settings, each_to_each: true }
}

/// The same with another thing besides.
fn besides(base: &Setting, mut course: Course) -> Course {
    course.settings = course.settings.iter().map(|one| base.and(one)).collect();
    course
}

fn port(protocol: Protocol, port: u16, node_port: u16) -> ServicePort {
    ServicePort { protocol, port, node_port: Some(node_port), ..ServicePort::default() }
}

fn ports() -> Vec<Setting> {
    vec![
        Setting::field("one more in front", |view| view.ports.insert(0, port(Protocol::Tcp, 443, 30443))),
        Setting::field("one less", |view| view.ports.truncate(1)),
        Setting::field("in other order", |view| view.ports.reverse()),
        Setting::field("UDP", |view| view.ports[0].protocol = Protocol::Udp),
        Setting::field("TCP and UDP on one port", |view| view.ports[1] = port(Protocol::Udp, 80, 30080)),
        Setting::field("all others", |view| view.ports = vec![port(Protocol::Tcp, 8080, 31080)]),
        Setting::field("SCTP", |view| view.ports[1].protocol = Protocol::Sctp),
    ]
}

fn local(view: &mut bowline_cloud::ServiceView) {
    view.external_traffic_policy = Some(TrafficPolicy::Local);
    view.health_check_node_port = Some(32000);
}

#[tokio::test(start_paused = true)]
async fn ports_come_go_and_change_in_any_order() {
    let groups = Setting::conf("groups", "[LoadBalancer]\nmanage-security-groups = true").and(&monitored());
    run(vec![
        besides(&amphora().and(&groups), at_once("ports", &ports())),
        Course { each_to_each: false, ..besides(&ovn().and(&groups), at_once("ports", &ports())) },
    ])
    .await;
}

#[tokio::test(start_paused = true)]
async fn ports_come_go_and_change_one_thing_at_a_time_where_the_provider_asks_for_it() {
    let serial = Setting::conf("serial", "[LoadBalancer]\nprovider-requires-serial-api-calls = true");
    let course = besides(&serial.and(&monitored()), at_once("ports, serially", &ports()));
    run(vec![Course { each_to_each: false, ..course }]).await;
}

#[tokio::test(start_paused = true)]
async fn node_ports_affinity_policy_and_source_ranges_count_at_once() {
    let courses = |provider: &Setting| {
        let all = vec![
            at_once(
                "node ports",
                &[
                    Setting::field("another", |view| view.ports[0].node_port = Some(31999)),
                    Setting::field("exchanged", |view| {
                        let first = view.ports[0].node_port;
                        view.ports[0].node_port = view.ports[1].node_port;
                        view.ports[1].node_port = first;
                    }),
                    Setting::field("none", |view| {
                        view.ports.iter_mut().for_each(|port| port.node_port = None);
                    }),
                ],
            ),
            at_once(
                "session affinity",
                &[
                    Setting::field("ClientIP", |view| {
                        view.session_affinity = Some(SessionAffinity::ClientIp);
                    }),
                    Setting::field("None", |view| view.session_affinity = Some(SessionAffinity::None)),
                ],
            ),
            besides(
                &monitored().and(&Setting::conf("groups", "[LoadBalancer]\nmanage-security-groups = true")),
                at_once(
                    "external traffic policy",
                    &[
                        Setting::field("Local", local),
                        Setting::field("Local elsewhere", |view| {
                            local(view);
                            view.health_check_node_port = Some(32001);
                        }),
                        Setting::field("Cluster", |view| {
                            view.external_traffic_policy = Some(TrafficPolicy::Cluster);
                        }),
                    ],
                ),
            ),
            at_once(
                "source ranges",
                &[
                    Setting::field("one", |view| view.source_ranges = ["192.0.2.0/24".into()].into()),
                    Setting::field("two", |view| {
                        view.source_ranges = ["10.0.0.0/8".into(), "192.0.2.0/24".into()].into();
                    }),
                ],
            ),
        ];
        all.into_iter().map(|course| besides(provider, course)).collect::<Vec<_>>()
    };
    run([courses(&amphora()), courses(&ovn())].into_iter().flatten().collect()).await;
}

#[tokio::test(start_paused = true)]
async fn the_address_that_a_service_names_counts_when_one_is_given_to_it() {
    let named = |address: fn(&mut bowline_cloud::ServiceView)| Setting::field("loadBalancerIP", address);
    let external = [
        Setting::none(),
        named(|view| view.load_balancer_ip = Some("172.24.4.201".into())),
        named(|view| view.load_balancer_ip = Some("172.24.4.202".into())),
    ];
    let internal = Setting::annotation(rows::INTERNAL.key, "true");
    // One that is not named any more is kept: see `addresses`.
    let inside = vec![
        internal.and(&named(|view| view.load_balancer_ip = Some("10.10.0.201".into()))),
        internal.and(&named(|view| view.load_balancer_ip = Some("10.10.0.202".into()))),
    ];
    let course = |name: &str, shows: Shows, settings: Vec<Setting>| Course {
        name: name.to_owned(),
        shows,
        settings,
        each_to_each: false,
    };
    run(vec![course("of an internal Service", Shows::WhenMade, inside)]).await;
    // A user's floating IP is not deleted with the load balancer, and it is free again.
    for way in external.windows(2) {
        let mut living = Living::born(&way[0]).await;
        let before = living.picture();
        living.change(&way[1]).await;
        assert_eq!(living.picture(), before, "the address that it has stays");
        living.drive(Purpose::Remove).await.settled();
        let mut again = Living::born(&way[1]).await;
        again.drive(Purpose::Remove).await.settled();
        assert_eq!(living.picture(), again.picture());
    }
}

#[tokio::test(start_paused = true)]
async fn a_second_ip_family_comes_with_a_new_load_balancer_and_is_shown() {
    let two = Setting::field("IPv4 and IPv6", |view| {
        view.ip_families = vec![IpFamily::V4, IpFamily::V6];
        view.ip_family_policy = Some(IpFamilyPolicy::PreferDualStack);
    });
    let mut living = Living::born(&Setting::none()).await;
    let plain = living.picture();
    living.change(&two).await;
    assert_eq!(living.picture(), plain, "the load balancer that is there stays as it is");
    living.lose_balancer().await;
    living.change(&two).await;
    let fresh = Living::born(&two).await;
    assert_eq!(living.picture(), fresh.picture());
    assert_eq!(fresh.service.status.ingress.len(), 2, "{:?}", fresh.service.status);
    assert_eq!(living.restless().await, Vec::<String>::new());
    // Who asks for one is shown one.
    living.change(&Setting::none()).await;
    assert_eq!(living.service.status.ingress.len(), 1, "{:?}", living.service.status);
}
