//! Whether the VIP of a load balancer proves whose it is. A user can choose the VIP of an internal Service, so where two networks have the
//! same range of addresses, the VIP in the status of a Service may be that of a load balancer in the other network.
//!
//! Subnets are listed only where nothing else tells whose the load balancer is. Nothing is decided here.

use openstack_client::load_balancer::LoadBalancer;

use super::{Run, Wish, known_address};
use crate::loadbalancer::balancers::Balancers;
use crate::loadbalancer::names::Names;
use crate::loadbalancer::ownership::Ownership;
use crate::loadbalancer::trouble::Trouble;

impl Balancers {
    /// Whether the status shows the VIP of this load balancer and no other subnet has that address; see [`Found::is_vip_unique`].
    ///
    /// [`Found::is_vip_unique`]: crate::loadbalancer::found::Found::is_vip_unique
    pub(super) async fn is_vip_unique(
        &self,
        run: &Run<'_>,
        balancer: Option<&LoadBalancer>,
    ) -> Result<bool, Trouble> {
        let known = known_address(&run.request.service);
        let shown = balancer.and_then(|one| Some((one, one.vip_address.filter(|vip| Some(*vip) == known)?)));
        let names = match &run.wish {
            Wish::Ensure(intent) => &intent.names,
            Wish::Remove(removal) => &removal.names,
        };
        let Some((balancer, vip)) = shown else { return Ok(false) };
        if !needs_proof(names, &self.ownership(&run.request.service), balancer) {
            return Ok(false);
        }
        let subnets = self.resolver.subnets_with(vip).await?;
        let is_there = |id| balancer.vip_subnet_id.as_ref().is_none_or(|there| there == id);
        Ok(matches!(subnets.as_slice(), [only] if is_there(&only.id)))
    }
}

/// Whether the name or the tag of the Service is on a load balancer and may be there because of another Service.
fn needs_proof(names: &Names, ownership: &Ownership, balancer: &LoadBalancer) -> bool {
    let (own, tags) = (names.load_balancer(), &balancer.tags);
    let is_alike = balancer.name == own || tags.contains(&own);
    let is_ambiguous = names.is_cut() || ownership.foreign_cluster(tags).is_some();
    names.is_of_other_cluster(&balancer.name) || (is_alike && is_ambiguous && !ownership.is_of_service(tags))
}
