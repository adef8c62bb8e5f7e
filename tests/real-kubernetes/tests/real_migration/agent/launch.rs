//! From a pod's container to a process: its flags, with what differs here from a machine of a cluster.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Context;
use bowline_testkit::manager::FAST_ELECTION;
use bowline_testkit::process::Process;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, PodSpec, Secret};
use kube::{Api, Client};
use real_kubernetes_tests::migration::request::{Side, Writer};

use crate::cluster::{MigrationCluster, SYSTEM};

/// What a process is started with.
pub(crate) struct Launch {
    program: PathBuf,
    arguments: Vec<String>,
}

/// Starts processes of pods.
pub(super) struct Launcher {
    client: Client,
    pub(super) pods: Api<Pod>,
    pub(super) node: String,
    kubeconfig: PathBuf,
    bowline: PathBuf,
    occm: PathBuf,
    folder: PathBuf,
    run: String,
}

impl Launcher {
    pub(super) fn new(stage: &MigrationCluster, node: &str, run: &str) -> Self {
        Self {
            client: stage.client.clone(),
            pods: Api::namespaced(stage.client.clone(), SYSTEM),
            node: node.to_owned(),
            kubeconfig: stage.kubeconfig.clone(),
            bowline: stage.bowline.clone(),
            occm: stage.occm.clone(),
            folder: stage.folder().to_owned(),
            run: run.to_owned(),
        }
    }

    /// What the process of a pod is started with.
    pub(super) async fn launch(&self, pod: &str, spec: Option<&PodSpec>) -> anyhow::Result<Launch> {
        let spec = spec.context("a pod without a specification")?;
        let container = spec.containers.first().context("a pod without a container")?;
        let words: Vec<&String> = container.command.iter().chain(&container.args).flatten().collect();
        let (program, flags) = words.split_first().context("a container without a command")?;
        let is_bowline = program.as_str() == "bowline";
        let mut arguments = Vec::new();
        for flag in flags {
            match flag.split_once('=') {
                Some(("--cloud-config", path)) => {
                    let text = self.mounted(spec, path).await?;
                    let file = self.folder.join(format!("{}-{pod}-cloud.conf", self.run));
                    std::fs::write(&file, text)?;
                    arguments.push(format!("--cloud-config={}", file.display()));
                }
                Some(("--secure-port", _)) => arguments.push("--secure-port=0".to_owned()),
                _ => arguments.push((*flag).clone()),
            }
        }
        arguments.extend(FAST_ELECTION.map(ToOwned::to_owned));
        arguments.push(format!("--kubeconfig={}", self.kubeconfig.display()));
        if is_bowline {
            arguments.push("--shadow-period=1s".to_owned());
        }
        let program = if is_bowline { &self.bowline } else { &self.occm };
        Ok(Launch { program: program.clone(), arguments })
    }

    /// The text of a file that a volume brings.
    async fn mounted(&self, spec: &PodSpec, path: &str) -> anyhow::Result<Vec<u8>> {
        let (folder, file) = path.rsplit_once('/').context("no folder")?;
        let mounts = spec.containers.iter().flat_map(|container| container.volume_mounts.iter().flatten());
        let mount = mounts.into_iter().find(|mount| mount.mount_path == folder);
        let mount = mount.with_context(|| format!("nothing is mounted at {folder}"))?;
        let volume = spec.volumes.iter().flatten().find(|volume| volume.name == mount.name);
        let volume = volume.with_context(|| format!("no volume {}", mount.name))?;
        if let Some(source) = &volume.secret {
            let secrets: Api<Secret> = Api::namespaced(self.client.clone(), SYSTEM);
            let secret = secrets.get(source.secret_name.as_deref().unwrap_or_default()).await?;
            let text = secret.data.and_then(|mut data| data.remove(file)).context("no such key")?;
            return Ok(text.0);
        }
        let source = volume.config_map.as_ref().context("neither a Secret nor a ConfigMap")?;
        let maps: Api<ConfigMap> = Api::namespaced(self.client.clone(), SYSTEM);
        let text = maps.get(&source.name).await?.data.and_then(|mut data| data.remove(file));
        Ok(text.context("no such key")?.into_bytes())
    }

    /// Starts it.
    pub(super) fn start(&self, launch: &Launch, writer: &Writer) -> anyhow::Result<Process> {
        let mut command = Command::new(&launch.program);
        command.args(&launch.arguments).arg(format!("--user-agent={}", writer.agent()));
        let side = if writer.side == Side::Old { "old" } else { "new" };
        Process::start(command, self.folder.join(format!("{}-{side}-{}.log", self.run, writer.process)))
    }
}
