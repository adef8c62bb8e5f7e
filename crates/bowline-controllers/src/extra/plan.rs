//! What an extra controller's answer means for the object it was shown. Pure.

use std::collections::BTreeMap;

use bowline_cloud::{Answer, Pairs, Watched};
use serde_json::{Map, Value, json};

/// Labels and annotations to set (`Some`) or remove (`None`): only what differs from what is there.
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

/// What has to be written so that `object` is as `answer` wants it.
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
}
