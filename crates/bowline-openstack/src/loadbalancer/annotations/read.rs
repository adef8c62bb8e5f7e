//! Reading of annotations: each value once, and all problems kept.

use std::borrow::Cow;
use std::str::FromStr;
use std::time::Duration;

use bowline_cloud::{Refusal, ServiceView};

use super::{Annotation, Fallback, Kind, LONGEST_TEXT_CHARS, Place, Unreadable};
use crate::config::kinds;

/// The longest part of a value that a message quotes, in bytes.
const LONGEST_QUOTE_BYTES: usize = 128;

/// A key or a value as a message shows it: cut at the end of a character. Annotations may be 256 KiB long.
#[must_use]
pub fn clipped(text: &str) -> Cow<'_, str> {
    if text.len() <= LONGEST_QUOTE_BYTES {
        return text.into();
    }
    let end = text.floor_char_boundary(LONGEST_QUOTE_BYTES);
    format!("{}… ({} bytes)", text.get(..end).unwrap_or_default(), text.len()).into()
}

/// Whether a text has at most [`LONGEST_TEXT_CHARS`] characters.
#[must_use]
pub fn is_short(text: &str) -> bool {
    text.chars().nth(LONGEST_TEXT_CHARS).is_none()
}

/// Reads the annotations of one Service and remembers what was wrong with them.
#[derive(Debug)]
pub struct Reader<'a> {
    /// The annotations of the table, by key. A Service may have thousands of others, which are passed over once and not for each row.
    known: Vec<(&'static str, &'a str)>,
    problems: Vec<Problem>,
}

/// Something that is wrong.
#[derive(Debug)]
struct Problem {
    message: String,
    /// The one value that cannot be read, if it is that.
    place: Option<Place>,
}

/// A Service that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejected {
    /// All problems.
    pub refusal: Refusal,
    /// The values that cannot be read, if nothing else is wrong and something counts in place of each of them for a Service that has a
    /// load balancer.
    pub unreadable: Option<Vec<Unreadable>>,
}

impl<'a> Reader<'a> {
    /// A reader for a Service.
    #[must_use]
    pub fn new(service: &'a ServiceView) -> Self {
        let known =
            service.annotations.iter().filter_map(|(key, value)| Some((super::find(key)?.key, value)));
        Self { known: known.collect(), problems: Vec::new() }
    }

    /// The value as it is written, also if it is empty.
    #[must_use]
    pub fn raw(&self, row: &Annotation) -> Option<&'a str> {
        self.known.iter().find_map(|(key, value)| (*key == row.key).then_some(*value))
    }

    /// The value, unless it is empty.
    #[must_use]
    pub fn text(&self, row: &Annotation) -> Option<&'a str> {
        self.raw(row).filter(|value| !value.is_empty())
    }

    /// The value as it is written, also if it is empty; one that is too long is a problem.
    pub fn short(&mut self, row: &Annotation) -> Option<&'a str> {
        let value = self.raw(row)?;
        if is_short(value) {
            return Some(value);
        }
        self.wrong(row, value);
        None
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
        let (value, accepted) = (clipped(value), row.kind.accepted());
        let message = format!("annotation {} is {value:?}; accepted: {accepted}", row.key);
        self.add(message, Some(Place::Annotation(row.key)));
    }

    /// Remembers that `spec.loadBalancerIP` is no address.
    pub fn wrong_load_balancer_ip(&mut self, value: &str) {
        let message = format!("spec.loadBalancerIP is {:?}; accepted: an IP address", clipped(value));
        self.add(message, Some(Place::LoadBalancerIp));
    }

    /// Remembers a problem that is not that of one value, once.
    pub fn problem(&mut self, problem: String) {
        self.add(problem, None);
    }

    fn add(&mut self, message: String, place: Option<Place>) {
        if self.problems.iter().all(|known| known.message != message) {
            self.problems.push(Problem { message, place });
        }
    }

    /// Whether nothing was wrong so far.
    #[must_use]
    pub const fn is_fine(&self) -> bool {
        self.problems.is_empty()
    }

    /// The rejection for all problems so far.
    #[must_use]
    pub fn reject(self) -> Rejected {
        let unreadable = |problem: &Problem| {
            let place = problem.place.filter(|place| place.fallback() != Fallback::Refusal)?;
            Some(Unreadable { place, message: problem.message.clone() })
        };
        let unreadable = self.problems.iter().map(unreadable).collect();
        let problems = self.problems.into_iter().map(|problem| problem.message).collect();
        Rejected { refusal: Refusal { problems }, unreadable }
    }

    /// What was made of the annotations, if there was nothing wrong with any of them.
    ///
    /// # Errors
    ///
    /// All problems.
    pub fn finish<T>(self, made: T) -> Result<T, Refusal> {
        if self.is_fine() { Ok(made) } else { Err(self.reject().refusal) }
    }
}
