//! The locks of this process: one elector for the main Lease, and one for the migration Lease if there is one.
//! Each runs in a task of its own, on the runtime that [`ElectionRuntime`] names, so that work never delays a renewal.

use std::sync::OnceLock;

use bowline_kube::lease::{
    ElectionHealth, Elector, Ended, Leadership, LeaseConfig, LeaseFence, Lost, ReleaseError, Released,
};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use crate::election_runtime::{ElectionRuntime, Work};

/// A Lease that this process competes for, or holds.
pub struct Lock {
    config: LeaseConfig,
    fence: LeaseFence,
    health: ElectionHealth,
    leadership: watch::Receiver<Leadership>,
    /// Set once we lead, to the UID of the Lease.
    led: OnceLock<Option<String>>,
    stop: CancellationToken,
    task: JoinHandle<Finished>,
}

/// How the task of an elector finished.
enum Finished {
    /// The Lease was lost, or given up.
    Lost,
    /// The task was asked to end, and tried to give the Lease back.
    Released(Result<Released, ReleaseError>),
}

impl Lock {
    /// Starts to compete, on the runtime of the caller.
    #[must_use]
    pub fn compete(config: LeaseConfig, elector: Elector) -> Self {
        Self::compete_on(&ElectionRuntime::of_caller(), config, elector)
    }

    /// Starts to compete. The client of the elector must have been made on the same runtime.
    #[must_use]
    pub fn compete_on(runtime: &ElectionRuntime, config: LeaseConfig, elector: Elector) -> Self {
        let stop = CancellationToken::new();
        Self {
            config,
            fence: elector.fence(),
            health: elector.health(),
            leadership: elector.leadership(),
            led: OnceLock::new(),
            stop: stop.clone(),
            task: runtime.handle().spawn(take_part(elector, stop, runtime.work())),
        }
    }

    /// The name of the Lease.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.config.name
    }

    /// What is competed for, and as whom.
    #[must_use]
    pub fn config(&self) -> &LeaseConfig {
        &self.config
    }

    /// The UID of the Lease, if we ever held it.
    #[must_use]
    pub fn lease_uid(&self) -> Option<String> {
        self.led.get().cloned().flatten()
    }

    /// Whether we ever held it.
    #[must_use]
    pub fn has_led(&self) -> bool {
        self.led.get().is_some()
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

    /// Who leads, and every change of it.
    #[must_use]
    pub fn leadership(&self) -> watch::Receiver<Leadership> {
        self.leadership.clone()
    }

    /// Waits until this process leads.
    ///
    /// # Errors
    ///
    /// If it is lost before.
    pub async fn leading(&self) -> Result<(), Lost> {
        let mut leadership = self.leadership.clone();
        let reached = leadership.wait_for(|now| !matches!(now, Leadership::Standby { .. })).await;
        match reached.as_deref() {
            Ok(Leadership::Leading { lease_uid, .. }) => {
                self.led.get_or_init(|| lease_uid.clone());
                Ok(())
            }
            Ok(Leadership::Lost { why }) => Err(why.clone()),
            Ok(Leadership::Standby { .. }) | Err(_) => Err(elector_gone(self.name())),
        }
    }

    /// Waits until the lock is lost, for whatever reason.
    pub async fn lost(&self) -> Lost {
        let mut leadership = self.leadership.clone();
        let reached = leadership.wait_for(|now| matches!(now, Leadership::Lost { .. })).await;
        match reached.as_deref() {
            Ok(Leadership::Lost { why }) => why.clone(),
            Ok(_) | Err(_) => elector_gone(self.name()),
        }
    }

    /// Gives the Lease back, if it is ours. All work under it must have ended.
    pub async fn release(self) {
        let name = self.config.name;
        self.stop.cancel();
        match self.task.await {
            Ok(Finished::Lost) => {}
            Ok(Finished::Released(Ok(Released::Done))) => info!(lease = name, "released the lease"),
            Ok(Finished::Released(Ok(other))) => {
                info!(lease = name, ?other, "there was no lease to release");
            }
            Ok(Finished::Released(Err(error))) => {
                warn!(lease = name, %error, "could not release the lease");
            }
            Err(error) => error!(lease = name, %error, "the elector failed; the lease runs out by itself"),
        }
    }
}

/// All of an election, on the runtime of the electors. Giving the Lease back is part of it: the connections of the client
/// are tasks of that runtime, too.
async fn take_part(mut elector: Elector, stop: CancellationToken, work: Work) -> Finished {
    let hung = tokio::select! {
        biased;
        ended = elector.run(&stop) => match ended {
            // Also for one that only stood by: it may have been cancelled in the middle of its first write.
            Ended::Cancelled => return Finished::Released(elector.release().await),
            Ended::Lost(_) => return Finished::Lost,
        },
        hung = work.hangs() => hung,
    };
    // The Lease is not given back: nobody can say what the work in flight still does. It runs out by itself.
    elector.give_up(Lost::Hung { after: hung });
    Finished::Lost
}

/// The task ended without a word: nobody renews, so nobody may lead.
fn elector_gone(lease: &str) -> Lost {
    Lost::TakenBy(format!("nobody: the elector of lease {lease} ended; this is a bug"))
}
