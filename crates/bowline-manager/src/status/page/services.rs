//! Renders the Services: state, what each waits for, and its plan. The load balancer is rendered in `balancer`.

use bowline_cloud::Standing;

use super::super::html::Html;
use super::super::overview::{Overview, ServiceRow};
use super::super::query::Query;
use super::{Part, badge, balancer, lists, plan, time};

/// Lists of at most this many Services are shown expanded.
const OPEN_AT_MOST: usize = 3;

pub(super) fn services(overview: &Overview, query: &Query) -> Part {
    let mut part = Part::new("services-body", "services", Some("Services"));
    part.form = Some(lists::filter("service", "Namespace or name", query, |html| {
        html.element("label", &[("class", "check")], |html| {
            let mut input = vec![("type", "checkbox"), ("name", "unsettled"), ("value", "1")];
            input.extend(query.unsettled.then_some(("checked", "")));
            html.empty("input", &input).text("Only unsettled");
        });
    }));
    let list = &overview.services;
    if list.rows.is_empty() {
        let none = "No Service of type LoadBalancer. Make one: kubectl create service loadbalancer web --tcp=80:8080";
        lists::nothing(&mut part.content, list, none, "No Service matches.");
    }
    for row in &list.rows {
        service(&mut part.content, row, list.rows.len() <= OPEN_AT_MOST);
    }
    lists::pages(&mut part.content, "Services", list, |page| Query { service_page: page, ..query.clone() });
    part
}

fn service(html: &mut Html, row: &ServiceRow, open: bool) {
    let key = format!("service {}/{}", row.namespace, row.name);
    let mut attributes = vec![("class", "service"), ("data-key", key.as_str())];
    attributes.extend(open.then_some(("open", "")));
    html.element("details", &attributes, |html| {
        html.element("summary", &[], |html| {
            standing(html, row);
            html.element("span", &[("class", "service-name")], |html| {
                html.leaf("span", &[("class", "namespace")], &format!("{}/", row.namespace));
                html.text(&row.name);
            });
            let addresses = row.addresses.join(", ");
            let addresses = if addresses.is_empty() { "no address yet" } else { &addresses };
            html.leaf("span", &[("class", "address")], addresses);
            if let Some(says) = &row.says {
                html.leaf("span", &[("class", "says")], says);
            }
        });
        html.element("div", &[("class", "service-body")], |html| {
            balancer::balancer(html, &row.balancer, &row.addresses);
            if let Some(last) = &row.plan {
                plan::plan(html, last);
            }
            if let Some(since) = row.since {
                html.element("p", &[("class", "since")], |html| {
                    html.text("Like this since ");
                    time(html, since);
                });
            }
        });
    });
}

fn standing(html: &mut Html, row: &ServiceRow) {
    let (tone, sign, word) = match &row.standing {
        _ if row.leaving => ("busy", "⌫", "Leaving"),
        None => ("fine", "·", "Not seen yet"),
        Some(Standing::Settled) => ("good", "✓", "Settled"),
        Some(Standing::Elsewhere) => ("fine", "·", "Elsewhere"),
        Some(Standing::Waits { .. }) => ("busy", "◷", "Waiting"),
        Some(Standing::Acts { .. }) => ("busy", "↻", "Changing"),
        Some(Standing::Refused { .. }) => ("bad", "✕", "Refused"),
        Some(Standing::Unknown { .. }) => ("bad", "?", "Unknown"),
        Some(Standing::Failed { .. }) => ("bad", "▲", "Failing"),
        Some(Standing::Held { .. }) => ("busy", "‖", "Held"),
    };
    badge(html, tone, sign, word);
}
