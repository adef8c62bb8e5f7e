//! Lists and events on their way out: stored objects are shared up to here and copied only into the answer's text.
//! Runs while the state is not locked.

use std::sync::Arc;

use jiff::Timestamp;
use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::{Value, json};

use crate::resource::Resource;
use crate::shape::Shape;
use crate::verbs::presented;

/// A list that was chosen and not yet written.
#[derive(Debug)]
pub(crate) struct Listing {
    pub(crate) resource: Arc<Resource>,
    pub(crate) shape: Shape,
    /// The list's metadata.
    pub(crate) meta: Value,
    pub(crate) items: Vec<Arc<Value>>,
    /// When it was chosen: ages are shown as of then.
    pub(crate) now: Timestamp,
}

impl Listing {
    /// The list as a document.
    pub(crate) fn body(&self) -> Value {
        let items = self.items.iter().map(|object| presented(&self.resource, object)).collect();
        self.shape.many(&self.resource, &self.meta, items, self.now)
    }

    /// The list as it is sent.
    pub(crate) fn text(&self) -> String {
        if self.shape != Shape::Whole || self.resource.stored_in_core {
            return self.body().to_string();
        }
        // Items of typed lists name no kind; the list's kind says it.
        let named = !self.resource.builtin;
        let items: Vec<Item<'_>> =
            self.items.iter().map(|object| Item { resource: &self.resource, object, named }).collect();
        let head = [
            ("kind", json!(self.resource.list_kind)),
            ("apiVersion", json!(self.resource.api_version())),
            ("metadata", self.meta.clone()),
        ];
        written(&Whole { head: &head, last: ("items", &items) })
    }
}

/// The line of one event about a stored object.
pub(crate) fn event_line(
    kind: &str,
    resource: &Resource,
    shape: Shape,
    object: &Value,
    now: Timestamp,
    columns: bool,
) -> String {
    if shape == Shape::Whole && !resource.stored_in_core {
        let item = Item { resource, object, named: true };
        return written(&Whole { head: &[("type", json!(kind))], last: ("object", &item) });
    }
    let mut shown = shape.one(resource, presented(resource, object), now);
    if let (Shape::Table(_), false) = (shape, columns) {
        crate::object::map_of(&mut shown).insert("columnDefinitions".into(), Value::Null);
    }
    json!({"type": kind, "object": shown}).to_string()
}

/// Some small values and a large one that is not copied.
struct Whole<'a, T> {
    head: &'a [(&'static str, Value)],
    last: (&'static str, &'a T),
}

impl<T: Serialize> Serialize for Whole<'_, T> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let mut map = out.serialize_map(None)?;
        for (key, value) in self.head {
            map.serialize_entry(key, value)?;
        }
        map.serialize_entry(self.last.0, self.last.1)?;
        map.end()
    }
}

/// A stored object as the resource's version shows it.
struct Item<'a> {
    resource: &'a Resource,
    object: &'a Value,
    /// Whether it says its kind.
    named: bool,
}

impl Serialize for Item<'_> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let mut map = out.serialize_map(None)?;
        if self.named {
            map.serialize_entry("kind", &self.resource.kind)?;
            map.serialize_entry("apiVersion", &self.resource.api_version())?;
        }
        let fields = self.object.as_object().into_iter().flatten();
        for (key, value) in fields.filter(|(key, _)| *key != "kind" && *key != "apiVersion") {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

#[expect(
    clippy::expect_used,
    reason = "maps with texts as keys always have a JSON form, and a String takes it"
)]
fn written(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("JSON values are written")
}
