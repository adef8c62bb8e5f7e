//! Informers against an API server in memory, on paused time.

use std::time::Duration;

use bowline_testkit::eventually_virtual;
use k8s_openapi::api::core::v1::Service;
use kube::Api;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::*;
use crate::scripted_api::{Collection, Fault, Log};

#[derive(Debug, Clone, PartialEq)]
struct Balanced {
    class: Option<String>,
    ports: usize,
}

fn project(service: Service) -> Option<Balanced> {
    let spec = service.spec?;
    let is_balanced = spec.type_.as_deref() == Some("LoadBalancer");
    let ports = spec.ports.unwrap_or_default().len();
    is_balanced.then_some(Balanced { class: spec.load_balancer_class, ports })
}

fn service(name: &str, ports: usize) -> Value {
    let ports: Vec<_> = (0..ports).map(|n| json!({"port": 80 + n})).collect();
    json!({"metadata": {"namespace": "shop", "name": name}, "spec": {"type": "LoadBalancer", "ports": ports}})
}

fn with_uid(name: &str, ports: usize, uid: &str) -> Value {
    let mut service = service(name, ports);
    service["metadata"]["uid"] = json!(uid);
    service
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::namespaced("shop", name)
}

struct Running {
    informer: Informer<Balanced>,
    log: Log,
    _stop: DropGuard,
}

fn start_with(server: &Collection, settings: WatchSettings) -> Running {
    let (client, log) = server.client();
    let spec = InformerSpec::new("services", project)
        .index("ports", |view: &Balanced| [view.ports.to_string()])
        .settings(settings);
    let (informer, task) = spec.build(client, Api::all);
    let cancel = CancellationToken::new();
    tokio::spawn(task.run(cancel.clone()));
    Running { informer, log, _stop: cancel.drop_guard() }
}

async fn start(server: &Collection) -> Running {
    let running = start_with(server, WatchSettings::default());
    assert!(running.informer.synced().await);
    eventually_virtual("a watch", || server.watchers() > 0).await;
    running
}

/// A change in short: `+name(ports)`, `~name(old->new)`, `-name(ports)`.
fn short(change: &Change<Balanced>) -> String {
    let name = change.key().name();
    match change {
        Change::Added { new } => format!("+{name}({})", new.ports),
        Change::Updated { old, new } => format!("~{name}({}->{})", old.ports, new.ports),
        Change::Deleted { old } => format!("-{name}({})", old.ports),
    }
}

/// Everything told until nothing was told for an hour of virtual time.
async fn told(subscription: &mut Subscription<Balanced>) -> Vec<String> {
    let mut told = Vec::new();
    while let Ok(Some(change)) = timeout(Duration::from_secs(3_600), subscription.next()).await {
        told.push(short(&change));
    }
    told
}

#[tokio::test(start_paused = true)]
async fn the_first_list_comes_in_pages_as_consistent_reads_and_is_seen_only_whole() {
    let server = Collection::new("Service");
    for n in 0..5 {
        server.put(service(&format!("s{n}"), 1));
    }
    let settings = WatchSettings { page_size: 2, ..WatchSettings::default() };
    let running = start_with(&server, settings);
    assert!(!running.informer.has_synced());
    assert!(running.informer.synced().await);
    assert_eq!(running.informer.len(), 5);
    let lists = running.log.lists();
    assert_eq!(lists.len(), 3);
    assert!(lists.iter().all(|asked| asked.param("limit") == Some("2")));
    assert!(
        lists.iter().all(|asked| asked.param("resourceVersion").is_none()),
        "version 0 may go back in time"
    );
}

