//! What this process knows of load balancers, so that it need not read what nobody has changed. Never a proof that something is
//! gone; lost with the process. Times are handed in.
//!
//! A tree, or the request that a load balancer was made by, holds as long as the load balancer's own time of change does, and for
//! a few hours at most: then it is read again, for things change in ways that leave no trace. A deletion counts only when the load
//! balancer, read afterwards, does not name the deleted part any more: one that Octavia accepted may end in ERROR, and whoever repairs the
//! load balancer leaves the part there.

mod doubts;
mod floating;
mod fulfilled;
mod named_ports;
mod parting;
mod room;
mod sent;
#[cfg(test)]
mod tests;
mod tree;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bowline_cloud::Text;
use openstack_client::load_balancer::{
    LoadBalancer, LoadBalancerCreate, MadeLoadBalancer, ProvisioningStatus,
};
use openstack_client::{FloatingIpId, LoadBalancerId, PortId};
use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;

pub(super) use self::doubts::{Doubtful, Since};
use self::floating::Floating;
pub(super) use self::floating::Relation;
pub(super) use self::fulfilled::LookFor;
use self::sent::Sent;
pub(super) use self::tree::Answer;
use super::found::{Children, Tree};
use super::members::{Members, Rosters};
use super::step::Action;
use super::wanted::Wanted;

/// How long what was not read again is believed at most.
const DRIFT: Duration = Duration::from_secs(6 * 60 * 60);

/// How long the answer to a change of ours stands for a look at it.
const FRESH: Duration = Duration::from_secs(3);

/// How long a load balancer that was seen is kept for that: a look is for a thousand at once, and their changes take as long as this.
const SEEN: Duration = Duration::from_secs(120);

/// How soon after a change of ours a load balancer is active again if the change was simply made. One that took longer may have
/// been given up, and set right by hand: what hangs on it is read.
const SOON: Duration = Duration::from_secs(120);

/// All that is known. Clones are the same memory.
#[derive(Debug, Clone)]
pub(super) struct Memory {
    inner: Arc<Mutex<Inner>>,
    rosters: Arc<Rosters>,
    /// Whether the ids of members are needed, because they are changed one by one.
    serial: bool,
    /// How long what was not read again is believed.
    believed: Duration,
    floating_turns: Arc<floating::Turns>,
}

#[derive(Debug, Default)]
struct Inner {
    /// Counts the changes of ours, to all load balancers.
    changes: u64,
    entries: HashMap<LoadBalancerId, Entry>,
    /// The load balancers that have these names.
    names: HashMap<String, LoadBalancerId>,
    ports: HashMap<PortId, Floating>,
    /// The Services whose load balancer these floating IPs were seen to lead to.
    led: HashMap<FloatingIpId, Text>,
    /// Floating IPs that this process made without leading them to a port yet.
    made_floating: HashSet<FloatingIpId>,
    /// Load balancers that may be in the making: the answer to our request was lost. Since when, and how long that may be so.
    in_doubt: HashMap<String, (Instant, Duration)>,
    /// Load balancers that were made for us a moment ago, by name, and when.
    made: HashMap<String, (LoadBalancerId, Instant)>,
    /// Names of which Octavia showed none. Where a process before this one may have ordered one: when that was seen first, and last.
    missed: HashMap<String, Option<(Instant, Instant)>>,
    /// The name of the load balancer that is created at each port that a Service names, and when that began.
    named_ports: HashMap<PortId, (String, Instant)>,
    parting: parting::Parting,
    fulfilled: fulfilled::Fulfilled,
    /// Names of load balancers that somebody may have asked for before we did, unseen.
    perhaps_twice: HashSet<String>,
    /// Addresses of earlier load balancers that could not be had again, by the name of the load balancer, and why.
    lost_addresses: HashMap<String, (IpAddr, String)>,
    /// How many things the trees have.
    parts: usize,
    swept: Option<Instant>,
}

