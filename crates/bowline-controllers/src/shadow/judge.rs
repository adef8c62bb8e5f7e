//! Classifies the plan for a Service by its effect on users, with the relevant steps. Pure.

use bowline_cloud::shadow::{PlannedStep, Touch, Verdict};
use bowline_cloud::{
    AnyStep, Doubt, LoadBalancerStatus, Notes, Plan, Planned, Purpose, ServiceView, Shortfall, StepFacts,
    Verb,
};

use crate::rails::adopt_only::{changes_address, words};
use crate::service::desire::has_finalizer;

/// The maximum number of listed steps per plan; the first ones show what it does.
pub(super) const MOST_STEPS: usize = 10;

/// The result for one Service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Judged {
    pub(super) verdict: Verdict,
    /// Whether adopt-only mode would hold the plan.
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

    /// The cloud has no load balancers, so nothing is planned.
    pub(super) fn nothing(why: &str) -> Self {
        Self::new(Verdict::Settled, why)
    }

    pub(super) fn unknown(why: &Doubt) -> Self {
        Self::new(Verdict::Unknown, format!("the cloud does not say what is there: {why}"))
    }
}

/// The plan for a Service.
pub(super) struct Outcome<'a> {
    pub(super) service: &'a ServiceView,
    pub(super) purpose: Purpose,
    pub(super) plan: &'a Plan<AnyStep, LoadBalancerStatus>,
    /// The status after the plan; `None` if it is not known.
    pub(super) outlook: Option<&'a LoadBalancerStatus>,
    /// Annotations that the service controller would write.
    pub(super) notes: &'a Notes,
    /// Settings of the Service that the load balancer does not get.
    pub(super) shortfalls: &'a [Shortfall],
    /// The maximum number of listed steps.
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
        // Adopt-only mode holds every removal, whatever it would delete.
        if self.purpose == Purpose::Remove { judged.held() } else { judged }
    }

    /// The current manager may keep serving the Service, so a refusal blocks the migration.
    fn refused(&self) -> Verdict {
        let is_served = self.purpose == Purpose::Ensure && !self.service.status.ingress.is_empty();
        if is_served { Verdict::Blocked } else { Verdict::Refused }
    }

    /// A shortfall that blocks the migration outweighs changes in place.
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
        // A plan that only changes objects in place may still result in another address.
        if touched == Touch::InPlace
            && let Some(moved) = self.outlook.and_then(|outlook| self.moved(outlook))
        {
            return Judged { planned: [shown, moved.planned].concat(), ..moved };
        }
        let message =
            worst.map(|planned| format!("{}: {}", planned.step, planned.reason)).unwrap_or_default();
        Judged { verdict: touched.into(), held: touched.is_held(), planned: shown, message }
    }

    /// Nothing has to change in the cloud; only the Service may need writes.
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

    /// The result if the Service has an address and would get another one; `None` otherwise.
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
