//! An answer of either cloud, in the form in which the two are compared.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::Response;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Status, headers and body of an answer.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// The headers by their names in small letters; several values of one header are joined by commas.
    pub headers: BTreeMap<String, String>,
    /// The document, or the text if it is no JSON; an empty text if there is none.
    pub body: Value,
}

impl Answer {
    /// Reads a response.
    #[must_use]
    pub fn read(response: &Response<Bytes>) -> Self {
        let mut headers: BTreeMap<String, String> = BTreeMap::new();
        for (name, value) in response.headers() {
            let value = String::from_utf8_lossy(value.as_bytes());
            let joined = headers.entry(name.as_str().to_owned()).or_default();
            if !joined.is_empty() {
                joined.push_str(", ");
            }
            joined.push_str(&value);
        }
        let text = String::from_utf8_lossy(response.body());
        let body = serde_json::from_str(&text).unwrap_or_else(|_| Value::String(text.into_owned()));
        Self { status: response.status().as_u16(), headers, body }
    }

    /// Whether it says that what was asked was done.
    #[must_use]
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }
}
