//! The workloads: Deployment, DaemonSet and what keeps the last pod of a Deployment where it is.

use k8s_openapi::api::apps::v1::{
    DaemonSet, DaemonSetSpec, DaemonSetUpdateStrategy, Deployment, DeploymentSpec, DeploymentStrategy,
    RollingUpdateDaemonSet, RollingUpdateDeployment,
};
use k8s_openapi::api::core::v1::PodTemplateSpec;
use k8s_openapi::api::policy::v1::{PodDisruptionBudget, PodDisruptionBudgetSpec};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::facts::ClusterFacts;
use super::mode::ManagerMode;
use super::names::Names;
use crate::api::CloudControllerManagerSpec;

/// How many pods a Deployment has.
pub(super) fn replicas(spec: &CloudControllerManagerSpec, mode: ManagerMode, facts: &ClusterFacts) -> i32 {
    match (mode, spec.replicas) {
        (ManagerMode::Shadow, _) => 1,
        (_, Some(asked)) => asked,
        (_, None) if facts.control_plane_nodes >= 2 => 2,
        (_, None) => 1,
    }
}

/// A Deployment. No pod is made beside those that there are: on the host's network it would find the port taken on every node
/// that has one, and anti-affinity would keep it away. One goes instead and comes back new; with two, the other one, a hot
/// standby, takes the Lease as soon as the first has released it.
pub(super) fn deployment(names: &Names<'_>, replicas: i32, template: PodTemplateSpec) -> Deployment {
    let rolling = RollingUpdateDeployment {
        max_surge: Some(IntOrString::Int(0)),
        max_unavailable: Some(IntOrString::Int(1)),
    };
    Deployment {
        metadata: names.metadata(names.workload()),
        spec: Some(DeploymentSpec {
            replicas: Some(replicas),
            selector: names.selector(),
            strategy: Some(DeploymentStrategy {
                type_: Some("RollingUpdate".to_owned()),
                rolling_update: Some(rolling),
            }),
            revision_history_limit: Some(3),
            template,
            ..DeploymentSpec::default()
        }),
        status: None,
    }
}

/// A DaemonSet, one node after the other, for the same reason.
pub(super) fn daemon_set(
    names: &Names<'_>,
    max_unavailable: IntOrString,
    template: PodTemplateSpec,
) -> DaemonSet {
    let rolling = RollingUpdateDaemonSet { max_unavailable: Some(max_unavailable), max_surge: None };
    DaemonSet {
        metadata: names.metadata(names.workload()),
        spec: Some(DaemonSetSpec {
            selector: names.selector(),
            update_strategy: Some(DaemonSetUpdateStrategy {
                type_: Some("RollingUpdate".to_owned()),
                rolling_update: Some(rolling),
            }),
            revision_history_limit: Some(3),
            template,
            ..DaemonSetSpec::default()
        }),
        status: None,
    }
}

/// Keeps one of several pods. With one pod there is none: nobody could ever drain its node.
pub(super) fn disruption_budget(names: &Names<'_>) -> PodDisruptionBudget {
    PodDisruptionBudget {
        metadata: names.metadata(names.workload()),
        spec: Some(PodDisruptionBudgetSpec {
            max_unavailable: Some(IntOrString::Int(1)),
            selector: Some(names.selector()),
            unhealthy_pod_eviction_policy: Some("AlwaysAllow".to_owned()),
            ..PodDisruptionBudgetSpec::default()
        }),
        status: None,
    }
}
