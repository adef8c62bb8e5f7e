//! The locks of this process: one elector for the main Lease, and one for the migration Lease if there is one.
//! Each runs in a task of its own, so that slow work never delays a renewal.

use bowline_kube::lease::{Elector, ElectionHealth, Ended, Leadership, LeaseFence, Lost, Released};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

/// A Lease that this process competes for, or holds.
pub struct Lock {
    name: String,
    fence: LeaseFence,
    health: ElectionHealth,
    leadership: watch::Receiver<Leadership>,
    stop: CancellationToken,
    task: JoinHandle<(Elector, Ended)>,
}

impl Lock {
    /// Starts to compete.
    #[must_use]
    pub fn compete(name: &str, mut elector: Elector) -> Self {
        let stop = CancellationToken::new();
        Self {
            name: name.to_owned(),
            fence: elector.fence(),
            health: elector.health(),
            leadership: elector.leadership(),
            stop: stop.clone(),
            task: tokio::spawn(async move {
                let ended = elector.run(&stop).await;
                (elector, ended)
            }),
        }
    }

    /// The fence to ask before every change made under this lock.
    #[must_use]
    pub fn fence(&self) -> LeaseFence {
        self.fence.clone()
    }

    /// The check for the health endpoints.
    #[must_use]
    pub fn health(&self) -> ElectionHealth {
        self.health.clone()
    }

    /// Waits until this process leads, and gives the UID of the Lease.
    ///
    /// # Errors
    ///
    /// If it is lost before.
    pub async fn leading(&self) -> Result<Option<String>, Lost> {
        let mut leadership = self.leadership.clone();
        let reached = leadership.wait_for(|now| !matches!(now, Leadership::Standby { .. })).await;
        match reached.as_deref() {
            Ok(Leadership::Leading { lease_uid, .. }) => Ok(lease_uid.clone()),
            Ok(Leadership::Lost { why }) => Err(why.clone()),
            Ok(Leadership::Standby { .. }) | Err(_) => Err(elector_gone(&self.name)),
        }
    }

    /// Waits until the lock is lost, for whatever reason.
    pub async fn lost(&self) -> Lost {
        let mut leadership = self.leadership.clone();
        let reached = leadership.wait_for(|now| matches!(now, Leadership::Lost { .. })).await;
        match reached.as_deref() {
            Ok(Leadership::Lost { why }) => why.clone(),
            Ok(_) | Err(_) => elector_gone(&self.name),
        }
    }

    /// Whether this process leads now.
    #[must_use]
    pub fn is_leading(&self) -> bool {
        matches!(&*self.leadership.borrow(), Leadership::Leading { .. })
    }

    /// Gives the Lease back. All work under it must have ended.
    pub async fn release(self) {
        let led = self.is_leading();
        self.stop.cancel();
        let mut elector = match self.task.await {
            Ok((elector, Ended::Cancelled)) if led => elector,
            Ok(_not_ours) => return,
            Err(error) => {
                error!(lease = self.name, %error, "the elector failed; the lease runs out by itself");
                return;
            }
        };
        match elector.release().await {
            Ok(Released::Done) => info!(lease = self.name, "released the lease"),
            Ok(other) => info!(lease = self.name, ?other, "there was no lease to release"),
            Err(error) => warn!(lease = self.name, %error, "could not release the lease"),
        }
    }
}

/// The task ended without a word: nobody renews, so nobody may lead.
fn elector_gone(lease: &str) -> Lost {
    Lost::TakenBy(format!("nobody: the elector of lease {lease} ended; this is a bug"))
}
