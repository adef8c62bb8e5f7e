//! Whether a load balancer with provisioning status ERROR may still carry traffic (safety rail SR-19). Pure.
//!
//! ERROR means that the last change failed and says nothing about traffic: a load balancer whose management network is down is in ERROR and
//! still serves. Octavia's operating status is more precise, but not sufficient: the health manager sets that of the load balancer to ERROR
//! as soon as *one* pool has no working member, and the OVN driver does so after a failed update. So the status of every pool is checked,
//! too. Anything unknown counts as traffic.

use bowline_cloud::Traffic;
use openstack_client::load_balancer::{LoadBalancer, OperatingStatus, ProvisioningStatus};

use super::found::{Children, Found, FoundBalancer};

/// Whether Octavia reports the provisioning status ERROR.
pub(super) fn is_broken(balancer: &LoadBalancer) -> bool {
    balancer.provisioning_status == ProvisioningStatus::Error
}

/// Whether the status of the load balancer, without that of its pools, already forbids to replace it.
pub(super) fn is_kept(balancer: &LoadBalancer) -> bool {
    // A user or administrator disabled it on purpose; a new one would be enabled.
    !serves_nobody(&balancer.operating_status) || !balancer.admin_state_up
}

/// Whether a load balancer in ERROR may carry traffic, or ever carried any.
pub(super) fn traffic(there: &FoundBalancer, found: &Found) -> Traffic {
    if is_kept(&there.balancer) || !pools_serve_nobody(there) {
        return Traffic::Possible;
    }
    if found.is_published { Traffic::None } else { Traffic::Never }
}

/// Whether every pool was read and none has a working member.
fn pools_serve_nobody(there: &FoundBalancer) -> bool {
    let Children::Known(tree) = &there.children else { return false };
    // The list of pools may be truncated, so each listed pool must have been read.
    let mut named = there.balancer.pools.iter();
    let all_read = named.all(|id| tree.pools.iter().any(|found| found.pool.id == *id));
    all_read && tree.pools.iter().all(|found| serves_nobody(&found.pool.operating_status))
}

/// `OFFLINE` means never reported or disabled; `ERROR` means without a working member. `NO_MONITOR` says nothing about the members, which
/// get traffic; draining members do, too.
const fn serves_nobody(status: &OperatingStatus) -> bool {
    matches!(status, OperatingStatus::Offline | OperatingStatus::Error)
}
