//! The gate of a migration: what a manager says it would do in a cluster that another one served, and what it does when it may
//! only adopt. Every write at both simulators is counted.

use std::collections::BTreeSet;
use std::time::Duration;

use bowline_cloud::shadow::{
    AvailabilityState, DEFAULT_REPORT, Finding, Mode, REPORT_KEY, ShadowReport, Verdict,
};
use http::StatusCode;
use k8s_openapi::api::core::v1::{ConfigMap, LoadBalancerIngress, Node, Service as KubeService};
use sim_openstack::{Config, Fault, Rule, Service};

use super::stack::Stack;
use super::tally::{clear, cost};
use super::world::{World, seconds, until};

const MINUTES: Duration = Duration::from_secs(300);
const ID: &str = "loadbalancer.openstack.org/load-balancer-id";
const ADDRESS: &str = "loadbalancer.openstack.org/load-balancer-address";

/// A cluster of three Nodes whose Services OCCM made: what is there bears none of our own signs.
async fn served_by_occm(services: &[&str]) -> World {
    let world = World::new(Config::default(), 3);
    world.register(1..=3);
    let stack = Stack::start(&world).await;
    until("three Nodes", MINUTES, || world.initialised() == 3).await;
    services.iter().for_each(|name| world.apply(name, 1));
    until("all served", MINUTES, || world.served() == services.len()).await;
    seconds(60).await;
    stack.stop().await;
    as_occm_leaves_it(&world);
    for name in services {
        edit_service(&world, name, |service| {
            let ours = |key: &str| key != ID && key != ADDRESS;
            service.metadata.annotations.as_mut().unwrap().retain(|key, _| !ours(key));
            service.status.as_mut().unwrap().conditions = None;
        });
    }
    clear(&world);
    world
}

/// OCCM tags a load balancer with its name, and knows no tags of ours.
fn as_occm_leaves_it(world: &World) {
    edit_balancers(world, |tags| tags.retain(|tag| !tag.starts_with("bowline-")));
}

fn edit_balancers(world: &World, edit: impl Fn(&mut Vec<String>)) {
    world.edit(|state| {
        let all = &mut state.load_balancer.load_balancers;
        let ids: Vec<String> = all.iter().map(|one| one.id.clone()).collect();
        for id in ids {
            all.update(&id, |balancer| edit(&mut balancer.tags));
        }
    });
}

fn edit_service(world: &World, name: &str, edit: impl FnOnce(&mut KubeService)) {
    world.kube.objects::<KubeService>("default").edit(name, edit).unwrap();
}

fn report(world: &World) -> Option<ShadowReport> {
    let (namespace, name) = DEFAULT_REPORT;
    let map = world.kube.objects::<ConfigMap>(namespace).get(name).unwrap()?;
    Some(serde_json::from_str(map.data?.get(REPORT_KEY)?).unwrap())
}

/// Waits for a report that was made from now on, of a world that stands still.
async fn next_report(world: &World) -> ShadowReport {
    let now = world.cloud.sim.now();
    until("a report", MINUTES, || report(world).is_some_and(|report| report.observed_at > now)).await;
    report(world).unwrap()
}

/// What a shadow says of a world.
async fn shadowed(world: &World, cluster: &str) -> ShadowReport {
    clear(world);
    let shadow = Stack::shadow(world, cluster).await;
    let report = next_report(world).await;
    shadow.stop().await;
    wrote_only_its_report(world);
    report
}

fn wrote_only_its_report(world: &World) {
    let cost = cost(world);
    assert_eq!((cost.changes, cost.events), (0, 0), "{}", cost.detail());
    let others = world.kube.count(|entry| {
        entry.request.is_write()
            && !(entry.request.resource == "configmaps" && entry.request.name == DEFAULT_REPORT.1)
    });
    assert_eq!(others, 0);
    assert!(cost.writes >= 1);
}

fn finding<'r>(report: &'r ShadowReport, name: &str) -> &'r Finding {
    let service = format!("default/{name}");
    let found = report.findings.iter().find(|finding| finding.service == service);
    found.unwrap_or_else(|| panic!("{service} in {report:#?}"))
}

fn nobody() -> BTreeSet<String> {
    BTreeSet::new()
}

#[tokio::test(start_paused = true)]
async fn what_occm_made_is_adopted_as_it_is_and_the_report_is_clean() {
    let world = served_by_occm(&["one", "two", "three"]).await;
    let report = shadowed(&world, "kubernetes").await;
    println!("{}", serde_json::to_string_pretty(&report).unwrap());
    assert!(report.is_clean() && report.is_accepted(&nobody()), "{report:#?}");
    assert_eq!((report.mode, report.leader, report.holder.as_str()), (Mode::Shadow, false, "host_1"));
    assert_eq!(report.project.as_deref(), Some(world.cloud.estate.project.as_str()));
    assert_eq!((report.services.total, report.services.changes, report.services.settled), (3, 0, 3));
    assert!(report.nodes.all_resolve() && report.nodes.present == 3);
    assert!(report.is_fresh(world.cloud.sim.now(), Duration::from_secs(60)));
    assert!(report.is_settled(), "nothing has to be written for it");
}

