//! SIGTERM and SIGINT: the first asks for an orderly end, the second ends at once.

use std::sync::{Arc, OnceLock};

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

/// Which signal came, once one has. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Signals {
    asked: CancellationToken,
    number: Arc<OnceLock<u8>>,
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
                let (name, number) = tokio::select! {
                    _ = terminate.recv() => ("SIGTERM", 15),
                    _ = interrupt.recv() => ("SIGINT", 2),
                };
                if heard.number.set(number).is_err() {
                    warn!(signal = name, "a second signal: ending at once");
                    std::process::exit(128 + i32::from(number));
                }
                info!(signal = name, "shutting down");
                heard.asked.cancel();
            }
        });
        Ok(signals)
    }

    /// Waits for the first signal, and gives its number.
    pub async fn received(&self) -> u8 {
        self.asked.cancelled().await;
        self.number.get().copied().unwrap_or_default()
    }
}