/// What is known of one load balancer.
#[derive(Debug, Default)]
struct Entry {
    /// The last change of ours.
    version: u64,
    /// Held while we change it.
    turn: Arc<tokio::sync::Mutex<()>>,
    /// As it was last seen, or as our last change left it.
    seen: Option<(Box<LoadBalancer>, Instant)>,
    /// Whether that is the answer to a change of ours, or what a poll saw and no look has used yet.
    answered: bool,
    /// Whether a poll saw it: that is good for one look.
    polled: bool,
    tree: Option<Known<Arc<Tree>>>,
    sent: Option<Known<Arc<Sent>>>,
    fingerprint: Option<String>,
    /// Whether a change of ours was accepted, and nobody has seen yet what became of it.
    unproven: bool,
    /// When it was last read, or first believed.
    checked_at: Option<Instant>,
    /// Whether it has to be read whatever was noted of it: the word of a look before that must not end the doubt.
    doubted: bool,
    /// When a person last asked that it be read, as it is written on each Service that uses it.
    asked: BTreeMap<Text, Text>,
}

/// Something that holds at a time of the load balancer's last change.
#[derive(Debug)]
struct Known<T> {
    what: T,
    changed: Option<String>,
    /// Our change was accepted then, and ends when the load balancer is first seen active: the time that it has then is the one.
    adopt: Option<Instant>,
}

impl Memory {
    /// An empty one; `serial` where members are changed one by one. What is in it is read again at each comparison that comes with
    /// time, and not before by anything that happens in between.
    pub(super) fn new(serial: bool, compared_every: Option<Duration>) -> Self {
        let believed = compared_every.map_or(DRIFT, |period| DRIFT.min(period / 2));
        Self {
            inner: Arc::default(),
            rosters: Arc::default(),
            serial,
            believed,
            floating_turns: Arc::default(),
        }
    }

    /// This memory in place of an empty one, for another configuration: what was asked for, is under way or was seen stays known, and what
    /// was concluded from the configuration before is concluded anew.
    pub(super) fn succeeded_by(&self, empty: &Self) -> Self {
        let mut inner = self.lock();
        let ids: Vec<LoadBalancerId> = inner.entries.keys().cloned().collect();
        for id in ids {
            inner.unlearn(&id);
        }
        inner.ports.clear();
        inner.fulfilled = fulfilled::Fulfilled::default();
        drop(inner);
        Self { serial: empty.serial, believed: empty.believed, ..self.clone() }
    }

    /// Who serves, for all pools.
    pub(super) fn rosters(&self) -> &Rosters {
        &self.rosters
    }

    /// How many changes we have made: asked before a look begins.
    pub(super) fn changes(&self) -> u64 {
        self.lock().changes
    }

    /// The version of a load balancer for a look that began after so many changes. One that was changed meanwhile gets a
    /// version that it does not have: nothing that is planned by the look will be done.
    pub(super) fn version(&self, id: &LoadBalancerId, began: u64) -> u64 {
        self.lock().entries.get(id).map_or(0, |entry| entry.version).min(began)
    }

    /// The load balancer that has a name.
    pub(super) fn named(&self, name: &str) -> Option<LoadBalancerId> {
        self.lock().names.get(name).cloned()
    }

    /// Whether a load balancer was seen, and not that it is gone.
    pub(super) fn has_seen(&self, id: &LoadBalancerId) -> bool {
        self.lock().entries.contains_key(id)
    }

    /// Remembers which load balancer has a name.
    pub(super) fn remember(&self, name: String, id: LoadBalancerId) {
        self.lock().names.insert(name, id);
    }

    /// Forgets what is gone.
    pub(super) fn forget(&self, name: &str) {
        let mut inner = self.lock();
        inner.perhaps_twice.remove(name);
        let named = inner.names.remove(name);
        let deleted = inner.parting.ids_of(name);
        for id in named.into_iter().chain(deleted) {
            inner.unlearn(&id);
            inner.entries.remove(&id);
        }
    }

    /// Octavia itself says that there is no such load balancer.
    pub(super) fn is_gone(&self, id: &LoadBalancerId) {
        let mut inner = self.lock();
        inner.unlearn(id);
        // Who changes it just now keeps its turn: the one who comes next must not begin beside it.
        if inner.entries.get(id).is_some_and(|entry| Arc::strong_count(&entry.turn) == 1) {
            inner.entries.remove(id);
        }
    }

    /// Notes a load balancer as it was seen.
    pub(super) fn sees(&self, balancer: &LoadBalancer, now: Instant) {
        self.keep_lists_few();
        let mut inner = self.lock();
        inner.sweep(now);
        let entry = inner.entries.entry(balancer.id.clone()).or_default();
        entry.seen = Some((Box::new(balancer.clone()), now));
        (entry.answered, entry.polled) = (false, false);
    }

