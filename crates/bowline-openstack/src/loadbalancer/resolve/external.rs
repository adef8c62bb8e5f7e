//! Where a floating IP comes from: the external network, and the subnets to try.

use openstack_client::network::{NetworkQuery, Subnet, SubnetQuery, TagFilter, VirtualNetwork};
use openstack_client::{NetworkId, SubnetId};

use super::Resolver;
use crate::loadbalancer::intent::{Floating, FloatingSubnet, Notice};
use crate::loadbalancer::trouble::Trouble;
use crate::loadbalancer::wanted::FloatingPlace;

impl Resolver {
    /// Where a floating IP comes from, and what its owner should know of the search.
    pub(super) async fn floating_place(
        &self,
        wish: &Floating,
    ) -> Result<(Option<FloatingPlace>, Vec<Notice>), Trouble> {
        let network = match &wish.network {
            Some(network) => network.clone(),
            None => match self.external_network().await? {
                Some(network) => network,
                None => {
                    let message = "no external network with an IPv4 subnet was found for a floating IP; set \
                                   floating-network-id in cloud.conf or as annotation"
                        .to_owned();
                    let reason = "LoadBalancerExternalNetworkSearchFailed";
                    return Ok((None, vec![Notice { reason, message }]));
                }
            },
        };
        let subnets = match &wish.subnet {
            FloatingSubnet::Any => Vec::new(),
            FloatingSubnet::Id(id) => vec![self.subnet_of_network(id, &network).await?],
            // An address is in one subnet, whatever the pattern says.
            FloatingSubnet::Matching { .. } if wish.address.is_some() => Vec::new(),
            FloatingSubnet::Matching { name, tags } => {
                let all = self.choice(&network, tags.clone().unwrap_or_default()).await?;
                let fits = |subnet: &&Subnet| name.as_ref().is_none_or(|name| name.fits(&subnet.name));
                let fitting: Vec<SubnetId> =
                    all.iter().filter(fits).map(|subnet| subnet.id.clone()).collect();
                if fitting.is_empty() {
                    return Err(Trouble::refused(format!(
                        "no subnet of external network {network} fits floating-subnet and floating-subnet-tags; correct the \
                         annotations or cloud.conf"
                    )));
                }
                fitting
            }
        };
        Ok((Some(FloatingPlace { network, subnets }), Vec::new()))
    }

    async fn subnet_of_network(&self, id: &SubnetId, network: &NetworkId) -> Result<SubnetId, Trouble> {
        match self.subnet(id).await? {
            Some(subnet) if subnet.network_id == *network => Ok(id.clone()),
            Some(subnet) => Err(Trouble::refused(format!(
                "floating-subnet-id is {id}, which belongs to network {}; accepted: a subnet of the external network {network}",
                subnet.network_id
            ))),
            None => Err(Trouble::refused(format!(
                "floating-subnet-id is {id}, which is not there or cannot be seen; accepted: a subnet of the external network \
                 {network}"
            ))),
        }
    }

    async fn choice(&self, network: &NetworkId, tags: TagFilter) -> Result<Vec<Subnet>, Trouble> {
        let key = format!("{network} {tags:?}");
        let query = SubnetQuery { network_id: Some(network.clone()), tags, ..SubnetQuery::default() };
        let read = || async {
            let subnets = self.client.network().subnets(&query).all().await?;
            Ok(Some(subnets).filter(|subnets| !subnets.is_empty()))
        };
        Ok(self.choices.get(key, read).await?.unwrap_or_default())
    }

    /// The first external network with a subnet of IPv4, or with one that we cannot see.
    async fn external_network(&self) -> Result<Option<NetworkId>, Trouble> {
        let read = || async {
            let query = NetworkQuery { external: Some(true), ..NetworkQuery::default() };
            let networks = self.client.network().networks(&query).all().await?;
            for network in networks.into_iter().filter(|network| !network.subnets.is_empty()) {
                if self.may_have_ipv4(&network).await? {
                    return Ok(Some(Some(network.id)));
                }
            }
            Ok(None)
        };
        Ok(self.external.get((), read).await?.flatten())
    }

    async fn may_have_ipv4(&self, network: &VirtualNetwork) -> Result<bool, Trouble> {
        let listed = self.choice(&network.id, TagFilter::default()).await?;
        let fits = |id: &SubnetId| {
            let seen = listed.iter().find(|subnet| subnet.id == *id);
            seen.is_none_or(|subnet| subnet.ip_version == 4)
        };
        Ok(network.subnets.iter().any(fits))
    }
}
