//! Platforms: upstream's 19 cases, the releases before, names and detection.

use serde_json::{Value, json};

use super::*;
use crate::feature_gates::FeatureGates;
use crate::infrastructure::PlatformStatus;

fn status(text: Value) -> PlatformStatus {
    serde_json::from_value(text).unwrap()
}

fn of(platform: &str) -> PlatformStatus {
    status(json!({ "type": platform }))
}

fn external(state: &str) -> PlatformStatus {
    status(json!({ "type": "External", "external": { "cloudControllerManager": { "state": state } } }))
}

fn stack_hub() -> PlatformStatus {
    status(json!({ "type": "Azure", "azure": { "cloudName": "AzureStackCloud" } }))
}

#[test]
fn today_is_external_as_upstream_decides() {
    let cases = [
        ("OpenStack", of("OpenStack"), true),
        ("AWS", of("AWS"), true),
        ("AlibabaCloud", of("AlibabaCloud"), true),
        ("IBMCloud", of("IBMCloud"), true),
        ("Nutanix", of("Nutanix"), true),
        ("External, state External", external("External"), true),
        ("External, state None", external("None"), false),
        ("External, state empty", status(json!({ "type": "External", "external": {} })), false),
        ("External, nothing said", of("External"), false),
        ("PowerVS", of("PowerVS"), true),
        ("KubeVirt", of("KubeVirt"), true),
        ("Azure", of("Azure"), true),
        ("Azure Stack Hub", stack_hub(), true),
        ("BareMetal", of("BareMetal"), false),
        ("Libvirt", of("Libvirt"), false),
        ("GCP", of("GCP"), true),
        ("vSphere", of("VSphere"), true),
        ("None", of("None"), false),
    ];
    for (name, status, expected) in cases {
        assert_eq!(is_external(Some(&status)), Ok(expected), "{name}");
    }
}

#[test]
fn a_cluster_without_platform_status_has_no_answer() {
    let error = is_external(None).unwrap_err();
    assert_eq!(error.to_string(), "platformStatus is required");
}

#[test]
fn platforms_that_upstream_has_no_case_for_are_not_external() {
    for name in ["oVirt", "EquinixMetal", "SomethingNew", ""] {
        assert_eq!(is_external(Some(&of(name))), Ok(false), "{name}");
    }
}

/// The history of OpenShift: G is decided by gates, A always, N never, S by the platform's state, B by state and gate.
/// Columns are 4.8, 4.9, 4.10, 4.11, 4.12, 4.13, 4.14, 4.15, 4.16, 4.17.
#[test]
fn every_release_has_decided_as_its_library_did() {
    let table = [
        ("AWS", "GGGGGGAAAA"),
        ("OpenStack", "GGGGAAAAAA"),
        ("Azure", "NGGGGGGGAA"),
        ("ASH", "NAAAAAAAAA"),
        ("GCP", "NNGGGGGGAA"),
        ("VSphere", "NNGGGAAAAA"),
        ("IBMCloud", "NNAAAAAAAA"),
        ("AlibabaCloud", "NNAAAAAAAA"),
        ("PowerVS", "NNAAAAAAAA"),
        ("KubeVirt", "NNNNAAAAAA"),
        ("Nutanix", "NNNNNAAAAA"),
        ("External", "NNNNNNBBSS"),
        ("BareMetal", "NNNNNNNNNN"),
        ("None", "NNNNNNNNNN"),
        ("Libvirt", "NNNNNNNNNN"),
        ("oVirt", "NNNNNNNNNN"),
        ("EquinixMetal", "NNNNNNNNNN"),
    ];
    for (name, letters) in table {
        let status = if name == "ASH" { stack_hub() } else { of(name) };
        for (minor, letter) in (8..).zip(letters.chars()) {
            let found = match rule(&status, minor) {
                Rule::Never => 'N',
                Rule::Gated(_) => 'G',
                Rule::ByState([]) => 'S',
                Rule::ByState(_) => 'B',
                Rule::Always => 'A',
            };
            assert_eq!(found, letter, "{name} in 4.{minor}");
        }
        assert_eq!(rule(&status, 7), Rule::Never, "{name} in 4.7");
    }
}

#[test]
fn gates_decide_by_the_names_of_their_release() {
    let cases = [
        ("AWS", 8, "ExternalCloudProvider", true),
        ("AWS", 8, "ExternalCloudProviderAWS", false),
        ("GCP", 13, "ExternalCloudProviderGCP", false),
        ("GCP", 14, "ExternalCloudProviderGCP", true),
        ("GCP", 15, "ExternalCloudProvider", true),
        ("Azure", 14, "ExternalCloudProviderAzure", true),
        ("Azure", 14, "ExternalCloudProvider", true),
        ("Azure", 14, "ExternalCloudProviderGCP", false),
    ];
    for (platform, minor, gate, expected) in cases {
        let gates = FeatureGates::on([gate]);
        assert_eq!(
            is_external_at(Some(&of(platform)), minor, Some(&gates)),
            Ok(expected),
            "{platform} 4.{minor} {gate}"
        );
    }
    let gates = FeatureGates::on(["ExternalCloudProviderExternal"]);
    assert_eq!(is_external_at(Some(&external("External")), 14, Some(&gates)), Ok(true));
    assert_eq!(is_external_at(Some(&external("None")), 14, Some(&gates)), Ok(false));
    assert_eq!(is_external_at(Some(&external("External")), 14, Some(&FeatureGates::default())), Ok(false));
}

