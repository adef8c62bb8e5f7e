//! Takes out what is secret, or may be. Pure. Rather too much than too little: who helps needs names and states, not values.

use bowline_openstack::config::gcfg::{ItemKind, parse};
use bowline_openstack::config::keys::{self, Field, Section};
use serde_json::Value;

/// What stands where something was.
pub const SCRUBBED: &str = "[scrubbed]";

/// Parts of names whose values are secret.
const SECRET_WORDS: [&str; 12] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "credential",
    "authorization",
    "apikey",
    "api-key",
    "private",
    "bearer",
    "cookie",
];

/// Names that sound secret and only refer to something.
const REFERENCES: [&str; 8] = [
    "secretName",
    "secretKeyRef",
    "secretRef",
    "imagePullSecrets",
    "automountServiceAccountToken",
    "serviceAccountToken",
    "secret",
    "tokenExpirationSeconds",
];

/// Texts that are shorter are not taken out of others: they would take half of them away.
const SHORTEST_LITERAL: usize = 4;

/// Whether the value of a name may be secret.
fn sounds_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_WORDS.iter().any(|word| name.contains(word))
}

/// An object of Kubernetes without what is secret in it, and without what nobody needs.
#[must_use]
pub fn object(mut object: Value) -> Value {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations.retain(|key, _value| key != "kubectl.kubernetes.io/last-applied-configuration");
        }
    }
    if object.get("kind").and_then(Value::as_str) == Some("Secret") {
        for part in ["data", "stringData"] {
            object.as_object_mut().map(|fields| fields.remove(part));
        }
    }
    value("", &mut object);
    object
}

/// Takes out what is below a name.
fn value(name: &str, found: &mut Value) {
    match found {
        Value::Object(fields) => {
            // The value of an environment variable is whatever somebody put there.
            let is_variable = name == "env" || name == "envFrom";
            for (key, inside) in fields.iter_mut() {
                let is_text = inside.is_string() || inside.is_number();
                let refers = REFERENCES.contains(&key.as_str());
                // A cloud.conf that somebody wrote into an object of the operator.
                if let (Some(text), true) = (inside.as_str(), name == "cloudConfig" && key == "inline") {
                    *inside = Value::String(cloud_conf(text).0);
                } else if (is_variable && key == "value" || sounds_secret(key) && !refers) && is_text {
                    *inside = Value::String(SCRUBBED.to_owned());
                } else {
                    value(if is_variable { name } else { key }, inside);
                }
            }
        }
        Value::Array(items) => {
            let is_words = name == "args" || name == "command";
            for item in items.iter_mut() {
                match item {
                    Value::String(text) if is_words => *text = flag(text),
                    other => value(name, other),
                }
            }
        }
        Value::String(text) => *text = addresses(text),
        _ => {}
    }
}

/// A word of a command line without the value of a flag that sounds secret.
fn flag(word: &str) -> String {
    match word.split_once('=') {
        Some((name, _value)) if sounds_secret(name) => format!("{name}={SCRUBBED}"),
        _ => addresses(word),
    }
}

/// A text without the password of addresses such as `https://user:password@host`.
fn addresses(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("://") {
        kept.push_str(before);
        kept.push_str("://");
        let end = behind.find(['/', ' ', '"', '\'', '\n']).unwrap_or(behind.len());
        let (authority, after) = behind.split_at(end);
        match authority.rsplit_once('@') {
            Some((_user, host)) => kept.push_str(&format!("{SCRUBBED}@{host}")),
            None => kept.push_str(authority),
        }
        rest = after;
    }
    kept.push_str(rest);
    kept
}

/// A text without these.
#[must_use]
pub fn literal(text: &str, secrets: &[String]) -> String {
    let mut text = text.to_owned();
    for secret in secrets.iter().filter(|secret| secret.len() >= SHORTEST_LITERAL) {
        text = text.replace(secret.as_str(), SCRUBBED);
        // As it stands in JSON.
        let quoted = Value::String(secret.clone()).to_string();
        text = text.replace(quoted.trim_matches('"'), SCRUBBED);
    }
    text
}

