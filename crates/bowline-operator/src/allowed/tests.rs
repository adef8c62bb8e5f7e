use serde_json::{Value, json};

use super::*;
use crate::render::fixture::{PLATFORMS, facts, spec};
use crate::render::{ManagerMode, plain};

const OWN: &str = "registry.example/team/bowline:v0.1.0";

fn refused(fields: &Value) -> NotAllowed {
    Allowed::default().check("main", &spec("OpenStack", "Bowline", fields)).unwrap_err()
}

#[test]
fn what_the_defaults_of_the_resource_name_is_allowed() {
    Allowed::default().check("main", &spec("OpenStack", "Bowline", &json!({}))).unwrap();
}

#[test]
fn a_namespace_is_one_that_an_administrator_listed() {
    for field in ["namespace", "leaseNamespace"] {
        let problem = refused(&json!({ field: "monitoring" }));
        assert_eq!(problem.reason(), "NamespaceNotAllowed");
        let text = problem.to_string();
        assert!(text.contains(&format!("spec.{field}")) && text.contains("monitoring"), "{text}");
        assert!(text.contains("only in kube-system") && text.contains("--allowed-namespaces"), "{text}");
    }
    let allowed = Allowed { allowed_namespaces: vec!["cloud".to_owned()], ..Allowed::default() };
    let fields = json!({ "namespace": "cloud", "leaseNamespace": "cloud" });
    allowed.check("main", &spec("OpenStack", "Bowline", &fields)).unwrap();
    assert!(allowed.check("main", &spec("OpenStack", "Bowline", &json!({}))).is_err());
}

#[test]
fn a_secret_is_one_that_an_administrator_listed() {
    let config = refused(&json!({ "cloudConfig": { "secret": { "name": "bootstrap-token-abcdef" } } }));
    let credentials = refused(&json!({ "credentials": { "name": "admin-token" } }));
    for (problem, field, name) in [
        (config, "spec.cloudConfig.secret", "bootstrap-token-abcdef"),
        (credentials, "spec.credentials", "admin-token"),
    ] {
        assert_eq!(problem.reason(), "SecretNotAllowed");
        let text = problem.to_string();
        assert!(text.contains(field) && text.contains(name) && text.contains("--allowed-secrets"), "{text}");
    }
    let any = Allowed { allowed_secrets: vec!["*".to_owned()], ..Allowed::default() };
    any.check("main", &spec("OpenStack", "Bowline", &json!({ "credentials": { "name": "x" } }))).unwrap();
}

#[test]
fn the_lease_of_another_component_and_the_name_of_openshifts_managers_are_refused() {
    for name in [
        "kube-controller-manager",
        "kube-scheduler",
        "apiserver-abc",
        "bowline-operator",
        "cluster-autoscaler",
        "cilium-operator-resource-lock",
        "bowline-ccm",
        "*",
    ] {
        let problem = refused(&json!({ "leaseName": name }));
        assert_eq!(problem.reason(), "LeaseNotAllowed", "{name}");
        assert!(problem.to_string().contains("--allowed-leases"), "{problem}");
    }
    for name in ["cloud-controller-manager", "rke2-cloud-controller-manager", "bowline-ccm-second"] {
        let spec = spec("OpenStack", "Bowline", &json!({ "leaseName": name }));
        Allowed::default().check("main", &spec).unwrap();
    }
    let spec = spec("OpenStack", "Bowline", &json!({}));
    let problem = Allowed::default().check(openshift::OWNER, &spec).unwrap_err();
    assert_eq!(problem.reason(), "NameNotAllowed");
}

#[test]
fn a_lease_that_an_administrator_listed_may_be_named() {
    let old = spec("OpenStack", "Bowline", &json!({ "leaseName": "old" }));
    assert_eq!(Allowed::default().check("main", &old).unwrap_err().reason(), "LeaseNotAllowed");
    for entry in ["old", "*"] {
        let allowed = Allowed { allowed_leases: vec![entry.to_owned()], ..Allowed::default() };
        allowed.check("main", &old).unwrap();
    }
}

