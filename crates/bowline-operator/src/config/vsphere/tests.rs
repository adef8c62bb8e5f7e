//! vSphere: upstream's 16 cases, compared as the manager reads both sides, and what upstream loses or dies of.

use serde_json::json;

use super::*;

const INI: &str = "
[Global]
secret-name = \"vsphere-creds\"
secret-namespace = \"kube-system\"
insecure-flag = \"1\"

[VirtualCenter \"test-server\"]
datacenters = \"DC1\"";

const YAML: &str = "
global:
  insecureFlag: true
  secretName: vsphere-creds
  secretNamespace: kube-system
vcenter:
  test-server:
    server: test-server
    datacenters:
    - DC1";

fn with_workspace() -> String {
    INI.replace(
        "[VirtualCenter",
        "[Workspace]\nserver = \"test-server\"\ndatacenter = \"DC1\"\ndefault-datastore = \"Datastore\"\nfolder = \"/DC1/vm/F1\"\n\n[VirtualCenter",
    )
}

fn ini_zonal() -> String {
    format!(
        "{}\n\n[Labels]\nregion = \"openshift-region\"\nzone = \"openshift-zone\"",
        INI.replace("DC1", "DC1,DC2,DC3")
    )
}

const ZONAL: &str = "
global:
  insecureFlag: true
  secretName: vsphere-creds
  secretNamespace: kube-system
vcenter:
  test-server:
    server: test-server
    port: 443
    datacenters:
    - DC1
    - DC2
    - DC3
labels:
  zone: openshift-zone
  region: openshift-region";

fn ini_networks() -> String {
    format!(
        "{INI}

[Nodes]
exclude-external-network-subnet-cidr = \"192.1.2.0/24,fe80::2/128\"
exclude-internal-network-subnet-cidr = \"192.0.2.0/24,fe80::1/128\"
external-network-subnet-cidr = \"198.51.100.0/24,fe80::3/128\"
external-vm-network-name = \"external-network\"
internal-network-subnet-cidr = \"192.0.3.0/24,fe80::4/128\"
internal-vm-network-name = \"internal-network\""
    )
}

/// The YAML with networks: families, subnets and what is excluded beyond the cluster's own.
fn yaml_networks(families: &str, v4: bool, shared: &str) -> String {
    let (a, b, c, d) = if v4 {
        ("192.0.3.0/24,", "198.51.100.0/24,", "192.0.2.0/24,", "192.1.2.0/24,")
    } else {
        ("", "", "", "")
    };
    format!(
        "{YAML}
{families}
nodes:
  internalNetworkSubnetCidr: {a}fe80::4/128
  externalNetworkSubnetCidr: {b}fe80::3/128
  internalVmNetworkName: internal-network
  externalVmNetworkName: external-network
  excludeInternalNetworkSubnetCidr: {c}fe80::1/128{shared}
  excludeExternalNetworkSubnetCidr: {d}fe80::2/128{shared}"
    )
}

fn status(api: &[&str], ingress: &[&str]) -> PlatformStatus {
    serde_json::from_value(
        json!({ "type": "VSphere", "vsphere": { "apiServerInternalIPs": api, "ingressIPs": ingress } }),
    )
    .unwrap()
}

fn spec(value: Value) -> VSphereSpec {
    serde_json::from_value(value).unwrap()
}

fn zones() -> VSphereSpec {
    let domain = |dc: &str| json!({ "server": "test-server", "topology": { "datacenter": dc } });
    spec(json!({
        "vcenters": [{ "server": "test-server", "port": 443, "datacenters": ["DC1", "DC2"] }],
        "failureDomains": [domain("DC1"), domain("DC2"), domain("DC3")],
    }))
}

fn networks(v4: bool) -> VSphereSpec {
    let of = |v4_first: &str, v6: &str| if v4 { json!([v4_first, v6]) } else { json!([v6]) };
    spec(json!({
        "vcenters": [{ "server": "test-server", "datacenters": ["DC1"] }],
        "nodeNetworking": {
            "external": {
                "network": "external-network",
                "networkSubnetCidr": of("198.51.100.0/24", "fe80::3/128"),
                "excludeNetworkSubnetCidr": of("192.1.2.0/24", "fe80::2/128"),
            },
            "internal": {
                "network": "internal-network",
                "networkSubnetCidr": of("192.0.3.0/24", "fe80::4/128"),
                "excludeNetworkSubnetCidr": of("192.0.2.0/24", "fe80::1/128"),
            },
        },
    }))
}

fn services(ranges: &[&str]) -> ClusterNetwork {
    ClusterNetwork { service_network: ranges.iter().map(|range| (*range).to_owned()).collect() }
}

/// A configuration as the manager sees it: what is global counts for each vCenter that does not say otherwise.
fn seen(text: &str) -> Value {
    let mut value = Value::Object(
        if is_ini(text) { ini_form::read(text).unwrap() } else { schema::read(text).unwrap() }.fields,
    );
    let families = value["global"].get("ipFamily").cloned().unwrap_or(json!(["ipv4"]));
    for vcenter in value["vcenter"].as_object_mut().unwrap().values_mut() {
        let vcenter = vcenter.as_object_mut().unwrap();
        vcenter.entry("port").or_insert(json!(443));
        vcenter.entry("ipFamily").or_insert(families.clone());
    }
    value["global"].as_object_mut().unwrap().remove("ipFamily");
    value
}

#[test]
fn sources_become_what_upstream_makes_of_them() {
    let v4 = services(&["172.30.0.0/16", "fd65:172:16::/112"]);
    let v6 = services(&["fd65:172:16::/112", "172.30.0.0/16"]);
    let only_v6 = services(&["fd65:172:16::/112"]);
    let none = services(&[]);
    let plain = status(&[], &[]);
    let (api4, api6) = ("192.168.96.3", "fd65:a1a8:60ad:271c::200");
    let (in4, in6) = ("192.168.96.4", "fd65:a1a8:60ad:271c::201");
    let shared4 = format!(",{api4}/32,{api6}/128,{in4}/32,{in6}/128,fd69::2/128");
    let shared6 = format!(",{api6}/128,{api4}/32,{in6}/128,{in4}/32,fd69::2/128");
    let only6 = format!(",{api6}/128,{in6}/128,fd69::2/128");
    let old_servers = ZONAL.replace(
        "labels:",
        "  old-server-1:\n    server: old-server-1\n    datacenters:\n    - OLD-DC1\n  old-server-2:\n    server: old-server-2\n    datacenters:\n    - OLD-DC2\nlabels:",
    );
    let families = |list: &str| format!("    ipFamily: [{list}]");
    let labels = format!("{INI}\n\n[Labels]\nregion = \"other-region\"\nzone = \"other-zone\"");
    let yaml_plain = yaml_networks("", true, "");
    let cases = [
        (
            "from inside Kubernetes, nothing said",
            plain.clone(),
            None,
            &none,
            with_workspace(),
            INI.to_owned(),
        ),
        ("with networks", plain.clone(), Some(networks(true)), &none, with_workspace(), ini_networks()),
        ("with zones", plain.clone(), Some(zones()), &none, with_workspace(), ini_zonal()),
        ("labels are replaced", plain.clone(), Some(zones()), &none, labels, ini_zonal()),
        ("YAML and INI say the same", plain.clone(), None, &none, YAML.to_owned(), INI.to_owned()),
        ("YAML and INI with zones", plain.clone(), Some(zones()), &none, ZONAL.to_owned(), ini_zonal()),
        (
            "YAML and INI with networks",
            plain.clone(),
            Some(networks(true)),
            &none,
            yaml_plain.clone(),
            ini_networks(),
        ),
        (
            "networks from the cluster",
            plain.clone(),
            Some(networks(true)),
            &none,
            YAML.to_owned(),
            yaml_plain,
        ),
        ("zones from the cluster", plain.clone(), Some(zones()), &none, YAML.to_owned(), ZONAL.to_owned()),
        (
            "two families, IPv4 first",
            status(&[api4, api6], &[in4, in6]),
            Some(networks(true)),
            &v4,
            YAML.to_owned(),
            yaml_networks(&families("ipv4, ipv6"), true, &shared4),
        ),
        (
            "two families, IPv6 first",
            status(&[api6, api4], &[in6, in4]),
            Some(networks(true)),
            &v6,
            YAML.to_owned(),
            yaml_networks(&families("ipv6, ipv4"), true, &shared6),
        ),
        (
            "IPv6 only",
            status(&[api6], &[in6]),
            Some(networks(false)),
            &only_v6,
            YAML.to_owned(),
            yaml_networks(&families("ipv6"), false, &only6),
        ),
        ("removed vCenters go", plain, Some(zones()), &none, old_servers, ZONAL.to_owned()),
    ];
    for (name, status, spec, network, source, same) in cases {
        let once = transform_vsphere(&source, &status, spec.as_ref(), network).unwrap();
        assert_eq!(seen(&once.text), seen(&same), "{name}:\n{}", once.text.as_str());
        let twice = transform_vsphere(&once.text, &status, spec.as_ref(), network).unwrap();
        assert_eq!((&twice.text, twice.changes.len()), (&once.text, 0), "{name}, again");
    }
}

#[test]
fn nothing_another_platform_and_what_is_neither_form_are_refused() {
    let none = services(&[]);
    let error = transform_vsphere("", &status(&[], &[]), None, &none).unwrap_err();
    assert_eq!(error.to_string(), "failed to read the cloud.conf: vSphere config is empty");
    let error = transform_vsphere("", &PlatformStatus::default(), None, &none).unwrap_err();
    assert_eq!(error.to_string(), "invalid platform, expected to be VSphere");
    for text in [":", "just words", "- a list", "{"] {
        let error = transform_vsphere(text, &status(&[], &[]), None, &none).unwrap_err();
        assert!(error.to_string().starts_with("failed to read the cloud.conf"), "{text:?}: {error}");
    }
}

fn refused(text: &str) -> ConfigError {
    transform_vsphere(text, &status(&[], &[]), None, &services(&[])).unwrap_err()
}

#[test]
fn wrong_values_are_told_by_line_and_key() {
    let error =
        refused("[Global]\nport = \"-1\"\n[VirtualCenter \"a\"]\nport = high\ninsecure-flag = perhaps\n");
    let places: Vec<_> = error.problems().iter().map(|p| (p.line.unwrap(), p.key.clone().unwrap())).collect();
    let wanted =
        [(2, "[Global] port"), (4, "[VirtualCenter \"a\"] port"), (5, "[VirtualCenter \"a\"] insecure-flag")];
    assert_eq!(places, wanted.map(|(line, key)| (line, key.to_owned())));
    let error = refused("global:\n  secretName: a\n  password: hunter2\nvcenter:\n  a:\n    port: high\n");
    assert_eq!((error.line(), error.key()), (Some(6), Some("port")), "{error}");
    assert!(!error.to_string().contains("hunter2"));
    let error = refused("[Global]\npassword = \"hunter2\n");
    assert_eq!((error.line(), error.key()), (Some(2), Some("password")), "{error}");
}

#[test]
fn ini_loses_nothing_that_yaml_can_say() {
    let text = "[Global]\napi-disable = true\napi-binding = :43001\nip-family = ipv6\nport = 8443\nsoap-roundtrip-count = 3\n[VirtualCenter \"a\"]\nserver = real\nip-family = ipv4\ndatacenters = \"one, two,,three \"\nthumbprint = x\n";
    let once = transform_vsphere(text, &status(&[], &[]), None, &services(&[])).unwrap();
    let wanted = json!({
        "global": { "apiDisable": true, "apiBinding": ":43001", "ipFamily": ["ipv6"], "port": 8443, "soapRoundtripCount": 3 },
        "vcenter": { "a": { "server": "real", "ipFamily": ["ipv4"], "datacenters": ["one", "two", "three"], "thumbprint": "x" } },
    });
    assert_eq!(Value::Object(schema::read(&once.text).unwrap().fields), wanted);
}

#[test]
fn a_domain_of_a_server_that_is_not_listed_gets_its_vcenter() {
    let spec = spec(json!({
        "vcenters": [{ "server": "a", "datacenters": ["DC1"] }],
        "failureDomains": [
            { "server": "b", "topology": { "datacenter": "DC2" } },
            { "server": "b", "topology": { "datacenter": "DC3" } },
        ],
    }));
    let once = transform_vsphere(MINIMAL_VSPHERE, &status(&[], &[]), Some(&spec), &services(&[])).unwrap();
    let fields = schema::read(&once.text).unwrap().fields;
    assert_eq!(fields["vcenter"]["b"], json!({ "server": "b", "datacenters": ["DC2", "DC3"] }));
    assert_eq!(fields["vcenter"]["a"], json!({ "server": "a", "datacenters": ["DC1"] }));
}

#[test]
fn what_the_configuration_says_of_a_vcenter_beyond_the_cluster_is_kept() {
    let text = "global: {}\nvcenter:\n  tenant:\n    server: test-server\n    insecureFlag: true\n    thumbprint: AA\n    port: 8443\nloadBalancer:\n  size: SMALL\n";
    let spec = spec(json!({ "vcenters": [{ "server": "test-server", "datacenters": ["DC1"] }] }));
    let once = transform_vsphere(text, &status(&[], &[]), Some(&spec), &services(&[])).unwrap();
    let fields = schema::read(&once.text).unwrap().fields;
    let wanted = json!({ "server": "test-server", "insecureFlag": true, "thumbprint": "AA", "port": 8443, "datacenters": ["DC1"] });
    assert_eq!(fields["vcenter"], json!({ "test-server": wanted }));
    assert_eq!(
        fields["loadBalancer"],
        json!({ "size": "SMALL" }),
        "a section of the manager that is none of ours"
    );
}

#[test]
fn a_cluster_that_names_no_vcenter_leaves_those_of_the_configuration() {
    let once = transform_vsphere(
        YAML,
        &status(&[], &[]),
        Some(&VSphereSpec::default()),
        &services(&["10.0.0.0/16"]),
    )
    .unwrap();
    assert_eq!(seen(&once.text), seen(YAML));
}

#[test]
fn texts_that_look_like_other_kinds_stay_texts() {
    let text = "global:\n  secretName: \"true\"\n  user: \"12\"\n  password: \"a: b # c\"\nvcenter:\n  \"10\":\n    datacenters: [\"no\"]\n";
    let once = transform_vsphere(text, &status(&[], &[]), None, &services(&[])).unwrap();
    assert_eq!(schema::read(&once.text).unwrap().fields, schema::read(text).unwrap().fields);
}

#[test]
fn an_address_that_is_none_is_left_out_and_told() {
    let spec = networks(false);
    let once =
        transform_vsphere(YAML, &status(&["nowhere"], &[]), Some(&spec), &services(&["fd00::/112"])).unwrap();
    assert!(once.warnings.iter().any(|warning| warning.what.contains("nowhere")));
    assert!(!once.text.contains("nowhere"));
}

#[test]
fn the_text_is_sorted_and_its_words_are_quoted_where_a_reader_could_mistake_them() {
    let text = "vcenter:\n  b:\n    insecureFlag: yes\n    datacenters: [\"no\", DC 1]\nglobal:\n  secretName: \"0123\"\n";
    let spec = spec(json!({ "nodeNetworking": { "external": {
        "network": "net: a",
        "excludeNetworkSubnetCidr": ["2001:db8:1111:2222:3333:4444:5555:6666/128", "2001:db8:1111:2222:3333:4444:5555:7777/128"],
    } } }));
    let once = transform_vsphere(text, &status(&[], &[]), Some(&spec), &services(&[])).unwrap();
    let wanted = "\
global:
  secretName: \"0123\"
nodes:
  excludeExternalNetworkSubnetCidr: 2001:db8:1111:2222:3333:4444:5555:6666/128,2001:db8:1111:2222:3333:4444:5555:7777/128
  externalVmNetworkName: \"net: a\"
vcenter:
  b:
    datacenters:
    - \"no\"
    - DC 1
    insecureFlag: true
";
    assert_eq!(once.text.as_str(), wanted);
}
