//! The changes to an object that follow from the answer of a provider-specific controller. Pure.

use std::collections::BTreeMap;

use bowline_cloud::{Answer, Pairs, Watched};
use serde_json::{Map, Value, json};

use crate::view::{keeps_node_annotation, keeps_service_annotation};

/// Labels and annotations to set (`Some`) or remove (`None`); only those that differ.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MetadataChange {
    /// Changes of labels.
    pub labels: BTreeMap<String, Option<String>>,
    /// Changes of annotations.
    pub annotations: BTreeMap<String, Option<String>>,
}

impl MetadataChange {
    /// Whether there is nothing to write.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.annotations.is_empty()
    }

    /// The merge patch of the object.
    #[must_use]
    pub fn merge_patch(&self) -> Value {
        let mut metadata = Map::new();
        for (field, wanted) in [("labels", &self.labels), ("annotations", &self.annotations)] {
            if !wanted.is_empty() {
                metadata.insert(field.to_owned(), json!(wanted));
            }
        }
        json!({ "metadata": metadata })
    }
}

/// An annotation that the informer's projection drops: the controller would never see it, and write it again and again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "cannot set the annotation {key} on {object}: it is not in what controllers are shown of an object (too long, or \
     another component's state), so that it would be written again and again; use another key or a shorter value"
)]
pub struct NotShown {
    /// The key of the annotation.
    pub key: String,
    /// The object, as text.
    pub object: String,
}

impl MetadataChange {
    /// Drops the annotations that would never appear in the view of `object`, and returns them separately.
    #[must_use]
    pub fn that_is_shown(mut self, object: &Watched) -> (Self, Vec<NotShown>) {
        let is_shown = |key: &str, value: &Option<String>| match object {
            Watched::Node(_) => keeps_node_annotation(key, value.as_deref().unwrap_or_default()),
            Watched::Service(_) => keeps_service_annotation(key),
        };
        let name = match object {
            Watched::Node(node) => format!("Node {}", node.name),
            Watched::Service(service) => format!("Service {}/{}", service.namespace, service.name),
        };
        let (shown, refused): (BTreeMap<_, _>, BTreeMap<_, _>) =
            self.annotations.into_iter().partition(|(key, value)| is_shown(key, value));
        self.annotations = shown;
        let refused = refused.into_keys().map(|key| NotShown { key, object: name.clone() }).collect();
        (self, refused)
    }
}

/// The changes after which `object` matches `answer`.
#[must_use]
pub fn plan(object: &Watched, answer: &Answer) -> MetadataChange {
    let (labels, annotations) = match object {
        Watched::Node(node) => (&node.labels, &node.annotations),
        Watched::Service(service) => (&service.labels, &service.annotations),
    };
    MetadataChange {
        labels: difference(labels, &answer.labels),
        annotations: difference(annotations, &answer.annotations),
    }
}

fn difference(there: &Pairs, wanted: &BTreeMap<String, Option<String>>) -> BTreeMap<String, Option<String>> {
    let differs = |(key, value): &(&String, &Option<String>)| there.get(key) != value.as_deref();
    wanted.iter().filter(differs).map(|(key, value)| (key.clone(), value.clone())).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bowline_cloud::NodeView;

    use super::*;

    fn node(labels: &[(&str, &str)]) -> Watched {
        let labels = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Watched::Node(Arc::new(NodeView { labels, ..NodeView::default() }))
    }

    fn wants(labels: &[(&str, Option<&str>)]) -> Answer {
        let labels =
            labels.iter().map(|(key, value)| ((*key).to_owned(), value.map(str::to_owned))).collect();
        Answer { labels, ..Answer::default() }
    }

    #[test]
    fn only_what_differs_is_written() {
        let change = plan(
            &node(&[("same", "1"), ("other", "1"), ("unwanted", "1"), ("foreign", "1")]),
            &wants(&[("same", Some("1")), ("other", Some("2")), ("new", Some("3")), ("unwanted", None)]),
        );
        assert_eq!(
            change.merge_patch(),
            json!({"metadata": {"labels": {"new": "3", "other": "2", "unwanted": null}}})
        );
    }

    #[test]
    fn an_object_that_is_as_wanted_costs_no_write() {
        let change = plan(&node(&[("same", "1")]), &wants(&[("same", Some("1")), ("never-there", None)]));
        assert!(change.is_empty());
        assert!(plan(&node(&[]), &Answer::default()).is_empty());
    }

    #[test]
    fn what_would_never_be_seen_again_is_refused_with_a_reason_and_the_rest_is_written() {
        let long = "x".repeat(2000);
        let annotations = [("csi.volume.kubernetes.io/nodeid", "a"), ("long", &long), ("short", "b")];
        let annotations: BTreeMap<_, _> =
            annotations.map(|(key, value)| (key.to_owned(), Some(value.to_owned()))).into();
        let answer = Answer { annotations, ..Answer::default() };
        let (change, refused) = plan(&node(&[]), &answer).that_is_shown(&node(&[]));
        assert_eq!(change.merge_patch(), json!({"metadata": {"annotations": {"short": "b"}}}));
        let keys: Vec<_> = refused.iter().map(|refused| refused.key.as_str()).collect();
        assert_eq!(keys, ["csi.volume.kubernetes.io/nodeid", "long"]);
        assert!(refused[0].to_string().contains("use another key"), "{}", refused[0]);
        let service = Watched::Service(Arc::default());
        let applied = "kubectl.kubernetes.io/last-applied-configuration".to_owned();
        let answer = Answer { annotations: [(applied, Some("{}".to_owned()))].into(), ..Answer::default() };
        let (change, refused) = plan(&service, &answer).that_is_shown(&service);
        assert!(change.is_empty() && refused.len() == 1);
    }
}
