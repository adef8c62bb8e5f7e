//! One reconcile: list, plan, check the rail, execute, report. The decisions are in `plan`, `condition`, `retries`, `verdict` and the rail;
//! this file connects them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use bowline_cloud::{
    Capability, Claim, CloudError, ErrorClass, EventKind, Instances, NodeView, Planned, Route, RouteChange,
    Routes, SetChange,
};
use bowline_kube::queue::{Backoff, Outcome};
use futures::{StreamExt, stream};
use ipnet::IpNet;
use tokio::sync::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use super::condition::{Network, Said};
use super::execute::{Hands, Tried, may_not_go_on, write_condition};
use super::machines::Lookups;
use super::plan::{Observed, Removal, RoutePlan, plan};
use super::range::ClusterRange;
use super::retries::Retries;
use super::target::with_targets;
use super::trigger::{Pending, Trigger};
use super::verdict::{Fate, Fates, networks};
use super::{CONDITION_WRITES_AT_ONCE, RouteOptions};
use crate::controller::ControllerContext;
use crate::metrics::RouteSyncLabels;
use crate::rails::claim;
use crate::rails::pause::{self, Paused};
use crate::rails::second_look::{SecondLook, Verdict};
use crate::view::node_reference;

/// The back-off after failed lists. Its maximum is low: one list is cheap, and nothing is changed until one succeeds.
const LIST_RETRY: Backoff = Backoff { base: Duration::from_secs(5), max: Duration::from_secs(60) };

/// The dependencies of a reconcile, and the state between reconciles.
pub(super) struct Work {
    routes: Arc<dyn Routes>,
    range: ClusterRange,
    options: RouteOptions,
    context: ControllerContext,
    cancel: CancellationToken,
    pub(super) pending: Pending,
    memory: Mutex<Memory>,
}

struct Memory {
    lists_failed: u32,
    rail: SecondLook<Removal>,
    retries: Retries,
    said: Said,
    paused_told: bool,
    lookups: Lookups,
}

/// The result of a reconcile.
#[derive(Debug, Default)]
struct Report {
    changed: usize,
    failed: usize,
    /// How long a held plan waits before the next reconcile; `None` if nothing is held.
    held: Option<Duration>,
    conditions_failed: usize,
}

impl Report {
    const fn outcome(&self) -> &'static str {
        match self {
            Self { failed: 1.., .. } | Self { conditions_failed: 1.., .. } => "error",
            Self { held: Some(_), .. } => "held",
            Self { changed: 1.., .. } => "changed",
            Self { .. } => "noop",
        }
    }
}

type Changes = BTreeMap<IpNet, Vec<Planned<RouteChange>>>;

impl Work {
    pub(super) fn new(
        routes: Arc<dyn Routes>,
        range: ClusterRange,
        options: RouteOptions,
        context: ControllerContext,
        cancel: CancellationToken,
    ) -> Self {
        let memory = Memory {
            lists_failed: 0,
            rail: SecondLook::default(),
            retries: Retries::new(options.retry),
            said: Said::default(),
            paused_told: false,
            lookups: Lookups::default(),
        };
        let (pending, memory) = (Pending::default(), Mutex::new(memory));
        Self { routes, range, options, context, cancel, pending, memory }
    }

    /// Runs one reconcile. Always returns a delay: the next one runs after the period at the latest, or after the back-off if the list
    /// failed.
    pub(super) async fn on(&self) -> Outcome {
        let trigger = self.pending.begin(Instant::now());
        let mut memory = self.memory.lock().await;
        let listed = self.routes.list(&self.options.cluster_name).await;
        match listed {
            Ok(routes) => {
                memory.lists_failed = 0;
                let report = self.reconcile(routes, &mut memory).await;
                self.count(trigger, report.outcome());
                Outcome::RetryAfter(self.next_after(&report, &memory))
            }
            Err(error) => {
                memory.lists_failed = memory.lists_failed.saturating_add(1);
                self.count(trigger, "error");
                warn!(%error, "could not list the routes; nothing is changed");
                let wait = LIST_RETRY.delay(memory.lists_failed);
                Outcome::RetryAfter(error.asked_to_wait().unwrap_or(wait))
            }
        }
    }

    fn count(&self, trigger: Trigger, outcome: &'static str) {
        let labels = RouteSyncLabels { outcome, trigger: trigger.as_str() };
        self.context.metrics.route_syncs.get_or_create(&labels).inc();
    }

    fn next_after(&self, report: &Report, memory: &Memory) -> Duration {
        let retry = memory.retries.next_after(Instant::now());
        let conditions = (report.conditions_failed > 0).then_some(self.options.retry.base);
        let soonest =
            [report.held, retry, conditions].into_iter().flatten().fold(self.options.period, Duration::min);
        soonest.max(self.options.coalesce)
    }

