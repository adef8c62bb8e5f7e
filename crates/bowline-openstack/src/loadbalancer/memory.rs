//! What this process knows of load balancers, so that it need not read what nobody has changed. Never a proof that something is
//! gone; lost with the process. Times are handed in.
//!
//! A tree, or the request that a load balancer was made by, holds as long as the load balancer's own time of change does, and for
//! a few hours at most: then it is read again, for things change in ways that leave no trace.

mod parting;
mod room;
#[cfg(test)]
mod tests;
mod tree;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bowline_cloud::Text;
use openstack_client::load_balancer::{BatchMember, LoadBalancer, LoadBalancerCreate, ProvisioningStatus};
use openstack_client::network::FloatingIp;
use openstack_client::{FloatingIpId, LoadBalancerId, PortId};
use tokio::time::Instant;

pub(super) use self::tree::{Answer, member};
use super::found::{Children, Tree};
use super::step::Action;
use super::wanted::Wanted;

/// How long what was not read again is believed.
pub(super) const DRIFT: Duration = Duration::from_secs(6 * 60 * 60);

/// How long the answer to a change of ours stands for a look at it.
const FRESH: Duration = Duration::from_secs(3);

/// How long a load balancer that was seen is kept for that.
const SEEN: Duration = Duration::from_secs(60);

/// How long a port that came with a load balancer of ours is new: nobody else leads a floating IP to it. Were it not so, Neutron
/// would refuse a second one.
const NEW_PORT: Duration = Duration::from_secs(600);

/// How long Octavia may take to show a load balancer that it was asked for without an answer to us. A real one, busy with twenty
/// at once, took longer than a call may take, and went on when nobody listened any more. To ask again before would make two.
const IN_DOUBT: Duration = Duration::from_secs(180);

/// How soon after a change of ours a load balancer is active again if the change was simply made. One that took longer may have
/// been given up, and set right by hand: what hangs on it is read.
const SOON: Duration = Duration::from_secs(120);

/// How long the floating IPs of a port that were read stand for a look at a load balancer that Octavia is at work on: as long as
/// the members of some thousand load balancers take to be changed.
const AT_WORK: Duration = Duration::from_secs(300);

/// All that is known.
#[derive(Debug, Default)]
pub(super) struct Memory(Mutex<Inner>);

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
    /// Load balancers that may be in the making: the answer to our request was lost.
    in_doubt: HashMap<String, Instant>,
    parting: parting::Parting,
    /// Names of load balancers that somebody may have asked for before we did, unseen.
    perhaps_twice: HashSet<String>,
    members: usize,
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
    body: Option<Known<Arc<LoadBalancerCreate>>>,
    fingerprint: Option<String>,
    /// Whether a change of ours was accepted, and nobody has seen yet what became of it.
    unproven: bool,
    /// When it was last read, or first believed.
    checked_at: Option<Instant>,
    /// When a person last asked for a look at it, as they wrote it.
    asked: Option<Text>,
}

/// Something that holds at a time of the load balancer's last change.
#[derive(Debug)]
struct Known<T> {
    what: T,
    changed: Option<String>,
    /// Our change was accepted then, and ends when the load balancer is first seen active: the time that it has then is the one.
    adopt: Option<Instant>,
}

/// What is known of the floating IPs of a port.
#[derive(Debug)]
enum Floating {
    /// The port is new, made by us: there is none.
    None(Instant),
    /// These, for a moment.
    Just(Vec<FloatingIp>, Instant),
    /// These, when they were last read: enough for who can do nothing yet but wait.
    Read(Vec<FloatingIp>, Instant),
}

impl Memory {
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

    /// Remembers which load balancer has a name.
    pub(super) fn remember(&self, name: String, id: LoadBalancerId) {
        self.lock().names.insert(name, id);
    }

    /// Forgets what is gone.
    pub(super) fn forget(&self, name: &str) {
        let mut inner = self.lock();
        inner.perhaps_twice.remove(name);
        if let Some(id) = inner.names.remove(name) {
            inner.unlearn(&id);
            inner.entries.remove(&id);
        }
    }

