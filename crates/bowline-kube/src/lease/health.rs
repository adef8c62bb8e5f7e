//! The health check of the election: a leader whose elector hangs must be restarted. A standby is always healthy.

use std::time::Duration;

use tokio::{sync::watch, time::Instant};

use super::Leadership;

/// How long after its lease has expired a leader may go without a renewal before the elector counts as stuck.
const TOLERANCE: Duration = Duration::from_secs(20);

/// Checks whether the elector is alive.
#[derive(Debug, Clone)]
pub struct ElectionHealth {
    leadership: watch::Receiver<Leadership>,
    limit: Duration,
}

/// The elector is stuck.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("leading, but the lease was last renewed {ago:?} ago (limit {limit:?}): the elector is stuck")]
pub struct Stale {
    /// The time since the last renewal.
    pub ago: Duration,
    /// The longest time that counts as healthy.
    pub limit: Duration,
}

impl ElectionHealth {
    pub(super) fn new(leadership: watch::Receiver<Leadership>, lease_duration: Duration) -> Self {
        Self { leadership, limit: lease_duration + TOLERANCE }
    }

    /// Checks that a leader still renews its lease.
    ///
    /// # Errors
    ///
    /// [`Stale`] if this process leads and the last renewal is older than the lease duration plus 20 seconds.
    pub fn check(&self) -> Result<(), Stale> {
        let Leadership::Leading { renewed, .. } = &*self.leadership.borrow() else {
            return Ok(());
        };
        let ago = Instant::now().saturating_duration_since(*renewed);
        if ago > self.limit { Err(Stale { ago, limit: self.limit }) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_leader_is_unhealthy_20_seconds_after_its_lease_ran_out_and_a_standby_never() {
        let (sender, receiver) = watch::channel(Leadership::Standby { holder: None });
        let health = ElectionHealth::new(receiver, Duration::from_secs(15));
        tokio::time::advance(Duration::from_secs(3_600)).await;
        assert_eq!(health.check(), Ok(()));
        let now = Instant::now();
        sender.send_replace(Leadership::Leading { since: now, renewed: now, lease_uid: None });
        tokio::time::advance(Duration::from_secs(35)).await;
        assert_eq!(health.check(), Ok(()));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(health.check().unwrap_err().ago, Duration::from_secs(36));
    }
}
