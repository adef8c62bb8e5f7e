//! The word by which the next leader knows that a wish is fulfilled: the fingerprint of the wish on the load balancer as it is, and
//! when a person last asked for a look. Pure.

use bowline_cloud::{LoadBalancerRequest, RESYNC_AT, ServiceView, Text};
use openstack_client::load_balancer::LoadBalancer;

use super::wanted::Wanted;

/// Between the fingerprint and the time of the look that a person asked for.
const ASKED_AT: char = '@';

/// The word for a wish that is fulfilled.
pub(super) fn of(wanted: &Wanted, on: &LoadBalancer, service: &ServiceView) -> Option<Text> {
    let fingerprint = wanted.fingerprint(on)?;
    Some(match asked_at(service) {
        Some(at) => format!("{fingerprint}{ASKED_AT}{at}").into(),
        None => fingerprint.into(),
    })
}

/// The fingerprints that a request brings, but for those from before a person asked for a look.
pub(super) fn brought_by(request: &LoadBalancerRequest) -> Vec<&str> {
    let asked = asked_at(&request.service);
    let words = request.fingerprints.iter().map(|word| match word.split_once(ASKED_AT) {
        Some((fingerprint, at)) => (fingerprint, Some(at)),
        None => (word.as_str(), None),
    });
    words.filter(|(_fingerprint, at)| *at == asked).map(|(fingerprint, _at)| fingerprint).collect()
}

fn asked_at(service: &ServiceView) -> Option<&str> {
    service.annotations.get(RESYNC_AT)
}
