//! Which key is taken, what is carried along, and which transformation runs.

use serde_json::{Value, json};

use super::*;

fn data(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

fn origin() -> Origin {
    Origin { namespace: "openshift-config".to_owned(), name: "cloud-provider-config".to_owned() }
}

fn infrastructure(platform: &str, key: &str) -> Infrastructure {
    serde_json::from_value(json!({
        "spec": { "cloudConfig": { "name": "cloud-provider-config", "key": key } },
        "status": { "platformStatus": { "type": platform } },
    }))
    .unwrap()
}

fn synced(
    infrastructure: &Infrastructure,
    gates: &FeatureGates,
    source: Option<BTreeMap<String, String>>,
) -> Result<Synced, ConfigError> {
    sync(source, &origin(), Inputs { infrastructure, network: &ClusterNetwork::default(), gates })
}

#[test]
fn the_key_that_the_cluster_names_becomes_cloud_conf() {
    let found = normalise(data(&[("config", "x"), ("ca-bundle.pem", "y")]), &origin(), "config").unwrap();
    assert_eq!(found, data(&[("cloud.conf", "x"), ("ca-bundle.pem", "y")]));
}

#[test]
fn a_cloud_conf_that_is_there_wins_and_all_keys_stay() {
    let both = data(&[("config", "x"), ("cloud.conf", "z")]);
    assert_eq!(normalise(both.clone(), &origin(), "config").unwrap(), both);
    assert_eq!(normalise(both.clone(), &origin(), "missing").unwrap(), both);
}

#[test]
fn without_a_key_the_configuration_is_empty() {
    assert_eq!(
        normalise(data(&[("a", "b")]), &origin(), "").unwrap(),
        data(&[("a", "b"), ("cloud.conf", "")])
    );
}

#[test]
fn a_key_that_is_not_there_is_an_error_that_names_it() {
    let error = normalise(data(&[("a", "b")]), &origin(), "config").unwrap_err();
    assert_eq!(
        error.to_string(),
        "key config specified in infra resource does not exist in source configmap openshift-config/cloud-provider-config"
    );
    assert_eq!(error.key(), Some("config"));
}

#[test]
fn platforms_of_identity_are_copied_to_the_byte() {
    for platform in ["GCP", "IBMCloud", "PowerVS", "Nutanix"] {
        let text = "[global]\r\n anything = { goes ";
        let found = synced(
            &infrastructure(platform, "config"),
            &FeatureGates::default(),
            Some(data(&[("config", text)])),
        );
        assert_eq!(found.unwrap().data, data(&[("cloud.conf", text)]), "{platform}");
    }
}

#[test]
fn each_platform_has_its_transformation() {
    let gates = FeatureGates::default();
    let of = |platform: &str, text: &str| {
        synced(&infrastructure(platform, ""), &gates, Some(data(&[("cloud.conf", text)]))).unwrap().data["cloud.conf"].clone()
    };
    assert!(of("OpenStack", "").contains("use-clouds  = true"));
    assert!(of("AWS", "").contains("HealthProbeMode       = Shared"));
    assert!(of("Azure", "{}").contains("\"cloud\":\"AzurePublicCloud\""));
    assert!(of("VSphere", "global: {}").contains("global:"));
    let mut hub = infrastructure("Azure", "");
    hub.status.platform_status.as_mut().unwrap().azure =
        Some(crate::infrastructure::AzureStatus { cloud_name: "AzureStackCloud".to_owned() });
    let found = synced(&hub, &gates, Some(data(&[("cloud.conf", "{}"), ("endpoints", "e")]))).unwrap();
    assert_eq!(found.data, data(&[("cloud.conf", "{\"vmType\":\"standard\"}"), ("endpoints", "e")]));
}

#[test]
fn platforms_without_a_manager_and_clusters_without_a_platform_are_refused() {
    let gates = FeatureGates::default();
    assert!(synced(&infrastructure("BareMetal", ""), &gates, None).is_err());
    let error = synced(&Infrastructure::default(), &gates, None).unwrap_err();
    assert_eq!(error, ConfigError::NoPlatform);
}

#[test]
fn a_source_that_is_missing_is_an_empty_configuration_and_a_warning() {
    let found = synced(&infrastructure("OpenStack", "config"), &FeatureGates::default(), None).unwrap();
    assert!(found.data["cloud.conf"].starts_with("[Global]\n"));
    assert!(found.warnings[0].what.contains("openshift-config/cloud-provider-config"));
    let error = synced(&infrastructure("VSphere", "config"), &FeatureGates::default(), None).unwrap_err();
    assert!(error.to_string().contains("vSphere config is empty"));
}

#[test]
fn vsphere_starts_from_a_minimal_configuration_where_we_own_it() {
    let gates = FeatureGates::on([MULTI_VCENTER_GATE]);
    let found = synced(&infrastructure("VSphere", "config"), &gates, None).unwrap();
    let parsed: Value = serde_saphyr::from_str(&found.data["cloud.conf"]).unwrap();
    assert_eq!(parsed, json!({ "global": {}, "vcenter": {} }));
}

#[test]
fn who_is_synced_and_whose_managed_configuration_is_taken() {
    for platform in Platform::all() {
        use Platform as P;
        let wanted =
            [P::Aws, P::Azure, P::Gcp, P::VSphere, P::IbmCloud, P::PowerVs, P::OpenStack, P::Nutanix];
        assert_eq!(needs_sync(&platform), wanted.contains(&platform), "{platform}");
        assert_eq!(prefers_managed(&platform), [P::Aws, P::Azure].contains(&platform), "{platform}");
    }
}
