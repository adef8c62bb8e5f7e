//! The query of a request: pairs in their order, decoded.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// What OpenStack leaves as it is in the links it writes.
const KEPT: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b':').remove(b'/');

/// Name-value pairs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query(Vec<(String, String)>);

impl Query {
    /// Reads what is after the question mark.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let decode =
            |part: &str| percent_decode_str(&part.replace('+', " ")).decode_utf8_lossy().into_owned();
        let pair = |part: &str| {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            (decode(name), decode(value))
        };
        Self(text.split('&').filter(|part| !part.is_empty()).map(pair).collect())
    }

    /// The last value of a name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// All values of a name.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> + 'a {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Whether a name is given and means yes.
    #[must_use]
    pub fn is_true(&self, name: &str) -> bool {
        self.get(name)
            .is_some_and(|value| matches!(value.to_ascii_lowercase().as_str(), "true" | "1" | "yes"))
    }

    /// All pairs.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The names, each once, in order of first use.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for (name, _) in &self.0 {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        names
    }

    /// A query text of pairs.
    pub fn write<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
        let encode = |part: &str| utf8_percent_encode(part, KEPT).to_string();
        let pairs: Vec<String> =
            pairs.into_iter().map(|(name, value)| format!("{}={}", encode(name), encode(value))).collect();
        pairs.join("&")
    }
}
