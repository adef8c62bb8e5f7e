//! Azure and Azure Stack Hub: a Deployment, an agent on each node, rights for the lock that Azure's own clusters know, and for
//! Azure two policies. Both programs begin with one that puts the credentials into the configuration.

mod agent;
mod injector;
mod policies;

use k8s_openapi::api::core::v1::{
    EmptyDirVolumeSource, ProjectedVolumeSource, ServiceAccountTokenProjection, Volume, VolumeProjection,
};

use super::common::{
    cloud_conf, config_map, host_settings, host_settings_mount, secret, trusted_ca, trusted_ca_mount,
};
use super::operand::{ACCOUNT, CLOUD_CONF, Cluster, ELECTION, Operand};
use crate::render::error::RenderError;
use crate::render::object::Object;
use crate::render::openshift_rbac::{Bound, account, cluster_role, role, system_account};
use crate::render::program::variable;
use crate::render::rbac::rule;
use crate::render::volumes::mount;

const NAME: &str = "azure-cloud-controller-manager";
const PROGRAM: &str = "/bin/azure-cloud-controller-manager";
const PROVIDER: &str = "azure-cloud-provider";
const ACCOUNTS: &str = "kube-system";

/// Volumes.
const CREDENTIALS: &str = "cloud-sa-volume";
const CONFIG: &str = "config-accm";
const MERGED: &str = "merged-cloud-config";
const STACK_HUB_MERGED: &str = "cloud-config";
const TOKEN: &str = "bound-sa-token";

const TOKEN_FOLDER: &str = "/var/run/secrets/openshift/serviceaccount";
const CREDENTIALS_FOLDER: &str = "/etc/azure/credentials";

pub(super) fn objects(cluster: &Cluster<'_>) -> Result<Vec<Object>, RenderError> {
    let mut all = vec![cluster.deployment(operand(cluster)?)?, agent::azure(cluster)?];
    all.extend(lock_rights()?);
    all.push(cluster_role(
        NAME,
        vec![rule("discovery.k8s.io", &["endpointslices"], &[], &["get", "list", "watch"])],
    )?);
    let bound = Bound {
        name: "cloud-controller-manager:azure-cloud-controller-manager",
        role: NAME,
        subject: account(cluster.inputs.namespace, ACCOUNT),
    };
    all.push(bound.everywhere()?);
    all.extend(policies::nodes(cluster.inputs.namespace).objects()?);
    all.extend(policies::idle_timeout().objects()?);
    Ok(all)
}

pub(super) fn stack_hub_objects(cluster: &Cluster<'_>) -> Result<Vec<Object>, RenderError> {
    let mut all = vec![cluster.deployment(stack_hub_operand(cluster)?)?, agent::stack_hub(cluster)?];
    all.extend(lock_rights()?);
    Ok(all)
}

/// The Lease by which Azure's own clusters are locked.
fn lock_rights() -> Result<[Object; 2], RenderError> {
    let leases = "coordination.k8s.io";
    let rules = vec![
        rule(leases, &["leases"], &["aks-managed-resource-locker"], &["get", "list", "update"]),
        rule(leases, &["leases"], &[], &["create"]),
    ];
    let bound = Bound {
        name: "azure-cloud-provider:azure-cloud-provider",
        role: PROVIDER,
        subject: system_account(PROVIDER),
    };
    Ok([role(ACCOUNTS, PROVIDER, rules)?, bound.within(ACCOUNTS)?])
}

fn operand(cluster: &Cluster<'_>) -> Result<Operand, RenderError> {
    Ok(Operand {
        flags: cluster.flags(&[
            "--v=3",
            "--cloud-config=$(CLOUD_CONFIG)",
            "--cloud-provider=azure",
            "--concurrent-service-syncs=10",
            "--controllers=*,-cloud-node",
            "--configure-cloud-routes=false",
            "--use-service-account-credentials=true",
            "--bind-address=127.0.0.1",
            "--cluster-name=$(OCP_INFRASTRUCTURE_NAME)",
            ELECTION,
        ]),
        env: vec![
            variable("CLOUD_CONFIG", "/etc/kubernetes-cloud-config/cloud.conf"),
            variable("OCP_INFRASTRUCTURE_NAME", cluster.infrastructure_name()?),
        ],
        init_containers: vec![injector::azure(cluster, CONFIG)?],
        mounts: vec![
            host_settings_mount(),
            mount(MERGED, "/etc/kubernetes-cloud-config"),
            mount(CREDENTIALS, CREDENTIALS_FOLDER),
            trusted_ca_mount(),
            mount(TOKEN, TOKEN_FOLDER),
        ],
        volumes: vec![
            cloud_conf(CONFIG, "cloud.conf"),
            credentials(),
            trusted_ca(),
            host_settings(),
            token(),
            empty(MERGED),
        ],
        ..Operand::new(NAME, PROGRAM)
    })
}

fn stack_hub_operand(cluster: &Cluster<'_>) -> Result<Operand, RenderError> {
    Ok(Operand {
        flags: cluster.flags(&[
            "--v=6",
            "--cloud-config=$(CLOUD_CONFIG)",
            "--cloud-provider=azure",
            "--controllers=*,-cloud-node",
            "--configure-cloud-routes=false",
            "--use-service-account-credentials=true",
            "--bind-address=127.0.0.1",
            "--cluster-name=$(OCP_INFRASTRUCTURE_NAME)",
            ELECTION,
        ]),
        env: vec![
            variable("CLOUD_CONFIG", "/etc/cloud-config/cloud.conf"),
            variable("OCP_INFRASTRUCTURE_NAME", cluster.infrastructure_name()?),
            variable("AZURE_ENVIRONMENT_FILEPATH", "/etc/cloud-config-original/endpoints.conf"),
        ],
        init_containers: vec![injector::stack_hub(cluster)?],
        mounts: vec![
            host_settings_mount(),
            mount(CONFIG, "/etc/cloud-config-original"),
            mount(STACK_HUB_MERGED, "/etc/cloud-config"),
            trusted_ca_mount(),
        ],
        volumes: vec![
            stack_hub_config(),
            host_settings(),
            credentials(),
            trusted_ca(),
            empty(STACK_HUB_MERGED),
        ],
        ..Operand::new(NAME, PROGRAM)
    })
}

fn credentials() -> Volume {
    secret(CREDENTIALS, "azure-cloud-credentials", &[])
}

/// A customer's own Azure has endpoints of its own.
fn stack_hub_config() -> Volume {
    config_map(CONFIG, CLOUD_CONF, &[("cloud.conf", "cloud.conf"), ("endpoints", "endpoints.conf")])
}

fn empty(name: &str) -> Volume {
    Volume { name: name.to_owned(), empty_dir: Some(EmptyDirVolumeSource::default()), ..Volume::default() }
}

/// A token that Azure accepts in place of a secret.
fn token() -> Volume {
    let token = ServiceAccountTokenProjection {
        audience: Some("openshift".to_owned()),
        path: "token".to_owned(),
        expiration_seconds: None,
    };
    let source = VolumeProjection { service_account_token: Some(token), ..VolumeProjection::default() };
    let projected = ProjectedVolumeSource { sources: Some(vec![source]), default_mode: None };
    Volume { name: TOKEN.to_owned(), projected: Some(projected), ..Volume::default() }
}
