//! Hashes: upstream's golden values, what is collected from a pod, and Go's escapes.

use bowline_kube::objects::PodSpec;
use serde_json::{Value, json};

use super::*;

fn pod(value: Value) -> PodSpec {
    serde_json::from_value(value).unwrap()
}

fn config_map(name: &str, data: &Value) -> ConfigMap {
    serde_json::from_value(json!({ "metadata": { "name": name }, "data": data })).unwrap()
}

fn secret(name: &str, data: &Value) -> Secret {
    serde_json::from_value(json!({ "metadata": { "name": name }, "data": data })).unwrap()
}

fn named(config_maps: &[&str], secrets: &[&str]) -> References {
    let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    References { scope: Scope::Compatible, config_maps: set(config_maps), secrets: set(secrets) }
}

fn volumes() -> Value {
    json!([
        { "name": "foo", "secret": { "secretName": "secret" } },
        { "name": "bar", "secret": { "secretName": "secret2" } },
        { "name": "baz", "secret": { "secretName": "secret" } },
        { "name": "fizz", "configMap": { "name": "configmap" } },
        { "name": "fuzz", "configMap": { "name": "configmap2" } },
    ])
}

fn containers() -> [Value; 4] {
    [
        json!({ "name": "foo", "envFrom": [{ "configMapRef": { "name": "envConfigMap" } }] }),
        json!({ "name": "bar", "envFrom": [{ "secretRef": { "name": "envSecret" } }] }),
        json!({ "name": "fizz", "env": [{ "name": "a", "valueFrom": { "configMapKeyRef": { "name": "envConfigMap2", "key": "k" } } }] }),
        json!({ "name": "fuzz", "env": [{ "name": "b", "valueFrom": { "secretKeyRef": { "name": "envSecret2", "key": "k" } } }] }),
    ]
}

#[test]
fn references_are_collected_as_upstream_does() {
    let all = containers();
    let env = named(&["envConfigMap", "envConfigMap2"], &["envSecret", "envSecret2"]);
    let everything = named(
        &["configmap", "configmap2", "envConfigMap", "envConfigMap2"],
        &["envSecret", "envSecret2", "secret", "secret2"],
    );
    let cases = [
        ("an empty pod", json!({ "containers": [] }), named(&[], &[])),
        (
            "volumes",
            json!({ "containers": [], "volumes": volumes() }),
            named(&["configmap", "configmap2"], &["secret", "secret2"]),
        ),
        ("containers", json!({ "containers": all }), env.clone()),
        ("init containers", json!({ "containers": [], "initContainers": all }), env),
        (
            "everything",
            json!({ "containers": &all[..2], "initContainers": &all[2..], "volumes": volumes() }),
            everything,
        ),
    ];
    for (name, value, wanted) in cases {
        assert_eq!(references(Some(&pod(value)), Scope::Compatible), wanted, "{name}");
    }
    assert_eq!(references(None, Scope::Compatible), named(&[], &[]), "no pod at all");
}

#[test]
fn the_pod_of_azure_stack_hub_refers_to_its_credentials_its_configuration_and_its_certificates() {
    let value = json!({
        "initContainers": [{ "name": "azure-inject-credentials", "env": [
            { "name": "AZURE_CLIENT_ID", "valueFrom": { "secretKeyRef": { "name": "azure-cloud-credentials", "key": "azure_client_id" } } },
            { "name": "AZURE_CLIENT_SECRET", "valueFrom": { "secretKeyRef": { "name": "azure-cloud-credentials", "key": "azure_client_secret" } } },
        ] }],
        "containers": [{ "name": "cloud-controller-manager", "env": [{ "name": "CLOUD_CONFIG", "value": "/etc/x" }] }],
        "volumes": [
            { "name": "trusted-ca", "configMap": { "name": "ccm-trusted-ca" } },
            { "name": "config-accm", "configMap": { "name": "cloud-conf" } },
            { "name": "host-etc-kube", "hostPath": { "path": "/etc/kubernetes" } },
            { "name": "cloud-config", "emptyDir": {} },
        ],
    });
    let wanted = named(&["ccm-trusted-ca", "cloud-conf"], &["azure-cloud-credentials"]);
    assert_eq!(references(Some(&pod(value)), Scope::Compatible), wanted);
}

