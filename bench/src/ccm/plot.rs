//! Measurements as a drawing: calls of the cloud against the numbers of nodes and of Services, on logarithmic axes, one line for each CCM
//! and one for the least. SVG that is readable on a light and on a dark page.

use super::measurement::Measurement;

const PANEL: (f64, f64) = (330.0, 210.0);
const MARGIN: (f64, f64) = (48.0, 40.0);
/// Colours that are told apart on either ground, also by people who cannot tell red from green.
const COLOURS: [&str; 4] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7"];
const LEAST_COLOUR: &str = "#8b949e";

/// What is drawn: the scenario, what it is drawn against, and the title.
const PANELS: [(&str, Axis, &str); 4] = [
    ("initialise", Axis::Nodes, "Initialise N nodes"),
    ("create", Axis::Services, "Create S Services at once"),
    ("join-one", Axis::Services, "One node joins, S Services"),
    ("restart", Axis::Services, "Restart, S unchanged Services"),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Axis {
    Nodes,
    Services,
}

struct Line {
    name: String,
    colour: &'static str,
    is_least: bool,
    points: Vec<(f64, f64)>,
}

/// The drawing.
#[must_use]
pub fn svg(measurements: &[Measurement]) -> String {
    let mut ccms: Vec<&str> = Vec::new();
    for one in measurements {
        if !ccms.contains(&one.ccm.as_str()) {
            ccms.push(&one.ccm);
        }
    }
    let (width, height) = (2.0 * PANEL.0, 2.0 * PANEL.1 + 30.0);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"11\" role=\"img\" \
         aria-label=\"Calls of the cloud against the numbers of nodes and Services, for each CCM\">\n<style>\n\
         .ground {{ fill: #ffffff }} text {{ fill: #24292f }} .rule {{ stroke: #d0d7de }}\n\
         @media (prefers-color-scheme: dark) {{ .ground {{ fill: #0d1117 }} text {{ fill: #e6edf3 }} .rule {{ stroke: #30363d }} }}\n\
         </style>\n<rect class=\"ground\" width=\"{width}\" height=\"{height}\"/>\n"
    );
    for (place, (scenario, axis, title)) in PANELS.into_iter().enumerate() {
        let (column, row) = ((place % 2) as f64, (place / 2) as f64);
        let lines = lines(measurements, &ccms, scenario, axis);
        text.push_str(&panel((column * PANEL.0, row * PANEL.1), title, axis, &lines));
    }
    text.push_str(&legend(&ccms, height - 12.0));
    text.push_str("</svg>\n");
    text
}

/// A line for each CCM, and the least of the first one (it is the same for all).
fn lines(measurements: &[Measurement], ccms: &[&str], scenario: &str, axis: Axis) -> Vec<Line> {
    let points = |ccm: &str, value: fn(&Measurement) -> u64| {
        let mut points: Vec<(f64, f64)> = varied(measurements, axis)
            .filter(|one| one.ccm == ccm && one.scenario == scenario)
            .map(|one| (along(one, axis) as f64, value(one) as f64))
            .collect();
        points.sort_by(|left, right| left.0.total_cmp(&right.0));
        // Of several boot times of one size, the last.
        points.dedup_by(|later, earlier| {
            let is_same = later.0 == earlier.0;
            if is_same {
                earlier.1 = later.1;
            }
            is_same
        });
        points
    };
    let of_ccms = ccms.iter().zip(COLOURS.iter().cycle()).map(|(ccm, colour)| Line {
        name: (*ccm).to_owned(),
        colour,
        is_least: false,
        points: points(ccm, |one| one.cloud.all()),
    });
    let least = ccms.first().map(|ccm| Line {
        name: "least".to_owned(),
        colour: LEAST_COLOUR,
        is_least: true,
        points: points(ccm, |one| one.minimum.cloud),
    });
    of_ccms.chain(least).collect()
}

fn along(one: &Measurement, axis: Axis) -> usize {
    match axis {
        Axis::Nodes => one.nodes,
        Axis::Services => one.services,
    }
}

/// Those in which only this number differs from the first size.
fn varied(measurements: &[Measurement], axis: Axis) -> impl Iterator<Item = &Measurement> {
    let first = measurements.first();
    measurements.iter().filter(move |one| {
        first.is_some_and(|first| {
            let is_same = match axis {
                Axis::Nodes => one.services == first.services,
                Axis::Services => one.nodes == first.nodes,
            };
            is_same && one.ports == first.ports
        })
    })
}

