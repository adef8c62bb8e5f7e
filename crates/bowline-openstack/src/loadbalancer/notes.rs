//! The annotations that are stored on a Service: the id and the address of its load balancer. Pure.

use bowline_cloud::Notes;

use super::annotations;
use super::found::Found;
use super::plan;
use super::wanted::Wanted;

/// The annotations for a Service that wants a load balancer. Nothing is stored about a load balancer that the Service only names and does
/// not use: its address would later look like an earlier address of this Service. If the stored address is needed to find the floating IP
/// of an earlier load balancer, it stays until the new address is final.
#[must_use]
pub fn notes(wanted: &Wanted, found: &Found, is_hint_needed: bool) -> Notes {
    let Some(at) = found.balancer.as_ref().filter(|_at| plan::has(wanted, found)) else {
        return Notes::default();
    };
    let mut notes = Notes::default().with(annotations::LOAD_BALANCER_ID.key, at.balancer.id.as_str());
    // The VIP is stored until the address is final: a Service with a stored address gets a new load balancer if the one in its annotation
    // is gone.
    let vip = at.balancer.vip_address.filter(|_vip| !is_hint_needed);
    if let Some(address) = plan::address(wanted, found).or(vip) {
        notes = notes.with(annotations::LOAD_BALANCER_ADDRESS.key, address.to_string());
    }
    notes
}

/// Removes the annotations of a Service without a load balancer, so that it can get another one later.
#[must_use]
pub fn removed() -> Notes {
    let rows = [annotations::LOAD_BALANCER_ID, annotations::LOAD_BALANCER_ADDRESS];
    rows.into_iter().fold(Notes::default(), |notes, row| notes.without(row.key))
}
