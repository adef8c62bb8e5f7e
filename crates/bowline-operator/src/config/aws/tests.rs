//! AWS: upstream's eight transformations to the byte, its seven questions about the gate, and errors.

use super::*;

const TAIL: &str = "\
ClusterServiceLoadBalancerHealthProbeMode       = Shared
ClusterServiceSharedLoadBalancerHealthProbePort = 0
";
const EXISTING: &str = "[Global]\nDisableSecurityGroupIngress = true\nZone                        = Foo\n";
const EXISTING_HEAD: &str = "\
[Global]
Zone                                            = Foo
DisableSecurityGroupIngress                     = true
";

fn transformed(text: &str, gates: &FeatureGates) -> String {
    transform_aws(text, gates).unwrap().text.to_string()
}

fn off() -> FeatureGates {
    let mut gates = FeatureGates::default();
    gates.disabled.insert(NLB_GATE.to_owned());
    gates
}

#[test]
fn sources_become_what_upstream_makes_of_them() {
    let none = FeatureGates::default();
    let default = format!("[Global]\nDisableSecurityGroupIngress                     = false\n{TAIL}");
    let existing = format!("{EXISTING_HEAD}{TAIL}");
    let overrides = "
[ServiceOverride \"1\"]
Service         = ec2
Region          = us-west-2
URL             = https://ec2.foo.bar
SigningRegion   = signing_region

[ServiceOverride \"2\"]
Service         = s3
Region          = us-west-1
URL             = https://s3.foo.bar
SigningRegion   = signing_region
";
    let aligned = "
[ServiceOverride \"1\"]
Service       = ec2
Region        = us-west-2
URL           = https://ec2.foo.bar
SigningRegion = signing_region

[ServiceOverride \"2\"]
Service       = s3
Region        = us-west-1
URL           = https://s3.foo.bar
SigningRegion = signing_region
";
    let managed = format!("{existing}NLBSecurityGroupMode                            = Managed\n");
    let cases = [
        ("the default", "[Global]\n\t\t\t".to_owned(), &none, default.clone()),
        ("nothing", String::new(), &none, default),
        ("an existing one", EXISTING.to_owned(), &none, existing.clone()),
        ("overrides", format!("{EXISTING}{overrides}"), &none, format!("{existing}{aligned}")),
        ("gate on", EXISTING.to_owned(), &FeatureGates::on([NLB_GATE]), managed),
        ("gate off", EXISTING.to_owned(), &off(), existing),
    ];
    for (name, source, gates, wanted) in cases {
        assert_eq!(transformed(&source, gates), wanted, "{name}");
    }
}

#[test]
fn families_of_addresses_keep_their_order() {
    for (first, second) in [("ipv4", "ipv6"), ("ipv6", "ipv4")] {
        let source = format!("[Global]\nNodeIPFamilies = {first}\nNodeIPFamilies = {second}\n\t\t\t");
        let wanted = format!(
            "[Global]\nDisableSecurityGroupIngress                     = false\n\
             NodeIPFamilies                                  = {first}\n\
             NodeIPFamilies                                  = {second}\n{TAIL}"
        );
        assert_eq!(transformed(&source, &FeatureGates::default()), wanted);
    }
}

#[test]
fn a_gate_is_on_only_if_somebody_switched_it_on() {
    let cases = [
        ("no name", FeatureGates::on([NLB_GATE]), "", false),
        ("nobody has an opinion", FeatureGates::default(), NLB_GATE, false),
        ("on", FeatureGates::on([NLB_GATE]), NLB_GATE, true),
        ("off", off(), NLB_GATE, false),
        ("another is on", FeatureGates::on(["SomeOtherFeature"]), NLB_GATE, false),
        (
            "another is off",
            FeatureGates { disabled: ["SomeOtherFeature".to_owned()].into(), ..Default::default() },
            NLB_GATE,
            false,
        ),
    ];
    for (name, gates, asked, expected) in cases {
        assert_eq!(gates.is_on(asked), expected, "{name}");
    }
}

#[test]
fn a_second_pass_changes_nothing() {
    let gates = FeatureGates::on([NLB_GATE]);
    let once = transform_aws("[Global]\nVPC = vpc-1\n[ServiceOverride \"b\"]\nService = s3\n[ServiceOverride \"a\"]\nService = ec2\n", &gates).unwrap();
    assert_eq!(once.changes.len(), 2);
    let twice = transform_aws(&once.text, &gates).unwrap();
    assert_eq!((twice.text, twice.changes), (once.text.clone(), Vec::new()));
    assert!(once.text.find("\"a\"") < once.text.find("\"b\""), "ids are sorted: {:?}", once.text);
}

#[test]
fn values_that_gcfg_would_misread_are_quoted() {
    let text = transformed(
        "[Global]\nSupportedTopologyInstanceTypePattern = \"^a;b#\\\\d\"\n",
        &FeatureGates::default(),
    );
    assert!(text.contains("SupportedTopologyInstanceTypePattern            = \"^a;b#\\\\d\"\n"), "{text}");
}

#[test]
fn wrong_values_are_errors_with_line_and_key_and_unknown_keys_are_warnings() {
    let error = transform_aws("[Global]\nZone = a\nDisableSecurityGroupIngress = perhaps\nClusterServiceSharedLoadBalancerHealthProbePort = high\n", &FeatureGates::default()).unwrap_err();
    assert_eq!((error.line(), error.key()), (Some(3), Some("[Global] DisableSecurityGroupIngress")));
    assert_eq!(error.problems().len(), 2);
    let error = transform_aws("[Global]\nZone = \"a\n", &FeatureGates::default()).unwrap_err();
    assert_eq!((error.line(), error.key()), (Some(2), Some("Zone")));
    let once =
        transform_aws("[Global]\nzone = a\nMoon = b\n[Mars]\nx = y\n", &FeatureGates::default()).unwrap();
    assert!(once.text.contains("Zone                                            = a\n"));
    let lines: Vec<_> = once.warnings.iter().map(|warning| warning.line).collect();
    assert_eq!(lines, [Some(3), Some(4)]);
}
