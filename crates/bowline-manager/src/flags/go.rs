//! Values in Go's notation: durations and booleans. Pure; no flags, no defaults.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// Why a text is not a valid duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GoDurationError {
    /// The text is not a sequence of numbers with units.
    #[error(
        "{0:?} is no duration; write numbers with units, such as 300ms, 1.5s, 5m or 1h30m (units ns, us, ms, s, m, h)"
    )]
    Syntax(String),
    /// The duration is longer than about 292 years.
    #[error("{0:?} is too long; the longest duration is about 2562047h")]
    TooLong(String),
}

/// A duration in nanoseconds, parsed and printed as in Go. It may be negative, as in Go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct GoDuration(i64);

const UNITS: [(&str, i64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000), // U+00B5, micro sign
    ("μs", 1_000), // U+03BC, Greek mu
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

impl GoDuration {
    /// Creates a duration from nanoseconds.
    #[must_use]
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// The duration in nanoseconds.
    #[must_use]
    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// Converts to a standard duration; `None` if negative.
    #[must_use]
    pub fn to_std(self) -> Option<Duration> {
        u64::try_from(self.0).ok().map(Duration::from_nanos)
    }
}

impl From<Duration> for GoDuration {
    /// Durations beyond 292 years are clamped to 292 years.
    fn from(duration: Duration) -> Self {
        Self(i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX))
    }
}

impl FromStr for GoDuration {
    type Err = GoDurationError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (negative, magnitude) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        if magnitude == "0" {
            return Ok(Self(0));
        }
        let nanos = parse_magnitude(magnitude).ok_or_else(|| GoDurationError::Syntax(text.to_owned()))?;
        let signed = if negative { -nanos } else { nanos };
        i64::try_from(signed).map(Self).map_err(|_| GoDurationError::TooLong(text.to_owned()))
    }
}

/// The nanoseconds of a text like `1h30m`, saturating far beyond the valid range; `None` if the format is invalid.
fn parse_magnitude(text: &str) -> Option<i128> {
    if text.is_empty() {
        return None;
    }
    let mut total = 0_i128;
    let mut rest = text;
    while !rest.is_empty() {
        let (nanos, after) = parse_part(rest)?;
        total = total.saturating_add(nanos);
        rest = after;
    }
    Some(total)
}

/// Parses one number with its unit at the start of the text; also returns the rest.
fn parse_part(text: &str) -> Option<(i128, &str)> {
    let (whole, rest) = take_while(text, |c| c.is_ascii_digit());
    let (fraction, rest) = match rest.strip_prefix('.') {
        Some(rest) => take_while(rest, |c| c.is_ascii_digit()),
        None => ("", rest),
    };
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let (unit, rest) = take_while(rest, |c| !c.is_ascii_digit() && c != '.');
    let (_, scale) = UNITS.iter().find(|(name, _)| *name == unit)?;
    let nanos = digits(whole).saturating_mul(i128::from(*scale));
    Some((nanos.saturating_add(fraction_nanos(fraction, *scale)), rest))
}

fn take_while(text: &str, keep: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c| !keep(c)).unwrap_or(text.len()))
}

fn digits(text: &str) -> i128 {
    text.bytes().fold(0_i128, |sum, digit| sum.saturating_mul(10).saturating_add(i128::from(digit) - 48))
}

/// The nanoseconds of a fraction, such as `5` in `1.5s`, truncated. Digits after the eighteenth have no effect.
fn fraction_nanos(fraction: &str, scale: i64) -> i128 {
    let kept = fraction.get(..18).unwrap_or(fraction);
    let divisor = kept.bytes().fold(1_i128, |power, _| power * 10);
    digits(kept) * i128::from(scale) / divisor
}