    /// Notes a load balancer as it was seen.
    pub(super) fn sees(&self, balancer: &LoadBalancer, now: Instant) {
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

    /// A person asked for a look then: what is known is forgotten, once. Of several Services on one load balancer the latest counts.
    pub(super) fn ask(&self, id: &LoadBalancerId, at: &str) {
        let mut inner = self.lock();
        let entry = inner.entries.entry(id.clone()).or_default();
        if entry.asked.as_deref().is_some_and(|before| before >= at) {
            return;
        }
        entry.asked = Some(at.into());
        inner.unlearn(id);
    }

    /// What hangs on a load balancer, unless it must be read. `noted` is the fingerprint on the Service.
    pub(super) fn children(
        &self,
        balancer: &LoadBalancer,
        wanted: &Wanted,
        noted: Option<&str>,
        now: Instant,
    ) -> Option<Children> {
        if balancer.provisioning_status.is_pending() {
            return Some(Children::Busy);
        }
        let mut inner = self.lock();
        let too_old = |entry: &Entry| entry.checked_at.is_some_and(|at| now.duration_since(at) >= DRIFT);
        let old = inner.entries.get(&balancer.id).is_some_and(too_old);
        if old || balancer.provisioning_status != ProvisioningStatus::Active {
            inner.unlearn(&balancer.id);
            return None;
        }
        let changed = time_of(balancer)?;
        let entry = inner.entries.entry(balancer.id.clone()).or_default();
        let tree = entry.tree.as_mut().and_then(|known| known.at(changed, now)).cloned();
        let body = entry.body.as_mut().and_then(|known| known.at(changed, now)).cloned();
        let fingerprint = wanted.fingerprint(balancer)?;
        let as_made = body.as_ref().is_some_and(|body| !wanted.serial && same(body, &wanted.new_balancer()));
        if as_made || entry.fingerprint.as_ref() == Some(&fingerprint) || noted == Some(fingerprint.as_str())
        {
            entry.fingerprint = Some(fingerprint);
            entry.checked_at.get_or_insert(now);
            // Of one with members that drain the request says too little: without them it would seem to be what is wanted.
            let told = !wanted.serial && wanted.draining().next().is_none();
            if tree.is_none() && body.is_none() && told {
                let what = Arc::new(wanted.new_balancer());
                let known = Known { what, changed: Some(changed.to_owned()), adopt: None };
                inner.keep_body(&balancer.id, known);
            }
            return Some(Children::AsWanted);
        }
        tree.map(|tree| Children::Known((*tree).clone()))
    }

    /// What hangs on a load balancer, if it is known.
    pub(super) fn tree(&self, balancer: &LoadBalancer, now: Instant) -> Option<Tree> {
        let mut inner = self.lock();
        let known = inner.entries.get_mut(&balancer.id)?.tree.as_mut()?;
        known.at(time_of(balancer)?, now).map(|tree| (**tree).clone())
    }

    /// The members of the pools of a load balancer, by the names of the pools, if they are known.
    pub(super) fn members_of(
        &self,
        balancer: &LoadBalancer,
        now: Instant,
    ) -> HashMap<String, Vec<BatchMember>> {
        let mut inner = self.lock();
        let Some(changed) = time_of(balancer) else { return HashMap::new() };
        let entry = inner.entries.get_mut(&balancer.id);
        let body = entry.and_then(|entry| entry.body.as_mut()?.at(changed, now).cloned());
        let listeners = body.iter().flat_map(|body| &body.listeners);
        let pools = listeners.filter_map(|listener| listener.default_pool.as_ref());
        pools.map(|pool| (pool.name.clone(), pool.members.clone())).collect()
    }

    /// Notes what was read of a load balancer.
    pub(super) fn read(&self, balancer: &LoadBalancer, tree: &Tree, now: Instant) {
        let mut inner = self.lock();
        inner.unlearn(&balancer.id);
        let changed = time_of(balancer).map(ToOwned::to_owned);
        inner.keep_tree(&balancer.id, Known { what: Arc::new(tree.clone()), changed, adopt: None });
        if let Some(entry) = inner.entries.get_mut(&balancer.id) {
            entry.checked_at = Some(now);
            entry.unproven = false;
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
        self.lock().unlearn(id);
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
        let count = entry.members();
        let (tree, body) = (entry.tree.take(), entry.body.take());
        inner.members = inner.members.saturating_sub(count);
        if let Some(Known { what, .. }) = tree
            && let Some(what) = tree::after((*what).clone(), action, answer)
        {
            inner.keep_tree(id, Known { what: Arc::new(what), changed: None, adopt: Some(now) });
        } else if matches!(action, Action::UpdateBalancer(_))
            && let Some(Known { what, .. }) = body
        {
            // What hangs on it is not touched.
            inner.keep_body(id, Known { what, changed: None, adopt: Some(now) });
        }
    }

    /// A change failed, and nobody knows how far it came.
    pub(super) fn failed(&self, id: &LoadBalancerId) {
        let mut inner = self.lock();
        inner.unlearn(id);
        if let Some(entry) = inner.entries.get_mut(id) {
            entry.seen = None;
        }
    }

    /// A load balancer was made, by this request.
    pub(super) fn made(&self, new: &LoadBalancerCreate, balancer: &LoadBalancer, now: Instant) {
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
        if !new.listeners.is_empty() {
            let what = Arc::new(new.clone());
            inner.keep_body(&balancer.id, Known { what, changed: None, adopt: Some(now) });
        }
        if let Some(port) = balancer.vip_port_id.clone().filter(|_port| new.vip_port_id.is_none()) {
            inner.ports.insert(port, Floating::None(now));
        }
    }

    /// The answer to a request for a load balancer of this name was lost: Octavia may still be at it.
    pub(super) fn may_be_made(&self, name: String, now: Instant) {
        let mut inner = self.lock();
        inner.in_doubt.retain(|_name, since| now.duration_since(*since) < IN_DOUBT);
        inner.in_doubt.insert(name, now);
    }

    /// How long nobody can say yet whether there is one of this name, although Octavia shows none.
    pub(super) fn in_doubt(&self, name: &str, now: Instant) -> Option<Duration> {
        let since = *self.lock().in_doubt.get(name)?;
        IN_DOUBT.checked_sub(now.duration_since(since)).filter(|left| !left.is_zero())
    }

    /// One of this name was found. If we asked for one in vain, it is that one, most likely; a predecessor may have asked as well.
    pub(super) fn came(&self, name: &str) {
        let mut inner = self.lock();
        if inner.in_doubt.remove(name).is_some() {
            inner.perhaps_twice.insert(name.to_owned());
        }
    }

    /// None of this name is to be seen, but its creation was begun before.
    pub(super) fn may_be_twice(&self, name: String) {
        self.lock().perhaps_twice.insert(name);
    }

    /// Whether there may be two of this name.
    pub(super) fn is_perhaps_twice(&self, name: &str) -> bool {
        self.lock().perhaps_twice.contains(name)
    }

    /// There are not two of this name.
    pub(super) fn is_once(&self, name: &str) {
        self.lock().perhaps_twice.remove(name);
    }

    /// The floating IPs of the port of a load balancer, if they are known. While Octavia is at work on it nothing is concluded, and
    /// those that were last read will do: each of many Services would ask for its own otherwise, right after its change.
    pub(super) fn floating(&self, port: &PortId, of: &LoadBalancer, now: Instant) -> Option<Vec<FloatingIp>> {
        let at_work = of.provisioning_status.is_pending();
        match self.lock().ports.get(port)? {
            Floating::None(since) => (now.duration_since(*since) < NEW_PORT).then(Vec::new),
            Floating::Just(floating, at) => (now.duration_since(*at) < FRESH).then(|| floating.clone()),
            Floating::Read(floating, at) => {
                (at_work && now.duration_since(*at) < AT_WORK).then(|| floating.clone())
            }
        }
    }

    /// Notes which floating IPs lead to a port, as they were read.
    pub(super) fn reads_floating(&self, port: &PortId, floating: Vec<FloatingIp>, now: Instant) {
        self.lock().ports.insert(port.clone(), Floating::Read(floating, now));
    }

    /// A floating IP was led to a port.
    pub(super) fn leads(&self, port: &PortId, floating: FloatingIp, now: Instant) {
        let mut inner = self.lock();
        // Others may be there already, unless the port is new.
        if let Some(Floating::None(_since)) = inner.ports.remove(port) {
            inner.ports.insert(port.clone(), Floating::Just(vec![floating], now));
        }
    }

    /// A floating IP was seen to lead to the load balancer of a Service. Its description alone does not say so: a namesake from
    /// before, or of another cluster, has the same.
    pub(super) fn led_to(&self, service: &Text, floating: &FloatingIpId) {
        let mut inner = self.lock();
        if inner.led.get(floating) != Some(service) {
            inner.led.insert(floating.clone(), service.clone());
        }
    }

    /// Whether a floating IP was seen to lead to the load balancer of a Service.
    pub(super) fn has_led(&self, service: &Text, floating: &FloatingIpId) -> bool {
        self.lock().led.get(floating) == Some(service)
    }

    /// Whether any was.
    pub(super) fn has_led_any(&self, service: &Text) -> bool {
        self.lock().led.values().any(|of| of == service)
    }

    /// A Service is gone, and all that it had.
    pub(super) fn forget_service(&self, service: &Text) {
        let mut inner = self.lock();
        inner.led.retain(|_id, of| of != service);
        inner.parting.forget(service);
    }

    /// What is known of a port, or of a floating IP, holds no more.
    pub(super) fn forget_floating(&self, port: Option<&PortId>, id: Option<&FloatingIpId>) {
        let mut inner = self.lock();
        if let Some(port) = port {
            inner.ports.remove(port);
        }
        let leads = |floating: &Floating| match floating {
            Floating::None(_since) => false,
            Floating::Just(all, _at) | Floating::Read(all, _at) => all.iter().any(|one| Some(&one.id) == id),
        };
        inner.ports.retain(|_port, floating| !leads(floating));
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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

/// Whether two requests make the same, wherever it stands.
fn same(one: &LoadBalancerCreate, other: &LoadBalancerCreate) -> bool {
    let text = |new: &LoadBalancerCreate| {
        let anywhere = LoadBalancerCreate {
            vip_subnet_id: None,
            vip_network_id: None,
            vip_port_id: None,
            additional_vips: Vec::new(),
            ..new.clone()
        };
        serde_json::to_string(&anywhere).ok()
    };
    let texts = (text(one), text(other));
    texts.0.is_some() && texts.0 == texts.1
}
