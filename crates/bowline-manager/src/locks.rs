//! The Leases of this process: one elector for the main Lease, and one for the migration Lease if leader migration is on. Each elector runs
//! as a task on the [`ElectionRuntime`], so that work never delays a renewal.

use std::sync::OnceLock;

use bowline_kube::lease::{
    ElectionHealth, Elector, Ended, Leadership, LeaseConfig, LeaseFence, Lost, ReleaseError, Released,
};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use crate::election_runtime::{ElectionRuntime, Work};

/// A Lease that this process competes for or holds.
pub struct Lock {
    config: LeaseConfig,
    fence: LeaseFence,
    health: ElectionHealth,
    leadership: watch::Receiver<Leadership>,
    /// Set once this process leads, to the UID of the Lease (`None` if the API server returned none).
    led: OnceLock<Option<String>>,
    stop: CancellationToken,
    task: JoinHandle<Finished>,
}

/// How the task of an elector ended.
enum Finished {
    /// The Lease was lost or given up, and was not released.
    Lost,
    /// The task was stopped and tried to release the Lease.
    Released(Result<Released, ReleaseError>),
}

impl Lock {
    /// Starts to compete on the caller's runtime.
    #[must_use]
    pub fn compete(config: LeaseConfig, elector: Elector) -> Self {
        Self::compete_on(&ElectionRuntime::of_caller(), config, elector)
    }

    /// Starts to compete on `runtime`. The client of the elector must have been created on the same runtime.
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

    /// The configuration of the election: the Lease, the identity of this process, and the durations.
    #[must_use]
    pub fn config(&self) -> &LeaseConfig {
        &self.config
    }

    /// The UID of the Lease. `None` if this process has never led.
    #[must_use]
    pub fn lease_uid(&self) -> Option<String> {
        self.led.get().cloned().flatten()
    }

    /// Whether this process has ever led.
    #[must_use]
    pub fn has_led(&self) -> bool {
        self.led.get().is_some()
    }

    /// The fence that must be checked before every change made under this Lease.
    #[must_use]
    pub fn fence(&self) -> LeaseFence {
        self.fence.clone()
    }

    /// The check of the election for the health endpoints.
    #[must_use]
    pub fn health(&self) -> ElectionHealth {
        self.health.clone()
    }

    /// The current leadership. The receiver is notified of every change.
    #[must_use]
    pub fn leadership(&self) -> watch::Receiver<Leadership> {
        self.leadership.clone()
    }

    /// Waits until this process leads.
    ///
    /// # Errors
    ///
    /// If the Lease is lost before.
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

    /// Waits until the Lease is lost and returns the reason. An elector that ended unexpectedly also counts as a loss.
    pub async fn lost(&self) -> Lost {
        let mut leadership = self.leadership.clone();
        let reached = leadership.wait_for(|now| matches!(now, Leadership::Lost { .. })).await;
        match reached.as_deref() {
            Ok(Leadership::Lost { why }) => why.clone(),
            Ok(_) | Err(_) => elector_gone(self.name()),
        }
    }

    /// Stops the elector and releases the Lease if this process holds it. All work under the Lease must have ended before.
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

/// Runs an election on the electors' runtime, including the release of the Lease, because the connections of the client are tasks of that
/// runtime.
async fn take_part(mut elector: Elector, stop: CancellationToken, work: Work) -> Finished {
    let hung = tokio::select! {
        biased;
        ended = elector.run(&stop) => match ended {
            // Also released by a standby: it may have been cancelled during its first write of the Lease.
            Ended::Cancelled => return Finished::Released(elector.release().await),
            Ended::Lost(_) => return Finished::Lost,
        },
        hung = work.hangs() => hung,
    };
    // The Lease is not released, because the work in flight may still make changes. It expires by itself.
    elector.give_up(Lost::Hung { after: hung });
    Finished::Lost
}

/// The loss reported when the elector ended unexpectedly: without renewals this process must not lead.
fn elector_gone(lease: &str) -> Lost {
    Lost::TakenBy(format!("nobody: the elector of lease {lease} ended; this is a bug"))
}
