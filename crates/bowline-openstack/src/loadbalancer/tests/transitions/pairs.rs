//! Settings that act on each other.

use bowline_cloud::{Purpose, TrafficPolicy};

use super::annotations::{amphora, monitored, ovn};
use super::course::{Course, Living, Setting, Shows, run};
use super::estate::ASKED;
use super::picture::differences;
use crate::loadbalancer::annotations as rows;

/// Every combination of one setting of each kind.
fn combined(kinds: &[&[Setting]]) -> Vec<Setting> {
    kinds.iter().fold(vec![Setting::none()], |all, kind| {
        all.iter().flat_map(|one| kind.iter().map(move |other| one.and(other))).collect()
    })
}

fn each_to_each(name: &str, settings: Vec<Setting>) -> Course {
    Course { name: name.to_owned(), shows: Shows::AtOnce, settings, each_to_each: true }
}

fn round(name: &str, settings: Vec<Setting>) -> Course {
    Course { name: name.to_owned(), shows: Shows::AtOnce, settings, each_to_each: false }
}

fn local() -> Setting {
    Setting::field("Local", |view| {
        view.external_traffic_policy = Some(TrafficPolicy::Local);
        view.health_check_node_port = Some(32000);
    })
}

fn said(row: &rows::Annotation, value: &str) -> Setting {
    Setting::annotation(row.key, value)
}

fn groups() -> Setting {
    Setting::conf("groups", "[LoadBalancer]\nmanage-security-groups = true")
}

fn serial() -> Setting {
    Setting::conf("serial", "[LoadBalancer]\nprovider-requires-serial-api-calls = true")
}

#[tokio::test(start_paused = true)]
async fn what_a_port_speaks_changes_from_each_to_each() {
    let speech = vec![
        Setting::none(),
        said(&rows::PROXY_PROTOCOL, "v1"),
        said(&rows::PROXY_PROTOCOL, "v2"),
        said(&rows::X_FORWARDED_FOR, "true"),
        said(&rows::TLS_CONTAINER_REF, "{certificate-1}"),
        said(&rows::TLS_CONTAINER_REF, "{certificate-2}").and(&said(&rows::X_FORWARDED_FOR, "true")),
        said(&rows::TLS_CONTAINER_REF, "{certificate-1}").and(&said(&rows::PROXY_PROTOCOL, "v1")),
    ];
    run(vec![each_to_each("what a port speaks", speech)]).await;
}

#[tokio::test(start_paused = true)]
async fn monitors_traffic_policy_and_the_proxy_protocol_change_from_each_to_each() {
    let monitor = [Setting::none(), said(&rows::ENABLE_HEALTH_MONITOR, "true")];
    let policy = [Setting::none(), local()];
    let proxy = [Setting::none(), said(&rows::PROXY_PROTOCOL, "v2")];
    run(vec![each_to_each("monitor, policy, proxy", combined(&[&monitor, &policy, &proxy]))]).await;
    let with_ovn = combined(&[&[ovn()], &monitor, &policy]);
    run(vec![each_to_each("monitor, policy", with_ovn)]).await;
}

#[tokio::test(start_paused = true)]
async fn groups_source_ranges_and_the_provider_act_together() {
    let groups = [Setting::none(), groups()];
    let ranges = [
        Setting::none(),
        Setting::field("ranges", |view| view.source_ranges = ["192.0.2.0/24".into()].into()),
    ];
    for provider in [amphora(), ovn()] {
        run(vec![each_to_each("groups, ranges", combined(&[&[provider], &groups, &ranges]))]).await;
    }
}

#[tokio::test(start_paused = true)]
async fn with_ovn_any_method_is_the_only_one() {
    let methods =
        ["SOURCE_IP_PORT", "ROUND_ROBIN", "LEAST_CONNECTIONS"].map(|one| said(&rows::LB_METHOD, one));
    run(vec![round("method", combined(&[&[ovn()], &methods]))]).await;
}

#[tokio::test(start_paused = true)]
async fn the_nodes_that_get_traffic_and_how_they_are_asked_change_together() {
    let nodes = ["zone=a", "disk=ssd", "zone=nowhere"].map(|one| said(&rows::NODE_SELECTOR, one));
    let policy = [Setting::none(), local()];
    let base = [monitored().and(&groups())];
    run(vec![each_to_each("nodes, policy", combined(&[&base, &nodes, &policy]))]).await;
}

