//! Reading of annotations: each value once, and all problems kept.

use std::str::FromStr;
use std::time::Duration;

use bowline_cloud::{Refusal, ServiceView};

use super::{Annotation, Kind};
use crate::config::kinds;

/// Reads the annotations of one Service and remembers what was wrong with them.
#[derive(Debug)]
pub struct Reader<'a> {
    service: &'a ServiceView,
    problems: Vec<String>,
}

impl<'a> Reader<'a> {
    /// A reader for a Service.
    #[must_use]
    pub const fn new(service: &'a ServiceView) -> Self {
        Self { service, problems: Vec::new() }
    }

    /// The value as it is written, also if it is empty.
    #[must_use]
    pub fn raw(&self, row: &Annotation) -> Option<&'a str> {
        self.service.annotations.get(row.key)
    }

    /// The value, unless it is empty.
    #[must_use]
    pub fn text(&self, row: &Annotation) -> Option<&'a str> {
        self.raw(row).filter(|value| !value.is_empty())
    }

    /// The value of an annotation as `parse` reads it; what it does not read is a problem.
    pub fn parsed<T>(&mut self, row: &Annotation, parse: impl FnOnce(&'a str) -> Option<T>) -> Option<T> {
        let value = self.text(row)?;
        let parsed = parse(value);
        if parsed.is_none() {
            self.wrong(row, value);
        }
        parsed
    }

    /// Yes or no.
    pub fn flag(&mut self, row: &Annotation) -> Option<bool> {
        self.parsed(row, |value| match value {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        })
    }

    /// A whole number, within the limits of the row.
    pub fn number(&mut self, row: &Annotation) -> Option<i64> {
        let (least, most) = match row.kind {
            Kind::Number { least, most, .. } => (least, most),
            _ => (i64::MIN, i64::MAX),
        };
        self.parsed(row, |value| value.parse().ok().filter(|number| (least..=most).contains(number)))
    }

    /// A time, within the limit of the row.
    pub fn duration(&mut self, row: &Annotation) -> Option<Duration> {
        let most = match row.kind {
            Kind::Duration { most } => Duration::from_secs(most.into()),
            _ => Duration::MAX,
        };
        let read = |value: &str| Duration::try_from(kinds::duration(value).ok()?).ok();
        self.parsed(row, |value| read(value).filter(|time| *time <= most))
    }

    /// Yes or no, and else what the row says.
    pub fn flag_or_fixed(&mut self, row: &Annotation) -> bool {
        self.flag(row).unwrap_or(row.fixed() == "true")
    }

    /// A whole number, and else what the row says.
    pub fn number_or_fixed(&mut self, row: &Annotation) -> i64 {
        // A test holds that the fixed texts of numbers are numbers.
        self.number(row).unwrap_or_else(|| row.fixed().parse().unwrap_or_default())
    }

    /// One of the words of the row.
    pub fn word(&mut self, row: &Annotation) -> Option<&'a str> {
        let Kind::Word(words) = row.kind else { return self.text(row) };
        self.parsed(row, |value| words.contains(&value).then_some(value))
    }

    /// The id of something.
    pub fn id<T: FromStr>(&mut self, row: &Annotation) -> Option<T> {
        self.parsed(row, |value| value.parse().ok())
    }

    /// What a section of cloud.conf says under the key of the row, as `parse` reads it; what it does not read is a problem.
    pub fn configured<T>(
        &mut self,
        section: &str,
        row: &Annotation,
        value: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        if value.is_empty() {
            return None;
        }
        let parsed = parse(value);
        if parsed.is_none() {
            self.wrong_configured(section, row, &format!("{value:?}"));
        }
        parsed
    }

    /// Remembers that what cloud.conf says under the key of the row cannot be used.
    pub fn wrong_configured(&mut self, section: &str, row: &Annotation, value: &str) {
        let (key, accepted) = (row.config_key(), row.kind.accepted());
        self.problem(format!("{key} of [{section}] in cloud.conf is {value}; accepted: {accepted}"));
    }

    /// Remembers that a value cannot be used.
    pub fn wrong(&mut self, row: &Annotation, value: &str) {
        self.problem(format!("annotation {} is {value:?}; accepted: {}", row.key, row.kind.accepted()));
    }

    /// Remembers a problem, once.
    pub fn problem(&mut self, problem: String) {
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }

    /// The refusal for all problems so far and a last one.
    #[must_use]
    pub fn refusal(mut self, last: String) -> Refusal {
        self.problem(last);
        Refusal { problems: self.problems }
    }

    /// What was made of the annotations, if there was nothing wrong with any of them.
    ///
    /// # Errors
    ///
    /// All problems.
    pub fn finish<T>(self, made: T) -> Result<T, Refusal> {
        if self.problems.is_empty() { Ok(made) } else { Err(Refusal { problems: self.problems }) }
    }
}
