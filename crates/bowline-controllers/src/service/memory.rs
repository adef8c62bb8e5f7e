//! What the controller remembers of each Service between runs, and when it forgets it. No decisions about the cloud.
//!
//! All of it may be lost: after a restart a Service is observed and planned as if it were new.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bowline_cloud::{LoadBalancerStatus, NodeSet, Notes, ServiceCondition, ServiceView, Text};
use bowline_kube::informer::ObjectKey;
use parking_lot::Mutex;
use prometheus_client::metrics::gauge::Gauge;
use tokio::time::Instant;

use super::desire::needs_update;
use super::moved::{Moved, add_reason};
use super::noted::{Noted, with_notes};
use super::refused::Refused;
use super::said::{Present, Said};
use crate::metrics::ControllerMetrics;
use crate::rails::create_budget::CreateBudget;
use crate::rails::second_look::SecondLook;

/// What a run is about; it decides which events tell of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Task {
    /// Make the load balancer as the Service wants it.
    Ensure,
    /// Only the set of nodes changed.
    Nodes,
    /// Take it away; the Service is still there.
    Remove,
    /// Take away what belonged to a Service that is gone.
    RemoveOrphan,
}

impl Task {
    pub(super) fn is_removal(self) -> bool {
        matches!(self, Self::Remove | Self::RemoveOrphan)
    }
}

/// What is remembered of one Service.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// The Service as we last worked for it: then something of it may be in the cloud.
    pub(super) known: Option<Arc<ServiceView>>,
    /// Our finalizer was sent, and the informer does not show it yet.
    pub(super) finalizer_sent: bool,
    pub(super) settled: Option<Settled>,
    pub(super) episode: Option<Episode>,
    pub(super) second_look: SecondLook<String>,
    /// SR-19: the broken load balancer that waits for a second observation.
    pub(super) replacement: SecondLook<String>,
    /// SR-19: a person was told that a broken load balancer is kept.
    pub(super) replacement_told: bool,
    pub(super) creates: CreateBudget,
    pub(super) paused_told: bool,
    /// Somebody was told that the whole cluster is paused.
    pub(super) cluster_pause_told: bool,
    /// What adopt-only mode held back last, as it was told.
    pub(super) not_adopted: Option<String>,
    pub(super) refused: Option<Refused>,
    /// When the work began that has not come to an end yet.
    pub(super) since: Option<Instant>,
    pub(super) waits: Option<Waits>,
    pub(super) said: Option<Said>,
    /// Our annotations, until the informer shows them.
    pub(super) noted: Option<Box<Noted>>,
    /// Since when its runs are given up because there are newer nodes by then.
    pub(super) gives_way_since: Option<Instant>,
    /// The last change of the published address. Few Services ever have one.
    moved: Option<Box<Moved>>,
    /// Its load balancer was found changed, and is not repaired yet.
    drift: Option<DriftMark>,
}

/// Counts a load balancer as drifted for as long as it exists: until it is repaired, or its Service is forgotten.
#[derive(Debug)]
struct DriftMark(Gauge);

impl DriftMark {
    fn new(drifted: &Gauge) -> Self {
        drifted.inc();
        Self(drifted.clone())
    }
}

impl Drop for DriftMark {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// What the load balancer was last brought to.
#[derive(Debug, Clone)]
pub(super) struct Settled {
    pub(super) service: Arc<ServiceView>,
    node_epoch: u64,
    leaving: Vec<Text>,
}

impl Settled {
    fn has(&self, nodes: &NodeSet) -> bool {
        self.node_epoch == nodes.epoch && self.leaving.iter().eq(nodes.leaving.keys())
    }
}

/// From the first step until all is settled.
#[derive(Debug)]
pub(super) struct Episode {
    pub(super) task: Task,
    pub(super) began: Instant,
    /// Steps that succeeded.
    pub(super) steps: usize,
    pub(super) last_step: Option<String>,
    /// Why steps were performed, for a few of them.
    pub(super) reasons: Vec<String>,
}

/// A wait, and whether a person was told.
#[derive(Debug)]
pub(super) struct Waits {
    pub(super) reason: String,
    pub(super) since: Instant,
    pub(super) told: bool,
}

impl Waits {
    /// Whether it has lasted this long.
    pub(super) fn lasts(&self, time: Duration) -> bool {
        self.since.elapsed() >= time
    }

