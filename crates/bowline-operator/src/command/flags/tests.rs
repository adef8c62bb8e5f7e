use clap::Parser;

use super::*;

#[derive(Debug, Parser)]
struct Line {
    #[command(flatten)]
    arguments: Arguments,
}

fn parsed(line: &str) -> Result<Arguments, String> {
    let words = std::iter::once("flags").chain(line.split_whitespace());
    Line::try_parse_from(words).map(|line| line.arguments).map_err(|error| error.to_string())
}

fn printed(line: &str) -> String {
    run(&parsed(line).unwrap()).unwrap()
}

#[test]
fn each_component_gets_its_flag_with_the_reason() {
    let kubelet = printed("--component kubelet --kubernetes-version v1.33.4");
    assert!(
        kubelet
            .starts_with("# kubelet of Kubernetes 1.33 on OpenStack\n--cloud-provider=external  (required: ")
    );
    let server = printed("--component kube-apiserver --platform aws --kubernetes-version 1.33");
    assert!(server.contains("no --cloud-provider  (required: "), "{server}");
}

#[test]
fn with_a_distribution_the_steps_are_printed() {
    for name in ["kubeadm", "k3s", "rke2", "talos", "capi"] {
        let text = printed(&format!("--component kubelet --distribution {name}"));
        assert!(text.contains("# To get there\n1. "), "{name}: {text}");
    }
    let text = printed("--component kubelet --distribution openshift --kubernetes-version 4.19");
    assert_eq!(text, "# OpenShift 4.19 sets this itself\nkubelet: --cloud-provider=external\n");
    let text = printed("--component kube-apiserver --distribution openshift");
    assert!(text.contains("no --cloud-provider"), "{text}");
}

#[test]
fn programs_get_json() {
    let text = printed(
        "--component kube-controller-manager --distribution kubeadm --kubernetes-version 1.30 -o json",
    );
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["flags"][0]["flag"], "cloud-provider");
    assert_eq!(value["flags"][0]["value"], "external");
    assert_eq!(value["kubernetesVersion"], "1.30");
    assert!(!value["steps"].as_array().unwrap().is_empty());
}

#[test]
fn what_is_not_known_is_refused_with_what_is() {
    for (line, word) in [
        ("--component kube-proxy", "kube-controller-manager"),
        ("--component kubelet --platform opnstack", "openstack"),
        ("--component kubelet --kubernetes-version new", "1.33"),
        ("--component kubelet --distribution gentoo", "kubeadm"),
        ("", "--component"),
    ] {
        let error = parsed(line).unwrap_err();
        assert!(error.contains(word), "{line}: {error}");
    }
    let error =
        run(&parsed("--component kubelet --kubernetes-version 1.20").unwrap()).unwrap_err().to_string();
    assert!(error.contains("1.20"), "{error}");
    let error =
        run(&parsed("--component kubelet --distribution openshift --kubernetes-version 1.33").unwrap());
    assert!(error.unwrap_err().to_string().contains("4.19"));
}
