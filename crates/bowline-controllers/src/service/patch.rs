//! What is written to a Service, as data: the finalizer, and the status. Pure.
//!
//! Everything goes through the status subresource, as upstream does it, so that the right to patch Services themselves is
//! not needed. No patch here can take away what somebody else added since we looked.

use bowline_cloud::{Ingress, IpMode, LoadBalancerStatus, ServiceView};
use bowline_kube::write::Change;
use serde_json::json;

use super::desire::{FINALIZER, has_finalizer};

/// Adds our finalizer. The server merges it into the list it has, so that nobody else's is lost.
#[must_use]
pub fn add_finalizer() -> Change {
    Change::Strategic(json!({"metadata": {"finalizers": [FINALIZER]}}))
}

/// Lets the Service go: takes our finalizer off and clears the status, in one write. Empty if neither is there.
///
/// It tests for the finalizers that were seen: if somebody added one since, it is a conflict, and we look again.
#[must_use]
pub fn release(service: &ServiceView) -> Change {
    let mut operations = Vec::new();
    if has_finalizer(service) {
        let path = "/metadata/finalizers";
        let others: Vec<_> = service.finalizers.iter().filter(|name| *name != FINALIZER).collect();
        operations.push(json!({"op": "test", "path": path, "value": service.finalizers}));
        operations.push(json!({"op": "replace", "path": path, "value": others}));
    }
    if !service.status.ingress.is_empty() {
        operations.push(json!({"op": "add", "path": "/status/loadBalancer", "value": {}}));
    }
    Change::Json(operations)
}

/// Writes the status, if it is another than the one that is there.
#[must_use]
pub fn status(service: &ServiceView, wanted: &LoadBalancerStatus) -> Change {
    if same_status(&service.status, wanted) {
        return Change::Merge(json!({}));
    }
    let ingress = if wanted.ingress.is_empty() { json!(null) } else { json!(wanted.ingress) };
    Change::Merge(json!({"status": {"loadBalancer": {"ingress": ingress}}}))
}

/// Whether two statuses say the same. The API server reads an address without a mode as `VIP` and writes that down: to
/// it, and so to us, both are the same.
#[must_use]
pub fn same_status(one: &LoadBalancerStatus, other: &LoadBalancerStatus) -> bool {
    let plain = |status: &LoadBalancerStatus| -> Vec<Ingress> {
        status.ingress.iter().cloned().map(with_default_mode).collect()
    };
    plain(one) == plain(other)
}

fn with_default_mode(mut ingress: Ingress) -> Ingress {
    if ingress.ip.is_some() {
        ingress.ip_mode = ingress.ip_mode.or(Some(IpMode::Vip));
    }
    ingress
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ip: &str, ip_mode: Option<IpMode>) -> LoadBalancerStatus {
        LoadBalancerStatus { ingress: vec![Ingress { ip: ip.parse().ok(), ip_mode, ..Ingress::default() }] }
    }

    fn service(finalizers: &[&str], status: LoadBalancerStatus) -> ServiceView {
        let finalizers = finalizers.iter().copied().collect();
        ServiceView { finalizers, status, ..ServiceView::default() }
    }

    #[test]
    fn an_address_without_a_mode_is_a_vip() {
        assert!(same_status(&at("192.0.2.1", None), &at("192.0.2.1", Some(IpMode::Vip))));
        assert!(!same_status(&at("192.0.2.1", None), &at("192.0.2.1", Some(IpMode::Proxy))));
        assert!(!same_status(&at("192.0.2.1", None), &at("192.0.2.2", None)));
    }

    #[test]
    fn patch_status_as_upstream_same_add_empty_and_clear() {
        let there = service(&[], at("192.0.2.1", Some(IpMode::Vip)));
        assert!(status(&there, &at("192.0.2.1", None)).is_empty(), "same");
        assert!(
            status(&service(&[], LoadBalancerStatus::default()), &LoadBalancerStatus::default()).is_empty()
        );
        let add = status(&service(&[], LoadBalancerStatus::default()), &at("192.0.2.1", None));
        assert_eq!(
            add,
            Change::Merge(json!({"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}}))
        );
        let clear = status(&there, &LoadBalancerStatus::default());
        assert_eq!(clear, Change::Merge(json!({"status": {"loadBalancer": {"ingress": null}}})));
    }

    #[test]
    fn our_finalizer_goes_and_a_foreign_one_stays_even_one_we_have_not_seen() {
        let Change::Json(operations) =
            release(&service(&["foreign", FINALIZER], LoadBalancerStatus::default()))
        else {
            panic!("not a JSON patch")
        };
        let path = "/metadata/finalizers";
        assert_eq!(
            operations,
            [
                json!({"op": "test", "path": path, "value": ["foreign", FINALIZER]}),
                json!({"op": "replace", "path": path, "value": ["foreign"]}),
            ]
        );
    }

    #[test]
    fn releasing_what_has_neither_finalizer_nor_status_writes_nothing() {
        assert!(release(&service(&["foreign"], LoadBalancerStatus::default())).is_empty());
        let Change::Json(operations) = release(&service(&[], at("192.0.2.1", None))) else {
            panic!("not a JSON patch")
        };
        assert_eq!(operations.len(), 1, "only the status is cleared");
    }
}