#[tokio::test(start_paused = true)]
async fn what_bowline_has_served_is_settled_and_only_counted() {
    let world = World::new(Config::default(), 1);
    world.register([1]);
    let stack = Stack::start(&world).await;
    world.apply("one", 2);
    until("served", MINUTES, || world.served() == 1).await;
    seconds(60).await;
    stack.stop().await;
    let report = shadowed(&world, "kubernetes").await;
    assert_eq!((report.services.total, report.services.settled), (1, 1), "{report:#?}");
    assert!(report.is_clean() && report.is_settled() && report.findings.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_service_without_a_load_balancer_would_get_one_and_an_admin_can_accept_that_by_name() {
    let world = served_by_occm(&["one"]).await;
    world.apply("new", 1);
    let report = shadowed(&world, "kubernetes").await;
    let new = finding(&report, "new");
    assert_eq!((new.verdict, new.held, &new.address), (Verdict::Creates, true, &None));
    assert_eq!((new.planned[0].verb.as_str(), new.planned[0].kind.as_str()), ("create", "load balancer"));
    assert_eq!(report.findings[0].service, "default/new", "the worst is first");
    assert_eq!((report.services.creates, report.services.changes), (1, 0));
    assert!(!report.is_clean());
    let not_accepted = report.not_accepted(&nobody());
    assert_eq!(not_accepted.len(), 1);
    assert!(report.is_accepted(&BTreeSet::from(["default/new".to_owned()])));
    assert_eq!(world.balancers(), 1);
}

#[tokio::test(start_paused = true)]
async fn under_another_cluster_name_nothing_is_found_and_everything_would_be_made_anew() {
    let world = served_by_occm(&["one", "two"]).await;
    edit_service(&world, "one", |service| service.metadata.annotations = None);
    let report = shadowed(&world, "harbour").await;
    assert!(!report.is_clean());
    let one = finding(&report, "one");
    assert_eq!((one.verdict, one.address.as_ref()), (Verdict::Creates, world.address("one").as_ref()));
    // This one is found by its id, and would be renamed.
    assert_eq!(finding(&report, "two").verdict, Verdict::Changes, "{report:#?}");
}

#[tokio::test(start_paused = true)]
async fn an_octavia_that_does_not_answer_leaves_everything_unknown() {
    let world = served_by_occm(&["one"]).await;
    let shadow = Stack::shadow(&world, "kubernetes").await;
    assert!(next_report(&world).await.is_clean());
    let fault =
        world.fault(Rule::new(Fault::html(StatusCode::SERVICE_UNAVAILABLE)).on(Service::LoadBalancer));
    let report = next_report(&world).await;
    assert!(!report.is_clean() && !report.is_accepted(&nobody()));
    assert_eq!((report.services.unknown, report.services.total), (1, 1), "{report:#?}");
    assert_eq!(finding(&report, "one").verdict, Verdict::Unknown);
    world.cloud.sim.with(|cloud| cloud.faults().remove(fault));
    seconds(120).await;
    assert!(next_report(&world).await.is_clean(), "it answers again");
    shadow.stop().await;
    wrote_only_its_report(&world);
}

#[tokio::test(start_paused = true)]
async fn a_cloud_that_does_not_answer_from_the_start_is_told_of() {
    let world = served_by_occm(&["one"]).await;
    let now = world.cloud.sim.now();
    let end = now.checked_add(jiff::SignedDuration::from_secs(120)).unwrap();
    world.fault(Rule::new(Fault::html(StatusCode::SERVICE_UNAVAILABLE)).between(now, end));
    let (shadow, early) = tokio::join!(Stack::shadow(&world, "kubernetes"), next_report(&world));
    assert!(!early.is_clean(), "{early:#?}");
    assert!(early.cloud_problem.is_some() && early.project.is_none());
    assert_eq!(early.load_balancers.state, AvailabilityState::Unavailable);
    assert_eq!((early.services.unknown, early.nodes.unknown.len()), (1, 3));
    until("a clean one", MINUTES, || report(&world).is_some_and(|report| report.is_clean())).await;
    shadow.stop().await;
    wrote_only_its_report(&world);
}

#[tokio::test(start_paused = true)]
async fn nodes_without_a_machine_those_of_others_and_those_without_an_id_are_named() {
    let world = served_by_occm(&[]).await;
    let node = |name: &str, provider_id: Option<&str>| {
        let node = serde_json::json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name},
            "spec": {"providerID": provider_id}});
        world.kube.objects::<Node>("").create(&serde_json::from_value(node).unwrap()).unwrap();
    };
    node("gone", Some("openstack:///00000000-0000-4000-8000-000000000000"));
    node("edge", Some("k3s://edge"));
    // Two whose kubelet knows no cloud: the name of one is that of a server.
    world.kube.objects::<Node>("").delete("node-3").unwrap();
    node("node-3", None);
    node("stranger", None);
    let report = shadowed(&world, "kubernetes").await;
    let nodes = &report.nodes;
    assert_eq!((nodes.total, nodes.present), (6, 3), "{nodes:#?}");
    assert_eq!(nodes.foreign, ["edge"]);
    assert_eq!(nodes.without_provider_id, ["node-3", "stranger"]);
    assert!(nodes.absent.contains(&"gone".to_owned()), "{nodes:#?}");
    assert!(!nodes.all_resolve());
}

