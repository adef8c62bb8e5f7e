//! SIGTERM and SIGINT: the first asks for an orderly end, the second ends at once.

use std::sync::{Arc, OnceLock};

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::exit::{Exit, StopSignal};

/// Which signal came, once one has. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Signals {
    asked: CancellationToken,
    first: Arc<OnceLock<StopSignal>>,
}

impl Signals {
    /// Begins to listen.
    ///
    /// # Errors
    ///
    /// If the system refuses to install the handlers.
    pub fn listen() -> std::io::Result<Self> {
        let (mut terminate, mut interrupt) =
            (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        let signals = Self::default();
        let heard = signals.clone();
        tokio::spawn(async move {
            loop {
                let signal = tokio::select! {
                    _ = terminate.recv() => StopSignal::Terminate,
                    _ = interrupt.recv() => StopSignal::Interrupt,
                };
                if heard.first.set(signal).is_err() {
                    warn!(?signal, "a second signal: ending at once");
                    std::process::exit(Exit::Signal(signal).code().into());
                }
                info!(?signal, "shutting down");
                heard.asked.cancel();
            }
        });
        Ok(signals)
    }

    /// Takes note of a signal as if it had come: for a part of a process that another part ends.
    pub fn note(&self, signal: StopSignal) {
        if self.first.set(signal).is_ok() {
            self.asked.cancel();
        }
    }

    /// Waits for the first signal.
    pub async fn received(&self) -> StopSignal {
        self.asked.cancelled().await;
        self.first.get().copied().unwrap_or(StopSignal::Terminate)
    }
}
