//! A cloud-controller-manager under test: its flags, its process and its serving port.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use http::Request;
use http_body_util::BodyExt;
use kube::client::Body;
use kube::{Client, Config};

use crate::apiserver::{Cluster, Identity};
use crate::process::{Process, program};
use crate::wait::Wait;

/// Times of the leader election that fit a test.
pub const FAST_ELECTION: [&str; 3] = [
    "--leader-elect-lease-duration=3s",
    "--leader-elect-renew-deadline=2s",
    "--leader-elect-retry-period=500ms",
];

/// How a manager is started. Each method adds flags; where a flag is given twice, the later one counts.
#[derive(Debug, Clone)]
pub struct Manager {
    program: PathBuf,
    arguments: Vec<String>,
}

impl Manager {
    /// A program without flags.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into(), arguments: Vec::new() }
    }

    /// `bowline ccm` for OpenStack.
    ///
    /// # Errors
    /// When `bowline` was not built.
    pub fn bowline() -> anyhow::Result<Self> {
        Ok(Self::new(program("bowline")?).flags(["ccm", "--cloud-provider=openstack"]))
    }

    /// Adds flags.
    #[must_use]
    pub fn flags(mut self, flags: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.arguments.extend(flags.into_iter().map(Into::into));
        self
    }

    /// The file of the cloud's configuration.
    #[must_use]
    pub fn cloud_config(self, file: &Path) -> Self {
        self.flags([format!("--cloud-config={}", file.display())])
    }

    /// The kubeconfig by which it reaches the API server.
    #[must_use]
    pub fn kubeconfig(self, file: &Path) -> Self {
        self.flags([format!("--kubeconfig={}", file.display())])
    }

    /// It serves nothing.
    #[must_use]
    pub fn without_port(self) -> Self {
        self.flags(["--secure-port=0"])
    }

    /// It serves on this port of the loopback address; the API server that this kubeconfig names decides who its callers are and what
    /// they may read.
    #[must_use]
    pub fn serving(self, port: ServingPort, kubeconfig: &Path) -> Self {
        let kubeconfig = kubeconfig.display();
        self.flags([
            "--bind-address=127.0.0.1".to_owned(),
            format!("--secure-port={}", port.0),
            format!("--authentication-kubeconfig={kubeconfig}"),
            format!("--authorization-kubeconfig={kubeconfig}"),
        ])
    }

    /// The arguments so far.
    #[must_use]
    pub fn arguments(&self) -> &[String] {
        &self.arguments
    }

    /// The command that starts it.
    #[must_use]
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        command
    }

    /// Starts it; its output is appended to the file `log`.
    ///
    /// # Errors
    /// When the log cannot be opened or the program not be started.
    pub fn start(&self, log: impl Into<PathBuf>) -> anyhow::Result<Process> {
        Process::start(self.command(), log)
    }
}

/// The port on which a manager serves its probes, metrics and pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServingPort(pub u16);

impl ServingPort {
    /// A port that is free now, and for the moment until the manager takes it.
    ///
    /// # Errors
    /// When no port is free.
    pub fn free() -> anyhow::Result<Self> {
        Ok(Self(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port()))
    }

    /// Where it is, for programs.
    #[must_use]
    pub fn url(self) -> String {
        format!("https://127.0.0.1:{}", self.0)
    }

    /// The configuration of a caller of this port with the credentials that `caller` has for the API server. It accepts any certificate.
    ///
    /// # Errors
    /// When the address is none.
    pub fn config(self, caller: &Config) -> anyhow::Result<Config> {
        let mut config = caller.clone();
        config.cluster_url = self.url().parse()?;
        (config.accept_invalid_certs, config.root_cert) = (true, None);
        Ok(config)
    }

    /// Reads a page as an identity of this cluster: its status code and its text.
    ///
    /// # Errors
    /// When nothing answers on the port.
    pub async fn get(
        self,
        cluster: &Cluster,
        identity: &Identity,
        path: &str,
    ) -> anyhow::Result<(u16, String)> {
        get(self.config(&cluster.config(identity).await?)?, path).await
    }

    /// Waits until an administrator reads all of these texts on `/readyz?verbose`.
    ///
    /// # Errors
    /// With the last page, when that does not come.
    pub async fn until_readyz(self, cluster: &Cluster, parts: &[&str], wait: &Wait) -> anyhow::Result<()> {
        let mut page = String::new();
        let read = wait.until(format!("{parts:?} on /readyz"), async || {
            // It may not serve yet.
            let answer = self.get(cluster, &Identity::Admin, "/readyz?verbose").await;
            page = answer.map_or_else(|error| format!("{error:#}"), |(_status, page)| page);
            Ok(parts.iter().all(|part| page.contains(part)).then_some(()))
        });
        let read = read.await;
        read.with_context(|| format!("{parts:?} in {page}"))
    }
}

/// Reads a page: its status code and its text.
///
/// # Errors
/// When the server does not answer, or has another certificate than the configuration wants.
pub async fn get(config: Config, path: &str) -> anyhow::Result<(u16, String)> {
    let answer = Client::try_from(config)?.send(Request::get(path).body(Body::empty())?).await?;
    let status = answer.status().as_u16();
    let body = answer.into_body().collect().await?.to_bytes();
    Ok((status, String::from_utf8(body.to_vec())?))
}
