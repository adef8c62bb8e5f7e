//! Upstream's rows for the address helpers, and those it lacks.

use AddressKind::{ExternalDNS, ExternalIP, Hostname, InternalDNS, InternalIP};

use super::*;

fn list(addresses: &[(AddressKind, &str)]) -> Vec<NodeAddress> {
    addresses.iter().map(|(kind, address)| NodeAddress::new(*kind, *address)).collect()
}

#[test]
fn ips_are_read_as_go_reads_them_forgivingly() {
    for (text, read) in [
        ("1.2.3.4", Some("1.2.3.4")),
        ("001.002.003.004", Some("1.2.3.4")),
        ("010.0.0.1", Some("10.0.0.1")),
        ("0000000000.0.0.1", Some("0.0.0.1")),
        ("256.0.0.1", None),
        ("1.2.3", None),
        ("1.2.3.4.5", None),
        ("1..3.4", None),
        ("+1.2.3.4", None),
        (" 1.2.3.4", None),
        ("1.2.3.4/24", None),
        ("", None),
        ("::", Some("::")),
        ("00001::0002", Some("1::2")),
        ("2001:0DB8:0:0:0:0:0:1", Some("2001:db8::1")),
        ("::ffff:1.2.3.4", Some("1.2.3.4")),
        ("::ffff:001.2.3.4", Some("1.2.3.4")),
        ("fe80::1%eth0", None),
        ("1:2:3:4:5:6:7:8:9", None),
        ("1::2::3", None),
        (":1", None),
        ("12345::", None),
    ] {
        assert_eq!(parse_ip(text), read.map(|read| read.parse().unwrap()), "{text:?}");
    }
}

/// Upstream: `ParseNodeIPAnnotation`, 20 rows.
#[test]
fn parse_node_ip_annotation() {
    for (row, value, read) in [
        ("empty", "", None),
        ("a space", " ", None),
        ("garbage", "blah", None),
        ("single v4", "1.2.3.4", Some(vec!["1.2.3.4"])),
        ("single v4 with spaces", " 1.2.3.4 ", None),
        ("single v4 with leading zeros", "01.2.3.004", Some(vec!["1.2.3.4"])),
        ("short v4", "1.2.3", None),
        ("v4 with prefix", "1.2.3.4/24", None),
        ("v4 unspecified", "0.0.0.0", Some(vec!["0.0.0.0"])),
        ("v4 and garbage", "1.2.3.4,not-an-ip", None),
        ("single v6", "abcd::ef01", Some(vec!["abcd::ef01"])),
        ("long v6", "abcd:0abc:00ab:0000:0000::1", Some(vec!["abcd:abc:ab::1"])),
        ("dual", "1.2.3.4,abcd::ef01", Some(vec!["1.2.3.4", "abcd::ef01"])),
        ("dual with spaces", "abcd::ef01 , 1.2.3.4", None),
        ("v4 and v4", "1.2.3.4,5.6.7.8", None),
        ("v6 and v6", "abcd::1,abcd::2", None),
        ("dual with v6 unspecified", "1.2.3.4,::", None),
        ("dual with v4 unspecified", "abcd::1,0.0.0.0", None),
        ("dual and garbage", "1.2.3.4,abcd::ef01,not-an-ip", None),
        ("triple", "1.2.3.4,abcd::ef01,5.6.7.8", None),
    ] {
        let parsed = parse_provided_node_ip(value);
        match read {
            Some(ips) => {
                let ips: Vec<IpAddr> = ips.iter().map(|ip| ip.parse().unwrap()).collect();
                assert_eq!(parsed, Ok(ips), "{row}");
            }
            None => assert!(matches!(parsed, Err(AddressError::Unreadable { .. })), "{row}: {parsed:?}"),
        }
    }
}

