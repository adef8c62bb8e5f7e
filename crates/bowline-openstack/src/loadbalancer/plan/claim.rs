//! Determines the owner of a load balancer and of its listeners, by their names and tags.
//!
//! An object without proof of ownership is never changed. Names are the same in two clusters with the same `--cluster-name`, and truncated
//! names can be the same within one cluster. Where either is possible, the name needs a second proof: the tag with the UID of the Service,
//! or the status of the Service.

use std::collections::BTreeSet;

use bowline_cloud::Planned;
use openstack_client::load_balancer::{Listener, LoadBalancer};

use crate::loadbalancer::annotations::LOAD_BALANCER_ID;
use crate::loadbalancer::found::{Children, Found, FoundBalancer, FoundBy};
use crate::loadbalancer::names::{LOAD_BALANCER_PREFIX, MAX_NAME_BYTES, Names, cluster_of, in_cluster};
use crate::loadbalancer::ownership::{Ownership, clusters_in};
use crate::loadbalancer::step::{Action, CloudStep, Seen};
use crate::loadbalancer::tenancy::sharing;
use crate::loadbalancer::wanted::{Wanted, WantedAddress};

/// The relation of a Service to a load balancer.
pub(super) struct Claim<'a> {
    pub(super) there: &'a FoundBalancer,
    /// Whether the Service owns the load balancer: its name is the one that Bowline, OCCM or the in-tree provider gives for this Service,
    /// possibly under a former cluster name.
    pub(super) owner: bool,
    /// The current name of the load balancer, if it contains a former `--cluster-name` and the load balancer is this Service's.
    pub(super) former: Option<&'a str>,
    /// The UID of another cluster that has its tag on the load balancer, if this cluster has none there.
    pub(super) other_cluster: Option<&'a str>,
    /// The UID of another cluster that has its tag on the load balancer, whether or not this cluster has one there as well.
    pub(super) foreign: Option<&'a str>,
    /// Whether only the status of the Service proves that it uses the load balancer. Its tags are then added while the status still shows
    /// the address.
    pub(super) rests_on_status: bool,
    /// Why the load balancer may mean another Service, although its name or one of its tags is the name of this Service.
    pub(super) contested: Option<String>,
    /// The tags of Services that want the load balancer and may keep it after its owner has left.
    keepers: BTreeSet<&'a str>,
    names: &'a Names,
    tag: String,
    /// Whether `tag` on this load balancer means this Service, and not another one with the same name.
    is_tag_ours: bool,
}

/// The owner of a listener.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Holder<'l> {
    /// This Service.
    Us,
    /// Another Service, by its tag.
    Service(&'l str),
    /// Neither a tag nor a name proves an owner.
    Unknown,
}

/// Reports that several load balancers have the name of this Service.
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

/// Whether a load balancer with the name of this Service under another cluster name was created for this Service before the cluster was
/// renamed. The annotations of the Service are no proof: another cluster may have a Service of the same namespace and name.
fn was_ours(names: &Names, ownership: &Ownership, found: &Found, balancer: &LoadBalancer) -> bool {
    let of_others = clusters_in(&balancer.tags).any(|uid| Some(uid) != ownership.cluster.as_deref());
    if of_others || found.has_own {
        return false;
    }
    let is_former = || cluster_of(&balancer.name).is_some_and(|cluster| names.is_former_cluster(cluster));
    // A truncated name may be that of another Service, so a former cluster name does not prove it.
    found.shows(balancer) || (balancer.name.len() < MAX_NAME_BYTES && is_former())
}

/// The message for a load balancer that has the name of this Service and the tag of another cluster.
fn of_other_cluster(balancer: &LoadBalancer, cluster: &str) -> String {
    let id = &balancer.id;
    format!(
        "load balancer {id} has the name of this Service but is tagged as of cluster {cluster}; give each cluster of the project its own \
         --cluster-name, or remove tag bowline-cluster:{cluster} from it if that cluster is no more"
    )
}

