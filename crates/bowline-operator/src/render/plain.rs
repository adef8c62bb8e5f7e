//! All objects of a manager on plain Kubernetes, in the order in which they are to be applied.

#[cfg(test)]
mod tests;

use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::error::RenderError;
use super::facts::ClusterFacts;
use super::mode::ManagerMode;
use super::names::{Names, Part, shadow_report_name};
use super::object::Object;
use super::pod::ManagerPod;
use super::{agent, config, metrics, rbac, workload};
use crate::api::{CloudControllerManagerSpec, Form, Manager, PlatformName};

/// Namespaces that exist in every cluster.
pub const ALWAYS_THERE: [&str; 2] = ["kube-system", "default"];

/// The objects that shall exist for a resource called `name`, at a stage of its migration.
///
/// For the form StaticPod there is no workload among them: see [`super::static_pod`]. The managers of others cannot pause:
/// in that mode they have no workload either.
///
/// # Errors
///
/// If a flag, the image or a value cannot be used, or the mode is not possible for this manager.
pub fn plain(
    spec: &CloudControllerManagerSpec,
    name: &str,
    mode: ManagerMode,
    facts: &ClusterFacts,
) -> Result<Vec<Object>, RenderError> {
    match mode {
        ManagerMode::Absent => return Ok(Vec::new()),
        ManagerMode::Shadow => return shadow(spec, name, facts),
        _ => {}
    }
    let names = Names::new(spec, name, facts.naming, Part::Manager);
    let is_static = spec.form == Form::StaticPod;
    let mut all = Vec::new();
    all.extend(namespace(&names)?);
    if !is_static {
        all.push(rbac::account(&names)?);
    }
    let subjects = rbac::subjects(&names, is_static);
    let grants = rbac::manager(spec, mode, &shadow_report_name(&names.base()));
    all.extend(rbac::objects(&names, &spec.lease_namespace, grants, &subjects)?);
    if let Some(config) = facts.config.as_ref().filter(|_| !is_static) {
        all.push(config::object(spec, &names, config)?);
    }
    // Made even where it is not applied: what is wrong with the resource is to be known in every phase.
    let pod = ManagerPod { spec, mode, facts, names: &names }.template()?;
    let cannot_pause = mode == ManagerMode::Paused && spec.manager == Manager::Upstream;
    if !is_static && !cannot_pause {
        all.extend(workload(spec, mode, facts, &names, pod)?);
    }
    if spec.platform == PlatformName::Azure && !is_static && !cannot_pause {
        all.extend(agent::objects(spec, name, mode, facts)?);
    }
    all.push(Object::namespaced(&metrics::service(&names))?);
    if facts.has_service_monitor {
        all.extend(metrics::scraper(&names)?);
        all.push(metrics::service_monitor(&names)?);
    }
    Ok(all)
}

/// The manager in shadow mode: an identity that can look and write its report, and one pod. Nothing of the manager that
/// runs is touched.
fn shadow(
    spec: &CloudControllerManagerSpec,
    name: &str,
    facts: &ClusterFacts,
) -> Result<Vec<Object>, RenderError> {
    if spec.manager != Manager::Bowline {
        return Err(RenderError::NoShadow);
    }
    let names = Names::new(spec, name, facts.naming, Part::Shadow);
    let mode = ManagerMode::Shadow;
    // What both have is the same in both, whoever is applied last.
    let shared = Names::new(spec, name, facts.naming, Part::Manager);
    let mut all = Vec::new();
    all.extend(namespace(&shared)?);
    all.push(rbac::account(&names)?);
    let grants = rbac::shadow(spec, &shadow_report_name(&names.base()));
    all.extend(rbac::objects(&names, &spec.lease_namespace, grants, &rbac::subjects(&names, false))?);
    if let Some(config) = &facts.config {
        all.push(config::object(spec, &shared, config)?);
    }
    let pod = ManagerPod { spec, mode, facts, names: &names }.template()?;
    all.push(Object::namespaced(&workload::deployment(&names, 1, pod))?);
    Ok(all)
}

fn workload(
    spec: &CloudControllerManagerSpec,
    mode: ManagerMode,
    facts: &ClusterFacts,
    names: &Names<'_>,
    pod: k8s_openapi::api::core::v1::PodTemplateSpec,
) -> Result<Vec<Object>, RenderError> {
    if spec.form == Form::DaemonSet {
        let daemon_set = workload::daemon_set(names, IntOrString::Int(1), pod);
        return Ok(vec![Object::namespaced(&daemon_set)?]);
    }
    let replicas = workload::replicas(spec, mode, facts);
    let mut all = vec![Object::namespaced(&workload::deployment(names, replicas, pod))?];
    if replicas >= 2 {
        all.push(Object::namespaced(&workload::disruption_budget(names))?);
    }
    Ok(all)
}

/// The namespace, where it is one of ours. Pods on the host's network are refused anywhere but in a privileged one.
fn namespace(names: &Names<'_>) -> Result<Option<Object>, RenderError> {
    if ALWAYS_THERE.contains(&names.namespace) {
        return Ok(None);
    }
    let mut metadata = names.cluster_metadata(names.namespace);
    let labels = metadata.labels.get_or_insert_default();
    for kind in ["enforce", "audit", "warn"] {
        labels.insert(format!("pod-security.kubernetes.io/{kind}"), "privileged".to_owned());
    }
    Ok(Some(Object::cluster(&Namespace { metadata, ..Namespace::default() })?))
}