#[test]
fn an_explicit_no_wins_until_4_13_and_unread_gates_are_an_error_from_4_14() {
    let mut gates = FeatureGates::on([GATE]);
    gates.disabled.insert(GATE.to_owned());
    assert_eq!(is_external_at(Some(&of("AWS")), 13, Some(&gates)), Ok(false));
    assert_eq!(is_external_at(Some(&of("GCP")), 14, Some(&gates)), Ok(true));
    assert_eq!(is_external_at(Some(&of("AWS")), 13, None), Ok(false));
    let error = is_external_at(Some(&of("GCP")), 14, None).unwrap_err();
    assert_eq!(error, ExternalError::NoFeatureGates);
    assert_eq!(is_external_at(Some(&of("AWS")), 14, None), Ok(true), "no gate is asked where none decides");
}

#[test]
fn kubernetes_lost_its_providers_one_after_the_other() {
    let table = [
        (Platform::OpenStack, 25, InTree::Usable),
        (Platform::OpenStack, 26, InTree::Gone),
        (Platform::Aws, 26, InTree::Usable),
        (Platform::Aws, 27, InTree::Gone),
        (Platform::Azure, 28, InTree::Usable),
        (Platform::Gcp, 29, InTree::SwitchedOff),
        (Platform::VSphere, 30, InTree::SwitchedOff),
        (Platform::VSphere, 31, InTree::Gone),
        (Platform::Nutanix, 20, InTree::Gone),
    ];
    for (platform, minor, expected) in table {
        assert_eq!(in_tree(&platform, minor), expected, "{platform} in 1.{minor}");
    }
}

#[test]
fn every_platform_is_found_by_both_of_its_names() {
    for platform in Platform::all() {
        assert_eq!(Platform::from_openshift(platform.openshift_name()), platform);
        assert_eq!(Platform::from_name(platform.openshift_name()), Ok(platform.clone()));
        assert_eq!(Platform::from_name(&platform.name()), Ok(platform));
    }
    assert_eq!(Platform::from_name("gce"), Ok(Platform::Gcp));
    assert_eq!(Platform::from_name(" OPENSTACK "), Ok(Platform::OpenStack));
}

#[test]
fn an_unknown_name_is_kept_from_openshift_and_refused_from_people() {
    assert_eq!(Platform::from_openshift("Mars"), Platform::Other("Mars".to_owned()));
    assert_eq!(Platform::from_openshift("Mars").openshift_name(), "Mars");
    assert_eq!(Platform::from_openshift("openstack"), Platform::Other("openstack".to_owned()));
    let error = Platform::from_name("opensatck").unwrap_err().to_string();
    assert!(error.starts_with("no platform is called \"opensatck\"; did you mean openstack?"), "{error}");
    assert!(error.contains("vsphere"), "{error}");
}

#[test]
fn provider_ids_of_each_platform_are_told_apart() {
    let table = [
        ("openstack:///0f1e", Platform::OpenStack),
        ("openstack://region/0f1e", Platform::OpenStack),
        ("aws:///eu-1a/i-0f", Platform::Aws),
        ("gce://project/zone/name", Platform::Gcp),
        ("azure:///subscriptions/0f/resourceGroups/x", Platform::Azure),
        ("vsphere://4203", Platform::VSphere),
        ("ibm://account///cluster/instance", Platform::IbmCloud),
        ("ibmpowervs://region/zone/service/instance", Platform::PowerVs),
        ("nutanix://0f1e", Platform::Nutanix),
    ];
    for (id, platform) in table {
        assert_eq!(detect([Some(id)]).platform(), Some(&platform), "{id}");
    }
}

#[test]
fn one_platform_is_found_among_nodes_without_an_id_and_embedded_ones() {
    let found =
        detect([Some("openstack:///a"), None, Some(""), Some("k3s://b"), Some("rke2://c"), Some("k3s://d")]);
    assert_eq!(found.platform(), Some(&Platform::OpenStack));
    assert_eq!(found.without, 2);
    assert_eq!(found.embedded.get("k3s"), Some(&2));
    assert!(!found.is_ambiguous());
}

#[test]
fn nodes_that_disagree_are_no_answer() {
    let two = detect([Some("openstack:///a"), Some("aws:///b/c")]);
    assert_eq!((two.platform(), two.is_ambiguous()), (None, true));
    let foreign = detect([Some("openstack:///a"), Some("kind://docker/x/y")]);
    assert_eq!((foreign.platform(), foreign.is_ambiguous()), (None, true));
    // A bare id, which OpenStack's parser takes, may be anybody's; so may a scheme with nothing behind it.
    for id in ["0f1e2d3c", "openstack:///", "://x"] {
        let bare = detect([Some(id)]);
        assert_eq!((bare.platform(), bare.unknown.get("")), (None, Some(&1)), "{id}");
    }
    let nothing = detect([None, None]);
    assert_eq!((nothing.platform(), nothing.is_ambiguous(), nothing.without), (None, false, 2));
}
