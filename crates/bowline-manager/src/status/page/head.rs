//! Renders the frame of the page: title, leader, navigation and footer.

use super::super::html::Html;
use super::super::overview::{LeaderRow, Overview};
use super::super::query::Query;
use super::{STYLE, badge, time};

const SECTIONS: [(&str, &str); 5] = [
    ("#services", "Services"),
    ("#nodes", "Nodes"),
    ("#cloud", "Cloud calls"),
    ("#rails", "Safety rails"),
    ("#timeline", "Timeline"),
];

pub(super) fn head(html: &mut Html, overview: &Overview) {
    html.element("head", &[], |html| {
        html.empty("meta", &[("charset", "utf-8")]);
        html.empty("meta", &[("name", "viewport"), ("content", "width=device-width, initial-scale=1")]);
        html.empty("meta", &[("name", "color-scheme"), ("content", "light dark")]);
        html.empty("meta", &[("name", "robots"), ("content", "noindex")]);
        html.leaf("title", &[], &format!("{} · Bowline", overview.replica.cluster));
        // The page loads nothing external, not even an icon.
        html.empty("link", &[("rel", "icon"), ("href", "data:,")]);
        html.element("style", &[], |html| {
            html.ours(STYLE);
        });
    });
}

pub(super) fn banner(html: &mut Html, overview: &Overview, query: &Query) {
    html.leaf("a", &[("class", "skip"), ("href", "#main")], "Skip to content");
    html.element("header", &[("class", "top")], |html| {
        html.element("div", &[("class", "top-row")], |html| {
            html.element("div", &[("class", "brand")], |html| {
                html.ours(KNOT);
                html.element("div", &[], |html| {
                    html.leaf("h1", &[], &overview.replica.cluster);
                    html.leaf("p", &[("class", "sub")], &format!("Bowline on {}", overview.replica.cloud));
                });
            });
            connection(html, query);
        });
        html.element("nav", &[("aria-label", "Sections")], |html| {
            html.element("ul", &[], |html| {
                for (href, name) in SECTIONS {
                    html.element("li", &[], |html| {
                        html.leaf("a", &[("href", href)], name);
                    });
                }
            });
        });
    });
    html.empty("div", &[("id", "lost"), ("class", "problem lost"), ("role", "alert"), ("hidden", "")]);
}

fn connection(html: &mut Html, query: &Query) {
    let live = format!("bowline/live{}", query.to_text());
    let attributes =
        [("id", "connection"), ("class", "connection"), ("role", "status"), ("data-live-url", live.as_str())];
    html.element("p", &attributes, |html| {
        html.leaf("noscript", &[], "Reload the page to see changes");
    });
}

/// Renders the state of leader election in a few words.
pub(super) fn leader(html: &mut Html, leader: &LeaderRow) {
    match leader {
        LeaderRow::Leads { .. } => badge(html, "good", "★", "This replica leads"),
        LeaderRow::StandsBy { holder, .. } => {
            let who = holder.as_deref().unwrap_or("nobody yet");
            badge(html, "fine", "☆", &format!("Standby, led by {who}"));
        }
        LeaderRow::Lost { .. } => badge(html, "bad", "✕", "Leadership lost"),
        LeaderRow::Alone => badge(html, "fine", "○", "No leader election"),
    }
}

pub(super) fn foot(html: &mut Html, overview: &Overview) {
    let replica = &overview.replica;
    html.element("footer", &[], |html| {
        html.element("dl", &[], |html| {
            let rows = [
                ("Version", &replica.version),
                ("Binary", &replica.component),
                ("Replica", &replica.identity),
            ];
            for (name, value) in rows {
                html.element("div", &[], |html| {
                    html.leaf("dt", &[], name).leaf("dd", &[], value);
                });
            }
            html.element("div", &[], |html| {
                html.leaf("dt", &[], "Started").element("dd", &[], |html| time(html, replica.started_at));
            });
        });
        html.element("p", &[], |html| {
            html.text("This page changes nothing. The same for programs: ");
            html.leaf("a", &[("href", "bowline.json")], "bowline.json");
            html.text(". Neither is a promise of form.");
        });
    });
}

/// The logo: a loop of rope.
const KNOT: &str = concat!(
    r#"<svg class="knot" viewBox="0 0 40 40" width="40" height="40" aria-hidden="true" focusable="false">"#,
    r#"<rect class="knot-ground" width="40" height="40" rx="10"/>"#,
    r#"<g fill="none" class="knot-rope" stroke-width="3.6" stroke-linecap="round">"#,
    r#"<path d="M13 7l10.500 12.500c5 6 2.500 13-3.500 13s-8.500-7-3.500-13l3-3.600"/><path d="M22.500 12.300l4.500-5.300"/>"#,
    r#"</g></svg>"#
);
