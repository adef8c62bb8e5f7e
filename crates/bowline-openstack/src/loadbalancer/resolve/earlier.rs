//! The address that an earlier load balancer of the Service had: clients of an internal Service still use it.
//!
//! It comes from the status of the Service, or from its annotation if the status shows host names only, and is a hint: what Octavia does not give again is given up.

use std::net::IpAddr;

use ipnet::IpNet;
use openstack_client::NetworkId;
use openstack_client::network::{Subnet, SubnetQuery};

use super::{Question, Resolver};
use crate::loadbalancer::intent::VipPlace;
use crate::loadbalancer::trouble::Trouble;
use crate::loadbalancer::wanted::Vip;

impl Resolver {
    /// The first address of the status that is in the subnet, or the network, of a new load balancer. None if the Service chooses an
    /// address or a port itself, or if the status shows a floating IP.
    pub(super) async fn earlier_address(
        &self,
        question: Question<'_>,
        vip: &Vip,
        external: bool,
    ) -> Result<Option<IpAddr>, Trouble> {
        let chosen =
            question.intent.vip_address.is_some() || matches!(question.intent.vip, VipPlace::Port(_));
        // A floating IP leads to IPv4 addresses only.
        let own = |address: &IpAddr| !external || address.is_ipv6();
        let ingress = question.service.status.ingress.iter().filter_map(|ingress| ingress.ip);
        let addresses: Vec<IpAddr> = ingress.chain(question.hinted).filter(own).collect();
        if chosen || addresses.is_empty() {
            return Ok(None);
        }
        let subnets = match (&vip.subnet, &vip.network) {
            (Some(subnet), _) => self.subnet(subnet).await?.into_iter().collect(),
            (None, Some(network)) => self.subnets_of(network).await?,
            (None, None) => Vec::new(),
        };
        let ranges: Vec<IpNet> = subnets.iter().filter_map(|subnet| subnet.cidr.parse().ok()).collect();
        Ok(addresses.into_iter().find(|address| ranges.iter().any(|range| range.contains(address))))
    }

    /// All subnets that the project can see and that contain an address, of whatever network.
    pub(in crate::loadbalancer) async fn subnets_with(
        &self,
        address: IpAddr,
    ) -> Result<Vec<Subnet>, Trouble> {
        let read = || async { Ok(Some(self.client.network().subnets(&SubnetQuery::default()).all().await?)) };
        let mut all = self.choices.get("every subnet".to_owned(), read).await?.unwrap_or_default();
        // A range that cannot be read may contain it.
        all.retain(|subnet| subnet.cidr.parse().map_or(true, |range: IpNet| range.contains(&address)));
        Ok(all)
    }

    pub(super) async fn subnets_of(&self, network: &NetworkId) -> Result<Vec<Subnet>, Trouble> {
        let query = SubnetQuery { network_id: Some(network.clone()), ..SubnetQuery::default() };
        let read = || async {
            let subnets: Vec<Subnet> = self.client.network().subnets(&query).all().await?;
            Ok(Some(subnets))
        };
        Ok(self.choices.get(format!("{network} all"), read).await?.unwrap_or_default())
    }
}