/// The keys of a cloud.conf with the values of kinds that cannot be secret, and the values that are secret, to be taken out of
/// everything else.
#[must_use]
pub fn cloud_conf(text: &str) -> (String, Vec<String>) {
    let (mut shown, mut secrets, mut section) = (String::new(), Vec::new(), None);
    for item in parse(text).items() {
        match &item.kind {
            ItemKind::Section(header) => {
                section = Section::find(&header.name);
                let known = section.map_or("(a section that is not known)", Section::name);
                shown.push_str(&format!("[{known}]\n"));
            }
            ItemKind::Entry(entry) => {
                let key = section.and_then(|section| keys::find(section, &entry.key));
                let value = entry.value.as_ref().map(|value| value.text.as_str()).unwrap_or_default();
                match key.map(|key| (key.name, key.field)) {
                    Some((name, Field::Secret(_))) => {
                        secrets.push(value.to_owned());
                        shown.push_str(&format!("{name} = {SCRUBBED}\n"));
                    }
                    Some((name, _field)) if !sounds_secret(name) && !name.contains("contents") => {
                        shown.push_str(&format!("{name} = {}\n", addresses(value)));
                    }
                    Some((name, _field)) => shown.push_str(&format!("{name} = {SCRUBBED}\n")),
                    // What nobody knows may be anything.
                    None => shown.push_str(&format!("(a key that is not known) = {SCRUBBED}\n")),
                }
            }
            ItemKind::Blank | ItemKind::Homeless(_) | ItemKind::Broken => {}
        }
    }
    (shown, secrets)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_object_keeps_what_helps_and_loses_every_value_that_may_be_secret() {
        let pod = json!({
            "kind": "Pod",
            "metadata": {"name": "ccm", "managedFields": [{"x": 1}], "annotations": {
                "kubectl.kubernetes.io/last-applied-configuration": "{\"password\":\"CANARY-1\"}",
                "example.org/api-token": "CANARY-2", "note": "ftp://u:CANARY-3@host/x",
            }},
            "spec": {
                "containers": [{
                    "env": [{"name": "A", "value": "CANARY-4"}, {"name": "B", "valueFrom": {"secretKeyRef": {"name": "cloud", "key": "k"}}}],
                    "args": ["--cluster-name=prod", "--client-secret=CANARY-5", "--proxy=http://u:CANARY-6@p:3128"],
                }],
                "volumes": [{"name": "conf", "secret": {"secretName": "cloud-config"}}],
            },
        });
        let text = object(pod).to_string();
        assert!(!text.contains("CANARY"), "{text}");
        for kept in ["--cluster-name=prod", "cloud-config", "\"ccm\"", "p:3128", "secretKeyRef"] {
            assert!(text.contains(kept), "{kept}: {text}");
        }
        let secret = object(
            json!({"kind": "Secret", "metadata": {"name": "s"}, "data": {"a": "CANARY"}, "stringData": {"b": "CANARY"}}),
        );
        assert!(!secret.to_string().contains("CANARY"), "{secret}");
    }

    #[test]
    fn a_cloud_conf_within_an_object_of_the_operator_keeps_no_secret() {
        let inline = "[Global]\nusername = ops\npassword = CANARY\n[LoadBalancer]\nsubnet-id = s-1\n";
        let wish =
            object(json!({"kind": "CloudControllerManager", "spec": {"cloudConfig": {"inline": inline}}}));
        assert!(
            !wish.to_string().contains("CANARY") && wish.to_string().contains("subnet-id = s-1"),
            "{wish}"
        );
    }

    #[test]
    fn a_cloud_conf_keeps_its_settings_and_its_secrets_are_known_for_the_rest() {
        let text = "stray CANARY\n[Global]\nauth-url = https://u:CANARY@k.example/v3\npassword = CANARY-p\nusername = ops\n\
                    pasword = CANARY-misspelt\n[LoadBalancer]\nsubnet-id = s-1\n[Unknown]\nx = CANARY\n";
        let (shown, secrets) = cloud_conf(text);
        assert!(!shown.contains("CANARY"), "{shown}");
        assert!(
            shown.contains("subnet-id = s-1")
                && shown.contains("username = ops")
                && shown.contains("password = [scrubbed]")
        );
        assert_eq!(secrets, ["CANARY-p"]);
        assert_eq!(literal("it said CANARY-p", &secrets), "it said [scrubbed]");
        assert_eq!(literal("abc", &["a".to_owned()]), "abc", "too short to be looked for");
    }

    #[test]
    fn addresses_lose_who_logs_in_and_nothing_else() {
        assert_eq!(
            addresses("see https://a:b@h.example/x and http://h2"),
            "see https://[scrubbed]@h.example/x and http://h2"
        );
        assert_eq!(addresses("no address"), "no address");
    }
}
