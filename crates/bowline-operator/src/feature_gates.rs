//! Feature gates: which of them a version of OpenShift has switched on, and which a manager may be told of.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use serde::Deserialize;

/// The gates that the managers' library knows. Others would stop a manager from starting.
pub const OPERAND_GATES: [&str; 3] = [
    "CloudControllerManagerWatchBasedRoutesReconciliation",
    "CloudControllerManagerWebhook",
    "ControllerManagerReleaseLeaderElectionLockOnExit",
];

/// The version of an operator that was not built for a release.
const SNAPSHOT: &str = "0.0.1-snapshot";

/// The feature gates that somebody has an opinion on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FeatureGates {
    /// Those that are on.
    pub enabled: BTreeSet<String>,
    /// Those that are off.
    pub disabled: BTreeSet<String>,
}

impl FeatureGates {
    /// Gates that are on, and no others.
    pub fn on<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        Self { enabled: names.into_iter().map(str::to_owned).collect(), disabled: BTreeSet::new() }
    }

    /// Whether a gate is on. One that nobody has an opinion on is not, nor one without a name.
    #[must_use]
    pub fn is_on(&self, name: &str) -> bool {
        !name.is_empty() && self.enabled.contains(name)
    }
}

/// The value of a manager's `--feature-gates`: those that are on and that it knows. Those that are off are never named.
#[must_use]
pub fn operand_gates(gates: &FeatureGates) -> String {
    let known = gates.enabled.iter().filter(|gate| OPERAND_GATES.contains(&gate.as_str()));
    known.map(|gate| format!("{gate}=true")).collect::<Vec<_>>().join(",")
}

/// The status of `FeatureGate/cluster`: gates for each version that runs, of which there are two during an upgrade.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FeatureGateStatus {
    /// One for each version.
    pub feature_gates: Vec<VersionGates>,
}

/// The gates of a version.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct VersionGates {
    /// Which.
    pub version: String,
    /// What is on.
    pub enabled: Vec<GateName>,
    /// What is off.
    pub disabled: Vec<GateName>,
}

/// A gate.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct GateName {
    /// Its name.
    pub name: String,
}

/// The gates of a version; `None` if they have not been decided yet.
#[must_use]
pub fn gates_of_version(status: &FeatureGateStatus, version: &str) -> Option<FeatureGates> {
    let found = status.feature_gates.iter().find(|gates| gates.version == version)?;
    let names = |gates: &[GateName]| gates.iter().map(|gate| gate.name.clone()).collect();
    Some(FeatureGates { enabled: names(&found.enabled), disabled: names(&found.disabled) })
}

/// The version whose gates count for an operator of `release`: its own, but for one that was not built for a release that
/// of the cluster, or the newest that it has had.
#[must_use]
pub fn version_of_gates<'a>(release: &'a str, desired: &'a str, newest_in_history: &'a str) -> &'a str {
    match (release, desired) {
        (SNAPSHOT, "") => newest_in_history,
        (SNAPSHOT, desired) => desired,
        (release, _) => release,
    }
}
