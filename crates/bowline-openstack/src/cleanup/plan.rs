//! What of the project is the cluster's and goes, and what only looks so and stays. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::IpAddr;

use bowline_cloud::ServiceView;
use openstack_client::load_balancer::{LoadBalancer, ProvisioningStatus};
use openstack_client::network::{FloatingIp, SecurityGroup};
use openstack_client::{FloatingIpId, LoadBalancerId, PortId, SecurityGroupId};
use serde::Serialize;

use super::observe::Inventory;
use crate::loadbalancer::names::{
    FLOATING_IP_PREFIX, LOAD_BALANCER_PREFIX, SECURITY_GROUP_PREFIX, cluster_of,
};
use crate::loadbalancer::ownership::{clusters_in, services_in};

/// What is asked for.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// The `--cluster-name` of the cluster that is no more.
    pub cluster: String,
    /// Its UID, where two had that name.
    pub cluster_uid: Option<String>,
    /// The Services of a cluster that lives: what they use stays.
    pub users: Vec<User>,
    /// Whether what bears OCCM's tags of this cluster name, and of no cluster by its UID, counts as the cluster's. OCCM's tags are
    /// the same for every cluster of that name.
    pub occm_tags: bool,
}

/// A Service that lives.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct User {
    /// `namespace/name`.
    pub service: String,
    /// Its UID.
    pub uid: String,
    /// The load balancer that it names, by id.
    pub load_balancer: Option<String>,
    /// The addresses that it shows.
    pub addresses: Vec<IpAddr>,
}

/// A kind of thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Kind {
    /// An address.
    FloatingIp,
    /// A security group.
    SecurityGroup,
    /// A load balancer, with its listeners, pools, members and monitors.
    LoadBalancer,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::FloatingIp => "floating IP",
            Self::SecurityGroup => "security group",
            Self::LoadBalancer => "load balancer",
        })
    }
}

/// Something in the cloud, as people know it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Thing {
    /// What it is.
    pub kind: Kind,
    /// Its id.
    pub id: String,
    /// Its name, or its description if it has no name.
    pub name: String,
    /// Its address.
    pub address: Option<IpAddr>,
    /// The Services that own it, as `namespace/name`.
    pub services: Vec<String>,
}

/// Something that goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Removal {
    /// What it is.
    #[serde(flatten)]
    pub thing: Thing,
    /// What has to be so still, right before it goes.
    #[serde(skip)]
    pub(super) seen: Seen,
}

/// What a thing was known by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Seen {
    FloatingIp { id: FloatingIpId, port: PortId },
    Group { id: SecurityGroupId, name: String },
    Balancer { id: LoadBalancerId, tags: Vec<String>, port: Option<PortId> },
}

/// Something that looks like the cluster's and stays.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftAlone {
    /// What it is.
    #[serde(flatten)]
    pub thing: Thing,
    /// Why it stays.
    pub why: String,
}

/// Two clusters had that name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "several clusters are called {cluster} in this project, with the UIDs {}; say which one is no more (--cluster-uid)",
    .uids.join(", ")
)]
pub struct SeveralClusters {
    /// The name.
    pub cluster: String,
    /// Their UIDs.
    pub uids: Vec<String>,
}

/// What is to be done, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CleanupPlan {
    /// What goes.
    pub remove: Vec<Removal>,
    /// What looks like the cluster's and stays.
    pub left_alone: Vec<LeftAlone>,
}

impl CleanupPlan {
    /// Decides about everything in the project.
    ///
    /// # Errors
    ///
    /// [`SeveralClusters`] if two had that name and nobody says which is meant.
    pub fn of(request: &Request, found: &Inventory) -> Result<Self, SeveralClusters> {
        let uid = the_cluster(request, found)?;
        let mut plan = Self::default();
        let mut owned = Vec::new();
        for balancer in found.balancers.iter().filter(|one| concerns(request, uid.as_deref(), one)) {
            match why_not(request, uid.as_deref(), balancer, &found.floating) {
                None => owned.push(balancer),
                Some(why) => plan.leave(of_balancer(balancer), why),
            }
        }
        plan.floating(request, &found.floating, &owned);
        plan.groups(request, &found.groups, &owned);
        for balancer in owned {
            let (id, tags, port) = (balancer.id.clone(), balancer.tags.clone(), balancer.vip_port_id.clone());
            plan.remove
                .push(Removal { thing: of_balancer(balancer), seen: Seen::Balancer { id, tags, port } });
        }
        Ok(plan)
    }

    fn leave(&mut self, thing: Thing, why: impl Into<String>) {
        self.left_alone.push(LeftAlone { thing, why: why.into() });
    }

