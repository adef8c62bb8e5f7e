//! Whose a load balancer and its listeners are: by their names, and by the tags on them.
//!
//! What is not proven ours is never changed. Names are the same in two clusters of the same `--cluster-name`; tags with UIDs tell
//! them apart where they are there.

use std::collections::BTreeSet;

use bowline_cloud::Planned;
use openstack_client::load_balancer::Listener;

use crate::loadbalancer::annotations::LOAD_BALANCER_ID;
use crate::loadbalancer::found::{Children, Found, FoundBalancer, FoundBy};
use crate::loadbalancer::names::{LOAD_BALANCER_PREFIX, Names, in_cluster};
use crate::loadbalancer::ownership::Ownership;
use crate::loadbalancer::step::{Action, CloudStep, Seen};
use crate::loadbalancer::wanted::{Wanted, WantedAddress};

/// What a Service is to a load balancer.
pub(super) struct Claim<'a> {
    /// The load balancer.
    pub(super) there: &'a FoundBalancer,
    /// Whether it is the Service's own: it bears the name that it has for this Service.
    pub(super) owner: bool,
    /// Its name from a time when the cluster was called otherwise.
    pub(super) former: Option<&'a str>,
    /// Another cluster that says that it is its own.
    pub(super) other_cluster: Option<&'a str>,
    tag: String,
}

/// Whose a listener is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Holder<'l> {
    /// This Service's.
    Us,
    /// Another Service's, by its tag.
    Service(&'l str),
    /// Nobody says so.
    Unknown,
}

/// Two load balancers with the name of one.
pub(super) fn namesakes(names: &Names, found: &Found) -> Option<String> {
    let ids: BTreeSet<&str> = found.namesakes.iter().map(openstack_client::LoadBalancerId::as_str).collect();
    let ids: Vec<&str> = ids.into_iter().collect();
    (!ids.is_empty()).then(|| {
        format!(
            "load balancers {} are all called {}; name the right one in annotation {}, or delete the others",
            ids.join(", "),
            names.load_balancer(),
            LOAD_BALANCER_ID.key
        )
    })
}

impl<'a> Claim<'a> {
    pub(super) fn of(names: &Names, ownership: &Ownership, found: &Found, there: &'a FoundBalancer) -> Self {
        let (name, tag) = (there.balancer.name.as_str(), names.tag());
        let other_cluster = ownership.other_cluster(&there.balancer.tags);
        let legacy = there.by == FoundBy::LegacyName || name == names.legacy_load_balancer();
        let own = name == tag || legacy;
        // A Service that was never reached by it, or that is on it under its own tag already, shares it with another cluster.
        let was_reached = there.by == FoundBy::Id && found.recover && !there.balancer.tags.contains(&tag);
        let former = Some(name).filter(|name| {
            !own && was_reached
                && other_cluster.is_none()
                && in_cluster(name, names.cluster()).as_deref() == Some(tag.as_str())
        });
        Self { there, owner: own || former.is_some(), former, other_cluster, tag }
    }

    /// Whether a tag is the Service's.
    pub(super) fn is_own(&self, tag: &str) -> bool {
        tag == self.tag || Some(tag) == self.former
    }

    /// Whether the Service has its tag on the load balancer.
    pub(super) fn is_tagged(&self) -> bool {
        self.there.balancer.tags.iter().any(|tag| self.is_own(tag))
    }

    /// Whether the Service is on the load balancer already.
    pub(super) fn joined(&self) -> bool {
        self.owner || self.is_tagged()
    }

    /// Whether the Service sees to how the load balancer is reached. That is its owner's affair; when the owner has left it to those who
    /// share it, it is that of the first of them, always the same one.
    pub(super) fn leads_to_it(&self) -> bool {
        self.owner || self.inherits()
    }

    fn inherits(&self) -> bool {
        self.heir().is_some_and(|heir| self.is_own(heir))
    }

