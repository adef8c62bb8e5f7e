//! One look at all nodes: observe, ask the rails, execute. What the rails hold back is told here.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use bowline_cloud::{EventKind, Evidence, NodeView, Proof};
use bowline_kube::informer::Object;
use futures::StreamExt;
use tracing::{debug, info, warn};

use super::brake::DeletionBrake;
use super::execute::{self, Ended};
use super::metrics::{RAILS, RailLabels};
use super::observe::Observer;
use super::options::LifecycleOptions;
use super::plan::{self, Machine, Sight, Triage};
use crate::controller::ControllerContext;
use crate::rails::claim::{Claimed, claimed};
use crate::rails::deletion_budget::{Held, Look, Turn};
use crate::rails::new_node_grace::NewNodeGrace;
use crate::rails::pause;
use crate::view::node_reference;

/// So many nodes are told in one pass that they were held back; the metric counts all.
const MOST_TOLD: usize = 10;

/// So many direct reads in a row may stay without an answer before the rest waits for the next pass.
const MOST_UNANSWERED: usize = 3;

type SeenNode = Arc<Object<Arc<NodeView>>>;

/// What is known from one pass to the next.
pub(super) struct Memory {
    grace: NewNodeGrace,
    /// Who was told, by UID, that which rail holds it.
    told: BTreeMap<String, &'static str>,
}

impl Memory {
    pub(super) fn new(options: &LifecycleOptions) -> Self {
        Self { grace: NewNodeGrace::new(options.new_node_grace), told: BTreeMap::new() }
    }
}

/// One pass.
pub(super) struct Pass<'a> {
    pub(super) context: &'a ControllerContext,
    pub(super) options: &'a LifecycleOptions,
    pub(super) brake: &'a DeletionBrake,
    pub(super) observer: Observer<'a>,
    pub(super) memory: &'a mut Memory,
}

/// What the cloud said of the nodes that are not Ready.
#[derive(Default)]
struct Sorted {
    machines: Vec<(SeenNode, Machine)>,
    missing: Vec<SeenNode>,
    unclear: usize,
    pause: Option<Duration>,
}

