//! Filters of lists: attributes by value, and tags.

use serde_json::Value;

use crate::http::Query;

/// The four tag filters that Neutron and Octavia share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TagFilter {
    all: Vec<String>,
    any: Vec<String>,
    not_all: Vec<String>,
    not_any: Vec<String>,
}

impl TagFilter {
    /// The names that belong to it.
    pub(crate) const NAMES: [&'static str; 4] = ["tags", "tags-any", "not-tags", "not-tags-any"];

    /// What a query asks for: values separated by commas or given several times.
    pub(crate) fn of(query: &Query) -> Self {
        let tags = |name: &str| {
            let values = query.all(name).flat_map(|value| value.split(','));
            values.filter(|tag| !tag.is_empty()).map(str::to_owned).collect()
        };
        Self {
            all: tags("tags"),
            any: tags("tags-any"),
            not_all: tags("not-tags"),
            not_any: tags("not-tags-any"),
        }
    }

    /// Whether something with these tags is asked for.
    pub(crate) fn accepts(&self, tags: &[String]) -> bool {
        let has = |tag: &String| tags.contains(tag);
        self.all.iter().all(has)
            && (self.any.is_empty() || self.any.iter().any(has))
            && (self.not_all.is_empty() || !self.not_all.iter().all(has))
            && !self.not_any.iter().any(has)
    }
}

/// Attributes with the values that are asked for: any value of each attribute.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Filters {
    wanted: Vec<(String, Vec<String>)>,
}

impl Filters {
    /// All of a query but the names that mean something else.
    pub(crate) fn of(query: &Query, reserved: &[&str]) -> Self {
        let names = query.names().into_iter().filter(|name| !reserved.contains(name));
        let values = |name: &str| query.all(name).map(str::to_owned).collect();
        Self { wanted: names.map(|name| (name.to_owned(), values(name))).collect() }
    }

    /// The attributes that are asked for.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.wanted.iter().map(|(name, _)| name.as_str())
    }

    /// The values that are asked for, if the attribute is.
    pub(crate) fn values(&self, name: &str) -> Option<&[String]> {
        self.wanted.iter().find(|(wanted, _)| wanted == name).map(|(_, values)| values.as_slice())
    }

    /// The same without an attribute, which is then judged elsewhere.
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.wanted.retain(|(wanted, _)| wanted != name);
        self
    }

    /// Whether something is asked for, going by its attributes.
    pub(crate) fn accept(&self, attribute: impl Fn(&str) -> Value) -> bool {
        self.wanted.iter().all(|(name, values)| {
            let actual = attribute(name);
            values.iter().any(|value| equals(&actual, value))
        })
    }
}

/// Whether a value is what the text of a query means.
fn equals(actual: &Value, wanted: &str) -> bool {
    match actual {
        Value::String(text) => text == wanted,
        Value::Bool(value) => {
            let yes = matches!(wanted.to_ascii_lowercase().as_str(), "true" | "1" | "yes" | "t");
            *value == yes
        }
        Value::Number(number) => number.to_string() == wanted,
        Value::Null => wanted.is_empty() || wanted == "None" || wanted == "null",
        Value::Array(values) => values.iter().any(|value| equals(value, wanted)),
        Value::Object(_) => false,
    }
}
