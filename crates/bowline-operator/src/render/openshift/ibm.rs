//! IBM Cloud and Power Virtual Server: a Deployment each, of the same program. It serves its health, unlike the others.

use k8s_openapi::api::core::v1::{EnvVar, HTTPGetAction, Probe, Volume, VolumeMount};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::common::{config_map, host_settings, host_settings_mount, secret, trusted_ca, trusted_ca_mount};
use super::operand::{CLOUD_CONF, Cluster, ELECTION, Operand};
use crate::render::error::RenderError;
use crate::render::flags::PORT;
use crate::render::object::Object;
use crate::render::program::variable;

const PROGRAM: &str = "/bin/ibm-cloud-controller-manager";
const CREDENTIALS: &str = "ibm-cloud-credentials";
/// What the API server puts where nobody says anything; OpenShift says it.
const FILE_MODE: i32 = 0o644;

pub(super) fn objects(cluster: &Cluster<'_>) -> Result<Vec<Object>, RenderError> {
    let mut flags = vec!["--bind-address=127.0.0.1".to_owned()];
    flags.extend(shared_flags(cluster));
    let probe = Probe {
        failure_threshold: Some(3),
        period_seconds: Some(10),
        success_threshold: Some(1),
        ..probe(Some("127.0.0.1"))
    };
    let name = "ibm-cloud-controller-manager";
    Ok(vec![cluster.deployment(operand(name, flags, variable("VPCCTL_PUBLIC_ENDPOINT", "false"), probe))?])
}

pub(super) fn power_vs_objects(cluster: &Cluster<'_>) -> Result<Vec<Object>, RenderError> {
    let endpoint = variable("ENABLE_VPC_PUBLIC_ENDPOINT", "true");
    let operand = operand("powervs-cloud-controller-manager", shared_flags(cluster), endpoint, probe(None));
    Ok(vec![cluster.deployment(operand)?])
}

fn shared_flags(cluster: &Cluster<'_>) -> Vec<String> {
    cluster.flags(&[
        "--use-service-account-credentials=true",
        "--configure-cloud-routes=false",
        "--cloud-provider=ibm",
        "--cloud-config=/etc/ibm/cloud.conf",
        "--profiling=false",
        ELECTION,
    ])
}

fn operand(name: &'static str, flags: Vec<String>, endpoint: EnvVar, probe: Probe) -> Operand {
    Operand {
        indent: "",
        flags,
        last_flags: vec!["--v=2"],
        env: vec![variable("VPCCTL_CLOUD_CONFIG", "/etc/ibm/cloud.conf"), endpoint],
        mounts: vec![
            host_settings_mount(),
            writable(CLOUD_CONF, "/etc/ibm"),
            writable(CREDENTIALS, "/etc/vpc"),
            trusted_ca_mount(),
        ],
        volumes: vec![trusted_ca(), host_settings(), configuration(), credentials()],
        cpu: "75m",
        memory: "60Mi",
        liveness: Some(probe),
        grace: Some(90),
        ..Operand::new(name, PROGRAM)
    }
}

fn probe(host: Option<&str>) -> Probe {
    Probe {
        http_get: Some(HTTPGetAction {
            host: host.map(str::to_owned),
            path: Some("/healthz".to_owned()),
            port: IntOrString::Int(PORT),
            scheme: Some("HTTPS".to_owned()),
            ..HTTPGetAction::default()
        }),
        initial_delay_seconds: Some(300),
        timeout_seconds: Some(160),
        ..Probe::default()
    }
}

/// Nothing can be written there either, but OpenShift does not say so.
fn writable(volume: &str, path: &str) -> VolumeMount {
    VolumeMount { name: volume.to_owned(), mount_path: path.to_owned(), ..VolumeMount::default() }
}

fn configuration() -> Volume {
    let mut volume = config_map(CLOUD_CONF, CLOUD_CONF, &[]);
    if let Some(source) = &mut volume.config_map {
        source.default_mode = Some(FILE_MODE);
    }
    volume
}

fn credentials() -> Volume {
    let mut volume = secret(CREDENTIALS, CREDENTIALS, &[]);
    if let Some(source) = &mut volume.secret {
        source.default_mode = Some(FILE_MODE);
    }
    volume
}