    /// The load balancer as a change of ours has just left it, or a poll has just seen it.
    pub(super) fn just_answered(&self, id: &LoadBalancerId, now: Instant) -> Option<LoadBalancer> {
        let inner = self.lock();
        let entry = inner.entries.get(id).filter(|entry| entry.answered)?;
        let (seen, at) = entry.seen.as_ref()?;
        (now.duration_since(*at) < FRESH).then(|| (**seen).clone())
    }

    /// The same, for the look that it is good for: what a poll saw is read again by the next one.
    pub(super) fn take_answer(&self, id: &LoadBalancerId, now: Instant) -> Option<LoadBalancer> {
        let answered = self.just_answered(id, now)?;
        if let Some(entry) = self.lock().entries.get_mut(id) {
            entry.answered &= !entry.polled;
        }
        Some(answered)
    }

    /// A person asked then that a load balancer be read: what is known of it is forgotten, once for each later time on the same Service. The
    /// time is whatever a user wrote, so it does not count for other Services on the load balancer.
    pub(super) fn ask(&self, service: &Text, balancer: &LoadBalancer, at: &str) {
        let mut inner = self.lock();
        let entry = inner.entries.entry(balancer.id.clone()).or_default();
        if entry.asked.get(service).is_some_and(|before| before.as_str() >= at) {
            return;
        }
        entry.asked.insert(service.clone(), at.into());
        inner.unlearn(&balancer.id);
        inner.fulfilled.forget_ports(|port, _attached| Some(port) == balancer.vip_port_id.as_ref());
    }

    /// What hangs on a load balancer, unless it must be read. `noted` are the fingerprints that the request brings.
    pub(super) fn children(
        &self,
        balancer: &LoadBalancer,
        wanted: &Wanted,
        noted: &[&str],
        now: Instant,
    ) -> Option<Children> {
        if balancer.provisioning_status.is_pending() {
            return Some(Children::Busy);
        }
        let mut inner = self.lock();
        let too_old =
            |entry: &Entry| entry.checked_at.is_some_and(|at| now.duration_since(at) >= self.believed);
        let old = inner.entries.get(&balancer.id).is_some_and(too_old);
        if old || balancer.provisioning_status != ProvisioningStatus::Active {
            inner.doubt(&balancer.id);
            return None;
        }
        let changed = time_of(balancer)?;
        let entry = inner.entries.entry(balancer.id.clone()).or_default();
        let tree = entry.tree.as_mut().and_then(|known| known.at(changed, now)).cloned();
        if tree.as_ref().is_some_and(|tree| !tree.has_all_of(balancer)) {
            inner.doubt(&balancer.id);
            return None;
        }
        let sent = entry.sent.as_mut().and_then(|known| known.at(changed, now)).cloned();
        let fingerprint = wanted.fingerprint(balancer)?;
        let as_made = sent.as_ref().is_some_and(|sent| !wanted.serial && sent.makes(wanted));
        // What was noted before is no answer to what was read since.
        let believes_note = tree.is_none() && !entry.doubted;
        if as_made
            || entry.fingerprint.as_ref() == Some(&fingerprint)
            || believes_note && wanted.is_noted(balancer, &fingerprint, noted)
        {
            entry.fingerprint = Some(fingerprint);
            entry.checked_at.get_or_insert(now);
            // Of one with members that drain the request says too little: without them it would seem to be what is wanted.
            let told = !wanted.serial && wanted.draining().next().is_none();
            if tree.is_none()
                && sent.is_none()
                && told
                && let Some(what) = Sent::as_wanted(wanted).map(Arc::new)
            {
                let known = Known { what, changed: Some(changed.to_owned()), adopt: None };
                inner.keep_sent(&balancer.id, known);
            }
            return Some(Children::AsWanted);
        }
        tree.map(|tree| Children::Known((*tree).clone()))
    }

    /// What hangs on a load balancer, if it is known.
    pub(super) fn tree(&self, balancer: &LoadBalancer, now: Instant) -> Option<Tree> {
        let mut inner = self.lock();
        let known = inner.entries.get_mut(&balancer.id)?.tree.as_mut()?;
        let tree = known.at(time_of(balancer)?, now).cloned()?;
        if tree.has_all_of(balancer) {
            return Some((*tree).clone());
        }
        inner.doubt(&balancer.id);
        None
    }

