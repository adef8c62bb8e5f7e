//! The events of a leader election, on the Lease, with client-go's wording. The owner of the elector calls this.

use k8s_openapi::api::core::v1::ObjectReference;

use super::LeaseConfig;
use bowline_core::EventKind;

use crate::events::EventRecorder;

/// What the event reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum News {
    /// This process became the leader.
    BecameLeader,
    /// This process is no longer the leader.
    StoppedLeading,
}

/// Emits the event for `news`. `lease_uid` comes from [`super::Leadership::Leading`].
pub fn announce(recorder: &EventRecorder, lease: &LeaseConfig, lease_uid: Option<&str>, news: News) {
    let reference = lease_reference(&lease.namespace, &lease.name, lease_uid);
    let what = match news {
        News::BecameLeader => "became leader",
        News::StoppedLeading => "stopped leading",
    };
    recorder.event(&reference, EventKind::Normal, "LeaderElection", &format!("{} {what}", lease.identity));
}

/// A Lease as the involved object of an event.
#[must_use]
pub fn lease_reference(namespace: &str, name: &str, uid: Option<&str>) -> ObjectReference {
    ObjectReference {
        api_version: Some("coordination.k8s.io/v1".to_owned()),
        kind: Some("Lease".to_owned()),
        namespace: Some(namespace.to_owned()),
        name: Some(name.to_owned()),
        uid: uid.map(ToOwned::to_owned),
        ..ObjectReference::default()
    }
}
