//! Who holds the Lease, by our own watching of it. The clocks of others are never compared.

use super::decision::Case;
use super::observed::{LeaseFacts, ManagerWorkload};

/// The Lease of leader migration, by which kube-controller-manager may still hold some controllers.
const EXTRACTION: &str = "cloud-provider-extraction-migration";

/// The Lease that ours is told to hold.
pub(super) fn lease<'a>(case: &Case<'a>) -> Option<&'a LeaseFacts> {
    case.observed.lease(&case.spec.lease_namespace, &case.spec.lease_name)
}

/// Whether our manager holds the Lease: somebody renews it before our eyes, and it can be nobody else.
pub(super) fn is_ours(case: &Case<'_>) -> bool {
    let (Some(lease), Some(ours)) = (lease(case), &case.observed.ours) else { return false };
    if !lease.is_alive() {
        return false;
    }
    let holder = lease.holder.as_deref().unwrap_or_default();
    let says_so =
        case.observed.shadow.as_ref().is_some_and(|report| report.leader && report.holder == holder);
    says_so || (ours.may_be(Some(holder)) && !is_perhaps_of_others(case, holder))
}

/// Whether somebody renews the Lease before our eyes who cannot be ours.
pub(super) fn is_theirs(case: &Case<'_>) -> bool {
    let Some(lease) = lease(case).filter(|lease| lease.is_alive()) else { return false };
    let may_be = case.observed.ours.as_ref().is_some_and(|ours| ours.may_be(lease.holder.as_deref()));
    !may_be && !is_ours(case)
}

/// Whether a pod of another manager has that name, or runs on the node of that name.
fn is_perhaps_of_others(case: &Case<'_>, holder: &str) -> bool {
    let name = holder.rsplit_once('_').map_or(holder, |(name, _)| name);
    let mut pods = case.observed.managers.iter().flat_map(ManagerWorkload::live);
    pods.any(|pod| pod.name == name || pod.node.as_deref() == Some(name))
}

/// Why the fence does not stand yet; `None` when it does. Whoever held the Lease before can act no more, and leader migration
/// holds nothing for kube-controller-manager.
pub(super) fn missing(case: &Case<'_>) -> Option<String> {
    let extraction = case.observed.leases.iter().find(|lease| lease.name == EXTRACTION && !lease.is_over());
    if let Some(lease) = extraction {
        let holder = lease.holder.as_deref().unwrap_or_default();
        return Some(format!(
            "Lease {} is still held by {holder}; remove --enable-leader-migration from kube-controller-manager",
            lease.key()
        ));
    }
    if is_ours(case) {
        return None;
    }
    let key = format!("{}/{}", case.spec.lease_namespace, case.spec.lease_name);
    Some(match lease(case) {
        None => format!("our manager has not made Lease {key} yet"),
        Some(lease) if lease.is_over() => format!("Lease {key} is free; our manager has not taken it yet"),
        Some(lease) => {
            let holder = lease.holder.as_deref().unwrap_or_default();
            let left = lease.duration.saturating_sub(lease.unchanged_for).as_secs();
            format!("Lease {key} was held by {holder}; it is over in {left} s if nobody renews it")
        }
    })
}
