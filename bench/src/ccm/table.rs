//! Measurements as tables in Markdown: what each scenario cost each CCM, the others beside the first, and what is above its target.

use super::measurement::{Measurement, Report};

const MEGA: f64 = 1e6;

/// All of a report.
#[must_use]
pub fn markdown(report: &Report) -> String {
    let mut text = String::new();
    let machine = report.machine;
    text.push_str(&format!(
        "Machine: {} cores, {} GB. `{}`\n\n",
        machine.cores, machine.memory_gb, report.command
    ));
    for measurements in by_size(&report.measurements) {
        if let Some(first) = measurements.first() {
            text.push_str(&format!(
                "## {} nodes, {} Services of {} port(s), {} other Services\n\n",
                first.nodes, first.services, first.ports, first.others
            ));
            text.push_str(&costs(&measurements));
        }
    }
    text.push_str(&above(report));
    for failure in &report.failures {
        text.push_str(&format!("\nFAILED {failure}\n"));
    }
    text
}

/// Measurements of one size after the other, in their order.
fn by_size(measurements: &[Measurement]) -> Vec<Vec<&Measurement>> {
    let size = |one: &Measurement| (one.nodes, one.services, one.ports);
    let mut found: Vec<Vec<&Measurement>> = Vec::new();
    for one in measurements {
        match found.iter_mut().find(|rows| rows.first().is_some_and(|row| size(row) == size(one))) {
            Some(rows) => rows.push(one),
            None => found.push(vec![one]),
        }
    }
    found
}

const HEAD: &str = "| scenario | CCM | cloud: changes | reads | logins | API: writes | events | reads | done after s | first write s | \
CPU s | RSS peak / steady MB | cloud kB out / in | API kB out / in | beside the first: cloud, API writes, s, CPU, RSS |\n\
|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|\n";

/// One row for each scenario and CCM; counts that have a least are followed by their multiple of it (`×`), of all calls beside the reads.
fn costs(measurements: &[&Measurement]) -> String {
    let mut text = HEAD.to_owned();
    let mut scenarios: Vec<(&str, f64)> = Vec::new();
    for one in measurements {
        let scenario = (one.scenario.as_str(), one.boot_seconds);
        if !scenarios.contains(&scenario) {
            scenarios.push(scenario);
        }
    }
    for (scenario, boot) in scenarios {
        let rows: Vec<_> =
            measurements.iter().filter(|one| one.scenario == scenario && one.boot_seconds == boot).collect();
        for row in &rows {
            let first = rows.first().filter(|first| first.ccm != row.ccm);
            text.push_str(&line(row, first.map(|first| **first)));
        }
    }
    text.push('\n');
    text
}

fn line(one: &Measurement, first: Option<&Measurement>) -> String {
    let is_of_boot = matches!(one.scenario.as_str(), "create" | "delete" | "brown-out");
    let boot = if is_of_boot { format!(" (boot {} s)", one.boot_seconds) } else { String::new() };
    let kilo = |bytes: u64| format!("{:.0}", bytes as f64 / 1000.0);
    let cells = [
        format!("{}{boot}", one.scenario),
        one.ccm.clone(),
        with_ratio(one.cloud.mutating, one.ratio.mutating),
        with_ratio(one.cloud.reading, one.ratio.cloud),
        one.cloud.logins.to_string(),
        with_ratio(one.api.writes, one.ratio.api_writes),
        one.api.events.to_string(),
        one.api.reads.to_string(),
        format!("{:.1}", one.seconds.converged),
        one.seconds.first_write.map_or("–".to_owned(), |seconds| format!("{seconds:.2}")),
        format!("{:.2}", one.cpu_seconds),
        format!("{:.1} / {:.1}", one.rss_peak_bytes as f64 / MEGA, one.rss_steady_bytes as f64 / MEGA),
        format!("{} / {}", kilo(one.cloud.sent_bytes), kilo(one.cloud.received_bytes)),
        format!("{} / {}", kilo(one.api.sent_bytes), kilo(one.api.received_bytes)),
        first.map_or_else(String::new, |first| beside(one, first)),
    ];
    let unfinished = if one.missing.is_empty() { "" } else { " **not done**" };
    format!("| {}{unfinished} |\n", cells.join(" | "))
}

fn with_ratio(count: u64, ratio: Option<f64>) -> String {
    match ratio {
        Some(ratio) => format!("{count} ({ratio:.2} ×)"),
        None => format!("{count} (of 0)"),
    }
}

/// How many times the first one's cost this is.
fn beside(one: &Measurement, first: &Measurement) -> String {
    let times = |this: f64, that: f64| {
        if that > 0.0 { format!("{:.1} ×", this / that) } else { format!("{this:.0} to 0") }
    };
    [
        times(one.cloud.all() as f64, first.cloud.all() as f64),
        times(one.api.writes as f64, first.api.writes as f64),
        times(one.seconds.converged, first.seconds.converged),
        times(one.cpu_seconds, first.cpu_seconds),
        times(one.rss_peak_bytes as f64, first.rss_peak_bytes as f64),
    ]
    .join(", ")
}

/// What is above its target, with the requests that make it so.
fn above(report: &Report) -> String {
    let mut text = "## Above target\n\n".to_owned();
    for one in &report.measurements {
        let above = one.ratio.above(report.targets);
        if above.is_empty() {
            continue;
        }
        let (nodes, services, ports) = (one.nodes, one.services, one.ports);
        text.push_str(&format!(
            "- **{}, {}** ({nodes} nodes, {services} Services, {ports} port(s), boot {} s): {}; at least {} changes, {} calls, {} API writes\n",
            one.ccm,
            one.scenario,
            one.boot_seconds,
            above.join(", "),
            one.minimum.mutating,
            one.minimum.cloud,
            one.minimum.api_writes,
        ));
        let is_cloud = above.iter().any(|what| what.contains("cloud"));
        let is_api = above.iter().any(|what| what.contains("API"));
        let cloud = one.cloud.requests.iter().filter(|_| is_cloud);
        let api = one.api.requests.iter().filter(|(name, _)| is_api && is_write(name));
        for (name, count) in cloud.chain(api) {
            text.push_str(&format!("  - {count} `{name}`\n"));
        }
    }
    text
}

fn is_write(name: &str) -> bool {
    let of_object = !name.contains("leases") && !name.contains("events") && !name.contains("reviews");
    of_object && ["create", "update", "patch", "delete"].iter().any(|verb| name.starts_with(verb))
}
