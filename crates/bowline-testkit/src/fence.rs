//! The fence of tests: open, closed or paused, as the test says at each moment.

use std::sync::Arc;

use bowline_cloud::{Fence, Fenced, PAUSED, Pause};
use parking_lot::{Mutex, MutexGuard};

/// A fence that a test opens, closes and pauses. Open at first; clones are the same fence.
#[derive(Debug, Clone, Default)]
pub struct TestFence(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    closed: Option<String>,
    paused: Option<Pause>,
}

impl TestFence {
    /// A fence that is closed, as after the loss of the lease.
    #[must_use]
    pub fn closed() -> Self {
        let fence = Self::default();
        fence.close();
        fence
    }

    /// A fence that is paused; see [`pause`](Self::pause).
    #[must_use]
    pub fn paused_for(why: &str) -> Self {
        let fence = Self::default();
        fence.pause(why);
        fence
    }

    /// Refuses every check from now on.
    pub fn close(&self) {
        self.state().closed = Some("the lease ran out".to_owned());
    }

    /// Allows every check from now on, unless it is paused.
    pub fn open(&self) {
        self.state().closed = None;
    }

    /// Refuses every check and reports a pause, until [`resume`](Self::resume).
    pub fn pause(&self, why: &str) {
        self.state().paused =
            Some(Pause { why: why.to_owned(), until: format!("the annotation {PAUSED} is taken off") });
    }

    /// Ends the pause.
    pub fn resume(&self) {
        self.state().paused = None;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock()
    }
}

impl Fence for TestFence {
    fn check(&self) -> Result<(), Fenced> {
        let state = self.state();
        let pause = state.paused.as_ref().map(ToString::to_string);
        state.closed.clone().or(pause).map_or(Ok(()), |why| Err(Fenced { why }))
    }

    fn paused(&self) -> Option<Pause> {
        self.state().paused.clone()
    }
}
