//! The text format: `time level module: span{fields}: message fields`, always on one line.
//!
//! A message may contain text from a cloud or a user, so control characters are escaped and never reach the terminal.

use std::fmt::{self, Write};

use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, FormattedFields};
use tracing_subscriber::registry::{LookupSpan, Scope};

/// Writes an event as one line.
pub(super) struct OneLine;

impl<S, N> FormatEvent<S, N> for OneLine
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut out: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        // RFC 3339, in UTC.
        SystemTime.format_time(&mut out)?;
        let metadata = event.metadata();
        let origin = Origin::of(event);
        let target = origin.0.as_deref().unwrap_or_else(|| metadata.target());
        write!(out, " {:>5} {}: ", metadata.level(), short(target))?;
        let mut said = String::new();
        for span in context.event_scope().into_iter().flat_map(Scope::from_root) {
            let extensions = span.extensions();
            let fields = extensions.get::<FormattedFields<N>>().map_or("", |fields| fields.as_str());
            write!(said, "{}{{{fields}}}: ", span.name())?;
        }
        context.format_fields(Writer::new(&mut said), event)?;
        write_on_one_line(&mut out, &said)?;
        writeln!(out)
    }
}

/// The original module of a `log` crate record: all of these records arrive as events with the target `log`.
#[derive(Default)]
struct Origin(Option<String>);

impl Origin {
    fn of(event: &Event<'_>) -> Self {
        let mut origin = Self::default();
        if event.metadata().target() == "log" {
            event.record(&mut origin);
        }
        origin
    }
}

impl Visit for Origin {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "log.target" {
            self.0 = Some(value.to_owned());
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn fmt::Debug) {}
}

/// The last two parts of a module path: enough to find the file, and short.
fn short(target: &str) -> &str {
    target
        .rmatch_indices("::")
        .nth(1)
        .and_then(|(at, colons)| target.get(at + colons.len()..))
        .unwrap_or(target)
}

fn write_on_one_line(out: &mut Writer<'_>, text: &str) -> fmt::Result {
    for c in text.chars() {
        // These two separators are not control characters, but some programs treat them as line ends.
        if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') {
            write!(out, "{}", c.escape_default())?;
        } else {
            out.write_char(c)?;
        }
    }
    Ok(())
}
