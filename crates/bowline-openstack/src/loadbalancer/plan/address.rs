//! The address of a Service: that of its load balancer, or a floating IP attached to it.
//!
//! Only the owner of a load balancer changes its floating IP. If the owner has left, its successor attaches a floating IP if none is
//! attached. A floating IP that was not created for this Service is never deleted, only detached.

use std::net::IpAddr;

use bowline_cloud::Planned;
use openstack_client::PortId;
use openstack_client::network::{FloatingIp, FloatingIpCreate, FloatingIpUpdate};

use super::Steps;
use super::claim::Claim;
use super::order::by_id;
use crate::loadbalancer::found::Found;
use crate::loadbalancer::names::LOAD_BALANCER_PREFIX;
use crate::loadbalancer::step::{Action, CloudStep};
use crate::loadbalancer::tenancy::sharing;
use crate::loadbalancer::wanted::{FloatingPlace, Wanted, WantedAddress};

const ASKED: &str = "the Service asks for this floating IP";

/// The address of the Service after the steps are done.
#[derive(Default)]
pub(super) struct Reached {
    pub(super) steps: Steps,
    /// `None` if it is not known yet.
    pub(super) address: Option<IpAddr>,
    /// Why the wanted address cannot be provided.
    pub(super) problem: Option<String>,
}

/// The floating IP that a Service wants, with the data that the decision needs.
struct Wish<'a> {
    wanted: &'a Wanted,
    found: &'a Found,
    claim: &'a Claim<'a>,
    place: Option<&'a FloatingPlace>,
    asked: Option<IpAddr>,
    keep: bool,
}

pub(super) fn reached(wanted: &Wanted, found: &Found, claim: &Claim<'_>) -> Reached {
    let own = claim.there.balancer.vip_address;
    match &wanted.address {
        // There are no floating IPs for IPv6.
        _ if own.is_some_and(|address| address.is_ipv6()) => Reached { address: own, ..Reached::default() },
        WantedAddress::Own { keep_floating_ip } => {
            let is_free = |one: &&FloatingIp| !found.floating.is_of_other(&one.id);
            let attached = by_id(found.floating.attached.iter().filter(is_free), |one| &one.id);
            let internal = "the Service is internal now";
            let steps = attached.into_iter().map(|one| give_back(wanted, one, *keep_floating_ip, internal));
            Reached { address: own, steps: steps.collect(), problem: None }
        }
        WantedAddress::Floating { place, asked, insist, keep_floating_ip: keep } => {
            Wish { wanted, found, claim, place: place.as_ref(), asked: *asked, keep: *keep }.reached(*insist)
        }
    }
}

/// Releases a floating IP that the Service no longer needs: detaches it if it is to be kept or was not created for this Service, deletes it
/// otherwise.
fn give_back(wanted: &Wanted, floating: &FloatingIp, keep: bool, why: &str) -> Planned<CloudStep> {
    if keep {
        return detach(floating, &format!("{why} and its floating IP is kept"));
    }
    if !wanted.names.describes_own_floating_ip(&floating.description) {
        return detach(floating, &format!("{why} and its floating IP was not made for it"));
    }
    Planned::new(CloudStep::new(Action::DeleteFloatingIp(floating.id.clone())), why)
}

/// Deletes the floating IP of a load balancer that is abandoned before the status of the Service showed any address. Once it is detached,
/// only this process knows that it belongs to this Service: the next leader would create a second one and leave this one as an orphan.
pub(super) fn untold(wanted: &Wanted, found: &Found) -> Steps {
    let WantedAddress::Floating { asked: None, keep_floating_ip: false, .. } = &wanted.address else {
        return Vec::new();
    };
    let is_own = |one: &&FloatingIp| {
        wanted.names.describes_own_floating_ip(&one.description) && !found.floating.is_of_other(&one.id)
    };
    let own = by_id(found.floating.attached.iter().filter(is_own), |one| &one.id);
    let why = "its load balancer is given up before anybody was told of it";
    own.into_iter().map(|one| give_back(wanted, one, false, why)).collect()
}

/// Why no load balancer is created: the address or the port that the Service requests is in use by another object, or the requested
/// floating IP is not available.
pub(super) fn is_taken(wanted: &Wanted, found: &Found) -> Option<String> {
    let place = found.place_taken.clone();
    place.or_else(|| port_is_taken(wanted, found)).or_else(|| asked_is_taken(wanted, found))
}

/// Why the requested port cannot be used: it has a floating IP of another Service. The new load balancer would be reached at that address,
/// and the other Service could not use the port any more.
fn port_is_taken(wanted: &Wanted, found: &Found) -> Option<String> {
    let port = wanted.balancer.vip.port.as_ref()?;
    let taken = found.floating.of_others.first()?;
    Some(format!("port {port} has a floating IP that {}; use another port", taken.why))
}

