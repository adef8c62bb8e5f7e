//! Renders an [`Overview`] as HTML. Pure. The page needs no external assets: style and script are inline.
//!
//! The parts that change have elements of their own, so that the live stream can replace each separately (`live.rs`, `page/script.js`).

mod balancer;
mod cloud;
mod head;
mod lists;
mod nodes;
mod plan;
mod rails;
mod services;
mod summary;
mod timeline;

use jiff::Timestamp;

use super::html::Html;
use super::overview::Overview;
use super::query::Query;

pub(super) const STYLE: &str = include_str!("page/style.css");

pub(super) const SCRIPT: &str = include_str!("page/script.js");

/// Renders the whole page.
pub(super) fn page(overview: &Overview, query: &Query) -> String {
    let mut html = Html::default();
    html.ours("<!DOCTYPE html>");
    html.element("html", &[("lang", "en")], |html| {
        head::head(html, overview);
        html.element("body", &[], |html| {
            head::banner(html, overview, query);
            html.element("main", &[("id", "main"), ("tabindex", "-1")], |html| main(html, overview, query));
            head::foot(html, overview);
            html.element("script", &[], |html| {
                html.ours(SCRIPT);
            });
        });
    });
    html.into_string()
}

fn main(html: &mut Html, overview: &Overview, query: &Query) {
    for part in parts(overview, query) {
        match part.title {
            None => {
                live(html, &part);
            }
            Some(title) => {
                let heading = format!("{}-title", part.anchor);
                html.element("section", &[("id", part.anchor), ("aria-labelledby", &heading)], |html| {
                    html.element("div", &[("class", "section-head")], |html| {
                        html.leaf("h2", &[("id", &heading)], title);
                        if let Some(form) = &part.form {
                            html.piece(form);
                        }
                    });
                    live(html, &part);
                });
            }
        }
    }
}

fn live(html: &mut Html, part: &Part) {
    html.element("div", &[("id", part.id), ("data-live", "")], |html| {
        html.piece(&part.content);
    });
}

/// A part of the page that is sent again when it changes.
pub(super) struct Part {
    /// The ID of the element that contains the part.
    pub(super) id: &'static str,
    /// The target of links to the part.
    anchor: &'static str,
    title: Option<&'static str>,
    /// A form beside the title. It is never sent again, because a user may be typing in it.
    form: Option<Html>,
    content: Html,
}

impl Part {
    fn new(id: &'static str, anchor: &'static str, title: Option<&'static str>) -> Self {
        Self { id, anchor, title, form: None, content: Html::default() }
    }

    /// The content as HTML text.
    pub(super) fn into_content(self) -> String {
        self.content.into_string()
    }
}

/// All parts, in order.
pub(super) fn parts(overview: &Overview, query: &Query) -> Vec<Part> {
    vec![
        summary::problems(overview),
        summary::summary(overview),
        services::services(overview, query),
        nodes::nodes(overview, query),
        cloud::cloud(overview),
        rails::rails(overview),
        timeline::timeline(overview),
    ]
}

/// Renders a point in time: exact for programs, the time of day for users. The script shows how long ago it was.
fn time(html: &mut Html, at: Timestamp) {
    let exact = at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let whole = at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string();
    html.leaf("time", &[("datetime", &exact), ("title", &whole)], &at.strftime("%H:%M:%S").to_string());
}

/// Renders a table that becomes cards on narrow screens: each cell names its column.
fn table<T>(html: &mut Html, name: &str, columns: &[&str], rows: &[T], row: impl Fn(&mut Html, &T)) {
    html.element("table", &[("class", "cards"), ("aria-label", name)], |html| {
        html.element("thead", &[], |html| {
            html.element("tr", &[], |html| {
                for column in columns {
                    html.leaf("th", &[("scope", "col")], column);
                }
            });
        });
        html.element("tbody", &[], |html| {
            for each in rows {
                html.element("tr", &[], |html| row(html, each));
            }
        });
    });
}

/// Renders a label with a symbol, so that nothing is shown by colour alone.
fn badge(html: &mut Html, tone: &'static str, sign: &'static str, word: &str) {
    let class = format!("badge {tone}");
    html.element("span", &[("class", &class)], |html| {
        html.leaf("span", &[("aria-hidden", "true"), ("class", "sign")], sign);
        html.text(word);
    });
}

#[cfg(test)]
mod tests;
