//! The loop around the ledger: events of the informer are recorded, and workers write what they reserve.
//!
//! The lock is held for map and bitmap operations only, never across an await.

use std::collections::BTreeSet;
use std::sync::Arc;

use bowline_cloud::NodeView;
use bowline_kube::informer::{Change, ObjectKey};
use bowline_kube::queue::{KeyedQueue, Outcome, Picked, Priority};
use ipnet::IpNet;
use parking_lot::{Mutex, MutexGuard};
use tracing::{info, warn};

use super::execute;
use super::ledger::Ledger;
use super::options::IpamControllerOptions;
use super::plan::{Step, after, lacks_ranges, plan};
use super::report::{self, ASSIGNMENT_FAILED, Meter, NOT_AVAILABLE};
use crate::controller::ControllerContext;
use crate::rails::pause;

pub(super) struct Work {
    context: ControllerContext,
    queue: KeyedQueue<ObjectKey>,
    books: Mutex<Books>,
}

/// State that is changed together.
struct Books {
    ledger: Ledger,
    /// Nodes for which no range was free. They are enqueued as soon as one is.
    waiting: BTreeSet<ObjectKey>,
    meter: Meter,
}

impl Work {
    pub(super) fn new(
        options: &IpamControllerOptions,
        context: ControllerContext,
        queue: KeyedQueue<ObjectKey>,
    ) -> Self {
        let (ledger, waiting) = (Ledger::new(options), BTreeSet::new());
        let meter = Meter::new(context.metrics.ipam.clone());
        Self { context, queue, books: Mutex::new(Books { ledger, waiting, meter }) }
    }

    /// Records all existing Nodes.
    pub(super) fn begin(&self, existing: &[Change<Arc<NodeView>>]) {
        self.books().meter_sets();
        existing.iter().for_each(|change| self.told(change));
    }

    /// Records one event. Must be called in the order of the events.
    pub(super) fn told(&self, change: &Change<Arc<NodeView>>) {
        match change {
            Change::Added { new } | Change::Updated { new, .. } => {
                let (problems, woken) = self.books().change(|ledger| ledger.observe(&new.view));
                self.wake(woken);
                // The ranges of a Node outside of `--node-filter` count as taken, but the Node is left alone.
                if !self.context.node_filter.selects(&new.view) {
                    return;
                }
                report::quarantined(&self.context.events, &new.view, &problems);
                if lacks_ranges(&new.view) {
                    self.queue.add(new.key.clone(), Priority::User);
                }
            }
            Change::Deleted { old } => {
                let mut books = self.books();
                books.waiting.remove(&old.key);
                let ((), woken) = books.change(|ledger| ledger.forget(&old.uid));
                drop(books);
                self.wake(woken);
            }
        }
    }

    /// Processes one Node.
    pub(super) async fn on(&self, picked: &Picked<ObjectKey>) -> Outcome {
        // Checked before ranges are reserved: during a pause, another writer may assign them to another Node.
        if pause::judge(self.context.fence.as_ref()).is_err() {
            return Outcome::RetryAfter(pause::LOOK_AGAIN);
        }
        let key = &picked.key;
        let Some(node) = self.context.nodes.get(key).map(|object| object.view.clone()) else {
            return Outcome::Done;
        };
        if !self.context.node_filter.selects(&node) {
            self.books().waiting.remove(key);
            return Outcome::Done;
        }
        let step = self.books().plan(key, &node);
        match step {
            Step::Leave => Outcome::Done,
            Step::Wait { exhausted } => {
                if picked.failures == 0 {
                    warn!(node = %node.name, range = %exhausted, "no pod range is free; waiting until one is");
                }
                report::status(&self.context.events, &node, NOT_AVAILABLE);
                Outcome::Failed
            }
            Step::Assign { ranges, .. } => self.assign(picked, &node, &ranges).await,
        }
    }

    async fn assign(&self, picked: &Picked<ObjectKey>, node: &NodeView, ranges: &[IpNet]) -> Outcome {
        let error = match execute::write(&self.context.writer, node, ranges).await {
            Ok(_written) => {
                info!(node = %node.name, ?ranges, "gave the node its pod ranges");
                self.books().ledger.written(&node.uid);
                return Outcome::Done;
            }
            Err(error) => error,
        };
        let afterwards = after(&error, picked.failures);
        if !afterwards.keep {
            let ((), woken) = self.books().change(|ledger| ledger.take_back(&node.uid));
            self.wake(woken);
        }
        if !afterwards.tell {
            return afterwards.outcome;
        }
        if self.context.nodes.get(&picked.key).is_none_or(|now| !lacks_ranges(&now.view)) {
            return Outcome::Done; // lost a race: it has ranges by now, and no event is due
        }
        warn!(node = %node.name, ?ranges, %error, "could not write the node's pod ranges, will be tried again");
        report::status(&self.context.events, node, ASSIGNMENT_FAILED);
        afterwards.outcome
    }

    fn wake(&self, woken: Vec<ObjectKey>) {
        for key in woken {
            self.queue.add(key, Priority::User);
        }
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock()
    }
}

impl Books {
    /// Changes the ledger. Returns also the keys to enqueue: one waiting Node for each released range.
    fn change<T>(&mut self, change: impl FnOnce(&mut Ledger) -> T) -> (T, Vec<ObjectKey>) {
        let released = |ledger: &Ledger| ledger.sets().iter().map(|set| set.totals().1).sum::<u64>();
        let before = released(&self.ledger);
        let result = change(&mut self.ledger);
        self.meter_sets();
        let woken = (before..released(&self.ledger)).map_while(|_range| self.waiting.pop_first()).collect();
        (result, woken)
    }

    fn plan(&mut self, key: &ObjectKey, node: &NodeView) -> Step {
        let step = plan(node, &mut self.ledger);
        self.waiting.remove(key);
        match &step {
            Step::Leave => {}
            Step::Wait { .. } => {
                self.waiting.insert(key.clone());
            }
            Step::Assign { passed, .. } => self.meter.searched(passed),
        }
        self.meter_sets();
        step
    }

    fn meter_sets(&mut self) {
        self.meter.show(self.ledger.sets());
    }
}