    /// Whether it is time to tell of it, once.
    pub(super) fn is_to_tell(&mut self, after: Duration) -> bool {
        let tell = !self.told && self.lasts(after);
        self.told |= tell;
        tell
    }
}

impl Memory {
    /// What a run that shall ensure `service` is about.
    pub(super) fn ensuring(&self, service: &ServiceView, nodes: &NodeSet) -> Task {
        match &self.settled {
            Some(settled) if !settled.has(nodes) && !needs_update(&settled.service, service) => Task::Nodes,
            _ => Task::Ensure,
        }
    }

    /// Steps are due for `task`. If the load balancer was as this Service and its nodes ask, somebody changed it, or the configuration of
    /// the cloud: that is counted, once until it is repaired.
    pub(super) fn finds_steps(&mut self, task: Task, service: &ServiceView, metrics: &ControllerMetrics) {
        let settled = self.settled.as_ref();
        let was_as_asked = settled.is_some_and(|settled| !needs_update(&settled.service, service));
        if task == Task::Ensure && was_as_asked && self.episode.is_none() && self.drift.is_none() {
            metrics.load_balancer_drift.inc();
            self.drift = Some(DriftMark::new(&metrics.load_balancers_drifted));
        }
    }

    /// The load balancer is as the Service asks.
    pub(super) fn is_repaired(&mut self) {
        self.drift = None;
    }

    /// Notes that something of this Service may be in the cloud from now on.
    pub(super) fn works_for(&mut self, service: &Arc<ServiceView>) {
        let before = self.known.replace(service.clone());
        if let Some(episode) = &mut self.episode
            && before.is_some_and(|before| needs_update(&before, service))
        {
            // For another wish the same step may be right again.
            episode.last_step = None;
        }
    }

    /// This condition is about to be written on `service`.
    pub(super) fn will_say(&mut self, service: &ServiceView, condition: ServiceCondition) {
        self.said = Some(Said::sent(service, condition));
    }

    /// It was written.
    pub(super) fn has_said(&mut self) {
        if let Some(said) = &mut self.said {
            said.was_accepted();
        }
    }

    /// The informer shows `service`.
    pub(super) fn sees(&mut self, service: &ServiceView) {
        self.said.take_if(|said| said.uid != service.uid);
        if self.known.as_ref().is_some_and(|known| needs_update(known, service)) {
            self.creates.wish_changed();
        }
        if let (Some(said), Some(there)) = (&mut self.said, service.condition.as_deref()) {
            said.is_shown_by(there);
        }
    }

    /// The condition that `service` has by now, as far as we know.
    pub(super) fn condition_of(&self, service: &ServiceView) -> Present {
        let ours = self.said.as_ref().and_then(Said::unshown);
        ours.unwrap_or_else(|| Present::of(service))
    }

    /// Takes down what is about to be written on `service`: the informer may show it before the server's answer is here. Gives
    /// back what was there, for the case that it is not written.
    pub(super) fn notes(&mut self, service: &ServiceView, notes: &Notes) -> Option<Box<Noted>> {
        let noted = Noted::on(service, notes, self.noted.as_deref());
        self.noted.replace(Box::new(noted))
    }

    /// `before` became `after` by our own writing: what was done for the one was done for the other.
    pub(super) fn wrote(&mut self, before: &ServiceView, after: &Arc<ServiceView>) {
        let settled = self.settled.as_mut().map(|settled| &mut settled.service);
        for older in self.known.iter_mut().chain(settled) {
            if older.uid == before.uid && !needs_update(older, before) {
                *older = after.clone();
            }
        }
    }

    /// `service` with our annotations, as it is by now as far as we know.
    pub(super) fn by_now(&self, service: &Arc<ServiceView>) -> Arc<ServiceView> {
        match self.noted.as_deref().filter(|noted| noted.holds_for(service)) {
            Some(noted) => with_notes(service, noted.notes()),
            None => service.clone(),
        }
    }

