//! Secrets: their type, and `stringData`, which is written but never read back.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::object::{map_at, map_of};

pub(super) fn default(secret: &mut Value) {
    map_of(secret).entry("type").or_insert_with(|| json!("Opaque"));
    let Some(Value::Object(texts)) = map_of(secret).remove("stringData") else { return };
    for (key, text) in texts {
        let encoded = STANDARD.encode(text.as_str().unwrap_or_default());
        map_at(secret, &["data"]).insert(key, json!(encoded));
    }
}
