//! Rows of the reference pages: metrics, events and conditions, each declared next to the code that emits it.
//!
//! Contains only the types of the rows and their rendering. Tests in the crates that declare the rows prove that none is missing.

use std::fmt::Write;

use prometheus_client::registry::Registry;

use crate::EventKind;

/// A metric in the exposition format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MetricRow {
    /// The name; with `_total` for a counter.
    pub name: &'static str,
    /// `counter`, `gauge` or `histogram`.
    pub kind: &'static str,
    /// The labels.
    pub labels: &'static [&'static str],
    /// The help text.
    pub help: &'static str,
}

/// An event in the output of `kubectl describe`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventRow {
    /// The reason.
    pub reason: &'static str,
    /// The kind of the object: `Service`, `Node` or `Lease`.
    pub about: &'static str,
    /// Whether it is a warning.
    pub kind: EventKind,
    /// What it means, and what to do.
    pub meaning: &'static str,
}

/// A reason of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConditionRow {
    /// The kind of the object.
    pub about: &'static str,
    /// The type of the condition.
    pub condition: &'static str,
    /// `True`, `False` or `Unknown`.
    pub status: &'static str,
    /// The reason.
    pub reason: &'static str,
    /// What it means, and what to do.
    pub meaning: &'static str,
}

/// A table of metrics, sorted by name.
#[must_use]
pub fn metrics_table(rows: &[MetricRow]) -> String {
    let mut rows = rows.to_vec();
    rows.sort_by_key(|row| row.name);
    let mut table = "| metric | kind | labels | meaning |\n|---|---|---|---|\n".to_owned();
    for MetricRow { name, kind, labels, help } in rows {
        let labels: Vec<String> = labels.iter().map(|label| format!("`{label}`")).collect();
        let help = help.replace('<', "&lt;");
        push(&mut table, format_args!("| `{name}` | {kind} | {} | {help} |\n", labels.join(", ")));
    }
    table
}

/// A table of events, in the order of their declaration.
#[must_use]
pub fn events_table<'a>(rows: impl IntoIterator<Item = &'a EventRow>) -> String {
    let mut table = "| reason | type | meaning |\n|---|---|---|\n".to_owned();
    for EventRow { reason, kind, meaning, .. } in rows {
        push(&mut table, format_args!("| `{reason}` | {} | {meaning} |\n", kind.as_str()));
    }
    table
}

/// A table of the reasons of conditions, in the order of their declaration.
#[must_use]
pub fn conditions_table<'a>(rows: impl IntoIterator<Item = &'a ConditionRow>) -> String {
    let mut table = "| condition | status | reason | meaning |\n|---|---|---|---|\n".to_owned();
    for ConditionRow { condition, status, reason, meaning, .. } in rows {
        push(&mut table, format_args!("| `{condition}` | {status} | `{reason}` | {meaning} |\n"));
    }
    table
}

fn push(table: &mut String, row: std::fmt::Arguments<'_>) {
    // Writing to a String cannot fail.
    if table.write_fmt(row).is_err() {
        table.push('\n');
    }
}

/// Names and help texts of all registered metrics, without the suffixes that the exposition format adds and without custom collectors. For
/// tests. Parses the `Debug` output of the registry, because its other output omits metrics without values.
#[must_use]
pub fn registered(registry: &Registry) -> Vec<(String, String)> {
    let shown = format!("{registry:?}");
    let texts = shown.split("Descriptor { name: \"").skip(1).filter_map(|text| {
        let (name, rest) = text.split_once("\", help: \"")?;
        let (help, _rest) = rest.split_once("\", unit: ")?;
        Some((name.to_owned(), help.trim_end_matches('.').replace("\\\"", "\"")))
    });
    texts.collect()
}

/// The registered metrics without a row and the rows without a registered metric, as messages for a test. `collected` are the names of
/// metrics from custom collectors, which a registry cannot list.
#[must_use]
pub fn differences(rows: &[MetricRow], registry: &Registry, collected: &[&str]) -> Vec<String> {
    let registered = registered(registry);
    let plain = |row: &MetricRow| row.name.strip_suffix("_total").unwrap_or(row.name).to_owned();
    let is_there = |name: &str, help: &str| {
        rows.iter().any(|row| (plain(row) == name || row.name == name) && row.help == help)
    };
    let missing = registered.iter().filter(|(name, help)| !is_there(name, help));
    let missing = missing.map(|(name, help)| format!("no row for {name:?}, {help:?}"));
    let is_registered = |row: &&MetricRow| {
        let known = |name: &str| name == plain(row) || name == row.name;
        registered.iter().any(|(name, _help)| known(name)) || collected.contains(&row.name)
    };
    let stale =
        rows.iter().filter(|row| !is_registered(row)).map(|row| format!("nothing shows {}", row.name));
    missing.chain(stale).collect()
}

#[cfg(test)]
mod tests {
    use prometheus_client::metrics::counter::Counter;
    use prometheus_client::metrics::family::Family;
    use prometheus_client::metrics::gauge::Gauge;

    use super::*;

    fn row(name: &'static str, help: &'static str) -> MetricRow {
        MetricRow { name, kind: "counter", labels: &["a", "b"], help }
    }

    #[test]
    fn what_is_registered_is_listed_also_if_nothing_was_counted() {
        let mut registry = Registry::default();
        registry.register("calls", "Calls", Family::<Vec<(String, String)>, Counter>::default());
        registry.register("open", "Whether \"it\" is open", Gauge::<i64>::default());
        let listed = registered(&registry);
        let wanted = [("calls", "Calls"), ("open", "Whether \"it\" is open")];
        assert_eq!(listed, wanted.map(|(name, help)| (name.to_owned(), help.to_owned())));
    }

    #[test]
    fn a_metric_without_a_row_and_a_row_without_a_metric_are_told() {
        let mut registry = Registry::default();
        registry.register("calls", "Calls", Counter::<u64>::default());
        registry.register("open", "Open", Gauge::<i64>::default());
        let rows = [row("calls_total", "Calls"), row("shut", "Shut"), row("depth", "Depth")];
        let told = differences(&rows, &registry, &["depth"]);
        assert_eq!(told, ["no row for \"open\", \"Open\"", "nothing shows shut"]);
    }

    #[test]
    fn a_table_is_sorted_and_quotes_its_names() {
        let table = metrics_table(&[row("z", "Last"), row("a", "First")]);
        let lines: Vec<&str> = table.lines().skip(2).collect();
        assert_eq!(lines, ["| `a` | counter | `a`, `b` | First |", "| `z` | counter | `a`, `b` | Last |"]);
    }
}
