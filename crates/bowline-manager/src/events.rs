//! Connects events: events of the cloud provider go to the recorder, and every recorded event goes to the status page's journal.

use bowline_cloud::{About, EventKind, EventNote, EventSink, Journal, Note};
use bowline_controllers::view::{node_reference, service_reference};
use bowline_kube::events::{EventRecorder, EventWitness};
use k8s_openapi::api::core::v1::ObjectReference;

/// Emits the cloud provider's events as Kubernetes events.
pub(crate) struct CloudEvents(pub(crate) EventRecorder);

impl EventSink for CloudEvents {
    fn emit(&self, about: About<'_>, kind: EventKind, reason: &str, message: &str) {
        let object = match about {
            About::Node(node) => node_reference(node),
            About::Service(service) => service_reference(service),
        };
        self.0.event(&object, kind, reason, message);
    }
}

/// Copies recorded events to the journal.
#[derive(Debug)]
pub(crate) struct NotedEvents(pub(crate) Journal);

impl EventWitness for NotedEvents {
    fn recorded(&self, object: &ObjectReference, kind: EventKind, reason: &str, message: &str) {
        self.0.note(|| Note::Event(noted(object, kind, reason, message)));
    }
}

fn noted(object: &ObjectReference, kind: EventKind, reason: &str, message: &str) -> EventNote {
    let text = |part: &Option<String>| part.clone().unwrap_or_default();
    let (of_kind, name) = (text(&object.kind), text(&object.name));
    let about = match object.namespace.as_deref().filter(|namespace| !namespace.is_empty()) {
        Some(namespace) if of_kind != "Node" => format!("{of_kind} {namespace}/{name}"),
        _ => format!("{of_kind} {name}"),
    };
    EventNote { about, kind, reason: reason.to_owned(), message: message.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_noted_with_what_it_is_about_as_people_write_it() {
        let object = |kind: &str, namespace: Option<&str>, name: &str| ObjectReference {
            kind: Some(kind.to_owned()),
            namespace: namespace.map(str::to_owned),
            name: Some(name.to_owned()),
            ..ObjectReference::default()
        };
        for (object, about) in [
            (object("Service", Some("shop"), "web"), "Service shop/web"),
            (object("Node", Some("default"), "n1"), "Node n1"),
            (object("Node", None, "n2"), "Node n2"),
        ] {
            let noted = noted(&object, EventKind::Warning, "Failed", "no quota");
            assert_eq!(noted.about, about);
            assert_eq!((noted.reason.as_str(), noted.message.as_str()), ("Failed", "no quota"));
        }
    }
}