/// A node that was held back: by which rail, and why.
type HeldNode = (SeenNode, &'static str, String);

impl Pass<'_> {
    /// Runs it. Answers how long the cloud asked to be left alone.
    pub(super) async fn run(mut self) -> Option<Duration> {
        let snapshot = self.context.nodes.snapshot();
        let nodes = snapshot.objects().iter().map(Arc::clone);
        let Claimed { ours, foreign } = claimed(self.observer.instances, nodes, |node| node);
        let uids: BTreeSet<&str> = ours.iter().map(|node| node.uid.as_str()).collect();
        self.memory.grace.keep_only(|uid| uids.contains(uid));
        let now = self.context.clock.now();
        let is_new = |node: &&SeenNode| self.memory.grace.is_new(node, now);
        let new: BTreeSet<&str> = ours.iter().filter(is_new).map(|node| node.uid.as_str()).collect();
        self.context.machines.keep_only(|uid| new.contains(uid));
        // Those that need no word from the cloud do not wait for it.
        self.edit_taints(which_are(&ours, Triage::Up).map(|node| (node, Machine::Up)).collect()).await;
        let mut sorted = self.look(which_are(&ours, Triage::Ask).collect()).await?;
        self.edit_taints(std::mem::take(&mut sorted.machines)).await;
        let mut held = self.held_as_foreign(foreign);
        held.extend(self.delete_missing(&sorted, ours.len()).await);
        self.tell(held, sorted.unclear);
        sorted.pause
    }

    /// Asks the cloud about the nodes that are not Ready.
    async fn look(&mut self, asked: Vec<SeenNode>) -> Option<Sorted> {
        let mut sorted = Sorted::default();
        let views: Vec<_> = asked.iter().map(|node| node.view.clone()).collect();
        for (node, sight) in asked.into_iter().zip(self.observer.look(&views).await?) {
            match sight {
                Sight::There(power) => {
                    self.memory.grace.saw(&node);
                    sorted.machines.extend(Machine::from_power(power).map(|machine| (node, machine)));
                }
                Sight::LooksGone => sorted.missing.push(node),
                Sight::Unclear(doubt) => {
                    debug!(node = %node.name, %doubt, "the cloud does not say whether its machine is there");
                    sorted.unclear += 1;
                    sorted.pause = sorted.pause.max(doubt.retry_after);
                }
            }
        }
        Some(sorted)
    }

    async fn edit_taints(&self, machines: Vec<(SeenNode, Machine)>) {
        let edits = machines.into_iter().map(|(node, machine)| self.edit_taints_of(node, machine));
        futures::stream::iter(edits).buffer_unordered(self.options.workers).collect::<()>().await;
    }

    async fn edit_taints_of(&self, node: SeenNode, machine: Machine) {
        // The latest version, not that of the snapshot: the edit holds for exactly this one.
        let Some(node) = self.still_there(&node) else { return };
        let edits = plan::edits(&node, machine, self.options.out_of_service_taint);
        if !edits.is_empty() && !self.observer.cancel.is_cancelled() {
            execute::edit_taints(self.context, &node, edits).await;
        }
    }

    fn still_there(&self, node: &SeenNode) -> Option<SeenNode> {
        self.context.nodes.get(&node.key).filter(|now| now.uid == node.uid)
    }

    /// Only those that are not Ready: for these, something might have been done.
    fn held_as_foreign(&self, foreign: Vec<(SeenNode, String)>) -> Vec<HeldNode> {
        let not_ready = foreign.into_iter().filter(|(node, _)| plan::triage(node) == Triage::Ask);
        not_ready.map(|(node, why)| (node, "claim", why)).collect()
    }

    /// Asks the rails about the nodes whose machine seems gone, and deletes those that pass and are gone indeed.
    async fn delete_missing(&mut self, sorted: &Sorted, nodes: usize) -> Vec<HeldNode> {
        let now = self.context.clock.now();
        let mut held = Vec::new();
        let mut going = Vec::new();
        for node in &sorted.missing {
            if self.context.machines.knows(node) {
                self.memory.grace.saw(node);
            }
            match self.memory.grace.judge(node, now) {
                Ok(()) => going.push((node, plan::announced(node, &self.options.announcing_taints))),
                Err(too_new) => held.push((node.clone(), "grace", too_new.to_string())),
            }
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
                    held.push((node.clone(), rail, why));
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

    /// The budget first: it costs nothing, and bounds the direct reads that follow.
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
        match self.observer.confirm(node).await {
            // It was there all along; the next pass sees what to do.
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

    /// Meanwhile it may have become Ready or got a provider ID, or another may have its name.
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

    /// Tells each node once that it is held back, and by which rail, and shows the numbers.
    fn tell(&mut self, held: Vec<HeldNode>, unclear: usize) {
        let count = |rail| held.iter().filter(|(_, by, _)| *by == rail).count();
        for rail in RAILS {
            let count = count(rail) + if rail == "evidence" { unclear } else { 0 };
            let gauge = self.context.metrics.node_deletion.held.get_or_create(&RailLabels { rail });
            gauge.set(i64::try_from(count).unwrap_or(i64::MAX));
        }
        let before = std::mem::take(&mut self.memory.told);
        let mut told = 0;
        // Other people's nodes are no news: they are counted only.
        for (node, rail, why) in held.into_iter().filter(|(_, rail, _)| *rail != "claim") {
            if before.get(node.uid.as_str()) != Some(&rail) {
                if told == MOST_TOLD {
                    continue;
                }
                told += 1;
                let message = format!("Not deleting node {}: {why}", node.name);
                warn!(node = %node.name, rail, why, "the node's machine seems gone, but it is not deleted");
                self.context.note_held(rail, || format!("Node {}", node.name), &why);
                let about = node_reference(&node);
                self.context.events.event(&about, EventKind::Warning, "NodeDeletionHeld", &message);
            }
            self.memory.told.insert(node.uid.to_string(), rail);
        }
    }
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
