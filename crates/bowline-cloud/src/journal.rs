//! What happened, in words for people: the status page is made of it. Values and a handle, no memory and no clock.
//!
//! Whoever does something notes it; whoever keeps the notes decides how many. No secret may get in: a call is noted by the form
//! of its path, never with its query, its headers or its body.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use crate::picture::BalancerPicture;
use crate::plan::{Plan, Planned, Verb};
use crate::{AnyStep, EventKind, LoadBalancerStatus, ServiceKey};

/// Not more steps of one plan are noted: the first ones tell what it is about.
pub const MOST_STEPS: usize = 12;

/// Not more problems of one refusal.
const MOST_PROBLEMS: usize = 6;

/// The longest text of a step or a problem, in bytes: many of them are kept.
const LONGEST_STEP: usize = 320;

/// The longest text that is noted whole, in bytes.
pub const LONGEST_TEXT: usize = 1024;

/// Keeps notes. Never blocks, never fails, and nothing waits for it.
pub trait Scribe: Send + Sync {
    /// Keeps a note, or lets it go.
    fn keep(&self, note: Note);
}

/// A handle on whoever keeps notes; by default nobody does, and a note is not even made. Clones share it.
#[derive(Clone, Default)]
pub struct Journal(Option<Arc<dyn Scribe>>);

impl Journal {
    /// A journal kept by `scribe`.
    #[must_use]
    pub fn new(scribe: Arc<dyn Scribe>) -> Self {
        Self(Some(scribe))
    }

    /// Notes something. `note` is called only if somebody keeps it.
    pub fn note(&self, note: impl FnOnce() -> Note) {
        if let Some(scribe) = &self.0 {
            scribe.keep(note());
        }
    }

    /// Whether anybody keeps notes.
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
    /// An event was recorded.
    Event(EventNote),
    /// The cloud was called.
    Call(CallNote),
    /// It was decided what to do for a Service.
    Service(ServiceNote),
    /// What was seen of the load balancer of a Service.
    Balancer(ServiceKey, Box<BalancerPicture>),
    /// A Service is none of ours any more, or gone.
    ServiceGone(ServiceKey),
    /// A safety rail held something back.
    Held(HeldNote),
    /// Who leads has changed.
    Leader(String),
}

/// An event, as it was recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventNote {
    /// What it is about: `Service shop/web`.
    pub about: String,
    /// Whether a person should worry.
    pub kind: EventKind,
    /// One word.
    pub reason: String,
    /// For people.
    pub message: String,
}

/// A call to the cloud, as far as it may be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallNote {
    /// Which service of the cloud.
    pub service: &'static str,
    /// `GET`, `POST`, …
    pub method: String,
    /// The form of the path, ids left out: `/v2.0/lbaas/loadbalancers/{id}`.
    pub path: String,
    /// The status of the answer; none if there was no answer.
    pub status: Option<u16>,
    /// From sending it to the end of the answer.
    pub took: Duration,
    /// The id by which the cloud's own log knows it.
    pub request_id: Option<String>,
}

/// How a Service stands after a look at it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceNote {
    /// Which one.
    pub service: ServiceKey,
    /// How it stands.
    pub standing: Standing,
}

/// How a Service stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "camelCase")]
pub enum Standing {
    /// All is as it asks.
    Settled,
    /// Another controller does this.
    Elsewhere,
    /// The cloud is at work.
    Waits {
        /// For what.
        reason: String,
    },
    /// Steps are performed.
    Acts {
        /// The first of them, in order.
        steps: Vec<StepNote>,
        /// How many more there are.
        more: usize,
    },
    /// A person has to change something.
    Refused {
        /// All that is wrong.
        problems: Vec<String>,
    },
    /// The cloud does not say what is there.
    Unknown {
        /// Why.
        why: String,
    },
    /// A step failed and is tried again.
    Failed {
        /// Why.
        why: String,
    },
    /// A safety rail holds it back.
    Held {
        /// Which one.
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
    /// The kind of object.
    pub kind: &'static str,
    /// Which one: its id, or its name if it does not exist yet.
    pub target: String,
    /// What is done, in words.
    pub text: String,
    /// Why.
    pub reason: String,
}

impl StepNote {
    /// A planned step, as it is noted.
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
    /// What a plan means for its Service.
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

/// What a safety rail held back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldNote {
    /// Which rail.
    pub rail: &'static str,
    /// What it is about: `Service shop/web`, `Node worker-1`.
    pub about: String,
    /// Why.
    pub why: String,
}

/// The beginning of a text, as long as notes may be.
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

/// The form of a path: what is no plain word, an id or a name, becomes `{id}`. Versions stay.
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

/// The words of an API are short and have small letters only; ids have digits.
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
