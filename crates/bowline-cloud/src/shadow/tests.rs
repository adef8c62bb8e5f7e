use super::*;
use crate::{SetChange, StepFacts, Verb};

const NOW: &str = "2026-11-15T08:00:00Z";

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn available() -> Availability {
    Availability { state: AvailabilityState::Available, message: None }
}

fn finding(service: &str, verdict: Verdict) -> Finding {
    Finding {
        service: service.to_owned(),
        uid: "u".to_owned(),
        verdict,
        held: false,
        address: None,
        planned: Vec::new(),
        message: String::new(),
    }
}

fn report(findings: &[(&str, Verdict)]) -> ShadowReport {
    let mut services = ServiceCounts::default();
    findings.iter().for_each(|(_, verdict)| services.add(*verdict, false));
    ShadowReport {
        format: FORMAT,
        mode: Mode::Shadow,
        leader: false,
        version: "1".to_owned(),
        cluster_name: "kubernetes".to_owned(),
        project: Some("p".to_owned()),
        cloud_problem: None,
        started_at: at(NOW),
        observed_at: at(NOW),
        holder: "h".to_owned(),
        load_balancers: available(),
        instances: available(),
        services,
        findings: findings.iter().map(|(service, verdict)| finding(service, *verdict)).collect(),
        truncated: 0,
        nodes: NodeReport { total: 1, present: 1, ..NodeReport::default() },
    }
}

#[test]
fn changes_in_place_refusals_and_pauses_are_clean_and_everything_else_is_not() {
    let clean = [Verdict::Changes, Verdict::Refused, Verdict::Paused, Verdict::Settled];
    for verdict in Verdict::ALL {
        assert_eq!(report(&[("shop/web", verdict)]).is_clean(), clean.contains(&verdict), "{verdict:?}");
    }
    assert!(report(&[]).is_clean());
}

#[test]
fn a_cloud_that_does_not_say_who_we_are_or_what_is_there_is_not_clean_whatever_the_services() {
    type Edit = fn(&mut ShadowReport);
    let edits: [Edit; 5] = [
        |r| r.cloud_problem = Some("401".to_owned()),
        |r| r.load_balancers.state = AvailabilityState::Unavailable,
        |r| r.instances.state = AvailabilityState::Unavailable,
        |r| r.nodes.unknown.push("node-1".to_owned()),
        |r| r.format = 2,
    ];
    for (place, edit) in edits.iter().enumerate() {
        let mut report = report(&[]);
        edit(&mut report);
        assert!(!report.is_clean() && !report.is_accepted(&BTreeSet::new()), "{place}");
    }
}

#[test]
fn what_a_person_accepts_by_name_no_longer_blocks_and_what_is_not_listed_cannot_be_accepted() {
    let mut report = report(&[("shop/new", Verdict::Creates), ("shop/web", Verdict::Changes)]);
    let nobody = BTreeSet::new();
    let not_accepted: Vec<_> =
        report.not_accepted(&nobody).iter().map(|finding| finding.service.clone()).collect();
    assert_eq!(not_accepted, ["shop/new"]);
    assert!(!report.is_accepted(&nobody));
    let accepted = BTreeSet::from(["shop/new".to_owned()]);
    assert!(report.is_accepted(&accepted) && !report.is_clean());
    report.services.add(Verdict::Creates, false);
    report.truncated = 1;
    assert_eq!(report.unlisted(), 1);
    assert!(!report.is_accepted(&accepted));
}

#[test]
fn a_report_is_fresh_for_a_while_and_one_from_the_future_is_not() {
    let report = report(&[]);
    let age = Duration::from_secs(120);
    assert!(report.is_fresh(at("2026-11-15T08:02:00Z"), age));
    assert!(!report.is_fresh(at("2026-11-15T08:02:01Z"), age));
    assert!(report.is_fresh(at("2026-11-15T07:59:30Z"), age), "clocks differ a little");
    assert!(!report.is_fresh(at("2026-11-15T07:00:00Z"), age));
}

#[test]
fn a_report_of_a_newer_manager_can_be_read_and_its_new_words_block() {
    let mut text = serde_json::to_value(report(&[("shop/web", Verdict::Changes)])).unwrap();
    assert_eq!(
        serde_json::from_value::<ShadowReport>(text.clone()).unwrap().findings[0].verdict,
        Verdict::Changes
    );
    text["findings"][0]["verdict"] = "Renames".into();
    text["loadBalancers"]["state"] = "Sometimes".into();
    text["surprise"] = 1.into();
    let read: ShadowReport = serde_json::from_value(text).unwrap();
    assert_eq!(read.findings[0].verdict, Verdict::Unknown);
    assert!(!read.is_clean() && !read.not_accepted(&BTreeSet::new()).is_empty());
}

#[test]
fn every_service_is_counted_once() {
    let all: Vec<_> = Verdict::ALL.iter().map(|verdict| ("a/b", *verdict)).collect();
    let ServiceCounts {
        total,
        settled,
        paused,
        waits,
        changes,
        creates,
        deletes,
        readdresses,
        blocked,
        refused,
        unknown,
        held,
    } = report(&all).services;
    let each = [settled, paused, waits, changes, creates, deletes, readdresses, blocked, refused, unknown];
    assert_eq!(each, [1; 10]);
    assert_eq!((total, held), (10, 0));
}

#[test]
fn making_and_taking_away_what_users_reach_is_held_and_the_rest_is_not() {
    let facts = |verb, kind| StepFacts::new(verb, kind, "x");
    let held = |facts: &StepFacts, has_address| Touch::of(facts, has_address).is_held();
    for has_address in [true, false] {
        assert!(held(&facts(Verb::Create, LOAD_BALANCER), has_address));
        assert!(held(&facts(Verb::Delete, LOAD_BALANCER), has_address));
        assert!(!held(&facts(Verb::Update, LOAD_BALANCER), has_address), "tags");
        for verb in [Verb::Create, Verb::Update, Verb::Delete] {
            assert!(held(&facts(verb, FLOATING_IP), has_address));
        }
        assert!(!held(&facts(Verb::Create, "listener"), has_address));
        assert!(!held(&facts(Verb::Update, "pool"), has_address));
    }
    assert_eq!(Touch::of(&facts(Verb::Create, FLOATING_IP), true), Touch::Readdresses);
    assert_eq!(Touch::of(&facts(Verb::Create, FLOATING_IP), false), Touch::Creates);
}

#[test]
fn what_cuts_traffic_counts_as_taken_away_and_a_few_members_do_not() {
    let members =
        |removed| StepFacts::new(Verb::Update, "pool", "p").replacing(SetChange { before: 3, removed });
    let verdict = |facts: &StepFacts| Verdict::from(Touch::of(facts, true));
    assert_eq!(verdict(&members(3)), Verdict::Deletes);
    assert_eq!(verdict(&members(1)), Verdict::Changes);
    assert_eq!(verdict(&StepFacts::new(Verb::Delete, "listener", "l")), Verdict::Deletes);
    assert_eq!(verdict(&StepFacts::new(Verb::Delete, "member", "m")), Verdict::Changes);
}
