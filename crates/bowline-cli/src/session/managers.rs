//! The managers that run in the cluster, by their pods: which program, with which flags, and where its cloud.conf is. Pure.

use std::collections::BTreeMap;
use std::path::Path;

use bowline_kube::objects::{Container, KeyToPath, Pod, PodSpec, Volume, VolumeMount};
use serde::Serialize;

/// A pod that runs a cloud-controller-manager.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Manager {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub pod: String,
    /// The node that it runs on.
    pub node: Option<String>,
    /// Its image.
    pub image: String,
    /// Which program it is.
    pub program: Program,
    /// Whether it is ready.
    pub ready: bool,
    /// How often its container was started again.
    pub restarts: i32,
    /// Its ServiceAccount.
    pub account: String,
    /// Its flags, but for those that may hold something secret.
    pub flags: BTreeMap<String, String>,
    /// Where its cloud.conf is.
    pub config: Option<ConfigPlace>,
}

/// Which cloud-controller-manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Program {
    /// This one.
    Bowline,
    /// One for OpenStack, which may be ours under the name of the other.
    OpenStack,
    /// Another cloud's.
    Other,
}

/// Where a cloud.conf is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConfigPlace {
    /// The namespace of the Secret or ConfigMap.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Whether it is a Secret.
    pub secret: bool,
    /// The key.
    pub key: String,
}

/// The managers among these pods.
#[must_use]
pub fn find(pods: &[Pod]) -> Vec<Manager> {
    pods.iter().filter_map(manager).collect()
}

fn manager(pod: &Pod) -> Option<Manager> {
    let spec = pod.spec.as_ref()?;
    let finished = |phase: &str| matches!(phase, "Succeeded" | "Failed");
    let status = pod.status.clone().unwrap_or_default();
    if status.phase.as_deref().is_some_and(finished) {
        return None;
    }
    let (container, program) =
        spec.containers.iter().find_map(|container| Some((container, program_of(container)?)))?;
    let namespace = pod.metadata.namespace.clone().unwrap_or_default();
    let flags = flags(words(container));
    let config = flags.get("cloud-config").and_then(|path| place(&namespace, spec, container, path));
    let states = status.container_statuses.unwrap_or_default();
    let state = states.into_iter().find(|state| state.name == container.name);
    Some(Manager {
        pod: pod.metadata.name.clone().unwrap_or_default(),
        node: spec.node_name.clone(),
        image: container.image.clone().unwrap_or_default(),
        program,
        ready: state.as_ref().is_some_and(|state| state.ready),
        restarts: state.map_or(0, |state| state.restart_count),
        account: spec.service_account_name.clone().unwrap_or_else(|| "default".to_owned()),
        flags,
        config,
        namespace,
    })
}

fn words(container: &Container) -> impl Iterator<Item = &str> {
    let command = container.command.iter().flatten();
    command.chain(container.args.iter().flatten()).map(String::as_str)
}

fn program_of(container: &Container) -> Option<Program> {
    let image = container.image.as_deref().unwrap_or_default();
    // Without a command it is what the image runs by itself.
    let image =
        Some(image.rsplit('/').next().unwrap_or_default().split([':', '@']).next().unwrap_or_default());
    let named = |word: &str| Path::new(word).file_name().map(|name| name.to_string_lossy().into_owned());
    let programs: Vec<String> = words(container)
        .take(3)
        // What runs in a shell or under an init is the next word.
        .filter(|word| !word.starts_with('-'))
        .filter_map(named)
        .chain(image.map(str::to_owned))
        .collect();
    let runs = |name: &str| programs.iter().any(|program| program == name);
    if runs("bowline")
        && words(container).any(|word| word == "ccm" || word == "openstack-cloud-controller-manager")
    {
        Some(Program::Bowline)
    } else if runs("openstack-cloud-controller-manager") {
        Some(Program::OpenStack)
    } else if programs.iter().any(|program| program.ends_with("cloud-controller-manager")) {
        Some(Program::Other)
    } else {
        None
    }
}

/// The flags among words: `--name=value`, `--name value`, and `--name` alone for `true`.
fn flags<'a>(words: impl Iterator<Item = &'a str>) -> BTreeMap<String, String> {
    let words: Vec<&str> = words.flat_map(arguments).collect();
    let mut flags = BTreeMap::new();
    for (place, word) in words.iter().enumerate() {
        let Some(flag) = word.strip_prefix("--") else { continue };
        let next = words.get(place + 1).filter(|next| !next.starts_with('-'));
        let (name, value) = match flag.split_once('=') {
            Some((name, value)) => (name, value.to_owned()),
            None => (flag, next.map_or_else(|| "true".to_owned(), |next| (*next).to_owned())),
        };
        flags.insert(name.to_owned(), value);
    }
    flags
}

