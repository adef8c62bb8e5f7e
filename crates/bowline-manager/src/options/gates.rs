//! Feature gates: which names are accepted, and their effect.

use std::collections::BTreeMap;

use super::check::Check;
use crate::flags::parse_bool;
use bowline_cloud::suggest::hint;

/// The maturity of a feature, which decides whether `AllAlpha` or `AllBeta` sets it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Alpha,
    Beta,
}

struct Gate {
    name: &'static str,
    stage: Stage,
    default: bool,
    /// Why the gate has no effect; empty if it has one.
    no_effect: &'static str,
}

const fn gate(name: &'static str, stage: Stage, default: bool, no_effect: &'static str) -> Gate {
    Gate { name, stage, default, no_effect }
}

const GO_LOGGING: &str = "it belongs to the Go logging library";

const KNOWN: [Gate; 10] = [
    gate("CloudControllerManagerWatchBasedRoutesReconciliation", Stage::Alpha, false, ""),
    gate("CloudControllerManagerWebhook", Stage::Alpha, false, "this manager has no admission webhooks"),
    gate(
        "ControllerManagerReleaseLeaderElectionLockOnExit",
        Stage::Alpha,
        false,
        "the lease is always given back at exit",
    ),
    gate("ContextualLogging", Stage::Beta, true, GO_LOGGING),
    gate("LoggingAlphaOptions", Stage::Alpha, false, GO_LOGGING),
    gate("LoggingBetaOptions", Stage::Beta, true, GO_LOGGING),
    gate("NativeHistograms", Stage::Beta, true, "histograms have fixed buckets"),
    gate("ComponentStatusz", Stage::Alpha, false, "/statusz is always served"),
    gate("ComponentFlagz", Stage::Alpha, false, "/flagz is always served"),
    gate("RemoteRequestHeaderUID", Stage::Beta, true, "--requestheader-uid-headers alone decides"),
];

/// Gates of other components and of the Go libraries, one per line: an installer that passes the same list to every component must not
/// break this one. Gates that upstream has locked stay, so that old command lines still work.
fn foreign() -> impl Iterator<Item = &'static str> {
    include_str!("foreign_gates.txt").lines().filter(|line| !line.starts_with('#'))
}

/// Gates that upstream has removed and rejects; here old command lines still work.
const REMOVED: [&str; 3] =
    ["CloudDualStackNodeIPs", "StableLoadBalancerNodeSet", "ControllerManagerLeaderMigration"];

const ALL_ALPHA: &str = "AllAlpha";
const ALL_BETA: &str = "AllBeta";

/// The feature gates that were set.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FeatureGates {
    given: BTreeMap<String, bool>,
}

impl FeatureGates {
    /// Whether a feature is enabled: as set by name, otherwise by `AllAlpha` or `AllBeta`, otherwise by its default.
    #[must_use]
    pub fn is_enabled(&self, name: &str) -> bool {
        let known = KNOWN.iter().find(|gate| gate.name == name);
        let group = known.and_then(|gate| {
            self.given.get(match gate.stage {
                Stage::Alpha => ALL_ALPHA,
                Stage::Beta => ALL_BETA,
            })
        });
        let given = self.given.get(name).or(group).copied();
        given.or(known.map(|gate| gate.default)).unwrap_or(false)
    }

    /// The gates that were set, by name.
    #[must_use]
    pub fn given(&self) -> &BTreeMap<String, bool> {
        &self.given
    }
}

pub(super) fn feature_gates(check: &mut Check<'_>) -> FeatureGates {
    let mut gates = FeatureGates::default();
    for (name, value) in check.parsed.map("feature-gates") {
        let pair = format!("{name}={value}");
        match (admit(name), parse_bool(value)) {
            (Err(problem), _) => check.refuse("feature-gates", &pair, problem),
            (Ok(_), None) => check.refuse("feature-gates", &pair, "accepted are true and false"),
            (Ok(warning), Some(on)) => {
                check.warnings.extend(warning.map(|text| format!("--feature-gates={pair}: {text}")));
                gates.given.insert(name.clone(), on);
            }
        }
    }
    gates
}

/// A warning if there is something to report about an accepted name; an error for an unknown name.
fn admit(name: &str) -> Result<Option<String>, String> {
    if let Some(gate) = KNOWN.iter().find(|gate| gate.name == name) {
        return Ok(Some(gate.no_effect).filter(|why| !why.is_empty()).map(|why| format!("no effect: {why}")));
    }
    if REMOVED.contains(&name) {
        return Ok(Some("this gate was removed and has no effect; newer Go managers refuse it".to_owned()));
    }
    if foreign().any(|gate| gate == name) {
        return Ok(Some("no effect: the gate steers another component or a Go library".to_owned()));
    }
    if name == ALL_ALPHA || name == ALL_BETA {
        return Ok(None);
    }
    let groups = [ALL_ALPHA, ALL_BETA];
    let names = KNOWN.iter().map(|gate| gate.name).chain(groups).chain(foreign());
    Err(format!("unknown feature gate{}", hint(name, "", names)))
}
