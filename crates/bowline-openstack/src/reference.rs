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
    MetricRow {
        name: "bowline_openstack_quota_limit",
        kind: "gauge",
        labels: &["resource"],
        help: "The most of a resource that the project may have; absent where there is no limit",
    },
    MetricRow {
        name: "bowline_openstack_quota_used",
        kind: "gauge",
        labels: &["resource"],
        help: "How much of a limited resource the project has",
    },
    MetricRow {
        name: "bowline_openstack_credential_expiry_timestamp_seconds",
        kind: "gauge",
        labels: &["credential"],
        help: "When a credential expires, in seconds since the epoch; absent for one that does not",
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
        "LoadBalancerLocalTrafficUnmonitored",
        "`externalTrafficPolicy: Local` without a health monitor: the load balancer also sends traffic to Nodes without a pod of the Service, which drop it. The message says what to do.",
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
    row(
        "LoadBalancerAddressNotKept",
        "A load balancer was created in place of an earlier one and could not get its address again; the message says why. The Service has another address now.",
    ),
    row(
        "LoadBalancerSharingForbidden",
        "The Service shares a load balancer that a Service of its namespace may not join any more. What is there stays; the message says how to allow or end it.",
    ),
    row(
        "LoadBalancerValueForbidden",
        "A rule of `[Tenancy]` forbids a value that the Service has already. What is there stays; the message names the rule.",
    ),
    row(
        "LoadBalancerInvalidValue",
        "The Service has a load balancer and is served, but a value on it cannot be read. The message says which one, what is accepted and what counts until it is corrected.",
    ),
    row(
        "LoadBalancerRecreationNeeded",
        "An annotation that counts only when a load balancer is created is not what the load balancer has. The message says what was asked for, what is there, and how to get it.",
    ),
    row("LoadBalancerRename", "The load balancer has the name of another `--cluster-name`, and gets ours."),
    row(
        "LoadBalancerNotDeleted",
        "The last Service on a load balancer is deleted, and the load balancer stays: it has parts that were not made for the Service. The message says which. Only the Service's own parts are deleted.",
    ),
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
        // The service controller emits this one as well, and has the row.
        assert!(found.remove("LoadBalancerAddressChanged"));
        let listed: BTreeSet<String> = EVENTS.iter().map(|row| row.reason.to_owned()).collect();
        assert_eq!(found, listed);
    }
}
