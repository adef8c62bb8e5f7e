//! Whether a plan keeps to what is ours. Written by what tags and names mean, and not by how the planner goes about it.

use openstack_client::load_balancer::Listener;
use openstack_client::network::FloatingIp;
use openstack_client::{ListenerId, PoolId};

use super::Held;
use super::scene::{FORMER, LEGACY, OTHER, OWN};
use crate::loadbalancer::found::{Children, Found, FoundBalancer, FoundBy, FoundPool, Tree};
use crate::loadbalancer::names::Names;
use crate::loadbalancer::step::{Action, CloudStep};

/// What a plan is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Ensure,
    Remove,
}

/// Who may do what to what was found.
pub(super) struct Judge<'a> {
    found: &'a Found,
    names: &'a Names,
    purpose: Purpose,
}

impl<'a> Judge<'a> {
    pub(super) fn new(found: &'a Found, names: &'a Names, purpose: Purpose) -> Self {
        Self { found, names, purpose }
    }

    /// Whether a step may be planned.
    ///
    /// # Errors
    ///
    /// What it does to somebody else.
    pub(super) fn allow(&self, step: &CloudStep) -> Held {
        if let Some(twin) = self.twin(step) {
            return holds(
                matches!(step.action, Action::DeleteBalancer { .. }) && twin.balancer.name == OWN,
                step,
                "a twin",
            );
        }
        if step.on.is_some() {
            self.on_balancer(step)?;
        }
        match &step.action {
            Action::DeleteBalancer { .. } => self.whole(step),
            Action::UpdateBalancer(change) => {
                let renamed = change.name.is_none() || self.is_former();
                let kept = change.tags.as_ref().is_none_or(|tags| self.keeps_tags(tags));
                holds(renamed && kept, step, "the name or the tags of others")
            }
            Action::UpdateListener(id, change) => {
                let only_renamed = change.name.is_some() || change.tags.is_some();
                holds(self.may_change(id) || (self.is_former() && only_renamed), step, "a listener")
            }
            Action::DeleteListener(id) => holds(self.may_delete(id), step, "a listener"),
            Action::CreatePool(new) => {
                holds(new.listener_id.as_ref().is_some_and(|id| self.may_change(id)), step, "a listener")
            }
            Action::DeletePool(id)
            | Action::SetMembers { pool: id, .. }
            | Action::CreateMember(id, _)
            | Action::DeleteMember { pool: id, .. } => holds(self.is_own_pool(id), step, "a pool"),
            Action::UpdatePool(id, change) => {
                holds(self.is_own_pool(id) || (self.is_former() && change.name.is_some()), step, "a pool")
            }
            Action::CreateMonitor(new) => {
                holds(new.pool_id.as_ref().is_some_and(|id| self.is_own_pool(id)), step, "a pool")
            }
            Action::UpdateMonitor(id, change) => {
                let renames = self.is_former() && change.name.is_some();
                holds(
                    renames || self.pool_of_monitor(id).is_some_and(|id| self.is_own_pool(id)),
                    step,
                    "a monitor",
                )
            }
            Action::DeleteMonitor(id) => {
                holds(self.pool_of_monitor(id).is_some_and(|id| self.is_own_pool(id)), step, "a monitor")
            }
            Action::DeleteFloatingIp(id) => {
                let made = |one: &FloatingIp| one.id == *id && self.made_for_it(&one.description);
                let floating = &self.found.floating;
                let there = floating.attached.iter().any(made)
                    || (self.purpose == Purpose::Remove && floating.left.iter().any(made));
                holds(there, step, "a floating IP")
            }
            Action::UpdateFloatingIp(id, change, _) => {
                let floating = &self.found.floating;
                let free = |one: &FloatingIp| one.id == *id && one.port_id.is_none();
                let there = match (&change.port_id, &change.description) {
                    (None, _) => {
                        floating.attached.iter().any(|one| one.id == *id) && !floating.is_of_other(id)
                    }
                    (Some(_), description) if floating.asked.iter().chain(&floating.left).any(free) => {
                        let reserved = |one: &FloatingIp| {
                            floating.asked_owner.is_some() && floating.asked.as_ref() == Some(one)
                        };
                        // One with our description that may be somebody else's is not ours to delete later.
                        let is_unproven = |one: &FloatingIp| {
                            self.names.describes_own_floating_ip(&one.description)
                                && !floating.proven.contains(id)
                        };
                        let used = self.names.used_floating_ip_description();
                        let may = |one: &FloatingIp| {
                            let new = is_unproven(one).then_some(&used);
                            free(one) && !reserved(one) && description.as_ref() == new
                        };
                        floating.asked.iter().chain(&floating.left).any(may)
                    }
                    (Some(_), None) => false,
                    // It stays where it is, and is described anew: the cluster was renamed, or the Service for which it was made
                    // leaves and hands it over.
                    (Some(port), Some(_)) => {
                        let stays = |one: &FloatingIp| one.id == *id && one.port_id.as_ref() == Some(port);
                        let hands_over = self.purpose == Purpose::Remove && self.is_shared();
                        let may = |one: &FloatingIp| {
                            (self.is_former() && one.description.ends_with("default/web from cluster before"))
                                || (hands_over && self.made_for_it(&one.description))
                        };
                        floating.attached.iter().any(|one| stays(one) && may(one))
                    }
                };
                holds(there, step, "a floating IP")
            }
            Action::CreateRules(id, _) | Action::DeleteGroup(id) => self.group(step, id.as_str()),
            Action::AddPortGroup { group, .. } | Action::RemovePortGroup { group, .. } => {
                self.group(step, group.as_str())
            }
            Action::DeletePortTag { tag, .. } => self.group(step, tag),
            Action::DeleteRule(id, _) => {
                let rules = self.found.group.iter().flat_map(|found| found.group.rules.iter().flatten());
                holds(rules.into_iter().any(|rule| rule.id == *id), step, "a rule")
            }
            Action::CreateBalancer(_) => holds(self.purpose == Purpose::Ensure, step, "nothing"),
            Action::CreateListener(_) | Action::CreateFloatingIp { .. } | Action::CreateGroup { .. } => {
                holds(self.purpose == Purpose::Ensure, step, "nothing")
            }
        }
    }

