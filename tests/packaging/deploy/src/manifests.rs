//! Plain manifests of the manager, and the parts of those for kustomize: what the operator makes, for those who have none. The configuration is a
//! Secret of a name that stays, and the cluster's name is in a ConfigMap: without them no pod starts, and none runs under a name that nobody chose.

#[cfg(test)]
mod tests;

use bowline_operator::api::CloudControllerManagerSpec;
use bowline_operator::render::{
    CONFIG_HASH, ClusterFacts, ManagerMode, Naming, Object, RenderedConfig, config_name, plain, static_pod,
};
use serde_json::{Value, json};

use crate::{PackagingError, yaml};

/// The name of the objects, as `bowline operator render` has it.
const NAME: &str = "cloud-controller-manager";
/// The Secret with cloud.conf: the one of OCCM's manifests.
const SECRET: &str = "cloud-config";
/// The variable with the cluster's name, and where it comes from.
const CLUSTER: &str = "CLUSTER_NAME";
const CONFIG_MAP: (&str, &str) = ("bowline", "cluster-name");
/// The name in the file for nodes, which refer to nothing in the API: the one that managers have by default.
const DEFAULT_CLUSTER: &str = "kubernetes";
const IMAGE: &str = concat!("bowline:", env!("CARGO_PKG_VERSION"));
/// Labels by which the operator knows what is its own.
const OPERATORS: [&str; 2] = ["app.kubernetes.io/managed-by", "bowline.dev/managed-by"];

const GENERATED: &str =
    "# Generated from crates/bowline-operator/src/render by `cargo xtask gen`. Do not edit.\n";
const FIRST: &str = "# Write your image. Before it is applied, the cluster's name, which is part of every name in the cloud and can never change:\n\
                     #   kubectl --namespace kube-system create configmap bowline --from-literal=cluster-name=NAME\n\
                     #   kubectl --namespace kube-system create secret generic cloud-config --from-file=cloud.conf\n";

/// What of the objects belongs into a file.
type Part = fn(&Object) -> bool;

/// The file that a word stands for, if there is one.
///
/// # Errors
///
/// If the operator cannot make the objects, or one of them has no YAML.
pub fn page(word: &str) -> Result<Option<String>, PackagingError> {
    use ManagerMode::{Full, Shadow};
    let all: Part = |object| !is_monitoring(object);
    let (form, mode, part, note) = match word {
        "manifest-deployment" => ("Deployment", Full, all, FIRST),
        "manifest-daemonset" => ("DaemonSet", Full, all, FIRST),
        "manifest-shadow" => ("Deployment", Shadow, all, FIRST),
        "manifest-static-pod-rights" => {
            ("StaticPod", Full, all, "# The rights of the user of the static pods.\n")
        }
        "manifest-static-pod" => return node().map(Some),
        "kustomize-base" => ("Deployment", Full, is_common as Part, ""),
        "kustomize-deployment" => ("Deployment", Full, is_workload as Part, ""),
        "kustomize-daemonset" => ("DaemonSet", Full, is_workload as Part, ""),
        "kustomize-monitor" => ("Deployment", Full, is_monitoring as Part, ""),
        _unknown => return Ok(None),
    };
    let objects = objects(form, mode)?;
    text(note, objects.iter().filter(|object| part(object))).map(Some)
}

fn is_workload(object: &Object) -> bool {
    ["Deployment", "DaemonSet", "PodDisruptionBudget"].contains(&object.kind.as_str())
}

/// The ServiceMonitor, and the account that scrapes by it.
fn is_monitoring(object: &Object) -> bool {
    object.kind == "ServiceMonitor" || object.name.ends_with("scraper")
}

fn is_common(object: &Object) -> bool {
    !is_workload(object) && !is_monitoring(object)
}

/// The static pod, and where what it reads has to be.
fn node() -> Result<String, PackagingError> {
    let (spec, facts) = input("StaticPod", DEFAULT_CLUSTER)?;
    let made = static_pod(&spec, NAME, ManagerMode::Full, &facts)?;
    let mut note =
        "# To /etc/kubernetes/manifests of each control-plane node, after the files that it reads:\n"
            .to_owned();
    note.extend(made.files.iter().map(|(path, _)| format!("#   {path}\n")));
    note.push_str("# They must be readable by user 65532. Write your image, and your name in place of --cluster-name=kubernetes.\n");
    text(&note, [&for_people(made.pod, &facts)])
}

fn objects(form: &str, mode: ManagerMode) -> Result<Vec<Object>, PackagingError> {
    let (spec, facts) = input(form, &format!("$({CLUSTER})"))?;
    let objects = plain(&spec, NAME, mode, &facts)?;
    // The configuration is everybody's own.
    let objects = objects.into_iter().filter(|object| object.kind != "Secret" || is_monitoring(object));
    Ok(objects.map(|object| for_people(object, &facts)).collect())
}

fn input(form: &str, cluster: &str) -> Result<(CloudControllerManagerSpec, ClusterFacts), PackagingError> {
    let spec = json!({
        "platform": "OpenStack",
        "clusterName": cluster,
        "cloudConfig": {"secret": {"name": SECRET}},
        "form": form,
        "image": IMAGE,
    });
    let spec = serde_json::from_value(spec)
        .map_err(|error| PackagingError::Json { what: "the resource".to_owned(), error })?;
    let facts = ClusterFacts {
        control_plane_nodes: 2,
        has_service_monitor: true,
        config: Some(RenderedConfig::new("")),
        naming: Naming::Bare,
        ..ClusterFacts::default()
    };
    Ok((spec, facts))
}

/// An object that no operator looks after.
fn for_people(mut object: Object, facts: &ClusterFacts) -> Object {
    let body = &mut object.body;
    for place in ["/metadata/labels", "/spec/template/metadata/labels"] {
        remove(body, place, &OPERATORS);
    }
    for place in ["/metadata/annotations", "/spec/template/metadata/annotations"] {
        remove(body, place, &[CONFIG_HASH]);
    }
    if let Some(container) =
        body.pointer_mut("/spec/template/spec/containers/0").and_then(Value::as_object_mut)
    {
        let variables = container.entry("env").or_insert_with(|| json!([]));
        if let Some(variables) = variables.as_array_mut() {
            let (name, key) = CONFIG_MAP;
            variables
                .push(json!({"name": CLUSTER, "valueFrom": {"configMapKeyRef": {"name": name, "key": key}}}));
        }
    }
    if let Some(config) = &facts.config {
        rename(body, &config_name(NAME, config));
    }
    object
}

fn remove(body: &mut Value, place: &str, keys: &[&str]) {
    if let Some(fields) = body.pointer_mut(place).and_then(Value::as_object_mut) {
        fields.retain(|key, _| !keys.contains(&key.as_str()));
    }
}

/// The Secret under the name that stays.
fn rename(value: &mut Value, from: &str) {
    match value {
        Value::String(text) if text == from => SECRET.clone_into(text),
        Value::Array(items) => items.iter_mut().for_each(|item| rename(item, from)),
        Value::Object(fields) => fields.values_mut().for_each(|field| rename(field, from)),
        _other => {}
    }
}

fn text<'a>(note: &str, objects: impl IntoIterator<Item = &'a Object>) -> Result<String, PackagingError> {
    let mut text = format!("{GENERATED}{note}");
    for object in objects {
        text.push_str("---\n");
        text.push_str(&yaml(&object.to_string(), &object.body)?);
    }
    Ok(text)
}
