//! Renders Nodes and their servers as a table that becomes cards on narrow screens.

use super::super::html::Html;
use super::super::overview::{NodeRow, Overview};
use super::super::query::Query;
use super::{Part, badge, lists, table};

const COLUMNS: [&str; 5] = ["Node", "State", "Server", "Addresses", "Waits"];

pub(super) fn nodes(overview: &Overview, query: &Query) -> Part {
    let mut part = Part::new("nodes-body", "nodes", Some("Nodes and servers"));
    part.form = Some(lists::filter("node", "Name, address or provider ID", query, |_html| {}));
    let list = &overview.nodes;
    if list.rows.is_empty() {
        lists::nothing(&mut part.content, list, "No Nodes.", "No Node matches.");
    } else {
        table(&mut part.content, "Nodes", &COLUMNS, &list.rows, row);
    }
    lists::pages(&mut part.content, "Nodes", list, |page| Query { node_page: page, ..query.clone() });
    part
}

fn row(html: &mut Html, node: &NodeRow) {
    let [_, state, server, addresses, waits] = COLUMNS;
    html.element("th", &[("scope", "row")], |html| {
        html.text(&node.name);
        if let Some(place) = &node.place {
            html.leaf("span", &[("class", "faint block")], place);
        }
    });
    html.element("td", &[("data-label", state)], |html| match (node.leaving, node.ready) {
        (true, _) => badge(html, "busy", "⌫", "Leaving"),
        (false, Some(true)) => badge(html, "good", "✓", "Ready"),
        (false, Some(false)) => badge(html, "bad", "▲", "Not ready"),
        (false, None) => badge(html, "fine", "?", "Never said"),
    });
    html.element("td", &[("data-label", server)], |html| {
        match &node.provider_id {
            Some(id) => html.leaf("code", &[], id),
            None => html.leaf("span", &[("class", "faint")], "no provider ID yet"),
        };
    });
    html.element("td", &[("data-label", addresses)], |html| {
        html.element("ul", &[("class", "plain")], |html| {
            for (kind, address) in &node.addresses {
                html.element("li", &[], |html| {
                    html.leaf("span", &[("class", "mono")], address).text(" ");
                    html.leaf("span", &[("class", "faint")], kind);
                });
            }
        });
    });
    html.element("td", &[("data-label", waits)], |html| {
        if node.waits.is_empty() && node.taints.is_empty() {
            html.leaf("span", &[("class", "faint")], "for nothing");
        }
        for wait in &node.waits {
            badge(html, "busy", "◷", wait);
        }
        for taint in &node.taints {
            html.leaf("span", &[("class", "faint block")], &format!("taint {taint}"));
        }
    });
}