/// The powers of ten around all values.
fn decades(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let logs = values.filter(|value| *value > 0.0).map(f64::log10);
    let (low, high) = logs.fold((f64::MAX, f64::MIN), |(low, high), log| (low.min(log), high.max(log)));
    if low > high {
        return (0.0, 1.0);
    }
    let (low, high) = (low.floor(), high.ceil());
    (low, if high > low { high } else { low + 1.0 })
}

fn panel(corner: (f64, f64), title: &str, axis: Axis, lines: &[Line]) -> String {
    let all = || lines.iter().flat_map(|line| line.points.iter());
    let across = decades(all().map(|point| point.0));
    let up = decades(all().map(|point| point.1));
    let (left, top) = (corner.0 + MARGIN.0, corner.1 + MARGIN.1 - 10.0);
    let (width, height) = (PANEL.0 - MARGIN.0 - 16.0, PANEL.1 - 2.0 * MARGIN.1);
    let x = |value: f64| left + width * (value.log10() - across.0) / (across.1 - across.0);
    // What is nothing is drawn at the bottom: a logarithm has no place for it.
    let y = |value: f64| {
        let log = if value > 0.0 { value.log10() } else { up.0 };
        top + height * (1.0 - (log - up.0) / (up.1 - up.0))
    };
    let mut text = format!("<text x=\"{left}\" y=\"{}\" font-weight=\"bold\">{title}</text>\n", top - 8.0);
    for power in powers(across) {
        let (at, bottom) = (x(power), top + height);
        text.push_str(&format!(
            "<line class=\"rule\" x1=\"{at:.1}\" y1=\"{top:.1}\" x2=\"{at:.1}\" y2=\"{bottom:.1}\"/>\
             <text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{power}</text>\n",
            bottom + 14.0
        ));
    }
    for power in powers(up) {
        let (at, right) = (y(power), left + width);
        text.push_str(&format!(
            "<line class=\"rule\" x1=\"{left:.1}\" y1=\"{at:.1}\" x2=\"{right:.1}\" y2=\"{at:.1}\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{power}</text>\n",
            left - 4.0,
            at + 4.0
        ));
    }
    let letter = if axis == Axis::Nodes { "N" } else { "S" };
    text.push_str(&format!(
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">calls of the cloud against {letter}</text>\n",
        left + width,
        top + height + 27.0
    ));
    for line in lines {
        let dash = if line.is_least { " stroke-dasharray=\"4 3\"" } else { "" };
        let places: Vec<String> =
            line.points.iter().map(|(across, up)| format!("{:.1},{:.1}", x(*across), y(*up))).collect();
        text.push_str(&format!(
            "<polyline fill=\"none\" stroke=\"{}\" stroke-width=\"2\"{dash} points=\"{}\"/>\n",
            line.colour,
            places.join(" ")
        ));
        for (across, up) in &line.points {
            text.push_str(&format!(
                "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\" fill=\"{}\"><title>{}: {up}</title></circle>\n",
                x(*across),
                y(*up),
                line.colour,
                escaped(&line.name)
            ));
        }
    }
    text
}

fn powers((low, high): (f64, f64)) -> impl Iterator<Item = f64> {
    let count = (high - low).round().max(0.0) as i32;
    (0..=count).map(move |step| 10_f64.powi(low as i32 + step))
}

fn legend(ccms: &[&str], y: f64) -> String {
    let names = ccms.iter().copied().zip(COLOURS.iter().cycle().copied());
    let names = names.chain([("least possible", LEAST_COLOUR)]);
    let mut text = String::new();
    for (place, (name, colour)) in names.enumerate() {
        let x = MARGIN.0 + 150.0 * place as f64;
        text.push_str(&format!(
            "<rect x=\"{x}\" y=\"{:.1}\" width=\"12\" height=\"4\" fill=\"{colour}\"/><text x=\"{:.1}\" y=\"{y:.1}\">{}</text>\n",
            y - 6.0,
            x + 18.0,
            escaped(name)
        ));
    }
    text
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_spans_whole_decades_and_is_never_empty() {
        assert_eq!(decades([20.0, 300.0].into_iter()), (1.0, 3.0));
        assert_eq!(decades([10.0].into_iter()), (1.0, 2.0));
        assert_eq!(decades([0.0].into_iter()), (0.0, 1.0));
        assert_eq!(powers((0.0, 2.0)).collect::<Vec<_>>(), [1.0, 10.0, 100.0]);
    }

    #[test]
    fn a_drawing_of_nothing_is_still_one() {
        let drawing = svg(&[]);
        assert!(drawing.starts_with("<svg") && drawing.ends_with("</svg>\n"));
    }
}