#[tokio::test(start_paused = true)]
async fn an_address_that_the_service_shows_and_its_load_balancer_has_not_would_change() {
    let world = served_by_occm(&["one"]).await;
    let shown = |address: &str| {
        edit_service(&world, "one", |service| {
            let ingress =
                LoadBalancerIngress { ip: Some(address.to_owned()), ..LoadBalancerIngress::default() };
            let status = service.status.get_or_insert_default();
            status.load_balancer.get_or_insert_default().ingress = Some(vec![ingress]);
        });
    };
    shown("198.51.100.7");
    let settled = shadowed(&world, "kubernetes").await;
    // With a step to do in place the plan itself does not say so.
    edit_balancers(&world, Vec::clear);
    let tagged = shadowed(&world, "kubernetes").await;
    for report in [settled, tagged] {
        let one = finding(&report, "one");
        assert_eq!((one.verdict, one.held), (Verdict::Readdresses, true), "{report:#?}");
        assert_eq!(one.address.as_deref(), Some("198.51.100.7"));
        assert!(!report.is_clean());
    }
}

#[tokio::test(start_paused = true)]
async fn a_shadow_looks_again_when_something_changes_and_every_minute() {
    let world = served_by_occm(&["one"]).await;
    let shadow = Stack::shadow(&world, "kubernetes").await;
    let first = next_report(&world).await;
    world.apply("new", 1);
    let took =
        until("the new one", MINUTES, || report(&world).is_some_and(|report| !report.is_clean())).await;
    assert!(took <= Duration::from_secs(15), "{took:?}");
    clear(&world);
    seconds(600).await;
    let cost = cost(&world);
    cost.print("a shadow for ten minutes, one Service");
    assert!((9..=11).contains(&cost.writes), "{}", cost.detail());
    assert_eq!(report(&world).unwrap().started_at, first.started_at);
    shadow.stop().await;
}

#[tokio::test(start_paused = true)]
async fn adopt_only_adopts_what_is_there_and_holds_what_would_be_made_or_deleted() {
    let world = served_by_occm(&["one", "two", "leaving"]).await;
    // As old releases left them: without any tag.
    edit_balancers(&world, Vec::clear);
    let before: BTreeSet<_> = ["one", "two", "leaving"].iter().map(|name| world.address(name)).collect();
    world.delete("leaving");
    world.apply("new", 1);
    clear(&world);
    let stack = Stack::adopting(&world).await;
    until("two of them adopted", MINUTES, || {
        report(&world).is_some_and(|report| report.services.settled == 2)
    })
    .await;
    seconds(120).await;
    let last = report(&world).unwrap();
    assert_eq!((last.mode, last.leader), (Mode::AdoptOnly, true));
    assert_eq!((last.services.total, last.services.held), (4, 2), "{last:#?}");
    assert_eq!(finding(&last, "new").verdict, Verdict::Creates);
    assert_eq!(finding(&last, "leaving").verdict, Verdict::Deletes);
    assert!(finding(&last, "new").held && finding(&last, "leaving").held && !last.is_settled());
    assert!(world.exists("leaving"));
    assert_eq!((world.balancers(), world.floating_ips()), (3, 3));
    let cost = cost(&world);
    let destructive: Vec<_> =
        cost.by_path.iter().filter(|line| line.contains("DELETE") || line.contains("POST")).collect();
    assert!(destructive.iter().all(|line| line.contains("auth/tokens")), "{destructive:?}");
    assert_eq!(world.events("LoadBalancerNotAdopted").len(), 2);
    let after: BTreeSet<_> = ["one", "two", "leaving"].iter().map(|name| world.address(name)).collect();
    assert_eq!(before, after);
    stack.stop().await;
    let stack = Stack::start(&world).await;
    until("the new one", MINUTES, || world.address("new").is_some() && !world.exists("leaving")).await;
    assert_eq!((world.balancers(), world.floating_ips()), (3, 3));
    stack.stop().await;
}
