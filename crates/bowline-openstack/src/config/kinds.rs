//! How the texts of values are read, as gcfg and Go do. Pure; knows no keys.

use jiff::SignedDuration;

/// What would have been accepted.
pub(super) type Wanted = &'static str;

const INTEGER: Wanted = "a whole number, decimal or hexadecimal after 0x";
const UNSIGNED: Wanted = "a whole number without a sign, decimal or hexadecimal after 0x";
const DURATION: Wanted = "a time with its unit, such as 5s, 1m30s or 300ms (units: ns us ms s m h)";

/// Yes or no.
pub(super) fn flag(text: &str) -> Result<bool, Wanted> {
    match text.to_lowercase().as_str() {
        "true" | "yes" | "on" | "1" => Ok(true),
        "false" | "no" | "off" | "0" => Ok(false),
        _ => Err("one of true, yes, on, 1, false, no, off, 0"),
    }
}

/// A whole number.
pub(super) fn integer(text: &str) -> Result<i64, Wanted> {
    let text = text.trim();
    let (minus, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        // A plus is taken only before decimal digits.
        None => (false, text.strip_prefix('+').filter(|rest| !rest.starts_with("0x")).unwrap_or(text)),
    };
    let size = i128::from(magnitude(digits).ok_or(INTEGER)?);
    i64::try_from(if minus { -size } else { size }).map_err(|_out_of_range| INTEGER)
}

/// A whole number without a sign.
pub(super) fn unsigned(text: &str) -> Result<u64, Wanted> {
    magnitude(text.trim()).ok_or(UNSIGNED)
}

fn magnitude(digits: &str) -> Option<u64> {
    match digits.strip_prefix("0x") {
        Some(hex) => hexadecimal(hex),
        None if digits.bytes().all(|byte| byte.is_ascii_digit()) => digits.parse().ok(),
        None => None,
    }
}

/// Go allows an underscore before each digit.
fn hexadecimal(text: &str) -> Option<u64> {
    if text.ends_with('_') || text.contains("__") || text.starts_with(['+', '-']) {
        return None;
    }
    u64::from_str_radix(&text.replace('_', ""), 16).ok()
}

/// One word; blanks around it may come from quotes.
pub(super) fn word(text: &str) -> Result<&str, Wanted> {
    let wanted = "one word, not empty";
    if text.contains('\n') {
        return Err(wanted);
    }
    let word = text.trim();
    if word.is_empty() || word.contains(char::is_whitespace) { Err(wanted) } else { Ok(word) }
}

/// A time with its unit, as Go's `ParseDuration` reads it.
pub(crate) fn duration(text: &str) -> Result<SignedDuration, Wanted> {
    let (minus, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Ok(SignedDuration::ZERO);
    }
    if rest.is_empty() {
        return Err(DURATION);
    }
    let mut sum: u64 = 0;
    while !rest.is_empty() {
        let (part, after) = one_part(rest).ok_or(DURATION)?;
        sum = sum.checked_add(part).filter(|sum| *sum <= 1 << 63).ok_or(DURATION)?;
        rest = after;
    }
    let nanoseconds = if minus { -i128::from(sum) } else { i128::from(sum) };
    i64::try_from(nanoseconds).map(SignedDuration::from_nanos).map_err(|_out_of_range| DURATION)
}

/// A number with its unit in nanoseconds, and what comes behind.
fn one_part(text: &str) -> Option<(u64, &str)> {
    let (whole, rest) = digits(text);
    let (fraction, rest) = rest.strip_prefix('.').map_or(("", rest), digits);
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let end = rest.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(rest.len());
    let (name, rest) = rest.split_at_checked(end)?;
    let unit = unit(name)?;
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let part = whole.checked_mul(unit).filter(|part| *part <= 1 << 63)?;
    Some((part.checked_add(part_of(fraction, unit))?, rest))
}

fn digits(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, ""))
}

fn unit(name: &str) -> Option<u64> {
    match name {
        "ns" => Some(1),
        "us" | "\u{b5}s" | "\u{3bc}s" => Some(1_000),
        "ms" => Some(1_000_000),
        "s" => Some(1_000_000_000),
        "m" => Some(60_000_000_000),
        "h" => Some(3_600_000_000_000),
        _ => None,
    }
}

/// The digits behind the point, times the unit. Eighteen of them are more than nanoseconds can show.
fn part_of(fraction: &str, unit: u64) -> u64 {
    let shown: String = fraction.chars().take(18).collect();
    let scale = 10_u128.pow(u32::try_from(shown.len()).unwrap_or(18));
    let digits: u128 = shown.parse().unwrap_or(0);
    u64::try_from(digits * u128::from(unit) / scale).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    // The golden cases of gcfg hold what Go really reads; these are the ones that a person looks for first.
    #[test]
    fn a_time_needs_its_unit() {
        assert_eq!(duration("1m30s"), Ok(SignedDuration::from_secs(90)));
        assert_eq!(duration("300ms"), Ok(SignedDuration::from_millis(300)));
        assert_eq!(duration("0"), Ok(SignedDuration::ZERO));
        assert_eq!(duration("5"), Err(DURATION));
    }

    #[test]
    fn numbers_are_decimal_or_hexadecimal_never_octal() {
        assert_eq!(integer("010"), Ok(10));
        assert_eq!(integer(" -0x10 "), Ok(-16));
        assert_eq!(unsigned("0x1_0"), Ok(16));
        assert_eq!(unsigned("-1"), Err(UNSIGNED));
        assert_eq!(integer("+0x1"), Err(INTEGER));
    }
}
