//! Summarizes the results of the permission checks for users. Pure.

use super::Question;
use super::ask::Answer;
use crate::serving::CheckOutcome;

/// The results other than "allowed".
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Report {
    missing: Vec<Question>,
    /// Why some checks have no result, without duplicates.
    unanswered: Vec<String>,
    /// The API server's message, if creating access reviews is forbidden.
    unasked: Option<String>,
}

impl Report {
    /// Adds a result.
    pub(super) fn add(&mut self, question: &Question, answer: Answer) {
        match answer {
            Answer::Allowed => {}
            Answer::Denied => self.missing.push(question.clone()),
            Answer::Unanswered(why) if !self.unanswered.contains(&why) => self.unanswered.push(why),
            Answer::Unanswered(_known) => {}
            Answer::Unasked(why) => self.unasked = Some(why),
        }
    }

    /// Whether every check was made and every permission is granted.
    pub(super) fn is_fine(&self) -> bool {
        *self == Self::default()
    }

    pub(super) fn is_missing_something(&self) -> bool {
        !self.missing.is_empty()
    }

    /// The permissions that are known to be missing.
    pub(super) fn missing(&self) -> &[Question] {
        &self.missing
    }

    /// Whether creating access reviews is forbidden.
    pub(super) fn is_unasked(&self) -> bool {
        self.unasked.is_some()
    }

    /// The message in one line; `None` if everything is fine.
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

    /// The outcome for `/readyz?verbose`. It never fails, because a restart would not grant the permissions.
    pub(super) fn outcome(&self, manifest: &str) -> CheckOutcome {
        self.message(manifest).map_or(CheckOutcome::Healthy, CheckOutcome::Degraded)
    }
}
