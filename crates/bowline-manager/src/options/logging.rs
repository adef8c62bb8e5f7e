//! Parses the options of logging.

use super::check::Check;
use crate::logging::{LogFormat, LoggingOptions, names_modules};

pub(super) fn logging(check: &mut Check<'_>) -> LoggingOptions {
    let format = match check.parsed.text("logging-format") {
        "text" => LogFormat::Text,
        "json" => LogFormat::Json,
        other => {
            check.refuse("logging-format", &other, "accepted are text and json");
            LogFormat::Text
        }
    };
    check.duration("log-flush-frequency");
    let verbosity: i64 = check.int("v", 0..=i64::from(i32::MAX));
    let mut vmodule = Vec::new();
    for (pattern, level) in check.parsed.map("vmodule") {
        match level.parse::<u32>() {
            Ok(level) => {
                if !names_modules(pattern) {
                    check.warnings.push(no_modules(pattern));
                }
                vmodule.push((pattern.clone(), saturated(level.into())));
            }
            Err(_) => {
                check.refuse("vmodule", &format!("{pattern}={level}"), "accepted is pattern=N, N from 0 on");
            }
        }
    }
    LoggingOptions { format, verbosity: saturated(verbosity), vmodule }
}

fn no_modules(pattern: &str) -> String {
    format!(
        "--vmodule: {pattern:?} matches nothing in this program; its modules are Rust's, and a pattern is the beginning \
         of a path such as bowline_kube::lease"
    )
}

/// Clamps large values, which are common: nothing more is logged beyond 10.
fn saturated(level: i64) -> u8 {
    u8::try_from(level).unwrap_or(u8::MAX)
}