#[tokio::test(start_paused = true)]
async fn one_thing_at_a_time_leads_to_the_same() {
    let simple = vec![
        Setting::none(),
        said(&rows::LB_METHOD, "SOURCE_IP"),
        said(&rows::PROXY_PROTOCOL, "v2"),
        said(&rows::X_FORWARDED_FOR, "true"),
        said(&rows::TLS_CONTAINER_REF, "{certificate-1}"),
        said(&rows::CONNECTION_LIMIT, "100"),
        said(&rows::TIMEOUT_CLIENT_DATA, "70000"),
        said(&rows::ENABLE_HEALTH_MONITOR, "true"),
        said(&rows::ENABLE_HEALTH_MONITOR, "true").and(&local()),
        said(&rows::NODE_SELECTOR, "zone=a"),
        said(&rows::MEMBER_SUBNET_ID, "{subnet-2}"),
        said(&rows::INTERNAL, "true"),
    ];
    run(vec![
        round("serially", combined(&[&[serial()], &simple])),
        round("serially or not", combined(&[&simple, &[Setting::none(), serial()]])),
    ])
    .await;
}

#[tokio::test(start_paused = true)]
async fn another_provider_counts_for_new_load_balancers_only() {
    let settings = vec![amphora(), ovn()];
    let course =
        Course { name: "lb-provider".to_owned(), shows: Shows::WhenMade, settings, each_to_each: false };
    run(vec![course]).await;
}

/// From one to the other, and whether that is as a fresh one.
async fn changed(from: &Setting, to: &Setting) -> (Living, Vec<String>) {
    let fresh = Living::born(to).await.picture();
    let mut living = Living::born(from).await;
    living.change(to).await;
    let mut problems = differences(&living.picture(), &fresh);
    problems.extend(living.restless().await);
    (living, problems)
}

#[tokio::test(start_paused = true)]
async fn a_floating_ip_that_is_pinned_takes_the_place_of_the_one_before() {
    let pin = |place: usize| said(&rows::FLOATING_IP, ASKED[place]);
    let internal = said(&rows::INTERNAL, "true");
    let settings = [
        Setting::none(),
        internal.clone(),
        internal.and(&pin(0)),
        pin(0),
        pin(1),
        pin(2),
        Setting::field("loadBalancerIP", |view| view.load_balancer_ip = Some(ASKED[1].into())),
    ];
    for from in &settings {
        // What is pinned nowhere keeps the address that it has, so only these lead to one state.
        for to in settings.iter().filter(|one| one.name.contains("172.24.4.") || one.name.contains("true")) {
            let (_, problems) = changed(from, to).await;
            assert_eq!(problems, Vec::<String>::new(), "{} -> {}", from.name, to.name);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_pin_the_address_stays_and_goes_with_the_service() {
    for address in &ASKED[..3] {
        let mut living = Living::born(&said(&rows::FLOATING_IP, address)).await;
        let pinned = living.picture();
        living.change(&Setting::none()).await;
        assert_eq!(living.picture(), pinned);
        living.drive(Purpose::Remove).await.settled();
        let mut plain = Living::born(&Setting::none()).await;
        plain.drive(Purpose::Remove).await.settled();
        assert_eq!(differences(&living.picture(), &plain.picture()), Vec::<String>::new());
    }
}

#[tokio::test(start_paused = true)]
async fn a_floating_ip_that_is_kept_when_the_service_becomes_internal_comes_back_with_it() {
    let (keep, internal) = (said(&rows::KEEP_FLOATING_IP, "true"), said(&rows::INTERNAL, "true"));
    let pin = said(&rows::FLOATING_IP, ASKED[0]);
    for external in [Setting::none(), pin] {
        let mut living = Living::born(&keep.and(&external)).await;
        let (before, address) = (living.picture(), living.service.status.clone());
        living.change(&keep.and(&internal)).await;
        let leads = |living: &Living| living.picture()["floating ips"].to_string().contains("kube_service");
        assert!(!leads(&living), "{:#}", living.picture());
        // A process that has not seen it lead here cannot tell it from one that a namesake kept, and would make another.
        living.change(&keep.and(&external)).await;
        assert_eq!((living.picture(), &living.service.status), (before, &address));
    }
}
