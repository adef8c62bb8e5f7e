//! Hands a cloud's events to the recorder.

use bowline_cloud::{About, EventKind, EventSink};
use bowline_controllers::view::{node_reference, service_reference};
use bowline_kube::events::EventRecorder;

/// The events of a cloud.
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
