//! Parses a command line as Go's pflag does.
//!
//! clap is not used, because manifests written for the Go manager must keep working and clap parses them differently: it does not accept
//! `_` for `-` in names or `-v2`, handles `false` in `--leader-elect false` either always or never as a value, stops at the first invalid
//! flag, and would need every row of the table declared again.

use std::collections::BTreeMap;
use std::ffi::OsString;

use super::parsed::Parsed;
use super::table::{Flag, FlagTable};
use super::value::Value;
use bowline_cloud::suggest::hint;

/// One problem of a command line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FlagProblem {
    /// The flag does not exist.
    #[error("unknown flag {flag}{hint}")]
    Unknown {
        /// The flag as written, without its value.
        flag: String,
        /// `; did you mean --x?`, or empty.
        hint: String,
    },
    /// The command line ended where a value was expected.
    #[error("--{0} needs a value, but nothing follows it")]
    MissingValue(&'static str),
    /// The value does not have the flag's kind.
    #[error("--{flag}={value}: {accepted}")]
    Value {
        /// The name of the flag.
        flag: &'static str,
        /// The given value.
        value: String,
        /// The accepted values.
        accepted: String,
    },
    /// An argument that is not a flag.
    #[error("unexpected argument {argument:?}; only flags are accepted{hint}")]
    Positional {
        /// The argument.
        argument: String,
        /// A hint at what may have been meant, or empty.
        hint: String,
    },
    /// `--=x`, `---x`, or an argument that is not valid UTF-8.
    #[error("{0:?} is no flag; write --name=value")]
    Malformed(String),
}

/// All problems of a command line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", listed(.0))]
pub struct FlagErrors(
    /// In the order of the command line; never empty.
    pub Vec<FlagProblem>,
);

fn listed(problems: &[FlagProblem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// Parses the arguments after the program's name.
///
/// # Errors
///
/// All problems, not only the first.
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
    /// Whether `--` was seen.
    flags_ended: bool,
    /// The flag that the previous argument set without a value: `--x false` is a common mistake.
    bare_before: Option<&'static str>,
    /// Whether the previous argument was an unknown flag without a value.
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

    /// The next argument that is valid UTF-8; others are recorded as problems.
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

    /// Records an unknown flag. The next argument may be its value, so it is not reported as a second problem.
    fn unknown(&mut self, flag: String, name: &str, value: Option<&str>) {
        let hint = hint(name, "--", self.table.rows().iter().map(|row| row.name));
        self.problems.push(FlagProblem::Unknown { flag, hint });
        self.after_unknown = value.is_none();
    }

    /// Parses the letters of a short flag: `v=2`, `v2`, `v`, or several flags without values, such as `hv2`.
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

    /// Reads the value of a known flag: the attached value, the value of the bare flag, or the next argument.
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
