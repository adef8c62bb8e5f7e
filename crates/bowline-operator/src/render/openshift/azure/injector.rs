//! The program that puts Azure's credentials into the configuration before the manager starts. It is in the operator's image.

use k8s_openapi::api::core::v1::{Container, VolumeMount};

use super::{CONFIG, CREDENTIALS, CREDENTIALS_FOLDER, MERGED, STACK_HUB_MERGED};
use crate::render::error::RenderError;
use crate::render::openshift::operand::Cluster;
use crate::render::openshift::script;
use crate::render::volumes::mount;

const PROGRAM: &str = "/azure-config-credentials-injector";
const NAME: &str = "azure-inject-credentials";

/// For Azure. `source` is the volume with the configuration; the file that names the API server goes along with it.
pub(super) fn azure(cluster: &Cluster<'_>, source: &str) -> Result<Container, RenderError> {
    let (from, to) = ("/etc/cloud-config", "/etc/merged-cloud-config");
    let flags = [
        format!("--cloud-config-file-path={from}/cloud.conf"),
        format!("--output-file-path={to}/cloud.conf"),
        "--disable-identity-extension-auth".to_owned(),
        "--enable-azure-workload-identity=true".to_owned(),
        format!("--creds-path={CREDENTIALS_FOLDER}"),
    ];
    let file = format!("{from}/apiserver-url.env");
    let start = script::lines(PROGRAM, "  ", &flags);
    let script = format!("#!/bin/bash\nif [[ -f {file} ]]; then\n  cp {file} {to}/\nfi\nexec {start}\n");
    Ok(Container {
        command: Some(script::command(script)),
        volume_mounts: Some(vec![
            mount(source, from),
            written(MERGED, to),
            mount(CREDENTIALS, CREDENTIALS_FOLDER),
        ]),
        ..base(cluster)?
    })
}

/// For Azure Stack Hub, which knows secrets only.
pub(super) fn stack_hub(cluster: &Cluster<'_>) -> Result<Container, RenderError> {
    let (from, to) = ("/tmp/cloud-config", "/tmp/merged-cloud-config");
    Ok(Container {
        command: Some(vec![PROGRAM.to_owned()]),
        args: Some(vec![
            format!("--cloud-config-file-path={from}/cloud.conf"),
            format!("--output-file-path={to}/cloud.conf"),
            format!("--creds-path={CREDENTIALS_FOLDER}"),
        ]),
        volume_mounts: Some(vec![
            mount(CONFIG, from),
            written(STACK_HUB_MERGED, to),
            mount(CREDENTIALS, CREDENTIALS_FOLDER),
        ]),
        ..base(cluster)?
    })
}

fn base(cluster: &Cluster<'_>) -> Result<Container, RenderError> {
    Ok(Container {
        name: NAME.to_owned(),
        image: Some(cluster.inputs.images.operator(cluster.platform)?.to_owned()),
        termination_message_policy: Some("FallbackToLogsOnError".to_owned()),
        ..Container::default()
    })
}

fn written(volume: &str, path: &str) -> VolumeMount {
    VolumeMount { name: volume.to_owned(), mount_path: path.to_owned(), ..VolumeMount::default() }
}