    /// The members of the pools of a load balancer, by the names of the pools, if they are known.
    pub(super) fn members_of(&self, balancer: &LoadBalancer, now: Instant) -> HashMap<String, Members> {
        let mut inner = self.lock();
        let Some(changed) = time_of(balancer) else { return HashMap::new() };
        let entry = inner.entries.get_mut(&balancer.id);
        let sent = entry.and_then(|entry| entry.sent.as_mut()?.at(changed, now).cloned());
        sent.map(|sent| sent.pools.iter().cloned().collect()).unwrap_or_default()
    }

    /// Notes what was read of a load balancer.
    pub(super) fn read(&self, balancer: &LoadBalancer, tree: &Tree, now: Instant) {
        let what = Arc::new(self.small(tree.clone()));
        let mut inner = self.lock();
        inner.unlearn(&balancer.id);
        let changed = time_of(balancer).map(ToOwned::to_owned);
        inner.keep_tree(&balancer.id, Known { what, changed, adopt: None });
        if let Some(entry) = inner.entries.get_mut(&balancer.id) {
            entry.checked_at = Some(now);
            (entry.unproven, entry.doubted) = (false, false);
        }
    }

    /// Whether what is known of it is what a change of ours should have made, and not what was seen.
    pub(super) fn is_unproven(&self, id: &LoadBalancerId) -> bool {
        self.lock().entries.get(id).is_some_and(|entry| entry.unproven)
    }

    /// It was seen that our changes were made.
    pub(super) fn proven(&self, id: &LoadBalancerId) {
        if let Some(entry) = self.lock().entries.get_mut(id) {
            entry.unproven = false;
        }
    }

    /// What was believed of it is not so: it has to be read.
    pub(super) fn doubt(&self, id: &LoadBalancerId) {
        self.lock().doubt(id);
    }

    /// The turn of a load balancer: who changes it holds it.
    pub(super) fn turn(&self, id: &LoadBalancerId) -> Arc<tokio::sync::Mutex<()>> {
        Arc::clone(&self.lock().entries.entry(id.clone()).or_default().turn)
    }

    /// Begins a change that was planned for a version, unless it has another one by now.
    pub(super) fn begin(&self, id: &LoadBalancerId, planned: u64) -> bool {
        let mut inner = self.lock();
        let inner = &mut *inner;
        let entry = inner.entries.entry(id.clone()).or_default();
        if entry.version != planned {
            return false;
        }
        inner.changes += 1;
        entry.version = inner.changes;
        true
    }

    /// Whether it has the version that something was planned for.
    pub(super) fn is_at(&self, id: &LoadBalancerId, planned: u64) -> bool {
        self.lock().entries.get(id).map_or(0, |entry| entry.version) == planned
    }

    /// A change of a load balancer was accepted.
    pub(super) fn accepted(&self, id: &LoadBalancerId, action: &Action, answer: &Answer, now: Instant) {
        let mut inner = self.lock();
        let Some(entry) = inner.entries.get_mut(id) else { return };
        entry.fingerprint = None;
        entry.unproven = true;
        let fresh = entry.seen.take().filter(|(_seen, at)| now.duration_since(*at) < SEEN);
        let status = match action {
            Action::DeleteBalancer { .. } => ProvisioningStatus::PendingDelete,
            _ => ProvisioningStatus::PendingUpdate,
        };
        let seen = match answer {
            Answer::Balancer(balancer) => Some((**balancer).clone()),
            _ => fresh.map(|(seen, _at)| *seen),
        };
        entry.seen = seen.map(|mut seen| {
            seen.provisioning_status = status.clone();
            (Box::new(seen), now)
        });
        (entry.answered, entry.polled) = (true, false);
        if let Action::DeleteBalancer { name, .. } = action {
            inner.parting.deletes(id, name, now);
        }
        let Some(entry) = inner.entries.get_mut(id) else { return };
        let count = entry.parts();
        let (tree, sent) = (entry.tree.take(), entry.sent.take());
        inner.parts = inner.parts.saturating_sub(count);
        if let Some(Known { what, .. }) = tree
            && let Some(after) = tree::after((*what).clone(), action, answer)
        {
            let what = Arc::new(self.small(after));
            inner.keep_tree(id, Known { what, changed: None, adopt: Some(now) });
        }
        if matches!(action, Action::UpdateBalancer(_))
            && let Some(Known { what, .. }) = sent
        {
            // What hangs on it is not touched.
            inner.keep_sent(id, Known { what, changed: None, adopt: Some(now) });
        }
    }

