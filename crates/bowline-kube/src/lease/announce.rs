//! The events of an election, on the Lease, in client-go's words. Whoever runs the elector calls this.

use k8s_openapi::api::core::v1::ObjectReference;

use super::LeaseConfig;
use bowline_cloud::EventKind;

use crate::events::EventRecorder;

/// What there is to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum News {
    /// We lead now.
    BecameLeader,
    /// We lead no more.
    StoppedLeading,
}

/// What events about a Lease refer to.
#[must_use]
pub fn lease_reference(lease: &LeaseConfig, lease_uid: Option<&str>) -> ObjectReference {
    ObjectReference {
        api_version: Some("coordination.k8s.io/v1".to_owned()),
        kind: Some("Lease".to_owned()),
        namespace: Some(lease.namespace.clone()),
        name: Some(lease.name.clone()),
        uid: lease_uid.map(ToOwned::to_owned),
        ..ObjectReference::default()
    }
}

/// Writes the event for `news`; `lease_uid` comes with [`super::Leadership::Leading`].
pub fn announce(recorder: &EventRecorder, lease: &LeaseConfig, lease_uid: Option<&str>, news: News) {
    let reference = lease_reference(lease, lease_uid);
    let what = match news {
        News::BecameLeader => "became leader",
        News::StoppedLeading => "stopped leading",
    };
    recorder.event(&reference, EventKind::Normal, "LeaderElection", &format!("{} {what}", lease.identity));
}
