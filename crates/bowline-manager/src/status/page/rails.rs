//! Safety rails and breakers, and the parts of the process.

use super::super::overview::Overview;
use super::{Part, badge};

pub(super) fn rails(overview: &Overview) -> Part {
    let mut part = Part::new("rails-body", "rails", Some("Safety rails"));
    let html = &mut part.content;
    html.element("ul", &[("class", "rails")], |html| {
        for rail in &overview.rails {
            html.element("li", &[], |html| {
                html.element("div", &[("class", "rail-head")], |html| {
                    html.leaf("strong", &[], rail.name);
                    html.leaf("span", &[("class", "faint")], rail.id);
                    match rail.holds {
                        true => badge(html, "bad", "‖", "Holds"),
                        false => badge(html, "good", "✓", "Clear"),
                    }
                });
                html.leaf("p", &[], &rail.says);
                html.leaf("p", &[("class", "faint")], &rail.guards);
            });
        }
    });
    html.leaf("h3", &[], "Parts of this process");
    html.element("ul", &[("class", "checks")], |html| {
        for check in &overview.checks {
            html.element("li", &[], |html| {
                match check.well {
                    true => badge(html, "good", "✓", "Works"),
                    false => badge(html, "bad", "▲", "Look"),
                }
                html.leaf("span", &[("class", "check-name")], &check.name);
                if let Some(why) = &check.why {
                    html.leaf("span", &[("class", "faint")], why);
                }
            });
        }
    });
    part
}