    fn twin(&self, step: &CloudStep) -> Option<&'a FoundBalancer> {
        let seen = step.on.as_ref()?;
        self.found.twins.iter().find(|twin| twin.balancer.id == seen.id)
    }

    fn there(&self) -> Option<&'a FoundBalancer> {
        self.found.balancer.as_ref()
    }

    fn tree(&self) -> Option<&'a Tree> {
        match &self.there()?.children {
            Children::Known(tree) => Some(tree),
            Children::AsWanted | Children::Busy => None,
        }
    }

    /// It is the one that was found, and no other cluster says that it has our name by chance.
    fn on_balancer(&self, step: &CloudStep) -> Held {
        let same = self
            .there()
            .zip(step.on.as_ref())
            .is_some_and(|(there, seen)| there.balancer.id == seen.id && there.version == seen.version);
        holds(same && !(self.is_owner() && self.is_of_other_cluster()), step, "a load balancer")
    }

    fn tags(&self) -> &'a [String] {
        self.there().map(|there| there.balancer.tags.as_slice()).unwrap_or_default()
    }

    fn is_of_other_cluster(&self) -> bool {
        let mut clusters = self.tags().iter().filter_map(|tag| tag.strip_prefix("bowline-cluster:"));
        clusters.clone().next().is_some() && !clusters.any(|uid| uid == "c1")
    }

    /// The load balancer of the Service from when the cluster had another name: the Service's status shows its address.
    fn is_former(&self) -> bool {
        !self.found.has_own
            && self.is_shown()
            && !self.is_used_by_another_cluster()
            && !self.tags().iter().any(|tag| tag == OWN)
            && self.there().is_some_and(|there| there.by == FoundBy::Id && there.balancer.name == FORMER)
    }

    /// Whether the status of the Service shows its address.
    fn is_shown(&self) -> bool {
        let attached = self.found.floating.attached.iter().map(|one| one.floating_ip_address);
        let vip = self.there().and_then(|there| there.balancer.vip_address);
        let mut shown = attached.chain(vip.filter(|_vip| self.found.is_vip_unique));
        shown.any(|address| Some(address) == self.found.known_address)
    }

    fn is_used_by_another_cluster(&self) -> bool {
        let foreign = |tag: &String| tag.starts_with("bowline-cluster:") && tag != "bowline-cluster:c1";
        self.tags().iter().any(foreign)
    }

    /// Whether the Service's name is its own here: a Service of another cluster may have the same.
    fn is_name_proven(&self) -> bool {
        let has_uid = self.tags().iter().any(|tag| tag == "bowline-service:s1");
        has_uid || self.is_shown() || !self.is_used_by_another_cluster()
    }

    fn is_owner(&self) -> bool {
        let name = self.there().map_or("", |there| there.balancer.name.as_str());
        self.is_former() || name == LEGACY || (name == OWN && self.is_name_proven())
    }

    fn is_own_tag(&self, tag: &str) -> bool {
        let is_own = tag == OWN && (self.is_owner() || self.is_name_proven());
        is_own || (self.is_former() && tag == FORMER)
    }

    fn is_tag_of_other(&self, tag: &str) -> bool {
        tag.starts_with("kube_service_") && !self.is_own_tag(tag)
    }

    /// Only what no other Service is on goes whole, and only if it was made for this Service, or for one of this cluster that is gone.
    fn whole(&self, step: &CloudStep) -> Held {
        let Some(there) = self.there() else { return holds(false, step, "nothing") };
        let on_it = self.is_owner() || self.tags().iter().any(|tag| self.is_own_tag(tag));
        let known = |tag: &String| {
            ["kube_service_", "bowline-"].iter().any(|ours| tag.starts_with(ours)) || tag.is_empty()
        };
        // Tags of unknown origin are of no account where the tag of the cluster is.
        let known =
            self.tags().iter().any(|tag| tag == "bowline-cluster:c1") || self.tags().iter().all(known);
        let is_left = !self.found.owner_may_want_it && !self.is_used_by_another_cluster();
        let inherited = there.balancer.name == OTHER && is_left && known;
        let mine = on_it && (self.is_owner() || inherited) && !self.is_of_other_cluster();
        holds(mine && !self.has_strangers() && !self.is_shared(), step, "a load balancer of others")
    }

    /// Whether something is on it of which nobody can say whose it is.
    fn has_strangers(&self) -> bool {
        let Some(tree) = self.tree() else { return true };
        let listener = |one: &Listener| {
            self.is_ours(one)
                || (self.is_owner() && one.name.starts_with("listener_") && one.name.ends_with(OWN))
        };
        let pool = |found: &FoundPool| {
            let of_listener =
                tree.listeners.iter().any(|one| one.default_pool_id.as_ref() == Some(&found.pool.id));
            of_listener || found.pool.name.ends_with(OWN)
        };
        !tree.listeners.iter().all(listener) || !tree.pools.iter().all(pool)
    }

    /// Whether another Service is on it, by a tag of it or of a listener.
    fn is_shared(&self) -> bool {
        let listeners = self.tree().map(|tree| tree.listeners.as_slice()).unwrap_or_default();
        let on_listeners = listeners.iter().filter(|one| !self.is_ours(one)).flat_map(|one| &one.tags);
        self.tags().iter().chain(on_listeners).any(|tag| self.is_tag_of_other(tag))
    }

    /// Tags of others stay. The UID of another Service on a load balancer of our name that nobody shares is no other's: it is that of
    /// an earlier Service of the name. The cluster's own tag goes from a load balancer that the last of its Services had only joined.
    fn keeps_tags(&self, new: &[String]) -> bool {
        let moved = |tag: &str| self.is_former() && new.contains(&tag.replace("_before_", "_held_"));
        let has_earlier = self.is_owner() && !self.is_shared() && !self.is_used_by_another_cluster();
        let earlier = |tag: &str| tag == "bowline-service:s2" && has_earlier;
        let is_used = self.is_owner()
            || self.is_shared()
            || self.found.owner_may_want_it
            || self.tags().iter().any(|tag| tag == "bowline-service:s2");
        let last = |tag: &str| tag == "bowline-cluster:c1" && !is_used;
        let foreign = self.tags().iter().filter(|tag| {
            let is_ours = self.is_own_tag(tag) || *tag == "bowline-service:s1";
            !tag.is_empty() && !is_ours && !earlier(tag) && !last(tag)
        });
        foreign.into_iter().all(|tag| new.contains(tag) || moved(tag))
    }

    fn listener(&self, id: &ListenerId) -> Option<&'a Listener> {
        self.tree()?.listeners.iter().find(|listener| listener.id == *id)
    }

    /// By its tag; on our own load balancer also what has none, and a name that was given for this Service.
    fn is_ours(&self, listener: &Listener) -> bool {
        let untagged = listener.tags.iter().all(String::is_empty);
        let named = listener.name.starts_with("listener_")
            && (listener.name.ends_with(OWN) || (self.is_former() && listener.name.ends_with(FORMER)));
        listener.tags.iter().any(|tag| self.is_own_tag(tag)) || (untagged && named && self.is_owner())
    }

    /// Ours, or taken over: on our own load balancer, where no Service says that it is its own.
    fn may_change(&self, id: &ListenerId) -> bool {
        let Some(listener) = self.listener(id) else { return false };
        let theirs = listener.tags.iter().any(|tag| self.is_tag_of_other(tag));
        self.is_ours(listener) || (self.is_owner() && !theirs)
    }

    /// Ours; and with a load balancer that goes whole all that is on it.
    fn may_delete(&self, id: &ListenerId) -> bool {
        self.listener(id).is_some_and(|listener| self.is_ours(listener)) || self.goes_whole()
    }

    fn goes_whole(&self) -> bool {
        let delete = CloudStep::new(Action::DeleteBalancer { name: String::new(), cascade: true });
        self.purpose == Purpose::Remove && self.whole(&delete).is_ok()
    }

    fn pool_of_monitor(&self, id: &openstack_client::HealthMonitorId) -> Option<&'a PoolId> {
        let mut pools = self.tree()?.pools.iter();
        let of = |found: &&FoundPool| found.monitor.as_ref().is_some_and(|monitor| monitor.id == *id);
        pools.find(of).map(|found| &found.pool.id)
    }

    /// All listeners that have it may be changed; one that no listener has bears our name, on our own load balancer.
    fn is_own_pool(&self, id: &PoolId) -> bool {
        let Some(tree) = self.tree() else { return false };
        let Some(found) = tree.pools.iter().find(|found| found.pool.id == *id) else { return false };
        let by_default = tree.listeners.iter().filter(|of| of.default_pool_id.as_ref() == Some(id));
        let users: Vec<&ListenerId> =
            by_default.map(|listener| &listener.id).chain(&found.pool.listeners).collect();
        if self.goes_whole() {
            return true;
        }
        if users.is_empty() {
            return self.is_owner() && self.names.is_own_pool(&found.pool.name);
        }
        users.into_iter().all(|user| self.may_change(user))
    }

    fn made_for_it(&self, description: &str) -> bool {
        let prefix = "Floating IP for Kubernetes external service ";
        description == format!("{prefix}default/web from cluster held")
    }

    fn group(&self, step: &CloudStep, id: &str) -> Held {
        let own = self.found.group.as_ref().is_some_and(|found| {
            found.group.id.as_str() == id && found.group.name == self.names.security_group()
        });
        holds(own, step, "a security group")
    }
}

fn holds(fine: bool, step: &CloudStep, what: &str) -> Held {
    if fine { Ok(()) } else { Err(format!("not ours: {what}, by {step:?}")) }
}
