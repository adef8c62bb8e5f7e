//! Nutanix: a Deployment, and rights to read its credentials and Nodes for the account that the provider makes itself.

use k8s_openapi::api::core::v1::{EnvVar, EnvVarSource, ObjectFieldSelector};

use super::common::{cloud_conf, host_settings, host_settings_mount, trusted_ca, trusted_ca_mount};
use super::operand::{Cluster, ELECTION, Operand};
use crate::render::error::RenderError;
use crate::render::object::Object;
use crate::render::openshift_rbac::{Bound, cluster_role, role, system_account};
use crate::render::program::variable;
use crate::render::rbac::rule;
use crate::render::volumes::mount;

const NAME: &str = "nutanix-cloud-controller-manager";
const BINDING: &str = "nutanix-cloud-controller-manager:nutanix-cloud-controller-manager";

pub(super) fn objects(cluster: &Cluster<'_>) -> Result<Vec<Object>, RenderError> {
    let namespace = cluster.inputs.namespace;
    let bound = || Bound { name: BINDING, role: NAME, subject: system_account("cloud-provider-nutanix") };
    let read = ["get", "list", "watch"];
    Ok(vec![
        cluster.deployment(operand(cluster)?)?,
        role(namespace, NAME, vec![rule("", &["secrets", "configmaps"], &[], &read)])?,
        bound().within(namespace)?,
        cluster_role(NAME, vec![rule("", &["nodes"], &[], &["get", "list", "watch", "patch"])])?,
        bound().everywhere()?,
    ])
}

fn operand(cluster: &Cluster<'_>) -> Result<Operand, RenderError> {
    Ok(Operand {
        flags: cluster.flags(&[
            "--v=3",
            "--cloud-provider=nutanix",
            "--cloud-config=/etc/cloud/nutanix_config.json",
            "--controllers=*",
            "--configure-cloud-routes=false",
            "--cluster-name=$(OCP_INFRASTRUCTURE_NAME)",
            "--use-service-account-credentials=true",
            ELECTION,
        ]),
        env: vec![
            variable("OCP_INFRASTRUCTURE_NAME", cluster.infrastructure_name()?),
            variable("NUTANIX_SECRET_NAMESPACE", cluster.inputs.namespace),
            variable("NUTANIX_SECRET_NAME", "nutanix-credentials"),
            pod_namespace(),
        ],
        mounts: vec![mount("nutanix-config", "/etc/cloud"), host_settings_mount(), trusted_ca_mount()],
        volumes: vec![cloud_conf("nutanix-config", "nutanix_config.json"), trusted_ca(), host_settings()],
        memory: "128Mi",
        ..Operand::new(NAME, "/bin/nutanix-cloud-controller-manager")
    })
}

fn pod_namespace() -> EnvVar {
    let field = ObjectFieldSelector { field_path: "metadata.namespace".to_owned(), api_version: None };
    let source = EnvVarSource { field_ref: Some(field), ..EnvVarSource::default() };
    EnvVar { name: "POD_NAMESPACE".to_owned(), value: None, value_from: Some(source) }
}
