//! A runtime with a thread of its own, for servers: what they allocate is not the client's, and neither waits for the other.

use tokio::runtime::{Builder, EnterGuard, Runtime};

/// The runtime. It ends, without waiting for what it runs, when it is dropped.
pub(crate) struct OwnThread(Option<Runtime>);

impl OwnThread {
    pub(crate) fn start() -> std::io::Result<Self> {
        Ok(Self(Some(Builder::new_multi_thread().worker_threads(1).enable_all().build()?)))
    }

    /// While the guard lives, what is spawned here runs there.
    pub(crate) fn enter(&self) -> Option<EnterGuard<'_>> {
        self.0.as_ref().map(Runtime::enter)
    }
}

impl Drop for OwnThread {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            // Asynchronous code may not wait.
            runtime.shutdown_background();
        }
    }
}
