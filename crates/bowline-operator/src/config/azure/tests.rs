//! Azure and Azure Stack Hub: upstream's cases, and errors with line and key.

use serde_json::json;

use super::*;

fn azure(cloud: &str) -> PlatformStatus {
    serde_json::from_value(json!({ "type": "Azure", "azure": { "cloudName": cloud } })).unwrap()
}

fn read(transformed: &Transformed) -> Value {
    serde_json::from_str(&transformed.text).unwrap()
}

#[test]
fn sources_become_what_upstream_makes_of_them() {
    let cases = [
        ("nothing is set", "AzurePublicCloud", json!({}), "AzurePublicCloud", json!({})),
        (
            "the type of machines is kept",
            "AzurePublicCloud",
            json!({ "vmType": "vmss" }),
            "AzurePublicCloud",
            json!({ "vmType": "vmss" }),
        ),
        (
            "other fields are kept",
            "AzurePublicCloud",
            json!({ "resourceGroup": "test-rg" }),
            "AzurePublicCloud",
            json!({ "resourceGroup": "test-rg" }),
        ),
        ("public", "AzurePublicCloud", json!({ "cloud": "AzurePublicCloud" }), "AzurePublicCloud", json!({})),
        (
            "US",
            "AzureUSGovernmentCloud",
            json!({ "cloud": "AzureUSGovernmentCloud" }),
            "AzureUSGovernmentCloud",
            json!({}),
        ),
        ("China", "AzureChinaCloud", json!({ "cloud": "AzureChinaCloud" }), "AzureChinaCloud", json!({})),
        ("German", "AzureGermanCloud", json!({ "cloud": "AzureGermanCloud" }), "AzureGermanCloud", json!({})),
        (
            "the cluster says nothing",
            "",
            json!({ "cloud": "AzurePublicCloud" }),
            "AzurePublicCloud",
            json!({}),
        ),
        ("empty in the source", "AzurePublicCloud", json!({ "cloud": "" }), "AzurePublicCloud", json!({})),
        (
            "empty, and another cloud",
            "AzureUSGovernmentCloud",
            json!({ "cloud": "" }),
            "AzureUSGovernmentCloud",
            json!({}),
        ),
        (
            "upper case",
            "AzurePublicCloud",
            json!({ "cloud": "AZUREPUBLICCLOUD" }),
            "AzurePublicCloud",
            json!({}),
        ),
    ];
    for (name, cluster, source, cloud, kept) in cases {
        let mut wanted = json!({ "cloud": cloud, "vmType": "standard", "clusterServiceLoadBalancerHealthProbeMode": "shared" });
        wanted.as_object_mut().unwrap().extend(kept.as_object().unwrap().clone());
        let once = transform_azure(&source.to_string(), &azure(cluster)).unwrap();
        assert_eq!(read(&once), wanted, "{name}");
        let twice = transform_azure(&once.text, &azure(cluster)).unwrap();
        assert_eq!((&twice.text, twice.changes.len()), (&once.text, 0), "{name}, again");
    }
}

#[test]
fn clouds_that_do_not_fit_are_refused_in_upstreams_words() {
    let error = transform_azure("{}", &azure("AzureStackCloud")).unwrap_err();
    assert_eq!(error.to_string(), "invalid platform, expected CloudName to be AzurePublicCloud");
    let error = transform_azure("{}", &azure("AzureAnotherCloud")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "status.platformStatus.azure.cloudName: Unsupported value: \"AzureAnotherCloud\": supported values: \"AzureChinaCloud\", \"AzureGermanCloud\", \"AzurePublicCloud\", \"AzureStackCloud\", \"AzureUSGovernmentCloud\""
    );
}

#[test]
fn a_source_that_names_another_cloud_is_refused_with_line_and_key() {
    let text = "{\n  \"x\": {\"cloud\": 1},\n  \"cloud\": \"AzurePublicCloud\"\n}";
    let error = transform_azure(text, &azure("AzureUSGovernmentCloud")).unwrap_err();
    assert_eq!((error.line(), error.key()), (Some(3), Some("cloud")));
    assert!(
        error
            .to_string()
            .contains("\"cloud\" field in user-provided cloud.conf conflicts with infrastructure object"),
        "{error}"
    );
    let yaml = "vmType: vmss\ncloud: AzurePublicCloud\n";
    let error = transform_azure(yaml, &azure("AzureUSGovernmentCloud")).unwrap_err();
    assert_eq!((error.line(), error.key()), (Some(2), Some("cloud")));
}

#[test]
fn stack_hub_gets_a_type_of_machines_only() {
    let hub = azure("AzureStackCloud");
    let standard = transform_azure_stack_hub("{}", &hub).unwrap();
    assert_eq!(read(&standard), json!({ "vmType": "standard" }));
    let chosen = transform_azure_stack_hub("{\"vmType\":\"vmss\"}", &hub).unwrap();
    assert_eq!((read(&chosen), chosen.changes.len()), (json!({ "vmType": "vmss" }), 0));
    let error = transform_azure_stack_hub("{}", &azure("AzurePublicCloud")).unwrap_err();
    assert_eq!(error.to_string(), "invalid platform, expected CloudName to be AzureStackCloud");
}

#[test]
fn a_platform_that_says_nothing_of_azure_is_the_public_cloud_and_another_is_refused() {
    let bare: PlatformStatus = serde_json::from_value(json!({ "type": "Azure" })).unwrap();
    assert_eq!(read(&transform_azure("{}", &bare).unwrap())["cloud"], "AzurePublicCloud");
    let aws: PlatformStatus = serde_json::from_value(json!({ "type": "AWS" })).unwrap();
    assert_eq!(
        transform_azure("{}", &aws).unwrap_err().to_string(),
        "invalid platform, expected to be Azure"
    );
}

#[test]
fn texts_that_are_no_object_are_refused_with_a_line_and_without_a_quote() {
    for (text, line) in [
        ("", Some(1)),
        ("{\n\"aadClientSecret\": \"hunter2\",\n}", Some(3)),
        ("[1]", Some(1)),
        ("a: b\n c: [", None),
    ] {
        let error = transform_azure(text, &azure("")).unwrap_err();
        assert!(line.is_none() || error.line() == line, "{text:?}: {error}");
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
    let error = transform_azure("{\n\"vmType\": 5}", &azure("")).unwrap_err();
    assert_eq!((error.line(), error.key()), (Some(2), Some("vmType")));
}

#[test]
fn keys_in_another_case_are_the_same_key() {
    let once =
        transform_azure("{\"VMType\": \"vmss\", \"Cloud\": \"azurepubliccloud\"}", &azure("")).unwrap();
    let mut wanted = json!({ "cloud": "AzurePublicCloud", "VMType": "vmss" });
    wanted["clusterServiceLoadBalancerHealthProbeMode"] = json!("shared");
    assert_eq!(read(&once), wanted);
}
