//! Renders the calls to the cloud: recent rates, the remaining rate limit, and the last calls.

use super::super::html::Html;
use super::super::overview::{CallRow, CloudRow, Overview};
use super::{Part, badge, table, time};

/// The width (four for each of sixty bars) and height of a chart.
const CHART: (u32, u32) = (240, 36);

const COLUMNS: [&str; 6] = ["When", "Service", "Call", "Answer", "Took", "Request id"];

pub(super) fn cloud(overview: &Overview) -> Part {
    let mut part = Part::new("cloud-body", "cloud", Some("Cloud calls"));
    let html = &mut part.content;
    if overview.cloud.is_empty() {
        html.leaf("p", &[("class", "nothing")], "No call was made yet. A replica that stands by makes none.");
        return part;
    }
    html.element("ul", &[("class", "cloud")], |html| {
        for row in &overview.cloud {
            html.element("li", &[], |html| service(html, row));
        }
    });
    html.element("details", &[("class", "calls"), ("data-key", "calls")], |html| {
        html.leaf("summary", &[], &format!("The last {} calls", overview.calls.len()));
        table(html, "Calls", &COLUMNS, &overview.calls, call);
    });
    part
}

fn service(html: &mut Html, row: &CloudRow) {
    html.element("div", &[("class", "cloud-name")], |html| {
        html.leaf("strong", &[], &row.service);
        match (row.silent, row.paused_seconds) {
            (true, _) => badge(html, "bad", "▲", "No good answer"),
            (false, Some(seconds)) => badge(html, "busy", "‖", &format!("Asked to wait {seconds} s")),
            (false, None) => {}
        }
    });
    chart(html, row);
    html.element("p", &[("class", "cloud-numbers")], |html| {
        html.leaf("strong", &[], &row.last_minute.to_string()).text(" in the last minute");
        if row.failed_last_minute > 0 {
            html.text(&format!(", {} without a good answer", row.failed_last_minute));
        }
    });
    html.element("p", &[("class", "cloud-budget")], |html| match (row.per_second, row.left) {
        (Some(per_second), Some(left)) => {
            let label = format!("{left} of {} calls left", row.burst);
            let (max, value) = (row.burst.to_string(), left.to_string());
            let meter = [("min", "0"), ("max", max.as_str()), ("value", &value), ("aria-label", &label)];
            html.empty("meter", &meter).text(&format!("{label}, +{per_second}/s"));
        }
        _ => {
            html.text("no limit on calls");
        }
    });
}

/// Renders bars of five seconds each, over five minutes.
fn chart(html: &mut Html, row: &CloudRow) {
    let (width, height) = CHART;
    let most = row.lately.iter().map(|(calls, _)| *calls).max().unwrap_or(0).max(5);
    let label =
        format!("Calls to {} over five minutes, {most} in five seconds is the full height", row.service);
    let view = format!("0 0 {width} {height}");
    let step = width / u32::try_from(row.lately.len()).unwrap_or(1).max(1);
    let attributes = [
        ("viewBox", view.as_str()),
        ("class", "chart"),
        ("role", "img"),
        ("aria-label", &label),
        ("preserveAspectRatio", "none"),
    ];
    html.element("svg", &attributes, |html| {
        for (place, (calls, failed)) in (0_u32..).zip(&row.lately) {
            for (count, class) in [(calls, "bar"), (failed, "bar failed")] {
                if *count > 0 {
                    let tall = count.saturating_mul(height).div_ceil(most).clamp(2, height);
                    let numbers = [place * step, height - tall, step.saturating_sub(1).max(1), tall];
                    let [x, y, w, h] = numbers.map(|number| number.to_string());
                    let rect =
                        [("class", class), ("x", x.as_str()), ("y", &y), ("width", &w), ("height", &h)];
                    html.empty("rect", &rect);
                }
            }
        }
    });
}

fn call(html: &mut Html, call: &CallRow) {
    let [when, service, what, answer, took, id] = COLUMNS;
    html.element("td", &[("data-label", when)], |html| time(html, call.at));
    html.leaf("td", &[("data-label", service)], call.service);
    html.element("td", &[("data-label", what)], |html| {
        html.leaf("code", &[], &format!("{} {}", call.method, call.path));
    });
    html.element("td", &[("data-label", answer)], |html| match (call.status, call.failed) {
        (None, _) => badge(html, "bad", "▲", "none"),
        (Some(status), true) => badge(html, "bad", "▲", &status.to_string()),
        (Some(status), false) => {
            html.text(&status.to_string());
        }
    });
    html.leaf("td", &[("data-label", took)], &format!("{} ms", call.millis));
    html.element("td", &[("data-label", id)], |html| {
        html.leaf("code", &[("class", "faint")], call.request_id.as_deref().unwrap_or("–"));
    });
}
