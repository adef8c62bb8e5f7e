//! What plans mean for users: every answer of a planner, judged.

use std::fmt;

use bowline_cloud::shadow::{FLOATING_IP, LOAD_BALANCER, Verdict};
use bowline_cloud::{
    AnyObserved, AnyStep, Doubt, Ingress, LoadBalancerStatus, Notes, ObservedLoadBalancer, PlainPolicy, Plan,
    Planned, Purpose, Refusal, ServiceView, Shortfall, ShortfallKind, Step, StepFacts, Verb, Wait,
};
use k8s_openapi::jiff::Timestamp;

use super::judge::{Judged, Outcome};
use super::preview;
use crate::service::desire::FINALIZER;

#[derive(Clone)]
struct Scripted(Plan<ScriptedStep, LoadBalancerStatus>);

#[derive(Clone)]
struct ScriptedStep(Verb, &'static str);

impl fmt::Display for ScriptedStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {}", self.0, self.1)
    }
}

impl Step for ScriptedStep {
    fn facts(&self) -> StepFacts {
        StepFacts::new(self.0, self.1, "x")
    }
}

impl ObservedLoadBalancer for Scripted {
    type Step = ScriptedStep;

    fn plan(&self, _: Timestamp) -> Plan<ScriptedStep, LoadBalancerStatus> {
        self.0.clone()
    }

    fn is_there(&self) -> bool {
        true
    }
}

fn at(ip: &str) -> LoadBalancerStatus {
    LoadBalancerStatus { ingress: vec![Ingress { ip: ip.parse().ok(), ..Ingress::default() }] }
}

/// A Service that is reached at an address, with nothing missing on it.
fn served() -> ServiceView {
    let (namespace, name) = ("shop".into(), "web".into());
    ServiceView {
        namespace,
        name,
        status: at("192.0.2.1"),
        finalizers: [FINALIZER].into(),
        ..ServiceView::default()
    }
}

