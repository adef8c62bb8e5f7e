//! Everything that runs while this process leads: the informers, the initialization of the cloud, and the controllers.
//!
//! Shutdown has two stages: the controllers are asked to stop and may finish the work in progress; after the grace period, what still runs
//! is cancelled.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use bowline_cloud::{Cloud, CloudContext, Fence, NodeView, ServiceView};
use bowline_controllers::controller::{Controller, ControllerContext};
use bowline_controllers::identity::CloudIdentity;
use bowline_controllers::rails::node_filter::NodeFilter;
use bowline_controllers::rails::seen_machines::SeenMachines;
use bowline_controllers::rails::{deletion_budget, replacement};
use bowline_controllers::registry::ControllerName;
use bowline_controllers::view::{node_informer, service_informer};
use bowline_kube::clock::Clock;
use bowline_kube::events::EventRecorder;
use bowline_kube::informer::Informer;
use bowline_kube::ledger::{Ledger, LedgerPlace};
use bowline_kube::write::Writer;
use futures::FutureExt;
use futures::future::join_all;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::{Api, Client};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{error, info, warn};

use crate::clients::{ClientError, Clients};
use crate::events::NotedEvents;
use crate::metrics::Metrics;
use crate::pause;
use crate::serving::{CheckOutcome, CheckSets, HealthRegistry};
use crate::status::StatusPage;
use crate::supervise::{ControllerState, PAUSE, supervise};

/// How long the last events may take to be written during shutdown. Events not written by then are lost.
const LAST_EVENTS: Duration = Duration::from_secs(2);

/// How long cancelled tasks may take to end. Only a task that blocks its thread needs longer than a moment.
const CUT_LIMIT: Duration = Duration::from_secs(1);

/// What the informers and controllers need.
#[derive(Clone)]
pub(crate) struct Tools {
    pub(crate) cloud: Arc<dyn Cloud>,
    /// The state of this process's identity in the cloud (SR-3).
    pub(crate) cloud_identity: CloudIdentity,
    /// Creates Kubernetes clients.
    pub(crate) clients: Clients,
    pub(crate) metrics: Metrics,
    /// The registry of health checks.
    pub(crate) health: Arc<HealthRegistry>,
    /// The wall clock.
    pub(crate) clock: Clock,
    /// The host name, the source of events.
    pub(crate) host: String,
    /// The timeout of one write to the API server.
    pub(crate) write_deadline: Duration,
    /// The minimum delay between the starts of two controllers; the actual delay is up to twice as long.
    pub(crate) start_interval: Duration,
    /// Seeds the jitter of leader election. It must differ between replicas, so that they do not retry at the same times.
    pub(crate) seed: u64,
    /// The status page.
    pub(crate) status: StatusPage,
    /// Selects the Nodes that the controllers handle.
    pub(crate) node_filter: NodeFilter,
}

/// The informers and controllers that run. Clones share them.
#[derive(Clone)]
pub(crate) struct Workforce {
    tools: Tools,
    nodes: Informer<Arc<NodeView>>,
    services: Informer<Arc<ServiceView>>,
    recorders: Arc<Mutex<Vec<EventRecorder>>>,
    ledger: Ledger,
    machines: SeenMachines,
    controllers: TaskTracker,
    informers: TaskTracker,
    stop: CancellationToken,
    cut: CancellationToken,
    broken: CancellationToken,
}

impl Workforce {
    /// Starts the informers. They need no Lease; controllers are added once this process leads.
    ///
    /// # Errors
    ///
    /// If the client of the informers cannot be created.
    pub(crate) fn new(tools: Tools) -> Result<Self, ClientError> {
        let client = tools.clients.root("shared-informers")?;
        let (informers, cut) = (TaskTracker::new(), CancellationToken::new());
        let metrics = &tools.metrics.informers;
        let (nodes, node_task) = node_informer().metrics(metrics).build(client.clone(), Api::all);
        let (services, service_task) = service_informer().metrics(metrics).build(client, Api::all);
        report(&tools.health, &nodes);
        report(&tools.health, &services);
        tools.status.sees(nodes.clone(), services.clone());
        // The informers outlive the controllers: a reconcile that finishes during shutdown may still read their caches.
        let broken = CancellationToken::new();
        informers.spawn(guard(node_task.run(cut.clone()), cut.clone(), broken.clone()));
        informers.spawn(guard(service_task.run(cut.clone()), cut.clone(), broken.clone()));
        let (recorders, controllers, stop) = (Arc::default(), TaskTracker::new(), CancellationToken::new());
        let ledger = Ledger::default();
        let machines = SeenMachines::kept_in(ledger.clone());
        Ok(Self {
            tools,
            nodes,
            services,
            recorders,
            ledger,
            machines,
            controllers,
            informers,
            stop,
            cut,
            broken,
        })
    }

    /// Returns when an informer has ended although it was not stopped. Its cache is stale from then on and must not be acted on, so the
    /// process must exit.
    pub(crate) async fn broken(&self) {
        self.broken.cancelled().await;
    }