fn asked_is_taken(wanted: &Wanted, found: &Found) -> Option<String> {
    let WantedAddress::Floating { asked: Some(asked), .. } = &wanted.address else { return None };
    let floating = found.floating.asked.as_ref().filter(|floating| floating.floating_ip_address == *asked)?;
    // The floating IP is already on the requested port, left there by an earlier load balancer of the Service.
    let is_there = floating.port_id.is_some() && floating.port_id == wanted.balancer.vip.port;
    if is_there { None } else { not_free(floating, found) }
}

/// Why a requested floating IP is not available: it is attached to another port, or belongs to another Service.
fn not_free(floating: &FloatingIp, found: &Found) -> Option<String> {
    let owner = || found.floating.asked_owner.as_deref().map(|why| reserved(floating, why));
    floating.port_id.as_ref().map(|_port| taken(floating)).or_else(owner)
}

fn reserved(floating: &FloatingIp, why: &str) -> String {
    let (address, id) = (floating.floating_ip_address, &floating.id);
    format!("floating IP {address} ({id}) {why}")
}

/// The reason does not contain the id of the port: a user who knows it could request that port with `port-id`.
fn taken(floating: &FloatingIp) -> String {
    let (address, id) = (floating.floating_ip_address, &floating.id);
    format!(
        "floating IP {address} ({id}) is attached to another port; detach it there or ask for another address"
    )
}

fn detach(floating: &FloatingIp, reason: &str) -> Planned<CloudStep> {
    let nowhere = FloatingIpUpdate { port_id: None, description: None };
    let step = CloudStep::new(Action::update_floating_ip(floating, nowhere));
    Planned::new(step, format!("{reason} ({})", floating.floating_ip_address))
}