/// The message for a load balancer whose name or tag is that of this Service, but may mean another Service.
fn contested(names: &Names, foreign: Option<&str>, balancer: &LoadBalancer) -> String {
    let (id, name) = (&balancer.id, names.load_balancer());
    match foreign {
        Some(cluster) if balancer.name == name => of_other_cluster(balancer, cluster),
        Some(cluster) => format!(
            "load balancer {id} has tag {name} and is also used by cluster {cluster}, so the tag may be that of a Service of the same \
             namespace and name there; give each cluster of the project its own --cluster-name, or use another load balancer"
        ),
        None => format!(
            "load balancer {id} has the name or tag {name}, which is truncated, so it may be that of another Service; use a shorter \
             --cluster-name or another load balancer"
        ),
    }
}

/// Whether the name and the tag of the Service on a load balancer mean this Service.
struct Proof {
    /// Whether the Service owns the load balancer.
    own: bool,
    is_tag_ours: bool,
    /// Whether only the status of the Service proves ownership.
    rests_on_status: bool,
}

impl Proof {
    fn of(names: &Names, ownership: &Ownership, found: &Found, there: &FoundBalancer) -> Self {
        let (balancer, tags) = (&there.balancer, &there.balancer.tags);
        let (is_foreign, has_uid) =
            (ownership.foreign_cluster(tags).is_some(), ownership.is_of_service(tags));
        let is_proven = has_uid || found.shows(balancer);
        let is_described =
            || names.describes_own_load_balancer(&balancer.description) && !ownership.is_of_others(tags);
        let is_unambiguous = !is_foreign && (!names.is_cut() || is_described());
        // The in-tree provider derived the name from the UID of the Service, which is unique.
        let legacy = there.by == FoundBy::LegacyName || balancer.name == names.legacy_load_balancer();
        let own = legacy || (balancer.name == names.load_balancer() && (is_proven || is_unambiguous));
        Self {
            own,
            is_tag_ours: own || is_proven || (!is_foreign && !names.is_cut()),
            rests_on_status: !has_uid && !legacy && !is_unambiguous,
        }
    }
}

/// The tags of a load balancer and, if they were read, of its listeners.
fn tags_on(there: &FoundBalancer) -> impl Iterator<Item = &str> {
    let listeners: &[Listener] = match &there.children {
        Children::Known(tree) => &tree.listeners,
        Children::AsWanted | Children::Busy => &[],
    };
    let on_listeners = listeners.iter().flat_map(|listener| &listener.tags);
    there.balancer.tags.iter().chain(on_listeners).map(String::as_str)
}

impl<'a> Claim<'a> {
    pub(super) fn of(
        names: &'a Names,
        ownership: &Ownership,
        found: &Found,
        there: &'a FoundBalancer,
    ) -> Self {
        let (balancer, tags) = (&there.balancer, &there.balancer.tags);
        let (name, tag) = (balancer.name.as_str(), names.tag());
        let (other_cluster, foreign) = (ownership.other_cluster(tags), ownership.foreign_cluster(tags));
        let Proof { own, is_tag_ours, rests_on_status } = Proof::of(names, ownership, found, there);
        let is_named_alike = name == tag || tags.contains(&tag);
        let contested = (is_named_alike && !is_tag_ours).then(|| contested(names, foreign, balancer));
        // A Service that already has its own tag on the load balancer shares it with another cluster.
        let is_named = there.by == FoundBy::Id && !tags.contains(&tag);
        let former = Some(name).filter(|name| {
            !own && is_named
                && in_cluster(name, names.cluster()).as_deref() == Some(tag.as_str())
                && was_ours(names, ownership, found, balancer)
        });
        let keeps = |tag: &&str| {
            !found.leaving.contains(*tag)
                && sharing::may_keep(tag, &there.balancer, names.cluster(), ownership)
        };
        let keepers = tags_on(there).filter(keeps).collect();
        Self {
            there,
            owner: own || former.is_some(),
            former,
            other_cluster,
            foreign,
            rests_on_status,
            contested,
            keepers,
            names,
            tag,
            is_tag_ours,
        }
    }

    /// Whether a tag is that of this Service, under the present or the former name of the cluster.
    pub(super) fn is_own(&self, tag: &str) -> bool {
        (self.is_tag_ours && tag == self.tag) || Some(tag) == self.former
    }

    /// Whether the load balancer has the tag of the Service.
    pub(super) fn is_tagged(&self) -> bool {
        self.there.balancer.tags.iter().any(|tag| self.is_own(tag))
    }

