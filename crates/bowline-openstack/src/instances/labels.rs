//! Additional labels of Nodes: the host of the server, and properties of its flavor that cloud.conf names. Pure.
//!
//! All of it comes with the server itself, so labels cost no call. Values are sanitized as zones are.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use openstack_client::compute::Server;

use super::metadata::{is_label_value, sanitised_label};

/// The label that OCCM gives Nodes, too: which host runs the server. Nova hashes it with the project, so that the hosts stay
/// anonymous and projects cannot compare them.
pub const HOST_ID: &str = "topology.openstack.org/host-id";

/// More labels from flavors are refused: each is kept in memory for every server and written to every Node.
const MOST_FLAVOR_LABELS: usize = 32;

/// The longest prefix of a label key.
const LONGEST_PREFIX: usize = 253;

/// Labels of a server. Keys are shared between servers: a project has thousands.
pub type Labels = Box<[(Arc<str>, Box<str>)]>;

/// Which labels a server gives its Node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelRules {
    host_id: Arc<str>,
    /// Properties of flavors (`extra_specs`), and the label that each becomes.
    flavor: Arc<[(String, Arc<str>)]>,
}

impl Default for LabelRules {
    /// The host alone.
    fn default() -> Self {
        Self { host_id: HOST_ID.into(), flavor: Arc::default() }
    }
}

impl LabelRules {
    /// The rules that the values of `flavor-label` are, each `PROPERTY=LABEL`.
    ///
    /// # Errors
    ///
    /// Every value that cannot be used, each with the reason.
    pub fn parse(values: &[String]) -> Result<Self, Vec<String>> {
        let (mut flavor, mut problems, mut labels) = (Vec::new(), Vec::new(), BTreeSet::new());
        for value in values {
            match flavor_label(value) {
                Ok((_, label)) if !labels.insert(label.to_owned()) => {
                    problems.push(format!("{value:?}: the label {label} is given twice"));
                }
                Ok((property, label)) => flavor.push((property.to_owned(), label.into())),
                Err(why) => problems.push(format!("{value:?}: {why}")),
            }
        }
        if values.len() > MOST_FLAVOR_LABELS {
            problems
                .push(format!("found {} labels, accepted are at most {MOST_FLAVOR_LABELS}", values.len()));
        }
        if problems.is_empty() {
            Ok(Self { flavor: flavor.into(), ..Self::default() })
        } else {
            Err(problems)
        }
    }

    /// The labels of a server. What Nova does not tell, or what is empty once sanitized, is left out.
    #[must_use]
    pub(crate) fn labels(&self, server: &Server) -> Labels {
        let host = server.host_id.as_deref().map(|host| (&self.host_id, host));
        let properties = self
            .flavor
            .iter()
            .filter_map(|(property, label)| Some((label, server.flavor.extra_specs.get(property)?.as_str())));
        let label = |(key, value): (&Arc<str>, &str)| {
            let value = sanitised_label(value);
            // A value that was cut may end in a character that labels must not end in.
            let value = value.trim_end_matches(['-', '_', '.']);
            (!value.is_empty()).then(|| (Arc::clone(key), Box::from(value)))
        };
        host.into_iter().chain(properties).filter_map(label).collect()
    }
}

/// Labels as the framework takes them.
pub(super) fn as_map(labels: &Labels) -> BTreeMap<String, String> {
    labels.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect()
}

fn flavor_label(value: &str) -> Result<(&str, &str), String> {
    const WANTED: &str = "wanted PROPERTY=LABEL, such as hw:cpu_policy=example.org/cpu-policy";
    let (property, label) = value.split_once('=').ok_or(WANTED)?;
    let (property, label) = (property.trim(), label.trim());
    if property.is_empty() {
        return Err(WANTED.to_owned());
    }
    let (prefix, name) = label.split_once('/').map_or((None, label), |(prefix, name)| (Some(prefix), name));
    if name.is_empty() || !is_label_value(name) || !prefix.is_none_or(is_dns_name) {
        return Err(format!("{label:?} is no label key; {WANTED}"));
    }
    if prefix.is_some_and(is_reserved) {
        return Err(format!("the domain of {label:?} is reserved by Kubernetes; use a domain of your own"));
    }
    if label == HOST_ID {
        return Err(format!("the label {HOST_ID} is the host of the server"));
    }
    Ok((property, label))
}

