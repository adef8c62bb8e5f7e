//! OpenStack: a Deployment. Its rights come with OpenShift's release.

use super::common::{cloud_conf, host_settings, host_settings_mount, secret, trusted_ca, trusted_ca_mount};
use super::operand::{Cluster, ELECTION, Operand};
use crate::render::error::RenderError;
use crate::render::object::Object;
use crate::render::placement::{before_the_network, critical, on_masters};
use crate::render::program::variable;
use crate::render::volumes::mount;

pub(super) fn objects(cluster: &Cluster<'_>) -> Result<Vec<Object>, RenderError> {
    Ok(vec![cluster.deployment(operand(cluster)?)?])
}

fn operand(cluster: &Cluster<'_>) -> Result<Operand, RenderError> {
    let gates = cluster.feature_gates();
    let tolerations = [vec![critical(), on_masters()], before_the_network()].concat();
    Ok(Operand {
        indent: "",
        flags: cluster.flags(&[
            "--v=1",
            "--cloud-config=$(CLOUD_CONFIG)",
            "--cloud-provider=openstack",
            "--cluster-name=$(OCP_INFRASTRUCTURE_NAME)",
            "--use-service-account-credentials=true",
            "--configure-cloud-routes=false",
            "--bind-address=127.0.0.1",
            ELECTION,
            &gates,
        ]),
        env: vec![
            variable("CLOUD_CONFIG", "/etc/openstack/config/cloud.conf"),
            variable("OCP_INFRASTRUCTURE_NAME", cluster.infrastructure_name()?),
        ],
        mounts: vec![
            host_settings_mount(),
            mount("secret-occm", "/etc/openstack/secret"),
            mount("cloud-config", "/etc/openstack/config"),
            trusted_ca_mount(),
        ],
        volumes: vec![
            host_settings(),
            secret("secret-occm", "openstack-cloud-credentials", &[("clouds.yaml", "clouds.yaml")]),
            trusted_ca(),
            cloud_conf("cloud-config", "cloud.conf"),
        ],
        tolerations,
        old_account_field: true,
        ..Operand::new("openstack-cloud-controller-manager", "/usr/bin/openstack-cloud-controller-manager")
    })
}
