//! Whether a forbidden class is in force for a Service that has a load balancer: compares what the Service asks for with the class and
//! without it. Pure.

use openstack_client::{NetworkId, SubnetId};

use super::Outcome;
use crate::config::LoadBalancerClass;
use crate::loadbalancer::intent::{Intent, MemberSubnet, VipPlace};
use crate::loadbalancer::unreadable::Serving;

/// Whether the subnet of the members may come from this class, so that [`outcome`] needs the members.
pub(super) fn may_say_subnet_of_members(class: &LoadBalancerClass) -> bool {
    !class.subnet_id.is_empty() || !class.member_subnet_id.is_empty()
}

/// What becomes of a forbidden class. [`Outcome::Kept`] only if the load balancer shows everything that the class changes; what the class
/// says about floating IPs counts when one is made, so nothing shows it.
#[must_use]
pub fn outcome(with: &Intent, without: &Intent, serving: Serving<'_>) -> Outcome {
    if !is_placed(&with.vip, &without.vip, serving) || !is_reached(with, without, serving) {
        Outcome::Withheld
    } else if with.floating == without.floating {
        Outcome::Kept
    } else {
        Outcome::Unsaid
    }
}

/// Whether the load balancer is in the subnet and in the network that come from the class.
fn is_placed(with: &VipPlace, without: &VipPlace, serving: Serving<'_>) -> bool {
    let ((subnet, network), (other_subnet, other_network)) = (parts(with), parts(without));
    (subnet == other_subnet || subnet == serving.balancer.vip_subnet_id.as_ref())
        && (network == other_network || network == serving.balancer.vip_network_id.as_ref())
}

fn parts(place: &VipPlace) -> (Option<&SubnetId>, Option<&NetworkId>) {
    match place {
        VipPlace::Given { subnet, network } => (subnet.as_ref(), network.as_ref()),
        VipPlace::Port(_) | VipPlace::OfNodes => (None, None),
    }
}

/// Whether the members are in the subnet that comes from the class. The subnet of the load balancer itself needs no member as a proof:
/// Octavia takes it for every member that names none.
fn is_reached(with: &Intent, without: &Intent, serving: Serving<'_>) -> bool {
    match &with.member_subnet {
        MemberSubnet::Given(subnet) => {
            with.member_subnet == without.member_subnet
                || serving.balancer.vip_subnet_id.as_ref() == Some(subnet)
                || serving.has_members_in(subnet.as_str())
        }
        // A class that names a network only; where that is, shows the load balancer.
        MemberSubnet::Unsaid | MemberSubnet::OfNodes => true,
    }
}
