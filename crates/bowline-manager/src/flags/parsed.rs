//! A parsed command line: every flag of the table with its value. Reading a value never fails.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use super::go::GoDuration;
use super::table::FlagTable;
use super::value::Value;
use super::version::VersionRequest;

/// The values of all flags, given or default.
///
/// The accessors must be called with names of the table and their kinds. Any other name or kind is a bug: it fails in tests, and returns
/// the empty value otherwise.
#[derive(Debug, Clone, PartialEq)]
pub struct Parsed {
    values: BTreeMap<&'static str, Value>,
    given: Vec<&'static str>,
}

macro_rules! accessor {
    ($(#[$doc:meta])* $name:ident, $variant:ident, $type:ty, $empty:expr, |$value:ident| $read:expr) => {
        $(#[$doc])*
        #[must_use]
        pub fn $name(&self, name: &str) -> $type {
            match self.values.get(name) {
                Some(Value::$variant($value)) => $read,
                other => {
                    debug_assert!(false, "--{name} is {other:?}, asked for as {}", stringify!($variant));
                    $empty
                }
            }
        }
    };
}

impl Parsed {
    pub(super) fn new(table: &FlagTable, given: BTreeMap<&'static str, Value>) -> Self {
        let names: Vec<&'static str> = given.keys().copied().collect();
        let mut values = given;
        for row in table.rows() {
            if !values.contains_key(row.name)
                && let Ok(default) = Value::default_of(row)
            {
                values.insert(row.name, default);
            }
        }
        Self { values, given: names }
    }

    /// No values, for a table that is invalid.
    pub(crate) fn empty() -> Self {
        Self { values: BTreeMap::new(), given: Vec::new() }
    }

    /// Whether the flag was on the command line, even with its default value.
    #[must_use]
    pub fn is_given(&self, name: &str) -> bool {
        self.given.contains(&name)
    }

    /// The names of the flags that were given, sorted.
    #[must_use]
    pub fn given(&self) -> &[&'static str] {
        &self.given
    }

    /// All names and printed values, sorted, for `/flagz`.
    #[must_use]
    pub fn listing(&self) -> Vec<(String, String)> {
        self.values.iter().map(|(name, value)| ((*name).to_owned(), value.to_string())).collect()
    }

    /// The printed values of one flag: the items of a list, or a single value.
    #[must_use]
    pub fn texts(&self, name: &str) -> Vec<String> {
        match self.values.get(name) {
            Some(Value::List(items)) => items.clone(),
            Some(value) => vec![value.to_string()],
            None => Vec::new(),
        }
    }

    /// The request of `--version`.
    #[must_use]
    pub fn version(&self) -> VersionRequest {
        VersionRequest::read(self.text("version")).unwrap_or_default()
    }

    accessor!(
        /// A boolean.
        bool, Bool, bool, false, |yes| *yes
    );
    accessor!(
        /// A text.
        text, Text, &str, "", |text| text
    );
    accessor!(
        /// The items of a list or of a repeated flag.
        list, List, &[String], &[], |items| items
    );
    accessor!(
        /// A duration, which may be negative.
        duration, Duration, GoDuration, GoDuration::default(), |duration| *duration
    );
    accessor!(
        /// A whole number.
        int, Int, i64, 0, |number| *number
    );
    accessor!(
        /// A number; always finite.
        float, Float, f64, 0.0, |number| *number
    );
    accessor!(
        /// An address.
        ip, Ip, IpAddr, IpAddr::V4(Ipv4Addr::UNSPECIFIED), |address| *address
    );
    accessor!(
        /// The pairs of a map, in the order of first mention.
        map, Map, &[(String, String)], &[], |pairs| pairs
    );
}
