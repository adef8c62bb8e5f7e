//! Which floating IPs belong to other Services: by their description, and by the status of the Services that are reached at them.

use std::net::IpAddr;

use bowline_cloud::ServiceView;
use openstack_client::LoadBalancerId;
use openstack_client::load_balancer::{LoadBalancer, LoadBalancerQuery};
use openstack_client::network::{FloatingIp, FloatingIpQuery};

use super::find::At;
use super::{Run, Wish, noted_address};
use crate::loadbalancer::balancers::Balancers;
use crate::loadbalancer::found::OfOther;
use crate::loadbalancer::intent::VipPlace;
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

    /// The load balancer at the port that a Service names for its own, unless it is the Service's: one port cannot lead to both.
    pub(super) async fn port_user(&self, run: &Run<'_>, at: &At) -> Result<Option<LoadBalancerId>, Trouble> {
        let (Wish::Ensure(intent), None) = (&run.wish, &at.balancer) else { return Ok(None) };
        let VipPlace::Port(port) = &intent.vip else { return Ok(None) };
        let query = LoadBalancerQuery {
            vip_port_id: Some(port.clone()),
            project_id: Some(self.project().await?),
            ..LoadBalancerQuery::default()
        };
        let there = self.client.load_balancer().load_balancers(&query).all().await?;
        Ok(there.into_iter().find(|there| !is_own(run.names(), there)).map(|there| there.id))
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
        let uses = |other: &ServiceView| {
            let is_other = other.namespace != service.namespace || other.name != service.name;
            is_other && (shows(other, address) || has_led(other))
        };
        let other = run.request.services.find(&uses)?;
        Some(format!(
            "is the address of Service {}/{}, which still exists; request another address, or delete that Service first",
            other.namespace, other.name
        ))
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

/// Whether the status of a Service shows an address. Users of a namespace cannot write it.
pub(super) fn shows(service: &ServiceView, address: IpAddr) -> bool {
    service.status.ingress.iter().any(|ingress| ingress.ip == Some(address))
}

/// Whether the status of a Service shows host names.
fn shows_names(service: &ServiceView) -> bool {
    service.status.ingress.iter().any(|ingress| ingress.hostname.is_some())
}

/// Whether a load balancer was made for this Service. On one that it shares, the floating IP is the owner's.
fn is_own(names: &Names, balancer: &LoadBalancer) -> bool {
    balancer.name == names.load_balancer() || balancer.name == names.legacy_load_balancer()
}
