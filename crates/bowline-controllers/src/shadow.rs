//! Shadow mode: looks at every Service and every Node as the controllers do, plans as they do, and reports what would be done.
//!
//! `look` asks the cloud, `judge` says what a plan means for users, `preview` is both for one Service, `report` puts it together within bounds. The plans are
//! the provider's own, from the same wish and the same set of nodes that the service controller has: there is no second
//! planner. Nothing is written but the report. In adopt-only mode the same runs beside the controllers that write.

mod judge;
mod look;
pub mod preview;
mod report;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bowline_cloud::shadow::{Mode, REPORT_KEY, ShadowReport};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::jiff::Timestamp;
use serde_json::json;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info};

use crate::controller::{Controller, ControllerContext, Stopped};
use crate::registry::ControllerName;
use crate::service::nodes::SharedNodes;

/// The owner of the report's fields.
const FIELD_MANAGER: &str = "bowline-shadow";

/// Changes are looked for this often: two numbers are compared.
const CHANGE_LOOK: Duration = Duration::from_secs(1);

/// Between two looks at the cloud at least this lies, whatever changes: each lists all load balancers. Who asks for a shorter period
/// gets it.
const APART: Duration = Duration::from_secs(10);

/// So long nothing is reported while the cloud is not known: who has only just begun has not logged in yet. Above all, one that leads
/// for a moment while pods are exchanged must not put its ignorance in place of what its predecessor knew.
const FIRST: Duration = Duration::from_secs(5);

/// How the shadow behaves.
#[derive(Debug, Clone)]
pub struct ShadowOptions {
    /// What the process may do besides.
    pub mode: Mode,
    /// The version of the binary.
    pub version: String,
    /// `--cluster-name`.
    pub cluster_name: Arc<str>,
    /// Who this process is.
    pub holder: String,
    /// The ConfigMap: its namespace and its name.
    pub report: (String, String),
    /// Everything is looked at again after this, although nothing changed.
    pub period: Duration,
    /// How many load balancers are observed at once.
    pub batch: usize,
}

/// Reports what would be done.
#[derive(Debug, Clone)]
pub struct ShadowController {
    name: ControllerName,
    options: ShadowOptions,
}

impl ShadowController {
    /// A shadow with these options.
    #[must_use]
    pub fn new(options: ShadowOptions) -> Self {
        let name = "shadow-report";
        Self { name: ControllerName::new("shadow-report-controller", name, name, name), options }
    }

    async fn publish(&self, context: &ControllerContext, report: &ShadowReport) -> Result<(), Stopped> {
        let (namespace, name) = &self.options.report;
        let failed = |why: &dyn std::fmt::Display| {
            Stopped::Unavailable(format!(
                "the report cannot be written to ConfigMap {namespace}/{name}: {why}"
            ))
        };
        let text = serde_json::to_string(report).map_err(|error| failed(&error))?;
        let labels = json!({"app.kubernetes.io/managed-by": "bowline"});
        let content = json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": namespace, "labels": labels}, "data": {REPORT_KEY: text}});
        let written =
            context.writer.apply_own::<ConfigMap>(Some(namespace), name, FIELD_MANAGER, content).await;
        written.map(drop).map_err(|error| failed(&error))
    }

    async fn report_forever(&self, context: &ControllerContext) -> Result<(), Stopped> {
        let nodes = SharedNodes::new(context.nodes.clone());
        let started_at = context.clock.now();
        let (mut clean, started) = (None, Instant::now());
        loop {
            let (began, seen) = (Instant::now(), epochs(context));
            let report = self.look(context, &nodes, started_at).await;
            if !report.knows_the_cloud() && started.elapsed() < FIRST {
                sleep(FIRST / 10).await;
                continue;
            }
            self.publish(context, &report).await?;
            if clean.replace(report.is_clean()) != Some(report.is_clean()) {
                info!(clean = report.is_clean(), services = ?report.services, "reported what would be done");
            } else {
                debug!(services = ?report.services, "reported what would be done");
            }
            let soon = APART.min(self.options.period);
            let period = if report.knows_the_cloud() { self.options.period } else { soon };
            until_something_changes(context, began, seen, period).await;
        }
    }

    async fn look(
        &self,
        context: &ControllerContext,
        nodes: &SharedNodes,
        started_at: Timestamp,
    ) -> ShadowReport {
        let observed_at = context.clock.now();
        let seen = look::Look { options: &self.options, context, nodes }.all().await;
        report::compose(&self.options, seen, started_at, observed_at)
    }
}

/// Waits for a change of a Service or a Node, and not longer than the period.
async fn until_something_changes(
    context: &ControllerContext,
    began: Instant,
    seen: [u64; 2],
    period: Duration,
) {
    sleep(APART.min(period)).await;
    while epochs(context) == seen && began.elapsed() < period {
        sleep(CHANGE_LOOK.min(period)).await;
    }
}

/// Numbers that grow with each change of a Service or a Node.
fn epochs(context: &ControllerContext) -> [u64; 2] {
    [context.services.epoch(), context.nodes.epoch()]
}

#[async_trait]
impl Controller for ShadowController {
    fn name(&self) -> &ControllerName {
        &self.name
    }

    async fn run(&self, context: ControllerContext, cancel: CancellationToken) -> Result<(), Stopped> {
        let work = async {
            // With half a set of nodes every load balancer would seem to lose members.
            match context.nodes.synced().await && context.services.synced().await {
                true => self.report_forever(&context).await,
                false => Ok(()),
            }
        };
        cancel.run_until_cancelled(work).await.unwrap_or(Ok(()))
    }
}