#[test]
fn golden_hashes_are_met() {
    let foo = config_map("configmap", &json!({ "foo": "bar" }));
    let bar = secret("secret", &json!({ "foo": "YmFy" }));
    let hash = config_hash(&named(&["configmap"], &["secret"]), &[foo], &[bar]).unwrap();
    assert_eq!(hash, "c7f9345a2f1d730784440ab608460066f1c6f5af4662de2a5ff61e1cd81d5bad");
    let nothing = config_hash(&References::default(), &[], &[]).unwrap();
    assert_eq!(nothing, "100444e91862dd77d7ebe29f050c1e9a7f357c771e1a7b7650aae27e6a3a031d");
}

#[test]
fn what_is_missing_is_named_all_of_it() {
    let error = config_hash(&named(&["configmap"], &["secret"]), &[], &[]).unwrap_err().to_string();
    assert_eq!(error, "configmaps \"configmap\" not found, secrets \"secret\" not found");
}

#[test]
fn only_what_is_referred_to_counts() {
    let both = [config_map("a", &json!({ "k": "v" })), config_map("b", &json!({ "k": "other" }))];
    let one = config_hash(&named(&["a"], &[]), &both, &[]).unwrap();
    assert_eq!(one, config_hash(&named(&["a"], &[]), &both[..1], &[]).unwrap());
    assert_ne!(one, config_hash(&named(&["a", "b"], &[]), &both, &[]).unwrap());
    let changed = [config_map("a", &json!({ "k": "w" }))];
    assert_ne!(one, config_hash(&named(&["a"], &[]), &changed, &[]).unwrap());
}

#[test]
fn texts_are_escaped_as_go_does_and_no_data_is_null() {
    let text = go_json(&json!({ "k": "<a>&\u{2028}\u{2029}\"\n" })).unwrap();
    assert_eq!(text, "{\"k\":\"\\u003ca\\u003e\\u0026\\u2028\\u2029\\\"\\n\"}");
    let none = config_hash(&named(&["a"], &[]), &[config_map("a", &Value::Null)], &[]).unwrap();
    assert_eq!(none, sha256("{\"configMaps\":{\"a\":null},\"secrets\":{}}"));
}

#[test]
fn the_complete_scope_sees_projections_and_binary_data() {
    let value = json!({ "containers": [], "volumes": [
        { "name": "p", "projected": { "sources": [
            { "configMap": { "name": "one" } }, { "secret": { "name": "two" } }, { "serviceAccountToken": { "path": "t" } },
        ] } },
        { "name": "c", "csi": { "driver": "d", "nodePublishSecretRef": { "name": "three" } } },
    ] });
    let pod = pod(value);
    assert_eq!(references(Some(&pod), Scope::Compatible), named(&[], &[]));
    let complete = references(Some(&pod), Scope::Complete);
    assert_eq!((complete.config_maps.len(), complete.secrets.len()), (1, 2));
    let mut object = config_map("one", &json!({ "k": "v" }));
    let hash = |object: &ConfigMap, scope| {
        let references = References { scope, ..named(&["one"], &[]) };
        config_hash(&references, std::slice::from_ref(object), &[]).unwrap()
    };
    let before = (hash(&object, Scope::Compatible), hash(&object, Scope::Complete));
    assert_eq!(before.0, before.1, "without binary data both are the same");
    object.binary_data = Some([("b".to_owned(), ByteString(vec![1]))].into());
    assert_eq!(hash(&object, Scope::Compatible), before.0);
    assert_ne!(hash(&object, Scope::Complete), before.1);
}

#[test]
fn a_specification_has_a_hash_of_its_own() {
    let whole = |name: &str| -> k8s_openapi::api::core::v1::PodSpec {
        serde_json::from_value(json!({ "containers": [{ "name": name }] })).unwrap()
    };
    let one = spec_hash(&whole("a")).unwrap();
    let two = spec_hash(&whole("b")).unwrap();
    assert_eq!(one.len(), 64);
    assert_ne!(one, two);
}
