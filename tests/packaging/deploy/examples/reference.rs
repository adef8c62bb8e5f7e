//! Prints a generated file to standard output: `cargo xtask gen` puts it into its place.
//!
//! Makes nothing of its own; each comes from the tables of this crate and of those that it knows.

use std::process::ExitCode;

use packaging::{PackagingError, chart, manifests, monitoring};

fn page(word: &str) -> Result<Option<String>, PackagingError> {
    Ok(Some(match word {
        "chart-values" => chart::values()?,
        "chart-schema" => chart::schema()?,
        "chart-readme" => chart::page()?,
        "chart-rights" => chart::rights()?,
        "alerts" => monitoring::alerts()?,
        "alerts-object" => monitoring::rule_object()?,
        "dashboard" => monitoring::dashboard()?,
        other => return manifests::page(other),
    }))
}

fn main() -> ExitCode {
    let word = std::env::args().nth(1).unwrap_or_default();
    match page(&word) {
        Ok(Some(page)) => {
            print!("{page}");
            return ExitCode::SUCCESS;
        }
        Ok(None) => eprintln!("unknown file {word:?}; the words are in xtask/src/generated.rs"),
        Err(error) => eprintln!("{error}"),
    }
    ExitCode::FAILURE
}