/// A name, the annotation, the cloud's addresses, and what is selected; `None` is an error.
type SelectRow<'a> = (&'a str, &'a str, Vec<(AddressKind, &'a str)>, Option<Vec<(AddressKind, &'a str)>>);

/// Upstream: `GetNodeAddressesFromNodeIP`, 14 rows.
#[test]
fn get_node_addresses_from_node_ip() {
    let rows: Vec<SelectRow<'_>> = vec![
        (
            "single",
            "10.1.1.1",
            vec![(InternalIP, "10.1.1.1"), (Hostname, "host")],
            Some(vec![(InternalIP, "10.1.1.1"), (Hostname, "host")]),
        ),
        (
            "external",
            "55.55.55.55",
            vec![(InternalIP, "10.1.1.1"), (ExternalIP, "55.55.55.55"), (Hostname, "host")],
            Some(vec![(ExternalIP, "55.55.55.55"), (InternalIP, "10.1.1.1"), (Hostname, "host")]),
        ),
        (
            "the same IP in both kinds",
            "10.1.1.1",
            vec![
                (InternalIP, "10.1.1.1"),
                (InternalIP, "10.1.1.2"),
                (ExternalIP, "10.1.1.1"),
                (ExternalIP, "55.55.55.55"),
                (Hostname, "host"),
            ],
            Some(vec![(InternalIP, "10.1.1.1"), (ExternalIP, "10.1.1.1"), (Hostname, "host")]),
        ),
        (
            "with DNS names",
            "10.1.1.1",
            vec![
                (InternalIP, "10.1.1.1"),
                (InternalDNS, "host.internal"),
                (ExternalDNS, "host.example"),
                (Hostname, "host"),
            ],
            Some(vec![
                (InternalIP, "10.1.1.1"),
                (InternalDNS, "host.internal"),
                (ExternalDNS, "host.example"),
                (Hostname, "host"),
            ]),
        ),
        (
            "several internal",
            "10.1.1.1",
            vec![(InternalIP, "10.1.1.2"), (InternalIP, "10.1.1.1"), (ExternalIP, "55.55.55.55")],
            Some(vec![(InternalIP, "10.1.1.1"), (ExternalIP, "55.55.55.55")]),
        ),
        ("unknown to the cloud", "10.1.1.9", vec![(InternalIP, "10.1.1.1")], None),
        (
            "another spelling of an IPv6 address",
            "2600:1f14:1d4:d101::ba3d",
            vec![
                (InternalIP, "10.1.1.1"),
                (InternalIP, "2600:1f14:01d4:d101:0:0:0:ba3d"),
                (Hostname, "host"),
            ],
            Some(vec![(InternalIP, "2600:1f14:01d4:d101:0:0:0:ba3d"), (Hostname, "host")]),
        ),
        ("dual wanted from a cloud with one stack", "10.1.1.1,fc01::1", vec![(InternalIP, "10.1.1.1")], None),
        (
            "IPv4 first",
            "10.1.1.1,fc01:1234::5678",
            vec![(InternalIP, "10.1.1.1"), (InternalIP, "fc01:1234::5678"), (Hostname, "host")],
            Some(vec![(InternalIP, "10.1.1.1"), (InternalIP, "fc01:1234::5678"), (Hostname, "host")]),
        ),
        (
            "the order of the request",
            "fc01:1234::5678,10.1.1.1",
            vec![(InternalIP, "10.1.1.1"), (InternalIP, "fc01:1234::5678"), (Hostname, "host")],
            Some(vec![(InternalIP, "fc01:1234::5678"), (InternalIP, "10.1.1.1"), (Hostname, "host")]),
        ),
        (
            "surplus is dropped",
            "10.1.1.1,fc01:1234::5678",
            vec![
                (InternalIP, "10.1.1.1"),
                (InternalIP, "10.1.1.2"),
                (InternalIP, "fc01:1234::1234"),
                (InternalIP, "fc01:1234::5678"),
                (Hostname, "host"),
            ],
            Some(vec![(InternalIP, "10.1.1.1"), (InternalIP, "fc01:1234::5678"), (Hostname, "host")]),
        ),
        (
            "an external IP is kept",
            "10.1.1.1,fc01:1234::5678",
            vec![
                (InternalIP, "10.1.1.1"),
                (InternalIP, "fc01:1234::1234"),
                (InternalIP, "fc01:1234::5678"),
                (ExternalIP, "55.55.55.55"),
            ],
            Some(vec![
                (InternalIP, "10.1.1.1"),
                (InternalIP, "fc01:1234::5678"),
                (ExternalIP, "55.55.55.55"),
            ]),
        ),
        (
            "several external IPs are kept",
            "10.1.1.1",
            vec![
                (InternalIP, "10.1.1.1"),
                (ExternalIP, "2001:db1::1"),
                (ExternalIP, "55.55.55.55"),
                (InternalIP, "10.1.1.2"),
            ],
            Some(vec![(InternalIP, "10.1.1.1"), (ExternalIP, "2001:db1::1"), (ExternalIP, "55.55.55.55")]),
        ),
        (
            "a match in both kinds filters both",
            "10.1.1.1,2001:db1::1",
            vec![
                (InternalIP, "10.1.1.1"),
                (InternalIP, "10.1.1.2"),
                (ExternalIP, "55.55.55.55"),
                (ExternalIP, "2001:db1::1"),
                (Hostname, "host"),
            ],
            Some(vec![(InternalIP, "10.1.1.1"), (ExternalIP, "2001:db1::1"), (Hostname, "host")]),
        ),
    ];
    assert_eq!(rows.len(), 14);
    for (row, annotation, cloud, selected) in rows {
        let answer = select_addresses(annotation, &list(&cloud));
        match selected {
            Some(selected) => assert_eq!(answer, Ok(list(&selected)), "{row}"),
            None => {
                assert!(matches!(answer, Err(AddressError::NotOfThisMachine { .. })), "{row}: {answer:?}");
            }
        }
    }
}

