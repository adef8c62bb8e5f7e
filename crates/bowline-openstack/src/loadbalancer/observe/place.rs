//! Whether the address or the port that a Service chooses for a new load balancer belongs to something else. Octavia refuses what another
//! load balancer has at that moment; this file is about load balancers that are being replaced, and about ports of machines.
//!
//! Nothing is decided here.

use std::net::IpAddr;

use bowline_cloud::ServiceView;
use openstack_client::PortId;
use openstack_client::load_balancer::LoadBalancerQuery;
use openstack_client::network::Port;

use super::find::At;
use super::owners::{is_address_of, is_other, is_own, shows};
use super::{Run, Wish};
use crate::loadbalancer::annotations::PORT_ID;
use crate::loadbalancer::balancers::Balancers;
use crate::loadbalancer::intent::VipPlace;
use crate::loadbalancer::names::Names;
use crate::loadbalancer::trouble::Trouble;

/// The `device_owner` of ports that are for load balancers: empty on one that a person created; then Octavia's own, that of its OVN
/// provider, and that of Neutron's former load balancers.
const FOR_LOAD_BALANCERS: [&str; 4] = ["", "Octavia", "ovn-lb:vip", "neutron:LOADBALANCERV2"];

impl Balancers {
    /// Why the place that a Service chooses for a new load balancer cannot be had. None if it has one, or chooses no place.
    pub(super) async fn place_taken(&self, run: &Run<'_>, at: &At) -> Result<Option<String>, Trouble> {
        let (Wish::Ensure(intent), None) = (&run.wish, &at.balancer) else { return Ok(None) };
        if let Some(address) = intent.vip_address
            && let Some(why) = self.reserved(run, address).await?
        {
            return Ok(Some(format!("address {address} {why}")));
        }
        match &intent.vip {
            VipPlace::Port(port) => self.port_taken(run, port).await,
            VipPlace::Given { .. } | VipPlace::OfNodes => Ok(None),
        }
    }

    /// Why a port cannot be used. The reason contains no id or address of another object: a user who names a port must learn nothing about it.
    async fn port_taken(&self, run: &Run<'_>, id: &PortId) -> Result<Option<String>, Trouble> {
        let query = LoadBalancerQuery {
            vip_port_id: Some(id.clone()),
            project_id: Some(self.project().await?),
            ..LoadBalancerQuery::default()
        };
        let there = self.client.load_balancer().load_balancers(&query).all().await?;
        if there.iter().any(|there| !is_own(run.names(), there)) {
            return Ok(Some(format!("port {id} is used by another load balancer; use another port")));
        }
        let port = match self.client.network().port(id).await {
            Ok(port) => port,
            // Not left to Octavia: Neutron's answer may be wrong, and the port that of a machine.
            Err(error) if error.is_not_found() => {
                let key = PORT_ID.key;
                return Ok(Some(format!(
                    "Neutron shows this project no port {id}; correct annotation {key}"
                )));
            }
            Err(error) => return Err(error.into()),
        };
        if !is_for_load_balancers(&port) {
            return Ok(Some(format!(
                "port {id} belongs to a machine or a router; use a port that belongs to nothing"
            )));
        }
        for fixed in port.fixed_ips {
            if let Some(why) = self.reserved(run, fixed.ip_address).await? {
                return Ok(Some(format!("the address of port {id} {why}")));
            }
        }
        Ok(None)
    }

    /// Why the VIP of a new load balancer belongs to another Service: its status, which users cannot write, shows the address. Where several
    /// subnets have the address, it may be in another one than that of the other Services; while all of them have their load balancers,
    /// Octavia tells them apart.
    async fn reserved(&self, run: &Run<'_>, address: IpAddr) -> Result<Option<String>, Trouble> {
        let service = &run.request.service;
        if shows(service, address) {
            return Ok(None);
        }
        let find = |fits: &dyn Fn(&ServiceView) -> bool| {
            run.request
                .services
                .find(&|other| is_other(other, service) && shows(other, address) && fits(other))
        };
        let Some(other) = find(&|_other| true) else { return Ok(None) };
        if self.resolver.subnets_with(address).await?.len() <= 1 {
            return Ok(Some(is_address_of(&other)));
        }
        let all = self.every_balancer(&self.project().await?).await?;
        let is_away = |other: &ServiceView| {
            let name = Names::of(&run.request.cluster, other).load_balancer();
            !all.iter().any(|there| there.name == name && there.vip_address == Some(address))
        };
        Ok(find(&is_away).map(|other| is_address_of(&other)))
    }
}

fn is_for_load_balancers(port: &Port) -> bool {
    FOR_LOAD_BALANCERS.contains(&port.device_owner.as_str())
}
