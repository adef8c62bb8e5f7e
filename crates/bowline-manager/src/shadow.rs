//! `--shadow`: a read-only process. It does not compete for the Lease and runs no controllers; it observes what the controllers would
//! observe, and writes nothing but its report.
//!
//! This module also creates the controller that writes the report. A leader with `--adopt-only` runs it beside the other controllers.

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

/// A read-only process that plans and reports.
pub(crate) struct Shadow<'a> {
    pub(crate) options: &'a Options,
    /// What the informers and the report controller need.
    pub(crate) tools: Tools,
    /// Reports SIGTERM and SIGINT.
    pub(crate) signals: Signals,
    /// The rate limiter for calls to the cloud.
    pub(crate) budget: Arc<SharedBudget>,
    /// The identity of this process, named in the report.
    pub(crate) identity: String,
    pub(crate) version: String,
}

impl Shadow<'_> {
    /// Runs until a signal or an error ends it.
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

    /// Runs the informers and the report controller forever. Returns only if they cannot be started.
    async fn look(&self, workforce: &Workforce) -> Result<std::convert::Infallible, ClientError> {
        let root = self.tools.clients.root("shadow-report")?;
        // Started before the cloud is initialized, so that a cloud that does not respond is reported too.
        let controller = controller(self.options, Mode::Shadow, &self.identity, &self.version);
        workforce.report(controller, Arc::new(Unfenced))?;
        // No event sink: emitting events would be a write.
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

/// The controller that writes the shadow report.
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

/// A fence that stays open during a pause, for the report: it changes nothing in the cloud, Services or Nodes.
#[derive(Debug)]
struct DespitePause(Arc<dyn Fence>);

/// Wraps `fence` so that it is open during a pause.
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
