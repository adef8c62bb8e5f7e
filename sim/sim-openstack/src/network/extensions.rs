//! The extensions of Neutron: which of them this cloud has.

use http::StatusCode;
use serde_json::{Value, json};

use crate::cloud::World;
use crate::http::{ApiResponse, Refusal, Reply};

/// The aliases of the extensions that a current Neutron with OVN lists.
#[rustfmt::skip]
const ALIASES: [&str; 108] = [
    "address-group", "address-scope", "agent", "allowed-address-pairs", "auto-allocated-topology",
    "availability_zone", "binding", "binding-extended", "default-subnetpools", "dhcp_agent_scheduler",
    "dns-domain-ports", "dns-integration", "dns-integration-domain-keywords", "empty-string-filtering",
    "enable-default-route-bfd", "enable-default-route-ecmp", "expose-port-forwarding-in-fip",
    "ext-gw-mode", "external-gateway-multihoming", "external-net", "extra_dhcp_opt", "extraroute",
    "extraroute-atomic", "filter-validation", "fip-port-details", "flavors",
    "floating-ip-port-forwarding", "floating-ip-port-forwarding-description",
    "floating-ip-port-forwarding-detail", "floating-ip-port-forwarding-port-ranges",
    "floating-ip-router-writable", "floatingip-pools", "ip-substring-filtering", "ip_allocation",
    "l2_adjacency", "l3-agent-scheduler-ha-chassis-priority", "l3-flavors", "l3-ha", "l3_agent_scheduler",
    "multi-provider", "net-mtu", "net-mtu-writable", "network-ip-availability",
    "network-ip-availability-details", "network_availability_zone", "pagination", "port-device-profile",
    "port-mac-address-regenerate", "port-numa-affinity-policy", "port-numa-affinity-policy-socket",
    "port-resource-request", "port-resource-request-groups", "port-security", "project-id", "provider",
    "qinq", "qos", "qos-bw-limit-direction", "qos-bw-minimum-ingress", "qos-default", "qos-fip",
    "qos-gateway-ip", "qos-port-network-policy", "qos-pps", "qos-pps-minimum",
    "qos-pps-minimum-rule-alias", "qos-rule-type-details", "qos-rule-type-filter", "qos-rules-alias",
    "quota-check-limit", "quota-check-limit-default", "quota_details", "quotas", "rbac-address-scope",
    "rbac-policies", "rbac-security-groups", "revision-if-match", "router", "router-enable-snat",
    "router_availability_zone", "security-group", "security-groups-default-rules",
    "security-groups-default-statefulness", "security-groups-normalized-cidr",
    "security-groups-remote-address-group", "security-groups-rules-belongs-to-default-sg",
    "security-groups-shared-filtering", "segment", "segments-peer-subnet-host-routes", "service-type",
    "sorting", "standard-attr-description", "standard-attr-revisions", "standard-attr-segment",
    "standard-attr-tag", "standard-attr-timestamp", "stateful-security-group",
    "subnet-dns-publish-fixed-ip", "subnet-external-network", "subnet-segmentid-writable",
    "subnet-service-types", "subnet_allocation", "subnet_onboard", "subnetpool-prefix-ops",
    "tag-creation", "trunk", "trunk-details", "vlan-transparent",
];

/// Requests below `/extensions`.
pub(super) fn serve(world: &World, rest: &[&str]) -> Reply {
    let missing = &world.config.missing_network_extensions;
    let present = ALIASES.iter().filter(|alias| !missing.iter().any(|missing| missing == **alias));
    match rest {
        [] => Ok(ApiResponse::ok(json!({"extensions": present.map(render).collect::<Vec<Value>>()}))),
        [alias] => match present.into_iter().find(|present| *present == alias) {
            Some(alias) => Ok(ApiResponse::ok(json!({"extension": render(alias)}))),
            None => {
                // The framework below Neutron says it.
                let text = "The resource could not be found.<br /><br />\nExtension with alias";
                let message = format!("{text} {alias} does not exist\n\n");
                let body = json!({"message": message, "code": "404 Not Found", "title": "Not Found"});
                Err(Refusal::json(StatusCode::NOT_FOUND, body))
            }
        },
        _ => Err(super::errors::path_unknown()),
    }
}

fn render(alias: &&str) -> Value {
    json!({
        "name": alias, "alias": alias, "description": format!("The extension {alias}"),
        "updated": "2024-01-01T00:00:00-00:00", "links": [],
    })
}
