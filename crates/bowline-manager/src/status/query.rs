//! The filters and page numbers of a request. Pure; unknown parameters are ignored.

/// The query of a request. It is untrusted input: this module limits its size, and it is escaped where it is shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query {
    /// Only Services whose name or namespace contains this.
    pub service: String,
    /// Only Services that are not settled.
    pub unsettled: bool,
    /// The page of Services, from 1; 0 also means the first.
    pub service_page: usize,
    /// Only Nodes whose name, address or provider ID contains this.
    pub node: String,
    /// The page of Nodes.
    pub node_page: usize,
}

/// The maximum length of a filter; longer ones are truncated. No name is longer.
const LONGEST_FILTER: usize = 253;

impl Query {
    /// Parses the parameters of a request.
    #[must_use]
    pub fn from_pairs(pairs: Vec<(String, String)>) -> Self {
        let mut query = Self::default();
        for (key, value) in pairs {
            match key.as_str() {
                "service" => query.service = filter(&value),
                "unsettled" => query.unsettled = !matches!(value.as_str(), "" | "0" | "false"),
                "servicePage" => query.service_page = value.parse().unwrap_or_default(),
                "node" => query.node = filter(&value),
                "nodePage" => query.node_page = value.parse().unwrap_or_default(),
                _ => {}
            }
        }
        query
    }

    /// The query string of this query with its leading `?`; empty for the default query.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut parts = Vec::new();
        let mut text = |key: &str, value: &str| {
            if !value.is_empty() {
                parts.push(format!("{key}={}", encode(value)));
            }
        };
        text("service", &self.service);
        text("unsettled", if self.unsettled { "1" } else { "" });
        text("servicePage", &page(self.service_page));
        text("node", &self.node);
        text("nodePage", &page(self.node_page));
        if parts.is_empty() { String::new() } else { format!("?{}", parts.join("&")) }
    }
}

fn page(page: usize) -> String {
    if page > 1 { page.to_string() } else { String::new() }
}

fn filter(text: &str) -> String {
    text.trim().chars().take(LONGEST_FILTER).collect()
}

/// Percent-encodes everything but unreserved characters.
fn encode(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_read_bounded_and_written_back() {
        let pairs = [
            ("service", " shop/<b>&é "),
            ("unsettled", "1"),
            ("servicePage", "3"),
            ("nodePage", "-4"),
            ("x", "y"),
        ];
        let query = Query::from_pairs(pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec());
        let expected =
            Query { service: "shop/<b>&é".to_owned(), unsettled: true, service_page: 3, ..Query::default() };
        assert_eq!(query, expected);
        assert_eq!(query.to_text(), "?service=shop%2F%3Cb%3E%26%C3%A9&unsettled=1&servicePage=3");
        assert_eq!(Query::default().to_text(), "");
        let long = Query::from_pairs(vec![("node".to_owned(), "x".repeat(5000))]);
        assert_eq!(long.node.len(), LONGEST_FILTER);
    }
}
