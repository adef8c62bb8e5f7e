//! `externalTrafficPolicy: Local` without a health monitor: the load balancer cannot know which Nodes have a pod of the Service, and
//! kube-proxy on the other Nodes drops its traffic. Pure.

use bowline_cloud::ServiceView;

use super::traffic::monitor_of;
use crate::config::LoadBalancer;
use crate::loadbalancer::annotations::{ENABLE_HEALTH_MONITOR, Reader};
use crate::loadbalancer::features::Features;

/// Why a load balancer sends traffic to Nodes that drop it, and what to do; `None` if it does not.
#[must_use]
pub fn unmonitored_local_traffic(
    service: &ServiceView,
    config: &LoadBalancer,
    features: Features,
) -> Option<String> {
    if !service.needs_health_check() {
        return None;
    }
    let row = &ENABLE_HEALTH_MONITOR;
    let mut reader = Reader::new(service);
    let (enabled, why) = match reader.flag(row) {
        Some(said) => (said, format!("annotation {} is \"false\"", row.key)),
        None => (config.create_monitor, format!("{} in cloud.conf is false", row.config_key())),
    };
    let cause = if enabled {
        let unmonitored = service.ports.iter().find(|port| !features.monitors(&monitor_of(port.protocol)))?;
        format!("load balancers of provider ovn have no health monitor for {}", unmonitored.protocol)
    } else {
        why
    };
    let remedy = if enabled {
        "set spec.externalTrafficPolicy to Cluster, or use another lb-provider".to_owned()
    } else {
        format!("set annotation {} to \"true\", or spec.externalTrafficPolicy to Cluster", row.key)
    };
    Some(format!(
        "spec.externalTrafficPolicy is Local and {cause}: the load balancer also sends traffic to Nodes without a pod of the Service, \
         and they drop it; {remedy}"
    ))
}
