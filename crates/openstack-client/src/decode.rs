//! Decoding of answers: optional fields may be absent, null or empty; required fields may not.

use std::{collections::BTreeMap, fmt, marker::PhantomData, net::IpAddr};

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, DeserializeSeed, Error as _, IgnoredAny, MapAccess, Visitor},
};
use serde_json::{Map, Value};

/// Treats null like an absent field.
pub(crate) fn or_default<'de, D, T>(input: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(input)?.unwrap_or_default())
}

/// Strings by key. Null means none; values that are not strings are omitted.
pub(crate) fn texts<'de, D: Deserializer<'de>>(input: D) -> Result<BTreeMap<String, String>, D::Error> {
    #[derive(serde::Deserialize)]
    #[serde(untagged)]
    enum Item {
        Text(String),
        Other(IgnoredAny),
    }
    let items = Option::<BTreeMap<String, Item>>::deserialize(input)?.unwrap_or_default();
    let text = |(name, item)| match item {
        Item::Text(text) => Some((name, text)),
        Item::Other(_) => None,
    };
    Ok(items.into_iter().filter_map(text).collect())
}

/// An optional value that some services return as an empty string.
pub(crate) fn non_empty<'de, D, T>(input: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    match Option::<Value>::deserialize(input)? {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.is_empty() => Ok(None),
        Some(value) => T::deserialize(value).map(Some).map_err(D::Error::custom),
    }
}

/// An optional address that some services return as an empty string. Any other value must be a valid address.
pub(crate) fn address<'de, D: Deserializer<'de>>(input: D) -> Result<Option<IpAddr>, D::Error> {
    non_empty(input)
}

/// The ids of a list such as `"listeners": [{"id": …}]`; null means none. Fully populated answers contain complete objects, of which only
/// the id is read.
pub(crate) fn id_list<'de, D, T>(input: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    let list = Option::<Vec<Map<String, Value>>>::deserialize(input)?.unwrap_or_default();
    list.into_iter()
        .map(|mut object| {
            let id = object.remove("id").ok_or_else(|| D::Error::custom("an object without an id"))?;
            T::deserialize(id).map_err(D::Error::custom)
        })
        .collect()
}

/// The value below `key`, in which services wrap their answers. An answer without the key is an error: it must never be taken for an empty
/// result.
pub(crate) fn unwrap<T: DeserializeOwned>(body: &[u8], key: &str) -> Result<T, String> {
    let mut input = serde_json::Deserializer::from_slice(body);
    let found = Wrapped { key, _value: PhantomData::<fn() -> T> }.deserialize(&mut input);
    let found = found.and_then(|found| input.end().map(|()| found));
    found.map_err(|error| unreadable(&error, body))?.ok_or_else(|| format!("it has no {key:?}"))
}

/// Decodes the value below `key` while parsing. An intermediate JSON value would take several times the memory.
struct Wrapped<'k, T> {
    key: &'k str,
    _value: PhantomData<fn() -> T>,
}

impl<'de, T: DeserializeOwned> DeserializeSeed<'de> for Wrapped<'_, T> {
    type Value = Option<T>;

    fn deserialize<D: Deserializer<'de>>(self, input: D) -> Result<Option<T>, D::Error> {
        input.deserialize_map(self)
    }
}

impl<'de, T: DeserializeOwned> Visitor<'de> for Wrapped<'_, T> {
    type Value = Option<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object with {:?}", self.key)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Option<T>, A::Error> {
        let mut found = None;
        while let Some(key) = map.next_key::<String>()? {
            if key == self.key {
                found = Some(map.next_value()?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}

/// Describes why a body cannot be decoded, without quoting it.
pub(crate) fn unreadable(error: &serde_json::Error, body: &[u8]) -> String {
    if body.is_empty() {
        return "it is empty".to_owned();
    }
    match error.classify() {
        serde_json::error::Category::Eof => format!("it is cut off after {} bytes", body.len()),
        serde_json::error::Category::Data => brief(&error.to_string()),
        _ => format!("it is not JSON (line {}, column {})", error.line(), error.column()),
    }
}

/// A message on one line, truncated to 200 characters. It may contain quoted input and is written to logs.
pub(crate) fn brief(text: &str) -> String {
    const LONGEST: usize = 200;
    let text = text.replace(char::is_control, " ");
    if text.chars().count() <= LONGEST {
        return text;
    }
    text.chars().take(LONGEST).chain(['…']).collect()
}
