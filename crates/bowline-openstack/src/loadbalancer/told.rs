//! What the owners of Services have been told already: each thing once, not with every look.

use std::collections::{BTreeSet, HashMap};

use bowline_cloud::{About, EventKind, EventSink, ServiceView, Text};
use parking_lot::{Mutex, MutexGuard};

use super::intent::Notice;

/// What was told, by the UID of the Service.
#[derive(Debug, Default)]
pub(super) struct Told(Mutex<HashMap<Text, BTreeSet<(&'static str, String)>>>);

impl Told {
    /// Tells what is new. What does not hold any more is forgotten: it is told again when it comes back.
    pub(super) fn tell(&self, service: &ServiceView, notices: &[Notice], events: &dyn EventSink) {
        if notices.is_empty() && !self.lock().contains_key(&service.uid) {
            return;
        }
        let now: BTreeSet<_> = notices.iter().map(|notice| (notice.reason, notice.message.clone())).collect();
        let before = self.lock().insert(service.uid.clone(), now.clone()).unwrap_or_default();
        for (reason, message) in now.difference(&before) {
            events.emit(About::Service(service), EventKind::Warning, reason, message);
        }
    }

    /// Forgets a Service that is gone.
    pub(super) fn forget(&self, uid: &Text) {
        self.lock().remove(uid);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Text, BTreeSet<(&'static str, String)>>> {
        self.0.lock()
    }
}
