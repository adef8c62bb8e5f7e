//! What is wrong or doubtful in a configuration, each with its file, line, column and key. No value of a key is shown but of
//! kinds that cannot be secrets.

use std::fmt;

use super::gcfg::{Position, Syntax, SyntaxError};

/// How many problems are printed; the rest is counted. A binary file given by mistake has one on each line.
const PRINTED: usize = 50;

/// One thing that is wrong, or, as a warning, doubtful.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The file, or whatever the text came from.
    pub file: String,
    /// Where in it, if at one place.
    pub position: Option<Position>,
    /// The key with its section, as `[Global] auth-url`, if it is about one.
    pub key: Option<String>,
    /// What, and what to do.
    pub what: String,
}

impl Problem {
    pub(super) fn syntax(file: &str, error: &SyntaxError) -> Self {
        Self {
            file: file.to_owned(),
            position: Some(error.position),
            // Before any section there may be anything, a secret too; its name is left out.
            key: error.key.clone().filter(|_| error.problem != Syntax::NoSection),
            what: error.problem.to_string(),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(position) = self.position {
            write!(f, ":{position}")?;
        }
        if let Some(key) = &self.key {
            write!(f, ": {key}")?;
        }
        write!(f, ": {}", self.what)
    }
}

/// All that is wrong, at once. Never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problems(pub Vec<Problem>);

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, problem) in self.0.iter().take(PRINTED).enumerate() {
            let line_break = if number == 0 { "" } else { "\n" };
            write!(f, "{line_break}{problem}")?;
        }
        match self.0.len().saturating_sub(PRINTED) {
            0 => Ok(()),
            more => write!(f, "\nand {more} more"),
        }
    }
}

impl std::error::Error for Problems {}
