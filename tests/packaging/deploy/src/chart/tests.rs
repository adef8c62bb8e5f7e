//! The table's own promises: what is said of a value is true of its default, and no value of the other chart is forgotten.

use serde_json::{Value, json};

use super::rows::ROWS;
use super::*;

/// The values of cloud-provider-openstack's chart.
const OF_OCCM: [&str; 38] = [
    "commonAnnotations",
    "imagePullSecrets",
    "image.repository",
    "image.tag",
    "extraInitContainers",
    "extraEnv",
    "resources",
    "livenessProbe",
    "readinessProbe",
    "dnsPolicy",
    "nodeSelector",
    "tolerations",
    "podAnnotations",
    "podLabels",
    "podSecurityContext",
    "enabledControllers",
    "controllerExtraArgs",
    "serviceMonitor.enabled",
    "serviceMonitor.additionalLabels",
    "secret.enabled",
    "secret.create",
    "secret.name",
    "logVerbosityLevel",
    "cloudConfig.global",
    "cloudConfig.networking",
    "cloudConfig.loadBalancer",
    "cloudConfig.blockStorage",
    "cloudConfig.metadata",
    "cloudConfig.route",
    "hostAliases",
    "priorityClassName",
    "extraVolumes",
    "extraVolumeMounts",
    "cluster.name",
    "clusterRoleName",
    "serviceAccountName",
    "serviceAccountAnnotations",
    "hostNetwork",
];

#[test]
fn every_value_of_the_other_chart_has_a_row_that_says_what_becomes_of_it() {
    for path in OF_OCCM {
        let row = ROWS.iter().find(|row| row.path == path).unwrap_or_else(|| panic!("no row for {path}"));
        assert_ne!(row.occm, Occm::New, "{path}");
    }
}

#[test]
fn values_yaml_is_what_the_schema_names_as_defaults() {
    let values: Value = serde_saphyr::from_str(&values().unwrap()).unwrap();
    let schema = schema::tree().unwrap();
    for row in ROWS {
        let pointer = format!("/{}", row.path.replace('.', "/"));
        let of_schema = format!("/properties/{}/default", row.path.replace('.', "/properties/"));
        assert!(values.pointer(&pointer).is_some(), "{} in values.yaml", row.path);
        assert_eq!(values.pointer(&pointer), schema.pointer(&of_schema), "{}", row.path);
    }
}

#[test]
fn the_schema_refuses_what_it_does_not_know_in_every_group_and_section() {
    let schema = schema::tree().unwrap();
    for place in [
        "",
        "/properties/image",
        "/properties/secret",
        "/properties/cloudConfig",
        "/properties/cloudConfig/properties/global",
    ] {
        assert_eq!(schema.pointer(&format!("{place}/additionalProperties")), Some(&json!(false)), "{place}");
    }
}

#[test]
fn the_rights_of_the_chart_are_those_of_the_shipped_manifest() {
    let templates = rights().unwrap();
    let shipped = bowline_manager::rbac::manifest("kube-system", "cloud-controller-manager").unwrap();
    let rules: Vec<Value> = shipped
        .split("---\n")
        .skip(1)
        .map(|document| serde_saphyr::from_str::<Value>(document).unwrap())
        .flat_map(|document| document["rules"].as_array().cloned().unwrap_or_default())
        .collect();
    let of_template = |name: &str| -> Vec<Value> {
        let begin = format!("{{{{- define \"bowline.rights.{name}\" -}}}}\n");
        let text = templates.split(&begin).nth(1).unwrap().split("{{- end }}").next().unwrap();
        let text = text.replace("{{ .Values.leaderElection.name }}", "cloud-controller-manager");
        serde_saphyr::from_str(&text).unwrap()
    };
    let ours: Vec<Value> = ["cluster", "lease", "system"].into_iter().flat_map(of_template).collect();
    assert_eq!(ours, rules);
}

#[test]
fn chart_and_containerfile_have_the_version_of_the_workspace() {
    let version = env!("CARGO_PKG_VERSION");
    let chart = include_str!("../../../../../deploy/chart/Chart.yaml");
    assert!(chart.contains(&format!("\nversion: {version}\n")), "{chart}");
    assert!(chart.contains(&format!("\nappVersion: \"{version}\"\n")), "{chart}");
    let containerfile = include_str!("../../../../../deploy/Containerfile");
    assert!(containerfile.contains(&format!("ARG BOWLINE_VERSION={version}\n")));
}

/// A newer compiler than the oldest that will do: its musl knows packed relocations (`crates/bowline/build.rs`).
#[test]
fn the_containerfile_builds_with_a_compiler_that_the_workspace_takes() {
    let minor = |version: &str| version.strip_prefix("1.")?.split('.').next()?.parse::<u32>().ok();
    let containerfile = include_str!("../../../../../deploy/Containerfile");
    let (_, rest) = containerfile.split_once("/rust:").expect("a compiler's image");
    let (compiler, _) = rest.split_once("-alpine").expect("the image of Alpine");
    let oldest = minor(env!("CARGO_PKG_RUST_VERSION")).expect("the oldest compiler");
    assert!(minor(compiler) >= Some(oldest.max(93)), "{compiler}");
}
