//! `--shadow`: the process that only looks. It competes for no Lease and runs no controller; it sees what the controllers would
//! see, and its report is all that it writes.
//!
//! Also the controller behind the report, which a leader with `--adopt-only` runs beside the others.

use std::sync::Arc;

use bowline_cloud::shadow::Mode;
use bowline_cloud::{CloudContext, Fence, Fenced, Pause, Unfenced};
use bowline_controllers::controller::Controller;
use bowline_controllers::service::ServiceOptions;
use bowline_controllers::shadow::{ShadowController, ShadowOptions};
use tracing::{error, info};

use crate::budget::SharedBudget;
use crate::clients::ClientError;
use crate::cluster_uid::cluster_uid;
use crate::exit::Exit;
use crate::options::Options;
use crate::signals::Signals;
use crate::workforce::{Tools, Workforce};

/// A process that only looks.
pub(crate) struct Shadow<'a> {
    /// The flags.
    pub(crate) options: &'a Options,
    /// What it looks with.
    pub(crate) tools: Tools,
    /// When to end.
    pub(crate) signals: Signals,
    /// The call budget of the cloud.
    pub(crate) budget: Arc<SharedBudget>,
    /// Who reports.
    pub(crate) identity: String,
    /// The version of the binary.
    pub(crate) version: String,
}

impl Shadow<'_> {
    /// Runs to the end.
    pub(crate) async fn run(self) -> Exit {
        info!("shadow mode: looking and planning; nothing is written but the report");
        let workforce = match Workforce::new(self.tools.clone()) {
            Ok(workforce) => workforce,
            Err(error) => return failed(&error),
        };
        let exit = tokio::select! {
            signal = self.signals.received() => Exit::Signal(signal),
            Err(error) = self.look(&workforce) => failed(&error),
            () = workforce.broken() => failed(&"an informer ended; this is a bug, see the log"),
        };
        workforce.end(self.options.shutdown_grace).await;
        exit
    }

    /// Looks for ever; returns only if it cannot even begin.
    async fn look(&self, workforce: &Workforce) -> Result<std::convert::Infallible, ClientError> {
        let root = self.tools.clients.root("shadow-report")?;
        // Before the cloud is initialized: that it does not answer is the first thing to report.
        let controller = controller(self.options, Mode::Shadow, &self.identity, &self.version);
        workforce.report(controller, Arc::new(Unfenced))?;
        // No events: they would be written.
        let context = CloudContext::new(self.options.cloud.cluster_name.as_str())
            .with_budget(self.budget.clone())
            .with_cluster_uid(cluster_uid(&root).await)
            .with_journal(self.tools.status.journal())
            .with_stop(workforce.stopping());
        workforce.initialize_cloud(&context).await;
        std::future::pending().await
    }
}

fn failed(why: &dyn std::fmt::Display) -> Exit {
    error!("{why}");
    Exit::Fatal
}

/// Who reports what would be done.
pub(crate) fn controller(options: &Options, mode: Mode, holder: &str, version: &str) -> Arc<dyn Controller> {
    let shadow = &options.shadow;
    Arc::new(ShadowController::new(ShadowOptions {
        mode,
        version: version.to_owned(),
        cluster_name: options.cloud.cluster_name.as_str().into(),
        holder: holder.to_owned(),
        report: shadow.report.clone(),
        period: shadow.period,
        batch: ServiceOptions::default().background_batch,
    }))
}

/// A fence that lets the report pass while a person paused all changes: it changes none.
#[derive(Debug)]
struct DespitePause(Arc<dyn Fence>);

/// `fence`, open also while all changes are paused.
pub(crate) fn despite_pause(fence: Arc<dyn Fence>) -> Arc<dyn Fence> {
    Arc::new(DespitePause(fence))
}

impl Fence for DespitePause {
    fn check(&self) -> Result<(), Fenced> {
        if self.0.paused().is_some() { Ok(()) } else { self.0.check() }
    }

    fn paused(&self) -> Option<Pause> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pause::{ByFlag, paused_by};

    #[test]
    fn a_pause_does_not_hold_the_report() {
        let paused = paused_by(Arc::new(Unfenced), Arc::new(ByFlag));
        assert!(paused.check().is_err());
        assert!(despite_pause(paused).check().is_ok());
    }
}
