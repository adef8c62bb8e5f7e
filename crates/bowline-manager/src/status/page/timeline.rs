//! Renders recent activity, newest first.

use super::super::overview::{Overview, Tone};
use super::{Part, time};

pub(super) fn timeline(overview: &Overview) -> Part {
    let mut part = Part::new("timeline-body", "timeline", Some("Timeline"));
    if overview.timeline.is_empty() {
        part.content.leaf("p", &[("class", "nothing")], "Nothing happened yet.");
        return part;
    }
    part.content.element("ol", &[("class", "timeline")], |html| {
        for moment in &overview.timeline {
            let (class, sign) = match moment.tone {
                Tone::Good => ("moment good", "✓"),
                Tone::Fine => ("moment fine", "·"),
                Tone::Warning => ("moment bad", "▲"),
            };
            html.element("li", &[("class", class)], |html| {
                time(html, moment.at);
                html.leaf("span", &[("class", "sign"), ("aria-hidden", "true")], sign);
                html.element("span", &[("class", "moment-text")], |html| {
                    html.leaf("span", &[("class", "moment-kind")], moment.kind).text(" ");
                    html.leaf("strong", &[], &moment.about).text(" ").text(&moment.text);
                });
            });
        }
    });
    part
}
