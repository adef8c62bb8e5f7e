//! The spellings of a controller's name. Upstream renamed controllers in 1.28 and compares raw names, so that older files
//! silently stop matching; here all spellings are one controller.

use std::collections::BTreeMap;

use bowline_controllers::registry::{ControllerName, common_names};

/// Spellings besides the canonical name and the alias: those of the built-in default of upstream since 1.28.
const FORMER: [[&str; 2]; 2] =
    [["service-controller", "service-lb-controller"], ["route-controller", "node-route-controller"]];

/// Every known spelling, and the canonical name it stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Names(BTreeMap<String, String>);

impl Names {
    /// The common controllers and these.
    pub(super) fn knowing(extra: &[ControllerName]) -> Self {
        let pair = |spelling: &str, canonical: &str| (spelling.to_owned(), canonical.to_owned());
        let own = |name: &ControllerName| {
            [pair(&name.canonical, &name.canonical), pair(&name.alias, &name.canonical)]
        };
        let mut spellings: BTreeMap<_, _> = common_names().iter().flat_map(own).collect();
        spellings.extend(FORMER.map(|[former, canonical]| pair(former, canonical)));
        for (spelling, canonical) in extra.iter().flat_map(own) {
            // A common controller keeps its names: other managers go by them.
            spellings.entry(spelling).or_insert(canonical);
        }
        Self(spellings)
    }

    /// The canonical name, or the name itself if it is not known: the other manager may know it.
    pub(super) fn canonical<'a>(&'a self, name: &'a str) -> &'a str {
        self.0.get(name).map_or(name, String::as_str)
    }

    /// Whether any controller is called this.
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
