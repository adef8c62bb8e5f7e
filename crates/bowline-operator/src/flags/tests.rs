//! Flags: the whole matrix of components, platforms, versions and modes; comparing; the steps of each distribution.

use super::*;
use crate::platform::Platform;

const PROVIDER: &str = "cloud-provider";

fn of(
    component: Component,
    platform: &Platform,
    minor: u32,
    mode: Mode,
) -> Result<Vec<Requirement>, FlagsError> {
    requirements(component, platform, minor, mode)
}

/// What is said of `--cloud-provider`, in a letter: `E` external, `e` external or nothing, `-` nothing, `a` better nothing,
/// `I` the name of the provider inside, `G` the same with gates, `x` not possible.
fn letter(component: Component, platform: &Platform, minor: u32, mode: Mode) -> char {
    let Ok(flags) = of(component, platform, minor, mode) else { return 'x' };
    let provider = flags.iter().find(|flag| flag.flag == PROVIDER).unwrap();
    assert!(flags.iter().all(|flag| !flag.why.is_empty()), "every flag has a reason");
    let name = platform.in_tree_name().unwrap_or("no name");
    match (&provider.want, provider.level) {
        (Want::Value(value), Level::Required) if value == "external" => 'E',
        (Want::ValueOrAbsent(value), Level::Required) if value == "external" => 'e',
        (Want::Absent, Level::Required) => '-',
        (Want::Absent, Level::Advised) => 'a',
        (Want::Value(value), Level::Required) if value == name => {
            if flags.iter().any(|flag| flag.flag == "feature-gates") { 'G' } else { 'I' }
        }
        other => panic!("{other:?}"),
    }
}

const NEVER: &str = "xxxxxxxxxxxxxx";
const LATE: &str = "IIIIIIGGxxxxxx";

/// Every platform: whether it has a manager, and in which of 1.23 to 1.36 Kubernetes had its provider inside.
const PLATFORMS: [(&str, bool, &str); 16] = [
    ("AlibabaCloud", true, NEVER),
    ("AWS", true, "IIIIxxxxxxxxxx"),
    ("Azure", true, LATE),
    ("BareMetal", false, NEVER),
    ("EquinixMetal", false, NEVER),
    ("External", true, NEVER),
    ("GCP", true, LATE),
    ("IBMCloud", true, NEVER),
    ("KubeVirt", true, NEVER),
    ("Libvirt", false, NEVER),
    ("None", false, NEVER),
    ("Nutanix", true, NEVER),
    ("OpenStack", true, "IIIxxxxxxxxxxx"),
    ("oVirt", false, NEVER),
    ("PowerVS", true, NEVER),
    ("VSphere", true, LATE),
];

#[test]
fn every_component_has_its_flag_on_every_platform_in_every_version_and_mode() {
    assert_eq!(PLATFORMS.len(), Platform::all().count());
    for (name, has_manager, inside) in PLATFORMS {
        let platform = Platform::from_openshift(name);
        let kubelet = if has_manager { "EEEEEEEEEEEEEE" } else { "--------------" };
        let manager = if has_manager { "EEEEEEEEeeeeee" } else { "aaaaaaaaaaaaaa" };
        let server = "aaaaaaaaaa----";
        let rows = [
            (Component::Kubelet, kubelet),
            (Component::ControllerManager, manager),
            (Component::ApiServer, server),
        ];
        for (component, row) in rows {
            let found = |mode| -> String {
                (23..=36).map(|minor| letter(component, &platform, minor, mode)).collect()
            };
            assert_eq!(found(Mode::External), row, "{component} on {name}, external");
            assert_eq!(found(Mode::Fresh), row, "{component} on {name}, fresh");
            assert_eq!(found(Mode::InTree), inside, "{component} on {name}, inside");
        }
    }
}

fn printed(component: Component, platform: &Platform, minor: u32, mode: Mode) -> Vec<String> {
    let flags = of(component, platform, minor, mode).unwrap();
    flags.iter().map(|flag| flag.to_string().split("  (").next().unwrap().to_owned()).collect()
}

