//! Numbers out of a scrape. Pure.

/// The values of a metric with their labels, as they stand in a text of Prometheus or OpenMetrics.
#[must_use]
pub fn values(scrape: &str, name: &str) -> Vec<(String, f64)> {
    let line = |line: &str| {
        let rest = line.strip_prefix(name)?;
        let (labels, rest) = match rest.strip_prefix('{') {
            Some(inside) => inside.split_once('}')?,
            None => ("", rest),
        };
        let value = rest.strip_prefix(' ')?.split(' ').next()?;
        Some((labels.to_owned(), value.parse().ok()?))
    };
    scrape.lines().filter_map(line).collect()
}

/// The value of a label.
#[must_use]
pub fn label<'a>(labels: &'a str, name: &str) -> Option<&'a str> {
    labels.split(',').find_map(|pair| pair.strip_prefix(name)?.strip_prefix("=\"")?.strip_suffix('"'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_is_read_with_its_labels_and_not_one_that_only_begins_alike() {
        let scrape = "# HELP x y\nheld{rail=\"breaker\"} 3\nheld{rail=\"grace\"} 0\nheld_total 7\nopen 1\n";
        assert_eq!(
            values(scrape, "held"),
            [("rail=\"breaker\"".to_owned(), 3.0), ("rail=\"grace\"".to_owned(), 0.0)]
        );
        assert_eq!(values(scrape, "open"), [(String::new(), 1.0)]);
        assert!(values(scrape, "ope").is_empty());
        assert_eq!(label("rail=\"breaker\",x=\"y\"", "x"), Some("y"));
        assert_eq!(label("rail=\"breaker\"", "x"), None);
    }
}
