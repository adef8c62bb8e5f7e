//! Events for the owner of a Service that works: settings that this cloud does not support, unknown annotations.

mod unknown;

use bowline_cloud::{Protocol, ServiceView, SourceRanges, suggest};
use openstack_client::load_balancer::MonitorType;

use super::Surroundings;
use super::local::unmonitored_local_traffic;
use super::traffic::Speech;
use crate::loadbalancer::annotations::{self, ANNOTATIONS, Reader, clipped};

/// An event for a Service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// The reason, as a CamelCase word.
    pub reason: &'static str,
    /// The text.
    pub message: String,
}

const IGNORED: &str = "LoadBalancerAnnotationIgnored";

pub(super) fn notices(
    reader: &Reader<'_>,
    service: &ServiceView,
    around: &Surroundings<'_>,
    speech: &Speech,
    ranges: &SourceRanges,
) -> Vec<Notice> {
    let mut notices = Vec::new();
    let mut tell = |reason, message| notices.push(Notice { reason, message });
    let features = around.features;

    let enforced = features.allowed_cidrs || (features.ovn && around.config.manage_security_groups);
    if !enforced && !ranges.allows_all() {
        let message =
            "the load balancer cannot be restricted to source ranges in this cloud: it is open to everybody";
        tell("LoadBalancerSourceRangesIgnored", message.to_owned());
    }
    let zone = reader.raw(&annotations::AVAILABILITY_ZONE).unwrap_or(&around.config.availability_zone);
    if !features.zones && !zone.is_empty() {
        let message = format!(
            "load balancers have no availability zones in this cloud; {:?} is ignored",
            clipped(zone)
        );
        tell("LoadBalancerAvailabilityZonesIgnored", message);
    }
    let method = reader.text(&annotations::LB_METHOD);
    if let Some(method) = method.filter(|method| features.ovn && *method != "SOURCE_IP_PORT") {
        let message = format!("OVN knows SOURCE_IP_PORT only; {method:?} is ignored");
        tell("LoadBalancerLbMethodUnknown", message);
    }
    let timeouts = [
        annotations::TIMEOUT_CLIENT_DATA,
        annotations::TIMEOUT_MEMBER_CONNECT,
        annotations::TIMEOUT_MEMBER_DATA,
        annotations::TIMEOUT_TCP_INSPECT,
    ];
    let unsupported = timeouts.into_iter().filter(|_row| !features.timeouts);
    let flavor = Some(annotations::FLAVOR_ID).filter(|_row| !features.flavors);
    for row in unsupported.chain(flavor).filter(|row| reader.text(row).is_some()) {
        tell(IGNORED, format!("annotation {} has no effect in this cloud", row.key));
    }
    let tags = [annotations::LOAD_BALANCER_TAGS, annotations::LISTENER_TAGS, annotations::POOL_TAGS];
    for row in tags.into_iter().filter(|row| !features.tags && reader.text(row).is_some()) {
        tell(IGNORED, format!("annotation {} has no effect: this cloud's Octavia has no tags", row.key));
    }
    let undrained = features.ovn || around.config.provider_requires_serial_api_calls;
    if undrained && reader.text(&annotations::DRAIN).is_some_and(|text| text != "0") {
        let message = format!(
            "annotation {} has no effect: members have no weights with OVN, and are not drained with \
             provider-requires-serial-api-calls; Nodes that leave are taken out",
            annotations::DRAIN.key
        );
        tell(IGNORED, message);
    }
    let network = reader.text(&annotations::NETWORK_ID);
    if network.is_some()
        && !around.config.subnet_id.is_empty()
        && reader.text(&annotations::SUBNET_ID).is_none()
    {
        // OCCM does the same: both are sent, and Octavia uses the subnet.
        let message = format!(
            "annotation {} has no effect while cloud.conf has a subnet-id, which says where load balancers stand; add annotation {}",
            annotations::NETWORK_ID.key,
            annotations::SUBNET_ID.key
        );
        tell(IGNORED, message);
    }
    if speech.leaves_out(service) {
        let message =
            "PROXY, X-Forwarded-For and TLS count for TCP ports; the other ports are passed on as they are";
        tell("LoadBalancerPortsPassedOn", message.to_owned());
    }
    let sctp = service.ports.iter().any(|port| port.protocol == Protocol::Sctp);
    if sctp && speech.monitored && !features.monitors(&MonitorType::Sctp) {
        let message = "OVN cannot ask members whether they are well by SCTP; ports that speak it have no health monitor";
        tell("LoadBalancerHealthMonitorIgnored", message.to_owned());
    }
    if speech.monitored && service.needs_health_check() && !features.http_monitor {
        let message = "OVN cannot ask Nodes by HTTP whether they have a pod; they are asked by TCP or UDP on the port of the Service";
        tell("LoadBalancerHealthMonitorChanged", message.to_owned());
    }
    if let Some(message) = unmonitored_local_traffic(service, around.config, features) {
        tell("LoadBalancerLocalTrafficUnmonitored", message);
    }
    notices.extend(unknown::notices(
        service.annotations.keys(),
        |key| annotations::find(key).is_some(),
        |key| suggest::hint(key, "", ANNOTATIONS.iter().map(|row| row.key)),
    ));
    notices
}
