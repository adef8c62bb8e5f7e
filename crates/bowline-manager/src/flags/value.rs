//! The value of one flag: parsed from text, joined with earlier occurrences, and printed. This module knows kinds, not names of flags.

use std::fmt;
use std::net::IpAddr;

use super::go::{GoDuration, parse_bool};
use super::table::{Flag, Kind};
use super::version::VersionRequest;

/// A parsed value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A value of [`Kind::Bool`].
    Bool(bool),
    /// A value of [`Kind::String`] or [`Kind::Version`].
    Text(String),
    /// A value of [`Kind::List`] or [`Kind::Repeated`].
    List(Vec<String>),
    /// A value of [`Kind::Duration`].
    Duration(GoDuration),
    /// A value of [`Kind::Int`].
    Int(i64),
    /// A value of [`Kind::Float`].
    Float(f64),
    /// A value of [`Kind::Ip`].
    Ip(IpAddr),
    /// A value of [`Kind::Map`], in the order in which the keys first occurred.
    Map(Vec<(String, String)>),
}

impl Value {
    /// Parses a text. The error describes the accepted values.
    pub(super) fn read(kind: Kind, text: &str) -> Result<Self, String> {
        match kind {
            Kind::Bool => {
                parse_bool(text).map(Self::Bool).ok_or_else(|| "accepted are true and false".to_owned())
            }
            Kind::String => Ok(Self::Text(text.to_owned())),
            Kind::Version => read_version(text),
            Kind::List => split_list(text).map(Self::List),
            Kind::Repeated => Ok(Self::List(vec![text.to_owned()])),
            Kind::Duration => text.parse().map(Self::Duration).map_err(|_| {
                "accepted is a duration of at most 2562047h, such as 300ms, 1.5s, 5m or 1h30m".to_owned()
            }),
            Kind::Int => {
                parse_int(text).map(Self::Int).ok_or_else(|| "accepted is a whole number".to_owned())
            }
            Kind::Float => read_float(text),
            Kind::Ip => text
                .trim()
                .parse()
                .map(Self::Ip)
                .map_err(|_| "accepted is an IPv4 or IPv6 address, such as 0.0.0.0 or ::".to_owned()),
            Kind::Map => read_map(text),
        }
    }

    /// The value of a flag that is not given.
    pub(super) fn default_of(flag: &Flag) -> Result<Self, String> {
        match flag.kind {
            Kind::Repeated if flag.default.is_empty() => Ok(Self::List(Vec::new())),
            kind => Self::read(kind, flag.default),
        }
    }

    /// Joins a later occurrence of the same flag: lists and maps grow, everything else is replaced.
    pub(super) fn join(&mut self, later: Self) {
        match (self, later) {
            (Self::List(items), Self::List(more)) => items.extend(more),
            (Self::Map(pairs), Self::Map(more)) => {
                for (key, value) in more {
                    put(pairs, key, value);
                }
            }
            (value, later) => *value = later,
        }
    }
}

fn read_version(text: &str) -> Result<Value, String> {
    let request = VersionRequest::read(text);
    let request = request.ok_or("accepted are true, false, raw and a version such as v1.37.0")?;
    Ok(Value::Text(request.text().to_owned()))
}

fn read_float(text: &str) -> Result<Value, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite());
    number.map(Value::Float).ok_or_else(|| "accepted is a number".to_owned())
}

/// Parses an integer as Go does: decimal, with the prefix 0x, 0o or 0b, or octal after a plain 0.
fn parse_int(text: &str) -> Option<i64> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let lower = digits.to_ascii_lowercase();
    let (radix, digits) = match lower.get(..2) {
        Some("0x") => (16, lower.get(2..)?),
        Some("0o") => (8, lower.get(2..)?),
        Some("0b") => (2, lower.get(2..)?),
        Some(two) if two.starts_with('0') => (8, lower.get(1..)?),
        _ => (10, lower.as_str()),
    };
    if !digits.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        return None; // a second sign, or nothing
    }
    i64::from_str_radix(&format!("{sign}{digits}"), radix).ok()
}

