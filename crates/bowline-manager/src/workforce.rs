//! All that works while this process leads: the informers, the cloud's initialization, and the controllers.
//!
//! Ends in two stages: asked to stop, work that has begun is finished; when the time for that is up, it is cut.

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

/// Events that were recorded are written within this at the end, or lost.
const LAST_EVENTS: Duration = Duration::from_secs(2);

/// How long what was cut may take to be gone. Only code that blocks its thread takes longer than a moment.
const CUT_LIMIT: Duration = Duration::from_secs(1);

/// What the workforce is made from.
#[derive(Clone)]
pub(crate) struct Tools {
    /// The cloud.
    pub(crate) cloud: Arc<dyn Cloud>,
    /// Who we are to it.
    pub(crate) cloud_identity: CloudIdentity,
    /// Makes the clients.
    pub(crate) clients: Clients,
    /// Where everything is counted.
    pub(crate) metrics: Metrics,
    /// Where everything is reported.
    pub(crate) health: Arc<HealthRegistry>,
    /// Wall time.
    pub(crate) clock: Clock,
    /// The name of this host, for events.
    pub(crate) host: String,
    /// How long one write to the API server may take.
    pub(crate) write_deadline: Duration,
    /// The pause between the starts of two controllers.
    pub(crate) start_interval: Duration,
    /// Where the election's pauses come from: no two replicas shall have the same ones.
    pub(crate) seed: u64,
    /// What people see of all this.
    pub(crate) status: StatusPage,
    /// Which Nodes the controllers handle.
    pub(crate) node_filter: NodeFilter,
}

/// The running parts. Clones share them.
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
    /// Starts the informers. Every replica may have one; controllers are added when it leads.
    ///
    /// # Errors
    ///
    /// If the informers' client cannot be made.
    pub(crate) fn new(tools: Tools) -> Result<Self, ClientError> {
        let client = tools.clients.root("shared-informers")?;
        let (informers, cut) = (TaskTracker::new(), CancellationToken::new());
        let metrics = &tools.metrics.informers;
        let (nodes, node_task) = node_informer().metrics(metrics).build(client.clone(), Api::all);
        let (services, service_task) = service_informer().metrics(metrics).build(client, Api::all);
        report(&tools.health, &nodes);
        report(&tools.health, &services);
        tools.status.sees(nodes.clone(), services.clone());
        // The informers outlive the controllers: work that is being finished may still look things up.
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

    /// Returns when an informer has ended although work goes on. Its picture stands still from then on, and nobody may
    /// act on it: the process must end.
    pub(crate) async fn broken(&self) {
        self.broken.cancelled().await;
    }

    /// Returns when work is asked to stop.
    pub(crate) fn stopping(&self) -> impl Future<Output = ()> + Send + 'static {
        self.stop.clone().cancelled_owned()
    }

    /// Initializes the cloud, again and again until it works: an outage of the cloud must not end the process.
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

    /// Takes over what the leader before noted for us, and keeps what we note for the next one, to the end of work.
    pub(crate) async fn keep_ledger(&self, client: Client, fence: Arc<dyn Fence>, place: LedgerPlace) {
        self.ledger.read(&client, &place).await;
        let writer = Writer::new(client.clone(), fence, self.tools.write_deadline);
        let (ledger, stop) = (self.ledger.clone(), self.stop.clone());
        let keeping = async move { ledger.keep(&client, &writer, &place, &stop).await };
        self.controllers.spawn(self.cut.clone().run_until_cancelled_owned(keeping));
    }

    /// Shows and tells when all changes are paused, to the end of work.
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

    /// Shows open breakers as lines of `/readyz` that never fail: the process does its work.
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

    /// Shows as a line of `/readyz`, which never fails, that no Node is deleted.
    pub(crate) fn show_skipped_deletions(&self) {
        self.tools.health.add("node-deletion", CheckSets::READY_ONLY, || {
            CheckOutcome::Degraded(
                "--skip-node-deletion is set: no Node is deleted, even if its machine is proven gone"
                    .to_owned(),
            )
        });
    }

    /// Starts controllers under a fence, which is also closed while the cloud does not know us (SR-3).
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

    /// Starts the report, with the identity of the process itself and whatever the cloud says of us: it changes nothing.
    ///
    /// # Errors
    ///
    /// If its client cannot be made.
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

    /// Runs one controller to the end of work. One that cannot have its identity is tried again; the others run.
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

    /// A recorder whose last events are waited for at the end.
    fn recorder(&self, client: Client, component: &str) -> EventRecorder {
        let (host, clock) = (&self.tools.host, self.tools.clock.clone());
        let recorder = EventRecorder::new(client, component, host, clock, self.tools.metrics.events.clone())
            .witnessed_by(Arc::new(NotedEvents(self.tools.status.journal())));
        self.recorders.lock().push(recorder.clone());
        recorder
    }

    /// Ends everything: takes no more work, gives what has begun `grace` to finish, and cuts the rest.
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

    /// Gives the events of the controllers a moment to be written. After the lease was given back: nobody has to wait
    /// for notes.
    pub(crate) async fn last_events(&self) {
        let recorders = self.recorders.lock().clone();
        join_all(recorders.iter().map(last_events)).await;
    }
}

/// Runs an informer; if it ends, or panics, before the cut, something is broken.
async fn guard(run: impl Future<Output = ()>, cut: CancellationToken, broken: CancellationToken) {
    let ended = AssertUnwindSafe(run).catch_unwind().await;
    if ended.is_err() || !cut.is_cancelled() {
        broken.cancel();
    }
}

/// Gives the events that were recorded a moment to be written.
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