#[test]
fn the_other_flags_follow_version_and_mode() {
    use Component::{ControllerManager, Kubelet};
    let node_ip = "--node-ip=<the node's own address, not 0.0.0.0 or ::>";
    for (minor, is_advised) in [(28, false), (29, true), (31, true), (32, false)] {
        let flags = printed(Kubelet, &Platform::OpenStack, minor, Mode::Fresh);
        assert_eq!(flags.contains(&node_ip.to_owned()), is_advised, "1.{minor}: {flags:?}");
    }
    let volumes = |platform: &Platform, minor, mode| {
        printed(ControllerManager, platform, minor, mode)
            .into_iter()
            .find(|flag| flag.contains("volume"))
            .unwrap()
    };
    assert_eq!(volumes(&Platform::OpenStack, 25, Mode::External), "--external-cloud-volume-plugin=openstack");
    assert_eq!(volumes(&Platform::OpenStack, 26, Mode::External), "no --external-cloud-volume-plugin");
    assert_eq!(volumes(&Platform::OpenStack, 25, Mode::Fresh), "no --external-cloud-volume-plugin");
    assert_eq!(volumes(&Platform::Aws, 25, Mode::External), "no --external-cloud-volume-plugin");
    assert_eq!(volumes(&Platform::VSphere, 31, Mode::External), "no --external-cloud-volume-plugin");
    let inside = printed(Kubelet, &Platform::Gcp, 29, Mode::InTree);
    let gates = "--feature-gates=DisableCloudProviders=false,DisableKubeletCloudCredentialProviders=false";
    assert_eq!(inside, ["--cloud-provider=gce", "--cloud-config=/etc/kubernetes/cloud.conf", gates]);
}

#[test]
fn what_is_not_possible_says_what_is() {
    let error = of(Component::Kubelet, &Platform::OpenStack, 26, Mode::InTree).unwrap_err();
    assert_eq!(
        error.to_string(),
        "Kubernetes 1.26 has no provider for OpenStack inside; use a cloud-controller-manager"
    );
    assert_eq!(
        of(Component::Kubelet, &Platform::OpenStack, 22, Mode::Fresh).unwrap_err(),
        FlagsError::TooOld { minor: 22 }
    );
}

#[test]
fn components_are_named_as_their_programs() {
    for component in Component::ALL {
        assert_eq!(component.name().parse(), Ok(component));
    }
    assert!("scheduler".parse::<Component>().unwrap_err().contains("kube-apiserver"));
}

fn different(component: Component, minor: u32, arguments: &[&str]) -> Vec<(&'static str, Option<String>)> {
    let arguments: Vec<String> = arguments.iter().map(|argument| (*argument).to_owned()).collect();
    let flags = of(component, &Platform::OpenStack, minor, Mode::External).unwrap();
    differences(&flags, &arguments).into_iter().map(|d| (d.requirement.flag, d.found)).collect()
}

#[test]
fn arguments_are_compared_however_they_are_written() {
    use Component::{ApiServer, ControllerManager, Kubelet};
    assert_eq!(different(Kubelet, 34, &["kubelet", "--cloud-provider=external"]), []);
    assert_eq!(different(Kubelet, 34, &["kubelet", "--cloud-provider", "external"]), []);
    assert_eq!(different(Kubelet, 34, &["kubelet"]), [(PROVIDER, None)]);
    let twice = ["--cloud-provider=openstack", "--cloud-provider=external"];
    assert_eq!(different(Kubelet, 34, &twice), [], "the last one counts");
    let inside = different(ControllerManager, 25, &["--cloud-provider=openstack", "--cloud-config=/x"]);
    assert_eq!(inside, [(PROVIDER, Some("openstack".to_owned()))], "what is conditional is not asked for");
    assert_eq!(different(ControllerManager, 34, &["--cloud-provider="]), []);
    assert_eq!(different(ControllerManager, 34, &[]), []);
    assert_eq!(
        different(ApiServer, 33, &["--cloud-provider=external"]),
        [(PROVIDER, Some("external".to_owned()))]
    );
    assert_eq!(different(Kubelet, 30, &["--cloud-provider=external"]), [("node-ip", None)]);
}