    /// A change failed, and nobody knows how far it came.
    pub(super) fn failed(&self, id: &LoadBalancerId) {
        let mut inner = self.lock();
        inner.doubt(id);
        if let Some(entry) = inner.entries.get_mut(id) {
            entry.seen = None;
        }
    }

    /// A load balancer was made, by this request. Octavia answers with all that it made.
    pub(super) fn made(&self, new: &LoadBalancerCreate, made: MadeLoadBalancer, now: Instant) {
        let MadeLoadBalancer { balancer, parts, .. } = made;
        let sent = Sent::by(new, &self.rosters);
        let tree = parts.and_then(|parts| tree::made(new, parts, &balancer.id)).map(|tree| self.small(tree));
        let mut inner = self.lock();
        inner.changes += 1;
        let entry = Entry {
            version: inner.changes,
            seen: Some((Box::new(balancer.clone()), now)),
            answered: true,
            unproven: true,
            checked_at: Some(now),
            ..Entry::default()
        };
        inner.entries.insert(balancer.id.clone(), entry);
        inner.names.insert(new.name.clone(), balancer.id.clone());
        inner.note_made(&new.name, &balancer.id, now);
        if let Some(what) = sent.map(Arc::new) {
            inner.keep_sent(&balancer.id, Known { what, changed: None, adopt: Some(now) });
        }
        if let Some(what) = tree.map(Arc::new) {
            inner.keep_tree(&balancer.id, Known { what, changed: None, adopt: Some(now) });
        }
        if let Some(port) = balancer.vip_port_id.clone().filter(|_port| new.vip_port_id.is_none()) {
            inner.ports.insert(port, Floating::None(now));
        }
    }

    /// The address of an earlier load balancer of this name could not be had again.
    pub(super) fn loses_address(&self, name: &str, address: IpAddr, why: String) {
        self.lock().lost_addresses.insert(name.to_owned(), (address, why));
    }

    /// Why the address that a Service still shows could not be had again. It is forgotten when the Service shows another one.
    pub(super) fn lost_address(&self, name: &str, shown: Option<IpAddr>) -> Option<(IpAddr, String)> {
        let mut inner = self.lock();
        let lost = inner.lost_addresses.get(name)?.clone();
        if shown == Some(lost.0) {
            return Some(lost);
        }
        inner.lost_addresses.remove(name);
        None
    }

    /// A Service is gone, which had, or would have had, a load balancer of this name.
    pub(super) fn forget_service(&self, service: &Text, name: &str) {
        let mut inner = self.lock();
        inner.missed.remove(name);
        inner.lost_addresses.remove(name);
        inner.named_ports.retain(|_port, (of, _since)| of != name);
        inner.led.retain(|_id, of| of != service);
        inner.entries.values_mut().for_each(|entry| drop(entry.asked.remove(service)));
        inner.parting.forget(service);
        inner.fulfilled.forget_service(service);
    }

    /// A tree as it is kept: its members in lists that all pools share, unless their ids are needed.
    fn small(&self, mut tree: Tree) -> Tree {
        for found in &mut tree.pools {
            found.pool.members = Vec::new();
            if !self.serial {
                found.members = self.rosters.keep(std::mem::take(&mut found.members));
            }
        }
        tree
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock()
    }
}

impl<T> Known<T> {
    /// What it is, if the load balancer's last change was then.
    fn at(&mut self, changed: &str, now: Instant) -> Option<&T> {
        if self.adopt.take().is_some_and(|accepted| now.duration_since(accepted) < SOON) {
            self.changed = Some(changed.to_owned());
        }
        (self.changed.as_deref() == Some(changed)).then_some(&self.what)
    }
}

/// When a load balancer, or what hangs on it, was last changed.
fn time_of(balancer: &LoadBalancer) -> Option<&str> {
    balancer.updated_at.as_deref().or(balancer.created_at.as_deref())
}
