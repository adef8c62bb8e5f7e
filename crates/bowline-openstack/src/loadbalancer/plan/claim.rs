//! Whose a load balancer and its listeners are: by their names, and by the tags on them.
//!
//! What is not proven ours is never changed. Names are the same in two clusters of the same `--cluster-name`, and truncated names in one
//! cluster. Where either is possible, the name needs a second proof: the tag with the Service's UID, or the status of the Service.

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

/// What a Service is to a load balancer.
pub(super) struct Claim<'a> {
    /// The load balancer.
    pub(super) there: &'a FoundBalancer,
    /// Whether it is the Service's own: it bears the name that it has for this Service.
    pub(super) owner: bool,
    /// Its name from a time when the cluster was called otherwise.
    pub(super) former: Option<&'a str>,
    /// Another cluster that says that it is its own, while this one does not.
    pub(super) other_cluster: Option<&'a str>,
    /// Another cluster that uses it, whether this one does or not.
    pub(super) foreign: Option<&'a str>,
    /// Whether only the status of the Service proves that it uses the load balancer: its tags are added while the status shows the address.
    pub(super) rests_on_status: bool,
    /// Why the name of the Service, which the load balancer has as its name or as a tag, does not prove that this Service is meant.
    pub(super) contested: Option<String>,
    /// The tags of Services that want the load balancer and may keep it when its owner has left it.
    keepers: BTreeSet<&'a str>,
    names: &'a Names,
    tag: String,
    /// Whether this tag is that of this Service, and not of another one with the same.
    is_tag_ours: bool,
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

/// Whether a load balancer that has the Service's name under another cluster name was made for this Service before the cluster was
/// renamed. What the Service's annotations say is no proof: another cluster may have a Service of the same namespace and name.
fn was_ours(names: &Names, ownership: &Ownership, found: &Found, balancer: &LoadBalancer) -> bool {
    let of_others = clusters_in(&balancer.tags).any(|uid| Some(uid) != ownership.cluster.as_deref());
    if of_others || found.has_own {
        return false;
    }
    let is_former = || cluster_of(&balancer.name).is_some_and(|cluster| names.is_former_cluster(cluster));
    // A truncated name may be that of another Service, so a former cluster name does not prove it.
    found.shows(balancer) || (balancer.name.len() < MAX_NAME_BYTES && is_former())
}

/// Why a load balancer with the name of this Service is not used.
fn of_other_cluster(balancer: &LoadBalancer, cluster: &str) -> String {
    let id = &balancer.id;
    format!(
        "load balancer {id} has the name of this Service but is tagged as of cluster {cluster}; give each cluster of the project its own \
         --cluster-name, or remove tag bowline-cluster:{cluster} from it if that cluster is no more"
    )
}

/// Why the name that a load balancer has in common with this Service does not prove that this Service is meant.
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

/// Whether the name and the tag of the Service are this Service's where a load balancer has them.
struct Proof {
    /// Whether the load balancer is the Service's own.
    own: bool,
    is_tag_ours: bool,
    /// Whether only the status of the Service can prove that.
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
        // Kubernetes' own provider made the name of the Service's UID, which no other Service has.
        let legacy = there.by == FoundBy::LegacyName || balancer.name == names.legacy_load_balancer();
        let own = legacy || (balancer.name == names.load_balancer() && (is_proven || is_unambiguous));
        Self {
            own,
            is_tag_ours: own || is_proven || (!is_foreign && !names.is_cut()),
            rests_on_status: !has_uid && !legacy && !is_unambiguous,
        }
    }
}

/// The tags of a load balancer and, as far as they are known, of its listeners.
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
        // A Service that has its own tag on it already shares it with another cluster.
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

    /// Whether a tag is the Service's.
    pub(super) fn is_own(&self, tag: &str) -> bool {
        (self.is_tag_ours && tag == self.tag) || Some(tag) == self.former
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

    /// The first of those who are on a load balancer whose owner has left it, and may keep it.
    pub(super) fn heir(&self) -> Option<&'a str> {
        let (name, tags) = (self.there.balancer.name.as_str(), &self.there.balancer.tags);
        let made_for_one = name.starts_with(LOAD_BALANCER_PREFIX) && self.foreign.is_none();
        let is_left = made_for_one && !self.owner && tags.iter().all(|tag| tag != name);
        let on_it = tags.iter().map(String::as_str).filter(|tag| self.keepers.contains(tag));
        on_it.min().filter(|_first| is_left)
    }

    /// Whether the Service of a tag may keep the load balancer when its owner has left it.
    pub(super) fn may_keep(&self, tag: &str) -> bool {
        self.keepers.contains(tag)
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

    /// Whose a listener is. One without tags belongs to the owner if it has a name that was given for the owner's Service: Octavia before
    /// API version 2.5 has no tags, and what people add with its command line or Horizon has none either.
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