#[test]
fn gates_are_found_among_others() {
    let flags = of(Component::Kubelet, &Platform::VSphere, 29, Mode::InTree).unwrap();
    let base = ["--cloud-provider=vsphere", "--cloud-config=/etc/kubernetes/cloud.conf"];
    let with = |gates: &str| -> Vec<String> {
        base.iter().map(|text| (*text).to_owned()).chain([format!("--feature-gates={gates}")]).collect()
    };
    let both = "Other=true, DisableKubeletCloudCredentialProviders=false,DisableCloudProviders=false";
    assert_eq!(differences(&flags, &with(both)), []);
    assert_eq!(differences(&flags, &with("DisableCloudProviders=false")).len(), 1);
}

#[test]
fn every_distribution_has_steps_for_every_component_and_change() {
    for distribution in Distribution::ALL {
        for component in Component::ALL {
            for change in [Change::to_external(), Change::Set("openstack".to_owned()), Change::Remove] {
                let found = steps(distribution, component, &change, 30);
                assert!(found.len() >= 2, "{} {component} {change:?}", distribution.name());
                assert!(found.iter().all(|step| !step.why.is_empty() && !step.place.is_empty()));
                let text = render(&found);
                let told = match &change {
                    Change::Set(value) => {
                        text.contains(value.as_str())
                            || text.contains("disable-cloud-controller: true")
                            || text.contains("enabled: true")
                    }
                    Change::Remove => text.contains("Remove") || text.contains("enabled: false"),
                };
                assert!(told, "{} {component} {change:?}:\n{text}", distribution.name());
            }
        }
    }
}

#[test]
fn kubeadm_writes_lists_from_1_31_and_regenerates_one_node_at_a_time() {
    let text = |minor| {
        render(&steps(Distribution::Kubeadm, Component::ControllerManager, &Change::to_external(), minor))
    };
    assert!(
        text(31).contains("extraArgs:\n      - name: cloud-provider\n        value: external"),
        "{}",
        text(31)
    );
    assert!(text(30).contains("extraArgs:\n      cloud-provider: external"), "{}", text(30));
    assert!(text(30).contains("kubeadm init phase control-plane controller-manager"));
    assert!(text(30).starts_with("1. Where kubectl reaches the cluster, edit the ClusterConfiguration in ConfigMap kube-system/kubeadm-config:\n"));
    assert!(text(30).contains("On each control-plane node, one after the other"));
    let kubelet = render(&steps(Distribution::Kubeadm, Component::Kubelet, &Change::to_external(), 34));
    assert!(kubelet.contains("/var/lib/kubelet/kubeadm-flags.env"));
    assert!(kubelet.contains("--cloud-provider=external"));
    let server = render(&steps(Distribution::Kubeadm, Component::ApiServer, &Change::Remove, 32));
    assert!(server.contains("kubeadm init phase control-plane apiserver"), "{server}");
}

#[test]
fn what_each_distribution_has_of_its_own_is_in_its_steps() {
    let text = |distribution, component| render(&steps(distribution, component, &Change::to_external(), 34));
    let k3s = text(Distribution::K3s, Component::ControllerManager);
    assert!(k3s.contains("disable-cloud-controller: true") && k3s.contains("servicelb"), "{k3s}");
    let nodes = text(Distribution::K3s, Component::Kubelet);
    assert!(nodes.contains("k3s://") && nodes.contains("kubectl delete node"), "{nodes}");
    let rke2 = text(Distribution::Rke2, Component::Kubelet);
    assert!(rke2.contains("/etc/rancher/rke2/config.yaml") && rke2.contains("rke2-agent"), "{rke2}");
    assert!(rke2.contains("- cloud-provider=external"), "{rke2}");
    let talos = text(Distribution::Talos, Component::Kubelet);
    assert!(talos.contains("externalCloudProvider:\n        enabled: true"), "{talos}");
    let capi = text(Distribution::ClusterApi, Component::Kubelet);
    assert!(capi.contains("KubeadmConfigTemplate") && capi.contains("KubeadmControlPlane"), "{capi}");
}
