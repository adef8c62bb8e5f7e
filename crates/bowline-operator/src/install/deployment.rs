//! What runs the operator: two pods, one of which leads.

use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec, DeploymentStrategy, RollingUpdateDeployment};
use k8s_openapi::api::core::v1::{
    Container, EnvVar, EnvVarSource, ObjectFieldSelector, PodSpec, PodTemplateSpec,
};
use k8s_openapi::api::policy::v1::{PodDisruptionBudget, PodDisruptionBudgetSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::{Installation, NAME, NAMESPACE, metadata};
use crate::allowed::Allowed;
use crate::render::parts::{
    base, hardened, https_port, manager_tolerations, probes, requests, spread, variable, with_memory_limit,
};

/// The port of health and metrics.
const PORT: i32 = 10268;
/// As much as a manager: the same client reads the API server's answers, with the same bounds.
const MEMORY_LIMIT: &str = "512Mi";

/// The Deployment. No pod is made beside those that there are, for the port of the host is taken there.
pub(super) fn deployment(installation: &Installation) -> Deployment {
    let rolling = RollingUpdateDeployment {
        max_surge: Some(IntOrString::Int(0)),
        max_unavailable: Some(IntOrString::Int(1)),
    };
    Deployment {
        metadata: metadata(Some(NAMESPACE)),
        spec: Some(DeploymentSpec {
            replicas: Some(2),
            selector: selector(),
            strategy: Some(DeploymentStrategy {
                type_: Some("RollingUpdate".to_owned()),
                rolling_update: Some(rolling),
            }),
            template: template(installation),
            ..DeploymentSpec::default()
        }),
        status: None,
    }
}

/// Keeps one of the two.
pub(super) fn disruption_budget() -> PodDisruptionBudget {
    PodDisruptionBudget {
        metadata: metadata(Some(NAMESPACE)),
        spec: Some(PodDisruptionBudgetSpec {
            max_unavailable: Some(IntOrString::Int(1)),
            selector: Some(selector()),
            unhealthy_pod_eviction_policy: Some("AlwaysAllow".to_owned()),
            ..PodDisruptionBudgetSpec::default()
        }),
        status: None,
    }
}

fn selector() -> LabelSelector {
    let labels = [("app.kubernetes.io/name".to_owned(), NAME.to_owned())];
    LabelSelector { match_labels: Some(labels.into()), match_expressions: None }
}

/// What the operator is told: the lists that differ from the defaults, for those are in the program.
fn arguments(allowed: &Allowed) -> Vec<String> {
    let default = Allowed::default();
    let lists = [
        ("allowed-namespaces", &allowed.allowed_namespaces, &default.allowed_namespaces),
        ("allowed-image-registries", &allowed.allowed_image_registries, &default.allowed_image_registries),
        ("allowed-secrets", &allowed.allowed_secrets, &default.allowed_secrets),
        ("allowed-leases", &allowed.allowed_leases, &default.allowed_leases),
    ];
    let flags = lists.into_iter().filter(|(_, list, default)| list != default);
    let flags = flags.map(|(flag, list, _)| format!("--{flag}={}", list.join(",")));
    ["operator", "run"].map(str::to_owned).into_iter().chain(flags).collect()
}

fn template(installation: &Installation) -> PodTemplateSpec {
    let image = installation.image.as_str();
    let probes = probes(("/livez", "/readyz"), PORT);
    let container = Container {
        name: "operator".to_owned(),
        image: Some(image.to_owned()),
        command: Some(vec!["bowline".to_owned()]),
        args: Some(arguments(&installation.allowed)),
        env: Some(vec![namespace_of_pod(), variable("OPERATOR_IMAGE", image)]),
        ports: Some(vec![https_port(PORT)]),
        liveness_probe: Some(probes.liveness),
        readiness_probe: Some(probes.readiness),
        startup_probe: Some(probes.startup),
        ..hardened(with_memory_limit(requests("50m", "64Mi"), Some(MEMORY_LIMIT)))
    };
    let labels = metadata(None).labels;
    let pod = PodSpec {
        affinity: selector().match_labels.as_ref().map(spread),
        service_account_name: Some(NAME.to_owned()),
        ..base(container, manager_tolerations())
    };
    PodTemplateSpec { metadata: Some(ObjectMeta { labels, ..ObjectMeta::default() }), spec: Some(pod) }
}

fn namespace_of_pod() -> EnvVar {
    let field = ObjectFieldSelector { field_path: "metadata.namespace".to_owned(), api_version: None };
    let source = EnvVarSource { field_ref: Some(field), ..EnvVarSource::default() };
    EnvVar { name: "POD_NAMESPACE".to_owned(), value: None, value_from: Some(source) }
}
