//! The chart's values as one table: `values.yaml` with its comments, `values.schema.json` and the chart's README come from it.
//! Beside it, the rights of the manager as templates. The other templates are written by hand, in deploy/chart/templates.

mod page;
mod rights;
mod rows;
mod schema;
#[cfg(test)]
mod tests;
mod values;

pub use self::page::page;
pub use self::rights::rights;
pub use self::schema::schema;
pub use self::values::values;

use serde_json::Value;

/// A value of the chart.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    /// Where it is, with dots between.
    pub(crate) path: &'static str,
    /// What it may be.
    pub(crate) kind: Kind,
    /// What it is if nobody says anything, as JSON.
    pub(crate) default: &'static str,
    /// What it does.
    pub(crate) doc: &'static str,
    /// Its counterpart in the chart of cloud-provider-openstack.
    pub(crate) occm: Occm,
}

/// What a value may be.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    /// Yes or no.
    Flag,
    /// A whole number between two.
    Count(i64, i64),
    /// Any text.
    Text,
    /// A text that a pattern describes.
    Pattern(&'static str),
    /// One of some words.
    Choice(&'static [&'static str]),
    /// A list of texts.
    Texts,
    /// Texts by name, as labels and annotations are.
    TextsByName,
    /// Yes or no by name.
    FlagsByName,
    /// An object of Kubernetes, of the type that is named; the API server checks it.
    Object(&'static str),
    /// A list of such objects.
    Objects(&'static str),
    /// A list of texts, or one text with a list in YAML, or an empty object: as the other chart has it.
    TextsOrYaml,
    /// A list of names, or of objects with a name: as the other chart has it.
    NamesOrReferences,
    /// A section of cloud.conf.
    Section(bowline_openstack::config::keys::Section),
}

/// What the chart of cloud-provider-openstack has in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Occm {
    /// Nothing.
    New,
    /// A value of the same name that means the same.
    Same,
    /// A value of the same name with a difference.
    Differs(&'static str),
}

/// The part of a tree at the end of a path, made if it is not there.
fn at<'a>(tree: &'a mut Value, path: &str) -> Option<&'a mut Value> {
    path.split('.').try_fold(tree, |here, word| {
        if here.is_null() {
            *here = Value::Object(serde_json::Map::new());
        }
        Some(here.as_object_mut()?.entry(word).or_insert(Value::Null))
    })
}
