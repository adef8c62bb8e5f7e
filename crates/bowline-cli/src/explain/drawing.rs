//! A load balancer drawn with lines for a terminal. Pure.

use bowline_cloud::picture::{BalancerPicture, Detail, Frontend, Member, Pool, Status};

use crate::terminal::line_of;

/// How a part fares, in a word.
#[must_use]
pub fn health(status: &Status) -> String {
    match (status.provisioning.as_str(), status.operating.as_str()) {
        ("", "") => String::new(),
        ("ACTIVE" | "", operating) => operating.to_owned(),
        (provisioning, "") => provisioning.to_owned(),
        (provisioning, operating) => format!("{provisioning}, {operating}"),
    }
}

/// The load balancer with all that hangs on it.
#[must_use]
pub fn draw(picture: &BalancerPicture) -> String {
    let own: Vec<String> = picture.addresses.iter().map(ToString::to_string).collect();
    let public: Vec<String> = picture.public_addresses.iter().map(ToString::to_string).collect();
    let mut text =
        line_of(format!("load balancer {} ({}) {}", picture.name, picture.id, health(&picture.status)));
    let reached = match public.as_slice() {
        [] => own.join(", "),
        public => format!("{} -> {}", public.join(", "), own.join(", ")),
    };
    text.push_str(&line_of(format!("  at {reached}")));
    if !picture.owner.own {
        text.push_str("  it is not this Service's own: it is shared\n");
    }
    if !picture.owner.sharers.is_empty() {
        text.push_str(&line_of(format!("  other Services on it: {}", picture.owner.sharers.join(", "))));
    }
    match picture.detail {
        Detail::Read => {}
        Detail::AsWanted => text
            .push_str("  what hangs on it was not read, for nothing has changed: this is what is wanted\n"),
        Detail::Busy => text.push_str("  what hangs on it was not read, for the cloud is at work on it\n"),
    }
    picture.frontends.iter().for_each(|frontend| text.push_str(&draw_frontend(frontend)));
    for pool in &picture.unused_pools {
        text.push_str("  no listener\n");
        text.push_str(&draw_pool(pool));
    }
    text
}

fn draw_frontend(frontend: &Frontend) -> String {
    let mut text = line_of(format!("  {}/{} {}", frontend.protocol, frontend.port, health(&frontend.status)))
        .replace(" \n", "\n");
    if !frontend.allowed.is_empty() && frontend.allowed.iter().all(|range| range != "0.0.0.0/0") {
        text.push_str(&line_of(format!("    only from {}", frontend.allowed.join(", "))));
    }
    if frontend.pools.is_empty() {
        text.push_str("    no pool: nothing answers\n");
    }
    frontend.pools.iter().for_each(|pool| text.push_str(&draw_pool(pool)));
    text
}

fn draw_pool(pool: &Pool) -> String {
    let monitor =
        pool.monitor.as_deref().map_or("not monitored".to_owned(), |kind| format!("monitored by {kind}"));
    let health = health(&pool.status);
    let mut text = line_of(format!("    pool {} {}, {monitor} {health}", pool.protocol, pool.algorithm))
        .replace(" \n", "\n");
    if pool.members.is_empty() {
        text.push_str("      no members: nothing answers\n");
    }
    pool.members.iter().for_each(|member| text.push_str(&draw_member(member)));
    text
}

fn draw_member(member: &Member) -> String {
    let weight = match member.weight {
        Some(0) => " drained",
        _ => "",
    };
    let name = if member.name.is_empty() { "(no name)" } else { member.name.as_str() };
    line_of(format!("      {name} {}:{}{weight} {}", member.address, member.port, health(&member.status)))
        .replace(" \n", "\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_load_balancer_is_drawn_with_what_a_person_looks_for() {
        let picture: BalancerPicture = serde_json::from_value(json!({
            "id": "lb-1", "name": "kube_service_k_default_web", "status": {"provisioning": "ACTIVE", "operating": "DEGRADED"},
            "addresses": ["10.0.0.5"], "publicAddresses": ["192.0.2.1"], "owner": {"own": false, "sharers": ["kube_service_k_default_other"]},
            "detail": "read",
            "frontends": [{"name": "l", "protocol": "TCP", "port": 80, "allowed": ["192.0.2.0/24"], "status": {"provisioning": "ACTIVE", "operating": "ONLINE"},
                "pools": [{"name": "p", "protocol": "TCP", "algorithm": "ROUND_ROBIN", "monitor": "TCP", "members": [
                    {"name": "node-1", "address": "10.0.0.1", "port": 30080, "weight": 0, "status": {"provisioning": "ACTIVE", "operating": "ERROR"}},
                ]}]},
                {"name": "m", "protocol": "UDP", "port": 53, "pools": []}],
        }))
        .unwrap();
        assert_eq!(
            draw(&picture),
            "load balancer kube_service_k_default_web (lb-1) DEGRADED\n  at 192.0.2.1 -> 10.0.0.5\n  it is not this Service's own: it is shared\n  other Services on it: kube_service_k_default_other\n  TCP/80 ONLINE\n    only from 192.0.2.0/24\n    pool TCP ROUND_ROBIN, monitored by TCP\n      node-1 10.0.0.1:30080 drained ERROR\n  UDP/53\n    no pool: nothing answers\n"
        );
    }
}
