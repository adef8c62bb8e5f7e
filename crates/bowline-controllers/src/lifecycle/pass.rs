//! One pass over all Nodes: observe, check the rails, execute. It also reports what the rails hold back.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use bowline_cloud::{EventKind, Evidence, NodeView, Proof};
use bowline_kube::informer::Object;
use futures::StreamExt;
use tracing::{debug, info, warn};

use super::brake::DeletionBrake;
use super::execute::{self, Ended};
use super::metrics::{RAILS, RailLabels, SKIP};
use super::observe::Observer;
use super::options::LifecycleOptions;
use super::plan::{self, Machine, Sight, Triage};
use crate::controller::ControllerContext;
use crate::node::plan::is_uninitialized;
use crate::rails::claim::{self, Claimed, claimed};
use crate::rails::deletion_budget::{Held, Look, Turn};
use crate::rails::new_node_grace::NewNodeGrace;
use crate::rails::pause;
use crate::view::node_reference;

/// The maximum number of events about held Nodes in one pass; the metric counts all of them.
const MOST_TOLD: usize = 10;

/// After this many direct reads in a row without an answer, the remaining Nodes wait for the next pass.
const MOST_UNANSWERED: usize = 3;

type SeenNode = Arc<Object<Arc<NodeView>>>;

/// State that is kept between passes.
pub(super) struct Memory {
    grace: NewNodeGrace,
    /// The rail that each Node, by UID, was last reported as held by.
    told: BTreeMap<String, &'static str>,
}

impl Memory {
    pub(super) fn new(options: &LifecycleOptions) -> Self {
        Self { grace: NewNodeGrace::new(options.new_node_grace), told: BTreeMap::new() }
    }
}

/// One pass over all Nodes.
pub(super) struct Pass<'a> {
    pub(super) context: &'a ControllerContext,
    pub(super) options: &'a LifecycleOptions,
    pub(super) brake: &'a DeletionBrake,
    pub(super) observer: Observer<'a>,
    pub(super) memory: &'a mut Memory,
}

/// The results for the observed Nodes.
#[derive(Default)]
struct Sorted {
    machines: Vec<(SeenNode, Machine)>,
    missing: Vec<SeenNode>,
    unclear: usize,
    pause: Option<Duration>,
}

/// A Node that was held back, by which rail and why. `told_as` is the type of the event; `None` if the Node is only counted.
struct HeldNode {
    node: SeenNode,
    rail: &'static str,
    why: String,
    told_as: Option<EventKind>,
}

impl HeldNode {
    fn new(node: &SeenNode, rail: &'static str, why: String) -> Self {
        Self { node: node.clone(), rail, why, told_as: Some(EventKind::Warning) }
    }
}

