//! Enforces the identity rail (SR-3): a wrapper of the cloud that checks every answer for signs of rejected credentials, and a fence that
//! is closed while the identity is lost. All writes, to the cloud and to the cluster, check that fence, so no controller and no provider
//! needs to know of the rail. Only the loss itself may still be reported, in the condition of a Service.
//!
//! Observations continue while the fence is closed, because they show when the identity is restored. This file decides nothing, the rail
//! does (`rails/identity.rs`).

mod watched;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use bowline_cloud::{Cloud, CloudError, ErrorClass, Fence, Fenced, Pause};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::rails::identity::{IdentityRail, Loss, Part};

pub use watched::WatchedCloud;

/// The state of our identity in the cloud. Clones share it.
#[derive(Debug, Clone)]
pub struct CloudIdentity {
    rail: Arc<Mutex<IdentityRail>>,
    loss: watch::Sender<Option<Loss>>,
}

impl Default for CloudIdentity {
    fn default() -> Self {
        Self { rail: Arc::default(), loss: watch::Sender::new(None) }
    }
}

impl CloudIdentity {
    /// A fence that is closed while `fence` is closed, and while the identity is lost.
    #[must_use]
    pub fn fence(&self, fence: Arc<dyn Fence>) -> Arc<dyn Fence> {
        Arc::new(IdentityFence { identity: self.clone(), fence })
    }

    /// The current loss, `None` if there is none. The receiver is notified of every change.
    #[must_use]
    pub fn watch(&self) -> watch::Receiver<Option<Loss>> {
        self.loss.subscribe()
    }

    /// Queries the identity from the cloud. Returns `false` if it differs from the first one, or if the query failed.
    pub async fn ask(&self, cloud: &dyn Cloud) -> bool {
        let begun = Instant::now();
        match cloud.identity().await {
            Ok(Some(found)) => self.change(|rail| rail.is(found, begun, Instant::now())),
            // The cloud cannot report an identity: only its other answers show whether it accepts us.
            Ok(None) => true,
            Err(error) => {
                self.note_error(&Part::Identity, &error);
                false
            }
        }
    }

    fn note_error(&self, part: &Part, error: &CloudError) {
        if error.class() == ErrorClass::Unauthenticated {
            self.refused(part, error.to_string());
        }
    }

    fn refused(&self, part: &Part, why: String) {
        self.change(|rail| rail.refused(part.clone(), why, Instant::now()));
    }

    /// Records the result of a call that began at `begun`.
    fn note<T>(&self, part: &Part, begun: Instant, answer: Result<T, CloudError>) -> Result<T, CloudError> {
        match &answer {
            Ok(_) => self.change(|rail| rail.accepted(begun)),
            Err(error) => self.note_error(part, error),
        }
        answer
    }

    fn change<T>(&self, change: impl FnOnce(&mut IdentityRail) -> T) -> T {
        let mut rail = self.lock();
        let answer = change(&mut rail);
        let loss = rail.loss().cloned();
        self.loss.send_if_modified(|shown| {
            let is_new = *shown != loss;
            *shown = loss;
            is_new
        });
        answer
    }

    fn lock(&self) -> MutexGuard<'_, IdentityRail> {
        self.rail.lock()
    }
}

#[derive(Debug)]
struct IdentityFence {
    identity: CloudIdentity,
    fence: Arc<dyn Fence>,
}

impl Fence for IdentityFence {
    fn check(&self) -> Result<(), Fenced> {
        self.fence.check()?;
        match self.identity.lock().loss() {
            Some(loss) => Err(Fenced { why: loss.to_string() }),
            None => Ok(()),
        }
    }

    fn check_telling(&self) -> Result<(), Fenced> {
        self.fence.check_telling()
    }

    fn paused(&self) -> Option<Pause> {
        self.fence.paused()
    }
}
