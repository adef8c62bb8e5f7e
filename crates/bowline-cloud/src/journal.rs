//! Records of what happened, as messages for people, for the status page. Values and a handle; no storage and no clock.
//!
//! Components record notes in a [`Journal`]; a [`Scribe`] decides how many to store. Notes must not contain secrets: a call is recorded
//! with the pattern of its path, never with its query, headers or body.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use crate::picture::BalancerPicture;
use crate::plan::{Plan, Planned, Verb};
use crate::{AnyStep, EventKind, LoadBalancerStatus, ServiceKey};

/// The number of steps of one plan that are recorded.
pub const MOST_STEPS: usize = 12;

/// The number of problems of one refusal that are recorded.
const MOST_PROBLEMS: usize = 6;

/// The maximum length of a step or a problem, in bytes. Many of these are stored, so it is less than [`LONGEST_TEXT`].
const LONGEST_STEP: usize = 320;

/// The maximum length of a text, in bytes. Longer texts are truncated.
pub const LONGEST_TEXT: usize = 1024;

/// Stores notes. Implementations must not block and cannot fail.
pub trait Scribe: Send + Sync {
    /// Stores a note or drops it.
    fn keep(&self, note: Note);
}

/// A handle to a [`Scribe`]. The default has none and drops everything. Clones share the same scribe.
#[derive(Clone, Default)]
pub struct Journal(Option<Arc<dyn Scribe>>);

impl Journal {
    /// A journal whose notes go to `scribe`.
    #[must_use]
    pub fn new(scribe: Arc<dyn Scribe>) -> Self {
        Self(Some(scribe))
    }

    /// Records a note. Without a scribe, `note` is not called.
    pub fn note(&self, note: impl FnOnce() -> Note) {
        if let Some(scribe) = &self.0 {
            scribe.keep(note());
        }
    }

    /// Whether there is a scribe.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        self.0.is_some()
    }
}

impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Journal").field(&self.is_kept()).finish()
    }
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Note {
    /// An event was emitted.
    Event(EventNote),
    /// A call to the cloud ended.
    Call(CallNote),
    /// A reconcile of a Service reached a new state.
    Service(ServiceNote),
    /// The topology of the load balancer of a Service was observed.
    Balancer(ServiceKey, Box<BalancerPicture>),
    /// A Service was deleted, or the service controller is no longer responsible for it.
    ServiceGone(ServiceKey),
    /// A safety rail held a change back.
    Held(HeldNote),
    /// The leader changed; the text names it.
    Leader(String),
}

/// An emitted event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventNote {
    /// The object of the event: `Service shop/web`.
    pub about: String,
    /// Whether it is a warning.
    pub kind: EventKind,
    /// The CamelCase reason.
    pub reason: String,
    /// The message for people.
    pub message: String,
}

/// A call to the cloud, without anything secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallNote {
    /// The service of the cloud, such as `load-balancer`.
    pub service: &'static str,
    /// `GET`, `POST`, …
    pub method: String,
    /// The pattern of the path, with ids replaced: `/v2.0/lbaas/loadbalancers/{id}`.
    pub path: String,
    /// The HTTP status of the response; `None` if there was none.
    pub status: Option<u16>,
    /// The time from sending the request to the end of the response.
    pub took: Duration,
    /// The request id by which the logs of the cloud identify the call; `None` if the response had none.
    pub request_id: Option<String>,
}

/// The state of a Service after a reconcile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceNote {
    /// The Service.
    pub service: ServiceKey,
    /// Its state.
    pub standing: Standing,
}

/// The state of a Service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "camelCase")]
pub enum Standing {
    /// The load balancer matches the Service.
    Settled,
    /// Another controller is responsible.
    Elsewhere,
    /// The reconcile waits for a change in the cloud.
    Waits {
        /// What it waits for.
        reason: String,
    },
    /// The reconcile performs steps.
    Acts {
        /// The first [`MOST_STEPS`] steps, in order.
        steps: Vec<StepNote>,
        /// The number of further steps.
        more: usize,
    },
    /// The request cannot be satisfied; a user or administrator has to change something.
    Refused {
        /// The problems, of which only the first few are recorded.
        problems: Vec<String>,
    },
    /// The observation failed: the state in the cloud is unknown.
    Unknown {
        /// Why.
        why: String,
    },
    /// A step failed and will be retried.
    Failed {
        /// Why.
        why: String,
    },
    /// A safety rail holds the changes back.
    Held {
        /// The rail.
        rail: &'static str,
        /// Why.
        why: String,
    },
}

/// One step of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StepNote {
    /// `create`, `update` or `delete`.
    pub verb: &'static str,
    /// The kind of the object.
    pub kind: &'static str,
    /// The id of the object, or its name if it does not exist yet.
    pub target: String,
    /// What the step does, as a message for people.
    pub text: String,
    /// Why.
    pub reason: String,
}