    /// Returns when the controllers are asked to stop.
    pub(crate) fn stopping(&self) -> impl Future<Output = ()> + Send + 'static {
        self.stop.clone().cancelled_owned()
    }

    /// Initializes the cloud and retries until it succeeds: an outage of the cloud must not end the process. The error is shown in
    /// `/readyz`.
    pub(crate) async fn initialize_cloud(&self, context: &CloudContext) {
        let problem = watch::Sender::new(Some("starting".to_owned()));
        let shown = problem.subscribe();
        self.tools.health.add("cloud", CheckSets::READY_ONLY, move || {
            shown.borrow().clone().map_or(CheckOutcome::Healthy, CheckOutcome::Degraded)
        });
        let mut failures = 0;
        while let Err(error) = self.tools.cloud.initialize(context).await {
            failures += 1;
            let pause = error.asked_to_wait().unwrap_or(PAUSE.delay(failures));
            error!(%error, ?pause, "the cloud cannot be initialized, will be tried again");
            problem.send_replace(Some(error.to_string()));
            sleep(pause).await;
        }
        problem.send_replace(None);
    }

    /// Reads the ledger that the previous leader left, and then writes this leader's ledger in the background until shutdown.
    pub(crate) async fn keep_ledger(&self, client: Client, fence: Arc<dyn Fence>, place: LedgerPlace) {
        self.ledger.read(&client, &place).await;
        let writer = Writer::new(client.clone(), fence, self.tools.write_deadline);
        let (ledger, stop) = (self.ledger.clone(), self.stop.clone());
        let keeping = async move { ledger.keep(&client, &writer, &place, &stop).await };
        self.controllers.spawn(self.cut.clone().run_until_cancelled_owned(keeping));
    }

    /// Reports pauses of all changes in `/readyz`, on the status page, as a metric, in the log and as events, until shutdown. Also adds the
    /// health checks of the circuit breakers.
    pub(crate) fn tell_of_pauses(
        &self,
        fence: Arc<dyn Fence>,
        events: EventRecorder,
        lease: Option<ObjectReference>,
    ) {
        pause::show(&self.tools.health, fence.clone());
        self.tools.status.asks(fence.clone());
        self.show_breakers();
        let telling = pause::tell(fence, self.tools.metrics.controllers.clone(), events, lease);
        self.controllers.spawn(self.stop.clone().run_until_cancelled_owned(telling));
    }

    /// Adds `/readyz` checks for open circuit breakers. They only degrade, because the process itself works.
    fn show_breakers(&self) {
        let metrics = &self.tools.metrics.controllers;
        let breakers = [
            (
                deletion_budget::BREAKER_CHECK,
                metrics.node_deletion.breaker_open.clone(),
                "so many Nodes look gone at once that none is deleted (SR-2)",
            ),
            (
                replacement::BREAKER_CHECK,
                metrics.load_balancer_breaker_open.clone(),
                "so many load balancers are broken at once that none is replaced (SR-19)",
            ),
        ];
        for (check, open, says) in breakers {
            self.tools.health.add(check, CheckSets::READY_ONLY, move || match open.get() {
                0 => CheckOutcome::Healthy,
                _ => CheckOutcome::Degraded(says.to_owned()),
            });
        }
    }

    /// Adds a `/readyz` check that shows that deletion of Nodes is switched off. It only degrades.
    pub(crate) fn show_skipped_deletions(&self) {
        self.tools.health.add("node-deletion", CheckSets::READY_ONLY, || {
            CheckOutcome::Degraded(
                "--skip-node-deletion is set: no Node is deleted, even if its machine is proven gone"
                    .to_owned(),
            )
        });
    }

    /// Starts controllers under a fence. The fence is also closed while the cloud rejects this process's identity (SR-3).
    pub(crate) async fn start(&self, controllers: Vec<Arc<dyn Controller>>, fence: Arc<dyn Fence>) {
        let fence = self.tools.cloud_identity.fence(fence);
        for controller in controllers {
            let state = ControllerState::default();
            let shown = state.clone();
            self.tools.health.add(&controller.name().canonical, CheckSets::ALL, move || shown.check());
            let run = self.clone().employ(controller, fence.clone(), state);
            self.controllers.spawn(self.cut.clone().run_until_cancelled_owned(run));
            if !self.tools.start_interval.is_zero() {
                let spread: f64 = rand::random_range(1.0..2.0);
                sleep(self.tools.start_interval.mul_f64(spread)).await;
            }
        }
    }

    /// Starts the controller that writes the shadow report. It uses the identity of the process, and runs even while the cloud rejects that
    /// identity, because it changes nothing in the cloud.
    ///
    /// # Errors
    ///
    /// If its client cannot be created.
    pub(crate) fn report(
        &self,
        controller: Arc<dyn Controller>,
        fence: Arc<dyn Fence>,
    ) -> Result<(), ClientError> {
        let state = ControllerState::default();
        let shown = state.clone();
        self.tools.health.add(&controller.name().canonical, CheckSets::READY_ONLY, move || shown.check());
        let client = self.tools.clients.root(&controller.name().client)?;
        let context = self.context_of(client, controller.name(), fence);
        let run = supervise(controller, context, state, self.stop.clone());
        self.controllers.spawn(self.cut.clone().run_until_cancelled_owned(run));
        Ok(())
    }

    /// Runs one controller until shutdown. If its client cannot be created, the controller is retried with backoff; the other controllers
    /// are not affected.
    async fn employ(self, controller: Arc<dyn Controller>, fence: Arc<dyn Fence>, state: ControllerState) {
        let name = controller.name().canonical.clone();
        let mut failures = 0;
        let context = loop {
            let Some(made) =
                self.stop.run_until_cancelled(self.context(controller.as_ref(), fence.clone())).await
            else {
                return;
            };
            let error = match made {
                Ok(context) => break context,
                Err(error) => error,
            };
            failures += 1;
            let pause = PAUSE.delay(failures);
            error!(controller = name, %error, ?pause, "cannot be started, will be tried again");
            state.down(error.to_string());
            self.tools.metrics.controllers.set_unavailable(&name, true);
            if self.stop.run_until_cancelled(sleep(pause)).await.is_none() {
                return;
            }
        };
        supervise(controller, context, state, self.stop.clone()).await;
    }

    async fn context(
        &self,
        controller: &dyn Controller,
        fence: Arc<dyn Fence>,
    ) -> Result<ControllerContext, ClientError> {
        let name = controller.name();
        let client = self.tools.clients.controller(&name.client).await?;
        Ok(self.context_of(client, name, fence))
    }

    fn context_of(&self, client: Client, name: &ControllerName, fence: Arc<dyn Fence>) -> ControllerContext {
        let events = self.recorder(client.clone(), &name.component);
        ControllerContext {
            cloud: self.tools.cloud.clone(),
            nodes: self.nodes.clone(),
            services: self.services.clone(),
            writer: Writer::new(client, fence.clone(), self.tools.write_deadline),
            events,
            fence,
            clock: self.tools.clock.clone(),
            queues: self.tools.metrics.queues.clone(),
            metrics: self.tools.metrics.controllers.clone(),
            journal: self.tools.status.journal(),
            ledger: self.ledger.clone(),
            machines: self.machines.clone(),
            node_filter: self.tools.node_filter.clone(),
        }
    }

    /// Creates an event recorder that is flushed during shutdown.
    fn recorder(&self, client: Client, component: &str) -> EventRecorder {
        let (host, clock) = (&self.tools.host, self.tools.clock.clone());
        let recorder = EventRecorder::new(client, component, host, clock, self.tools.metrics.events.clone())
            .witnessed_by(Arc::new(NotedEvents(self.tools.status.journal())));
        self.recorders.lock().push(recorder.clone());
        recorder
    }

    /// Stops everything: the controllers take no new work, have `grace` to finish the work in progress, and are then cancelled.
    pub(crate) async fn end(&self, grace: Duration) {
        let began = Instant::now();
        self.stop.cancel();
        self.controllers.close();
        self.informers.close();
        if timeout(grace, self.controllers.wait()).await.is_err() {
            warn!(
                ?grace,
                "work was still under way and is cut off; what it left is finished by the next leader"
            );
        }
        self.cut.cancel();
        let cut = timeout(CUT_LIMIT, async { tokio::join!(self.controllers.wait(), self.informers.wait()) });
        if cut.await.is_err() {
            error!("something blocks its thread and does not end; it ends with the process");
        }
        info!(took = ?began.elapsed(), "all work has ended");
    }

    /// Flushes the events of the controllers. Called after the Leases are released, so that the next leader does not wait for events.
    pub(crate) async fn last_events(&self) {
        let recorders = self.recorders.lock().clone();
        join_all(recorders.iter().map(last_events)).await;
    }
}

/// Runs an informer. If it ends or panics before `cut` is cancelled, `broken` is cancelled.
async fn guard(run: impl Future<Output = ()>, cut: CancellationToken, broken: CancellationToken) {
    let ended = AssertUnwindSafe(run).catch_unwind().await;
    if ended.is_err() || !cut.is_cancelled() {
        broken.cancel();
    }
}

/// Flushes an event recorder for at most [`LAST_EVENTS`].
pub(crate) async fn last_events(recorder: &EventRecorder) {
    if let Err(unwritten) = recorder.flush(LAST_EVENTS).await {
        info!(%unwritten, "not all events were written");
    }
}

fn report<P: PartialEq + Send + Sync + 'static>(health: &HealthRegistry, informer: &Informer<P>) {
    let shown = informer.clone();
    health.add(format!("informer-{}", informer.name()), CheckSets::READY_ONLY, move || {
        shown.health().problem(Instant::now()).map_or(CheckOutcome::Healthy, CheckOutcome::Degraded)
    });
}

#[cfg(test)]
pub(crate) mod fixture;
#[cfg(test)]
mod tests;