fn is_dns_name(text: &str) -> bool {
    let is_part = |part: &str| {
        let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        !part.is_empty() && part.bytes().all(inner) && !part.starts_with('-') && !part.ends_with('-')
    };
    text.len() <= LONGEST_PREFIX && text.split('.').all(is_part)
}

/// The framework skips labels of these domains.
fn is_reserved(domain: &str) -> bool {
    ["kubernetes.io", "k8s.io"].iter().any(|reserved| {
        domain.strip_suffix(reserved).is_some_and(|before| before.is_empty() || before.ends_with('.'))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn server(fields: &Value) -> Server {
        let mut object = json!({"id": "7b9cf879-7146-417c-abfd-cb4272f0c935"});
        object.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        serde_json::from_value(object).unwrap()
    }

    fn labels(rules: &[&str], fields: &Value) -> BTreeMap<String, String> {
        let rules: Vec<String> = rules.iter().map(ToString::to_string).collect();
        as_map(&LabelRules::parse(&rules).unwrap().labels(&server(fields)))
    }

    #[test]
    fn the_host_of_a_server_is_a_label_unless_nova_does_not_tell_it() {
        let host = "5c1c6b8c0a3e0a4b8d3f5c0f4b0e2c3d4e5f60718293a4b5c6d7e8f9";
        assert_eq!(labels(&[], &json!({"hostId": host})), [(HOST_ID.to_owned(), host.to_owned())].into());
        for none in [json!({}), json!({"hostId": ""}), json!({"hostId": null})] {
            assert!(labels(&[], &none).is_empty(), "{none}");
        }
    }

    #[test]
    fn configured_properties_of_the_flavor_become_labels_with_values_that_labels_may_have() {
        let long = format!("{}-{}", "x".repeat(62), "y");
        let specs = json!({"hw:cpu_policy": "dedicated", "resources:VGPU": "1", "trait:X": "<in> a b", "odd": "///",
                           "long": long, "number": 5, "other": "left out"});
        let rules = [
            "hw:cpu_policy=example.org/cpu",
            "resources:VGPU = gpus",
            "trait:X=x",
            "odd=odd",
            "long=long",
            "number=number",
            "absent=absent",
        ];
        let found = labels(&rules, &json!({"flavor": {"original_name": "m1", "extra_specs": specs}}));
        let cut = "x".repeat(62);
        let wanted =
            [("example.org/cpu", "dedicated"), ("gpus", "1"), ("long", cut.as_str()), ("x", "in-a-b")];
        assert_eq!(found, wanted.map(|(key, value)| (key.to_owned(), value.to_owned())).into());
        assert!(labels(&rules, &json!({"flavor": {"original_name": "m1"}})).is_empty());
        assert!(labels(&rules, &json!({"flavor": {"original_name": "m1", "extra_specs": null}})).is_empty());
    }

    #[test]
    fn every_flavor_label_that_cannot_be_used_is_told() {
        let values = [
            "hw:a",
            "=x",
            "a=",
            "a=b c",
            "a=Example.org/x",
            "a=node.kubernetes.io/x",
            "a=k8s.io/x",
            "a=topology.openstack.org/host-id",
            "a=ok",
            "b=ok",
        ];
        let values: Vec<String> = values.iter().map(ToString::to_string).collect();
        let problems = LabelRules::parse(&values).unwrap_err();
        assert_eq!(problems.len(), 9, "{problems:#?}");
        assert!(problems[5].contains("reserved by Kubernetes"), "{}", problems[5]);
        assert_eq!(problems[8], "\"b=ok\": the label ok is given twice");
        let many: Vec<String> = (0..33).map(|n| format!("a=l{n}")).collect();
        assert!(LabelRules::parse(&many).unwrap_err()[0].contains("at most 32"));
    }
}
