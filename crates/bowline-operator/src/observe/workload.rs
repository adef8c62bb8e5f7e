//! Cloud-controller-managers that run as Deployments and DaemonSets: known by their labels and by what they run. Pure.

#[cfg(test)]
mod tests;

use bowline_kube::objects::{DaemonSet, Deployment, LabelSelector, Pod, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::pod::{is_mirror, pod_facts, words};
use crate::migration::{
    ManagerMode, ManagerWorkload, OurWorkload, PodFacts, StaticPodFacts, WorkloadKind, WorkloadRef,
};
use crate::render::{CONFIG_HASH, RenderedConfig, config_name};
use crate::rollout::{Rollout, daemon_set_rollout, deployment_rollout};

/// The labels by which managers of others are known, as their manifests and charts have them.
pub const KNOWN_MANAGERS: [(&str, &[&str]); 4] = [
    (
        "k8s-app",
        &[
            "openstack-cloud-controller-manager",
            "cloud-controller-manager",
            "aws-cloud-controller-manager",
            "azure-cloud-controller-manager",
            "gcp-cloud-controller-manager",
            "ibm-cloud-controller-manager",
            "nutanix-cloud-controller-manager",
            "powervs-cloud-controller-manager",
            "vsphere-cloud-controller-manager",
        ],
    ),
    (
        "app.kubernetes.io/name",
        &[
            "openstack-cloud-controller-manager",
            "aws-cloud-controller-manager",
            "cloud-controller-manager",
            "cloud-provider-azure",
            "vsphere-cloud-controller-manager",
            "vsphere-cpi",
        ],
    ),
    ("app", &["openstack-cloud-controller-manager", "cloud-controller-manager", "vsphere-cpi"]),
    ("component", &["cloud-controller-manager", "controllermanager"]),
];

/// What the programs of managers are called.
const PROGRAM: &str = "cloud-controller-manager";
/// Those that are called otherwise.
const OTHER_PROGRAMS: [&str; 2] = ["vsphere-cloud-controller", "bowline"];

/// The name of a manager, by what a pod template runs; `None` if it runs something else.
#[must_use]
pub fn known_manager(template: &PodTemplateSpec) -> Option<String> {
    let containers = &template.spec.as_ref()?.containers;
    let named =
        |text: &str| text.contains(PROGRAM) || OTHER_PROGRAMS.iter().any(|program| text.contains(program));
    let found = containers.iter().find(|container| {
        let image = container.image.as_deref().unwrap_or_default();
        named(image) || words(container).iter().take(3).any(|word| named(word))
    })?;
    let image = found.image.as_deref().unwrap_or(&found.name);
    let product = image.rsplit('/').next().unwrap_or(image);
    Some(product.replacen(':', " ", 1))
}

/// A Deployment that is somebody else's manager.
#[must_use]
pub fn manager_of_deployment(deployment: &Deployment, pods: &[Pod]) -> Option<ManagerWorkload> {
    let spec = deployment.spec.as_ref()?;
    let product = known_manager(&spec.template)?;
    let desired = spec.replicas.unwrap_or(1);
    Some(manager(
        WorkloadKind::Deployment,
        &deployment.metadata,
        product,
        desired,
        &spec.template,
        &spec.selector,
        pods,
    ))
}

/// A DaemonSet that is somebody else's manager. One that was stopped shall have no pods.
#[must_use]
pub fn manager_of_daemon_set(daemon_set: &DaemonSet, pods: &[Pod]) -> Option<ManagerWorkload> {
    let spec = daemon_set.spec.as_ref()?;
    let product = known_manager(&spec.template)?;
    let selector = spec.template.spec.as_ref().and_then(|pod| pod.node_selector.as_ref());
    let (key, value) = ManagerWorkload::STOPPED;
    let is_stopped = selector.is_some_and(|all| all.get(key).map(String::as_str) == Some(value));
    let scheduled = daemon_set.status.as_ref().map_or(0, |status| status.desired_number_scheduled);
    let desired = if is_stopped { 0 } else { scheduled.max(1) };
    Some(manager(
        WorkloadKind::DaemonSet,
        &daemon_set.metadata,
        product,
        desired,
        &spec.template,
        &spec.selector,
        pods,
    ))
}

fn manager(
    kind: WorkloadKind,
    metadata: &ObjectMeta,
    product: String,
    desired: i32,
    template: &PodTemplateSpec,
    selector: &LabelSelector,
    pods: &[Pod],
) -> ManagerWorkload {
    let previous = metadata.annotations.as_ref().and_then(|all| all.get(ManagerWorkload::PREVIOUS_REPLICAS));
    let container = template.spec.as_ref().and_then(|spec| spec.containers.first());
    ManagerWorkload {
        workload: reference(kind, metadata),
        product,
        desired,
        previous_replicas: previous.and_then(|text| text.parse().ok()),
        pods: of_selector(metadata, selector, pods).map(|pod| pod_facts(pod, "")).collect(),
        arguments: container.map(words).unwrap_or_default(),
    }
}

/// Pods of managers that belong to none of the workloads that are known: what they belonged to was deleted, or they are static.
pub(super) fn managers_of_pods(pods: &[Pod], known: &[ManagerWorkload]) -> Vec<ManagerWorkload> {
    let mut found: Vec<ManagerWorkload> = Vec::new();
    for pod in pods {
        let uid = pod.metadata.uid.as_deref().unwrap_or_default();
        let is_known = |manager: &ManagerWorkload| manager.pods.iter().any(|known| known.uid == uid);
        let template = PodTemplateSpec { metadata: Some(pod.metadata.clone()), spec: pod.spec.clone() };
        let Some(product) = known_manager(&template) else { continue };
        let container = template.spec.as_ref().and_then(|spec| spec.containers.first());
        let arguments = container.map(words).unwrap_or_default();
        if known.iter().chain(&found).any(is_known) || is_inside(&arguments) {
            continue;
        }
        found.push(ManagerWorkload {
            workload: reference(WorkloadKind::Pod, &pod.metadata),
            product,
            desired: 0,
            previous_replicas: None,
            pods: vec![pod_facts(pod, "")],
            arguments,
        });
    }
    found
}

/// The manager inside k3s and RKE2 is known by what its server was started with, not by its pod.
fn is_inside(arguments: &[String]) -> bool {
    ["k3s", "rke2"].iter().any(|name| arguments.contains(&format!("--cloud-provider={name}")))
}

/// What is left of our manager when its workload is gone: pods that are about to end, and may write until they have.
pub(super) fn our_last_pods(pods: &[Pod], config_prefix: &str) -> Option<OurWorkload> {
    let pods: Vec<PodFacts> = pods.iter().map(|pod| pod_facts(pod, config_prefix)).collect();
    let is_left = pods.iter().any(PodFacts::may_run);
    is_left.then(|| OurWorkload {
        workload: WorkloadRef::default(),
        mode: Some(ManagerMode::Absent),
        desired: 0,
        rollout: Rollout::Progressing,
        pods,
        version: String::new(),
        kind: None,
    })
}

/// The static pods of a resource. They are rendered for all that a manager does. `base` is what the names of its objects begin with.
pub(super) fn static_pods(base: &str, pods: &[Pod]) -> Vec<StaticPodFacts> {
    let facts = |pod: &Pod| {
        let hash = pod.metadata.annotations.as_ref().and_then(|all| all.get(CONFIG_HASH)).cloned();
        let config = hash.map(|hash| config_name(base, &RenderedConfig { text: String::new(), hash }));
        let template = PodTemplateSpec { metadata: None, spec: pod.spec.clone() };
        StaticPodFacts {
            pod: PodFacts { mode: Some(ManagerMode::Full), config, ..pod_facts(pod, "") },
            version: version_of(&pod.metadata, &template),
        }
    };
    pods.iter().filter(|pod| is_mirror(pod)).map(facts).collect()
}

/// Our manager, if it is static pods: of one version, on so many control-plane nodes.
pub(super) fn our_static_pods(
    namespace: &str,
    name: &str,
    all: &[StaticPodFacts],
    nodes: usize,
) -> Option<OurWorkload> {
    let version = all.first()?.version.clone();
    let ready = all.iter().filter(|one| one.version == version && one.pod.ready && !one.pod.deleting).count();
    Some(OurWorkload {
        workload: WorkloadRef {
            kind: WorkloadKind::Pod,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            uid: String::new(),
        },
        mode: Some(ManagerMode::Full),
        desired: i32::try_from(nodes).unwrap_or(i32::MAX),
        rollout: if ready >= nodes.max(1) { Rollout::Complete } else { Rollout::Progressing },
        pods: all.iter().map(|one| one.pod.clone()).collect(),
        version,
        kind: None,
    })
}

/// Our manager, if it is a Deployment.
#[must_use]
pub fn our_deployment(deployment: &Deployment, pods: &[Pod], config_prefix: &str) -> Option<OurWorkload> {
    let spec = deployment.spec.as_ref()?;
    let rollout = deployment_rollout(deployment);
    let desired = spec.replicas.unwrap_or(1);
    let pods = of_selector(&deployment.metadata, &spec.selector, pods);
    Some(OurWorkload {
        workload: reference(WorkloadKind::Deployment, &deployment.metadata),
        mode: mode_of(&spec.template),
        desired,
        rollout,
        pods: pods.map(|pod| pod_facts(pod, config_prefix)).collect(),
        version: version_of(&deployment.metadata, &spec.template),
        kind: kind_of(&deployment.metadata),
    })
}

/// Our manager, if it is a DaemonSet.
#[must_use]
pub fn our_daemon_set(daemon_set: &DaemonSet, pods: &[Pod], config_prefix: &str) -> Option<OurWorkload> {
    let spec = daemon_set.spec.as_ref()?;
    let pods = of_selector(&daemon_set.metadata, &spec.selector, pods);
    Some(OurWorkload {
        workload: reference(WorkloadKind::DaemonSet, &daemon_set.metadata),
        mode: mode_of(&spec.template),
        desired: daemon_set.status.as_ref().map_or(0, |status| status.desired_number_scheduled),
        rollout: daemon_set_rollout(daemon_set),
        pods: pods.map(|pod| pod_facts(pod, config_prefix)).collect(),
        version: version_of(&daemon_set.metadata, &spec.template),
        kind: kind_of(&daemon_set.metadata),
    })
}

fn mode_of(template: &PodTemplateSpec) -> Option<ManagerMode> {
    template.metadata.as_ref()?.annotations.as_ref()?.get(ManagerMode::ANNOTATION)?.parse().ok()
}

fn kind_of(metadata: &ObjectMeta) -> Option<crate::api::MigrationKind> {
    let text = metadata.annotations.as_ref()?.get(OurWorkload::KIND)?;
    serde_json::from_value(serde_json::Value::String(text.clone())).ok()
}

/// The version that it was made for, or else the tag of the image.
fn version_of(metadata: &ObjectMeta, template: &PodTemplateSpec) -> String {
    let label = metadata.annotations.as_ref().and_then(|all| all.get(crate::operate::VERSION));
    let image = template.spec.as_ref().and_then(|spec| spec.containers.first()?.image.as_deref());
    let tag = image.and_then(|image| image.rsplit('/').next()?.split_once(':')).map(|(_, tag)| tag);
    label.map(String::as_str).or(tag).unwrap_or_default().to_owned()
}

fn reference(kind: WorkloadKind, metadata: &ObjectMeta) -> WorkloadRef {
    WorkloadRef {
        kind,
        namespace: metadata.namespace.clone().unwrap_or_default(),
        name: metadata.name.clone().unwrap_or_default(),
        uid: metadata.uid.clone().unwrap_or_default(),
    }
}

/// The pods that a selector of labels selects; selectors with expressions, which no manager has, select none.
fn of_selector<'a>(
    metadata: &'a ObjectMeta,
    selector: &'a LabelSelector,
    pods: &'a [Pod],
) -> impl Iterator<Item = &'a Pod> {
    let wanted = selector.match_labels.clone().unwrap_or_default();
    pods.iter().filter(move |pod| {
        let labels = pod.metadata.labels.clone().unwrap_or_default();
        pod.metadata.namespace == metadata.namespace
            && !is_mirror(pod)
            && !wanted.is_empty()
            && wanted.iter().all(|(key, value)| labels.get(key) == Some(value))
    })
}
