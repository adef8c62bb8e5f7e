//! Azure's agent on each node, on OpenShift.

use k8s_openapi::api::apps::v1::{DaemonSet, DaemonSetSpec, DaemonSetUpdateStrategy, RollingUpdateDaemonSet};
use k8s_openapi::api::core::v1::{Container, EnvVar, PodSpec, Toleration, Volume, VolumeMount};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::{
    CONFIG, MERGED, STACK_HUB_MERGED, TOKEN, TOKEN_FOLDER, credentials, empty, injector, stack_hub_config,
    token,
};
use crate::render::agent::{PORT, node_name};
use crate::render::error::RenderError;
use crate::render::object::Object;
use crate::render::openshift::common::{host_settings, host_settings_mount, trusted_ca, trusted_ca_mount};
use crate::render::openshift::operand::{Cluster, labels, template};
use crate::render::openshift::script;
use crate::render::placement::{on_lost_nodes, tolerates};
use crate::render::pod::{https_port, requests};
use crate::render::program::variable;
use crate::render::volumes::mount;

const NAME: &str = "azure-cloud-node-manager";
const LABEL: &str = "infrastructure.openshift.io/cloud-node-manager";

/// What differs between the two kinds of Azure.
struct Agent {
    injector: Container,
    flags: Vec<&'static str>,
    env: Vec<EnvVar>,
    mounts: Vec<VolumeMount>,
    volumes: Vec<Volume>,
}

/// The agent on Azure. It takes the configuration of its node.
pub(super) fn azure(cluster: &Cluster<'_>) -> Result<Object, RenderError> {
    let host = host_settings();
    daemon_set(
        cluster,
        Agent {
            injector: injector::azure(cluster, &host.name)?,
            flags: vec![
                "--node-name=$(NODE_NAME)",
                "--wait-routes=false",
                "--enable-deprecated-beta-topology-labels",
            ],
            env: vec![node_name()],
            mounts: vec![mount(MERGED, "/etc/kubernetes"), trusted_ca_mount(), mount(TOKEN, TOKEN_FOLDER)],
            volumes: vec![credentials(), trusted_ca(), host, token(), empty(MERGED)],
        },
    )
}

/// The agent on Azure Stack Hub. There is no metadata service to ask.
pub(super) fn stack_hub(cluster: &Cluster<'_>) -> Result<Object, RenderError> {
    daemon_set(
        cluster,
        Agent {
            injector: injector::stack_hub(cluster)?,
            flags: vec![
                "--node-name=$(NODE_NAME)",
                "--wait-routes=false",
                "--use-instance-metadata=false",
                "--cloud-config=$(CLOUD_CONFIG)",
                "--v=6",
            ],
            env: vec![
                node_name(),
                variable("AZURE_ENVIRONMENT_FILEPATH", "/etc/cloud-config-original/endpoints.conf"),
                variable("CLOUD_CONFIG", "/etc/cloud-config/cloud.conf"),
            ],
            mounts: vec![
                host_settings_mount(),
                mount(CONFIG, "/etc/cloud-config-original"),
                mount(STACK_HUB_MERGED, "/etc/cloud-config"),
                trusted_ca_mount(),
            ],
            volumes: vec![
                host_settings(),
                stack_hub_config(),
                credentials(),
                trusted_ca(),
                empty(STACK_HUB_MERGED),
            ],
        },
    )
}

fn daemon_set(cluster: &Cluster<'_>, agent: Agent) -> Result<Object, RenderError> {
    let labels = labels(NAME, LABEL, cluster.platform);
    let mut own = labels.clone();
    own.insert("component".to_owned(), NAME.to_owned());
    own.insert("kubernetes.io/cluster-service".to_owned(), "true".to_owned());
    let annotations = [("cluster-autoscaler.kubernetes.io/daemonset-pod".to_owned(), "true".to_owned())];
    let pod = cluster.inputs.proxy.applied_to(&pod(cluster, agent)?);
    let rolling = RollingUpdateDaemonSet {
        max_unavailable: Some(IntOrString::String("10%".to_owned())),
        max_surge: None,
    };
    let daemon_set = DaemonSet {
        metadata: ObjectMeta {
            name: Some(NAME.to_owned()),
            namespace: Some(cluster.inputs.namespace.to_owned()),
            labels: Some(own),
            ..ObjectMeta::default()
        },
        spec: Some(DaemonSetSpec {
            selector: LabelSelector { match_labels: Some(labels.clone()), match_expressions: None },
            update_strategy: Some(DaemonSetUpdateStrategy {
                type_: Some("RollingUpdate".to_owned()),
                rolling_update: Some(rolling),
            }),
            template: template(&labels, annotations.into(), pod),
            ..DaemonSetSpec::default()
        }),
        status: None,
    };
    Ok(Object::namespaced(&daemon_set)?)
}

fn pod(cluster: &Cluster<'_>, agent: Agent) -> Result<PodSpec, RenderError> {
    let flags: Vec<String> = agent.flags.iter().map(|flag| (*flag).to_owned()).collect();
    let container = Container {
        name: "cloud-node-manager".to_owned(),
        image: Some(cluster.inputs.images.azure_node_manager()?.to_owned()),
        image_pull_policy: Some("IfNotPresent".to_owned()),
        command: Some(script::command(script::start("/bin/azure-cloud-node-manager", "  ", &flags))),
        ports: Some(vec![https_port(PORT)]),
        env: Some(agent.env),
        resources: Some(requests("50m", "50Mi")),
        termination_message_policy: Some("FallbackToLogsOnError".to_owned()),
        volume_mounts: Some(agent.mounts),
        ..Container::default()
    };
    let everywhere = Toleration {
        effect: Some("NoSchedule".to_owned()),
        operator: Some("Exists".to_owned()),
        ..Toleration::default()
    };
    let tolerations =
        [vec![everywhere, tolerates("node-role.kubernetes.io/infra", "NoExecute")], on_lost_nodes()];
    Ok(PodSpec {
        containers: vec![container],
        host_network: Some(true),
        init_containers: Some(vec![agent.injector]),
        node_selector: Some([("kubernetes.io/os".to_owned(), "linux".to_owned())].into()),
        priority_class_name: Some("system-node-critical".to_owned()),
        service_account_name: Some("cloud-node-manager".to_owned()),
        tolerations: Some(tolerations.concat()),
        volumes: Some(agent.volumes),
        ..PodSpec::default()
    })
}
