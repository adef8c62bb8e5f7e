//! The cases that OCCM's own tests pin down, by their names there, and those that they leave out.

use openstack_client::compute::Server;
use openstack_client::network::PortAddresses;
use serde_json::{Value, json};

use super::order::SortOrder;
use super::{AddressRules, BTreeMap};
use crate::config::Networking;
use crate::instances::labels::LabelRules;
use crate::inventory::{SeenPort, SeenServer};

const INSIDE_A: &str = "10.1.0.12";
const INSIDE_B: &str = "10.1.0.11";
const ACCESS_4: &str = "192.0.2.99";
const ACCESS_6: &str = "2001:db8:790e:510::82a8";
const FLOATING: &str = "192.0.2.36";
const PUBLIC_4: &str = "192.0.2.35";
const PUBLIC_6: &str = "2001:db8:780e:510::84a8";
const HOST: &str = "minion-1.novalocal";

fn fixed(address: &str) -> Value {
    json!({"addr": address, "OS-EXT-IPS:type": "fixed"})
}

fn floating(address: &str) -> Value {
    json!({"addr": address, "OS-EXT-IPS:type": "floating"})
}

/// A server with an address of every kind; `second` is the name of its second network.
fn server_with(second: &str, metadata: &Value) -> SeenServer {
    let mut addresses =
        BTreeMap::from([("private", json!([fixed(INSIDE_A), floating(FLOATING), {"addr": INSIDE_B}]))]);
    addresses.insert(second, json!([{"addr": PUBLIC_4}, {"addr": PUBLIC_6}]));
    server(
        &json!({"accessIPv4": ACCESS_4, "accessIPv6": ACCESS_6, "metadata": metadata, "addresses": addresses}),
    )
}

fn server(fields: &Value) -> SeenServer {
    let mut object = json!({"id": "7b9cf879-7146-417c-abfd-cb4272f0c935", "status": "ACTIVE"});
    object.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    SeenServer::new(serde_json::from_value::<Server>(object).unwrap(), &LabelRules::default())
}

