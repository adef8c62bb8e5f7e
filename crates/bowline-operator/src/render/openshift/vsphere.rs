//! vSphere: a Deployment, and rights to read its credentials and write Nodes for the account that the provider makes itself.

use k8s_openapi::api::core::v1::{EnvVar, Volume};

use super::common::{cloud_conf, host_settings, host_settings_mount, secret, trusted_ca, trusted_ca_mount};
use super::operand::{ACCOUNT, Cluster, ELECTION, Operand};
use crate::render::error::RenderError;
use crate::render::object::Object;
use crate::render::openshift_rbac::{Bound, cluster_role, role, system_account};
use crate::render::program::variable;
use crate::render::rbac::rule;
use crate::render::volumes::mount;

const NAME: &str = "vsphere-cloud-controller-manager";
const CREDENTIALS: &str = "vsphere-cloud-credentials";
/// The gate under which nodes on other platforms join the cluster, so that those on this one are marked.
const MIXED_NODES: &str = "VSphereMixedNodeEnv";
const PLATFORM_TYPE: &str = "node.openshift.io/platform-type=vsphere";

pub(super) fn objects(cluster: &Cluster<'_>) -> Result<Vec<Object>, RenderError> {
    let namespace = cluster.inputs.namespace;
    let [own, shared] = [
        "vsphere-cloud-controller-manager:vsphere-cloud-controller-manager",
        "vsphere-cloud-controller-manager:cloud-controller-manager",
    ];
    let bound = |name, role| Bound { name, role, subject: system_account(NAME) };
    let rules = vec![rule("", &["nodes"], &[], &["update"]), rule("", &["nodes/status"], &[], &["patch"])];
    Ok(vec![
        cluster.deployment(operand(cluster)?)?,
        role(namespace, NAME, vec![rule("", &["secrets"], &[], &["get", "list", "watch"])])?,
        bound(own, NAME).within(namespace)?,
        bound(shared, ACCOUNT).within(namespace)?,
        cluster_role(NAME, rules)?,
        bound(own, NAME).everywhere()?,
        bound(shared, ACCOUNT).everywhere()?,
    ])
}

fn operand(cluster: &Cluster<'_>) -> Result<Operand, RenderError> {
    let is_mixed = cluster.inputs.gates.is_on(MIXED_NODES);
    let gates = cluster.feature_gates();
    let mut flags = cluster.flags(&[
        "--v=3",
        "--cloud-config=$(CLOUD_CONFIG)",
        "--cloud-provider=vsphere",
        "--controllers=*",
        "--configure-cloud-routes=false",
        "--bind-address=127.0.0.1",
        "--cluster-name=$(OCP_INFRASTRUCTURE_NAME)",
        ELECTION,
        &gates,
        "--use-service-account-credentials=true",
    ]);
    if is_mixed {
        flags.push(r#"--node-labels="$(ADDITIONAL_NODE_LABELS)""#.to_owned());
    }
    Ok(Operand {
        flags,
        env: environment(cluster, is_mixed)?,
        mounts: vec![
            host_settings_mount(),
            mount("config-vccm", "/etc/kubernetes-cloud-config"),
            trusted_ca_mount(),
        ],
        volumes: vec![cloud_conf("config-vccm", "cloud.conf"), credentials(), trusted_ca(), host_settings()],
        memory: "128Mi",
        ..Operand::new(NAME, "/bin/vsphere-cloud-controller-manager")
    })
}

fn environment(cluster: &Cluster<'_>, is_mixed: bool) -> Result<Vec<EnvVar>, RenderError> {
    let label = Some(PLATFORM_TYPE.to_owned()).filter(|_| is_mixed);
    Ok(vec![
        variable("CLOUD_CONFIG", "/etc/kubernetes-cloud-config/cloud.conf"),
        variable("OCP_INFRASTRUCTURE_NAME", cluster.infrastructure_name()?),
        variable("VSPHERE_SECRET_NAMESPACE", cluster.inputs.namespace),
        variable("VSPHERE_SECRET_NAME", CREDENTIALS),
        variable("ENABLE_ALPHA_DUAL_STACK", "true"),
        EnvVar { name: "ADDITIONAL_NODE_LABELS".to_owned(), value: label, value_from: None },
    ])
}

/// The manager reads the Secret from the API; the volume is there so that new credentials make new pods.
fn credentials() -> Volume {
    let mut volume = secret("secret-vccm", CREDENTIALS, &[]);
    if let Some(source) = &mut volume.secret {
        source.optional = Some(true);
    }
    volume
}
