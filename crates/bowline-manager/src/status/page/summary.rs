//! Renders the top of the page: problems, the leader, and the most important numbers.

use super::super::html::Html;
use super::super::overview::{LeaderRow, NodeCounts, Overview, ServiceCounts};
use super::{Part, head};

/// The tone of a number, and its meaning in words.
type Said = (&'static str, String);

pub(super) fn problems(overview: &Overview) -> Part {
    let mut part = Part::new("problems-body", "problems", None);
    for problem in &overview.problems {
        part.content.element("div", &[("class", "problem"), ("role", "alert")], |html| {
            html.leaf("span", &[("aria-hidden", "true"), ("class", "sign")], "▲");
            html.element("p", &[], |html| {
                html.leaf("strong", &[], &problem.what).text(": ").text(&problem.text);
            });
        });
    }
    part
}

pub(super) fn summary(overview: &Overview) -> Part {
    let mut part = Part::new("summary-body", "summary", None);
    part.content.element("p", &[("class", "leader")], |html| {
        let leader = &overview.replica.leader;
        head::leader(html, leader);
        if let LeaderRow::Leads { lease } | LeaderRow::StandsBy { lease, .. } | LeaderRow::Lost { lease } =
            leader
        {
            html.leaf("span", &[("class", "faint")], &format!("Lease {lease}"));
        }
    });
    part.content.element("ul", &[("class", "tiles"), ("aria-label", "At a glance")], |html| {
        let services = overview.service_counts;
        let all = services.settled + services.moving + services.held + services.troubled;
        tile(
            html,
            "#services",
            "Services settled",
            &format!("{} / {all}", services.settled),
            of_services(services, all),
        );
        let nodes = overview.node_counts;
        let all = overview.nodes.total;
        tile(html, "#nodes", "Nodes ready", &format!("{} / {all}", nodes.ready), of_nodes(nodes, all));
        let calls: u32 = overview.cloud.iter().map(|row| row.last_minute).sum();
        let failed: u32 = overview.cloud.iter().map(|row| row.failed_last_minute).sum();
        let said = match failed {
            0 => ("good", "all answered".to_owned()),
            failed => ("bad", format!("{failed} without a good answer")),
        };
        tile(html, "#cloud", "Cloud calls, last minute", &calls.to_string(), said);
        let holding = overview.rails.iter().filter(|rail| rail.holds).count();
        let said = match holding {
            0 => ("good", "all clear".to_owned()),
            _ => ("bad", "see which, and why".to_owned()),
        };
        tile(html, "#rails", "Rails holding", &holding.to_string(), said);
    });
    part
}

fn of_services(services: ServiceCounts, all: usize) -> Said {
    let ServiceCounts { settled: _, moving, held, troubled } = services;
    let counted = [(troubled, "in trouble"), (moving, "being worked on"), (held, "held")];
    let words: Vec<String> = counted
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    match (troubled, words.is_empty()) {
        (0, true) if all == 0 => ("fine", "none yet".to_owned()),
        (0, true) => ("good", "all as they ask".to_owned()),
        (0, false) => ("busy", words.join(", ")),
        (_, _) => ("bad", words.join(", ")),
    }
}

fn of_nodes(nodes: NodeCounts, all: usize) -> Said {
    match (nodes.waiting, all.saturating_sub(nodes.ready)) {
        (0, 0) if all == 0 => ("fine", "none yet".to_owned()),
        (0, 0) => ("good", "none waits".to_owned()),
        (0, down) => ("bad", format!("{down} not ready")),
        (waiting, _) => ("busy", format!("{waiting} waiting for the cloud")),
    }
}

fn tile(html: &mut Html, href: &str, name: &str, number: &str, (tone, said): Said) {
    let sign = match tone {
        "good" => "✓",
        "busy" => "↻",
        "bad" => "▲",
        _ => "·",
    };
    html.element("li", &[], |html| {
        html.element("a", &[("href", href), ("class", &format!("tile {tone}"))], |html| {
            html.leaf("span", &[("class", "tile-name")], name);
            html.leaf("span", &[("class", "tile-number")], number);
            html.element("span", &[("class", "tile-said")], |html| {
                html.leaf("span", &[("aria-hidden", "true"), ("class", "sign")], sign).text(&said);
            });
        });
    });
}
