//! The cluster-wide pause (safety rail SR-15): how it is requested and how it is reported. The fence blocks writes during a pause, and the
//! controllers wait for its end.
//!
//! To pause, annotate the Lease: `kubectl -n kube-system annotate lease cloud-controller-manager bowline.dev/paused=why`. The leader reads
//! the annotation with its next renewal, and so does every later leader. Without leader election, use `--paused`.

use std::sync::Arc;
use std::time::Duration;

use bowline_cloud::{EventKind, Fence, Fenced, Pause};
use bowline_controllers::metrics::ControllerMetrics;
use bowline_kube::events::EventRecorder;
use k8s_openapi::api::core::v1::ObjectReference;
use tokio::time::sleep;
use tracing::{info, warn};

use crate::serving::{CheckOutcome, CheckSets, HealthRegistry};

/// How often the fence is checked for a pause.
const LOOK: Duration = Duration::from_secs(1);

/// A fence that is also closed while `other` reports a pause.
#[derive(Debug)]
struct PausedBy {
    fence: Arc<dyn Fence>,
    other: Arc<dyn Fence>,
}

/// Wraps `fence` so that it is also closed while `other` is paused. Other reasons why `other` is closed are ignored.
pub(crate) fn paused_by(fence: Arc<dyn Fence>, other: Arc<dyn Fence>) -> Arc<dyn Fence> {
    Arc::new(PausedBy { fence, other })
}

impl Fence for PausedBy {
    fn check(&self) -> Result<(), Fenced> {
        self.fence.check()?;
        self.other.paused().map_or(Ok(()), |pause| Err(Fenced { why: pause.to_string() }))
    }

    fn paused(&self) -> Option<Pause> {
        self.fence.paused().or_else(|| self.other.paused())
    }
}

/// The pause set by the flag `--paused`, which lasts as long as the process.
#[derive(Debug)]
pub(crate) struct ByFlag;

impl Fence for ByFlag {
    fn check(&self) -> Result<(), Fenced> {
        Ok(())
    }

    fn paused(&self) -> Option<Pause> {
        let until = "this process is started again without --paused".to_owned();
        Some(Pause { why: "by --paused".to_owned(), until })
    }
}

/// Adds a `/readyz` check that is degraded during a pause. It never fails, because a paused process works as intended.
pub(crate) fn show(health: &HealthRegistry, fence: Arc<dyn Fence>) {
    let outcome = move || {
        fence.paused().map_or(CheckOutcome::Healthy, |pause| CheckOutcome::Degraded(pause.to_string()))
    };
    health.add("paused", CheckSets::READY_ONLY, outcome);
}

/// Reports the start and the end of a pause: as a metric, in the log, and as an event on the Lease, if there is one. Never returns.
pub(crate) async fn tell(
    fence: Arc<dyn Fence>,
    metrics: ControllerMetrics,
    events: EventRecorder,
    lease: Option<ObjectReference>,
) {
    let mut before = None;
    loop {
        let now = fence.paused();
        if now != before {
            metrics.paused.set(now.is_some().into());
            let (reason, message) = match &now {
                Some(pause) => {
                    warn!("{pause}: nothing is written to the cloud, Services or Nodes");
                    let Pause { why, until } = pause;
                    let what = "Nothing is written to the cloud, Services or Nodes";
                    ("Paused", format!("{what} until {until}: {why}"))
                }
                None => {
                    info!("the pause is over");
                    ("Resumed", "The pause is over: what has changed meanwhile is worked on".to_owned())
                }
            };
            if let Some(lease) = &lease {
                events.event(lease, EventKind::Normal, reason, &message);
            }
            before = now;
        }
        sleep(LOOK).await;
    }
}

#[cfg(test)]
mod tests {
    use bowline_cloud::Unfenced;
    use bowline_testkit::fence::TestFence;
    use prometheus_client::registry::Registry;

    use super::*;
    use crate::serving::health::{Endpoint, HealthQuery};
    use crate::workforce::fixture::context;

    #[test]
    fn a_pause_of_either_closes_the_fence_and_without_one_it_is_as_before() {
        let (open, by_flag) = (|| Arc::new(Unfenced), || Arc::new(ByFlag));
        assert!(paused_by(open(), open()).check().is_ok());
        for fence in [paused_by(open(), by_flag()), paused_by(open(), paused_by(open(), by_flag()))] {
            let why = fence.check().unwrap_err().why;
            assert!(why.contains("by --paused") && why.ends_with("started again without --paused"), "{why}");
            assert!(!why.contains("annotation"), "taking that off would do nothing: {why}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_is_a_gauge_and_a_line_of_readyz_that_does_not_fail() {
        let (context, _registry) = context();
        let health = HealthRegistry::new();
        for (fence, gauge, line) in [
            (
                Arc::new(ByFlag) as Arc<dyn Fence>,
                1,
                "all changes are paused (by --paused) until this process is started again",
            ),
            (Arc::new(Unfenced), 0, "[+]paused ok"),
        ] {
            let metrics = ControllerMetrics::register(&mut Registry::default());
            show(&health, fence.clone());
            let telling = tell(fence, metrics.clone(), context.events.clone(), None);
            tokio::select! { () = telling => {}, () = sleep(Duration::from_secs(3)) => {} }
            assert_eq!(metrics.paused.get(), gauge);
            let page = health.respond(
                Endpoint::Readyz,
                &HealthQuery { verbose: true, reasons: true, ..HealthQuery::default() },
            );
            assert!(page.ok && page.body.contains(line), "{}", page.body);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_gauge_goes_back_to_zero_when_the_pause_is_over() {
        let (context, _registry) = context();
        let metrics = ControllerMetrics::register(&mut Registry::default());
        let fence = TestFence::paused_for("rack 7 moves");
        let telling = tell(Arc::new(fence.clone()), metrics.clone(), context.events.clone(), None);
        let watching = async {
            sleep(Duration::from_secs(30)).await;
            assert_eq!(metrics.paused.get(), 1);
            fence.resume();
            sleep(Duration::from_secs(60)).await;
            assert_eq!(metrics.paused.get(), 0);
        };
        tokio::select! { () = telling => {}, () = watching => {} }
    }
}
