//! Finds the Node of a route, for clouds that know only the address of the next hop. Pure.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use bowline_cloud::{NodeView, Route};
use ipnet::IpNet;

/// Sets the target Node of each route from its next hop. A route whose next hop belongs to no Node becomes a blackhole. A route with a
/// target from the cloud stays unchanged.
#[must_use]
pub fn with_targets(routes: Vec<Route>, nodes: &[Arc<NodeView>]) -> Vec<Route> {
    let by_address = by_address(nodes);
    let mut routes = routes;
    for route in routes.iter_mut().filter(|route| route.target_node.is_none()) {
        let Some(hop) = route.next_hop else { continue };
        let having = by_address.get(&hop).map_or(&[][..], Vec::as_slice);
        let target = wanting(having.iter().copied(), &route.destination)
            .or_else(|| having.first().copied())
            .or_else(|| wanting(nodes.iter().filter(|node| !tells_addresses(node)), &route.destination));
        route.target_node = target.map(|node| node.name.to_string());
        route.blackhole |= target.is_none();
    }
    routes
}

/// Several Nodes may have the same address for a while, when a new machine got the address of an old one.
fn by_address(nodes: &[Arc<NodeView>]) -> BTreeMap<IpAddr, Vec<&Arc<NodeView>>> {
    let mut by_address: BTreeMap<IpAddr, Vec<&Arc<NodeView>>> = BTreeMap::new();
    for node in nodes {
        for address in addresses(node) {
            by_address.entry(address).or_default().push(node);
        }
    }
    by_address
}

fn addresses(node: &NodeView) -> impl Iterator<Item = IpAddr> {
    node.addresses.iter().filter_map(|address| address.address.parse().ok())
}

/// A Node without addresses may have any address, so a route to its pods is not a blackhole.
fn tells_addresses(node: &NodeView) -> bool {
    addresses(node).next().is_some()
}

fn wanting<'a>(
    mut nodes: impl Iterator<Item = &'a Arc<NodeView>>,
    destination: &IpNet,
) -> Option<&'a Arc<NodeView>> {
    nodes.find(|node| node.pod_cidrs.iter().any(|cidr| cidr.trunc() == destination.trunc()))
}

#[cfg(test)]
mod tests {
    use bowline_cloud::{AddressKind, NodeAddress};

    use super::*;

    const A: &str = "10.120.0.0/24";
    const B: &str = "10.120.1.0/24";

    fn node(name: &str, cidr: &str, addresses: &[(AddressKind, &str)]) -> Arc<NodeView> {
        Arc::new(NodeView {
            name: name.into(),
            pod_cidrs: vec![cidr.parse().unwrap()],
            addresses: addresses.iter().map(|(kind, text)| NodeAddress::new(*kind, *text)).collect(),
            ..NodeView::default()
        })
    }

    fn target(nodes: &[Arc<NodeView>], hop: &str, destination: &str) -> (Option<String>, bool) {
        let route = Route::via("r", hop.parse().unwrap(), destination.parse().unwrap());
        let route = with_targets(vec![route], nodes).remove(0);
        (route.target_node, route.blackhole)
    }

    fn leads_to(name: &str) -> (Option<String>, bool) {
        (Some(name.to_owned()), false)
    }

    #[test]
    fn a_route_leads_to_the_node_with_its_next_hop_whatever_kind_of_address_it_is() {
        use AddressKind::{ExternalIP, Hostname, InternalIP};
        let a = node("a", A, &[(Hostname, "a"), (InternalIP, "192.0.2.1"), (ExternalIP, "203.0.113.1")]);
        let nodes = [a, node("b", B, &[(InternalIP, "FD00:0::2"), (InternalIP, "192.0.2.2")])];
        for hop in ["192.0.2.1", "203.0.113.1"] {
            assert_eq!(target(&nodes, hop, A), leads_to("a"));
        }
        assert_eq!(target(&nodes, "fd00::2", "fd00:120::/64"), leads_to("b"), "texts do not matter");
        assert_eq!(target(&nodes, "192.0.2.2", A), leads_to("b"), "also to the wrong one");
        assert_eq!(target(&nodes, "192.0.2.9", A), (None, true), "nobody has it");
    }

    #[test]
    fn of_several_nodes_with_an_address_it_is_the_one_whose_pods_the_route_serves() {
        let nodes = ["a", "b"].map(|name| {
            node(name, if name == "a" { A } else { B }, &[(AddressKind::InternalIP, "192.0.2.1")])
        });
        assert_eq!(target(&nodes, "192.0.2.1", B), leads_to("b"));
        assert_eq!(target(&nodes, "192.0.2.1", A), leads_to("a"));
        assert_eq!(target(&nodes, "192.0.2.1", "10.120.9.0/24"), leads_to("a"));
    }

    #[test]
    fn the_route_of_a_node_that_tells_no_address_is_not_taken_for_one_that_leads_nowhere() {
        let nodes = [node("a", A, &[(AddressKind::Hostname, "a")])];
        assert_eq!(target(&nodes, "192.0.2.1", A), leads_to("a"));
        assert_eq!(target(&nodes, "192.0.2.1", B), (None, true));
    }

    #[test]
    fn what_the_cloud_says_itself_stays() {
        let nodes = [node("a", A, &[(AddressKind::InternalIP, "192.0.2.1")])];
        let mut named = Route::via("r", "192.0.2.1".parse().unwrap(), A.parse().unwrap());
        named.target_node = Some("b".to_owned());
        let unknown = Route::new("s", None, A.parse().unwrap());
        let routes = vec![named, unknown];
        assert_eq!(with_targets(routes.clone(), &nodes), routes);
    }
}
