//! Renders a plan like a diff: the steps that were, are and will be done for a Service, and why.

use super::super::html::Html;
use super::super::overview::{PlanRow, PlannedStep};
use super::time;

pub(super) fn plan(html: &mut Html, plan: &PlanRow) {
    html.element("div", &[("class", "plan")], |html| {
        html.element("h3", &[], |html| {
            let (what, at) = match plan.done_at {
                Some(done) => ("Last plan, done ", done),
                None => ("Plan, begun ", plan.at),
            };
            html.text(what);
            time(html, at);
        });
        html.element("ol", &[], |html| {
            for planned in &plan.steps {
                step(html, planned);
            }
            if plan.more > 0 {
                html.leaf("li", &[("class", "more")], &format!("and {} more steps", plan.more));
            }
        });
    });
}

fn step(html: &mut Html, planned: &PlannedStep) {
    let (class, sign) = match planned.step.verb {
        "create" => ("step create", "+"),
        "delete" => ("step delete", "−"),
        _ => ("step update", "~"),
    };
    html.element("li", &[("class", class)], |html| {
        html.leaf("span", &[("class", "step-sign"), ("aria-hidden", "true")], sign);
        html.element("span", &[("class", "step-text")], |html| {
            html.leaf("span", &[("class", "step-what")], &planned.step.text).text(" ");
            html.leaf("span", &[("class", "step-why")], &planned.step.reason);
        });
        html.leaf("span", &[("class", "step-state")], if planned.done { "✓ done" } else { "… to do" });
    });
}