impl StepNote {
    /// The record of a planned step, with long texts truncated.
    #[must_use]
    pub fn of(planned: &Planned<AnyStep>) -> Self {
        let facts = planned.step.facts();
        let verb = match facts.verb {
            Verb::Create => "create",
            Verb::Update => "update",
            Verb::Delete => "delete",
        };
        Self {
            verb,
            kind: facts.kind,
            target: cut_to(&facts.target, LONGEST_STEP),
            text: cut_to(&planned.step.to_string(), LONGEST_STEP),
            reason: cut_to(&planned.reason, LONGEST_STEP),
        }
    }
}

impl Standing {
    /// The state that a plan leads to.
    #[must_use]
    pub fn of(plan: &Plan<AnyStep, LoadBalancerStatus>) -> Self {
        match plan {
            Plan::Settled(_) => Self::Settled,
            Plan::Elsewhere => Self::Elsewhere,
            Plan::Wait(wait) => Self::Waits { reason: cut(&wait.reason) },
            Plan::Refuse(refusal) => Self::Refused {
                problems: refusal
                    .problems
                    .iter()
                    .take(MOST_PROBLEMS)
                    .map(|problem| cut_to(problem, LONGEST_STEP))
                    .collect(),
            },
            Plan::Act(steps) => Self::Acts {
                steps: steps.iter().take(MOST_STEPS).map(StepNote::of).collect(),
                more: steps.len().saturating_sub(MOST_STEPS),
            },
        }
    }
}

/// A change that a safety rail held back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldNote {
    /// The rail.
    pub rail: &'static str,
    /// The object: `Service shop/web`, `Node worker-1`.
    pub about: String,
    /// Why.
    pub why: String,
}

/// Truncates a text to [`LONGEST_TEXT`] bytes, at a character boundary.
#[must_use]
pub fn cut(text: &str) -> String {
    cut_to(text, LONGEST_TEXT)
}

fn cut_to(text: &str, most: usize) -> String {
    let mut end = text.len().min(most);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default().to_owned()
}

/// The pattern of a path: segments that are ids or names become `{id}`; versions and words of the API stay.
#[must_use]
pub fn path_form(path: &str) -> String {
    let mut forms = Vec::new();
    let mut before = "";
    for segment in path.split('/') {
        let is_tag = before == "tags";
        forms.push(if !is_tag && (is_version(segment) || is_word(segment)) { segment } else { "{id}" });
        before = segment;
    }
    forms.join("/")
}

fn is_version(segment: &str) -> bool {
    let number = segment.strip_prefix('v').unwrap_or_default();
    !number.is_empty() && number.len() <= 5 && number.chars().all(|c| c.is_ascii_digit() || c == '.')
}

/// The segments of an API are short lower-case words; ids contain digits.
fn is_word(segment: &str) -> bool {
    segment.len() <= 32 && segment.chars().all(|c| c.is_ascii_lowercase() || c == '-' || c == '_')
}

#[cfg(test)]
mod tests {
    use parking_lot::Mutex;

    use super::*;
    use crate::plan::Wait;

    #[derive(Default)]
    struct Kept(Mutex<Vec<Note>>);

    impl Scribe for Kept {
        fn keep(&self, note: Note) {
            self.0.lock().push(note);
        }
    }

    #[test]
    fn without_a_scribe_a_note_is_not_even_made() {
        Journal::default().note(|| panic!("made"));
        let kept = Arc::new(Kept::default());
        let journal = Journal::new(kept.clone());
        journal.note(|| Note::Leader("led by a".to_owned()));
        assert_eq!(*kept.0.lock(), [Note::Leader("led by a".to_owned())]);
    }

    #[test]
    fn the_form_of_a_path_has_neither_ids_nor_names() {
        for (path, form) in [
            ("/v2.0/lbaas/loadbalancers", "/v2.0/lbaas/loadbalancers"),
            ("/v2.1/a0f3/servers/detail", "/v2.1/{id}/servers/detail"),
            ("/v3/auth/tokens", "/v3/auth/tokens"),
            ("/v2.0/floatingips/7d0b7e9c-0f4a/tags/kube_service_a", "/v2.0/floatingips/{id}/tags/{id}"),
            ("/load-balancer/v2.0/lbaas/pools/x1/members", "/load-balancer/v2.0/lbaas/pools/{id}/members"),
            ("/v2.0/routers/Prod/add_extraroutes", "/v2.0/routers/{id}/add_extraroutes"),
            ("/identity/v3", "/identity/v3"),
        ] {
            assert_eq!(path_form(path), form);
        }
    }

    #[test]
    fn a_wait_is_noted_with_its_reason_and_long_texts_are_cut_between_characters() {
        let reason = "ü".repeat(1000);
        let plan = Plan::Wait(Wait { reason, at_most: Duration::from_secs(1) });
        let Standing::Waits { reason } = Standing::of(&plan) else { panic!("a wait") };
        assert!(reason.len() <= LONGEST_TEXT && reason.ends_with('ü'));
    }
}
