//! What goes wrong on OpenShift: a reason in one word, a message, and whether it may pass.

use bowline_kube::client::describe;

use crate::apply::ApplyError;
use crate::rollout::{Failure, REASON_SYNC_FAILED};

/// Why a pass could not do its work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// In one word.
    pub reason: &'static str,
    /// What, and what to do.
    pub message: String,
    /// Whether it may pass.
    pub failure: Failure,
}

impl Trouble {
    /// Something that only a change of the input can mend.
    pub(super) fn terminal(reason: &'static str, message: impl Into<String>) -> Self {
        Self { reason, message: message.into(), failure: Failure::Terminal }
    }

    /// Something that may pass.
    pub(super) fn transient(reason: &'static str, message: impl Into<String>) -> Self {
        Self { reason, message: message.into(), failure: Failure::Transient }
    }

    /// A failed read.
    pub(crate) fn read(what: &'static str) -> impl FnOnce(kube::Error) -> Self {
        move |error| Self::transient(REASON_SYNC_FAILED, format!("cannot read {what}: {}", describe(&error)))
    }

    /// A failed write.
    pub(super) fn write(error: impl std::fmt::Display) -> Self {
        Self::transient(REASON_SYNC_FAILED, error.to_string())
    }
}

impl From<ApplyError> for Trouble {
    fn from(error: ApplyError) -> Self {
        let failure = if error.is_terminal() { Failure::Terminal } else { Failure::Transient };
        Self { reason: REASON_SYNC_FAILED, message: error.to_string(), failure }
    }
}
