//! Google Cloud: a Deployment, rights for the account that the provider makes itself, and a policy on tiers of networks.

use super::common::{cloud_conf, host_settings, host_settings_mount, secret, trusted_ca, trusted_ca_mount};
use super::operand::{Cluster, ELECTION, Operand};
use super::policy::{Policy, annotation};
use crate::render::error::RenderError;
use crate::render::object::Object;
use crate::render::openshift_rbac::{Bound, cluster_role, system_account};
use crate::render::program::variable;
use crate::render::rbac::rule;
use crate::render::volumes::mount;

const TIER: &str = "cloud.google.com/network-tier";

pub(super) fn objects(cluster: &Cluster<'_>) -> Result<Vec<Object>, RenderError> {
    let name = "gcp-cloud-controller-manager";
    let mut all = vec![cluster.deployment(operand(cluster)?)?];
    all.push(cluster_role(
        name,
        vec![
            rule("", &["events"], &[], &["create", "patch", "update"]),
            rule("", &["services/status"], &[], &["patch", "update"]),
        ],
    )?);
    let binding = Bound {
        name: "gcp-cloud-controller-manager:cloud-provider",
        role: name,
        subject: system_account("cloud-provider"),
    };
    all.push(binding.everywhere()?);
    all.extend(policy().objects()?);
    Ok(all)
}

fn operand(cluster: &Cluster<'_>) -> Result<Operand, RenderError> {
    Ok(Operand {
        flags: cluster.flags(&[
            "--v=3",
            "--cloud-config=$(CLOUD_CONFIG)",
            "--cloud-provider=gce",
            "--concurrent-service-syncs=10",
            "--controllers=*,-nodeipam",
            "--configure-cloud-routes=false",
            "--use-service-account-credentials=true",
            "--bind-address=127.0.0.1",
            "--cluster-name=$(OCP_INFRASTRUCTURE_NAME)",
            ELECTION,
        ]),
        env: vec![
            variable("CLOUD_CONFIG", "/etc/kubernetes-cloud-config/cloud.conf"),
            variable("OCP_INFRASTRUCTURE_NAME", cluster.infrastructure_name()?),
            variable("GOOGLE_APPLICATION_CREDENTIALS", "/etc/cloud-sa/service_account.json"),
        ],
        mounts: vec![
            host_settings_mount(),
            mount("config-gccm", "/etc/kubernetes-cloud-config"),
            mount("cloud-sa-volume", "/etc/cloud-sa"),
            trusted_ca_mount(),
        ],
        volumes: vec![
            cloud_conf("config-gccm", "cloud.conf"),
            host_settings(),
            secret("cloud-sa-volume", "gcp-ccm-cloud-credentials", &[]),
            trusted_ca(),
        ],
        memory: "128Mi",
        ..Operand::new("gcp-cloud-controller-manager", "/bin/gcp-cloud-controller-manager")
    })
}

fn policy() -> Policy {
    Policy {
        name: "network-tier-annotation-validation-policy",
        binding: "network-tier-annotation-binding",
        resource: "services",
        operations: &["CREATE", "UPDATE"],
        failure: None,
        condition: None,
        variables: annotation(TIER),
        validations: vec![(
            "!variables.changed || variables.value in ['Standard', 'Premium']".to_owned(),
            format!("annotation '{TIER}' is Standard or Premium"),
        )],
    }
}
