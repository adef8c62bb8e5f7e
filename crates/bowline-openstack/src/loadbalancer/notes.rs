//! What is written on a Service as annotations: which load balancer it has, and where it is reached. Pure.

use std::net::IpAddr;

use bowline_cloud::Notes;

use super::annotations;
use super::found::Found;
use super::plan;
use super::wanted::{Wanted, WantedAddress};

/// The annotations of a Service whose load balancer is looked after. Of one that it only names nothing is noted: who is refused there
/// would take its address for his own later.
#[must_use]
pub fn notes(wanted: &Wanted, found: &Found) -> Notes {
    let Some(at) = found.balancer.as_ref().filter(|_at| plan::has(wanted, found)) else {
        return Notes::default();
    };
    let mut notes = Notes::default().with(annotations::LOAD_BALANCER_ID.key, at.balancer.id.as_str());
    if let Some(address) = reached_at(wanted, found) {
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

/// The address by which the Service is reached, as far as there is one yet.
fn reached_at(wanted: &Wanted, found: &Found) -> Option<IpAddr> {
    let own = found.balancer.as_ref()?.balancer.vip_address;
    let floating = found.floating.attached.first().map(|floating| floating.floating_ip_address);
    match &wanted.address {
        WantedAddress::Own { .. } => own,
        WantedAddress::Floating { .. } => floating.or(own),
    }
}