    async fn reconcile(&self, routes: Vec<Route>, memory: &mut Memory) -> Report {
        let now = Instant::now();
        let instances = match self.context.cloud.instances() {
            Capability::Supported(instances) => Some(instances),
            Capability::Unsupported | Capability::Unavailable(_) => None,
        };
        if let Some(instances) = instances.as_deref() {
            memory.lookups.run(&self.context, instances, now).await;
        }
        let observed = self.observe(routes, instances.as_deref());
        let plan = plan(&observed, &self.range);
        memory.retries.keep_only(&plan.changes.keys().copied().collect());
        // Checked before the rail, which judges only plans that are about to be executed.
        if self.is_fenced(&plan, &observed, &mut memory.paused_told) {
            return Report { held: Some(pause::LOOK_AGAIN), ..Report::default() };
        }
        let mut report =
            Report { held: self.judge(&plan, &observed, &mut memory.rail, now), ..Report::default() };
        let (may_go, mut fates) = select(&plan, report.held.is_some(), &memory.retries, now);
        let hands = Hands {
            routes: self.routes.as_ref(),
            cluster: &self.options.cluster_name,
            fence: self.context.fence.as_ref(),
            cancel: &self.cancel,
            batch: self.options.batch,
        };
        for (destination, tried) in hands.perform(may_go).await {
            let planned = plan.changes.get(&destination).map_or(&[][..], Vec::as_slice);
            remember(&mut memory.retries, destination, planned, &tried);
            self.tell(&observed, &tried);
            report.changed += tried.iter().filter(|(_, answer)| answer.is_ok()).count();
            report.failed += tried.iter().filter(|(_, answer)| answer.is_err()).count();
            fates.extend(tried.iter().filter_map(fate));
        }
        let networks = networks(&plan.needs, &fates);
        report.conditions_failed = self.write_conditions(&observed.nodes, &networks, &mut memory.said).await;
        summarize(&report);
        report
    }

    /// Reads the Nodes after the routes were listed, so that no route seems to belong to a missing Node. A Node without provider ID may be
    /// bare metal if no controller has observed its machine: its routes and its condition are left alone (SR-4).
    fn observe(&self, routes: Vec<Route>, instances: Option<&dyn Instances>) -> Observed {
        let is_ours = |node: &Arc<NodeView>| {
            let filter = &self.context.node_filter;
            match instances {
                Some(instances) => {
                    claim::judge(node, &self.context.machines).is_ok()
                        && claim::whose(filter, instances, node) == Claim::Ours
                }
                None => filter.selects(node),
            }
        };
        let snapshot = self.context.nodes.snapshot();
        let all: Vec<_> = snapshot.objects().iter().map(|object| object.view.clone()).collect();
        let routes = with_targets(routes, &all);
        let (nodes, foreign): (Vec<_>, Vec<_>) = all.into_iter().partition(is_ours);
        Observed { nodes, foreign: foreign.iter().map(|node| node.name.to_string()).collect(), routes }
    }

    fn judge(
        &self,
        plan: &RoutePlan,
        observed: &Observed,
        rail: &mut SecondLook<Removal>,
        now: Instant,
    ) -> Option<Duration> {
        let removals = plan.removals();
        let count = removals.len();
        let node = removals.iter().find_map(|(_, target, _)| target.clone());
        let drastic = SetChange { before: plan.ours, removed: count }.is_drastic();
        let removals = if drastic { removals } else { BTreeSet::new() };
        match rail.judge(removals, self.options.second_look_after, now) {
            Verdict::Pass => {
                // The whole plan is executed now; removals that fail need two observations again.
                rail.settled();
                None
            }
            Verdict::Hold { after, is_new } => {
                if is_new {
                    self.context.metrics.held_back("second-look");
                    let why = format!("{count} of {} routes would be taken away", plan.ours);
                    self.context.note_held("second-look", || "Routes".to_owned(), &why);
                    self.tell_held(count, plan.ours, node.as_deref(), observed);
                }
                Some(after)
            }
        }
    }

    /// Whether nothing may be written: because of a pause, a lost identity or the lease.
    fn is_fenced(&self, plan: &RoutePlan, observed: &Observed, paused_told: &mut bool) -> bool {
        let fence = self.context.fence.as_ref();
        if let Err(paused) = pause::judge(fence) {
            self.tell_paused(plan, observed, &paused, paused_told);
            return true;
        }
        *paused_told = false;
        fence.check().is_err()
    }

    /// Reports a pause once, with an event on one of the Nodes that wait for changes.
    fn tell_paused(&self, plan: &RoutePlan, observed: &Observed, paused: &Paused, told: &mut bool) {
        if plan.changes.is_empty() || std::mem::replace(told, true) {
            return;
        }
        self.context.metrics.held_back("pause");
        self.context.note_held("pause", || "Routes".to_owned(), &paused.to_string());
        let count = plan.changes.len();
        warn!(count, %paused, "routes are not changed");
        let waits = |node: &&Arc<NodeView>| {
            let mut steps = plan.changes.values().flatten();
            steps.any(|planned| made_for(&planned.step).is_some_and(|(name, _)| name == node.name))
        };
        if let Some(node) = observed.nodes.iter().find(waits).or(observed.nodes.first()) {
            let message = format!("Waiting to change routes to {count} destinations: {paused}");
            self.context.events.event(&node_reference(node), EventKind::Normal, "RoutesPaused", &message);
        }
    }

