//! Which Nodes become members, and at which address.

use std::sync::Arc;

use bowline_cloud::AddressKind::{ExternalDNS, ExternalIP, Hostname, InternalIP};
use bowline_cloud::{AddressKind, NodeAddress, NodeSet, NodeView};

use super::*;

fn node(name: &str, addresses: &[(AddressKind, &str)]) -> NodeView {
    let addresses = addresses.iter().map(|(kind, address)| NodeAddress::new(*kind, *address)).collect();
    NodeView { name: name.into(), addresses, ..NodeView::default() }
}

fn set(nodes: Vec<NodeView>) -> NodeSet {
    let nodes = nodes.into_iter().map(|node| (node.name.clone(), Arc::new(node))).collect();
    NodeSet { epoch: 1, nodes: Arc::new(nodes), ..NodeSet::default() }
}

#[test]
fn node_address_for_lb() {
    let (v4, v6) = (Some(IpFamily::V4), Some(IpFamily::V6));
    let (in4, in6, ex4, ex6) = ("10.0.0.1", "fd00::1", "203.0.113.1", "2001:db8::1");
    type Row = (&'static [(AddressKind, &'static str)], Option<IpFamily>, Option<&'static str>);
    let rows: [Row; 11] = [
        (&[], v4, None),
        (&[(InternalIP, "10.0.0.1")], v4, Some(in4)),
        (&[(InternalIP, "fd00::1")], v6, Some(in6)),
        (&[(InternalIP, "10.0.0.1")], v6, None),
        (&[(ExternalIP, "203.0.113.1"), (InternalIP, "10.0.0.1")], v4, Some(in4)),
        (&[(ExternalIP, "203.0.113.1"), (InternalIP, "fd00::1")], v4, Some(ex4)),
        (&[(InternalIP, "10.0.0.1"), (ExternalIP, "2001:db8::1")], v6, Some(ex6)),
        (&[(InternalIP, "10.0.0.1"), (InternalIP, "fd00::1")], v6, Some(in6)),
        (&[(ExternalIP, "203.0.113.1"), (InternalIP, "fd00::1"), (InternalIP, "10.0.0.1")], None, Some(in6)),
        (&[(Hostname, "node-1"), (ExternalDNS, "node-1.example.org")], None, None),
        (&[(InternalIP, "no address"), (InternalIP, "10.0.0.1")], None, Some(in4)),
    ];
    for (addresses, family, wanted) in rows {
        let found = member_address(&node("n", addresses), family).map(|address| address.to_string());
        assert_eq!(found.as_deref(), wanted, "{addresses:?} {family:?}");
    }
}

#[test]
fn build_batch_update_member_opts() {
    let nodes = set(vec![
        node("node-b", &[(InternalIP, "10.0.0.2")]),
        node("node-a", &[(InternalIP, "10.0.0.1")]),
        node("without-address", &[(Hostname, "x")]),
    ]);
    let intent = Case::new().intent();
    let mut port = intent.ports[0].clone();
    let shown = |port: &PortIntent| -> Vec<_> {
        let members = intent.members(port, &nodes);
        let show = |member: &MemberIntent| {
            (member.name.to_string(), member.address.to_string(), member.port, member.monitor_port)
        };
        members.iter().map(show).collect()
    };
    let members = |monitor_port| {
        let member = |name: &str, address: &str| (name.to_owned(), address.to_owned(), 30_080, monitor_port);
        [member("node-a", "10.0.0.1"), member("node-b", "10.0.0.2")]
    };
    assert_eq!(shown(&port), members(None));
    port.monitor_port = Some(31_306);
    assert_eq!(shown(&port), members(Some(31_306)));
    port.node_port = None;
    assert_eq!(shown(&port), [], "node ports are not allocated");
}

#[test]
fn only_selected_nodes_become_members() {
    let mut chosen = node("chosen", &[(InternalIP, "10.0.0.1")]);
    chosen.labels = [("gpu", "yes")].into_iter().collect();
    let nodes = set(vec![chosen, node("other", &[(InternalIP, "10.0.0.2")])]);
    let count = |case: Case| {
        let intent = case.intent();
        intent.members(&intent.ports[0], &nodes).len()
    };
    assert_eq!(count(Case::new()), 2);
    assert_eq!(count(Case::new().with("node-selector", "gpu")), 1);
    assert_eq!(count(Case::new().with("node-selector", "gpu=no")), 0);
}

#[test]
fn a_service_without_members_is_told_why() {
    let one = set(vec![node("n", &[(InternalIP, "10.0.0.1")])]);
    let told =
        |case: Case, nodes: &NodeSet| case.intent().without_members(nodes).map(|notice| notice.message);
    assert_eq!(told(Case::new(), &one), None);
    assert_eq!(told(Case::new(), &NodeSet::default()), None, "the framework tells of no Nodes at all");
    let said = told(Case::new().with("node-selector", "zone=a, gpu"), &one).unwrap();
    assert!(said.contains("\"gpu,zone=a\"") && said.contains("node-selector"), "{said}");
    let said = told(Case::new().service(|service| service.ip_families = vec![IpFamily::V6]), &one).unwrap();
    assert!(said.contains("spec.ipFamilies"), "{said}");
}
