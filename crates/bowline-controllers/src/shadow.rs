//! Shadow mode: observes every Service and every Node as the controllers do, plans as they do, and reports what would be done.
//!
//! `look` observes the cloud, `judge` classifies a plan by its effect on users, `preview` does both for one Service, `report` builds a
//! report of limited size. The plans come from the provider, with the same desired state and the same set of nodes as in the service
//! controller: there is no second planner. Only the report is written. In adopt-only mode the same runs beside the controllers that write.

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

/// The field manager of the report.
const FIELD_MANAGER: &str = "bowline-shadow";

/// How often to check for changes of Services and Nodes. Cheap: it compares two numbers.
const CHANGE_LOOK: Duration = Duration::from_secs(1);

/// The minimum time between two observations of the cloud, because each lists all load balancers. A shorter `period` takes precedence.
const APART: Duration = Duration::from_secs(10);

/// For how long after the start no report is written if the cloud gave no information, because the first login takes time. Above all, a
/// process that leads only briefly during a rollout must not overwrite the report of its predecessor with an empty one.
const FIRST: Duration = Duration::from_secs(5);

/// The options of shadow mode.
#[derive(Debug, Clone)]
pub struct ShadowOptions {
    /// Whether the controllers run besides (adopt-only mode) or not.
    pub mode: Mode,
    /// The version of the binary.
    pub version: String,
    /// `--cluster-name`.
    pub cluster_name: Arc<str>,
    /// The identity of this process.
    pub holder: String,
    /// The namespace and the name of the ConfigMap for the report.
    pub report: (String, String),
    /// The maximum time between two observations if nothing changes.
    pub period: Duration,
    /// How many load balancers are observed in one call.
    pub batch: usize,
}

/// Reports what the controllers would do.
#[derive(Debug, Clone)]
pub struct ShadowController {
    name: ControllerName,
    options: ShadowOptions,
}

impl ShadowController {
    /// A controller with these options.
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

/// Waits for a change of a Service or a Node, at most for `period`.
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

/// Counters that increase with each change of a Service or a Node.
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
            // With an incomplete set of nodes, every load balancer would seem to lose members.
            match context.nodes.synced().await && context.services.synced().await {
                true => self.report_forever(&context).await,
                false => Ok(()),
            }
        };
        cancel.run_until_cancelled(work).await.unwrap_or(Ok(()))
    }
}
