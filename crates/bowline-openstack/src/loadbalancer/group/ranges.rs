//! The ranges of subnets. They are kept: a subnet never changes its range, and its id never comes back.

use std::collections::{BTreeMap, BTreeSet};

use ipnet::IpNet;
use openstack_client::SubnetId;
use openstack_client::network::Network;
use tokio::sync::Mutex;

use super::GroupError;

/// No cluster has Nodes in more subnets; whoever has begins anew rather than grow for ever.
const KEPT_AT_MOST: usize = 1000;

/// The ranges of subnets that were asked for so far.
#[derive(Debug, Default)]
pub struct SubnetRanges {
    known: Mutex<BTreeMap<SubnetId, IpNet>>,
}

impl SubnetRanges {
    /// The ranges of these subnets; only those that are not known yet are read.
    ///
    /// # Errors
    ///
    /// [`GroupError`] when one cannot be had.
    pub async fn of(
        &self,
        network: &Network,
        subnets: &BTreeSet<SubnetId>,
    ) -> Result<BTreeMap<SubnetId, IpNet>, GroupError> {
        let mut known = self.known.lock().await;
        if known.len() > KEPT_AT_MOST {
            known.clear();
        }
        let mut ranges = BTreeMap::new();
        for id in subnets {
            let range = match known.get(id) {
                Some(range) => *range,
                None => read(network, id).await?,
            };
            known.insert(id.clone(), range);
            ranges.insert(id.clone(), range);
        }
        Ok(ranges)
    }
}

async fn read(network: &Network, id: &SubnetId) -> Result<IpNet, GroupError> {
    let no_range = |why: String| GroupError::NoRange { subnet: id.clone(), why };
    let subnet = match network.subnet(id).await {
        Ok(subnet) => subnet,
        Err(error) if error.is_not_found() => return Err(no_range(error.to_string())),
        Err(error) => return Err(error.into()),
    };
    subnet.cidr.parse().map_err(|_| no_range(format!("its cidr is {:?}", subnet.cidr)))
}
