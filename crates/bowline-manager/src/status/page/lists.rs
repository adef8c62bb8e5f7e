//! Filters and pagination of long lists: plain forms and links, which work without the script.

use super::super::html::Html;
use super::super::overview::Listing;
use super::super::query::Query;

/// A form that filters a list by `name`. It keeps the other parameters of the query.
pub(super) fn filter(
    name: &'static str,
    label: &'static str,
    query: &Query,
    more: impl FnOnce(&mut Html),
) -> Html {
    let mut html = Html::default();
    let attributes = [
        ("class", "filter"),
        ("role", "search"),
        ("method", "get"),
        ("action", "bowline"),
        ("aria-label", label),
    ];
    html.element("form", &attributes, |html| {
        let unsettled = if query.unsettled && name != "service" { "1" } else { "" };
        for (key, kept) in
            [("service", query.service.as_str()), ("node", &query.node), ("unsettled", unsettled)]
        {
            if key == name {
                html.element("label", &[], |html| {
                    html.leaf("span", &[("class", "hidden-text")], label);
                    let input = [("type", "search"), ("name", name), ("value", kept), ("placeholder", label)];
                    html.empty("input", &input);
                });
            } else if !kept.is_empty() {
                html.empty("input", &[("type", "hidden"), ("name", key), ("value", kept)]);
            }
        }
        more(html);
        html.leaf("button", &[("type", "submit")], "Filter");
    });
    html
}

/// Renders the number of rows and the links to the other pages.
pub(super) fn pages<T>(html: &mut Html, what: &'static str, list: &Listing<T>, to: impl Fn(usize) -> Query) {
    let count = match (list.matching == list.total, list.pages) {
        (true, 1) => return,
        (true, _) => format!("{} {what}", list.total),
        (false, _) => format!("{} of {} {what}", list.matching, list.total),
    };
    html.element("nav", &[("class", "pages"), ("aria-label", &format!("Pages of {what}"))], |html| {
        html.leaf("span", &[], &count);
        for (name, page) in [("Previous", list.page.checked_sub(1)), ("Next", list.page.checked_add(1))] {
            if let Some(page) = page.filter(|page| (1..=list.pages).contains(page)) {
                html.leaf("a", &[("href", &format!("bowline{}", to(page).to_text()))], name);
            }
        }
        if list.pages > 1 {
            html.leaf("span", &[], &format!("page {} of {}", list.page, list.pages));
        }
    });
}

/// Renders the text of an empty list.
pub(super) fn nothing<T>(html: &mut Html, list: &Listing<T>, none: &str, filtered: &str) {
    let text = match (list.known, list.total) {
        (false, _) => {
            "Not known yet: this replica has not listed them. One that stands by does so when it leads."
        }
        (true, 0) => none,
        (true, _) => filtered,
    };
    html.leaf("p", &[("class", "nothing")], text);
}