/// The arguments in a word: a script for a shell holds several, and a value such as `pool in (a,b)` is one with its spaces.
fn arguments(word: &str) -> Vec<&str> {
    let is_script = word.split_whitespace().skip(1).any(|part| part.starts_with("--"));
    if is_script { word.split_whitespace().collect() } else { vec![word] }
}

fn place(namespace: &str, spec: &PodSpec, container: &Container, path: &str) -> Option<ConfigPlace> {
    let mounts = container.volume_mounts.iter().flatten();
    let mount = mounts
        .filter(|mount| Path::new(path).starts_with(&mount.mount_path))
        .max_by_key(|mount| mount.mount_path.len())?;
    let volume = spec.volumes.iter().flatten().find(|volume| volume.name == mount.name)?;
    let file = inside(mount, path)?;
    let (name, secret, items) = source(volume)?;
    let key =
        items.into_iter().flatten().find(|item| item.path == file).map_or(file, |item| item.key.clone());
    Some(ConfigPlace { namespace: namespace.to_owned(), name, secret, key })
}

/// The file within its volume.
fn inside(mount: &VolumeMount, path: &str) -> Option<String> {
    if let Some(file) = mount.sub_path.as_ref().filter(|file| !file.is_empty()) {
        return Some(file.clone());
    }
    let rest = Path::new(path).strip_prefix(&mount.mount_path).ok()?;
    Some(rest.to_string_lossy().into_owned()).filter(|file| !file.is_empty())
}

/// The object of a volume, whether it is a Secret, and which key is which file.
fn source(volume: &Volume) -> Option<(String, bool, Option<&Vec<KeyToPath>>)> {
    if let Some(secret) = &volume.secret {
        return Some((secret.secret_name.clone()?, true, secret.items.as_ref()));
    }
    let map = volume.config_map.as_ref()?;
    Some((map.name.clone(), false, map.items.as_ref()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(container: &serde_json::Value) -> Pod {
        serde_json::from_value(json!({
            "metadata": {"name": "ccm-1", "namespace": "kube-system"},
            "spec": {"serviceAccountName": "cloud-controller-manager", "containers": [container], "volumes": [
                {"name": "conf", "secret": {"secretName": "cloud-config", "items": [{"key": "openstack", "path": "cloud.conf"}]}},
            ]},
            "status": {"phase": "Running", "containerStatuses": [
                {"name": "c", "ready": true, "restartCount": 2, "image": "", "imageID": ""},
            ]},
        }))
        .unwrap()
    }

    #[test]
    fn a_manager_is_known_by_its_program_and_tells_its_flags_and_its_configuration() {
        let found = find(&[pod(&json!({
            "name": "c", "image": "r.example/bowline:v1", "command": ["/bowline", "ccm"],
            "args": ["--cluster-name=prod-1", "--cloud-config", "/etc/cloud/cloud.conf", "--paused"],
            "volumeMounts": [{"name": "conf", "mountPath": "/etc/cloud"}],
        }))]);
        let [manager] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((manager.program, manager.ready, manager.restarts), (Program::Bowline, true, 2));
        assert_eq!(manager.flags["cluster-name"], "prod-1");
        assert_eq!(manager.flags["paused"], "true");
        let place = manager.config.as_ref().unwrap();
        assert_eq!(
            (place.name.as_str(), place.secret, place.key.as_str()),
            ("cloud-config", true, "openstack")
        );
    }

    #[test]
    fn other_programs_are_told_apart() {
        let of = |command: &[&str], image: &str| {
            find(&[pod(&json!({"name": "c", "image": image, "command": command}))])
                .first()
                .map(|one| one.program)
        };
        assert_eq!(of(&["/bin/openstack-cloud-controller-manager"], "x"), Some(Program::OpenStack));
        assert_eq!(of(&["/bin/sh", "-c", "ls"], "x"), None);
        assert_eq!(of(&["/hcloud-cloud-controller-manager"], "x"), Some(Program::Other));
        assert_eq!(
            of(&[], "registry.k8s.io/provider-os/openstack-cloud-controller-manager:v1.34.0"),
            Some(Program::OpenStack)
        );
        assert_eq!(
            of(&["/bowline", "operator", "run"], "r.example/bowline:v1"),
            None,
            "the operator is no manager"
        );
        assert_eq!(of(&["kube-proxy"], "registry.k8s.io/kube-proxy"), None);
    }

    #[test]
    fn a_value_with_spaces_is_whole_and_a_script_holds_several_flags() {
        let filter = "pool in (a,b),!edge";
        for words in
            [vec![format!("--node-filter={filter}")], vec!["--node-filter".to_owned(), filter.to_owned()]]
        {
            let flags = flags(words.iter().map(String::as_str));
            assert_eq!(flags.get("node-filter").map(String::as_str), Some(filter), "{words:?}");
        }
        let script = "exec /bin/ccm \\\n --cluster-name=a --node-filter=pool=a";
        let flags = flags(["-c", script].into_iter());
        assert_eq!((flags["cluster-name"].as_str(), flags["node-filter"].as_str()), ("a", "pool=a"));
    }
}
