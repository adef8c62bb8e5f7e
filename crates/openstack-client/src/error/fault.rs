//! The error formats of the services. Pure and infallible: a body in no known format is described as a page.

use serde_json::{Map, Value};

/// The error format, named after the service or framework that writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// `{"NeutronError": {"type", "message", "detail"}}`
    Neutron,
    /// `{"<kind>": {"code", "message"}}`
    Nova,
    /// `{"faultcode", "faultstring", "debuginfo"}`
    Octavia,
    /// `{"code", "title", "description"}`: Barbican, and Octavia below pools and for unknown paths.
    Pecan,
    /// `{"error": {"code", "title", "message"}}`: Keystone, and the authentication middleware in front of all other services.
    Keystone,
    /// `{"message", "code", "title"}`: a path that Nova does not know.
    Webob,
}

/// An error as the service wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) dialect: Dialect,
    /// The error type of the service.
    pub(crate) kind: String,
    /// The message, cleaned and truncated.
    pub(crate) message: String,
}

/// The fault in the body of an answer; `None` if the body is in no known format.
pub(crate) fn parse(body: &[u8]) -> Option<Fault> {
    let object: Map<String, Value> = serde_json::from_slice(body).ok()?;
    let (dialect, kind, message) = recognise(&object)?;
    Some(Fault { dialect, kind: clean(&kind, 80), message: clean(before_dump(dialect, &message), 400) })
}

/// The part of Keystone's message before it quotes a schema or the whole request, which contains the secret.
fn before_dump(dialect: Dialect, message: &str) -> &str {
    if dialect != Dialect::Keystone {
        return message;
    }
    let ends = ["Failed validating", "On instance", "{"].iter().filter_map(|words| message.find(words));
    ends.min().and_then(|end| message.get(..end)).unwrap_or(message)
}

fn recognise(object: &Map<String, Value>) -> Option<(Dialect, String, String)> {
    let text = |key: &str| object.get(key).and_then(Value::as_str).map(ToOwned::to_owned);
    if let Some(error) = object.get("NeutronError") {
        // Very old releases return only the text.
        let message = error.as_str().map(ToOwned::to_owned).or_else(|| field(error, "message"));
        return Some((
            Dialect::Neutron,
            field(error, "type").unwrap_or_default(),
            message.unwrap_or_default(),
        ));
    }
    if let Some(message) = text("faultstring") {
        return Some((Dialect::Octavia, text("faultcode").unwrap_or_default(), message));
    }
    if let Some(error @ Value::Object(_)) = object.get("error") {
        let message = field(error, "message").unwrap_or_default();
        return Some((Dialect::Keystone, field(error, "title").unwrap_or_default(), message));
    }
    if let (Some(title), Some(description)) = (text("title"), text("description")) {
        return Some((Dialect::Pecan, title, description));
    }
    if let (Some(title), Some(message)) = (text("title"), text("message")) {
        return Some((Dialect::Webob, title, message));
    }
    let mut members = object.iter();
    match (members.next(), members.next()) {
        (Some((kind, inner)), None) if inner.get("code").is_some() => {
            Some((Dialect::Nova, kind.clone(), field(inner, "message").unwrap_or_default()))
        }
        _ => None,
    }
}

fn field(value: &Value, key: &str) -> Option<String> {
    value.get(key)?.as_str().map(ToOwned::to_owned)
}

/// A short description of a body that is in no known error format.
pub(crate) fn describe_page(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let lower = text.to_ascii_lowercase();
    if text.trim().is_empty() {
        return "an empty answer".to_owned();
    }
    if lower.contains("<html") || lower.trim_start().starts_with("<!doctype html") {
        // ASCII lower-casing does not change byte offsets.
        let title = lower.find("<title>").and_then(|start| {
            let rest = text.get(start + "<title>".len()..)?;
            let end = rest.to_ascii_lowercase().find("</title>")?;
            rest.get(..end)
        });
        return match title {
            Some(title) => format!("an HTML page titled {:?}", clean(title, 100)),
            None => "an HTML page".to_owned(),
        };
    }
    if text.trim_start().starts_with('{') {
        return "JSON that is no error of the service".to_owned();
    }
    format!("the text {:?}", clean(&text, 100))
}

/// The text on one line, truncated to `longest` characters, without line-break tags, control characters and repeated spaces.
pub(crate) fn clean(text: &str, longest: usize) -> String {
    let text = text.replace("<br />", " ");
    let mut line = String::new();
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()) {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if line.chars().count() <= longest {
        return line;
    }
    line.chars().take(longest).chain(['…']).collect()
}