    /// Whether the Service already uses the load balancer: it owns it or has its tag on it.
    pub(super) fn joined(&self) -> bool {
        self.owner || self.is_tagged()
    }

    /// Whether the Service manages the address of the load balancer. Its owner does; if the owner has left, its successor does (see
    /// [`Self::heir`]).
    pub(super) fn leads_to_it(&self) -> bool {
        self.owner || self.inherits()
    }

    fn inherits(&self) -> bool {
        self.heir().is_some_and(|heir| self.is_own(heir))
    }

    /// The tag of the successor: the first Service, in the order of the tags, on a load balancer whose owner has left, among those that may
    /// keep it. `None` while the owner uses the load balancer, and for a load balancer that no Service made or that another cluster uses.
    pub(super) fn heir(&self) -> Option<&'a str> {
        let (name, tags) = (self.there.balancer.name.as_str(), &self.there.balancer.tags);
        let made_for_one = name.starts_with(LOAD_BALANCER_PREFIX) && self.foreign.is_none();
        let is_left = made_for_one && !self.owner && tags.iter().all(|tag| tag != name);
        let on_it = tags.iter().map(String::as_str).filter(|tag| self.keepers.contains(tag));
        on_it.min().filter(|_first| is_left)
    }

    /// Whether the Service of a tag may keep the load balancer after its owner has left.
    pub(super) fn may_keep(&self, tag: &str) -> bool {
        self.keepers.contains(tag)
    }

    /// The tags of other Services on the load balancer, without those on its listeners.
    pub(super) fn others(&self) -> Vec<&'a str> {
        let tags = self.there.balancer.tags.iter().map(String::as_str);
        tags.filter(|tag| tag.starts_with(LOAD_BALANCER_PREFIX) && !self.is_own(tag)).collect()
    }

    /// The tags of all other Services that use the load balancer, by its tags or by those of its listeners.
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

    /// The owner of a listener. A listener without tags belongs to the owner of the load balancer if its name was given for the owner:
    /// Octavia before API version 2.5 has no tags, and listeners that users create with the CLI or Horizon have none either.
    pub(super) fn holder<'l>(&self, listener: &'l Listener) -> Holder<'l> {
        let tags = listener.tags.iter().map(String::as_str);
        if tags.clone().any(|tag| self.is_own(tag)) {
            return Holder::Us;
        }
        match tags.filter(|tag| tag.starts_with(LOAD_BALANCER_PREFIX)).min() {
            Some(other) => Holder::Service(other),
            None if self.owner
                && listener.tags.iter().all(String::is_empty)
                && self.is_named_by_us(listener) =>
            {
                Holder::Us
            }
            None => Holder::Unknown,
        }
    }

    fn is_named_by_us(&self, listener: &Listener) -> bool {
        let former = self.former.and_then(|_former| in_cluster(&listener.name, self.names.cluster()));
        self.names.is_own_listener(&listener.name)
            || former.is_some_and(|name| self.names.is_own_listener(&name))
    }

    /// A step on this load balancer, valid for its observed version.
    pub(super) fn step(&self, action: Action, reason: impl Into<String>) -> Planned<CloudStep> {
        Planned::new(CloudStep::on(self.seen(), action), reason)
    }

    /// The id and the observed version of the load balancer.
    pub(super) fn seen(&self) -> Seen {
        Seen { id: self.there.balancer.id.clone(), version: self.there.version }
    }

    /// Why the Service must not use the load balancer; empty if it may.
    pub(super) fn refusals(&self, wanted: &Wanted) -> Vec<String> {
        let id = &self.there.balancer.id;
        if self.owner {
            let taken = self.other_cluster.map(|cluster| of_other_cluster(&self.there.balancer, cluster));
            return taken.into_iter().collect();
        }
        let mut problems: Vec<String> = self.contested.iter().cloned().collect();
        if self.there.balancer.name == self.tag && !problems.is_empty() {
            return problems;
        }
        if !wanted.balancer.tagged {
            problems.push(format!(
                "load balancer {id} is not this Service's own, and this cloud's Octavia has no tags, without which load balancers \
                 cannot be shared; remove annotation {}",
                LOAD_BALANCER_ID.key
            ));
        }
        if !self.is_tagged() {
            problems.extend(sharing::refusal(wanted, &self.there.balancer));
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
