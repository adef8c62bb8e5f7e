//! The spellings of controller names. Upstream renamed controllers in 1.28 and compares names literally, so older files silently stop
//! matching; here all spellings mean the same controller.

use std::collections::BTreeMap;

use bowline_controllers::registry::{ControllerName, common_names};

/// Spellings besides the canonical name and the alias: those of upstream's built-in default since 1.28.
const FORMER: [[&str; 2]; 2] =
    [["service-controller", "service-lb-controller"], ["route-controller", "node-route-controller"]];

/// Every known spelling, with the canonical name that it stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Names(BTreeMap<String, String>);

impl Names {
    /// The spellings of the common controllers and of `extra`.
    pub(super) fn knowing(extra: &[ControllerName]) -> Self {
        let pair = |spelling: &str, canonical: &str| (spelling.to_owned(), canonical.to_owned());
        let own = |name: &ControllerName| {
            [pair(&name.canonical, &name.canonical), pair(&name.alias, &name.canonical)]
        };
        let mut spellings: BTreeMap<_, _> = common_names().iter().flat_map(own).collect();
        spellings.extend(FORMER.map(|[former, canonical]| pair(former, canonical)));
        for (spelling, canonical) in extra.iter().flat_map(own) {
            // Common controllers take precedence, because other managers use their names.
            spellings.entry(spelling).or_insert(canonical);
        }
        Self(spellings)
    }

    /// The canonical name, or the name itself if it is unknown: the other manager may know it.
    pub(super) fn canonical<'a>(&'a self, name: &'a str) -> &'a str {
        self.0.get(name).map_or(name, String::as_str)
    }

    /// Whether a controller has this name.
    pub(super) fn knows(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// The canonical names, sorted.
    pub(super) fn all_canonical(&self) -> Vec<String> {
        self.0
            .iter()
            .filter(|(spelling, canonical)| spelling == canonical)
            .map(|(name, _)| name.clone())
            .collect()
    }
}
