//! Reads a command line as Go's pflag does.
//!
//! Not clap: manifests written for the Go manager must keep working, and clap reads them differently. It knows no `_`
//! for `-` in names and no `-v2`, takes `false` of `--leader-elect false` as a value or not at all, stops at the first
//! wrong flag, and would need every row of the table told to it again.

use std::collections::BTreeMap;
use std::ffi::OsString;

use super::parsed::Parsed;
use super::table::{Flag, FlagTable};
use super::value::Value;
use bowline_cloud::suggest::hint;

/// One thing that is wrong with a command line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FlagProblem {
    /// No flag has this name.
    #[error("unknown flag {flag}{hint}")]
    Unknown {
        /// As it was written, without the value.
        flag: String,
        /// `; did you mean --x?`, or nothing.
        hint: String,
    },
    /// The command line ended where a value was wanted.
    #[error("--{0} needs a value, but nothing follows it")]
    MissingValue(&'static str),
    /// The value is not of the flag's kind.
    #[error("--{flag}={value}: {accepted}")]
    Value {
        /// The flag.
        flag: &'static str,
        /// What was given.
        value: String,
        /// What would be accepted.
        accepted: String,
    },
    /// An argument that is no flag.
    #[error("unexpected argument {argument:?}; only flags are accepted{hint}")]
    Positional {
        /// The argument.
        argument: String,
        /// What may have been meant.
        hint: String,
    },
    /// `--=x`, `---x`, or an argument that is not UTF-8.
    #[error("{0:?} is no flag; write --name=value")]
    Malformed(String),
}

/// Everything that is wrong with a command line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", listed(.0))]
pub struct FlagErrors(
    /// In the order of the command line; never empty.
    pub Vec<FlagProblem>,
);

fn listed(problems: &[FlagProblem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// Reads the arguments after the program's name.
///
/// # Errors
///
/// All that is wrong, not only the first.
pub fn parse<I>(table: &FlagTable, arguments: I) -> Result<Parsed, FlagErrors>
where
    I: IntoIterator,
    I::Item: Into<OsString>,
{
    let mut reader = Reader::new(table, arguments.into_iter().map(Into::into));
    while let Some(argument) = reader.next_text() {
        reader.argument(&argument);
    }
    if reader.problems.is_empty() {
        Ok(Parsed::new(table, reader.given))
    } else {
        Err(FlagErrors(reader.problems))
    }
}

struct Reader<'a, I> {
    table: &'a FlagTable,
    arguments: I,
    given: BTreeMap<&'static str, Value>,
    problems: Vec<FlagProblem>,
    /// After `--`.
    flags_ended: bool,
    /// The flag that the argument before this one set by its bare name: `--x false` is a common slip.
    bare_before: Option<&'static str>,
    /// The argument before this one was an unknown flag without a value.
    after_unknown: bool,
}

impl<'a, I: Iterator<Item = OsString>> Reader<'a, I> {
    fn new(table: &'a FlagTable, arguments: I) -> Self {
        let (given, problems) = (BTreeMap::new(), Vec::new());
        Self {
            table,
            arguments,
            given,
            problems,
            flags_ended: false,
            bare_before: None,
            after_unknown: false,
        }
    }

    /// The next argument that is text; others are noted as problems.
    fn next_text(&mut self) -> Option<String> {
        loop {
            match self.arguments.next()?.into_string() {
                Ok(text) => return Some(text),
                Err(raw) => self.problems.push(FlagProblem::Malformed(raw.to_string_lossy().into_owned())),
            }
        }
    }

    fn argument(&mut self, argument: &str) {
        let bare_before = self.bare_before.take();
        let after_unknown = std::mem::take(&mut self.after_unknown);
        if self.flags_ended || argument == "-" || !argument.starts_with('-') {
            if !after_unknown {
                self.positional(argument, bare_before);
            }
        } else if argument == "--" {
            self.flags_ended = true;
        } else if let Some(long) = argument.strip_prefix("--") {
            self.long(argument, long);
        } else {
            self.letters(argument.trim_start_matches('-'));
        }
    }

    fn positional(&mut self, argument: &str, bare_before: Option<&'static str>) {
        let hint = bare_before.map(|flag| format!("; did you mean --{flag}={argument}?")).unwrap_or_default();
        self.problems.push(FlagProblem::Positional { argument: argument.to_owned(), hint });
    }

    fn long(&mut self, argument: &str, long: &str) {
        let (written, value) = match long.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (long, None),
        };
        if written.is_empty() || written.starts_with('-') {
            return self.problems.push(FlagProblem::Malformed(argument.to_owned()));
        }
        let name = written.replace('_', "-");
        match self.table.find(&name).copied() {
            Some(flag) => self.take(&flag, value),
            None => self.unknown(format!("--{written}"), &name, value),
        }
    }

    /// A flag nobody knows. What follows it may have been its value, so it is not blamed a second time.
    fn unknown(&mut self, flag: String, name: &str, value: Option<&str>) {
        let hint = hint(name, "--", self.table.rows().iter().map(|row| row.name));
        self.problems.push(FlagProblem::Unknown { flag, hint });
        self.after_unknown = value.is_none();
    }

    /// `v=2`, `v2`, `v`, or several letters that take no value: `hv2`.
    fn letters(&mut self, letters: &str) {
        let mut rest = letters;
        while let Some(letter) = rest.chars().next() {
            rest = rest.get(letter.len_utf8()..).unwrap_or("");
            let Some(flag) = self.table.find_short(letter).copied() else {
                let long_form = letters.split('=').next().unwrap_or(letters).replace('_', "-");
                let hint = hint(&long_form, "--", self.table.rows().iter().map(|row| row.name));
                self.problems.push(FlagProblem::Unknown { flag: format!("-{letter} in -{letters}"), hint });
                self.after_unknown = !letters.contains('=');
                return;
            };
            if let Some(value) = rest.strip_prefix('=') {
                return self.take(&flag, Some(value));
            }
            if flag.kind.bare().is_none() {
                return self.take(&flag, Some(rest).filter(|rest| !rest.is_empty()));
            }
            self.take(&flag, None);
        }
    }

    /// Reads the value of a known flag: what is attached, what the bare flag means, or the next argument.
    fn take(&mut self, flag: &Flag, attached: Option<&str>) {
        let text = match (attached, flag.kind.bare()) {
            (Some(text), _) => text.to_owned(),
            (None, Some(bare)) => {
                self.bare_before = Some(flag.name);
                bare.to_owned()
            }
            (None, None) => match self.next_text() {
                Some(text) => text,
                None => return self.problems.push(FlagProblem::MissingValue(flag.name)),
            },
        };
        match Value::read(flag.kind, &text) {
            Ok(value) => self.put(flag.name, value),
            Err(accepted) => {
                self.problems.push(FlagProblem::Value { flag: flag.name, value: text, accepted });
            }
        }
    }

    fn put(&mut self, name: &'static str, value: Value) {
        match self.given.get_mut(name) {
            Some(earlier) => earlier.join(value),
            None => drop(self.given.insert(name, value)),
        }
    }
}

#[cfg(test)]
mod tests;
