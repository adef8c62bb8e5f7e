//! A workload as the kubelet would start it: its flags with the variables filled in, and its files out of the API server, in a folder that
//! stands for the container's root.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use bowline_testkit::apiserver::Identity;
use serde_json::Value;

use crate::harness::{Harness, path_text};

/// What a container is started with.
pub(crate) struct Started {
    /// The program and its arguments, paths mapped.
    pub(crate) words: Vec<String>,
    /// Who it is to the API server.
    pub(crate) identity: Identity,
    /// The container as it was declared.
    pub(crate) container: Value,
}

/// Reads a workload of `kube-system` from the API server, and lays out its files.
pub(crate) async fn start(stage: &Harness, workload: &str) -> anyhow::Result<Started> {
    let text = stage.admin.run(&["get", workload, "--namespace=kube-system", "--output=json"]).await?;
    let object: Value = serde_json::from_str(&text)?;
    let pod = &object["spec"]["template"]["spec"];
    let container = pod["containers"][0].clone();
    let root = stage.folder.join("root");
    let mut mounts = Vec::new();
    for mount in container["volumeMounts"].as_array().into_iter().flatten() {
        let path = mount["mountPath"].as_str().context("a mount without a path")?;
        let place = root.join(path.trim_start_matches('/'));
        ensure!(mount["readOnly"] == true, "{path} can be written to");
        lay_out(stage, volume(pod, mount)?, &place).await?;
        mounts.push((path.to_owned(), place));
    }
    let variables = variables(stage, &container).await?;
    let declared =
        ["command", "args"].iter().flat_map(|key| container[*key].as_array().cloned().unwrap_or_default());
    let words = declared.filter_map(|word| word.as_str().map(|word| mapped(word, &variables, &mounts)));
    let account = pod["serviceAccountName"].as_str().context("no ServiceAccount")?.to_owned();
    // A pod of an account that is not there does not start.
    stage.admin.run(&["get", "serviceaccount", &account, "--namespace=kube-system"]).await?;
    Ok(Started {
        words: words.collect::<anyhow::Result<_>>()?,
        identity: Identity::service_account("kube-system", account),
        container,
    })
}

/// A static pod: its files are on the node, `files` says where, and who it is its kubeconfig says.
pub(crate) fn of_node(pod: &Value, identity: Identity, files: &[(&str, String)]) -> anyhow::Result<Started> {
    let container = pod["spec"]["containers"][0].clone();
    let declared =
        ["command", "args"].iter().flat_map(|key| container[*key].as_array().cloned().unwrap_or_default());
    let words = declared.filter_map(|word| word.as_str().map(str::to_owned)).map(|word| {
        files.iter().fold(word, |word, (path, place)| word.replace(&format!("={path}"), &format!("={place}")))
    });
    let words: Vec<String> = words.collect();
    let lost = words.iter().find(|word| word.contains("=/etc/"));
    ensure!(lost.is_none(), "{lost:?} is a file that the manifest does not name");
    Ok(Started { words, identity, container })
}

fn volume<'a>(pod: &'a Value, mount: &Value) -> anyhow::Result<&'a Value> {
    let mut volumes = pod["volumes"].as_array().into_iter().flatten();
    volumes.find(|volume| volume["name"] == mount["name"]).with_context(|| format!("no volume for {mount}"))
}

/// Writes the files of a Secret. Other volumes are not used here.
async fn lay_out(stage: &Harness, volume: &Value, place: &Path) -> anyhow::Result<()> {
    let Some(name) = volume["secret"]["secretName"].as_str() else { bail!("{volume} is of no Secret") };
    let text = stage.admin.run(&["get", "secret", name, "--namespace=kube-system", "--output=json"]).await?;
    let secret: Value = serde_json::from_str(&text)?;
    std::fs::create_dir_all(place)?;
    for item in volume["secret"]["items"].as_array().into_iter().flatten() {
        let key = item["key"].as_str().context("an item without a key")?;
        let path = item["path"].as_str().context("an item without a path")?;
        // Decoded by who can: base64 is no matter of this test.
        let template = format!("--output=go-template={{{{index .data \"{key}\" | base64decode}}}}");
        ensure!(secret["data"][key].is_string(), "no {key} in {name}");
        let content = stage.admin.run(&["get", "secret", name, "--namespace=kube-system", &template]).await?;
        std::fs::write(place.join(path), content)?;
    }
    Ok(())
}

async fn variables(stage: &Harness, container: &Value) -> anyhow::Result<Vec<(String, String)>> {
    let mut all = Vec::new();
    for variable in container["env"].as_array().into_iter().flatten() {
        let name = variable["name"].as_str().unwrap_or_default().to_owned();
        let source = &variable["valueFrom"]["configMapKeyRef"];
        let value = match (variable["value"].as_str(), source["name"].as_str(), source["key"].as_str()) {
            (Some(value), _, _) => value.to_owned(),
            (None, Some(map), Some(key)) => {
                let text = stage
                    .admin
                    .run(&["get", "configmap", map, "--namespace=kube-system", "--output=json"])
                    .await?;
                let map: Value = serde_json::from_str(&text)?;
                map["data"][key].as_str().with_context(|| format!("no {key}"))?.to_owned()
            }
            _ => bail!("{variable} has no value"),
        };
        all.push((name, value));
    }
    Ok(all)
}

/// A word as the kubelet would hand it over, with paths in the folder that stands for the root.
fn mapped(
    word: &str,
    variables: &[(String, String)],
    mounts: &[(String, PathBuf)],
) -> anyhow::Result<String> {
    let mut word = word.to_owned();
    for (name, value) in variables {
        word = word.replace(&format!("$({name})"), value);
    }
    ensure!(!word.contains("$("), "{word} has a variable that nobody sets");
    for (path, place) in mounts {
        word = word.replace(&format!("={path}/"), &format!("={}/", path_text(place)?));
    }
    Ok(word)
}
