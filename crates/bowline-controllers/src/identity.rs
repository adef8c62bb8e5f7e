//! The rail of the identity (SR-3) at work: a cloud whose every answer is looked at for signs of a lost identity, and a
//! fence that is closed while it is lost. All writes, to the cloud and to the cluster, ask that fence; no controller and
//! no provider has to know of it. Only the loss itself may be told: a Service's condition says why nothing happens.
//!
//! Looks go on while the fence is closed: they are how the identity is found again. This file decides nothing, the rail
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

/// Who we are to the cloud, shared by all who talk to it. Clones share it.
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
    /// A fence that is closed while `fence` is, and while the identity is lost.
    #[must_use]
    pub fn fence(&self, fence: Arc<dyn Fence>) -> Arc<dyn Fence> {
        Arc::new(IdentityFence { identity: self.clone(), fence })
    }

    /// The loss, if there is one, and every change of it.
    #[must_use]
    pub fn watch(&self) -> watch::Receiver<Option<Loss>> {
        self.loss.subscribe()
    }

    /// Asks the cloud who we are; whether it did not say anything else than before.
    pub async fn ask(&self, cloud: &dyn Cloud) -> bool {
        let begun = Instant::now();
        match cloud.identity().await {
            Ok(Some(found)) => self.change(|rail| rail.is(found, begun, Instant::now())),
            // It cannot say: its other answers must do.
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

    /// Notes the answer to a call that began at `begun`.
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