/// Upstream: `AddToNodeAddresses`, 4 rows.
#[test]
fn add_to_node_addresses() {
    let there = [(InternalIP, "1.1.1.1"), (ExternalIP, "1.1.1.1")];
    for (row, more, sum) in [
        ("nothing", vec![], vec![(InternalIP, "1.1.1.1"), (ExternalIP, "1.1.1.1")]),
        ("the same", there.to_vec(), there.to_vec()),
        (
            "others",
            vec![(InternalIP, "2.2.2.2"), (Hostname, "h")],
            vec![(InternalIP, "1.1.1.1"), (ExternalIP, "1.1.1.1"), (InternalIP, "2.2.2.2"), (Hostname, "h")],
        ),
        (
            "others twice",
            vec![(InternalIP, "2.2.2.2"), (InternalIP, "2.2.2.2")],
            vec![(InternalIP, "1.1.1.1"), (ExternalIP, "1.1.1.1"), (InternalIP, "2.2.2.2")],
        ),
    ] {
        let mut addresses = list(&there);
        add_addresses(&mut addresses, list(&more));
        assert_eq!(addresses, list(&sum), "{row}");
    }
}

fn planned(
    node: &[(AddressKind, &str)],
    cloud: &[(AddressKind, &str)],
    annotation: Option<&str>,
) -> Result<Option<Vec<NodeAddress>>, AddressError> {
    let annotations = annotation.map(|value| (PROVIDED_NODE_IP.to_owned(), value.to_owned()));
    let node = NodeView {
        addresses: list(node),
        annotations: annotations.into_iter().collect(),
        ..NodeView::default()
    };
    plan_addresses(&node, &list(cloud))
}

/// Upstream: `nodeAddressesChangeDetected`, 5 rows, and those it gets wrong.
#[test]
fn node_addresses_change_detected() {
    let host = (Hostname, "host");
    for (row, node, cloud, changed) in [
        ("same", vec![host, (InternalIP, "10.0.0.1")], vec![host, (InternalIP, "10.0.0.1")], false),
        (
            "one value differs",
            vec![host, (InternalIP, "10.0.0.1")],
            vec![host, (InternalIP, "10.0.0.2")],
            true,
        ),
        (
            "old longer",
            vec![host, (InternalIP, "10.0.0.1"), (ExternalIP, "1.1.1.1")],
            vec![host, (InternalIP, "10.0.0.1")],
            true,
        ),
        (
            "new longer",
            vec![host, (InternalIP, "10.0.0.1")],
            vec![host, (InternalIP, "10.0.0.1"), (ExternalIP, "1.1.1.1")],
            true,
        ),
        (
            "kinds swapped",
            vec![host, (InternalIP, "a"), (ExternalIP, "b")],
            vec![host, (InternalIP, "b"), (ExternalIP, "a")],
            true,
        ),
        (
            "dual stack and the same",
            vec![host, (InternalIP, "10.0.0.1"), (InternalIP, "fd00::1")],
            vec![host, (InternalIP, "10.0.0.1"), (InternalIP, "fd00::1")],
            false,
        ),
        (
            "another primary",
            vec![host, (InternalIP, "10.0.0.1"), (InternalIP, "fd00::1")],
            vec![host, (InternalIP, "fd00::1"), (InternalIP, "10.0.0.1")],
            true,
        ),
        (
            "a double hides a change",
            vec![host, (InternalIP, "10.0.0.1"), (InternalIP, "10.0.0.2")],
            vec![host, (InternalIP, "10.0.0.2"), (InternalIP, "10.0.0.2")],
            true,
        ),
    ] {
        let plan = planned(&node, &cloud, None).unwrap();
        assert_eq!(plan, changed.then(|| list(&cloud)), "{row}");
    }
}

#[test]
fn a_cloud_without_addresses_clears_nothing() {
    assert_eq!(planned(&[(InternalIP, "10.0.0.1")], &[], None), Ok(None));
    assert_eq!(planned(&[(InternalIP, "10.0.0.1")], &[], Some("garbage")), Ok(None));
}

#[test]
fn host_names_of_the_node_stay_if_the_cloud_gives_none() {
    let node = [(Hostname, "one"), (InternalIP, "10.0.0.9"), (Hostname, "two")];
    let plan = planned(&node, &[(InternalIP, "10.0.0.1")], None).unwrap();
    assert_eq!(plan, Some(list(&[(InternalIP, "10.0.0.1"), (Hostname, "one"), (Hostname, "two")])));
    let plan = planned(&node, &[(InternalIP, "10.0.0.1"), (Hostname, "cloud")], None).unwrap();
    assert_eq!(plan, Some(list(&[(InternalIP, "10.0.0.1"), (Hostname, "cloud")])));
}

#[test]
fn the_annotation_chooses_and_a_wrong_one_is_told_with_all_a_person_needs() {
    let cloud = [(InternalIP, "10.0.0.1"), (InternalIP, "10.0.0.2")];
    assert_eq!(planned(&[(InternalIP, "10.0.0.2")], &cloud, Some("10.0.0.2")), Ok(None));
    let error = planned(&[], &cloud, Some("10.0.0.3")).unwrap_err().to_string();
    assert!(error.contains("asks for 10.0.0.3") && error.contains("[10.0.0.1, 10.0.0.2]"), "{error}");
    let error = planned(&[], &cloud, Some("")).unwrap_err().to_string();
    assert!(error.contains("--node-ip"), "{error}");
}
