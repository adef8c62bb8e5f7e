//! Keeps one controller running (safety rail SR-11): a controller whose cloud service is missing, or that panics, is
//! started again with a growing pause and reported; the others never notice.

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

/// The pause before a controller, or the cloud, is started again.
pub(crate) const PAUSE: Backoff = Backoff { base: Duration::from_secs(1), max: Duration::from_secs(60) };

/// How the reason of a controller begins that has no use here: nobody has to look.
pub(crate) const NOT_STARTED: &str = "not started: ";

/// A controller that ran this long has recovered: its next failure counts as the first.
const RECOVERED_AFTER: Duration = Duration::from_secs(300);

/// How a controller is doing. Clones share it.
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
    /// For the health endpoints: a controller that is down is reported and fails nothing, since a restart of the whole
    /// process would take the healthy ones with it.
    #[must_use]
    pub(crate) fn check(&self) -> CheckOutcome {
        match &*self.0.lock() {
            State::Running => CheckOutcome::Healthy,
            State::Starting => CheckOutcome::Degraded("starting".to_owned()),
            State::NotWanted(why) => CheckOutcome::Degraded(format!("{NOT_STARTED}{why}")),
            State::Down(why) => CheckOutcome::Degraded(why.clone()),
        }
    }

    /// Says that it cannot even be started, and why.
    pub(crate) fn down(&self, why: String) {
        self.set(State::Down(why));
    }

    fn set(&self, state: State) {
        *self.0.lock() = state;
    }
}

/// Runs a controller until `cancel`, whatever happens to it.
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
