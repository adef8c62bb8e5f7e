//! What the answers come to, in words for a person. Pure.

use super::Question;
use super::ask::Answer;
use crate::serving::CheckOutcome;

/// The answers that are not "yes".
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Report {
    missing: Vec<Question>,
    /// Why some questions have no answer, each reason once.
    unanswered: Vec<String>,
    /// The API server's words, if even the question is forbidden.
    unasked: Option<String>,
}

impl Report {
    /// Notes an answer.
    pub(super) fn add(&mut self, question: &Question, answer: Answer) {
        match answer {
            Answer::Allowed => {}
            Answer::Denied => self.missing.push(question.clone()),
            Answer::Unanswered(why) if !self.unanswered.contains(&why) => self.unanswered.push(why),
            Answer::Unanswered(_known) => {}
            Answer::Unasked(why) => self.unasked = Some(why),
        }
    }

    /// Whether everything was asked, and everything is there.
    pub(super) fn is_fine(&self) -> bool {
        *self == Self::default()
    }

    /// Whether a right is known to be missing.
    pub(super) fn is_missing_something(&self) -> bool {
        !self.missing.is_empty()
    }

    /// The rights that are known to be missing.
    pub(super) fn missing(&self) -> &[Question] {
        &self.missing
    }

    /// Whether the question itself is forbidden.
    pub(super) fn is_unasked(&self) -> bool {
        self.unasked.is_some()
    }

    /// What to say about it, in one line; `None` if all is well.
    pub(super) fn message(&self, manifest: &str) -> Option<String> {
        let mut parts = Vec::new();
        if !self.missing.is_empty() {
            let missing: Vec<_> = self.missing.iter().map(ToString::to_string).collect();
            parts.push(format!(
                "missing permissions: {}. Grant them to the identity of this process or to the ServiceAccount named, for \
                 instance with {manifest}; until then only what needs them does not work",
                missing.join(", ")
            ));
        }
        if let Some(why) = &self.unasked {
            parts.push(format!(
                "cannot check the own permissions ({why}): grant verb \"create\" on resource \
                 \"selfsubjectaccessreviews.authorization.k8s.io\", which Kubernetes' role system:basic-user has; what is \
                 missing then only shows when it is needed"
            ));
        }
        if !self.unanswered.is_empty() {
            parts.push(format!("permissions could not be checked: {}", self.unanswered.join("; ")));
        }
        (!parts.is_empty()).then(|| parts.join(". "))
    }

    /// For `/readyz?verbose`: never a failure, since a restart would grant nothing.
    pub(super) fn outcome(&self, manifest: &str) -> CheckOutcome {
        self.message(manifest).map_or(CheckOutcome::Healthy, CheckOutcome::Degraded)
    }
}
