//! Volumes and where they are mounted. Everything is mounted to be read.

use k8s_openapi::api::core::v1::{
    ConfigMapVolumeSource, HostPathVolumeSource, KeyToPath, SecretVolumeSource, Volume, VolumeMount,
};

/// Who may read a file of a Secret: its owner and the pod's group.
const SECRET_MODE: i32 = 0o440;

/// A volume and where it is.
#[derive(Debug, Clone)]
pub(super) struct Mounted {
    pub(super) volume: Volume,
    pub(super) mount: VolumeMount,
}

fn key_to_path(key: &str, path: &str) -> Vec<KeyToPath> {
    vec![KeyToPath { key: key.to_owned(), path: path.to_owned(), mode: None }]
}

/// The mount of a volume, to be read.
pub(super) fn mount(volume: &str, path: &str) -> VolumeMount {
    VolumeMount {
        name: volume.to_owned(),
        mount_path: path.to_owned(),
        read_only: Some(true),
        ..VolumeMount::default()
    }
}

fn mounted(volume: Volume, path: &str) -> Mounted {
    let mount = mount(&volume.name, path);
    Mounted { volume, mount }
}

/// One key of a ConfigMap as a file.
pub(super) fn config_map_key(volume: &str, name: &str, key: &str, folder: &str, file: &str) -> Mounted {
    let source = ConfigMapVolumeSource {
        name: name.to_owned(),
        items: Some(key_to_path(key, file)),
        ..ConfigMapVolumeSource::default()
    };
    mounted(Volume { name: volume.to_owned(), config_map: Some(source), ..Volume::default() }, folder)
}

/// One key of a Secret as a file.
pub(super) fn secret_key(volume: &str, name: &str, key: &str, folder: &str, file: &str) -> Mounted {
    let mut all = secret(volume, name, folder);
    if let Some(source) = &mut all.volume.secret {
        source.items = Some(key_to_path(key, file));
    }
    all
}

/// All keys of a Secret as files.
pub(super) fn secret(volume: &str, name: &str, folder: &str) -> Mounted {
    let source = SecretVolumeSource {
        secret_name: Some(name.to_owned()),
        default_mode: Some(SECRET_MODE),
        ..SecretVolumeSource::default()
    };
    mounted(Volume { name: volume.to_owned(), secret: Some(source), ..Volume::default() }, folder)
}

/// A file or folder of the host.
pub(super) fn host(volume: &str, path: &str, kind: &str) -> Mounted {
    let source = HostPathVolumeSource { path: path.to_owned(), type_: Some(kind.to_owned()) };
    mounted(Volume { name: volume.to_owned(), host_path: Some(source), ..Volume::default() }, path)
}
