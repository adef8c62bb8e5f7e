//! Tests of events: the decisions, and their delivery in virtual time.

use std::sync::atomic::{AtomicUsize, Ordering};

use http::Method;
use serde_json::json;
use tokio::time::Instant;

use super::*;
use crate::scripted_api::{self, Answer, Asked, Log};

const SECOND: Duration = Duration::from_secs(1);

fn node(name: &str) -> ObjectReference {
    ObjectReference {
        api_version: Some("v1".into()),
        kind: Some("Node".into()),
        name: Some(name.into()),
        uid: Some("u".into()),
        ..ObjectReference::default()
    }
}

fn new_event(reason: &str, message: &str) -> NewEvent {
    NewEvent {
        object: node("n1"),
        kind: EventKind::Normal,
        reason: reason.into(),
        message: message.into(),
        at: "2026-11-02T08:00:00Z".parse().unwrap(),
    }
}

fn correlator() -> EventCorrelator {
    EventCorrelator::new("service-controller", "host-1")
}

#[test]
fn a_first_event_is_a_whole_core_v1_event_in_the_default_namespace_for_a_node() {
    let Decision::Create(event) = correlator().observe(&new_event("Synced", "done"), SECOND) else {
        panic!()
    };
    let wire = serde_json::to_value(&event).unwrap();
    let name = event.metadata.name.unwrap();
    assert!(name.strip_prefix("n1.").unwrap().chars().all(|digit| digit.is_ascii_hexdigit()), "{name}");
    assert_eq!((wire["apiVersion"].as_str(), wire["kind"].as_str()), (Some("v1"), Some("Event")));
    assert_eq!(wire["metadata"]["namespace"], "default");
    assert_eq!(wire["source"], json!({"component": "service-controller", "host": "host-1"}));
    assert_eq!(wire["reportingComponent"], "service-controller");
    assert_eq!((&wire["count"], &wire["type"]), (&json!(1), &json!("Normal")));
    assert_eq!(wire["firstTimestamp"], wire["lastTimestamp"]);
}

#[test]
fn a_namespaced_object_has_its_events_beside_it() {
    let mut event = new_event("Synced", "done");
    event.object.namespace = Some("shop".into());
    let Decision::Create(event) = correlator().observe(&event, SECOND) else { panic!() };
    assert_eq!(event.metadata.namespace.as_deref(), Some("shop"));
}

#[test]
fn a_repeat_counts_on_the_first_event_until_that_has_expired() {
    let mut correlator = correlator();
    let event = new_event("Synced", "done");
    let Decision::Create(first) = correlator.observe(&event, SECOND) else { panic!() };
    let later = NewEvent { at: "2026-11-02T08:30:00Z".parse().unwrap(), ..event };
    let Decision::Patch(repeat) = correlator.observe(&later, SECOND * 1_800) else { panic!() };
    assert_eq!(repeat.metadata.name, first.metadata.name);
    assert_eq!((repeat.count, &repeat.first_timestamp), (Some(2), &first.first_timestamp));
    assert_ne!(repeat.last_timestamp, first.last_timestamp);
    let Decision::Create(anew) = correlator.observe(&later, SECOND * 9_000) else { panic!() };
    assert_ne!(anew.metadata.name, first.metadata.name);
}

#[test]
fn events_of_the_same_moment_have_different_names() {
    let mut correlator = correlator();
    let Decision::Create(first) = correlator.observe(&new_event("A", "a"), SECOND) else { panic!() };
    let Decision::Create(second) = correlator.observe(&new_event("B", "b"), SECOND) else { panic!() };
    assert_ne!(first.metadata.name, second.metadata.name);
}

#[test]
fn more_than_ten_similar_events_are_combined_until_ten_quiet_minutes() {
    let mut correlator = correlator();
    for n in 0..10 {
        let decision = correlator.observe(&new_event("Failed", &format!("try {n}")), SECOND);
        assert!(matches!(decision, Decision::Create(_)), "{n}");
    }
    let Decision::Create(combined) = correlator.observe(&new_event("Failed", "try 10"), SECOND) else {
        panic!()
    };
    assert_eq!(combined.message.as_deref(), Some("(combined from similar events): try 10"));
    let Decision::Patch(more) = correlator.observe(&new_event("Failed", "try 11"), SECOND) else { panic!() };
    assert_eq!((&more.metadata.name, more.count), (&combined.metadata.name, Some(2)));
    assert_eq!(more.message.as_deref(), Some("(combined from similar events): try 11"));
    let other = correlator.observe(&new_event("Other", "x"), SECOND);
    assert!(matches!(other, Decision::Create(_)), "another reason is not similar");
    let Decision::Create(single) = correlator.observe(&new_event("Failed", "try 12"), SECOND * 700) else {
        panic!()
    };
    assert_eq!(single.message.as_deref(), Some("try 12"));
}