fn acts(steps: &[(Verb, &'static str)]) -> Plan<ScriptedStep, LoadBalancerStatus> {
    Plan::Act(steps.iter().map(|(verb, kind)| Planned::new(ScriptedStep(*verb, kind), "why")).collect())
}

fn judged(
    service: &ServiceView,
    purpose: Purpose,
    plan: Plan<ScriptedStep, LoadBalancerStatus>,
    outlook: Option<&LoadBalancerStatus>,
    notes: &Notes,
) -> Judged {
    judged_with(service, purpose, plan, outlook, notes, &[])
}

fn judged_with(
    service: &ServiceView,
    purpose: Purpose,
    plan: Plan<ScriptedStep, LoadBalancerStatus>,
    outlook: Option<&LoadBalancerStatus>,
    notes: &Notes,
    shortfalls: &[Shortfall],
) -> Judged {
    let plan: Plan<AnyStep, _> = AnyObserved::plan(&Scripted(plan), Timestamp::UNIX_EPOCH);
    Outcome { service, purpose, plan: &plan, outlook, notes, shortfalls, most_steps: usize::MAX }.judge()
}

/// A Service that asks for something that it does not get.
fn short_of(kind: ShortfallKind, plan: Plan<ScriptedStep, LoadBalancerStatus>) -> (Verdict, String) {
    let shortfalls = [Shortfall { kind, message: "annotation x is \"ten\"".to_owned() }];
    let judged = judged_with(&served(), Purpose::Ensure, plan, None, &Notes::default(), &shortfalls);
    (judged.verdict, judged.message)
}

#[test]
fn a_served_service_with_a_value_that_cannot_be_read_is_blocked_unless_something_worse_would_happen() {
    let settled = || Plan::Settled(at("192.0.2.1"));
    let (verdict, message) = short_of(ShortfallKind::InvalidValue, settled());
    assert_eq!((verdict, message.as_str()), (Verdict::Blocked, "annotation x is \"ten\""));
    let changes = acts(&[(Verb::Update, LOAD_BALANCER)]);
    assert_eq!(short_of(ShortfallKind::InvalidValue, changes).0, Verdict::Blocked);
    let deletes = acts(&[(Verb::Delete, LOAD_BALANCER)]);
    assert_eq!(short_of(ShortfallKind::InvalidValue, deletes).0, Verdict::Deletes);
    // The other manager did not honor it either.
    assert_eq!(short_of(ShortfallKind::RecreationNeeded, settled()).0, Verdict::Settled);
}

fn ensured(service: &ServiceView, plan: Plan<ScriptedStep, LoadBalancerStatus>) -> (Verdict, bool) {
    let judged = judged(service, Purpose::Ensure, plan, None, &Notes::default());
    (judged.verdict, judged.held)
}

#[test]
fn the_worst_step_of_a_plan_decides() {
    let web = served();
    let new = ServiceView { status: LoadBalancerStatus::default(), ..served() };
    let tags = (Verb::Update, LOAD_BALANCER);
    assert_eq!(ensured(&web, acts(&[tags])), (Verdict::Changes, false));
    assert_eq!(ensured(&web, acts(&[tags, (Verb::Create, LOAD_BALANCER)])), (Verdict::Creates, true));
    assert_eq!(ensured(&web, acts(&[tags, (Verb::Delete, LOAD_BALANCER)])), (Verdict::Deletes, true));
    assert_eq!(ensured(&web, acts(&[tags, (Verb::Create, FLOATING_IP)])), (Verdict::Readdresses, true));
    assert_eq!(ensured(&new, acts(&[tags, (Verb::Create, FLOATING_IP)])), (Verdict::Creates, true));
    assert_eq!(ensured(&web, acts(&[(Verb::Delete, "listener")])), (Verdict::Deletes, false));
}

#[test]
fn a_settled_plan_is_settled_only_if_nothing_is_left_to_write_and_the_address_stays() {
    let web = served();
    assert_eq!(ensured(&web, Plan::Settled(at("192.0.2.1"))), (Verdict::Settled, false));
    assert_eq!(ensured(&web, Plan::Settled(at("192.0.2.2"))), (Verdict::Readdresses, true));
    assert_eq!(
        ensured(&web, Plan::Settled(LoadBalancerStatus::default())),
        (Verdict::Readdresses, true),
        "it would lose it"
    );
    let unowned = ServiceView { finalizers: bowline_cloud::Finalizers::default(), ..served() };
    assert_eq!(ensured(&unowned, Plan::Settled(at("192.0.2.1"))), (Verdict::Changes, false));
    let unseen = ServiceView { status: LoadBalancerStatus::default(), ..served() };
    assert_eq!(ensured(&unseen, Plan::Settled(at("192.0.2.1"))), (Verdict::Changes, false));
    let notes = Notes::default().with("id", "85a2");
    let noted = judged(&web, Purpose::Ensure, Plan::Settled(at("192.0.2.1")), None, &notes);
    assert_eq!((noted.verdict, noted.message.contains("annotations")), (Verdict::Changes, true));
}

#[test]
fn a_change_in_place_that_ends_with_another_address_changes_the_address() {
    let (web, other) = (served(), at("192.0.2.2"));
    let judged = judged(
        &web,
        Purpose::Ensure,
        acts(&[(Verb::Update, LOAD_BALANCER)]),
        Some(&other),
        &Notes::default(),
    );
    assert_eq!((judged.verdict, judged.held), (Verdict::Readdresses, true));
    let kinds: Vec<_> = judged.planned.iter().map(|step| step.kind.as_str()).collect();
    assert_eq!(kinds, [LOAD_BALANCER, "status"]);
}

#[test]
fn what_waits_is_refused_or_is_done_elsewhere_is_said_and_every_removal_is_held() {
    let web = served();
    let wait = Plan::Wait(Wait { reason: "amphora boots".into(), at_most: std::time::Duration::ZERO });
    assert_eq!(ensured(&web, wait), (Verdict::Waits, false));
    let refuse = || Plan::Refuse(Refusal { problems: vec!["no".into()] });
    assert_eq!(ensured(&web, refuse()), (Verdict::Blocked, false), "it would no longer follow the Nodes");
    let new = ServiceView { status: LoadBalancerStatus::default(), ..served() };
    assert_eq!(ensured(&new, refuse()), (Verdict::Refused, false));
    assert_eq!(ensured(&web, Plan::Elsewhere), (Verdict::Settled, false));
    let gone = Plan::Settled(LoadBalancerStatus::default());
    for (plan, verdict) in
        [(acts(&[(Verb::Delete, LOAD_BALANCER)]), Verdict::Deletes), (gone, Verdict::Changes)]
    {
        let judged = judged(&web, Purpose::Remove, plan, None, &Notes::default());
        assert_eq!((judged.verdict, judged.held), (verdict, true));
    }
}

#[test]
fn a_preview_tells_every_step_also_of_a_service_that_is_paused_and_nothing_of_what_is_unknown() {
    let mut web = served();
    web.kind = "LoadBalancer".into();
    let steps = vec![(Verb::Update, "listener"); 25];
    let cluster = "kubernetes".into();
    let asked = |service: &ServiceView| {
        preview::request(&PlainPolicy, &cluster, &service.clone().into(), &[], Timestamp::UNIX_EPOCH)
    };
    let told = |service: &ServiceView, observed| {
        let told = preview::preview(&asked(service).unwrap(), observed, Timestamp::UNIX_EPOCH);
        (told.finding.verdict, told.finding.planned.len())
    };
    let observed = || -> Result<Box<dyn AnyObserved>, Doubt> { Ok(Box::new(Scripted(acts(&steps)))) };
    assert_eq!(told(&web, observed()), (Verdict::Changes, 25));
    let mut paused = web.clone();
    paused.annotations.insert(bowline_cloud::PAUSED.into(), "rack 7".into());
    assert_eq!(told(&paused, observed()), (Verdict::Paused, 25));
    assert_eq!(told(&web, Err(Doubt::new("502"))), (Verdict::Unknown, 0));
    let plain =
        ServiceView { kind: "ClusterIP".into(), finalizers: bowline_cloud::Finalizers::default(), ..web };
    assert!(asked(&plain).is_none(), "it wants nothing");
}
