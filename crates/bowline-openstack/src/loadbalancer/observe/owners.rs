//! Which floating IPs belong to other Services: by their description, and by the status of the Services that are reached at them.

use std::net::IpAddr;

use bowline_cloud::ServiceView;
use openstack_client::load_balancer::LoadBalancer;
use openstack_client::network::{FloatingIp, FloatingIpQuery};

use super::find::At;
use super::{Run, Wish, noted_address};
use crate::loadbalancer::balancers::Balancers;
use crate::loadbalancer::found::OfOther;
use crate::loadbalancer::intent::VipPlace;
use crate::loadbalancer::memory::Relation;
use crate::loadbalancer::names::{FloatingIpOwner, Names};
use crate::loadbalancer::trouble::Trouble;

impl Balancers {
    /// The floating IPs of other Services on the port of a load balancer, or on the port that the Service names for a new one.
    pub(super) async fn of_others(
        &self,
        run: &Run<'_>,
        at: &At,
        attached: &[FloatingIp],
    ) -> Result<Vec<OfOther>, Trouble> {
        let names = run.names();
        let on_port = match (&run.wish, &at.balancer) {
            (_, Some(there)) if !is_own(names, &there.balancer) => return Ok(Vec::new()),
            (_, Some(_)) => {
                let is_foreign = |one: &&FloatingIp| !names.describes_own_floating_ip(&one.description);
                attached.iter().filter(is_foreign).cloned().collect()
            }
            (Wish::Ensure(intent), None) => match &intent.vip {
                VipPlace::Port(port) => self.floating_by(FloatingIpQuery::of_port(port.clone())).await?,
                VipPlace::Given { .. } | VipPlace::OfNodes => Vec::new(),
            },
            (Wish::Remove(_), None) => Vec::new(),
        };
        let of_other = |floating: FloatingIp| {
            let why = self.owner(run, names, &floating)?;
            Some(OfOther { floating, why })
        };
        Ok(on_port.into_iter().filter_map(of_other).collect())
    }

    /// What a load balancer is to a Service, by what users cannot write: its name and its tags. None for one that the Service only names
    /// with `load-balancer-id`, and for one of another cluster's Service of the same name.
    pub(super) fn relation(&self, run: &Run<'_>, balancer: &LoadBalancer) -> Option<Relation> {
        let (names, ownership) = (run.names(), self.ownership(&run.request.service));
        let has_uid = ownership.is_of_service(&balancer.tags);
        let is_ours = has_uid || ownership.foreign_cluster(&balancer.tags).is_none();
        let shares = has_uid || balancer.tags.contains(&names.tag());
        match (is_ours, is_own(names, balancer)) {
            (true, true) => Some(Relation::Owns),
            (true, false) if shares => Some(Relation::Shares),
            _ => None,
        }
    }

    /// Why a floating IP belongs to another Service that may still exist; the words follow its address and id.
    pub(super) fn owner(&self, run: &Run<'_>, names: &Names, floating: &FloatingIp) -> Option<String> {
        described_owner(run, names, floating).or_else(|| self.shown_owner(run, floating))
    }

    /// The Service that is reached at a floating IP, also one that an administrator made. A Service that shows host names only is known by what this
    /// process saw. If the Service itself shows the address as well, both were on one load balancer.
    fn shown_owner(&self, run: &Run<'_>, floating: &FloatingIp) -> Option<String> {
        let (service, address) = (&run.request.service, floating.floating_ip_address);
        if shows(service, address) {
            return None;
        }
        let has_led = |other: &ServiceView| {
            shows_names(other)
                && noted_address(other) == Some(address)
                && self.memory.has_led(&other.uid, &floating.id)
        };
        let uses =
            |other: &ServiceView| is_other(other, service) && (shows(other, address) || has_led(other));
        run.request.services.find(&uses).map(|other| is_address_of(&other))
    }
}

/// Why a floating IP belongs to another Service by its description, if that Service may still exist. Whether a Service of another
/// cluster exists is not known here.
fn described_owner(run: &Run<'_>, names: &Names, floating: &FloatingIp) -> Option<String> {
    let FloatingIpOwner { namespace, name, other_cluster } = names.other_owner(&floating.description)?;
    let owner = match other_cluster {
        Some(cluster) => format!("Service {namespace}/{name} of cluster {cluster:?}"),
        None if run.request.services.may_have(namespace, name) => {
            format!("Service {namespace}/{name}, which still exists")
        }
        None => return None,
    };
    // The Service has had it since the other one gave it up, and the other one is reached elsewhere.
    let address = floating.floating_ip_address;
    let may_claim = |other: &ServiceView| {
        let is_owner = *other.namespace == *namespace && *other.name == *name;
        is_owner && (shows(other, address) || shows_names(other))
    };
    let is_given_up = other_cluster.is_none()
        && shows(&run.request.service, address)
        && run.request.services.find(&may_claim).is_none();
    (!is_given_up).then(|| {
        format!(
            "was allocated for {owner}; request another address, or let an administrator change the description of the floating IP if \
             it is free to use"
        )
    })
}

/// Why an address cannot be had that another Service shows; the words follow the address.
pub(super) fn is_address_of(other: &ServiceView) -> String {
    let (namespace, name) = (&other.namespace, &other.name);
    format!(
        "is the address of Service {namespace}/{name}, which still exists; request another address, or delete that Service first"
    )
}

/// Whether it is another Service, by its name.
pub(super) fn is_other(other: &ServiceView, service: &ServiceView) -> bool {
    other.namespace != service.namespace || other.name != service.name
}

/// Whether the status of a Service shows an address. Users of a namespace cannot write it.
pub(super) fn shows(service: &ServiceView, address: IpAddr) -> bool {
    service.status.ingress.iter().any(|ingress| ingress.ip == Some(address))
}

/// Whether the status of a Service shows host names.
fn shows_names(service: &ServiceView) -> bool {
    service.status.ingress.iter().any(|ingress| ingress.hostname.is_some())
}

/// Whether a load balancer was made for this Service. On one that it shares, the floating IP is the owner's.
pub(super) fn is_own(names: &Names, balancer: &LoadBalancer) -> bool {
    balancer.name == names.load_balancer() || balancer.name == names.legacy_load_balancer()
}
