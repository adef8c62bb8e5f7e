//! The forms in which the services write their errors. Pure; never fails: what is no fault of a service is a page.

use serde_json::{Map, Value};

/// Whose form an error has.
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
    /// `{"error": {"code", "title", "message"}}`: Keystone, and the guard before every other service.
    Keystone,
    /// `{"message", "code", "title"}`: a path that Nova does not know.
    Webob,
}

/// An error as a service wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) dialect: Dialect,
    /// The service's own word for it.
    pub(crate) kind: String,
    /// Its text, cleaned and cut.
    pub(crate) message: String,
}

/// The fault in the body of an answer, if a service wrote it.
pub(crate) fn parse(body: &[u8]) -> Option<Fault> {
    let object: Map<String, Value> = serde_json::from_slice(body).ok()?;
    let (dialect, kind, message) = recognise(&object)?;
    Some(Fault { dialect, kind: clean(&kind, 80), message: clean(before_dump(dialect, &message), 400) })
}

/// What Keystone says before it prints a schema, or the whole request, which holds a secret in some form or other.
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
        // Very old releases write the text alone.
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

/// What a body that is no fault looks like, in a few words.
pub(crate) fn describe_page(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let lower = text.to_ascii_lowercase();
    if text.trim().is_empty() {
        return "an empty answer".to_owned();
    }
    if lower.contains("<html") || lower.trim_start().starts_with("<!doctype html") {
        // Lower-casing ASCII keeps every offset.
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

/// One line of bounded length without markup, control characters or doubled spaces.
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
