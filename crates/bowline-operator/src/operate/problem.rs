//! Why a resource cannot be brought to what it asks for: a reason in one word, a message with what to do, and whether it may
//! pass by itself.

use bowline_kube::client::describe;

use crate::allowed::NotAllowed;
use crate::apply::ApplyError;
use crate::migration::Unread;
use crate::observe::InputProblem;
use crate::render::RenderError;
use crate::rollout::Failure;

/// Why it does not go on.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// Something that it names is missing or wrong.
    #[error(transparent)]
    Input(#[from] InputProblem),
    /// What it asks for is not for it to have.
    #[error(transparent)]
    NotAllowed(#[from] NotAllowed),
    /// What it asks for cannot be made.
    #[error("spec: {0}")]
    Spec(#[from] RenderError),
    /// An older resource asks for the same.
    #[error(
        "CloudControllerManager {with} is older and {shared}; two managers must not write for one cluster: delete one of the two"
    )]
    Conflicting {
        /// Which.
        with: String,
        /// What both have.
        shared: String,
    },
    /// Objects could not be applied.
    #[error("{0}")]
    Apply(#[from] ApplyError),
    /// A step of the migration could not be done.
    #[error("{what}: {why}")]
    Step {
        /// Which.
        what: String,
        /// Why.
        why: String,
    },
    /// The cluster could not be seen.
    #[error("the cluster cannot be seen well enough to change anything: {0}")]
    Unread(String),
    /// The API server did not answer.
    #[error("read {what}: {}", describe(source.as_ref()))]
    Read {
        /// What was read.
        what: &'static str,
        /// What the client says.
        source: Box<kube::Error>,
    },
}

impl Problem {
    /// What could not be seen.
    #[must_use]
    pub fn unread(unread: &[Unread]) -> Self {
        let each = unread.iter().map(|unread| format!("{}: {}", unread.what, unread.why));
        Self::Unread(each.collect::<Vec<_>>().join("; "))
    }

    /// A failed read.
    pub fn read(what: &'static str) -> impl FnOnce(kube::Error) -> Self {
        move |source| Self::Read { what, source: Box::new(source) }
    }

    /// In one word.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Input(problem) => problem.reason(),
            Self::NotAllowed(problem) => problem.reason(),
            Self::Spec(_) => "SpecInvalid",
            Self::Conflicting { .. } => "Conflicting",
            Self::Apply(ApplyError::NotOurs { .. } | ApplyError::NotMadeByUs { .. }) => "ObjectInUse",
            Self::Apply(_) => "ApplyFailed",
            Self::Step { .. } => "StepFailed",
            Self::Unread(_) | Self::Read { .. } => "ClusterUnknown",
        }
    }

    /// Whether trying again may help.
    #[must_use]
    pub fn failure(&self) -> Failure {
        let is_terminal = match self {
            Self::Input(_) | Self::NotAllowed(_) | Self::Spec(_) | Self::Conflicting { .. } => true,
            Self::Apply(error) => error.is_terminal(),
            Self::Step { .. } | Self::Unread(_) | Self::Read { .. } => false,
        };
        if is_terminal { Failure::Terminal } else { Failure::Transient }
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::apps::v1::Deployment;
    use serde_json::{from_value, json};

    use super::*;
    use crate::observe::unread;
    use crate::openshift::Trouble;

    const CANARY: &str = "c4nary-hunter2";

    /// The answer to a read that is no Deployment.
    fn malformed() -> kube::Error {
        kube::Error::SerdeError(from_value::<Deployment>(json!({ "spec": CANARY })).unwrap_err())
    }

    #[test]
    fn no_value_of_a_malformed_answer_is_in_a_problem() {
        assert!(malformed().to_string().contains(CANARY), "kube itself quotes it");
        let apply = ApplyError::Read { what: "it".to_owned(), source: Box::new(malformed()) };
        for text in [
            Problem::read("it")(malformed()).to_string(),
            apply.to_string(),
            Problem::from(apply).to_string(),
            Problem::unread(&[unread("it", &malformed())]).to_string(),
            Trouble::read("it")(malformed()).message,
        ] {
            assert!(text.contains("it: ") && text.contains("not what was asked for"), "{text}");
            assert!(!text.contains(CANARY), "{text}");
        }
    }
}
