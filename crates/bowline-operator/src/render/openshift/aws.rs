//! AWS: a Deployment, and a policy that keeps the type of a load balancer, which cannot change while it exists.

use super::common::{cloud_conf, host_settings, host_settings_mount, trusted_ca, trusted_ca_mount};
use super::operand::{Cluster, ELECTION, Operand};
use super::policy::Policy;
use crate::render::error::RenderError;
use crate::render::object::Object;
use crate::render::program::variable;
use crate::render::volumes::mount;

const NAME: &str = "openshift-cloud-controller-manager-cloud-provider-aws";
const TYPE: &str = "service.beta.kubernetes.io/aws-load-balancer-type";

pub(super) fn objects(cluster: &Cluster<'_>) -> Result<Vec<Object>, RenderError> {
    let mut all = vec![cluster.deployment(operand(cluster))?];
    all.extend(policy().objects()?);
    Ok(all)
}

fn operand(cluster: &Cluster<'_>) -> Operand {
    Operand {
        indent: "",
        flags: cluster.flags(&[
            "--cloud-config=$(CLOUD_CONFIG)",
            "--cloud-provider=aws",
            "--use-service-account-credentials=true",
            "--configure-cloud-routes=false",
            ELECTION,
        ]),
        last_flags: vec!["--secure-port=0", "-v=2"],
        env: vec![variable("CLOUD_CONFIG", "/etc/kubernetes-cloud-config/cloud.conf")],
        mounts: vec![
            host_settings_mount(),
            mount("config-accm", "/etc/kubernetes-cloud-config"),
            trusted_ca_mount(),
        ],
        volumes: vec![cloud_conf("config-accm", "cloud.conf"), trusted_ca(), host_settings()],
        ..Operand::new("aws-cloud-controller-manager", "/bin/aws-cloud-controller-manager")
    }
}

fn policy() -> Policy {
    let value = |object: &str| format!("{object}.metadata.?annotations[?'{TYPE}']");
    let message = format!(
        "annotation '{TYPE}' cannot be added, removed or changed on a Service that exists: the load balancer cannot become one of another type. Make a new Service"
    );
    Policy {
        name: NAME,
        binding: NAME,
        resource: "services",
        operations: &["UPDATE"],
        failure: Some("Fail"),
        condition: None,
        variables: Vec::new(),
        validations: vec![(format!("{} == {}", value("object"), value("oldObject")), message)],
    }
}
