//! Renders the safety rails and circuit breakers, and the health of the parts of the process.

use super::super::overview::{CheckState, Overview};
use super::{Part, badge};

pub(super) fn rails(overview: &Overview) -> Part {
    let mut part = Part::new("rails-body", "rails", Some("Safety rails"));
    let html = &mut part.content;
    html.element("ul", &[("class", "rails")], |html| {
        for rail in &overview.rails {
            html.element("li", &[], |html| {
                html.element("div", &[("class", "rail-head")], |html| {
                    html.leaf("strong", &[], rail.name);
                    match rail.holds {
                        true => badge(html, "bad", "‖", "Holds"),
                        false => badge(html, "good", "✓", "Clear"),
                    }
                });
                html.leaf("p", &[], &rail.says);
                html.leaf("p", &[("class", "faint")], &format!("{}: {}", rail.id, rail.guards));
            });
        }
    });
    html.leaf("h3", &[], "Parts of this process");
    html.element("ul", &[("class", "checks")], |html| {
        for check in &overview.checks {
            html.element("li", &[], |html| {
                match check.state {
                    CheckState::Works => badge(html, "good", "✓", "Works"),
                    CheckState::Off => badge(html, "fine", "○", "Off"),
                    CheckState::Look => badge(html, "bad", "▲", "Look"),
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