impl Wish<'_> {
    fn reached(&self, insist: bool) -> Reached {
        let Some(current) = self.current() else {
            return if self.claim.leads_to_it() { self.first() } else { self.only_the_owner() };
        };
        let address = current.floating_ip_address;
        match self.asked {
            Some(asked) if insist && asked != address => self.exchange(asked, address),
            _ => Reached { address: Some(address), ..Reached::default() },
        }
    }

    /// Attaches a floating IP to a port. The description alone is no proof of ownership: a Service of the same name in another cluster, or
    /// an earlier Service of this name, may have kept the floating IP. Without another proof the description is changed, so that the
    /// floating IP is not deleted with this Service.
    fn attach(&self, floating: &FloatingIp, port: &PortId, reason: &str) -> Planned<CloudStep> {
        let names = &self.wanted.names;
        let is_unproven = names.describes_own_floating_ip(&floating.description)
            && !self.found.floating.proven.contains(&floating.id);
        let description = is_unproven.then(|| names.used_floating_ip_description());
        let there = FloatingIpUpdate { port_id: Some(port.clone()), description };
        let step = CloudStep::new(Action::update_floating_ip(floating, there));
        Planned::new(step, format!("{reason} ({})", floating.floating_ip_address))
    }

    /// The attached floating IP: the requested one if it is attached, else the one with the lowest id, so that the choice is stable.
    fn current(&self) -> Option<&FloatingIp> {
        let attached = by_id(&self.found.floating.attached, |floating| &floating.id);
        let asked = attached.iter().find(|floating| Some(floating.floating_ip_address) == self.asked);
        asked.or_else(|| attached.first()).copied()
    }

    /// Attaches the first floating IP: none is attached yet.
    fn first(&self) -> Reached {
        let own = self.claim.there.balancer.vip_address;
        let Some(port) = &self.claim.there.balancer.vip_port_id else { return Reached::default() };
        let step = match self.asked {
            Some(asked) => self.lead_asked(asked, port),
            None => Ok(self.lead_any(port)),
        };
        match step {
            // Without an external network the Service is reached at the address of the load balancer.
            Ok(step) => Reached { address: own, steps: step.into_iter().collect(), problem: None },
            Err(problem) => Reached { problem: Some(problem), ..Reached::default() },
        }
    }

    /// Replaces the attached floating IP by the one that the Service insists on. A requested floating IP that does not exist is created
    /// before the old one is released. An existing one is attached after the old one is released.
    fn exchange(&self, asked: IpAddr, current: IpAddr) -> Reached {
        let still = |problem: String| Reached {
            address: Some(current),
            problem: Some(problem),
            ..Reached::default()
        };
        if !self.claim.owner {
            return still(format!(
                "floating IP {asked} is asked for and {current} is there; {}",
                self.owner_says()
            ));
        }
        let balancer = &self.claim.there.balancer;
        let Some(port) = &balancer.vip_port_id else { return Reached::default() };
        let here = |floating: &&FloatingIp| {
            floating.fixed_ip_address.is_none() || floating.fixed_ip_address == balancer.vip_address
        };
        let old = by_id(self.found.floating.attached.iter().filter(here), |floating| &floating.id);
        if old.iter().any(|floating| self.found.floating.is_of_other(&floating.id)) {
            return still(format!(
                "floating IP {asked} is asked for, and {current} is there, which belongs to another Service; use another load balancer"
            ));
        }
        let reason = format!("floating IP {asked} is asked for in its place");
        let old = old.into_iter().map(|floating| give_back(self.wanted, floating, self.keep, &reason));
        let there = self.found.floating.asked.as_ref().filter(|one| one.floating_ip_address == asked);
        let steps = match (there, self.place) {
            (Some(floating), _) => match not_free(floating, self.found) {
                Some(problem) => return still(problem),
                None => old.chain([self.attach(floating, port, ASKED)]).collect(),
            },
            (None, Some(place)) => {
                std::iter::once(self.create(place, Some(asked), None)).chain(old).collect()
            }
            (None, None) => {
                return still(format!(
                    "floating IP {asked} is asked for; it is not there, and no external network to take it from"
                ));
            }
        };
        Reached { steps, address: Some(asked), problem: None }
    }

    fn lead_asked(&self, asked: IpAddr, port: &PortId) -> Result<Option<Planned<CloudStep>>, String> {
        let floating = self.found.floating.asked.as_ref();
        match floating.filter(|floating| floating.floating_ip_address == asked) {
            None => Ok(self.place.map(|place| self.create(place, Some(asked), Some(port)))),
            Some(floating) => match not_free(floating, self.found) {
                None => Ok(Some(self.attach(floating, port, ASKED))),
                Some(problem) => Err(problem),
            },
        }
    }

    /// Attaches a detached floating IP that was created for this Service or for the former owner of the load balancer, preferably the one
    /// that the status shows; creates a new one if there is none.
    fn lead_any(&self, port: &PortId) -> Option<Planned<CloudStep>> {
        let left = by_id(&self.found.floating.left, |floating| &floating.id);
        let known =
            left.iter().find(|floating| Some(floating.floating_ip_address) == self.found.known_address);
        match known.or_else(|| left.first()) {
            Some(floating) => {
                let whose = if self.claim.owner { "the Service" } else { "a Service on this load balancer" };
                Some(self.attach(floating, port, &format!("this floating IP was made for {whose} before")))
            }
            None => self.place.map(|place| self.create(place, None, Some(port))),
        }
    }

    fn create(
        &self,
        place: &FloatingPlace,
        asked: Option<IpAddr>,
        port: Option<&PortId>,
    ) -> Planned<CloudStep> {
        let new = FloatingIpCreate {
            floating_network_id: place.network.clone(),
            subnet_id: None,
            floating_ip_address: asked,
            port_id: port.cloned(),
            description: self.wanted.names.floating_ip_description(),
        };
        // An address belongs to one subnet, so there is no point in trying several.
        let subnets = match asked {
            Some(_) if place.subnets.len() > 1 => Vec::new(),
            _ => place.subnets.clone(),
        };
        let reason = match asked {
            Some(asked) => format!("the Service asks for floating IP {asked}, which is not there"),
            None => "no floating IP leads to the load balancer".to_owned(),
        };
        Planned::new(CloudStep::new(Action::CreateFloatingIp { new, subnets }), reason)
    }

    fn only_the_owner(&self) -> Reached {
        let problem = format!(
            "no floating IP leads to load balancer {}; {}",
            self.claim.there.balancer.id,
            self.owner_says()
        );
        Reached { problem: Some(problem), ..Reached::default() }
    }

    fn owner_says(&self) -> String {
        let (name, port) = (&self.claim.there.balancer.name, &self.claim.there.balancer.vip_port_id);
        if let Some(gone) = sharing::owner_is_gone(self.wanted, &self.claim.there.balancer) {
            return gone;
        }
        let sees_to_it = |heir: &&str| self.claim.joined() && !self.claim.is_own(heir);
        if let Some(heir) = self.claim.heir().filter(sees_to_it) {
            return format!("the Service that owned it is gone, and {heir} sees to that");
        }
        if name.starts_with(LOAD_BALANCER_PREFIX) {
            return format!("only the Service that owns it, {name}, can change that");
        }
        let port = port.as_ref().map_or("of its address", PortId::as_str);
        format!("it is not made by Kubernetes, so attach one to its port {port} by hand")
    }
}