    /// The informer shows `service`: which annotations are our own writing. From then on the informer is asked, which shows if
    /// somebody changes them.
    pub(super) fn shown(&mut self, service: &ServiceView) -> Option<Notes> {
        let noted = self.noted.take().filter(|noted| noted.holds_for(service))?;
        let notes = noted.notes().clone();
        if !notes.stand_in(&service.annotations) {
            self.noted = Some(noted);
        }
        Some(notes)
    }

    /// Lets go of an older picture of `service` that asks for the same: one picture is kept, not two.
    pub(super) fn keeps_only(&mut self, service: &Arc<ServiceView>) {
        self.wrote(service, service);
    }

    /// Whether its load balancer was not brought yet to the set of this epoch.
    pub(super) fn lacks(&self, epoch: u64) -> bool {
        self.settled.as_ref().is_none_or(|settled| settled.node_epoch < epoch)
    }

    /// Whether its load balancer still has nodes that leave.
    pub(super) fn drains(&self) -> bool {
        self.settled.as_ref().is_some_and(|settled| !settled.leaving.is_empty())
    }

    /// Begins an episode, or goes on with it; whether this is the first step of its kind.
    pub(super) fn begin(&mut self, task: Task) -> bool {
        match &mut self.episode {
            Some(episode) if episode.task == task => false,
            // What began as a change of nodes and met a user's edit is now about both.
            Some(episode) => {
                episode.task = task;
                true
            }
            None => {
                self.episode = Some(Episode {
                    task,
                    began: Instant::now(),
                    steps: 0,
                    last_step: None,
                    reasons: Vec::new(),
                });
                true
            }
        }
    }

    /// Takes down the steps of a run; `false` if they are the same as those of the run before, which then had no effect.
    pub(super) fn stepped(&mut self, step: String) -> bool {
        let Some(episode) = &mut self.episode else { return true };
        episode.steps += 1;
        let repeated = episode.last_step.as_ref() == Some(&step);
        episode.last_step = Some(step);
        !repeated
    }

    /// Takes down why a step was performed.
    pub(super) fn performed(&mut self, reason: &str) {
        if let Some(episode) = &mut self.episode {
            add_reason(&mut episode.reasons, reason);
        }
    }

    /// The published address is about to become another one. It is told when it is written, and once: the informer may lag behind.
    pub(super) fn moves(&mut self, moved: Moved) {
        if self.moved.as_ref().is_none_or(|known| known.to != moved.to) {
            let why = self.episode.as_ref().map(|episode| episode.reasons.clone()).unwrap_or_default();
            self.moved = Some(Box::new(Moved { why, ..moved }));
        }
    }

    /// The change of the published address to what is shown now, if nobody was told of it yet.
    pub(super) fn untold_move(&mut self, shown: &LoadBalancerStatus) -> Option<Moved> {
        let moved = self.moved.as_mut().filter(|moved| !moved.told && moved.leads_to(shown))?;
        moved.told = true;
        Some((**moved).clone())
    }

    /// Notes a wait; what is known of it by now.
    pub(super) fn waits(&mut self, reason: &str) -> &mut Waits {
        if let Some(episode) = &mut self.episode {
            episode.last_step = None;
        }
        let begins = || Waits { reason: reason.to_owned(), since: Instant::now(), told: false };
        self.waits.take_if(|waits| waits.reason != reason);
        self.waits.get_or_insert_with(begins)
    }

    /// All is as wanted; gives back the episode that led to it.
    pub(super) fn settle(&mut self, service: &Arc<ServiceView>, nodes: &NodeSet) -> Option<Episode> {
        let (node_epoch, leaving) = (nodes.epoch, nodes.leaving.keys().cloned().collect());
        self.settled = Some(Settled { service: service.clone(), node_epoch, leaving });
        self.known = Some(service.clone());
        (self.waits, self.refused, self.not_adopted, self.gives_way_since) = (None, None, None, None);
        self.second_look.settled();
        self.episode.take()
    }
}

/// The memories, by key. One worker at a time works on a key, so a memory is never waited for.
#[derive(Debug, Default)]
pub(super) struct Memories(Mutex<BTreeMap<ObjectKey, Arc<Mutex<Memory>>>>);

impl Memories {
    pub(super) fn of(&self, key: &ObjectKey) -> Arc<Mutex<Memory>> {
        self.0.lock().entry(key.clone()).or_default().clone()
    }

