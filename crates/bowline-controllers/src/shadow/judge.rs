//! What a plan for a Service means for its users, in one word and with the steps that make it so. Pure.

use bowline_cloud::shadow::{PlannedStep, Touch, Verdict};
use bowline_cloud::{
    AnyStep, Doubt, LoadBalancerStatus, Notes, Plan, Planned, Purpose, ServiceView, Shortfall, StepFacts,
    Verb,
};

use crate::rails::adopt_only::{changes_address, words};
use crate::service::desire::has_finalizer;

/// Not more steps are shown of one plan: the first ones tell what it is about.
pub(super) const MOST_STEPS: usize = 10;

/// What is said of one Service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Judged {
    pub(super) verdict: Verdict,
    /// Whether adopt-only mode holds it.
    pub(super) held: bool,
    pub(super) planned: Vec<PlannedStep>,
    pub(super) message: String,
}

impl Judged {
    fn new(verdict: Verdict, message: impl Into<String>) -> Self {
        Self { verdict, held: false, planned: Vec::new(), message: message.into() }
    }

    fn held(mut self) -> Self {
        self.held = true;
        self
    }

    pub(super) fn paused(why: &str) -> Self {
        Self::new(Verdict::Paused, format!("paused by its annotation: {why}"))
    }

    /// There are no load balancers, and so nothing is done about them.
    pub(super) fn nothing(why: &str) -> Self {
        Self::new(Verdict::Settled, why)
    }

    pub(super) fn unknown(why: &Doubt) -> Self {
        Self::new(Verdict::Unknown, format!("the cloud does not say what is there: {why}"))
    }
}

/// What was planned for a Service.
pub(super) struct Outcome<'a> {
    pub(super) service: &'a ServiceView,
    pub(super) purpose: Purpose,
    pub(super) plan: &'a Plan<AnyStep, LoadBalancerStatus>,
    /// How it will be reached, if that is known.
    pub(super) outlook: Option<&'a LoadBalancerStatus>,
    /// Annotations that would be written.
    pub(super) notes: &'a Notes,
    /// What it asks for and does not get.
    pub(super) shortfalls: &'a [Shortfall],
    /// Not more steps are told.
    pub(super) most_steps: usize,
}

impl Outcome<'_> {
    pub(super) fn judge(&self) -> Judged {
        let judged = match self.plan {
            Plan::Act(steps) => self.acts(steps),
            Plan::Settled(status) => self.settled(status),
            Plan::Wait(wait) => Judged::new(Verdict::Waits, wait.reason.clone()),
            Plan::Refuse(refusal) => Judged::new(self.refused(), refusal.to_string()),
            Plan::Elsewhere => Judged::new(Verdict::Settled, "another controller does this"),
        };
        let judged = self.with_shortfalls(judged);
        // Every removal waits in that mode, whatever it would take.
        if self.purpose == Purpose::Remove { judged.held() } else { judged }
    }

    /// The manager that serves it now may go on serving it: whoever hands the cluster over has to know.
    fn refused(&self) -> Verdict {
        let is_served = self.purpose == Purpose::Ensure && !self.service.status.ingress.is_empty();
        if is_served { Verdict::Blocked } else { Verdict::Refused }
    }

    /// A value that cannot be read matters more than what is changed in place.
    fn with_shortfalls(&self, judged: Judged) -> Judged {
        let blocking = self.shortfalls.iter().filter(|one| one.kind.blocks_hand_over());
        let messages: Vec<&str> = blocking.map(|one| one.message.as_str()).collect();
        if messages.is_empty() || !matches!(judged.verdict, Verdict::Changes | Verdict::Settled) {
            return judged;
        }
        Judged { verdict: Verdict::Blocked, message: messages.join("; "), ..judged }
    }

    fn acts(&self, steps: &[Planned<AnyStep>]) -> Judged {
        let has_address = !self.service.status.ingress.is_empty();
        let touch = |planned: &Planned<AnyStep>| Touch::of(planned.step.facts(), has_address);
        let worst = steps.iter().min_by_key(|planned| touch(planned));
        let touched = worst.map_or(Touch::InPlace, touch);
        let shown: Vec<_> = steps.iter().take(self.most_steps).map(shown).collect();
        // A plan that only changes something in place may still end with another address.
        if touched == Touch::InPlace
            && let Some(moved) = self.outlook.and_then(|outlook| self.moved(outlook))
        {
            return Judged { planned: [shown, moved.planned].concat(), ..moved };
        }
        let message =
            worst.map(|planned| format!("{}: {}", planned.step, planned.reason)).unwrap_or_default();
        Judged { verdict: touched.into(), held: touched.is_held(), planned: shown, message }
    }

    /// In the cloud all is well; what is left is on the Service.
    fn settled(&self, status: &LoadBalancerStatus) -> Judged {
        if self.purpose == Purpose::Remove {
            let message = "nothing of it is in the cloud; its finalizer and its status would be taken off";
            return Judged::new(Verdict::Changes, message);
        }
        if let Some(moved) = self.moved(status) {
            return moved;
        }
        let first = self.service.status.ingress.is_empty() && !status.ingress.is_empty();
        let mut missing = Vec::new();
        missing.extend(first.then(|| format!("its address, {}", words(status))));
        missing.extend((!has_finalizer(self.service)).then(|| "the finalizer".to_owned()));
        missing.extend((!self.notes.is_empty()).then(|| "annotations".to_owned()));
        match missing.as_slice() {
            [] => Judged::new(Verdict::Settled, "all is as the Service asks"),
            some => {
                Judged::new(Verdict::Changes, format!("would be written on the Service: {}", some.join(", ")))
            }
        }
    }

    /// The Service shows an address, and would show another one.
    fn moved(&self, outlook: &LoadBalancerStatus) -> Option<Judged> {
        let before = &self.service.status;
        if !changes_address(before, outlook) {
            return None;
        }
        let reason = format!("it is reached at {} and would be at {}", words(before), words(outlook));
        let target = self.service.key().to_string();
        let step = PlannedStep {
            verb: "update".to_owned(),
            kind: "status".to_owned(),
            target,
            reason: reason.clone(),
        };
        Some(Judged { planned: vec![step], ..Judged::new(Verdict::Readdresses, reason).held() })
    }
}

fn shown(planned: &Planned<AnyStep>) -> PlannedStep {
    let StepFacts { verb, kind, target, .. } = planned.step.facts();
    let verb = match verb {
        Verb::Create => "create",
        Verb::Update => "update",
        Verb::Delete => "delete",
    };
    PlannedStep {
        verb: verb.to_owned(),
        kind: (*kind).to_owned(),
        target: target.clone(),
        reason: planned.reason.clone(),
    }
}
