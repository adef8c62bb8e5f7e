//! What a load balancer in provisioning status ERROR may still be good for (safety rail SR-19). Pure.
//!
//! ERROR says that the last change failed, and nothing about traffic: a load balancer whose management network is down is in ERROR and
//! serves. Octavia's operating status says more, but not all: the health manager sets that of the load balancer to ERROR as soon as *one*
//! pool has no working member, and the OVN driver does so after a failed update. So all pools are looked at, too. Whatever is
//! not known counts as traffic.

use bowline_cloud::Traffic;
use openstack_client::load_balancer::{LoadBalancer, OperatingStatus, ProvisioningStatus};

use super::found::{Children, Found, FoundBalancer};

/// Whether Octavia reports it as broken.
pub(super) fn is_broken(balancer: &LoadBalancer) -> bool {
    balancer.provisioning_status == ProvisioningStatus::Error
}

/// Whether the load balancer alone, without its pools, shows that it is not to be replaced.
pub(super) fn is_kept(balancer: &LoadBalancer) -> bool {
    // Somebody disabled it on purpose; a new one would be enabled.
    !serves_nobody(&balancer.operating_status) || !balancer.admin_state_up
}

/// What is known of the traffic of a broken load balancer.
pub(super) fn traffic(there: &FoundBalancer, found: &Found) -> Traffic {
    if is_kept(&there.balancer) || !pools_serve_nobody(there) {
        return Traffic::Possible;
    }
    if found.is_published { Traffic::None } else { Traffic::Never }
}

/// Whether every pool of it was read and has no member that works.
fn pools_serve_nobody(there: &FoundBalancer) -> bool {
    let Children::Known(tree) = &there.children else { return false };
    // A list may have been cut short.
    let mut named = there.balancer.pools.iter();
    let all_read = named.all(|id| tree.pools.iter().any(|found| found.pool.id == *id));
    all_read && tree.pools.iter().all(|found| serves_nobody(&found.pool.operating_status))
}

/// `OFFLINE` is what was never heard of, or is disabled; `ERROR` what has no working member. `NO_MONITOR` says nothing about members,
/// and they are served; so are those that drain.
const fn serves_nobody(status: &OperatingStatus) -> bool {
    matches!(status, OperatingStatus::Offline | OperatingStatus::Error)
}
