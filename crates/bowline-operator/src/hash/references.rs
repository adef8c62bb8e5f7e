//! Which ConfigMaps and Secrets a pod is made of. Looks at names only.

use std::collections::BTreeSet;

use bowline_kube::objects::{Container, PodSpec, Volume};

/// How far the look goes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Scope {
    /// What cluster-cloud-controller-manager-operator looks at, and no more: the hash stays the one it made.
    #[default]
    Compatible,
    /// Projected volumes, secrets of CSI volumes and binary data, too.
    Complete,
}

/// The names of objects that a pod refers to, each once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct References {
    /// How far the look went.
    pub scope: Scope,
    /// ConfigMaps.
    pub config_maps: BTreeSet<String>,
    /// Secrets.
    pub secrets: BTreeSet<String>,
}

/// What a pod refers to by volumes and by the environment of its containers.
#[must_use]
pub fn references(pod: Option<&PodSpec>, scope: Scope) -> References {
    let mut found = References { scope, ..References::default() };
    let Some(pod) = pod else { return found };
    pod.volumes.iter().flatten().for_each(|volume| found.volume(volume));
    let containers = pod.containers.iter().chain(pod.init_containers.iter().flatten());
    containers.for_each(|container| found.container(container));
    found
}

impl References {
    fn config_map(&mut self, name: &str) {
        if !name.is_empty() {
            self.config_maps.insert(name.to_owned());
        }
    }

    fn secret(&mut self, name: &str) {
        if !name.is_empty() {
            self.secrets.insert(name.to_owned());
        }
    }

    fn volume(&mut self, volume: &Volume) {
        if let Some(source) = &volume.config_map {
            self.config_map(&source.name);
        }
        if let Some(name) = volume.secret.as_ref().and_then(|source| source.secret_name.as_ref()) {
            self.secret(name);
        }
        if self.scope == Scope::Complete {
            self.projected(volume);
        }
    }

    fn projected(&mut self, volume: &Volume) {
        let sources = volume.projected.iter().flat_map(|projected| projected.sources.iter().flatten());
        for source in sources {
            if let Some(source) = &source.config_map {
                self.config_map(&source.name);
            }
            if let Some(source) = &source.secret {
                self.secret(&source.name);
            }
        }
        if let Some(secret) = volume.csi.as_ref().and_then(|csi| csi.node_publish_secret_ref.as_ref()) {
            self.secret(&secret.name);
        }
    }

    fn container(&mut self, container: &Container) {
        for source in container.env_from.iter().flatten() {
            if let Some(source) = &source.config_map_ref {
                self.config_map(&source.name);
            }
            if let Some(source) = &source.secret_ref {
                self.secret(&source.name);
            }
        }
        for source in container.env.iter().flatten().filter_map(|variable| variable.value_from.as_ref()) {
            if let Some(source) = &source.config_map_key_ref {
                self.config_map(&source.name);
            }
            if let Some(source) = &source.secret_key_ref {
                self.secret(&source.name);
            }
        }
    }
}