    fn tell_held(&self, count: usize, ours: usize, node: Option<&str>, observed: &Observed) {
        let message = format!(
            "Not removing {count} of the cluster's {ours} routes yet: that is most of them, so they are listed \
             a second time, and removed if nothing has changed by then"
        );
        warn!(count, ours, nodes = observed.nodes.len(), "{message}");
        if let Some(name) = node {
            let known = observed.nodes.iter().find(|node| node.name == name).cloned();
            let about =
                known.unwrap_or_else(|| Arc::new(NodeView { name: name.into(), ..NodeView::default() }));
            let about = node_reference(&about);
            self.context.events.event(&about, EventKind::Warning, "RouteRemovalHeld", &message);
        }
    }

    /// Emits an event on the Node of each route that could not be created.
    fn tell(&self, observed: &Observed, tried: &[Tried]) {
        for (change, answer) in tried {
            let (RouteChange::Create { hint, route }, Err(error)) = (change, answer) else { continue };
            let target = route.target_node.as_deref();
            let Some(node) = observed.nodes.iter().find(|node| Some(node.name.as_str()) == target) else {
                continue;
            };
            if error.class() != ErrorClass::Fenced {
                let message = format!(
                    "Could not create route {hint} {} for node {}: {error}",
                    route.destination, node.name
                );
                let about = node_reference(node);
                self.context.events.event(&about, EventKind::Warning, "FailedToCreateRoute", &message);
            }
        }
    }

    /// Writes the conditions that are due. Returns how many could not be written.
    async fn write_conditions(
        &self,
        nodes: &[Arc<NodeView>],
        networks: &BTreeMap<String, Network>,
        said: &mut Said,
    ) -> usize {
        said.keep_only(&nodes.iter().map(|node| node.uid.as_str()).collect::<BTreeSet<_>>());
        let (now, wall) = (Instant::now(), self.context.clock.now());
        let known = nodes.iter().filter_map(|node| Some((node, *networks.get(node.name.as_str())?)));
        let due: Vec<_> = known
            .filter(|(node, network)| {
                said.must_say(&node.uid, node.network_unavailable.as_ref(), *network, now)
            })
            .map(|(node, network)| async move {
                (node, network, write_condition(&self.context.writer, node, network, wall).await)
            })
            .collect();
        let mut written = stream::iter(due).buffer_unordered(CONDITION_WRITES_AT_ONCE);
        let mut failed = 0;
        while let Some((node, network, written)) = written.next().await {
            match written {
                Ok(()) => said.note(&node.uid, network, now),
                Err(error) => {
                    failed += 1;
                    warn!(node = %node.name, %error, "could not write NetworkUnavailable, will be tried again");
                }
            }
        }
        failed
    }
}

/// Selects the changes to execute now: not those that are held, or back off after a failure. The latter count as failed.
fn select(plan: &RoutePlan, hold_removals: bool, retries: &Retries, now: Instant) -> (Changes, Fates) {
    let (mut may_go, mut fates) = (Changes::new(), Fates::new());
    for (destination, steps) in &plan.changes {
        let removes = steps.iter().any(|planned| matches!(planned.step, RouteChange::Delete(_)));
        if hold_removals && removes {
            continue;
        }
        if retries.allow(destination, steps, now) {
            may_go.insert(*destination, steps.clone());
        } else {
            fates.extend(steps.iter().filter_map(|planned| Some((made_for(&planned.step)?, Fate::Failed))));
        }
    }
    (may_go, fates)
}

fn made_for(change: &RouteChange) -> Option<(String, IpNet)> {
    match change {
        RouteChange::Create { route, .. } => Some((route.target_node.clone()?, route.destination)),
        RouteChange::Delete(_) => None,
    }
}

fn fate((change, answer): &Tried) -> Option<((String, IpNet), Fate)> {
    let of = made_for(change)?;
    match answer {
        Ok(()) => Some((of, Fate::Made)),
        // Says nothing about the Node (SR-3, SR-13).
        Err(error) if may_not_go_on(error.class()) => None,
        Err(_) => Some((of, Fate::Failed)),
    }
}

fn remember(retries: &mut Retries, of: IpNet, planned: &[Planned<RouteChange>], tried: &[Tried]) {
    let errors: Vec<&CloudError> = tried.iter().filter_map(|(_, answer)| answer.as_ref().err()).collect();
    if errors.is_empty() {
        retries.succeeded(&of);
        return;
    }
    let asked = errors.iter().filter_map(|error| error.asked_to_wait()).max();
    retries.failed(of, planned, asked, Instant::now());
}

/// Logs one line for each reconcile that did something, not for each Node.
fn summarize(report: &Report) {
    match report.outcome() {
        "noop" => debug!("compared the routes with the nodes: nothing to do"),
        outcome => info!(outcome, report.changed, report.failed, "compared the routes with the nodes"),
    }
}
