//! Providers: which there are, and what each of them cannot do.

use http::StatusCode;
use serde_json::json;

use super::errors::{method_not_allowed, path_unknown, policy, refusal, unsupported};
use super::model::{HealthMonitor, Listener, LoadBalancer, Member, Pool};
use crate::http::{ApiResponse, Call, Refusal, Reply};

/// Names and what they say of themselves.
const PROVIDERS: [(&str, &str); 3] =
    [("amphora", "The Octavia Amphora driver"), ("ovn", "Octavia OVN driver"), ("noop_driver", "noop")];
/// What flavors of amphorae can choose.
const AMPHORA_CAPABILITIES: [(&str, &str); 5] = [
    ("loadbalancer_topology", "SINGLE: one amphora; ACTIVE_STANDBY: two."),
    ("compute_flavor", "The flavor of the virtual machine."),
    ("amp_image_tag", "The tag of the image."),
    ("sriov_vip", "Whether the VIP has an SR-IOV port."),
    ("allow_member_sriov", "Whether members may have SR-IOV ports."),
];
/// What OVN forwards.
const OVN_PROTOCOLS: [&str; 3] = ["TCP", "UDP", "SCTP"];

/// Whether there is such a provider.
pub(super) fn exists(name: &str) -> bool {
    PROVIDERS.iter().any(|(provider, _)| *provider == name)
}

/// Requests below `/providers`.
pub(super) fn serve(call: &Call<'_>, rest: &[&str]) -> Reply {
    match (call.request.method.as_str(), rest) {
        ("GET", []) => {
            let shown =
                PROVIDERS.map(|(name, description)| json!({"name": name, "description": description}));
            Ok(ApiResponse::ok(json!({"providers": shown})))
        }
        ("GET", [_, "flavor_capabilities" | "availability_zone_capabilities"]) if !call.caller.is_admin() => {
            Err(policy())
        }
        ("GET", ["amphora", "flavor_capabilities"]) => {
            let shown = AMPHORA_CAPABILITIES
                .map(|(name, description)| json!({"name": name, "description": description}));
            Ok(ApiResponse::ok(json!({"flavor_capabilities": shown})))
        }
        ("GET", ["amphora", "availability_zone_capabilities"]) => {
            let shown = [
                ("compute_zone", "The compute zone."),
                ("volume_zone", "The volume zone."),
                ("management_network", "The management network."),
                ("valid_vip_networks", "The networks in which VIPs may be."),
            ];
            let shown = shown.map(|(name, description)| json!({"name": name, "description": description}));
            Ok(ApiResponse::ok(json!({"availability_zone_capabilities": shown})))
        }
        ("GET", [provider, what @ ("flavor_capabilities" | "availability_zone_capabilities")])
            if exists(provider) =>
        {
            let what = if *what == "flavor_capabilities" { "flavor" } else { "availability zone" };
            let message = format!(
                "Provider '{provider}' does not support a requested action: This provider does not support getting the \
                 supported {what} metadata."
            );
            Err(refusal(StatusCode::NOT_IMPLEMENTED, &message))
        }
        ("GET", _) => Err(path_unknown()),
        _ => Err(method_not_allowed()),
    }
}

fn ovn(provider: &str, allowed: bool, what: &str) -> Result<(), Refusal> {
    if provider != "ovn" || allowed {
        return Ok(());
    }
    Err(unsupported(provider, &format!("OVN provider does not support {what}")))
}

/// Whether a provider can have such a listener.
pub(super) fn check_listener(provider: &str, listener: &Listener) -> Result<(), Refusal> {
    let protocol = &listener.protocol;
    ovn(provider, OVN_PROTOCOLS.contains(&protocol.as_str()), &format!("{protocol} protocol"))?;
    let open = listener.allowed_cidrs.as_ref().is_none_or(Vec::is_empty);
    ovn(provider, open, "allowed_cidrs option")
}

/// Whether a provider can have such a pool.
pub(super) fn check_pool(provider: &str, pool: &Pool) -> Result<(), Refusal> {
    let protocol = &pool.protocol;
    ovn(provider, OVN_PROTOCOLS.contains(&protocol.as_str()), &format!("{protocol} protocol"))?;
    let algorithm = &pool.lb_algorithm;
    if provider == "amphora" && algorithm == "SOURCE_IP_PORT" {
        return Err(unsupported(provider, "Amphora provider does not support SOURCE_IP_PORT algorithm."));
    }
    let possible = matches!(algorithm.as_str(), "SOURCE_IP_PORT" | "SOURCE_IP");
    ovn(provider, possible, &format!("{algorithm} algorithm"))?;
    let cookies =
        pool.session_persistence.as_ref().is_some_and(|persistence| persistence.kind != "SOURCE_IP");
    ovn(provider, !cookies, "session persistence by cookies")
}

/// Whether a provider can have such a member.
pub(super) fn check_member(balancer: &LoadBalancer, member: &Member) -> Result<(), Refusal> {
    let provider = balancer.provider.as_str();
    if provider == "ovn" && (member.monitor_address.is_some() || member.monitor_port.is_some()) {
        let what = "OVN Load Balancer does not support different member monitor address or port.";
        return Err(unsupported(provider, what));
    }
    // While a whole load balancer is planned, it has no address yet.
    let vip = &balancer.vip_address;
    let same = vip.is_empty() || vip.contains(':') == member.address.contains(':');
    ovn(provider, same, "mixing IPv4/IPv6 configuration within the same Load Balancer.")
}

/// Whether a provider can have such a monitor.
pub(super) fn check_monitor(provider: &str, monitor: &HealthMonitor) -> Result<(), Refusal> {
    let kind = &monitor.kind;
    let what = format!("{kind} health monitor type. Supported types: UDP-CONNECT, TCP");
    ovn(provider, matches!(kind.as_str(), "TCP" | "UDP-CONNECT"), &what)
}