impl fmt::Display for GoDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.unsigned_abs();
        let sign = if self.0 < 0 { "-" } else { "" };
        let small = match nanos {
            0 => Some((1_000_000_000, "s")),
            1..1_000 => Some((1, "ns")),
            1_000..1_000_000 => Some((1_000, "µs")),
            1_000_000..1_000_000_000 => Some((1_000_000, "ms")),
            _ => None,
        };
        if let Some((scale, unit)) = small {
            return write!(f, "{sign}{}{unit}", decimal(nanos, scale));
        }
        let minute = 60 * 1_000_000_000;
        let seconds = decimal(nanos % minute, 1_000_000_000);
        match (nanos / minute / 60, nanos / minute % 60) {
            (0, 0) => write!(f, "{sign}{seconds}s"),
            (0, minutes) => write!(f, "{sign}{minutes}m{seconds}s"),
            (hours, minutes) => write!(f, "{sign}{hours}h{minutes}m{seconds}s"),
        }
    }
}

/// `value / scale` in decimal without trailing zeros; `scale` is a power of ten.
fn decimal(value: u64, scale: u64) -> String {
    let (whole, fraction) = (value / scale, value % scale);
    if fraction == 0 {
        return whole.to_string();
    }
    let width = scale.ilog10() as usize;
    let padded = format!("{fraction:0width$}");
    format!("{whole}.{}", padded.trim_end_matches('0'))
}

/// Parses a boolean as Go's `ParseBool` does; `None` for any other text.
#[must_use]
pub fn parse_bool(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Some(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_print_as_go_prints_them() {
        for (given, printed) in [
            ("0", "0s"),
            ("-0", "0s"),
            ("15s", "15s"),
            ("5m", "5m0s"),
            ("1h", "1h0m0s"),
            ("1h30m", "1h30m0s"),
            ("12h", "12h0m0s"),
            ("100ms", "100ms"),
            ("1.5s", "1.5s"),
            (".5s", "500ms"),
            ("1.s", "1s"),
            ("1500us", "1.5ms"),
            ("1µs", "1µs"),
            ("1μs", "1µs"),
            ("2us500ns", "2.5µs"),
            ("7ns", "7ns"),
            ("90s", "1m30s"),
            ("-1.25h", "-1h15m0s"),
            ("+3s", "3s"),
            ("61.001s", "1m1.001s"),
            ("0.9ns", "0s"),
            ("2562047h47m16.854775807s", "2562047h47m16.854775807s"),
            ("-2562047h47m16.854775808s", "-2562047h47m16.854775808s"),
        ] {
            let duration: GoDuration = given.parse().unwrap();
            assert_eq!(duration.to_string(), printed, "{given}");
            assert_eq!(printed.parse(), Ok(duration), "{printed} reads back");
        }
    }

    #[test]
    fn what_go_refuses_is_refused() {
        for given in [
            "", "5", "1", "s", ".", "-", "+", "1 s", "5 m", "1d", "1h30", ".s", "1..5s", "--1s", "1S", "00",
            "é",
        ] {
            assert!(matches!(given.parse::<GoDuration>(), Err(GoDurationError::Syntax(_))), "{given:?}");
        }
        for given in ["2562048h", "9223372036854775808ns", "99999999999999999999999999999999999999999999h"] {
            assert!(matches!(given.parse::<GoDuration>(), Err(GoDurationError::TooLong(_))), "{given:?}");
        }
    }

    #[test]
    fn negative_durations_have_no_standard_form() {
        assert_eq!("-1s".parse::<GoDuration>().unwrap().to_std(), None);
        assert_eq!("1.5s".parse::<GoDuration>().unwrap().to_std(), Some(Duration::from_millis(1500)));
        assert_eq!(GoDuration::from(Duration::from_secs(300)).to_string(), "5m0s");
    }

    #[test]
    fn booleans_are_go_booleans() {
        for yes in ["1", "t", "T", "TRUE", "true", "True"] {
            assert_eq!(parse_bool(yes), Some(true));
        }
        for no in ["0", "f", "F", "FALSE", "false", "False"] {
            assert_eq!(parse_bool(no), Some(false));
        }
        for other in ["", "yes", "no", "on", "tRUE", "2", " true"] {
            assert_eq!(parse_bool(other), None, "{other:?}");
        }
    }
}
