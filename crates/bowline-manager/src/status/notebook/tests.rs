use bowline_cloud::{EventNote, HeldNote};

use super::*;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}

fn key(name: &str) -> ServiceKey {
    ServiceKey { namespace: "shop".to_owned(), name: name.to_owned() }
}

fn step(text: &str) -> StepNote {
    let [target, text, reason] = ["web", text, "it is missing"].map(str::to_owned);
    StepNote { verb: "create", kind: "listener", target, text, reason }
}

fn acts(steps: &[&str]) -> Standing {
    Standing::Acts { steps: steps.iter().map(|text| step(text)).collect(), more: 0 }
}

fn stands(notes: &mut Notes, name: &str, standing: Standing, second: i64) {
    let note = Note::Service(ServiceNote { service: key(name), standing });
    notes.add(note, at(second), Duration::ZERO);
}

fn call(status: Option<u16>) -> Note {
    Note::Call(CallNote {
        service: "compute",
        method: "GET".to_owned(),
        path: "/v2.1/servers".to_owned(),
        status,
        took: Duration::from_millis(12),
        request_id: None,
    })
}

#[test]
fn every_ring_keeps_the_newest_and_no_more_than_its_limit() {
    let mut notes = Notes::default();
    for second in 0..2_000 {
        let about = format!("Node {second}");
        let (rail, why) = ("budget", "spent".to_owned());
        notes.add(Note::Held(HeldNote { rail, about, why }), at(second), Duration::ZERO);
        notes.add(call(Some(200)), at(second), Duration::ZERO);
        stands(&mut notes, &format!("web-{second}"), acts(&["make it"]), second);
    }
    assert_eq!((notes.moments.len(), notes.calls.len()), (MOST_MOMENTS, MOST_CALLS));
    assert_eq!((notes.plans.len(), notes.services.len()), (MOST_PLANS, 2_000));
    assert_eq!(notes.calls.back().unwrap().at, at(1_999));
    assert_eq!(notes.plans.back().unwrap().0, key("web-1999"));
}

#[test]
fn steps_that_are_not_planned_any_more_are_done_until_a_new_plan_begins() {
    let mut notes = Notes::default();
    stands(&mut notes, "web", acts(&["balancer", "listener", "pool"]), 1);
    stands(&mut notes, "web", Standing::Waits { reason: "PENDING_CREATE".to_owned() }, 2);
    stands(&mut notes, "web", acts(&["listener", "pool"]), 3);
    let done = |notes: &Notes| {
        let plan = &notes.plans.back().unwrap().1;
        let steps = plan.steps.iter().map(|planned| (planned.step.text.clone(), planned.done)).collect();
        (plan.at, plan.done_at, steps)
    };
    let steps = |steps: &[(&str, bool)]| {
        steps.iter().map(|(text, done)| ((*text).to_owned(), *done)).collect::<Vec<_>>()
    };
    let expected = steps(&[("balancer", true), ("listener", false), ("pool", false)]);
    assert_eq!(done(&notes), (at(1), None, expected));
    stands(&mut notes, "web", Standing::Settled, 4);
    let expected = steps(&[("balancer", true), ("listener", true), ("pool", true)]);
    assert_eq!(done(&notes), (at(1), Some(at(4)), expected));
    stands(&mut notes, "web", acts(&["members"]), 9);
    assert_eq!(done(&notes), (at(9), None, steps(&[("members", false)])));
    assert_eq!(notes.plans.len(), 1, "one for each Service");
    notes.add(Note::ServiceGone(key("web")), at(10), Duration::ZERO);
    assert!(notes.plans.is_empty() && notes.services.is_empty());
}

#[test]
fn only_news_stand_in_the_timeline() {
    let mut notes = Notes::default();
    stands(&mut notes, "web", Standing::Settled, 1);
    assert!(notes.moments.is_empty(), "after a restart all are settled: no news");
    for second in 2..50 {
        stands(&mut notes, "web", Standing::Waits { reason: "PENDING_UPDATE".to_owned() }, second);
    }
    stands(&mut notes, "web", Standing::Settled, 50);
    let texts: Vec<_> = notes.moments.iter().map(|moment| moment.text.as_str()).collect();
    assert_eq!(texts, ["waits for the cloud: PENDING_UPDATE", "settled: all is as the Service asks"]);
    assert_eq!(notes.services[&key("web")].since, at(50));
}

#[test]
fn an_event_keeps_its_tone_and_a_call_without_a_good_answer_is_counted_as_one() {
    let mut notes = Notes::default();
    let (about, reason, message) = ("Service shop/web".to_owned(), "Failed".to_owned(), "no".to_owned());
    notes.add(
        Note::Event(EventNote { about, kind: EventKind::Warning, reason, message }),
        at(1),
        Duration::ZERO,
    );
    assert_eq!(notes.moments[0].tone, Tone::Warning);
    for (status, failed) in
        [(Some(200), false), (Some(404), false), (Some(503), true), (Some(429), true), (None, true)]
    {
        notes.add(call(status), at(1), Duration::ZERO);
        assert_eq!(notes.calls.back().unwrap().failed, failed, "{status:?}");
    }
    assert_eq!(notes.rates["compute"].lately(Duration::ZERO).last(), Some(&(5, 3)));
}
