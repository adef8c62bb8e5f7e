//! The four conditions of an operator, as OpenShift's `ClusterOperator` has them and our own resource too. Every condition
//! that is not as it should be has a reason and a message of its own.

#[cfg(test)]
mod tests;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// All is well.
pub const REASON_AS_EXPECTED: &str = "AsExpected";
/// Objects are being applied.
pub const REASON_SYNCING: &str = "SyncingResources";
/// Objects could not be applied.
pub const REASON_SYNC_FAILED: &str = "SyncingFailed";

/// One condition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// Which.
    #[serde(rename = "type")]
    pub type_: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// Why, in one word.
    #[serde(default)]
    pub reason: String,
    /// Why, for people.
    #[serde(default)]
    pub message: String,
    /// When the status became what it is.
    pub last_transition_time: Timestamp,
}

/// A version that is in use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperandVersion {
    /// Of what.
    pub name: String,
    /// Which.
    pub version: String,
}

/// What an operator says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperatorStatus {
    /// Its conditions.
    #[serde(default)]
    pub conditions: Vec<Condition>,
    /// The versions that are in use.
    #[serde(default)]
    pub versions: Vec<OperandVersion>,
}

/// Why something is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cause<'a> {
    /// In one word; [`REASON_SYNC_FAILED`] where there is no better one.
    pub reason: &'a str,
    /// For people: what, and what to do.
    pub message: &'a str,
}

/// Versions as people read them.
#[must_use]
pub fn print_versions(versions: &[OperandVersion]) -> String {
    let each = versions.iter().map(|operand| format!("{}: {}", operand.name, operand.version));
    each.collect::<Vec<_>>().join(", ")
}

fn desired(version: &str) -> Vec<OperandVersion> {
    vec![OperandVersion { name: "operator".to_owned(), version: version.to_owned() }]
}

impl OperatorStatus {
    /// The condition of a type.
    #[must_use]
    pub fn condition(&self, type_: &str) -> Option<&Condition> {
        self.conditions.iter().find(|condition| condition.type_ == type_)
    }

    /// Sets a condition. The time of its last transition changes only with its status; returns whether anything did.
    pub fn set(&mut self, type_: &str, status: &str, reason: &str, message: &str, now: Timestamp) -> bool {
        let known = self.conditions.iter_mut().find(|condition| condition.type_ == type_);
        let since =
            known.as_ref().filter(|known| known.status == status).map(|known| known.last_transition_time);
        let new = Condition {
            type_: type_.to_owned(),
            status: status.to_owned(),
            reason: reason.to_owned(),
            message: message.to_owned(),
            last_transition_time: since.unwrap_or(now),
        };
        match known {
            Some(known) if *known == new => return false,
            Some(known) => *known = new,
            None => self.conditions.push(new),
        }
        true
    }

    /// All is applied and rolled out: the version is published. `Upgradeable` is another's to say if `upgradeable` is given.
    pub fn set_available(&mut self, version: &str, upgradeable: Option<Cause<'_>>, now: Timestamp) -> bool {
        let message = format!("Cluster Cloud Controller Manager Operator is available at {version}");
        let mut is_changed = self.set("Available", "True", REASON_AS_EXPECTED, &message, now);
        is_changed |= self.set("Progressing", "False", REASON_AS_EXPECTED, "", now);
        is_changed |= self.set("Degraded", "False", REASON_AS_EXPECTED, "", now);
        is_changed |= match upgradeable {
            None => self.set("Upgradeable", "True", REASON_AS_EXPECTED, "", now),
            Some(cause) => self.set("Upgradeable", "False", cause.reason, cause.message, now),
        };
        let versions = desired(version);
        is_changed |= self.versions != versions;
        self.versions = versions;
        is_changed
    }

    /// Objects were changed, or their rollout goes on. The version stays what it was.
    pub fn set_progressing(&mut self, version: &str, now: Timestamp) -> bool {
        let wanted = desired(version);
        let is_changed = if self.versions == wanted {
            self.set("Progressing", "True", REASON_AS_EXPECTED, "", now)
        } else {
            let message = format!("Progressing towards {}", print_versions(&wanted));
            self.set("Progressing", "True", REASON_SYNCING, &message, now)
        };
        self.set("Upgradeable", "True", REASON_AS_EXPECTED, "", now) || is_changed
    }

    /// Something has been wrong for too long. What runs is left running, and the cluster is not to be upgraded.
    pub fn set_degraded(&mut self, version: &str, cause: Cause<'_>, now: Timestamp) -> bool {
        let wanted = desired(version);
        let doing =
            if self.versions == wanted { "Failed to resync for" } else { "Failed when progressing towards" };
        let message = format!("{doing} {} because {}", print_versions(&wanted), cause.message);
        let is_changed = self.set("Degraded", "True", cause.reason, &message, now);
        let advice = format!("An upgrade has to wait until this is mended: {}", cause.message);
        self.set("Upgradeable", "False", cause.reason, &advice, now) || is_changed
    }
}
