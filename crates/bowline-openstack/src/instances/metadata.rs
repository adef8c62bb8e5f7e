//! What a Node's labels say of its server: zone and instance type. Pure; flavors are handed in.

use std::collections::BTreeMap;

use bowline_cloud::Power;
use openstack_client::FlavorId;
use openstack_client::compute::{Server, ServerFlavor, ServerStatus};

/// The longest value of a label.
const LABEL_MAX: usize = 63;

/// Flavors by their ids, as names. Only read where servers do not tell the name of their flavor, or one that cannot be a
/// label.
pub type FlavorNames = BTreeMap<FlavorId, String>;

/// Whether a text can be the value of a label.
#[must_use]
pub fn is_label_value(text: &str) -> bool {
    let edge = |byte: Option<&u8>| byte.is_none_or(u8::is_ascii_alphanumeric);
    let inner = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let bytes = text.as_bytes();
    bytes.len() <= LABEL_MAX && bytes.iter().all(inner) && edge(bytes.first()) && edge(bytes.last())
}

/// The text as the value of a label, as OCCM makes it: each run of other characters is one `-`, the ends are trimmed, and
/// the cut comes last, so that a long value may end in `-` again.
#[must_use]
pub fn sanitised_label(text: &str) -> String {
    let mut label = String::with_capacity(text.len());
    let mut replaced = false;
    for c in text.chars() {
        let kept = c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if kept {
            label.push(c);
        } else if !replaced {
            label.push('-');
        }
        replaced = !kept;
    }
    // All that is left is ASCII, so that a byte is a character.
    let mut label = label.trim_matches(['-', '_', '.']).to_owned();
    label.truncate(LABEL_MAX);
    label
}

/// The zone of a server; none while it has none.
#[must_use]
pub fn zone(server: &Server) -> Option<String> {
    server.availability_zone.as_deref().map(sanitised_label).filter(|zone| !zone.is_empty())
}

/// Whether a server runs. Only `SHUTOFF` is off, as in OCCM: paused, suspended, shelved and broken servers are not.
#[must_use]
pub fn power(server: &Server) -> Power {
    match &server.status {
        ServerStatus::Shutoff => Power::ShutDown,
        // Nova says that it does not know, or says nothing: no taint is moved on that.
        ServerStatus::Unknown => Power::NotReported,
        ServerStatus::Other(word) if word.is_empty() => Power::NotReported,
        _ => Power::Running,
    }
}

/// The name of the flavor that a server itself tells, where it can be a label. Otherwise flavors must be read.
#[must_use]
pub fn told_type(flavor: &ServerFlavor) -> Option<&str> {
    flavor.original_name.as_deref().filter(|name| is_label_value(name))
}

/// The instance type: the flavor's name if it can be a label, else the flavor's id. None if the flavor is not known.
#[must_use]
pub fn instance_type(flavor: &ServerFlavor, names: &FlavorNames) -> Option<String> {
    if let Some(name) = told_type(flavor) {
        return Some(name.to_owned());
    }
    let (id, name) = match (&flavor.id, &flavor.original_name) {
        (Some(id), _) => names.get_key_value(id)?,
        (None, Some(told)) => names.iter().find(|(_, name)| *name == told)?,
        (None, None) => return None,
    };
    Some(if is_label_value(name) { name.clone() } else { id.to_string() })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn server(fields: &Value) -> Server {
        let mut object = json!({"id": "7b9cf879-7146-417c-abfd-cb4272f0c935"});
        let all = fields.as_object().expect("fields").clone();
        object.as_object_mut().expect("an object").extend(all);
        serde_json::from_value(object).expect("a server")
    }

    fn flavor(fields: Value) -> ServerFlavor {
        serde_json::from_value(fields).expect("a flavor")
    }

    #[test]
    fn a_zone_becomes_a_label_value() {
        let long = format!("{}{}", "a".repeat(62), "-b");
        for (zone, label) in [
            ("nova", "nova"),
            ("AZ 1", "AZ-1"),
            ("AZ  /  1", "AZ-1"),
            (" _.zone._ ", "zone"),
            ("zürich", "z-rich"),
            (long.as_str(), &long[..63]),
            ("a-/b", "a--b"),
            ("///", ""),
        ] {
            assert_eq!(sanitised_label(zone), label, "{zone}");
        }
        assert_eq!(zone(&server(&json!({"OS-EXT-AZ:availability_zone": "AZ 1"}))), Some("AZ-1".into()));
        for none in [json!(""), json!(null), json!("//")] {
            assert_eq!(zone(&server(&json!({"OS-EXT-AZ:availability_zone": none}))), None);
        }
    }

    #[test]
    fn only_a_server_that_is_shut_off_is_off() {
        let power = |status: &str| power(&server(&json!({"status": status})));
        assert_eq!(power("SHUTOFF"), Power::ShutDown);
        for status in
            ["ACTIVE", "PAUSED", "SUSPENDED", "SHELVED_OFFLOADED", "ERROR", "DELETED", "BUILD", "new"]
        {
            assert_eq!(power(status), Power::Running, "{status}");
        }
        assert_eq!((power("UNKNOWN"), power("")), (Power::NotReported, Power::NotReported));
    }

    #[test]
    fn the_instance_type_is_the_flavors_name_where_it_can_be_a_label_and_else_its_id() {
        let names: FlavorNames = [("1", "m1.tiny"), ("2", "m1 with spaces")]
            .map(|(id, name)| (FlavorId::new(id).expect("an id"), name.to_owned()))
            .into();
        for (told, kind) in [
            (json!({"original_name": "m1.large"}), Some("m1.large")),
            (json!({"original_name": "m1 with spaces"}), Some("2")),
            (json!({"id": "1"}), Some("m1.tiny")),
            (json!({"id": "2"}), Some("2")),
            (json!({"id": "9"}), None),
            (json!({"original_name": "gone and odd"}), None),
            (json!({}), None),
        ] {
            assert_eq!(instance_type(&flavor(told.clone()), &names).as_deref(), kind, "{told}");
        }
    }

    #[test]
    fn label_values_begin_and_end_with_a_letter_or_digit() {
        for good in ["", "a", "m1.large", "a_b-c", &"x".repeat(63)] {
            assert!(is_label_value(good), "{good}");
        }
        for bad in ["-a", "a.", "a b", "ä", "a/b", &"x".repeat(64)] {
            assert!(!is_label_value(bad), "{bad}");
        }
    }
}
