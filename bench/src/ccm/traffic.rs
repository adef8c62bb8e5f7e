//! What passes between a CCM and one of its two servers: requests by name and class, bytes, and when. Counts only; hands nothing on.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bowline_testkit::http::Wire;
use tokio::time::Instant;

/// What kind of request it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Changes something.
    Write,
    /// Changes nothing.
    Read,
    /// Of the cloud: somebody logs in.
    Login,
    /// Of the API server: tells people something.
    Event,
    /// Of the API server: who leads.
    Lease,
}

/// What passed since the last look.
#[derive(Debug, Clone, Default)]
pub struct Ledger {
    /// How many requests of each class and name; a refusal has its status behind the name.
    pub counts: BTreeMap<(Class, String), u64>,
    /// When the first of a class came.
    pub first: BTreeMap<Class, Instant>,
    /// When the latest of a class came.
    pub last: BTreeMap<Class, Instant>,
    /// When the first request came that was no lease: the program is up.
    pub first_look: Option<Instant>,
    /// Bytes that the CCM sent: requests with their headers, as they are on the wire.
    pub sent_bytes: u64,
    /// Bytes that the CCM received.
    pub received_bytes: u64,
}

impl Ledger {
    /// How many requests of a class there were.
    #[must_use]
    pub fn count(&self, class: Class) -> u64 {
        self.counts.iter().filter(|((of, _), _)| *of == class).map(|(_, count)| count).sum()
    }
}

/// The traffic of one side. Clones count together.
#[derive(Clone, Default)]
pub struct Traffic {
    ledger: Arc<Mutex<Ledger>>,
    wire: Wire,
}

impl Traffic {
    /// The traffic of a server with these connections.
    #[must_use]
    pub fn over(wire: Wire) -> Self {
        Self { wire, ..Self::default() }
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A request came at this time, and was answered with this status.
    pub fn add(&self, class: Class, name: String, at: Instant, status: u16) {
        let name = if status < 400 { name } else { format!("{name} → {status}") };
        let mut ledger = self.ledger();
        let first = ledger.first.entry(class).or_insert(at);
        *first = (*first).min(at);
        let last = ledger.last.entry(class).or_insert(at);
        *last = (*last).max(at);
        if class != Class::Lease && ledger.first_look.is_none() {
            ledger.first_look = Some(at);
        }
        *ledger.counts.entry((class, name)).or_default() += 1;
    }

    /// When something of one of these classes came last.
    #[must_use]
    pub fn last(&self, classes: &[Class]) -> Option<Instant> {
        let ledger = self.ledger();
        classes.iter().filter_map(|class| ledger.last.get(class)).max().copied()
    }

    /// What passed since the last time, which is then forgotten.
    #[must_use]
    pub fn take(&self) -> Ledger {
        let mut ledger = std::mem::take(&mut *self.ledger());
        // What the server received, the CCM sent.
        (ledger.sent_bytes, ledger.received_bytes) = self.wire.take();
        ledger
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_takes_what_was_counted_and_leaves_nothing() {
        let traffic = Traffic::default();
        let now = Instant::now();
        traffic.add(Class::Lease, "update leases".to_owned(), now, 200);
        traffic.add(Class::Write, "patch nodes".to_owned(), now, 200);
        traffic.add(Class::Write, "patch nodes".to_owned(), now, 409);
        let ledger = traffic.take();
        assert_eq!(ledger.count(Class::Write), 2);
        assert_eq!(ledger.counts[&(Class::Write, "patch nodes → 409".to_owned())], 1);
        assert_eq!(ledger.first_look, Some(now));
        assert!(traffic.take().counts.is_empty());
    }
}
