//! Adopt-only mode in the running controller: what the rail holds back is told once, on the Service and as a metric, and looked
//! at again from time to time. What the rail says is in `rails/adopt_only`.

use std::time::Duration;

use bowline_cloud::journal::cut;
use bowline_cloud::{AnyStep, LoadBalancerStatus, Plan, Standing};
use bowline_kube::queue::Outcome;
use tracing::warn;

use super::condition;
use super::message;
use super::work::{Job, Work};
use crate::rails::adopt_only::{self, NotAdopted};

/// When what is held is looked at again: somebody may have mended it in the cloud.
const LOOK_AGAIN: Duration = Duration::from_secs(60);

impl Work {
    /// What of a plan may not be done in this mode; `None` if all of it may, or the mode is off.
    pub(super) fn not_to_adopt(
        &self,
        job: &Job,
        plan: &Plan<AnyStep, LoadBalancerStatus>,
        outlook: Option<&LoadBalancerStatus>,
    ) -> Option<NotAdopted> {
        if !self.options.adopt_only {
            return None;
        }
        // Not even where nothing is found: it may be there under another name, and nobody would remember whose it was.
        if job.task.is_removal() {
            return Some(NotAdopted::removal());
        }
        let shown = &job.service().status;
        let judged = match plan {
            Plan::Act(steps) => {
                let steps = steps.iter().map(|planned| (planned.step.facts(), planned.reason.as_str()));
                adopt_only::judge(steps, shown, outlook)
            }
            Plan::Settled(status) => adopt_only::judge([], shown, Some(status)),
            Plan::Wait(_) | Plan::Elsewhere | Plan::Refuse(_) => Ok(()),
        };
        judged.err()
    }

    /// Told once for each reason; nothing else happens for this Service.
    pub(super) async fn hold_adoption(&self, job: &Job, held: &NotAdopted) -> Outcome {
        let text = held.to_string();
        let is_new = job.memory().not_adopted.replace(text.clone()).as_ref() != Some(&text);
        if is_new {
            warn!(service = %job.key, %held, "held back by --adopt-only");
            self.context.metrics.held_back("adopt-only");
            self.context.note_held("adopt-only", || format!("Service {}", job.key), &text);
            self.tell(job.service(), &message::not_adopted(held));
        }
        self.stands(job, || Standing::Held { rail: "adopt-only", why: cut(&text) });
        self.say(job, condition::not_adopted(&text)).await;
        // A wait for us is none for the cloud.
        job.memory().since = None;
        Outcome::RetryAfter(LOOK_AGAIN)
    }
}
