//! Notes in the journal how each Service stands, for the status page. It decides nothing, and without a journal it does nothing.

use bowline_cloud::journal::cut;
use bowline_cloud::{AnyObserved, Note, ServiceKey, ServiceNote, Standing};
use bowline_kube::informer::ObjectKey;

use super::work::{Job, Work};

/// Load balancers of more members are not drawn.
const MOST_DRAWN: usize = 1_000;

impl Work {
    /// Notes how a Service stands after a look at it.
    pub(super) fn stands(&self, job: &Job, standing: impl FnOnce() -> Standing) {
        self.note_standing(&job.key, standing);
    }

    pub(super) fn note_standing(&self, key: &ObjectKey, standing: impl FnOnce() -> Standing) {
        let note = || Note::Service(ServiceNote { service: service_key(key), standing: standing() });
        self.context.journal.note(note);
    }

    /// Notes what was seen in the cloud, unless it is so much that drawing it would cost more than looking did.
    pub(super) fn seen(&self, job: &Job, observed: &dyn AnyObserved) {
        let members = job.request.nodes.nodes.len().saturating_mul(job.service().ports.len());
        if !self.context.journal.is_kept() || members > MOST_DRAWN {
            return;
        }
        if let Some(picture) = observed.picture() {
            self.context.journal.note(|| Note::Balancer(service_key(&job.key), Box::new(picture)));
        }
    }

    /// Notes that a rail holds a Service, and counts it.
    pub(super) fn note_held(&self, key: &ObjectKey, rail: &'static str, why: &str) {
        self.context.note_held(rail, || format!("Service {key}"), why);
        self.note_standing(key, || Standing::Held { rail, why: cut(why) });
    }

    /// Notes that nothing is to be done for a Service any more.
    pub(super) fn note_gone(&self, key: &ObjectKey) {
        self.context.journal.note(|| Note::ServiceGone(service_key(key)));
    }
}

fn service_key(key: &ObjectKey) -> ServiceKey {
    let namespace = key.namespace().unwrap_or_default().to_owned();
    ServiceKey { namespace, name: key.name().to_owned() }
}