fn may_run(registries: &[&str], image: &str) -> bool {
    let allowed_image_registries = registries.iter().map(|each| (*each).to_owned()).collect();
    Allowed { allowed_image_registries, ..Allowed::default() }.may_run(image, Some(OWN))
}

#[test]
fn without_a_list_only_our_own_repository_and_upstreams_are_run() {
    for image in [
        OWN,
        "registry.example/team/bowline",
        "registry.example/team/bowline:v2",
        "registry.example/team/bowline@sha256:00",
        "registry.k8s.io/provider-os/openstack-cloud-controller-manager:v1.36.0",
        "mcr.microsoft.com/oss/kubernetes/azure-cloud-node-manager:v1.33.0",
    ] {
        assert!(may_run(&[], image), "{image}");
    }
    for image in [
        "",
        "bowline:v1",
        "registry.example/bowline:v1",
        "registry.example/team/bowline-x:v1",
        "registry.example/team/bowline/x:v1",
        "registry.example:5000/team/bowline:v1",
        "evil.example/registry.example/team/bowline:v1",
        "registry.example/team/bowline/../../evil",
        "registry.example/team/bowline:v1/evil",
        "registry.k8s.io/provider-os/other:v1",
        "registry.example/team/bowline v1",
    ] {
        assert!(!may_run(&[], image), "{image}");
    }
    // What a version makes of an image without a registry.
    let own = Some("bowline:v1");
    assert!(Allowed::default().may_run("bowline:v2", own));
    assert!(Allowed::default().may_run("docker.io/library/bowline:v2", own));
    assert!(!Allowed::default().may_run("bowline:5000/evil", own));
    assert!(!Allowed::default().may_run("bowline", None));
}

#[test]
fn an_entry_ends_where_a_part_of_a_name_ends() {
    for (entry, image, is_allowed) in [
        ("registry.corp", "registry.corp/a/b:v1", true),
        ("registry.corp/", "registry.corp/a/b:v1", true),
        ("registry.corp", "registry.corp.evil.example/a:v1", false),
        ("registry.corp", "registry.corp:5000/a:v1", false),
        ("registry.corp/team", "registry.corp/team/a@sha256:00", true),
        ("registry.corp/team", "registry.corp/team-b/a", false),
        ("registry.corp/team/a", "registry.corp/team/a:v1", true),
        ("docker.io/library", "anything", true),
        ("", "registry.corp/a", false),
        ("*", "evil.example/a", true),
    ] {
        assert_eq!(may_run(&[entry], image), is_allowed, "{entry} {image}");
    }
}

#[test]
fn every_container_of_every_workload_is_looked_at() {
    for (platform, manager) in PLATFORMS {
        for form in ["Deployment", "DaemonSet"] {
            let spec = spec(platform, manager, &json!({ "form": form }));
            let objects = plain(&spec, "main", ManagerMode::Full, &facts()).unwrap();
            let problem = Allowed::default().check_images(&objects, Some(OWN)).unwrap_err();
            assert_eq!(problem.reason(), "ImageNotAllowed", "{platform} {form}");
            let listed = vec!["registry.example".to_owned()];
            let allowed = Allowed { allowed_image_registries: listed, ..Allowed::default() };
            allowed.check_images(&objects, Some(OWN)).unwrap();
        }
    }
    let pod = json!({ "initContainers": [{ "image": "evil.example/a" }], "containers": [{ "image": OWN }] });
    let object = json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "x", "namespace": "n" },
        "spec": { "template": { "spec": pod } } });
    let problem =
        Allowed::default().check_images(&[Object::untyped(object).unwrap()], Some(OWN)).unwrap_err();
    assert!(problem.to_string().contains("evil.example/a"), "{problem}");
}