#[test]
fn one_object_gets_a_burst_of_25_and_then_one_event_in_five_minutes() {
    let mut correlator = correlator();
    let event = new_event("Failed", "same");
    let written = |decision: &Decision| !matches!(decision, Decision::Drop);
    let burst = (0..100).map(|_| correlator.observe(&event, SECOND)).filter(written).count();
    assert_eq!(burst, 25);
    let Decision::Patch(next) = correlator.observe(&event, SECOND * 302) else { panic!() };
    assert_eq!(next.count, Some(101), "the dropped ones are counted");
    assert_eq!(correlator.observe(&event, SECOND * 303), Decision::Drop);
    let other = NewEvent { object: node("n2"), ..event };
    assert!(written(&correlator.observe(&other, SECOND * 303)), "each object has its own budget");
}

#[test]
fn a_warning_is_told_however_much_was_told_that_is_normal() {
    let mut correlator = correlator();
    let normal = NewEvent { kind: EventKind::Normal, ..new_event("Ensured", "same") };
    let warning = NewEvent { kind: EventKind::Warning, ..new_event("Refused", "a mistake") };
    (0..100).for_each(|_| drop(correlator.observe(&normal, SECOND)));
    assert_eq!(correlator.observe(&normal, SECOND), Decision::Drop);
    assert!(matches!(correlator.observe(&warning, SECOND), Decision::Create(_)));
    let more = (0..100).map(|_| correlator.observe(&warning, SECOND)).filter(|one| *one != Decision::Drop);
    assert_eq!(more.count(), 24, "warnings have a limit too");
}

#[test]
fn a_long_message_or_name_is_cut_between_characters() {
    assert_eq!(correlator::truncate(&"ä".repeat(600)).len(), 1024);
    assert_eq!(correlator::truncate(&format!("x{}", "ä".repeat(600))).len(), 1023);
    let long = NewEvent { object: node(&"n".repeat(253)), ..new_event("A", "a") };
    let Decision::Create(event) = correlator().observe(&long, SECOND) else { panic!() };
    assert!(event.metadata.name.unwrap().len() <= 253);
}

#[test]
fn a_name_that_is_cut_behind_a_dot_or_a_dash_is_still_a_name() {
    for separator in [".", "-"] {
        let name = format!("{}{separator}{}", "n".repeat(235), "n".repeat(17));
        let long = NewEvent { object: node(&name), ..new_event("A", "a") };
        let Decision::Create(event) = correlator().observe(&long, SECOND) else { panic!() };
        let name = event.metadata.name.unwrap();
        assert!(name.starts_with(&format!("{}.", "n".repeat(235))), "{name}");
        assert!(!name.contains(".."), "{name}");
    }
}

type Handler = fn(&Asked, usize) -> Answer;

/// A recorder on a server that answers as `handler` says; it is told how many requests came before.
fn recorder(handler: Handler) -> (EventRecorder, Log, EventMetrics) {
    let requests = AtomicUsize::new(0);
    let (client, journal) =
        scripted_api::client(move |asked| handler(asked, requests.fetch_add(1, Ordering::SeqCst)));
    let clock = Clock::simulated("2026-11-02T08:00:00Z".parse().unwrap());
    let metrics = EventMetrics::default();
    (EventRecorder::new(client, "node-controller", "", clock, metrics.clone()), journal, metrics)
}

fn echo(seen: &Asked, _: usize) -> Answer {
    let mut body = seen.body.clone();
    if seen.method == Method::PATCH {
        body["involvedObject"] = json!({});
        body["metadata"] = json!({});
    }
    Answer::ok(body)
}

#[tokio::test(start_paused = true)]
async fn a_repeat_is_sent_as_a_patch_of_count_time_and_message() {
    let (recorder, journal, _) = recorder(echo);
    recorder.event(&node("n1"), EventKind::Warning, "Failed", "no route");
    tokio::time::advance(SECOND).await;
    recorder.event(&node("n1"), EventKind::Warning, "Failed", "no route");
    recorder.flush(SECOND).await.unwrap();
    let seen = journal.all();
    assert_eq!(seen.len(), 2);
    assert_eq!(
        (&seen[0].method, seen[0].path.as_str()),
        (&Method::POST, "/api/v1/namespaces/default/events")
    );
    assert_eq!(seen[1].method, Method::PATCH);
    assert!(seen[1].path.starts_with("/api/v1/namespaces/default/events/n1."), "{}", seen[1].path);
    let patch = json!({"count": 2, "lastTimestamp": "2026-11-02T08:00:01Z", "message": "no route"});
    assert_eq!(seen[1].body, patch);
    assert_eq!(seen[1].headers["content-type"], "application/strategic-merge-patch+json");
}

