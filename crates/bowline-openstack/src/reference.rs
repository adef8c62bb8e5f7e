//! What the OpenStack provider counts, and the events that only it tells. For the reference pages.
//!
//! The metrics are proven complete in `cloud/tests.rs`, which has a whole cloud.

use bowline_cloud::EventKind::Warning;
use bowline_cloud::reference::{EventRow, MetricRow};

/// Every metric of the provider. Those with OCCM's names are OCCM's.
pub const METRICS: &[MetricRow] = &[
    MetricRow {
        name: "openstack_api_request_duration_seconds",
        kind: "histogram",
        labels: &["request"],
        help: "Latency of OpenStack API calls",
    },
    MetricRow {
        name: "openstack_api_requests_total",
        kind: "counter",
        labels: &["request"],
        help: "Number of OpenStack API calls",
    },
    MetricRow {
        name: "openstack_api_request_errors_total",
        kind: "counter",
        labels: &["request"],
        help: "Number of errors of OpenStack API calls",
    },
    MetricRow {
        name: "cloudprovider_openstack_reconcile_duration_seconds",
        kind: "histogram",
        labels: &["operation"],
        help: "Time taken by the work for a Service, from its first look to its end",
    },
    MetricRow {
        name: "cloudprovider_openstack_reconcile_total",
        kind: "counter",
        labels: &["operation"],
        help: "Number of times that the work for a Service came to an end",
    },
    MetricRow {
        name: "cloudprovider_openstack_reconcile_errors_total",
        kind: "counter",
        labels: &["operation"],
        help: "Number of times that it failed",
    },
    MetricRow {
        name: "bowline_openstack_config_generation",
        kind: "gauge",
        labels: &[],
        help: "Counts the configurations that were in use since the start",
    },
    MetricRow {
        name: "bowline_openstack_config_refused",
        kind: "gauge",
        labels: &[],
        help: "1 while the configuration that was found is not used, and the one before stays",
    },
];

const fn row(reason: &'static str, meaning: &'static str) -> EventRow {
    EventRow { reason, about: "Service", kind: Warning, meaning }
}

/// Every event of the provider. They tell what a Service asks for and does not get, although it works.
pub const EVENTS: &[EventRow] = &[
    row(
        "LoadBalancerAnnotationIgnored",
        "An annotation has no effect: nobody knows it (the message has the name that was perhaps meant), or this cloud does not have it.",
    ),
    row(
        "LoadBalancerSourceRangesIgnored",
        "The cloud cannot restrict the load balancer to source ranges: it is open to everybody.",
    ),
    row("LoadBalancerAvailabilityZonesIgnored", "The cloud's load balancers have no availability zones."),
    row("LoadBalancerLbMethodUnknown", "OVN knows `SOURCE_IP_PORT` only; the other method is not used."),
    row(
        "LoadBalancerPortsPassedOn",
        "PROXY, X-Forwarded-For and TLS count for TCP ports; the others are passed on as they are.",
    ),
    row("LoadBalancerHealthMonitorIgnored", "OVN has no health monitor for SCTP."),
    row(
        "LoadBalancerHealthMonitorChanged",
        "OVN has no HTTP monitor: Nodes are asked by TCP or UDP on the port of the Service.",
    ),
    row(
        "LoadBalancerSingleFamily",
        "The Service prefers two IP families, and the cloud or its network has one.",
    ),
    row(
        "LoadBalancerFloatingIPSkipped",
        "The address is IPv6, for which there are no floating IPs; the Service is reached at it directly.",
    ),
    row(
        "LoadBalancerForcedInternal",
        "There is no external network for a floating IP. Set `floating-network-id`, or make the Service internal.",
    ),
    row(
        "LoadBalancerExternalNetworkSearchFailed",
        "No external network was found where one was looked for. Set `floating-network-id`.",
    ),
    row("LoadBalancerRename", "The load balancer has the name of another `--cluster-name`, and gets ours."),
    row(
        "LoadBalancerWithoutMembers",
        "Nodes are there, and none of them can be a member; the message says why.",
    ),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::*;

    fn reasons(folder: &Path, found: &mut BTreeSet<String>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let is_test = path.file_stem().is_some_and(|name| name == "tests");
            if path.is_dir() && !is_test {
                reasons(&path, found);
            } else if !path.is_dir() && !is_test {
                let text = fs::read_to_string(&path).unwrap();
                let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
                let quoted =
                    code.split('"').filter(|text| text.starts_with("LoadBalancer") && text.len() > 17);
                let words = quoted.filter(|text| text.chars().all(|c| c.is_ascii_alphabetic()));
                found.extend(words.map(str::to_owned));
            }
        }
    }

    #[test]
    fn every_notice_has_a_row_and_every_row_a_notice() {
        let mut found = BTreeSet::new();
        reasons(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src/loadbalancer")), &mut found);
        let listed: BTreeSet<String> = EVENTS.iter().map(|row| row.reason.to_owned()).collect();
        assert_eq!(found, listed);
    }
}
