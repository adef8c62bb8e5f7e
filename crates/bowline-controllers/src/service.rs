//! The service controller: gives every Service of type `LoadBalancer` what it asks for in the cloud, and takes it away.
//!
//! `desire` says what a Service wants, `nodes` which nodes get its traffic, `leaving` which keep their connections for a while, `condition` what it waits for,
//! `patch` what is written to it; these are pure.
//! `noted` knows which annotations are our own writing. `feed` turns changes into keys, `work` observes for all keys that are ready, `execute` brings each one step further,
//! `write` writes to its Service, `replacement` keeps broken load balancers that may be of use, `refused` comes back to what only a person can mend, `concluded` tells the provider how it ended,
//! `record` notes it for the status page, `adopt` is adopt-only mode, `aside` is where runs go on that take long, `turn` lets those give way that wait for what is out of date, `waiting` polls for those that wait for the cloud, `held` lets those go on
//! that a closed fence held. The provider plans; nothing here makes a choice about the cloud.

mod adopt;
mod aside;
mod burst;
mod concluded;
mod condition;
pub mod desire;
mod execute;
pub mod fan_out;
mod feed;
mod held;
pub mod leaving;
mod memory;
mod message;
mod moved;
pub mod nodes;
mod noted;
pub mod patch;
mod record;
mod refused;
mod replacement;
mod rounds;
mod said;
mod turn;
mod waiting;
mod work;
mod write;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bowline_cloud::{Capability, ServiceView};
use bowline_kube::informer::{ObjectKey, Snapshot};
use bowline_kube::ledger::Subject;
use bowline_kube::queue::{Backoff, KeyedQueue, QueueSettings};
use futures::FutureExt;
use futures::future::join_all;
use tokio_util::sync::CancellationToken;

use crate::controller::{Controller, ControllerContext, Stopped};
use crate::rails::create_budget::CreateLimit;
use crate::rails::replacement::ReplacementLimits;
use crate::registry::ControllerName;
use aside::{Aside, Places};
use held::HeldKeys;
use memory::Memories;
pub(crate) use message::cut;
use nodes::SharedNodes;
use refused::Obstructed;
use replacement::Fleet;
use rounds::Rounds;
use turn::Turns;
use waiting::Waiting;
use work::Work;

/// How the service controller behaves.
#[derive(Debug, Clone)]
pub struct ServiceOptions {
    /// `--cluster-name`: part of names in the cloud.
    pub cluster_name: Arc<str>,
    /// How many workers take keys. More than one, so that a slow answer for some does not hold up the others.
    pub workers: usize,
    /// How many load balancers a worker observes at once if a user waits for one of them.
    pub batch: usize,
    /// How many if nobody waits: after a restart, a change of nodes. As many as a page of a cloud's lists has.
    pub background_batch: usize,
    /// How many of these it brings a step further at once, and as many again for which nobody waits.
    pub steps_at_once: usize,
    /// How many Services that users wait for, and whose look or step takes long, may go on besides, over all workers; and half as many
    /// others. A lot that is looked at together takes half of these places at most. Only a cloud that hangs for more than this delays the
    /// others of its kind; without a limit, one that is slow for all would be asked for all of them at once.
    pub slow_at_once: usize,
    /// The pause of a Service after failures.
    pub backoff: Backoff,
    /// How many calls a second the cloud's budget allows; 0 or less is no limit. Where a round over all load balancers takes long by
    /// that, the three times below are longer.
    pub calls_per_second: f64,
    /// A change of a node is acted on when no other came for this long…
    pub node_quiet: Duration,
    /// …or this long where several came already…
    pub node_crowd_quiet: Duration,
    /// …but not later than this after the first. As long as it takes to make some hundred new Nodes known, with the rate of a
    /// client of the API server: a second round costs every load balancer as much as the first.
    pub node_burst: Duration,
    /// SR-7: how long to wait before the second look at a large removal.
    pub second_look_after: Duration,
    /// SR-10: how often one thing may be created.
    pub creates: CreateLimit,
    /// SR-19: when a broken load balancer is replaced.
    pub replacement: ReplacementLimits,
    /// Every how long a load balancer is compared with its Service although nothing changed; `None` for never.
    pub repair_every: Option<Duration>,
    /// How often what is being built is asked for, once for all; `None` leaves it to the cloud.
    pub poll_every: Option<Duration>,
    /// The pauses between looks at a Service that is refused: what is wrong may be mended in the cloud.
    pub look_again: Backoff,
    /// A wait for the cloud becomes an event when it lasts this long…
    pub tell_of_wait_after: Duration,
    /// …and a condition when it lasts this long: more than a machine takes to boot, for it costs a write of the Service.
    pub say_wait_after: Duration,
    /// Whether nothing that users reach may be made, deleted or exchanged (`rails/adopt_only`).
    pub adopt_only: bool,
}