    /// The first of those who are on a load balancer whose owner has left it.
    pub(super) fn heir(&self) -> Option<&'a str> {
        let (name, tags) = (self.there.balancer.name.as_str(), &self.there.balancer.tags);
        let users = tags.iter().map(String::as_str).filter(|tag| tag.starts_with(LOAD_BALANCER_PREFIX));
        let made_for_one = name.starts_with(LOAD_BALANCER_PREFIX) && self.other_cluster.is_none();
        let is_left = made_for_one && !self.owner && users.clone().all(|tag| tag != name);
        users.min().filter(|_first| is_left)
    }

    /// The tags of other Services.
    pub(super) fn others(&self) -> Vec<&'a str> {
        let tags = self.there.balancer.tags.iter().map(String::as_str);
        tags.filter(|tag| tag.starts_with(LOAD_BALANCER_PREFIX) && !self.is_own(tag)).collect()
    }

    /// All other Services that are on it, by its tags or by those of a listener.
    pub(super) fn sharers(&self) -> BTreeSet<&'a str> {
        let listeners: &[Listener] = match &self.there.children {
            Children::Known(tree) => &tree.listeners,
            Children::AsWanted | Children::Busy => &[],
        };
        let on_listeners = listeners.iter().filter_map(|listener| match self.holder(listener) {
            Holder::Service(tag) => Some(tag),
            Holder::Us | Holder::Unknown => None,
        });
        self.others().into_iter().chain(on_listeners).collect()
    }

    /// Whose a listener is. Those without tags belong to the owner.
    pub(super) fn holder<'l>(&self, listener: &'l Listener) -> Holder<'l> {
        let tags = listener.tags.iter().map(String::as_str);
        if tags.clone().any(|tag| self.is_own(tag)) {
            return Holder::Us;
        }
        match tags.filter(|tag| tag.starts_with(LOAD_BALANCER_PREFIX)).min() {
            Some(other) => Holder::Service(other),
            None if self.owner && listener.tags.iter().all(String::is_empty) => Holder::Us,
            None => Holder::Unknown,
        }
    }

    /// A step on this load balancer.
    pub(super) fn step(&self, action: Action, reason: impl Into<String>) -> Planned<CloudStep> {
        Planned::new(CloudStep::on(self.seen(), action), reason)
    }

    /// The load balancer as it was seen.
    pub(super) fn seen(&self) -> Seen {
        Seen { id: self.there.balancer.id.clone(), version: self.there.version }
    }

    /// Why the Service must not use it.
    pub(super) fn refusals(&self, wanted: &Wanted) -> Vec<String> {
        let id = &self.there.balancer.id;
        if self.owner {
            let taken = self.other_cluster.map(|cluster| {
                format!(
                    "load balancer {id} has the name of this Service but is tagged as of cluster {cluster}; give each cluster of \
                     the project its own --cluster-name, or remove tag bowline-cluster:{cluster} from it if that cluster is no more"
                )
            });
            return taken.into_iter().collect();
        }
        let mut problems = Vec::new();
        if !wanted.balancer.tagged {
            problems.push(format!(
                "load balancer {id} is not this Service's own, and this cloud's Octavia has no tags, without which load balancers \
                 cannot be shared; remove annotation {}",
                LOAD_BALANCER_ID.key
            ));
        }
        let (others, most) = (self.others().len(), wanted.most_sharers);
        if !self.is_tagged() && i64::try_from(others).unwrap_or(i64::MAX) >= most {
            problems.push(format!(
                "load balancer {id} is shared by {others} already and max-shared-lb is {most}; use another one"
            ));
        }
        if matches!(wanted.address, WantedAddress::Own { .. }) {
            problems.push(format!(
                "load balancer {id} is not this Service's own, and an internal Service cannot share one; remove annotation {}",
                LOAD_BALANCER_ID.key
            ));
        }
        problems
    }
}
