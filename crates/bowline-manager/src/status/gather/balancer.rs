//! Load balancers for the page: those observed in the cloud, reduced to a size that can be stored, and those that are only requested.

use std::sync::Arc;

use bowline_cloud::picture::{BalancerPicture, Detail, Frontend, Member, Pool, Status};
use bowline_cloud::{AddressKind, NodeView, ServiceView};
use bowline_controllers::service::nodes::is_eligible;

use crate::status::overview::{BalancerBox, ListenerBox, MemberBox, PoolBox};

/// The maximum number of listeners stored for a load balancer.
const MOST_LISTENERS: usize = 8;

/// The maximum number of pools stored for a listener.
const MOST_POOLS: usize = 2;

/// The maximum number of members stored for a pool. Unhealthy members come first.
const MOST_MEMBERS: usize = 8;

/// Converts what the cloud showed. `before` is the previous state: while the cloud changes a load balancer, its parts are not read again.
pub(in crate::status) fn drawn(picture: &BalancerPicture, before: Option<BalancerBox>) -> BalancerBox {
    let listeners: Vec<_> = picture.frontends.iter().take(MOST_LISTENERS).map(listener).collect();
    let (listeners, more) = match (picture.detail, before) {
        (Detail::Busy, Some(before)) => (before.listeners, before.more),
        _ => (listeners, picture.frontends.len().saturating_sub(MOST_LISTENERS)),
    };
    let source = match picture.detail {
        Detail::Read => "as the cloud shows it",
        Detail::AsWanted => "as asked for, and not changed since",
        Detail::Busy => "the cloud is at work on it, this is what is asked for",
    };
    let (name, id) = (Some(picture.name.clone()), Some(picture.id.clone()));
    BalancerBox { source, name, id, status: words(&picture.status), listeners, more }
}

fn words(status: &Status) -> String {
    let words = [status.provisioning.as_str(), status.operating.as_str()];
    words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" · ")
}

fn listener(frontend: &Frontend) -> ListenerBox {
    ListenerBox {
        title: format!("{} {}", frontend.protocol, frontend.port),
        name: frontend.name.clone(),
        status: words(&frontend.status),
        allowed: allowed(&frontend.allowed),
        pools: frontend.pools.iter().take(MOST_POOLS).map(pool).collect(),
    }
}

/// The source ranges that may connect; empty if all may.
fn allowed(ranges: &[String]) -> Vec<String> {
    let all = ranges.iter().any(|range| range == "0.0.0.0/0" || range == "::/0");
    if all { Vec::new() } else { ranges.iter().take(MOST_MEMBERS).cloned().collect() }
}

fn pool(pool: &Pool) -> PoolBox {
    let mut members: Vec<&Member> = pool.members.iter().collect();
    members.sort_by_key(|member| matches!(member.status.operating.as_str(), "ONLINE" | "NO_MONITOR" | ""));
    PoolBox {
        title: format!("{} {}", pool.protocol, pool.algorithm).trim().to_owned(),
        status: words(&pool.status),
        monitor: pool.monitor.clone(),
        members: members.iter().take(MOST_MEMBERS).map(|found| member(found)).collect(),
        more: members.len().saturating_sub(MOST_MEMBERS),
    }
}

fn member(member: &Member) -> MemberBox {
    let drains = (member.weight == Some(0)).then(|| "draining".to_owned());
    let status = [Some(words(&member.status)).filter(|words| !words.is_empty()), drains];
    MemberBox {
        name: member.name.clone(),
        address: endpoint(&member.address.to_string(), member.port),
        status: status.into_iter().flatten().collect::<Vec<_>>().join(" · "),
    }
}

fn endpoint(address: &str, port: u16) -> String {
    if address.contains(':') { format!("[{address}]:{port}") } else { format!("{address}:{port}") }
}

/// Selects the data to show: what was observed, or what is requested if nothing was observed yet.
pub(super) fn shown(kept: Option<BalancerBox>, asked_for: impl FnOnce() -> BalancerBox) -> BalancerBox {
    match kept {
        None => asked_for(),
        Some(kept) if !kept.listeners.is_empty() => kept,
        Some(kept) => {
            let asked_for = asked_for();
            BalancerBox { listeners: asked_for.listeners, more: asked_for.more, ..kept }
        }
    }
}

/// The load balancer that the Service requests, shown while nothing is known about the actual one.
pub(super) fn asked_for<'n>(
    service: &ServiceView,
    nodes: impl Iterator<Item = &'n Arc<NodeView>>,
) -> BalancerBox {
    let nodes: Vec<&Arc<NodeView>> = nodes.filter(|node| is_eligible(node)).collect();
    let listeners = service.ports.iter().take(MOST_LISTENERS).map(|port| {
        let node_port = port.node_port.unwrap_or_default();
        let members = nodes.iter().take(MOST_MEMBERS).map(|node| MemberBox {
            name: node.name.to_string(),
            address: inside(node).map(|address| endpoint(&address, node_port)).unwrap_or_default(),
            status: String::new(),
        });
        let pool = PoolBox {
            title: format!("node port {node_port}"),
            members: members.collect(),
            more: nodes.len().saturating_sub(MOST_MEMBERS),
            ..PoolBox::default()
        };
        ListenerBox {
            title: format!("{} {}", port.protocol, port.port),
            name: port.name.as_ref().map(ToString::to_string).unwrap_or_default(),
            pools: vec![pool],
            ..ListenerBox::default()
        }
    });
    BalancerBox {
        source: "as the Service asks for it",
        listeners: listeners.collect(),
        more: service.ports.len().saturating_sub(MOST_LISTENERS),
        ..BalancerBox::default()
    }
}

fn inside(node: &NodeView) -> Option<String> {
    let internal = node.addresses.iter().find(|address| address.kind == AddressKind::InternalIP);
    internal.map(|address| address.address.to_string())
}
