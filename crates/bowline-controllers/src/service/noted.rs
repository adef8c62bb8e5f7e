//! The annotations of a provider that we wrote and the informer has not shown yet: so that they are not taken for a user's
//! edit, nor written twice. Pure but for the clock; forgotten as soon as the informer shows them.

use std::sync::Arc;
use std::time::Duration;

use bowline_cloud::{Notes, ServiceView, Text};
use tokio::time::Instant;

/// After this time the informer has shown what this process wrote, or what another client wrote over it: an informer that falls behind may
/// skip states in between.
pub(super) const SHOWN_WITHIN: Duration = Duration::from_secs(60);

/// What we wrote, or are about to.
#[derive(Debug, Clone)]
pub(super) struct Noted {
    /// On which Service: another may have its name.
    uid: Text,
    notes: Notes,
    at: Instant,
}

impl Noted {
    /// What is written on `service` now, and before, if that was not shown yet.
    pub(super) fn on(service: &ServiceView, notes: &Notes, before: Option<&Self>) -> Self {
        let mut all = before.filter(|before| before.holds_for(service)).map(|before| before.notes.clone());
        all.get_or_insert_default().extend(notes.clone());
        Self { uid: service.uid.clone(), notes: all.unwrap_or_default(), at: Instant::now() }
    }

    /// Whether it is about this Service, and not too long ago.
    pub(super) fn holds_for(&self, service: &ServiceView) -> bool {
        self.uid == service.uid && self.at.elapsed() < SHOWN_WITHIN
    }

    pub(super) fn notes(&self) -> &Notes {
        &self.notes
    }
}

/// `service` as it is with these notes on it.
pub(super) fn with_notes(service: &Arc<ServiceView>, notes: &Notes) -> Arc<ServiceView> {
    if notes.stand_in(&service.annotations) {
        return service.clone();
    }
    let annotations = notes.written_on(&service.annotations);
    Arc::new(ServiceView { annotations, ..ServiceView::clone(service) })
}
