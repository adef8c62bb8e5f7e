//! A Service in the few facts that decisions need. Pure.

use bowline_kube::objects::Service;

use crate::migration::ServiceFacts;

/// The finalizer of load balancers.
pub const CLEANUP_FINALIZER: &str = "service.kubernetes.io/load-balancer-cleanup";
/// The annotation that names the load balancer of a Service.
const LOAD_BALANCER_ID: &str = "loadbalancer.openstack.org/load-balancer-id";

/// What is known of a Service that has a load balancer, wants one, or still has our finalizer.
#[must_use]
pub fn service_facts(service: Service) -> Option<ServiceFacts> {
    let Service { metadata, spec, status } = service;
    let spec = spec.unwrap_or_default();
    let has_finalizer = metadata.finalizers.iter().flatten().any(|name| name == CLEANUP_FINALIZER);
    if spec.type_.as_deref() != Some("LoadBalancer") && !has_finalizer {
        return None;
    }
    let ingress = status.and_then(|status| status.load_balancer?.ingress).unwrap_or_default();
    let ingress = ingress.into_iter().flat_map(|each| [each.ip, each.hostname]).flatten();
    let annotations = metadata.annotations.unwrap_or_default();
    Some(ServiceFacts {
        namespace: metadata.namespace.unwrap_or_default(),
        name: metadata.name.unwrap_or_default(),
        uid: metadata.uid.unwrap_or_default(),
        class: spec.load_balancer_class,
        ingress: ingress.collect(),
        load_balancer_id: annotations.get(LOAD_BALANCER_ID).cloned(),
        has_finalizer,
        deleting: metadata.deletion_timestamp.is_some(),
    })
}