    fn floating(&mut self, request: &Request, all: &[FloatingIp], owned: &[&LoadBalancer]) {
        let by_port: BTreeMap<&PortId, &LoadBalancer> =
            owned.iter().flat_map(|balancer| ports_of(balancer).map(move |port| (port, *balancer))).collect();
        for floating in all {
            let made = is_made_for(&request.cluster, &floating.description);
            let leads_to = floating.port_id.as_ref().and_then(|port| Some((port, *by_port.get(port)?)));
            let services = leads_to.map(|(_, balancer)| services_of(balancer)).unwrap_or_default();
            let thing = Thing {
                kind: Kind::FloatingIp,
                id: floating.id.to_string(),
                name: floating.description.clone(),
                address: Some(floating.floating_ip_address),
                services,
            };
            let user =
                request.users.iter().find(|user| user.addresses.contains(&floating.floating_ip_address));
            match (leads_to, made, user) {
                (Some(_) | None, true, Some(user)) => {
                    self.leave(thing, format!("Service {} shows this address", user.service));
                }
                (Some((port, _)), true, None) => {
                    let seen = Seen::FloatingIp { id: floating.id.clone(), port: port.clone() };
                    self.remove.push(Removal { thing, seen });
                }
                (Some(_), false, _) => self.leave(thing, "it was not made for a Service; it is detached"),
                (None, true, None) => {
                    self.leave(
                        thing,
                        "no tag: it leads to no load balancer of this cluster, only its description names it",
                    );
                }
                (None, false, _) => {}
            }
        }
    }

    /// A group bears the UID of its Service in its name; that the Service is the cluster's, a tag of its load balancer says.
    fn groups(&mut self, request: &Request, all: &[SecurityGroup], owned: &[&LoadBalancer]) {
        let services: BTreeSet<&str> = owned.iter().flat_map(|one| services_in(&one.tags)).collect();
        let untagged = owned.iter().filter(|one| clusters_in(&one.tags).next().is_none());
        let named: BTreeSet<String> = untagged.flat_map(|one| services_of(one)).collect();
        let live: BTreeSet<&str> = request.users.iter().map(|user| user.uid.as_str()).collect();
        let suffix = format!(" Service LoadBalancer in cluster {}", request.cluster);
        for group in all {
            let Some(rest) = group.name.strip_prefix(SECURITY_GROUP_PREFIX) else { continue };
            let is_of = |uid: &&str| rest.strip_prefix(*uid).is_some_and(|rest| rest.starts_with('-'));
            let service = group.description.strip_prefix("Security Group for ");
            let service = service.and_then(|text| text.strip_suffix(&suffix));
            let is_live = live.iter().any(is_of);
            let by_occm = request.occm_tags && service.is_some_and(|service| named.contains(service));
            let is_owned = (services.iter().any(is_of) || by_occm) && !is_live;
            let thing = Thing {
                kind: Kind::SecurityGroup,
                id: group.id.to_string(),
                name: group.name.clone(),
                address: None,
                services: service.map(str::to_owned).into_iter().collect(),
            };
            match service {
                _ if is_owned => {
                    let seen = Seen::Group { id: group.id.clone(), name: group.name.clone() };
                    self.remove.push(Removal { thing, seen });
                }
                Some(_) => {
                    self.leave(thing, "no tag: no load balancer of this cluster is tagged with its Service");
                }
                None => {}
            }
        }
    }
}

/// The UID of the cluster that is meant; none if nothing bears one.
fn the_cluster(request: &Request, found: &Inventory) -> Result<Option<String>, SeveralClusters> {
    if request.cluster_uid.is_some() {
        return Ok(request.cluster_uid.clone());
    }
    let named = found.balancers.iter().filter(|one| names_cluster(&request.cluster, one));
    let uids: BTreeSet<String> = named.flat_map(|one| clusters_in(&one.tags)).map(str::to_owned).collect();
    if uids.len() > 1 {
        let cluster = request.cluster.clone();
        return Err(SeveralClusters { cluster, uids: uids.into_iter().collect() });
    }
    Ok(uids.into_iter().next())
}

/// The tags that name Services, and so their cluster.
fn service_tags(balancer: &LoadBalancer) -> impl Iterator<Item = &str> {
    balancer.tags.iter().map(String::as_str).filter(|tag| tag.starts_with(LOAD_BALANCER_PREFIX))
}

fn names_cluster(cluster: &str, balancer: &LoadBalancer) -> bool {
    service_tags(balancer).any(|tag| cluster_of(tag) == Some(cluster))
}