impl Default for ServiceOptions {
    fn default() -> Self {
        Self {
            cluster_name: "kubernetes".into(),
            workers: 4,
            batch: 64,
            background_batch: 1024,
            steps_at_once: 16,
            slow_at_once: 512,
            backoff: Backoff::default(),
            calls_per_second: 10.0,
            node_quiet: Duration::from_secs(1),
            node_crowd_quiet: Duration::from_secs(3),
            node_burst: Duration::from_secs(15),
            second_look_after: Duration::from_secs(5),
            creates: CreateLimit::default(),
            replacement: ReplacementLimits::default(),
            repair_every: Some(Duration::from_secs(12 * 3600)),
            poll_every: None,
            look_again: refused::LOOK_AGAIN,
            tell_of_wait_after: Duration::from_secs(30),
            say_wait_after: Duration::from_secs(90),
            adopt_only: false,
        }
    }
}

/// So many full lots of background work may be under way without a worker.
const LOTS: usize = 8;

/// The service controller.
#[derive(Debug, Clone)]
pub struct ServiceController {
    name: ControllerName,
    options: ServiceOptions,
    fleet: Fleet,
}

impl ServiceController {
    /// A controller of this name with these options.
    #[must_use]
    pub fn new(name: ControllerName, options: ServiceOptions) -> Self {
        Self { name, fleet: Fleet::new(options.replacement), options }
    }
}

#[async_trait]
impl Controller for ServiceController {
    fn name(&self) -> &ControllerName {
        &self.name
    }

    async fn run(&self, context: ControllerContext, cancel: CancellationToken) -> Result<(), Stopped> {
        let balancers = match context.cloud.load_balancers() {
            Capability::Supported(balancers) => balancers,
            Capability::Unsupported => {
                let cloud = context.cloud.name();
                return Err(Stopped::NotWanted(format!("the cloud {cloud} has no load balancers")));
            }
            Capability::Unavailable(why) => return Err(Stopped::Unavailable(why)),
        };
        // A set of nodes that is not complete yet would take the missing ones out of every load balancer.
        let synced = async { context.nodes.synced().await && context.services.synced().await };
        if cancel.run_until_cancelled(synced).await != Some(true) {
            return Ok(());
        }
        // Of those that went while nobody led nothing has to be remembered.
        let uids = |services: &Snapshot<Arc<ServiceView>>| {
            services.objects().iter().map(|service| service.view.uid.clone()).collect()
        };
        context.ledger.keeps_only(Subject::Service, &uids(&context.services.snapshot()));
        let settings = QueueSettings { backoff: self.options.backoff, ..QueueSettings::default() };
        // Namespaces take turns: a thousand changes in one do not hold up a single one in another.
        let queue = KeyedQueue::fair("service", settings, ObjectKey::namespace);
        queue.report_to(&context.queues);
        let steps = self.options.steps_at_once.saturating_mul(self.options.workers.max(1));
        let work = Work {
            directory: context.service_directory(),
            options: self.options.clone(),
            nodes: SharedNodes::new(context.nodes.clone()),
            context,
            balancers,
            queue,
            memories: Memories::default(),
            waiting: Waiting::default(),
            held: HeldKeys::default(),
            rounds: Rounds::default(),
            places: Places::new(steps, self.options.slow_at_once, LOTS * self.options.background_batch),
            turns: Turns::default(),
            obstructed: Obstructed::default(),
            fleet: self.fleet.clone(),
        };
        work.drive(&cancel).await;
        Ok(())
    }
}

impl Work {
    /// Runs everything until `cancel`, then finishes what was begun.
    async fn drive(&self, cancel: &CancellationToken) {
        // What is there at the start is worked on anyway: it is no change of nodes.
        self.nodes.announce(true, self.context.clock.now());
        let (services, nodes) = (self.context.services.subscribe(), self.context.nodes.subscribe());
        let (aside, slow) = Aside::new();
        let workers = (0..self.options.workers.max(1)).map(|_| self.run(cancel, aside.clone()).boxed());
        let workers = join_all(workers.collect::<Vec<_>>());
        // The workers have theirs: without them nothing more comes.
        drop(aside);
        let feeds = async {
            let feeds = async {
                tokio::join!(
                    self.feed_services(services),
                    self.feed_nodes(nodes),
                    self.feed_reconfigurations(),
                    self.waiting.poll(self.balancers.as_ref(), &self.queue, self.options.poll_every),
                    self.held.resume_after(self.context.fence.as_ref(), &self.queue)
                )
            };
            cancel.run_until_cancelled(feeds).await;
        };
        tokio::join!(workers, aside::finish(slow), feeds);
    }
}

#[cfg(test)]
mod tests;
