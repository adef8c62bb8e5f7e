//! The networks behind a router, and the ports in them that have the next hops. Ports are found many at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use openstack_client::network::{Port, PortQuery};
use openstack_client::{Client, Error, NetworkId, RouterId, SubnetId};
use tokio::sync::Mutex;

/// So many addresses are asked for in one call: the line of the request stays below half of what servers take.
const ADDRESSES: usize = 50;

/// More addresses than this are found faster in a list of all ports of their network.
const FEW: usize = 200;

/// As many as services usually give at once.
const PAGE_SIZE: u32 = 1000;

/// The ports that have addresses which are next hops.
pub(super) type PortsByAddress = BTreeMap<IpAddr, Port>;

/// Where the next hops of a router are.
#[derive(Debug)]
pub(super) struct Interfaces {
    router: RouterId,
    known: Mutex<Option<Behind>>,
}

/// What is behind a router.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Behind {
    networks: BTreeSet<NetworkId>,
    subnets: BTreeSet<SubnetId>,
}

impl Interfaces {
    pub(super) fn new(router: RouterId) -> Self {
        Self { router, known: Mutex::new(None) }
    }

    /// The ports with these addresses. An address is unique among the subnets of a router; other subnets of their networks
    /// do not count.
    pub(super) async fn ports(
        &self,
        client: &Client,
        hops: &BTreeSet<IpAddr>,
    ) -> Result<PortsByAddress, Error> {
        let mut known = self.known.lock().await;
        let (behind, is_new) = match known.as_ref() {
            Some(behind) => (behind.clone(), false),
            None => (self.read(client).await?, true),
        };
        *known = Some(behind.clone());
        let mut found = find(client, &behind, hops).await?;
        let missing: BTreeSet<IpAddr> = hops.iter().filter(|hop| !found.contains_key(hop)).copied().collect();
        if missing.is_empty() || is_new {
            return Ok(found);
        }
        // The router may have got another interface.
        let newer = self.read(client).await?;
        *known = Some(newer.clone());
        if newer != behind {
            found.extend(find(client, &newer, &missing).await?);
        }
        Ok(found)
    }

    async fn read(&self, client: &Client) -> Result<Behind, Error> {
        let query = PortQuery::of_device(self.router.as_str());
        let mut behind = Behind::default();
        for port in client.network().ports(&query).all().await? {
            behind.networks.insert(port.network_id);
            behind.subnets.extend(port.fixed_ips.into_iter().map(|fixed| fixed.subnet_id));
        }
        Ok(behind)
    }
}

async fn find(client: &Client, behind: &Behind, hops: &BTreeSet<IpAddr>) -> Result<PortsByAddress, Error> {
    let addresses: Vec<IpAddr> = hops.iter().copied().collect();
    let mut found = PortsByAddress::new();
    for network in &behind.networks {
        let whole = PortQuery { network_id: Some(network.clone()), ..PortQuery::default() };
        let queries: Vec<PortQuery> = match addresses.len() {
            0..=FEW => addresses
                .chunks(ADDRESSES)
                .map(|chunk| PortQuery { any_address: chunk.to_vec(), ..whole.clone() })
                .collect(),
            _ => vec![whole],
        };
        for query in queries {
            let mut pages = client.network().ports(&query).of(PAGE_SIZE);
            while let Some(page) = pages.next_page().await? {
                take(&mut found, behind, hops, page);
            }
        }
    }
    Ok(found)
}

fn take(found: &mut PortsByAddress, behind: &Behind, hops: &BTreeSet<IpAddr>, page: Vec<Port>) {
    for port in page {
        let behind = port.fixed_ips.iter().filter(|fixed| behind.subnets.contains(&fixed.subnet_id));
        for hop in behind.map(|fixed| fixed.ip_address).filter(|address| hops.contains(address)) {
            found.insert(hop, port.clone());
        }
    }
}
