//! The resources that a CustomResourceDefinition makes the server serve.

use serde_json::Value;

use super::Resource;
use crate::object::{at, list, text, texts};

/// One resource for each served version of the definition.
pub(crate) fn from_crd(crd: &Value) -> Vec<Resource> {
    list(crd, &["spec", "versions"])
        .iter()
        .filter(|version| at(version, &["served"]).and_then(Value::as_bool).unwrap_or(false))
        .map(|version| of_version(crd, version))
        .collect()
}

fn of_version(crd: &Value, version: &Value) -> Resource {
    let names = |key| text(crd, &["spec", "names", key]).to_owned();
    let or = |value: String, other: String| if value.is_empty() { other } else { value };
    let kind = names("kind");
    Resource {
        group: text(crd, &["spec", "group"]).to_owned(),
        version: text(version, &["name"]).to_owned(),
        plural: names("plural"),
        singular: or(names("singular"), kind.to_lowercase()),
        list_kind: or(names("listKind"), format!("{kind}List")),
        kind,
        namespaced: text(crd, &["spec", "scope"]) == "Namespaced",
        short_names: texts(crd, &["spec", "names", "shortNames"]),
        categories: texts(crd, &["spec", "names", "categories"]),
        has_status: at(version, &["subresources", "status"]).is_some(),
        has_scale: at(version, &["subresources", "scale"]).is_some(),
        has_generation: true,
        columns: list(version, &["additionalPrinterColumns"]).to_vec(),
        selectable_fields: list(version, &["selectableFields"])
            .iter()
            .map(|field| text(field, &["jsonPath"]).trim_start_matches('.').to_owned())
            .collect(),
        ..Resource::default()
    }
}
