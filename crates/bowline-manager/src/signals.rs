//! SIGTERM and SIGINT: the first signal starts an orderly shutdown, the second ends the process immediately.

use std::sync::{Arc, OnceLock};

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::exit::{Exit, StopSignal};

/// The first signal received, if any. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Signals {
    asked: CancellationToken,
    first: Arc<OnceLock<StopSignal>>,
}

impl Signals {
    /// Installs the signal handlers and starts to listen.
    ///
    /// # Errors
    ///
    /// If the operating system refuses the signal handlers.
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

    /// Records a signal as if the process had received it. For managers embedded in another program, which decides when they stop.
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
