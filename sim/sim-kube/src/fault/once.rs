//! Faults that hit one request each. A rule waits for the first request that it chooses and is forgotten then.

use parking_lot::Mutex;

use super::{Reply, Verdict};
use crate::request::RequestInfo;

type Chosen = Box<dyn Fn(&RequestInfo) -> bool + Send>;

/// What a rule for a request does when its request comes.
pub(crate) type Before = Box<dyn FnOnce(&RequestInfo) -> Verdict + Send>;

/// Rules in the order in which they were added.
pub(crate) struct Queue<T>(Mutex<Vec<(Chosen, T)>>);

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> Queue<T> {
    pub(crate) fn add(&self, chosen: Chosen, rule: T) {
        crate::server::locked(&self.0).push((chosen, rule));
    }

    /// The first rule that chooses the request; it is forgotten.
    pub(crate) fn take(&self, request: &RequestInfo) -> Option<T> {
        let mut rules = crate::server::locked(&self.0);
        let at = rules.iter().position(|(chosen, _)| chosen(request))?;
        Some(rules.remove(at).1)
    }
}

/// Rules for requests before they take effect, and for answers after it.
#[derive(Default)]
pub(crate) struct Once {
    pub(crate) before: Queue<Before>,
    pub(crate) after: Queue<Reply>,
}
