//! What will happen later: effects with the time at which they are due. Nothing runs by itself; whoever asks the cloud
//! something at a time first lets everything happen that was due by then.

use std::collections::BTreeMap;

use jiff::Timestamp;

/// Something the cloud finishes after it has answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// A server leaves its transition: it is built, stopped, started, shelved, or gone.
    Server(String),
    /// A floating IP shows whether it is attached.
    FloatingIp(String),
    /// A load balancer's operation ends.
    LoadBalancer(String),
    /// The children of a load balancer leave PENDING, later than the load balancer itself.
    LoadBalancerChildren(String),
}

/// Effects in the order in which they are due.
#[derive(Clone, Debug, Default)]
pub struct Schedule {
    due: BTreeMap<(Timestamp, u64), Effect>,
    added: u64,
}

impl Schedule {
    /// Adds an effect that is due at `time`. Effects of the same time happen in the order in which they were added.
    pub fn add(&mut self, time: Timestamp, effect: Effect) {
        self.added += 1;
        self.due.insert((time, self.added), effect);
    }

    /// The first effect that is due by `now`, with its time.
    pub fn take_due(&mut self, now: Timestamp) -> Option<(Timestamp, Effect)> {
        let (key, _) = self.due.first_key_value().filter(|((time, _), _)| *time <= now)?;
        let key = *key;
        self.due.remove(&key).map(|effect| (key.0, effect))
    }

    /// When the next effect is due: where a simulation may jump to.
    #[must_use]
    pub fn next_due(&self) -> Option<Timestamp> {
        self.due.first_key_value().map(|((time, _), _)| *time)
    }
}
