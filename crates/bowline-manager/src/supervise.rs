//! Supervises one controller (safety rail SR-11): a controller that panics, or whose cloud service is unavailable, is restarted with
//! exponential backoff and reported. The other controllers are not affected.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use bowline_controllers::controller::{Controller, ControllerContext, Stopped};
use bowline_kube::queue::Backoff;
use futures::FutureExt;
use parking_lot::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use crate::serving::CheckOutcome;

/// The backoff before a controller is restarted, or the initialization of the cloud is retried.
pub(crate) const PAUSE: Backoff = Backoff { base: Duration::from_secs(1), max: Duration::from_secs(60) };

/// The prefix of the reason of a controller that is not wanted with these options or this cloud. Such a controller needs no attention.
pub(crate) const NOT_STARTED: &str = "not started: ";

/// After running this long, a controller counts as recovered: its backoff starts again at the base.
const RECOVERED_AFTER: Duration = Duration::from_secs(300);

/// The state of a controller. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct ControllerState(Arc<Mutex<State>>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    Starting,
    Running,
    NotWanted(String),
    Down(String),
}

impl Default for ControllerState {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(State::Starting)))
    }
}

impl ControllerState {
    /// The result for the health endpoints. A controller that is down only degrades them: a failed check would restart the whole process,
    /// including the healthy controllers.
    #[must_use]
    pub(crate) fn check(&self) -> CheckOutcome {
        match &*self.0.lock() {
            State::Running => CheckOutcome::Healthy,
            State::Starting => CheckOutcome::Degraded("starting".to_owned()),
            State::NotWanted(why) => CheckOutcome::Degraded(format!("{NOT_STARTED}{why}")),
            State::Down(why) => CheckOutcome::Degraded(why.clone()),
        }
    }

    /// Marks the controller as down because it cannot be started.
    pub(crate) fn down(&self, why: String) {
        self.set(State::Down(why));
    }

    fn set(&self, state: State) {
        *self.0.lock() = state;
    }
}

/// Runs a controller until `cancel` is cancelled, and restarts it whenever it ends. Returns early only if the controller reports that it is
/// not wanted.
pub(crate) async fn supervise(
    controller: Arc<dyn Controller>,
    context: ControllerContext,
    state: ControllerState,
    cancel: CancellationToken,
) {
    let name = controller.name().canonical.clone();
    let alias = controller.name().alias.clone();
    let metrics = context.metrics.clone();
    let mut failures = 0;
    loop {
        info!(controller = name, "controller started");
        state.set(State::Running);
        metrics.set_running(&alias, true);
        metrics.set_unavailable(&name, false);
        let began = Instant::now();
        let run = AssertUnwindSafe(controller.run(context.clone(), cancel.clone())).catch_unwind().await;
        metrics.set_running(&alias, false);
        if cancel.is_cancelled() {
            info!(controller = name, "stopped");
            return;
        }
        let why = match run {
            Ok(Err(Stopped::NotWanted(why))) => {
                warn!(controller = name, why, "not started");
                state.set(State::NotWanted(why));
                return;
            }
            Ok(Err(Stopped::Unavailable(why))) => why,
            Ok(Ok(())) => "it ended although nobody asked it to; this is a bug".to_owned(),
            Err(_panic) => "it panicked; this is a bug, see the log".to_owned(),
        };
        failures = if began.elapsed() >= RECOVERED_AFTER { 1 } else { failures + 1 };
        let pause = PAUSE.delay(failures);
        error!(controller = name, why, ?pause, "down, will be started again");
        state.set(State::Down(why));
        metrics.set_unavailable(&name, true);
        metrics.restarted(&name);
        if cancel.run_until_cancelled(tokio::time::sleep(pause)).await.is_none() {
            return;
        }
    }
}

#[cfg(test)]
mod tests;