    /// A newer picture of a Service, if we know it; gives back what of its annotations is our own writing.
    pub(super) fn update(&self, key: &ObjectKey, service: &Arc<ServiceView>) -> Option<Notes> {
        let memory = self.get(key)?;
        let mut memory = memory.lock();
        memory.keeps_only(service);
        memory.shown(service)
    }

    pub(super) fn get(&self, key: &ObjectKey) -> Option<Arc<Mutex<Memory>>> {
        self.0.lock().get(key).cloned()
    }

    pub(super) fn forget(&self, key: &ObjectKey) {
        self.0.lock().remove(key);
    }

    /// How many Services are worked for.
    pub(super) fn count(&self) -> usize {
        self.0.lock().len()
    }

    pub(super) fn keys(&self) -> Vec<ObjectKey> {
        self.0.lock().keys().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_service_that_asks_for_the_same_as_before_only_the_newest_picture_is_kept() {
        let picture = |uid: &str, ip: Option<&str>| {
            let (uid, kind) = (uid.into(), "LoadBalancer".into());
            let load_balancer_ip = ip.map(Into::into);
            Arc::new(ServiceView { uid, kind, load_balancer_ip, ..ServiceView::default() })
        };
        let (memories, key) = (Memories::default(), ObjectKey::namespaced("shop", "web"));
        let kept = |picture: &Arc<ServiceView>| {
            let memory = memories.of(&key);
            let memory = memory.lock();
            let pictures = [memory.known.as_ref(), memory.settled.as_ref().map(|settled| &settled.service)];
            pictures.iter().all(|kept| kept.is_some_and(|kept| Arc::ptr_eq(kept, picture)))
        };
        let first = picture("u-1", None);
        memories.of(&key).lock().settle(&first, &NodeSet::default());
        let status_written = picture("u-1", None);
        memories.update(&key, &status_written);
        assert!(kept(&status_written) && Arc::strong_count(&first) == 1);
        memories.update(&key, &picture("u-1", Some("192.0.2.1")));
        assert!(kept(&status_written), "what was brought about is not what is asked for now");
        memories.update(&key, &picture("u-2", None));
        assert!(kept(&status_written), "another of that name");
    }

    #[tokio::test(start_paused = true)]
    async fn our_own_annotations_are_known_until_shown_and_leave_one_picture_and_nothing_else() {
        let picture = |annotations: &[(&str, &str)]| {
            let (uid, kind) = ("u-1".into(), "LoadBalancer".into());
            let annotations = annotations.iter().copied().collect();
            Arc::new(ServiceView { uid, kind, annotations, ..ServiceView::default() })
        };
        let (memories, key) = (Memories::default(), ObjectKey::namespaced("shop", "web"));
        let (before, after) = (picture(&[]), picture(&[("id", "85a2")]));
        let notes = Notes::default().with("id", "85a2");
        let memory = memories.of(&key);
        memory.lock().settle(&before, &NodeSet::default());
        assert!(memory.lock().notes(&before, &notes).is_none());
        assert_eq!(memory.lock().by_now(&before), after);
        memory.lock().wrote(&before, &with_notes(&before, &notes));

        // The informer shows something older first, then what we wrote, then what a user makes of it.
        assert_eq!(memories.update(&key, &before), Some(notes.clone()));
        assert_eq!(memories.update(&key, &after), Some(notes.clone()));
        assert_eq!(
            (Arc::strong_count(&before), Arc::strong_count(&after)),
            (1, 3),
            "known, settled, and here"
        );
        assert!(memory.lock().noted.is_none());
        assert_eq!(memories.update(&key, &before), None);
        assert!(Arc::ptr_eq(&memory.lock().by_now(&before), &before));

        // What is never shown is not believed for ever.
        memory.lock().notes(&before, &notes);
        tokio::time::advance(Duration::from_secs(61)).await;
        assert!(Arc::ptr_eq(&memory.lock().by_now(&before), &before));
        assert_eq!(memories.update(&key, &before), None);
        assert!(memory.lock().noted.is_none());
    }
}
