//! The node selector of a Service: which Nodes become members.

use std::collections::BTreeMap;
use std::fmt;

use bowline_cloud::NodeView;

/// The longest selector that is parsed: 20 labels with the longest keys and values that Kubernetes allows. It is parsed for each Service on
/// each change of a Node, and an annotation may have 256 KiB.
pub(in crate::loadbalancer) const LONGEST_TEXT_BYTES: usize = 8 << 10;

/// Labels that a Node must have, all of them. An empty selector matches every Node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodeSelector(BTreeMap<String, String>);

impl NodeSelector {
    /// Parses a text such as `zone=a,gpu`. `None` if an entry has no key or the text is too long.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() > LONGEST_TEXT_BYTES {
            return None;
        }
        let mut labels = BTreeMap::new();
        for entry in text.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
            let (key, value) = entry.split_once('=').unwrap_or((entry, ""));
            if key.trim().is_empty() {
                return None;
            }
            labels.insert(key.trim().to_owned(), value.trim().to_owned());
        }
        Some(Self(labels))
    }

    /// The label keys of the selector.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Whether a Node matches. A label without a value matches any value.
    #[must_use]
    pub fn fits(&self, node: &NodeView) -> bool {
        self.0.iter().all(|(key, wanted)| {
            node.labels.get(key).is_some_and(|value| wanted.is_empty() || value == wanted)
        })
    }
}

impl fmt::Display for NodeSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (key, value)) in self.0.iter().enumerate() {
            let (comma, equals) =
                (if place == 0 { "" } else { "," }, if value.is_empty() { "" } else { "=" });
            write!(f, "{comma}{key}{equals}{value}")?;
        }
        Ok(())
    }
}