#[tokio::test(start_paused = true)]
async fn additions_updates_and_deletions_are_told_with_old_and_new() {
    let server = Collection::new("Service");
    server.put(service("a", 1));
    let running = start(&server).await;
    let mut subscription = running.informer.subscribe();
    assert_eq!(told(&mut subscription).await, ["+a(1)"]);
    server.put(service("b", 1));
    assert_eq!(told(&mut subscription).await, ["+b(1)"]);
    server.put(service("a", 2));
    assert_eq!(told(&mut subscription).await, ["~a(1->2)"]);
    server.delete("shop/b");
    assert_eq!(told(&mut subscription).await, ["-b(1)"]);
    assert_eq!(running.log.lists().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_change_that_does_not_show_in_the_projection_is_not_told_but_its_version_is_kept() {
    let server = Collection::new("Service");
    server.put(service("a", 1));
    let running = start(&server).await;
    let mut subscription = running.informer.subscribe();
    assert_eq!(told(&mut subscription).await, ["+a(1)"]);
    let before = running.informer.snapshot();
    let mut relabelled = service("a", 1);
    relabelled["metadata"]["labels"] = json!({"seen": "twice"});
    server.put(relabelled);
    assert_eq!(told(&mut subscription).await, Vec::<String>::new());
    assert_eq!(running.informer.epoch(), before.epoch());
    assert_eq!(running.informer.get(&key("a")).unwrap().resource_version, "2");
}

#[tokio::test(start_paused = true)]
async fn an_object_that_stops_being_of_interest_is_told_as_deleted_and_back_as_added() {
    let server = Collection::new("Service");
    server.put(service("a", 1));
    let mut internal = service("a", 1);
    internal["spec"]["type"] = json!("ClusterIP");
    let running = start(&server).await;
    let mut subscription = running.informer.subscribe();
    assert_eq!(told(&mut subscription).await, ["+a(1)"]);
    server.put(internal.clone());
    assert_eq!(told(&mut subscription).await, ["-a(1)"]);
    server.put(service("a", 3));
    assert_eq!(told(&mut subscription).await, ["+a(3)"]);
    server.put(internal);
    server.delete("shop/a");
    assert_eq!(told(&mut subscription).await, ["-a(3)"]);
    assert!(running.informer.is_empty());
}

#[tokio::test(start_paused = true)]
async fn after_410_gone_a_new_list_tells_what_was_deleted_added_and_replaced_meanwhile() {
    let server = Collection::new("Service");
    for name in ["deleted", "replaced", "changed", "same"] {
        server.put(service(name, 1));
    }
    let running = start(&server).await;
    let mut subscription = running.informer.subscribe();
    assert_eq!(told(&mut subscription).await.len(), 4);

    server.fault_watches(Some(Fault::Refused));
    server.break_watches();
    server.delete("shop/deleted");
    server.delete("shop/replaced");
    server.put(with_uid("replaced", 1, "another"));
    server.put(service("changed", 2));
    server.put(service("added", 1));
    server.compact();
    server.fault_watches(None);

    let expected = ["-deleted(1)", "+added(1)", "~changed(1->2)", "-replaced(1)", "+replaced(1)"];
    assert_eq!(told(&mut subscription).await, expected);
    assert_eq!(running.log.lists().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_watch_refused_with_410_before_it_begins_also_leads_to_a_new_list() {
    let server = Collection::new("Service");
    server.put(service("a", 1));
    let running = start(&server).await;
    server.fault_watches(Some(Fault::Status(410, "Expired")));
    server.end_watches();
    server.delete("shop/a");
    eventually_virtual("another list", || running.log.lists().len() >= 2).await;
    server.fault_watches(None);
    sleep(Duration::from_secs(60)).await;
    assert!(running.informer.is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_error_in_place_of_an_event_leads_to_a_new_list_less_and_less_often() {
    let server = Collection::new("Service");
    server.put(service("a", 1));
    let running = start(&server).await;
    server.fault_watches(Some(Fault::ErrorEvent(500, "InternalError")));
    server.end_watches();
    server.delete("shop/a");
    sleep(Duration::from_secs(600)).await;
    assert!(running.informer.is_empty(), "the picture is kept young by lists");
    let lists = running.log.lists().len();
    assert!((15..=30).contains(&lists), "{lists} lists in ten minutes");
    let health = running.informer.health();
    assert!(health.failing && health.last_failure.unwrap().message.contains("a scripted fault"));

    server.fault_watches(None);
    eventually_virtual("a watch", || server.watchers() > 0).await;
    assert!(!running.informer.health().failing);
}

#[tokio::test(start_paused = true)]
async fn an_error_in_place_of_an_event_makes_unhealthy_while_no_list_is_complete() {
    let server = Collection::new("Service");
    server.put(service("a", 1));
    let running = start(&server).await;
    server.fault_watches(Some(Fault::ErrorEvent(500, "InternalError")));
    // Lists are answered, and cannot be read.
    let mut unreadable = service("a", 1);
    unreadable["spec"]["ports"] = json!("none");
    server.end_watches();
    server.put(unreadable);
    sleep(Duration::from_secs(40)).await;
    assert_eq!(running.informer.health().problem(Instant::now()), None, "the picture is still young");
    sleep(Duration::from_secs(100)).await;
    let health = running.informer.health();
    assert!(health.failing, "an answer that is of no use does not end the failure");
    let problem = health.problem(Instant::now()).unwrap();
    assert!(problem.contains("new list is needed") && problem.contains("last failure"), "{problem}");

    server.fault_watches(None);
    server.put(service("a", 2));
    eventually_virtual("the last update", || running.informer.get(&key("a")).unwrap().ports == 2).await;
    let health = running.informer.health();
    assert_eq!((health.problem(Instant::now()), health.failing), (None, false));
}

#[tokio::test(start_paused = true)]
async fn a_deletion_that_cannot_be_read_leaves_no_ghost() {
    let server = Collection::new("Service");
    server.put(service("a", 1));
    server.put(service("b", 1));
    let running = start(&server).await;
    let mut subscription = running.informer.subscribe();
    assert_eq!(told(&mut subscription).await, ["+a(1)", "+b(1)"]);
    server.delete_telling("shop/a", &json!({"metadata": "none"}));
    server.put(service("b", 2));
    assert_eq!(told(&mut subscription).await, ["-a(1)", "~b(1->2)"]);
    assert_eq!(running.log.lists().len(), 2);
}

#[test]
fn live_events_between_errors_that_cost_a_list_do_not_shorten_the_pauses() {
    let (begun, second) = (Instant::now(), Duration::from_secs(1));
    let at = |seconds| begun + second * seconds;
    let mut failures = watch::Failures::new(crate::queue::Backoff::new(second, second * 8));
    failures.next(at(0), false);
    failures.over(at(1));
    assert_eq!(failures.next(at(2), false), second, "a cut connection is over when the watch works");
    assert_eq!(failures.next(at(3), true), second * 2);
    failures.over(at(4));
    assert_eq!(failures.next(at(5), true), second * 4);
    failures.next(at(65), false);
    failures.over(at(130));
    assert_eq!(failures.next(at(131), false), second, "once it is long past, it is forgotten");
}

#[tokio::test(start_paused = true)]
async fn a_cut_connection_is_resumed_at_the_version_reached_without_a_new_list() {
    let server = Collection::new("Service");
    server.put(service("a", 1));
    let running = start(&server).await;
    let mut subscription = running.informer.subscribe();
    server.put(service("b", 1));
    assert_eq!(told(&mut subscription).await, ["+a(1)", "+b(1)"]);
    server.break_watches();
    server.put(service("c", 1));
    server.delete("shop/a");
    assert_eq!(told(&mut subscription).await, ["+c(1)", "-a(1)"]);
    assert_eq!(running.log.lists().len(), 1);
    assert!(running.log.watches().iter().any(|asked| asked.param("resourceVersion") == Some("2")));
}

#[tokio::test(start_paused = true)]
async fn another_uid_under_the_same_name_in_a_live_event_is_a_deletion_and_an_addition() {
    let server = Collection::new("Service");
    server.put(with_uid("a", 1, "first"));
    let running = start(&server).await;
    let mut subscription = running.informer.subscribe();
    assert_eq!(told(&mut subscription).await, ["+a(1)"]);
    server.put(with_uid("a", 1, "second"));
    assert_eq!(told(&mut subscription).await, ["-a(1)", "+a(1)"]);
    assert_eq!(running.informer.get(&key("a")).unwrap().incarnation, Incarnation::of("second"));
}

#[tokio::test(start_paused = true)]
async fn several_subscribers_and_a_late_one_are_each_told_everything_once() {
    let server = Collection::new("Service");
    let running = start_with(&server, WatchSettings::default());
    let mut early = running.informer.subscribe();
    server.put(service("a", 1));
    assert!(running.informer.synced().await);
    let mut second = running.informer.subscribe();
    server.put(service("b", 1));
    let mut expected = vec!["+a(1)", "+b(1)"];
    assert_eq!(told(&mut early).await, expected);
    let mut late = running.informer.subscribe();
    server.put(service("c", 1));
    expected.push("+c(1)");
    assert_eq!(told(&mut second).await, expected);
    assert_eq!(told(&mut late).await, expected);
    assert_eq!(told(&mut early).await, ["+c(1)"]);
    drop(second);
    server.delete("shop/a");
    assert_eq!(told(&mut late).await, ["-a(1)"]);
    assert_eq!(told(&mut early).await, ["-a(1)"]);
}

#[tokio::test(start_paused = true)]
async fn a_subscriber_that_sleeps_holds_nothing_up_and_costs_one_place_for_each_object() {
    let server = Collection::new("Service");
    server.put(service("a", 1));
    let running = start(&server).await;
    let mut sleeper = running.informer.subscribe();
    assert_eq!(told(&mut sleeper).await, ["+a(1)"]);
    for n in 2..200 {
        server.put(service("a", n));
        server.put(service(&format!("brief-{n}"), 1));
        server.delete(&format!("shop/brief-{n}"));
    }
    eventually_virtual("the last update", || {
        running.informer.get(&key("a")).unwrap().ports == 199 && running.informer.len() == 1
    })
    .await;
    assert_eq!(sleeper.untold(), 1);
    assert_eq!(told(&mut sleeper).await, ["~a(1->199)"]);
}

#[tokio::test(start_paused = true)]
async fn indexes_follow_every_change_and_relist() {
    let server = Collection::new("Service");
    server.put(service("a", 1));
    server.put(service("b", 1));
    let running = start(&server).await;
    let mut subscription = running.informer.subscribe();
    let find = |ports: &str| -> Vec<String> {
        running.informer.by_index("ports", ports).iter().map(|object| object.key.to_string()).collect()
    };
    assert_eq!(find("1"), ["shop/a", "shop/b"]);
    server.put(service("b", 2));
    told(&mut subscription).await;
    assert_eq!((find("1"), find("2")), (vec!["shop/a".to_owned()], vec!["shop/b".to_owned()]));
    server.delete("shop/b");
    server.end_watches();
    server.compact();
    told(&mut subscription).await;
    assert!(find("2").is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_quiet_hour_costs_one_list_and_a_watch_a_minute() {
    let server = Collection::new("Service");
    server.put(service("a", 1));
    let running = start(&server).await;
    sleep(Duration::from_secs(3_600)).await;
    assert_eq!(running.log.lists().len(), 1);
    assert!(running.log.watches().len() <= 62, "{} watches", running.log.watches().len());
    let health = running.informer.health();
    assert_eq!(health.problem(Instant::now()), None, "quiet is not silent");
    assert!(!health.failing);
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_died_silently_is_noticed_and_replaced() {
    let server = Collection::new("Service");
    server.put(service("a", 1));
    server.fault_watches(Some(Fault::Mute));
    let running = start_with(&server, WatchSettings::default());
    assert!(running.informer.synced().await);
    sleep(Duration::from_secs(1)).await;
    server.fault_watches(None);
    server.put(service("b", 1));
    let begun = Instant::now();
    eventually_virtual("the objects", || running.informer.len() >= 2).await;
    assert!(begun.elapsed() <= Duration::from_secs(66), "took {:?}", begun.elapsed());
    assert_eq!(running.log.lists().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_falls_silent_makes_the_informer_unhealthy_and_its_return_heals_it() {
    let server = Collection::new("Service");
    server.put(service("a", 1));
    let running = start(&server).await;
    server.fault_watches(Some(Fault::Silence));
    server.end_watches();
    sleep(Duration::from_secs(40)).await;
    let health = running.informer.health();
    assert!(health.failing);
    assert_eq!(health.problem(Instant::now()), None, "the picture is still young");
    sleep(Duration::from_secs(60)).await;
    let problem = running.informer.health().problem(Instant::now()).unwrap();
    assert!(problem.contains("informer services") && problem.contains("no answer"), "{problem}");

    server.fault_watches(None);
    server.put(service("b", 1));
    eventually_virtual("the objects", || running.informer.len() >= 2).await;
    let health = running.informer.health();
    assert_eq!((health.problem(Instant::now()), health.failing), (None, false));
    assert!(health.last_failure.is_some(), "kept for whoever looks later");
    assert_eq!(running.log.lists().len(), 1, "resumed, not listed again");
}

#[tokio::test(start_paused = true)]
async fn a_list_that_is_never_answered_is_tried_again_and_says_why_it_is_not_ready() {
    let server = Collection::new("Service");
    server.fault_lists(Some(Fault::Silence));
    let running = start_with(&server, WatchSettings::default());
    sleep(Duration::from_secs(100)).await;
    assert!(running.log.lists().len() >= 3);
    let problem = running.informer.health().problem(Instant::now()).unwrap();
    assert!(problem.contains("first list") && problem.contains("no answer"), "{problem}");
    server.fault_lists(None);
    assert!(running.informer.synced().await);
}

#[tokio::test(start_paused = true)]
async fn a_list_that_is_refused_is_asked_for_less_and_less_often() {
    let server = Collection::new("Service");
    server.fault_lists(Some(Fault::Status(403, "Forbidden")));
    let running = start_with(&server, WatchSettings::default());
    sleep(Duration::from_secs(600)).await;
    let asked = running.log.lists().len();
    assert!((15..=30).contains(&asked), "{asked} lists in ten minutes");
    let problem = running.informer.health().problem(Instant::now()).unwrap();
    assert!(problem.contains("Forbidden"), "{problem}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_ends_every_watch_at_once_is_not_stormed() {
    let server = Collection::new("Service");
    server.fault_watches(Some(Fault::EndAtOnce));
    let running = start_with(&server, WatchSettings::default());
    assert!(running.informer.synced().await);
    sleep(Duration::from_secs(600)).await;
    let asked = running.log.watches().len();
    assert!(asked <= 126, "{asked} watches in ten minutes");
}

#[tokio::test(start_paused = true)]
async fn selectors_and_the_watch_timeout_reach_the_server() {
    let server = Collection::new("Service");
    let settings = WatchSettings {
        label_selector: Some("app".into()),
        field_selector: Some("metadata.name".into()),
        watch_timeout: Duration::from_secs(90),
        ..WatchSettings::default()
    };
    let running = start_with(&server, settings);
    running.informer.synced().await;
    sleep(Duration::from_secs(1)).await;
    for asked in running.log.all() {
        assert_eq!((asked.method.as_str(), asked.path.as_str()), ("GET", "/api/v1/services"));
        assert!(asked.body.is_null());
        assert_eq!(asked.param("labelSelector"), Some("app"));
        assert_eq!(asked.param("fieldSelector"), Some("metadata.name"));
    }
    let watches = running.log.watches();
    assert_eq!(watches[0].param("timeoutSeconds"), Some("90"));
    assert_eq!(watches[0].param("allowWatchBookmarks"), Some("true"));
}

#[tokio::test(start_paused = true)]
async fn when_the_task_ends_subscribers_hear_the_rest_and_then_the_end() {
    let server = Collection::new("Service");
    server.put(service("a", 1));
    let (client, _log) = server.client();
    let (informer, task) = InformerSpec::new("services", project).build(client, Api::all);
    let mut subscription = informer.subscribe();
    let cancel = CancellationToken::new();
    let task = tokio::spawn(task.run(cancel.clone()));
    assert!(informer.synced().await);
    cancel.cancel();
    task.await.unwrap();
    assert_eq!(subscription.next().await.as_ref().map(short).as_deref(), Some("+a(1)"));
    assert!(subscription.next().await.is_none());
    assert!(informer.has_synced() && informer.health().stopped);
    assert!(informer.health().problem(Instant::now()).is_some());
}

#[tokio::test(start_paused = true)]
async fn a_projection_that_panics_ends_the_informer_and_its_health_says_so() {
    let server = Collection::new("Service");
    server.put(service("a", 1));
    let (client, _log) = server.client();
    let picky = |service: Service| project(service).inspect(|view| assert!(view.ports < 2, "too many"));
    let (informer, task) = InformerSpec::new("services", picky).build(client, Api::all);
    let mut subscription = informer.subscribe();
    let task = tokio::spawn(task.run(CancellationToken::new()));
    assert!(informer.synced().await);
    assert_eq!(informer.health().problem(Instant::now()), None);
    server.put(service("b", 2));
    assert!(task.await.unwrap_err().is_panic());
    let health = informer.health();
    assert!(health.stopped);
    let problem = health.problem(Instant::now()).unwrap();
    assert!(problem.contains("its watch has ended") && problem.contains("panicked"), "{problem}");
    assert_eq!(subscription.next().await.as_ref().map(short).as_deref(), Some("+a(1)"));
    assert!(subscription.next().await.is_none(), "subscribers are not left waiting");
    assert_eq!(informer.len(), 1, "what was known can still be read");
}

#[tokio::test(start_paused = true)]
async fn waiting_for_a_sync_ends_when_the_task_ends_without_one() {
    let (client, _log) = Collection::new("Service").client();
    let (informer, task) = InformerSpec::new("services", project).build(client, Api::all);
    drop(task);
    assert!(!informer.synced().await);
}

#[tokio::test(start_paused = true)]
async fn the_metrics_count_objects_lists_watches_and_failures() {
    let mut registry = Registry::default();
    let metrics = InformerMetrics::register(&mut registry);
    let server = Collection::new("Service");
    server.put(service("a", 1));
    let (client, _log) = server.client();
    let (informer, task) = InformerSpec::new("services", project).metrics(&metrics).build(client, Api::all);
    let cancel = CancellationToken::new();
    tokio::spawn(task.run(cancel.clone()));
    informer.synced().await;
    eventually_virtual("a watch", || server.watchers() > 0).await;
    server.break_watches();
    sleep(Duration::from_secs(10)).await;
    let mut text = String::new();
    encode(&mut text, &registry).unwrap();
    for line in [
        "bowline_informer_objects{informer=\"services\"} 1",
        "bowline_informer_lists_total{informer=\"services\"} 1",
        "bowline_informer_watches_total{informer=\"services\"} 2",
        "bowline_informer_failures_total{informer=\"services\"} 1",
    ] {
        assert!(text.contains(line), "{line} is missing in\n{text}");
    }
    cancel.cancel();
}

#[tokio::test(start_paused = true)]
async fn upstreams_metrics_show_what_is_untold_what_was_taken_in_and_the_latest_version() {
    let mut registry = Registry::default();
    let metrics = InformerMetrics::register(&mut registry);
    let server = Collection::new("Service");
    server.put(service("a", 1));
    server.put(service("b", 1));
    let (client, _log) = server.client();
    let (informer, task) = InformerSpec::new("lb", project).metrics(&metrics).build(client, Api::all);
    let cancel = CancellationToken::new();
    tokio::spawn(task.run(cancel.clone()));
    informer.synced().await;
    eventually_virtual("a watch", || server.watchers() > 0).await;
    let shows = |queued: usize, processed: usize, version: usize| {
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        let labels = r#"{name="lb",group="",version="v1",resource="services"}"#;
        for line in [
            format!("informer_queued_items{labels} {queued}\n"),
            format!("informer_processing_latency_seconds_count{labels} {processed}\n"),
            format!("informer_store_resource_version{labels} {version}\n"),
        ] {
            assert!(text.contains(&line), "{line} is missing in\n{text}");
        }
    };
    shows(0, 1, 2);
    let (mut first, second) = (informer.subscribe(), informer.subscribe());
    shows(4, 1, 2);
    server.delete("shop/b");
    eventually_virtual("the objects", || informer.len() == 1).await;
    shows(2, 2, 3);
    first.next().await.unwrap();
    shows(1, 2, 3);
    drop(second);
    shows(0, 2, 3);
    cancel.cancel();
}
