//! Reads values from a command line and collects the problems, so that all are reported at once.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use super::problem::OptionProblem;
use crate::flags::Parsed;

/// The maximum number of workers: more would only wait for the rate limits.
const MOST_WORKERS: u32 = 1000;

/// A command line and the problems found so far.
pub(super) struct Check<'a> {
    pub(super) parsed: &'a Parsed,
    pub(super) problems: Vec<OptionProblem>,
    pub(super) warnings: Vec<String>,
}

impl<'a> Check<'a> {
    pub(super) fn new(parsed: &'a Parsed) -> Self {
        Self { parsed, problems: Vec::new(), warnings: Vec::new() }
    }

    /// Records that the value of a flag is invalid.
    pub(super) fn refuse(&mut self, flag: &'static str, value: &dyn Display, wanted: impl Into<String>) {
        self.problems.push(OptionProblem::Value { flag, value: value.to_string(), wanted: wanted.into() });
    }

    pub(super) fn combination(&mut self, problem: impl Into<String>) {
        self.problems.push(OptionProblem::Combination(problem.into()));
    }

    pub(super) fn path(&self, flag: &'static str) -> Option<PathBuf> {
        Some(self.parsed.text(flag)).filter(|text| !text.is_empty()).map(PathBuf::from)
    }

    /// A duration that may be zero.
    pub(super) fn duration(&mut self, flag: &'static str) -> Duration {
        let given = self.parsed.duration(flag);
        given.to_std().unwrap_or_else(|| {
            self.refuse(flag, &given, "must not be negative");
            Duration::ZERO
        })
    }

    /// A duration that must be more than zero.
    pub(super) fn period(&mut self, flag: &'static str) -> Duration {
        let given = self.parsed.duration(flag);
        given.to_std().filter(|period| !period.is_zero()).unwrap_or_else(|| {
            self.refuse(flag, &given, "must be more than 0s");
            Duration::from_secs(1)
        })
    }

    /// An integer in a range; otherwise the problem is recorded, and the nearest value in the range is returned.
    pub(super) fn int<T: TryFrom<i64> + Default>(
        &mut self,
        flag: &'static str,
        range: RangeInclusive<i64>,
    ) -> T {
        let given = self.parsed.int(flag);
        if !range.contains(&given) {
            self.refuse(flag, &given, format!("must be between {} and {}", range.start(), range.end()));
        }
        T::try_from(given.clamp(*range.start(), *range.end())).unwrap_or_default()
    }

    pub(super) fn workers(&mut self, flag: &'static str) -> u32 {
        self.workers_from(flag, 1)
    }

    /// A number of workers, where 0 means that another flag's number is used.
    pub(super) fn workers_or_zero(&mut self, flag: &'static str) -> u32 {
        self.workers_from(flag, 0)
    }

    /// Too many workers are no error: other managers accept any number.
    fn workers_from(&mut self, flag: &'static str, least: u32) -> u32 {
        let given = self.parsed.int(flag);
        if given < i64::from(least) {
            self.refuse(flag, &given, format!("must be at least {least}"));
            return least;
        }
        u32::try_from(given).ok().filter(|workers| *workers <= MOST_WORKERS).unwrap_or_else(|| {
            let why = "more would only wait for the limits on calls";
            self.warnings.push(format!("--{flag}={given}: {MOST_WORKERS} are used; {why}"));
            MOST_WORKERS
        })
    }

    /// The burst of a rate limit.
    pub(super) fn burst(&mut self, flag: &'static str) -> u32 {
        self.int(flag, 1..=1_000_000)
    }

    /// Requests per second to the API server, with client-go's meaning: 0 means its default of 5, a negative value means no limit.
    pub(super) fn kube_qps(&mut self, flag: &'static str) -> f64 {
        let given = self.parsed.float(flag);
        if given == 0.0 { 5.0 } else { given }
    }

    /// Requests per second; there is no value for "no limit".
    pub(super) fn qps(&mut self, flag: &'static str) -> f64 {
        let given = self.parsed.float(flag);
        if given > 0.0 && given <= 1e6 {
            return given;
        }
        self.refuse(flag, &given, "must be more than 0 and at most 1000000 requests per second");
        1.0
    }
}
