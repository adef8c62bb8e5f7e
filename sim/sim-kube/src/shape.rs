//! The forms in which objects are handed out: whole, as table rows, or metadata only (`Accept: …;as=…`).

use serde_json::{Value, json};

use crate::object;
use crate::resource::Resource;
use crate::status::ApiError;

/// The form that the client asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Shape {
    /// The object itself.
    #[default]
    Whole,
    /// Rows for people.
    Table(RowObject),
    /// `PartialObjectMetadata`.
    Metadata,
}

/// What a table's row carries besides its cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum RowObject {
    #[default]
    Metadata,
    Whole,
    Nothing,
}

impl Shape {
    /// Reads an Accept header: the first form that we have.
    pub(crate) fn of_accept(accept: &str, include_object: &str) -> Result<Self, ApiError> {
        if accept.trim().is_empty() {
            return Ok(Self::Whole);
        }
        accept
            .split(',')
            .find_map(|clause| of_clause(clause.trim(), include_object))
            .ok_or_else(ApiError::not_acceptable)
    }

    /// The object in this form.
    pub(crate) fn one(self, resource: &Resource, object: Value, now: jiff::Timestamp) -> Value {
        match self {
            Self::Whole => object,
            Self::Metadata => partial(&object),
            Self::Table(row_object) => {
                let version = object::at(&object, &["metadata", "resourceVersion"]).cloned();
                let meta = version.map_or_else(|| json!({}), |version| json!({"resourceVersion": version}));
                crate::table::table(resource, &meta, std::slice::from_ref(&object), row_object, now)
            }
        }
    }

    /// The list in this form; `meta` is the list's metadata.
    pub(crate) fn many(
        self,
        resource: &Resource,
        meta: &Value,
        mut items: Vec<Value>,
        now: jiff::Timestamp,
    ) -> Value {
        match self {
            Self::Whole => {
                if resource.builtin {
                    items.iter_mut().for_each(forget_type);
                }
                let (kind, version) = (&resource.list_kind, resource.api_version());
                json!({"kind": kind, "apiVersion": version, "metadata": meta, "items": items})
            }
            Self::Metadata => json!({
                "kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": meta,
                "items": items.iter().map(partial).collect::<Vec<_>>(),
            }),
            Self::Table(row_object) => crate::table::table(resource, meta, &items, row_object, now),
        }
    }
}

/// Items of typed lists name no kind; the list's kind says it.
fn forget_type(item: &mut Value) {
    let map = object::map_of(item);
    map.remove("kind");
    map.remove("apiVersion");
}

fn of_clause(clause: &str, include_object: &str) -> Option<Shape> {
    let mut parts = clause.split(';').map(str::trim);
    let media = parts.next()?;
    if !matches!(media, "application/json" | "*/*" | "application/*") {
        return None;
    }
    let parameters: Vec<(&str, &str)> = parts.filter_map(|part| part.split_once('=')).collect();
    let parameter = |name| parameters.iter().find(|(key, _)| *key == name).map(|(_, value)| *value);
    match (parameter("as"), parameter("g"), parameter("v")) {
        (None, _, _) => Some(Shape::Whole),
        (Some("Table"), Some("meta.k8s.io"), Some("v1")) => Some(Shape::Table(match include_object {
            "Object" => RowObject::Whole,
            "None" => RowObject::Nothing,
            _ => RowObject::Metadata,
        })),
        (Some("PartialObjectMetadata" | "PartialObjectMetadataList"), Some("meta.k8s.io"), Some("v1")) => {
            Some(Shape::Metadata)
        }
        _ => None,
    }
}

/// The object's metadata alone.
pub(crate) fn partial(object: &Value) -> Value {
    let meta = object.get("metadata").cloned().unwrap_or_else(|| json!({}));
    json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": meta})
}