fn port(status: &str, addresses: &[&str]) -> SeenPort {
    let fixed: Vec<Value> =
        addresses.iter().map(|ip| json!({"ip_address": ip, "subnet_id": "subnet"})).collect();
    let port = json!({"id": "port", "network_id": "net", "status": status, "fixed_ips": fixed});
    SeenPort::from(&serde_json::from_value::<PortAddresses>(port).unwrap())
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

fn public(network: &str) -> Networking {
    Networking { public_network_names: names(&[network]), ..Networking::default() }
}

fn listed(networking: &Networking, server: &SeenServer, ports: &[SeenPort]) -> Vec<String> {
    with_carried(networking, server, ports, &[])
}

fn with_carried(
    networking: &Networking,
    server: &SeenServer,
    ports: &[SeenPort],
    carried: &[(&str, &SeenPort)],
) -> Vec<String> {
    let ports: Vec<&SeenPort> = ports.iter().collect();
    let found = AddressRules::new(networking).addresses(server, &ports, carried);
    found.iter().map(|entry| format!("{} {}", entry.kind, entry.address)).collect()
}

fn two_ports() -> [SeenPort; 2] {
    [port("ACTIVE", &[INSIDE_A]), port("ACTIVE", &[INSIDE_B])]
}

fn internal(address: &str) -> String {
    format!("InternalIP {address}")
}

fn external(address: &str) -> String {
    format!("ExternalIP {address}")
}

fn hostname() -> String {
    format!("Hostname {HOST}")
}

#[test]
fn node_addresses() {
    let server = server_with("public", &json!({"hostname": HOST}));
    assert_eq!(
        listed(&public("public"), &server, &two_ports()),
        [
            internal(INSIDE_A),
            internal(INSIDE_B),
            external(ACCESS_4),
            external(ACCESS_6),
            hostname(),
            external(FLOATING),
            external(PUBLIC_4),
            external(PUBLIC_6),
        ]
    );
}

#[test]
fn node_addresses_custom_public_network() {
    let server = server_with("pub-net", &json!({}));
    let wanted = [
        internal(INSIDE_A),
        internal(INSIDE_B),
        external(ACCESS_4),
        external(ACCESS_6),
        external(FLOATING),
        external(PUBLIC_4),
        external(PUBLIC_6),
    ];
    assert_eq!(listed(&public("pub-net"), &server, &two_ports()), wanted);
}

#[test]
fn node_addresses_custom_public_network_with_intersecting_fixed_ip() {
    let server = server_with("pub-net", &json!({"hostname": HOST}));
    let ports = [port("ACTIVE", &[INSIDE_A]), port("ACTIVE", &[PUBLIC_4, PUBLIC_6])];
    assert_eq!(
        listed(&public("pub-net"), &server, &ports),
        [
            internal(INSIDE_A),
            external(ACCESS_4),
            external(ACCESS_6),
            hostname(),
            external(FLOATING),
            internal(INSIDE_B),
            external(PUBLIC_4),
            external(PUBLIC_6),
        ]
    );
}

#[test]
fn node_addresses_multiple_custom_internal_networks() {
    let server = server(&json!({"addresses": {
        "also-private": [fixed("10.2.0.64")],
        "other": [fixed("10.3.0.9"), floating(FLOATING)],
        "private": [fixed(INSIDE_A), fixed(INSIDE_B)],
    }}));
    let networking =
        Networking { internal_network_names: names(&["private", "also-private"]), ..Networking::default() };
    assert_eq!(
        listed(&networking, &server, &two_ports()),
        [internal(INSIDE_A), internal(INSIDE_B), internal("10.2.0.64"), external(FLOATING)]
    );
}

#[test]
fn node_addresses_one_internal_network() {
    let server = server(&json!({"accessIPv4": ACCESS_4, "addresses": {
        "also-private": [fixed("10.2.0.64")],
        "private": [fixed(INSIDE_A), floating(FLOATING)],
    }}));
    let networking = Networking { internal_network_names: names(&["also-private"]), ..Networking::default() };
    let ports = [port("ACTIVE", &[INSIDE_A]), port("ACTIVE", &["10.2.0.64"])];
    assert_eq!(
        listed(&networking, &server, &ports),
        [internal("10.2.0.64"), external(ACCESS_4), external(FLOATING)]
    );
}

#[test]
fn node_addresses_ipv6_disabled() {
    let server = server_with("public", &json!({"hostname": HOST}));
    let networking = Networking { ipv6_support_disabled: true, ..public("public") };
    let carried = port("ACTIVE", &["2001:db8:9::1", "10.9.0.1"]);
    assert_eq!(
        with_carried(
            &networking,
            &server,
            &[port("ACTIVE", &["2001:db8::5", INSIDE_A])],
            &[("trunk", &carried)]
        ),
        [
            internal(INSIDE_A),
            external(ACCESS_4),
            hostname(),
            external(FLOATING),
            internal(INSIDE_B),
            external(PUBLIC_4),
            internal("10.9.0.1"),
        ]
    );
}

#[test]
fn node_addresses_with_address_sort_order_options() {
    let server = server_with("public", &json!({"hostname": HOST}));
    let networking = Networking {
        address_sort_order: "10.0.0.0/8, 192.0.2.0/24, 2001:db8::/32".into(),
        ..public("public")
    };
    assert_eq!(
        listed(&networking, &server, &two_ports()),
        [
            internal(INSIDE_B),
            internal(INSIDE_A),
            external(PUBLIC_4),
            external(FLOATING),
            external(ACCESS_4),
            external(PUBLIC_6),
            external(ACCESS_6),
            hostname(),
        ]
    );
}

#[test]
fn a_port_that_is_not_active_gives_nothing_but_nova_may_still_list_its_address() {
    let ports = [port("DOWN", &[INSIDE_A]), port("ACTIVE", &[INSIDE_B])];
    let bare = server(&json!({}));
    assert_eq!(listed(&Networking::default(), &bare, &ports), [internal(INSIDE_B)]);
    let known = server(&json!({"addresses": {"private": [fixed(INSIDE_A)]}}));
    assert_eq!(listed(&Networking::default(), &known, &ports), [internal(INSIDE_B), internal(INSIDE_A)]);
}

#[test]
fn sub_ports_of_trunks_count_under_the_names_of_their_networks_whatever_their_status() {
    let server = server(&json!({"addresses": {"b": [fixed(INSIDE_A)]}}));
    let (inner, outer) = (port("DOWN", &["10.5.0.1"]), port("ACTIVE", &["192.0.2.7"]));
    assert_eq!(
        with_carried(&public("z"), &server, &[port("ACTIVE", &[INSIDE_A])], &[("z", &outer), ("a", &inner)]),
        [internal(INSIDE_A), internal("10.5.0.1"), external("192.0.2.7")]
    );
    let only = Networking { internal_network_names: names(&["b"]), ..Networking::default() };
    assert_eq!(with_carried(&only, &server, &[], &[("a", &inner)]), [internal(INSIDE_A)]);
}

#[test]
fn an_address_may_be_internal_and_external_but_each_only_once() {
    let server =
        server(&json!({"accessIPv4": INSIDE_A, "addresses": {"n": [fixed(INSIDE_A), fixed(INSIDE_A)]}}));
    let ports = [port("ACTIVE", &[INSIDE_A, INSIDE_A])];
    assert_eq!(listed(&Networking::default(), &server, &ports), [internal(INSIDE_A), external(INSIDE_A)]);
    // A public network takes the address from every kind it had.
    assert_eq!(listed(&public("n"), &server, &ports), [external(INSIDE_A)]);
}

#[test]
fn an_ipv6_address_of_a_public_network_is_taken_from_the_others_even_where_ipv6_is_disabled() {
    let named = server(&json!({"metadata": {"hostname": PUBLIC_6}, "addresses": {"pub": [fixed(PUBLIC_6)]}}));
    let networking = Networking { ipv6_support_disabled: true, ..public("pub") };
    assert!(listed(&networking, &named, &[]).is_empty());
}

#[test]
fn networks_come_in_the_order_of_their_bytes_and_a_floating_ip_needs_no_listed_network() {
    let server = server(&json!({"addresses": {
        "a": [fixed("10.0.0.3")], "B": [fixed("10.0.0.2")], "1": [fixed("10.0.0.1"), floating(FLOATING)],
    }}));
    assert_eq!(
        listed(&Networking::default(), &server, &[]),
        [internal("10.0.0.1"), external(FLOATING), internal("10.0.0.2"), internal("10.0.0.3")]
    );
    let none = Networking { internal_network_names: names(&["nowhere"]), ..Networking::default() };
    assert_eq!(listed(&none, &server, &[]), [external(FLOATING)]);
}

#[test]
fn a_server_that_is_being_made_has_no_addresses_yet() {
    assert!(
        listed(
            &Networking::default(),
            &server(&json!({"status": "BUILD", "metadata": {"hostname": ""}})),
            &[]
        )
        .is_empty()
    );
}

#[test]
fn cidr_lists_leave_out_what_is_no_cidr() {
    for (text, networks) in [
        ("", vec![]),
        ("10.0.0.0/8", vec!["10.0.0.0/8"]),
        (
            "10.0.0.0/8,, nonsense 192.0.2.0/24\t2001:db8::/32,10.0.0.1,10.0.0.0/33",
            vec!["10.0.0.0/8", "192.0.2.0/24", "2001:db8::/32"],
        ),
    ] {
        assert_eq!(SortOrder::parse(text).networks(), networks, "{text}");
    }
}

#[test]
fn the_first_network_that_holds_an_address_gives_its_priority() {
    let order = SortOrder::parse("10.3.0.0/16, 10.0.0.0/8, fd00::/8");
    for (address, priority) in [
        ("10.3.0.1", 3),
        ("10.4.0.1", 2),
        ("fd00::1", 1),
        ("::ffff:10.3.0.1", 3),
        ("192.0.2.1", 0),
        ("2001:db8::1", 0),
        ("a-host", 0),
        ("", 0),
    ] {
        assert_eq!(order.priority(address), priority, "{address}");
    }
}

#[test]
fn sorting_moves_wanted_addresses_up_and_leaves_the_others_as_they_were() {
    let all =
        ["192.0.2.9", "2001:db8::9", "10.9.0.2", "10.9.0.10", "fd01::2", "192.0.2.1", "fd01::1", "10.3.0.1"];
    let server = server(&json!({"addresses": {"n": all.map(fixed)}}));
    for (order, wanted) in [
        ("nonsense", all),
        (
            "10.0.0.0/8",
            [
                "10.3.0.1",
                "10.9.0.2",
                "10.9.0.10",
                "192.0.2.9",
                "2001:db8::9",
                "fd01::2",
                "192.0.2.1",
                "fd01::1",
            ],
        ),
        (
            "fd00::/8",
            [
                "fd01::1",
                "fd01::2",
                "192.0.2.9",
                "2001:db8::9",
                "10.9.0.2",
                "10.9.0.10",
                "192.0.2.1",
                "10.3.0.1",
            ],
        ),
        (
            "10.9.0.0/16 fd00::/8,192.0.2.0/24",
            [
                "10.9.0.2",
                "10.9.0.10",
                "fd01::1",
                "fd01::2",
                "192.0.2.1",
                "192.0.2.9",
                "2001:db8::9",
                "10.3.0.1",
            ],
        ),
    ] {
        let networking = Networking { address_sort_order: order.into(), ..Networking::default() };
        assert_eq!(listed(&networking, &server, &[]), wanted.map(internal), "{order}");
    }
}
