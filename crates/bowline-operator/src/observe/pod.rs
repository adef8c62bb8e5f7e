//! Pods of managers, and the mirror pods of a control plane. Pure.

use bowline_kube::objects::{Container, Pod, PodSpec, PodStatus};

use crate::flags::Component;
use crate::migration::{ManagerMode, MirrorPod, PodFacts};

/// The annotation that kubelets give to mirror pods.
const MIRROR: &str = "kubernetes.io/config.mirror";

/// What is known of a pod. `config_prefix` is what the names of our versioned configurations begin with.
#[must_use]
pub fn pod_facts(pod: &Pod, config_prefix: &str) -> PodFacts {
    let status = pod.status.clone().unwrap_or_default();
    let mode = pod.metadata.annotations.as_ref().and_then(|all| all.get(ManagerMode::ANNOTATION));
    PodFacts {
        name: pod.metadata.name.clone().unwrap_or_default(),
        uid: pod.metadata.uid.clone().unwrap_or_default(),
        node: pod.spec.as_ref().and_then(|spec| spec.node_name.clone()).filter(|node| !node.is_empty()),
        phase: status.phase.clone().unwrap_or_default(),
        ready: is_ready(&status),
        deleting: pod.metadata.deletion_timestamp.is_some(),
        started_at: status.start_time.as_ref().map(|time| time.0),
        mode: mode.and_then(|text| text.parse().ok()),
        config: pod.spec.as_ref().and_then(|spec| mounted(spec, config_prefix)),
    }
}

fn is_ready(status: &PodStatus) -> bool {
    let mut conditions = status.conditions.iter().flatten();
    conditions.any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

/// The versioned configuration that a pod mounts.
fn mounted(spec: &PodSpec, prefix: &str) -> Option<String> {
    let volumes = spec.volumes.iter().flatten();
    let names = volumes.flat_map(|volume| {
        let config_map = volume.config_map.as_ref().map(|source| source.name.clone());
        let secret = volume.secret.as_ref().and_then(|source| source.secret_name.clone());
        let projected = volume.projected.iter().flat_map(|projected| projected.sources.iter().flatten());
        let projected = projected.filter_map(|source| match (&source.config_map, &source.secret) {
            (Some(source), _) => Some(source.name.clone()),
            (None, Some(source)) => Some(source.name.clone()),
            (None, None) => None,
        });
        config_map.into_iter().chain(secret).chain(projected).collect::<Vec<_>>()
    });
    names.into_iter().find(|name| !prefix.is_empty() && name.starts_with(prefix))
}

/// Whether a pod is the mirror of one that its kubelet has from a file.
pub(super) fn is_mirror(pod: &Pod) -> bool {
    pod.metadata.annotations.as_ref().is_some_and(|all| all.contains_key(MIRROR))
}

/// What is known of a mirror pod of the control plane; `None` for other pods.
#[must_use]
pub fn mirror_pod(pod: &Pod) -> Option<MirrorPod> {
    let spec = pod.spec.as_ref().filter(|_spec| is_mirror(pod))?;
    let (component, container) = spec.containers.iter().find_map(|container| {
        let component = [Component::ControllerManager, Component::ApiServer]
            .into_iter()
            .find(|component| container.name == component.name() || runs(container, component.name()))?;
        Some((component, container))
    })?;
    let status = pod.status.as_ref();
    let running = status.and_then(|status| {
        let all = status.container_statuses.iter().flatten();
        let found = all.into_iter().find(|status| status.name == container.name)?;
        found.state.as_ref()?.running.as_ref()?.started_at.as_ref()
    });
    Some(MirrorPod {
        component,
        name: pod.metadata.name.clone().unwrap_or_default(),
        node: spec.node_name.clone().unwrap_or_default(),
        arguments: words(container),
        started_at: running.map(|time| time.0),
        ready: status.is_some_and(is_ready),
    })
}

fn runs(container: &Container, program: &str) -> bool {
    words(container).first().is_some_and(|word| word.rsplit('/').next() == Some(program))
}

/// Command and arguments of a container.
pub(super) fn words(container: &Container) -> Vec<String> {
    container.command.iter().flatten().chain(container.args.iter().flatten()).cloned().collect()
}
