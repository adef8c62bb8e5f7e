//! What is written on a Service as annotations: which load balancer it has, and where it is reached. Pure.

use bowline_cloud::Notes;

use super::annotations;
use super::found::Found;
use super::plan;
use super::wanted::Wanted;

/// The annotations of a Service whose load balancer is looked after. Of one that it only names nothing is noted: who is refused there
/// would take its address for his own later. Where the noted address is needed to find the floating IP of an earlier load balancer, it
/// stays until the new address is final.
#[must_use]
pub fn notes(wanted: &Wanted, found: &Found, is_hint_needed: bool) -> Notes {
    let Some(at) = found.balancer.as_ref().filter(|_at| plan::has(wanted, found)) else {
        return Notes::default();
    };
    let mut notes = Notes::default().with(annotations::LOAD_BALANCER_ID.key, at.balancer.id.as_str());
    // The VIP counts until the address is final: a Service with any address gets a new load balancer when the one that is noted is gone.
    let vip = at.balancer.vip_address.filter(|_vip| !is_hint_needed);
    if let Some(address) = plan::address(wanted, found).or(vip) {
        notes = notes.with(annotations::LOAD_BALANCER_ADDRESS.key, address.to_string());
    }
    notes
}

/// The annotations of a Service that has no load balancer any more: they go, so that it can have another one later.
#[must_use]
pub fn removed() -> Notes {
    let rows = [annotations::LOAD_BALANCER_ID, annotations::LOAD_BALANCER_ADDRESS];
    rows.into_iter().fold(Notes::default(), |notes, row| notes.without(row.key))
}
