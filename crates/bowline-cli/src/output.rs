//! How a command says what it found: as text for people, or as JSON or YAML with names that stay.

use std::io::Write;

use serde::Serialize;

use crate::ending::Ending;
use crate::terminal::{escaped, escaped_json, is_escaped};

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
    /// It, for people. A text from the cluster or the cloud goes through [`crate::terminal::one_line`], or it could add lines of its own;
    /// what commands a terminal is taken out of the whole in any case.
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
        Format::Table => escaped(&report.text()).into_owned(),
        Format::Json => json(report)?,
        Format::Yaml => yaml(report)?,
    };
    writeln!(output, "{}", text.trim_end()).map_err(Ending::not_looked)?;
    Ok(report.code())
}

fn json(report: &impl Report) -> Result<String, Ending> {
    let text = serde_json::to_string_pretty(report).map_err(Ending::not_looked)?;
    Ok(escaped_json(&text).into_owned())
}

/// A document of YAML. JSON is YAML too: it is written where a plain text would hold what a terminal obeys.
fn yaml(report: &impl Report) -> Result<String, Ending> {
    let text = serde_saphyr::to_string(report).map_err(Ending::not_looked)?;
    if is_escaped(&text) { json(report) } else { Ok(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    struct Said {
        message: &'static str,
    }

    impl Report for Said {
        fn text(&self) -> String {
            self.message.to_owned()
        }
        fn code(&self) -> u8 {
            0
        }
    }

    #[test]
    fn no_form_of_an_answer_holds_what_a_terminal_obeys_and_json_and_yaml_stay_exact() {
        let message = "a\u{9b}31m\u{7f}\u{202e}\u{1b}[2J";
        for format in [Format::Table, Format::Json, Format::Yaml] {
            let mut output = Vec::new();
            say(&mut output, format, &Said { message }).unwrap();
            let text = String::from_utf8(output).unwrap();
            assert!(!is_escaped(&text), "{format:?}: {text:?}");
            let read: serde_json::Value = match format {
                Format::Table => continue,
                Format::Json => serde_json::from_str(&text).unwrap(),
                Format::Yaml => serde_saphyr::from_str(&text).unwrap(),
            };
            assert_eq!(read["message"], message, "{format:?}");
        }
    }
}
