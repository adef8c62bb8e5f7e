//! How answers are decoded: what may be absent, null or empty is forgiven, what matters is not.

use std::{collections::BTreeMap, fmt, marker::PhantomData, net::IpAddr};

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, DeserializeSeed, Error as _, IgnoredAny, MapAccess, Visitor},
};
use serde_json::{Map, Value};

/// Null is the same as absent.
pub(crate) fn or_default<'de, D, T>(input: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(input)?.unwrap_or_default())
}

/// Texts by their names; null is none, and values that are no text are left out.
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

/// An optional value that some services write as an empty text.
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

/// An optional address that some services write as an empty text. One that is there must be an address.
pub(crate) fn address<'de, D: Deserializer<'de>>(input: D) -> Result<Option<IpAddr>, D::Error> {
    non_empty(input)
}

/// Objects that hold nothing but an id, such as `"listeners": [{"id": …}]`; null is none. A fully populated answer
/// holds the whole objects there, of which only the id is taken.
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

/// The value below `key` of a JSON object: services wrap what they answer. An answer without it is not understood, and
/// must never pass for an empty one.
pub(crate) fn unwrap<T: DeserializeOwned>(body: &[u8], key: &str) -> Result<T, String> {
    let mut input = serde_json::Deserializer::from_slice(body);
    let found = Wrapped { key, _value: PhantomData::<fn() -> T> }.deserialize(&mut input);
    let found = found.and_then(|found| input.end().map(|()| found));
    found.map_err(|error| unreadable(&error, body))?.ok_or_else(|| format!("it has no {key:?}"))
}

/// Reads the value below `key` right where it stands: as JSON values in between, it would take several times the room.
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

/// Says why a body is no JSON, without quoting it.
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

/// A message of a bounded length on one line: what was read may be quoted in it, and it goes to logs.
pub(crate) fn brief(text: &str) -> String {
    const LONGEST: usize = 200;
    let text = text.replace(char::is_control, " ");
    if text.chars().count() <= LONGEST {
        return text;
    }
    text.chars().take(LONGEST).chain(['…']).collect()
}
