//! The annotation that rolls pods when what they mount changes: the very value that OpenShift's operator would write, so that
//! taking over a cluster restarts nothing.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{Api, Client};
use serde_json::{Map, Value};

use super::Trouble;
use crate::hash::{CONFIG_HASH, HashError, References, Scope, config_hash, references};
use crate::render::Object;

/// What was found for the workloads.
pub(super) struct Mounted {
    config_maps: Vec<ConfigMap>,
    secrets: Vec<Secret>,
}

/// What the pods of an object refer to; nothing for what has no pods.
fn references_of(object: &Object) -> Option<References> {
    Some(references(Some(&object.pod_spec()?), Scope::Compatible))
}

/// Reads what the workloads refer to.
pub(super) async fn read(
    client: &Client,
    namespace: &str,
    objects: &[Object],
) -> Result<Mounted, kube::Error> {
    let all: Vec<References> = objects.iter().filter_map(references_of).collect();
    let names = |of: fn(&References) -> &BTreeSet<String>| -> BTreeSet<String> {
        all.iter().flat_map(|references| of(references).clone()).collect()
    };
    let mut mounted = Mounted { config_maps: Vec::new(), secrets: Vec::new() };
    let config_maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    for name in names(|references| &references.config_maps) {
        mounted.config_maps.extend(config_maps.get_opt(&name).await?);
    }
    let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
    for name in names(|references| &references.secrets) {
        mounted.secrets.extend(secrets.get_opt(&name).await?);
    }
    Ok(mounted)
}

/// Writes the annotation into a workload. Where something is missing, the value that is there stays: a Secret that is being
/// replaced must not restart anything.
pub(super) fn annotate(object: &mut Object, mounted: &Mounted, live: Option<&Value>) -> Option<Trouble> {
    let references = references_of(object)?;
    let (hash, trouble) = match config_hash(&references, &mounted.config_maps, &mounted.secrets) {
        Ok(hash) => (Some(hash), None),
        Err(error) => (kept(live), Some(missing(object, &error))),
    };
    if let (Some(hash), Some(template)) = (hash, object.body.pointer_mut("/spec/template")) {
        insert(template, &hash);
    }
    trouble
}

fn kept(live: Option<&Value>) -> Option<String> {
    let annotations = live?.pointer("/spec/template/metadata/annotations")?;
    annotations.get(CONFIG_HASH)?.as_str().map(str::to_owned)
}

fn insert(template: &mut Value, hash: &str) {
    let object = || Value::Object(Map::new());
    let Some(template) = template.as_object_mut() else { return };
    let Some(metadata) = template.entry("metadata").or_insert_with(object).as_object_mut() else { return };
    let Some(annotations) = metadata.entry("annotations").or_insert_with(object).as_object_mut() else {
        return;
    };
    annotations.insert(CONFIG_HASH.to_owned(), Value::String(hash.to_owned()));
}

fn missing(object: &Object, error: &HashError) -> Trouble {
    let reason = match error {
        HashError::Missing(missing) if !missing.secrets.is_empty() => "CredentialsMissing",
        _ => "ConfigMissing",
    };
    let message =
        format!("{object}: {error}; its pods wait for what they mount: create it, or see who should have");
    Trouble::transient(reason, message)
}
