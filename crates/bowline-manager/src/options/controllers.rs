//! `--controllers`: which controllers run. Pure.

use std::collections::BTreeMap;

use super::problem::{OptionErrors, OptionProblem};
use bowline_cloud::suggest::hint;

/// The controllers that are enabled or disabled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControllerSelection {
    /// All known controllers by canonical name.
    enabled: BTreeMap<String, bool>,
}

impl ControllerSelection {
    /// Parses the items of `--controllers`; `known` has the canonical name and alias of each controller.
    ///
    /// `*` enables all controllers that no item names, `name` enables and `-name` disables one; the first item that names a controller
    /// applies. Without `*`, controllers that are not named are disabled.
    ///
    /// # Errors
    ///
    /// All items that name no known controller.
    pub fn parse(items: &[String], known: &[(String, String)]) -> Result<Self, OptionErrors> {
        let mut mentioned: BTreeMap<&str, bool> = BTreeMap::new();
        let mut problems = Vec::new();
        for item in items.iter().filter(|item| *item != "*") {
            let (name, on) = item.strip_prefix('-').map_or((item.as_str(), true), |name| (name, false));
            match known.iter().find(|(canonical, alias)| canonical == name || alias == name) {
                Some((canonical, _)) => drop(mentioned.entry(canonical).or_insert(on)),
                None => problems.push(unknown(item, name, known)),
            }
        }
        if !problems.is_empty() {
            return Err(OptionErrors(problems));
        }
        let unmentioned = items.iter().any(|item| item == "*");
        let state = |name: &str| mentioned.get(name).copied().unwrap_or(unmentioned);
        Ok(Self { enabled: known.iter().map(|(name, _)| (name.clone(), state(name))).collect() })
    }

    /// Whether the controller with this canonical name is enabled.
    #[must_use]
    pub fn is_enabled(&self, canonical: &str) -> bool {
        self.enabled.get(canonical).copied().unwrap_or(false)
    }
}

fn unknown(item: &str, name: &str, known: &[(String, String)]) -> OptionProblem {
    let names = known.iter().flat_map(|(canonical, alias)| [canonical.as_str(), alias.as_str()]);
    let all: Vec<&str> = known.iter().map(|(canonical, _)| canonical.as_str()).collect();
    let wanted =
        format!("no controller has this name; known are {}{}", all.join(", "), hint(name, "", names));
    OptionProblem::Value { flag: "controllers", value: item.to_owned(), wanted }
}