/// Splits comma-separated items. An item in double quotes may contain commas, and `""` in it is a quote.
fn split_list(text: &str) -> Result<Vec<String>, String> {
    let mut items = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (item, after) = match rest.strip_prefix('"') {
            Some(quoted) => unquote(quoted).ok_or("a double quote is not closed, or text follows it")?,
            None => {
                let (item, after) = rest.split_at(rest.find(',').unwrap_or(rest.len()));
                if item.contains('"') {
                    return Err("quote the whole item, not a part of it".to_owned());
                }
                (item.to_owned(), after)
            }
        };
        items.push(item);
        if after == "," {
            items.push(String::new());
        }
        rest = after.strip_prefix(',').unwrap_or("");
    }
    Ok(items)
}

/// The item up to its closing quote, and the rest: nothing, or a comma and more items.
fn unquote(text: &str) -> Option<(String, &str)> {
    let mut item = String::new();
    let mut rest = text;
    loop {
        let (part, after) = rest.split_once('"')?;
        item.push_str(part);
        match after.strip_prefix('"') {
            Some(more) => {
                item.push('"');
                rest = more;
            }
            None => return (after.is_empty() || after.starts_with(',')).then_some((item, after)),
        }
    }
}

fn read_map(text: &str) -> Result<Value, String> {
    let mut pairs = Vec::new();
    for pair in text.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
        match pair.split_once('=') {
            Some((key, value)) if !key.trim().is_empty() => {
                put(&mut pairs, key.trim().to_owned(), value.trim().to_owned());
            }
            _ => {
                return Err(format!("{pair:?} has no '='; accepted are key=value pairs separated by commas"));
            }
        }
    }
    Ok(Value::Map(pairs))
}

fn put(pairs: &mut Vec<(String, String)>, key: String, value: String) {
    match pairs.iter_mut().find(|(known, _)| *known == key) {
        Some((_, old)) => *old = value,
        None => pairs.push((key, value)),
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(yes) => write!(f, "{yes}"),
            Self::Text(text) => f.write_str(text),
            Self::List(items) => write!(f, "[{}]", items.join(",")),
            Self::Duration(duration) => write!(f, "{duration}"),
            Self::Int(number) => write!(f, "{number}"),
            Self::Float(number) => write!(f, "{number}"),
            Self::Ip(address) => write!(f, "{address}"),
            Self::Map(pairs) => {
                let pairs: Vec<String> = pairs.iter().map(|(key, value)| format!("{key}={value}")).collect();
                f.write_str(&pairs.join(","))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> Vec<String> {
        split_list(text).unwrap()
    }

    #[test]
    fn lists_are_comma_separated_values() {
        assert_eq!(list(""), Vec::<String>::new());
        assert_eq!(list("a,b"), ["a", "b"]);
        assert_eq!(list("a,,b,"), ["a", "", "b", ""]);
        assert_eq!(list(r#""a,b",c"#), ["a,b", "c"]);
        assert_eq!(list(r#""say ""hi""""#), [r#"say "hi""#]);
        assert!(split_list(r#""open"#).is_err());
        assert!(split_list(r#""a"b"#).is_err());
        assert!(split_list(r#"a"b"#).is_err());
    }

    #[test]
    fn whole_numbers_are_read_as_go_reads_them() {
        for (text, number) in
            [("0", 0), ("10", 10), ("-5", -5), ("+5", 5), ("0x10", 16), ("017", 15), ("0b11", 3)]
        {
            assert_eq!(parse_int(text), Some(number), "{text}");
        }
        for text in ["", "-", "--1", "1.5", "ten", "08", "9223372036854775808", "0x", "+-1", "0x-1"] {
            assert_eq!(parse_int(text), None, "{text}");
        }
        assert_eq!(parse_int("-9223372036854775808"), Some(i64::MIN));
    }

    #[test]
    fn a_key_given_twice_in_a_map_has_its_last_value() {
        let Ok(Value::Map(mut pairs)) = Value::read(Kind::Map, "A=true, B = false,A=false") else { panic!() };
        assert_eq!(pairs, [("A".into(), "false".into()), ("B".into(), "false".into())]);
        put(&mut pairs, "B".into(), "true".into());
        assert_eq!(Value::Map(pairs).to_string(), "A=false,B=true");
        assert!(Value::read(Kind::Map, "A").is_err());
    }
}
