//! OpenShift's operators: upstream's cases of 4.15, the releases around it, and ownership.

use serde_json::json;

use super::*;

fn status(value: Value) -> PlatformStatus {
    serde_json::from_value(value).unwrap()
}

fn of(platform: &str) -> PlatformStatus {
    status(json!({ "type": platform }))
}

fn external(state: &str) -> PlatformStatus {
    status(json!({ "type": "External", "external": { "cloudControllerManager": { "state": state } } }))
}

fn manager(status: &PlatformStatus, minor: u32, gates: &FeatureGates) -> Option<&'static str> {
    openshift_cloud_provider(Component::ControllerManager, Some(status), minor, Some(gates)).unwrap()
}

#[test]
fn the_control_plane_of_4_15_is_started_as_upstream_does() {
    let off = FeatureGates::default();
    let on = FeatureGates::on(["ExternalCloudProvider"]);
    let azure = FeatureGates::on(["ExternalCloudProvider", "ExternalCloudProviderAzure"]);
    let theirs = FeatureGates::on(["ExternalCloudProvider", "ExternalCloudProviderExternal"]);
    let hub = status(json!({ "type": "Azure", "azure": { "cloudName": "AzureStackCloud" } }));
    let cases = [
        ("AWS with the gate", of("AWS"), &on, Some("external")),
        ("AWS", of("AWS"), &off, Some("external")),
        ("AlibabaCloud", of("AlibabaCloud"), &off, Some("external")),
        ("Nutanix", of("Nutanix"), &off, Some("external")),
        ("Azure", of("Azure"), &off, Some("azure")),
        ("Azure with the gates", of("Azure"), &azure, Some("external")),
        ("Azure Stack Hub", hub, &off, Some("external")),
        ("BareMetal", of("BareMetal"), &off, None),
        ("Libvirt", of("Libvirt"), &off, None),
        ("OpenStack", of("OpenStack"), &off, Some("external")),
        ("OpenStack with the gate", of("OpenStack"), &on, Some("external")),
        ("GCP", of("GCP"), &off, Some("gce")),
        ("IBMCloud", of("IBMCloud"), &off, Some("external")),
        ("PowerVS", of("PowerVS"), &off, Some("external")),
        ("KubeVirt", of("KubeVirt"), &off, Some("external")),
        ("None", of("None"), &off, None),
        ("External, state External", external("External"), &theirs, Some("external")),
        ("External, state None", external("None"), &theirs, None),
        ("an empty platform", of(""), &off, None),
    ];
    for (name, status, gates, wanted) in cases {
        assert_eq!(manager(&status, 15, gates), wanted, "{name}");
    }
    let unknown = openshift_cloud_provider(Component::ControllerManager, None, 15, Some(&on));
    assert_eq!(unknown, Err(ExternalError::NoPlatformStatus));
}

#[test]
fn from_4_16_on_the_control_plane_has_no_flag_and_kubelets_keep_theirs() {
    let gates = FeatureGates::default();
    for component in [Component::ControllerManager, Component::ApiServer] {
        assert_eq!(openshift_cloud_provider(component, Some(&of("AWS")), 16, Some(&gates)), Ok(None));
        assert_eq!(
            openshift_cloud_provider(component, Some(&of("AWS")), 15, Some(&gates)),
            Ok(Some("external"))
        );
    }
    let kubelet = |platform: &str, minor| {
        openshift_cloud_provider(Component::Kubelet, Some(&of(platform)), minor, Some(&gates)).unwrap()
    };
    assert_eq!(kubelet("AWS", 16), Some("external"));
    assert_eq!(kubelet("BareMetal", 16), None);
    assert_eq!(kubelet("GCP", 15), Some("gce"));
}

#[test]
fn kubelets_were_external_from_4_9_and_inside_where_nothing_was_known() {
    let gates = FeatureGates::on(["ExternalCloudProvider"]);
    let kubelet =
        |minor, gates| openshift_cloud_provider(Component::Kubelet, Some(&of("OpenStack")), minor, gates);
    assert_eq!(kubelet(8, Some(&gates)), Ok(Some("openstack")));
    assert_eq!(kubelet(9, Some(&gates)), Ok(Some("external")));
    let azure = openshift_cloud_provider(Component::Kubelet, Some(&of("Azure")), 14, None);
    assert_eq!(azure, Ok(Some("azure")), "gates that are not known were taken for off");
    assert_eq!(openshift_cloud_provider(Component::Kubelet, None, 15, None), Ok(None));
}

#[test]
fn openstack_was_inside_until_4_11() {
    let gates = FeatureGates::default();
    assert_eq!(manager(&of("OpenStack"), 11, &gates), Some("openstack"));
    assert_eq!(manager(&of("OpenStack"), 12, &gates), Some("external"));
}

#[test]
fn ownership_is_read_from_the_configuration() {
    let cases = [
        (r#"{"extendedArguments":{"cloud-provider":["vsphere"]}}"#, true),
        (r#"{"extendedArguments":{"cloud-provider":["external"]}}"#, false),
        (r#"{"extendedArguments":{"cloud-provider":[""]}}"#, false),
        (r#"{"extendedArguments":{"cluster-name":["x"]}}"#, false),
        (r#"{}"#, false),
        (r#"{"extendedArguments":{"cloud-provider":["external","aws"]}}"#, true),
    ];
    for (config, owns) in cases {
        assert_eq!(owns_cloud_controllers(config), Ok(owns), "{config}");
    }
    for config in [
        "",
        "{",
        r#"{"extendedArguments":[]}"#,
        r#"{"extendedArguments":{"cloud-provider":"aws"}}"#,
        r#"{"extendedArguments":{"cloud-provider":[1]}}"#,
    ] {
        assert!(owns_cloud_controllers(config).is_err(), "{config}");
    }
}