/// Whether it is worth a word: its name, or a tag, is about this cluster.
fn concerns(request: &Request, uid: Option<&str>, balancer: &LoadBalancer) -> bool {
    balancer.provisioning_status != ProvisioningStatus::Deleted
        && (names_cluster(&request.cluster, balancer)
            || cluster_of(&balancer.name) == Some(request.cluster.as_str())
            || uid.is_some_and(|uid| clusters_in(&balancer.tags).any(|one| one == uid)))
}

/// Why a load balancer stays; none if it is the cluster's, and of nobody else.
fn why_not(
    request: &Request,
    uid: Option<&str>,
    balancer: &LoadBalancer,
    floating: &[FloatingIp],
) -> Option<String> {
    let clusters: BTreeSet<&str> = clusters_in(&balancer.tags).collect();
    let by_occm = request.occm_tags && clusters.is_empty();
    match uid.filter(|uid| clusters.contains(uid)) {
        Some(uid) => {
            if let Some(other) = clusters.iter().find(|other| **other != uid) {
                return Some(format!("it is shared with another cluster, with UID {other}"));
            }
        }
        None if by_occm => {}
        None => return Some(not_tagged(request, balancer, clusters.first().copied())),
    }
    let ours = Some(request.cluster.as_str());
    if let Some(other) = service_tags(balancer).find(|tag| cluster_of(tag) != ours) {
        return Some(format!("it is shared with Services of another cluster name, by its tag {other}"));
    }
    if !names_cluster(&request.cluster, balancer) {
        return Some("no tag names a Service of this cluster".to_owned());
    }
    if cluster_of(&balancer.name) != ours && !is_legacy(balancer) {
        let name = &balancer.name;
        return Some(format!(
            "it is called {name}, which is no name of this cluster: a person may have made it"
        ));
    }
    let ports: Vec<&PortId> = ports_of(balancer).collect();
    let leads_here = |one: &&FloatingIp| one.port_id.as_ref().is_some_and(|port| ports.contains(&port));
    let floating = floating.iter().filter(leads_here).map(|one| one.floating_ip_address);
    let addresses: BTreeSet<IpAddr> = floating.chain(balancer.vip_address).collect();
    let uses = |user: &&User| {
        user.load_balancer.as_deref() == Some(balancer.id.as_str())
            || services_in(&balancer.tags).any(|uid| uid == user.uid)
            || user.addresses.iter().any(|address| addresses.contains(address))
    };
    request
        .users
        .iter()
        .find(uses)
        .map(|user| format!("Service {} of the given cluster uses it", user.service))
}

/// Why a load balancer without the cluster's own tag stays.
fn not_tagged(request: &Request, balancer: &LoadBalancer, other: Option<&str>) -> String {
    match other {
        Some(other) => format!("it is tagged as of another cluster, with UID {other}"),
        None if names_cluster(&request.cluster, balancer) => {
            "no tag of Bowline's: OCCM made it for a cluster of this name, which others may have had, too (--include-occm-tags)".to_owned()
        }
        None => "no tag: nothing but its name says whose it is".to_owned(),
    }
}

/// Whether it has the name that Kubernetes' own provider gave it for one of the Services on it.
fn is_legacy(balancer: &LoadBalancer) -> bool {
    let legacy = |uid: &str| {
        let service = ServiceView { uid: uid.into(), ..ServiceView::default() };
        service.default_load_balancer_name() == balancer.name
    };
    services_in(&balancer.tags).any(legacy)
}

fn is_made_for(cluster: &str, description: &str) -> bool {
    let service = description.strip_prefix(FLOATING_IP_PREFIX);
    service.is_some_and(|rest| rest.ends_with(&format!(" from cluster {cluster}")))
}

fn ports_of(balancer: &LoadBalancer) -> impl Iterator<Item = &PortId> {
    balancer.vip_port_id.iter().chain(balancer.additional_vips.iter().filter_map(|vip| vip.port_id.as_ref()))
}

/// The Services on it, by its tags.
fn services_of(balancer: &LoadBalancer) -> Vec<String> {
    let service = |tag: &str| {
        let behind = cluster_of(tag).and_then(|cluster| {
            tag.strip_prefix(LOAD_BALANCER_PREFIX)?.strip_prefix(cluster)?.strip_prefix('_')
        });
        behind.map_or_else(|| tag.to_owned(), |rest| rest.replacen('_', "/", 1))
    };
    service_tags(balancer).map(service).collect()
}

fn of_balancer(balancer: &LoadBalancer) -> Thing {
    Thing {
        kind: Kind::LoadBalancer,
        id: balancer.id.to_string(),
        name: balancer.name.clone(),
        address: balancer.vip_address,
        services: services_of(balancer),
    }
}
