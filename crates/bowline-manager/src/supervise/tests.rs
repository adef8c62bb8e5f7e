//! Controllers that fail in every way they can, under virtual time.

use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use bowline_controllers::registry::ControllerName;

use super::*;
use crate::workforce::fixture::context;

/// A controller whose n-th run ends as `script` says; `None` runs until it is told to stop.
struct Scripted {
    name: ControllerName,
    runs: AtomicUsize,
    script: fn(usize) -> Option<Result<(), Stopped>>,
}

impl Scripted {
    fn new(script: fn(usize) -> Option<Result<(), Stopped>>) -> Arc<Self> {
        let name = ControllerName::new("test-controller", "test", "test", "test");
        Arc::new(Self { name, runs: AtomicUsize::new(0), script })
    }

    fn runs(&self) -> usize {
        self.runs.load(Ordering::Relaxed)
    }
}

#[async_trait]
impl Controller for Scripted {
    fn name(&self) -> &ControllerName {
        &self.name
    }

    async fn run(&self, _: ControllerContext, cancel: CancellationToken) -> Result<(), Stopped> {
        match (self.script)(self.runs.fetch_add(1, Ordering::Relaxed)) {
            Some(end) => end,
            None => {
                cancel.cancelled().await;
                Ok(())
            }
        }
    }
}

/// Supervises for this long, then says how it is doing.
async fn after(controller: Arc<Scripted>, time: Duration) -> (CheckOutcome, String) {
    let (context, registry) = context();
    let (state, cancel) = (ControllerState::default(), CancellationToken::new());
    let running = tokio::spawn(supervise(controller, context, state.clone(), cancel.clone()));
    tokio::time::sleep(time).await;
    let seen = state.check();
    let mut scrape = String::new();
    prometheus_client::encoding::text::encode(&mut scrape, &registry).unwrap();
    cancel.cancel();
    running.await.unwrap();
    (seen, scrape)
}

#[tokio::test(start_paused = true)]
async fn a_controller_without_its_cloud_service_is_reported_and_tried_again_ever_more_slowly() {
    let controller =
        Scripted::new(|_| Some(Err(Stopped::Unavailable("no load-balancer endpoint".to_owned()))));
    let (seen, scrape) = after(controller.clone(), Duration::from_secs(3_600)).await;
    assert_eq!(seen, CheckOutcome::Degraded("no load-balancer endpoint".to_owned()));
    assert!((60..=70).contains(&controller.runs()), "about once a minute, not {} times", controller.runs());
    assert!(scrape.contains(r#"bowline_controller_unavailable{controller="test-controller"} 1"#), "{scrape}");
    assert!(
        scrape.contains(r#"running_managed_controllers{name="test",manager="cloud-controller-manager"} 0"#)
    );
}

#[tokio::test(start_paused = true)]
async fn it_recovers_by_itself_when_the_service_is_back() {
    let controller =
        Scripted::new(|run| (run < 3).then(|| Err(Stopped::Unavailable("the service is down".to_owned()))));
    let (seen, scrape) = after(controller.clone(), Duration::from_secs(60)).await;
    assert_eq!((seen, controller.runs()), (CheckOutcome::Healthy, 4));
    assert!(scrape.contains(r#"bowline_controller_unavailable{controller="test-controller"} 0"#), "{scrape}");
    assert!(
        scrape.contains(r#"running_managed_controllers{name="test",manager="cloud-controller-manager"} 1"#)
    );
}

#[tokio::test(start_paused = true)]
async fn a_panic_stays_inside_its_controller() {
    let controller = Scripted::new(|run| if run == 0 { panic!("a bug") } else { None });
    let (seen, scrape) = after(controller.clone(), Duration::from_secs(60)).await;
    assert_eq!((seen, controller.runs()), (CheckOutcome::Healthy, 2));
    assert!(
        scrape.contains(r#"bowline_controller_restarts_total{controller="test-controller"} 1"#),
        "{scrape}"
    );
}

#[tokio::test(start_paused = true)]
async fn what_nobody_wants_is_not_started_again() {
    let controller = Scripted::new(|_| Some(Err(Stopped::NotWanted("the cloud has no routes".to_owned()))));
    let (seen, _scrape) = after(controller.clone(), Duration::from_secs(3_600)).await;
    assert_eq!(seen, CheckOutcome::Degraded("not started: the cloud has no routes".to_owned()));
    assert_eq!(controller.runs(), 1);
}
