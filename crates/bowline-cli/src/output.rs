//! How a command says what it found: as text for people, or as JSON or YAML with names that stay.

use std::io::Write;

use serde::Serialize;

use crate::ending::Ending;

/// The form of the answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// For people.
    #[default]
    #[value(alias = "text")]
    Table,
    /// One JSON object.
    Json,
    /// One YAML document.
    Yaml,
}

/// The flag of the form.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub struct Output {
    /// The form of the answer; the names in json and yaml stay the same from version to version
    #[arg(long = "output", short = 'o', value_enum, default_value_t = Format::Table)]
    pub format: Format,
}

/// What a command found.
pub trait Report: Serialize {
    /// It, for people.
    fn text(&self) -> String;

    /// The exit code.
    fn code(&self) -> u8;
}

/// Says it, and answers the exit code.
///
/// # Errors
///
/// [`Ending`] if nobody takes the answer.
pub fn say(output: &mut dyn Write, format: Format, report: &impl Report) -> Result<u8, Ending> {
    let text = match format {
        Format::Table => report.text(),
        Format::Json => serde_json::to_string_pretty(report).map_err(Ending::not_looked)?,
        Format::Yaml => serde_saphyr::to_string(report).map_err(Ending::not_looked)?,
    };
    writeln!(output, "{}", text.trim_end()).map_err(Ending::not_looked)?;
    Ok(report.code())
}