impl Pass<'_> {
    /// Runs the pass. Returns the `Retry-After` of the cloud, if it sent one; `None` also if cancelled.
    pub(super) async fn run(mut self) -> Option<Duration> {
        let snapshot = self.context.nodes.snapshot();
        let nodes = snapshot.objects().iter().map(Arc::clone);
        let Claimed { ours, foreign } =
            claimed(&self.context.node_filter, self.observer.instances, nodes, |node| node);
        let uids: BTreeSet<&str> = ours.iter().map(|node| node.uid.as_str()).collect();
        self.memory.grace.keep_only(|uid| uids.contains(uid));
        let now = self.context.clock.now();
        let is_new = |node: &&SeenNode| self.memory.grace.is_new(node, now);
        let new: BTreeSet<&str> = ours.iter().filter(is_new).map(|node| node.uid.as_str()).collect();
        let uids_of =
            |nodes: &mut dyn Iterator<Item = &SeenNode>| nodes.map(|node| node.uid.clone()).collect();
        self.context.machines.keep_only(
            &uids_of(&mut ours.iter().filter(|node| new.contains(node.uid.as_str()))),
            &uids_of(&mut ours.iter().filter(|node| node.provider_id.is_none())),
        );
        // Nodes that need no answer of the cloud do not wait for one. For a Node without a known machine, the cloud must first return one
        // (SR-4).
        let (up, doubtful): (Vec<_>, Vec<_>) =
            which_are(&ours, Triage::Up).partition(|node| self.is_known_as_ours(node));
        self.edit_taints(up.into_iter().map(|node| (node, Machine::Up)).collect()).await;
        let mut sorted = self.look(which_are(&ours, Triage::Ask).chain(doubtful).collect()).await?;
        self.edit_taints(std::mem::take(&mut sorted.machines)).await;
        let known = ours.iter().filter(|node| self.is_known_as_ours(node)).count();
        let mut held = self.held_as_foreign(foreign);
        held.extend(self.delete_missing(&sorted, known).await);
        self.tell(held, sorted.unclear);
        sorted.pause
    }

    fn is_known_as_ours(&self, node: &NodeView) -> bool {
        claim::judge(node, &self.context.machines).is_ok()
    }

    /// Observes the Nodes that are not Ready, and the Ready ones that have the shutdown taint but neither a provider ID nor a known
    /// machine. `None` if cancelled.
    async fn look(&mut self, asked: Vec<SeenNode>) -> Option<Sorted> {
        let mut sorted = Sorted::default();
        let views: Vec<_> = asked.iter().map(|node| node.view.clone()).collect();
        let mut nameless = Vec::new();
        for (node, sight) in asked.into_iter().zip(self.observer.look(&views).await?) {
            match sight {
                Sight::There(power) => {
                    self.memory.grace.saw(&node);
                    // The node controller identifies the machine of a Node that waits to be initialized.
                    if !self.is_known_as_ours(&node) && !is_uninitialized(&node) {
                        nameless.push(node.view.clone());
                    }
                    let machine = match node.ready {
                        Some(true) => Some(Machine::Up),
                        Some(false) | None => Machine::from_power(power),
                    };
                    sorted.machines.extend(machine.map(|machine| (node, machine)));
                }
                Sight::LooksGone if node.ready != Some(true) => sorted.missing.push(node),
                Sight::LooksGone => {}
                Sight::Unclear(doubt) => {
                    debug!(node = %node.name, %doubt, "the cloud does not say whether its machine is there");
                    sorted.unclear += 1;
                    sorted.pause = sorted.pause.max(doubt.retry_after);
                }
            }
        }
        self.identify(&nameless).await?;
        Some(sorted)
    }

    /// Records the machines of Nodes without provider ID: only the provider ID can prove later that a machine is gone.
    async fn identify(&self, nodes: &[Arc<NodeView>]) -> Option<()> {
        for (node, found) in nodes.iter().zip(self.observer.identify(nodes).await?) {
            if let Evidence::Present(instance) = found {
                self.context.machines.saw(node, &instance.provider_id);
            }
        }
        Some(())
    }

    async fn edit_taints(&self, machines: Vec<(SeenNode, Machine)>) {
        let edits = machines.into_iter().map(|(node, machine)| self.edit_taints_of(node, machine));
        futures::stream::iter(edits).buffer_unordered(self.options.workers).collect::<()>().await;
    }

    async fn edit_taints_of(&self, node: SeenNode, machine: Machine) {
        // The latest cached version, not that of the snapshot: the edit has its resource version as precondition.
        let Some(node) = self.still_there(&node) else { return };
        let edits = plan::edits(&node, machine, self.options.out_of_service_taint);
        if !edits.is_empty() && !self.observer.cancel.is_cancelled() {
            execute::edit_taints(self.context, &node, edits).await;
        }
    }

    /// The latest cached version of a Node; `None` if it was deleted or replaced, or left `--node-filter`, since the pass began.
    fn still_there(&self, node: &SeenNode) -> Option<SeenNode> {
        let now = self.context.nodes.get(&node.key)?;
        (now.uid == node.uid && self.context.node_filter.selects(&now)).then_some(now)
    }

    /// Only Nodes that are not Ready count as held: the controller would never delete the others.
    fn held_as_foreign(&self, foreign: Vec<(SeenNode, String)>) -> Vec<HeldNode> {
        let not_ready = foreign.into_iter().filter(|(node, _)| plan::triage(node) == Triage::Ask);
        not_ready.map(|(node, why)| HeldNode { node, rail: "claim", why, told_as: None }).collect()
    }

    /// Checks the rails for the Nodes whose machine seems gone, and deletes those that pass and are proven gone.
    async fn delete_missing(&mut self, sorted: &Sorted, nodes: usize) -> Vec<HeldNode> {
        let now = self.context.clock.now();
        let mut held = Vec::new();
        let mut going = Vec::new();
        for node in &sorted.missing {
            if self.context.machines.knows(node) {
                self.memory.grace.saw(node);
            }
            match self.memory.grace.judge(node, now) {
                Ok(()) => {}
                Err(too_new) => {
                    held.push(HeldNode::new(node, "grace", too_new.to_string()));
                    continue;
                }
            }
            match claim::judge(node, &self.context.machines) {
                Ok(()) => going.push((node, plan::announced(node, &self.options.announcing_taints))),
                // A Node whose machine is in no cloud is normal (bare metal), so the event is no warning.
                Err(never_found) => {
                    let told_as = Some(EventKind::Normal);
                    held.push(HeldNode { told_as, ..HeldNode::new(node, "claim", never_found.to_string()) });
                }
            }
        }
        if self.options.skip_deletion {
            // Nothing is deleted, so neither the budget nor the breaker is needed.
            held.extend(going.into_iter().map(|(node, _)| skipped(node)));
            return held;
        }
        let lost: BTreeSet<_> =
            going.iter().filter(|(_, announced)| !announced).map(|(node, _)| node.uid.to_string()).collect();
        self.turn_breaker(&Look { nodes, gone: &lost, complete: sorted.unclear == 0 });
        let mut unanswered = 0;
        for (node, announced) in going {
            let judged = match unanswered {
                MOST_UNANSWERED => Err(("evidence", "the cloud does not answer direct reads".to_owned())),
                _ => self.delete_if_gone(node, announced).await,
            };
            match judged {
                Ok(()) => unanswered = 0,
                Err((rail, why)) => {
                    unanswered += usize::from(rail == "evidence" && unanswered < MOST_UNANSWERED);
                    held.push(HeldNode::new(node, rail, why));
                }
            }
        }
        held
    }

    fn turn_breaker(&self, look: &Look<'_>) {
        let turn = self.brake.budget().look(look, self.brake.now());
        match turn {
            Some(Turn::Opened) => warn!(
                gone = look.gone.len(),
                of = look.nodes,
                "so many nodes seem gone that none is deleted; check the credentials and the project of the cloud"
            ),
            Some(Turn::Closed) => {
                info!("reads are healthy again: nodes whose machine is gone are deleted again");
            }
            None => {}
        }
        self.context.metrics.node_deletion.breaker_open.set(self.brake.is_open().into());
    }

    /// Checks the budget before the direct read: that costs no request, and limits the number of direct reads.
    async fn delete_if_gone(
        &mut self,
        node: &SeenNode,
        announced: bool,
    ) -> Result<(), (&'static str, String)> {
        pause::judge(self.context.fence.as_ref()).map_err(|paused| ("pause", paused.to_string()))?;
        if !announced {
            let judged = self.brake.budget().judge(&node.uid);
            judged.map_err(|held| (rail_of(&held), held.to_string()))?;
        }
        if self.observer.cancel.is_cancelled() {
            return Ok(());
        }
        let seen = self.context.machines.seen_for(node);
        match self.observer.confirm(node, seen.as_ref()).await {
            // The machine exists after all; the next pass handles it.
            Some(Evidence::Present(_)) => self.memory.grace.saw(node),
            Some(Evidence::Unknown(doubt)) => {
                return Err((
                    "evidence",
                    format!("the cloud gave no proof that its machine is gone: {doubt}"),
                ));
            }
            Some(Evidence::Absent(proof)) if self.is_still(node) => {
                self.delete(node, announced, &proof).await;
            }
            Some(Evidence::Absent(_)) | None => {}
        }
        Ok(())
    }

    /// Whether the Node is unchanged since it was observed: it may have become Ready or got a provider ID, or another Node may have its
    /// name.
    fn is_still(&self, node: &SeenNode) -> bool {
        let now = self.still_there(node);
        now.is_some_and(|now| plan::triage(&now) == Triage::Ask && now.provider_id == node.provider_id)
    }

    async fn delete(&self, node: &SeenNode, announced: bool, proof: &Proof) {
        if !announced {
            self.brake.budget().spend(&node.uid, self.brake.now());
        }
        match execute::delete(self.context, node, proof).await {
            Ended::Deleted => {
                self.context.metrics.node_deletion.deleted.inc();
            }
            Ended::NotDeleted => self.brake.budget().give_back(&node.uid),
            Ended::Unsure => {}
        }
    }

    /// Emits one event per Node and rail for held Nodes, and sets the metrics.
    fn tell(&mut self, held: Vec<HeldNode>, unclear: usize) {
        let count = |rail| held.iter().filter(|held| held.rail == rail).count();
        for rail in RAILS {
            let count = count(rail) + if rail == "evidence" { unclear } else { 0 };
            let gauge = self.context.metrics.node_deletion.held.get_or_create(&RailLabels { rail });
            gauge.set(i64::try_from(count).unwrap_or(i64::MAX));
        }
        let before = std::mem::take(&mut self.memory.told);
        let mut told = 0;
        for HeldNode { node, rail, why, told_as } in held {
            // Nodes of other clouds are only counted.
            let Some(kind) = told_as else { continue };
            if before.get(node.uid.as_str()) != Some(&rail) {
                if told == MOST_TOLD {
                    continue;
                }
                told += 1;
                let message = format!("Not deleting node {}: {why}", node.name);
                match kind {
                    EventKind::Normal => info!(node = %node.name, rail, why, "the node is not deleted"),
                    EventKind::Warning => {
                        warn!(node = %node.name, rail, why, "the node's machine seems gone, but it is not deleted");
                    }
                }
                self.context.note_held(rail, || format!("Node {}", node.name), &why);
                let about = node_reference(&node);
                self.context.events.event(&about, kind, "NodeDeletionHeld", &message);
            }
            self.memory.told.insert(node.uid.to_string(), rail);
        }
    }
}

fn skipped(node: &SeenNode) -> HeldNode {
    let why = "its machine looks gone, but --skip-node-deletion is set; delete the Node by hand if it is not needed any more";
    HeldNode { told_as: Some(EventKind::Normal), ..HeldNode::new(node, SKIP, why.to_owned()) }
}

fn which_are(nodes: &[SeenNode], wanted: Triage) -> impl Iterator<Item = SeenNode> {
    nodes.iter().filter(move |node| plan::triage(node) == wanted).map(Arc::clone)
}

fn rail_of(held: &Held) -> &'static str {
    match held {
        Held::BreakerOpen { .. } => "breaker",
        Held::BudgetSpent { .. } => "budget",
    }
}
