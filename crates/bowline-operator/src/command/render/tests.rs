use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use clap::Parser;

use super::*;

#[derive(Debug, Parser)]
struct Line {
    #[command(flatten)]
    arguments: Arguments,
}

fn parsed(line: &str, out: &Path) -> Result<Arguments, String> {
    let words = std::iter::once("render").chain(line.split_whitespace());
    let out = ["--out".to_owned(), out.display().to_string()];
    let words = words.map(str::to_owned).chain(out);
    Line::try_parse_from(words).map(|line| line.arguments).map_err(|error| error.to_string())
}

fn rendered(line: &str, out: &Path) -> Result<String, String> {
    run(&parsed(line, out).unwrap()).map_err(|error| error.to_string())
}

fn files(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

const OPENSTACK: &str = "--platform openstack --cluster-name prod-1 --image r.example/bowline:v1";

#[test]
fn files_are_numbered_in_the_order_of_applying_and_equal_in_every_run() {
    let folder = tempfile::tempdir().unwrap();
    rendered(OPENSTACK, folder.path()).unwrap();
    let names = files(folder.path());
    assert_eq!(names.first().unwrap(), "01-serviceaccount-cloud-controller-manager.yaml");
    assert_eq!(names.last().unwrap(), "09-service-cloud-controller-manager.yaml");
    let read =
        || names.iter().map(|name| fs::read_to_string(folder.path().join(name)).unwrap()).collect::<Vec<_>>();
    let first = read();
    assert!(
        first.iter().all(|text| text.starts_with("# Rendered by `bowline operator render`.\napiVersion: "))
    );
    rendered(OPENSTACK, folder.path()).unwrap();
    assert_eq!((files(folder.path()), read()), (names.clone(), first));
}

#[test]
fn files_of_others_stay_and_files_of_an_earlier_run_go() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("cloud.conf");
    fs::write(&config, "[Global]\n").unwrap();
    let with_config = format!("{OPENSTACK} --cloud-config {}", config.display());
    rendered(&with_config, folder.path()).unwrap();
    let secret = files(folder.path()).into_iter().find(|name| name.contains("-secret-")).unwrap();
    assert_eq!(fs::metadata(folder.path().join(&secret)).unwrap().permissions().mode() & 0o777, 0o600);
    fs::write(&config, "[Global]\nregion = x\n").unwrap();
    let said = rendered(&with_config, folder.path()).unwrap();
    assert!(said.contains(&format!("removed, from an earlier run: {secret}")), "{said}");
    let names = files(folder.path());
    assert!(names.contains(&"cloud.conf".to_owned()) && !names.contains(&secret), "{names:?}");
    assert_eq!(fs::read_to_string(&config).unwrap(), "[Global]\nregion = x\n");
}

#[test]
fn a_file_of_somebody_else_in_the_place_of_ours_is_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("01-serviceaccount-cloud-controller-manager.yaml");
    fs::write(&path, "mine").unwrap();
    let error = rendered(OPENSTACK, folder.path()).unwrap_err();
    assert!(error.contains("01-serviceaccount"), "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    assert_eq!(files(folder.path()).len(), 1, "nothing else was written");
}

#[test]
fn a_resource_in_a_file_is_rendered_and_flags_overrule_it() {
    let folder = tempfile::tempdir().unwrap();
    let resource = folder.path().join("ccm.yaml");
    let text = "apiVersion: bowline.dev/v1alpha1\nkind: CloudControllerManager\nmetadata:\n  name: cloud\nspec:\n  platform: OpenStack\n  clusterName: prod-1\n  image: r.example/bowline:v1\n  cloudConfig:\n    inline: |\n      [Global]\n";
    fs::write(&resource, text).unwrap();
    let out = folder.path().join("out");
    let line = format!("--config {} --form daemon-set --image r.example/bowline:v2", resource.display());
    rendered(&line, &out).unwrap();
    let names = files(&out);
    let workload = names.iter().find(|name| name.contains("daemonset-cloud")).unwrap();
    assert!(fs::read_to_string(out.join(workload)).unwrap().contains("r.example/bowline:v2"));
    assert!(names.iter().any(|name| name.contains("configmap-cloud-config-")));
}

#[test]
fn a_static_pod_comes_with_the_files_of_the_nodes() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("input.conf");
    fs::write(&config, "[Global]\n").unwrap();
    let line = format!("{OPENSTACK} --form static-pod --cloud-config {}", config.display());
    let said = rendered(&line, folder.path()).unwrap();
    assert!(said.contains("needs /etc/kubernetes/cloud-controller-manager.conf"), "{said}");
    let nodes = folder.path().join("nodes");
    assert!(nodes.join("cloud-controller-manager.yaml").exists());
    let text = fs::read_to_string(nodes.join("etc/kubernetes/cloud-controller-manager/cloud.conf")).unwrap();
    assert_eq!(text, "[Global]\n");
    assert!(!files(folder.path()).iter().any(|name| name.contains("deployment")));
}

#[test]
fn what_cannot_be_rendered_is_told_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let resource = folder.path().join("ccm.yaml");
    let of = |spec: &str| {
        let head = "apiVersion: bowline.dev/v1alpha1\nkind: CloudControllerManager\nmetadata:\n  name: cloud\nspec:\n";
        fs::write(&resource, format!("{head}  platform: OpenStack\n  clusterName: prod-1\n{spec}")).unwrap();
        let out = folder.path().join("out");
        let error = rendered(&format!("--config {}", resource.display()), &out).unwrap_err();
        assert!(!out.exists(), "{error}");
        error
    };
    assert!(of("").contains("spec.image"));
    assert!(of("  image: x\n  cloudConfig:\n    secret:\n      name: s\n").contains("Secret s"));
    assert!(of("  image: x\n  extraFlags: [\"--cluster-name=y\"]\n").contains("--cluster-name"));
    let error = of("  image: x\n  colour: blue\n");
    assert!(error.contains("colour") && error.contains("ccm.yaml"), "{error}");
    let error =
        of("  image: x\n  cloudConfig:\n    inline: |\n      [LoadBalancer]\n      max-shared-lb = many\n");
    assert!(error.contains("max-shared-lb") && error.contains("cloudConfig.inline"), "{error}");
    let out = folder.path().join("out");
    assert!(rendered("--platform baremetal --cluster-name x", &out).unwrap_err().contains("openstack"));
    for (line, words) in [
        ("--platform openstack --image x --cluster-name=-x", "cluster name"),
        ("--platform openstack --image x --cluster-name x --name Cloud", "lower-case letters"),
    ] {
        let error = rendered(line, &out).unwrap_err();
        assert!(error.contains(words) && !out.exists(), "{error}");
    }
    assert!(rendered("--config /does/not/exist", &out).unwrap_err().contains("/does/not/exist"));
    assert!(parsed("--cluster-name x", &out).unwrap_err().contains("--platform"));
    assert!(parsed("--platform openstack", &out).unwrap_err().contains("--cluster-name"));
}

#[test]
fn other_clouds_have_their_own_manager() {
    let folder = tempfile::tempdir().unwrap();
    rendered("--platform aws --cluster-name c --version v1.33.0 --control-plane-nodes 3", folder.path())
        .unwrap();
    let names = files(folder.path());
    let workload = names.iter().find(|name| name.contains("-deployment-")).unwrap();
    let text = fs::read_to_string(folder.path().join(workload)).unwrap();
    assert!(text.contains("registry.k8s.io/provider-aws/cloud-controller-manager:v1.33.0"), "{text}");
    assert!(names.iter().any(|name| name.contains("poddisruptionbudget")));
}