#[tokio::test(start_paused = true)]
async fn a_patch_that_finds_nothing_becomes_a_new_event() {
    let (recorder, journal, metrics) = recorder(|seen, n| match seen.method {
        Method::PATCH => Answer::status(404, "NotFound", "gone"),
        _ => echo(seen, n),
    });
    recorder.event(&node("n1"), EventKind::Normal, "A", "a");
    recorder.event(&node("n1"), EventKind::Normal, "A", "a");
    recorder.flush(SECOND).await.unwrap();
    let seen = journal.all();
    let methods: Vec<_> = seen.iter().map(|seen| seen.method.as_str()).collect();
    assert_eq!(methods, ["POST", "PATCH", "POST"]);
    assert_eq!(seen[2].body["count"], 2);
    assert_eq!(metrics.count("node-controller", "rejected"), 0);
}

#[tokio::test(start_paused = true)]
async fn delivery_is_tried_twelve_times_ten_seconds_apart() {
    let (recorder, journal, metrics) = recorder(|_, _| Answer::status(503, "ServiceUnavailable", "down"));
    let start = Instant::now();
    recorder.event(&node("n1"), EventKind::Normal, "A", "a");
    assert!(recorder.flush(SECOND).await.is_err(), "a flush is bounded");
    recorder.flush(SECOND * 600).await.unwrap();
    assert_eq!((journal.count(), start.elapsed()), (12, SECOND * 110));
    assert_eq!(metrics.count("node-controller", "gave-up"), 1);
}

#[tokio::test(start_paused = true)]
async fn an_event_survives_a_short_outage_and_a_lost_reply() {
    let (recorder, journal, metrics) = recorder(|seen, n| match n {
        0 => Answer::Refused,
        1 => Answer::status(409, "AlreadyExists", "it is there: the first try did arrive"),
        _ => echo(seen, n),
    });
    recorder.event(&node("n1"), EventKind::Normal, "A", "a");
    recorder.flush(SECOND * 60).await.unwrap();
    assert_eq!(journal.count(), 2);
    assert_eq!(metrics.count("node-controller", "rejected"), 0);
}

#[tokio::test(start_paused = true)]
async fn what_the_server_rejects_is_not_sent_again() {
    let (recorder, journal, metrics) = recorder(|_, _| Answer::status(403, "Forbidden", "no"));
    recorder.event(&node("n1"), EventKind::Normal, "A", "a");
    recorder.flush(SECOND * 60).await.unwrap();
    assert_eq!(journal.count(), 1);
    assert_eq!(metrics.count("node-controller", "rejected"), 1);
}

#[tokio::test(start_paused = true)]
async fn recording_never_blocks_and_drops_beyond_the_buffer() {
    let (client, _) = scripted_api::client(|_| Answer::Silence);
    let (clock, metrics) = (Clock::system(), EventMetrics::default());
    let recorder = EventRecorder::new(client, "c", "", clock, metrics.clone());
    for n in 0..BUFFER + 7 {
        recorder.event(&node(&format!("n{n}")), EventKind::Normal, "A", "a");
    }
    assert_eq!(metrics.count("c", "buffer-full"), 7);
}

#[derive(Debug, Default)]
struct Seen(parking_lot::Mutex<Vec<String>>);

impl EventWitness for Seen {
    fn recorded(&self, _object: &ObjectReference, _kind: EventKind, reason: &str, message: &str) {
        self.0.lock().push(format!("{reason}: {message}"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_witness_is_told_of_each_event_once_as_it_is_written() {
    let seen = Arc::new(Seen::default());
    let (client, _log) = scripted_api::client(|_| Answer::Silence);
    let recorder = EventRecorder::new(client, "test", "", Clock::system(), EventMetrics::default())
        .witnessed_by(seen.clone());
    recorder.event(&node("n1"), EventKind::Normal, "Synced", "done");
    recorder.event(&node("n1"), EventKind::Warning, "Failed", &"x".repeat(5000));
    let seen = seen.0.lock();
    assert_eq!(seen[0], "Synced: done");
    assert!((1000..1100).contains(&seen[1].len()), "{}", seen[1].len());
}
