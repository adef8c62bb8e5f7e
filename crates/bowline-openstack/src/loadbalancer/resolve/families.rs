//! The second address of a Service of two IP families: a subnet of the other family in the network of the first.

use bowline_cloud::{IpFamily, IpFamilyPolicy, Refusal, ServiceView};
use openstack_client::{NetworkId, SubnetId};

use super::{Question, Resolver};
use crate::loadbalancer::intent::Notice;
use crate::loadbalancer::trouble::Trouble;
use crate::loadbalancer::wanted::Vip;

impl Resolver {
    /// The subnets of further addresses of a new load balancer, and what the owner should know if there is none.
    pub(super) async fn second_family(
        &self,
        question: Question<'_>,
        vip: &Vip,
    ) -> Result<(Vec<SubnetId>, Option<Notice>), Trouble> {
        let Some(second) = second(question.service) else { return Ok((Vec::new(), None)) };
        let why = if !question.features.additional_vips {
            "this cloud's Octavia has no load balancers of two families before version 2.26".to_owned()
        } else {
            let network = self.network_of(vip).await?;
            match self.subnet_of_family(&network, second).await? {
                Some(subnet) => return Ok((vec![subnet], None)),
                None => format!("network {network} has no {second} subnet"),
            }
        };
        if question.service.ip_family_policy == Some(IpFamilyPolicy::RequireDualStack) {
            let problem = format!(
                "spec.ipFamilyPolicy is RequireDualStack, but {why}; use PreferDualStack, or another network"
            );
            return Err(Trouble::Refused(Refusal { problems: vec![problem] }));
        }
        let message = format!("the load balancer has no {second} address: {why}");
        Ok((Vec::new(), Some(Notice { reason: "LoadBalancerSingleFamily", message })))
    }

    async fn network_of(&self, vip: &Vip) -> Result<NetworkId, Trouble> {
        if let Some(network) = &vip.network {
            return Ok(network.clone());
        }
        if let Some(subnet) = &vip.subnet {
            let found = self.subnet(subnet).await?;
            return found.map(|subnet| subnet.network_id).ok_or_else(|| {
                Trouble::refused(format!(
                    "subnet {subnet} of the load balancer is not there; correct subnet-id"
                ))
            });
        }
        let Some(port) = &vip.port else {
            return Err(Trouble::refused("the network of the load balancer is not known; set subnet-id"));
        };
        match self.client.network().port(port).await {
            Ok(port) => Ok(port.network_id),
            Err(error) if error.is_not_found() => Err(Trouble::refused(format!(
                "port {port} of the load balancer is not there; correct port-id"
            ))),
            Err(error) => Err(error.into()),
        }
    }

    async fn subnet_of_family(
        &self,
        network: &NetworkId,
        family: IpFamily,
    ) -> Result<Option<SubnetId>, Trouble> {
        let version = if family == IpFamily::V6 { 6 } else { 4 };
        let subnets = self.subnets_of(network).await?;
        Ok(subnets.into_iter().find(|subnet| subnet.ip_version == version).map(|subnet| subnet.id))
    }
}

/// The second family that a Service asks for.
fn second(service: &ServiceView) -> Option<IpFamily> {
    let asks = matches!(
        service.ip_family_policy,
        Some(IpFamilyPolicy::RequireDualStack | IpFamilyPolicy::PreferDualStack)
    );
    let first = service.ip_families.first()?;
    let second = service.ip_families.get(1).filter(|second| *second != first)?;
    asks.then_some(*second)
}
