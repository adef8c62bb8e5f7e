//! A cluster: etcd and kube-apiserver started together, and what tests ask of it.
//!
//! Holds nothing that belongs to a tokio runtime (no client, no connection), because tests that share a cluster each
//! have a runtime of their own. Do not start one under paused time: its servers live in real time.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, bail};
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use kube::api::{ObjectMeta, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use serde_json::Value;
use tokio::sync::OnceCell;

use super::identity::{self, Credentials, Identity};
use super::janitor::Janitor;
use super::pki::Pki;
use super::process::Process;
use super::ready::{self, NotReady};
use super::{Binaries, arguments, ports};

/// How often other ports are tried when somebody else took the chosen ones.
const PORT_ATTEMPTS: u32 = 5;

/// Longer than any test run; the server's default of an hour is shorter than some.
const TOKEN_LIFETIME_SECONDS: i64 = 24 * 60 * 60;

/// The name of the audit log in the cluster's folder.
const AUDIT_LOG: &str = "audit.jsonl";

/// The shared cluster, or why there is none: a second test need not wait for the same failure.
static SHARED: OnceCell<Result<Cluster, String>> = OnceCell::const_new();

/// A running kube-apiserver with its etcd. Both are stopped and removed when it is dropped.
pub struct Cluster {
    pub(super) apiserver: Option<Process>,
    pub(super) etcd: Process,
    pub(super) janitor: Arc<Janitor>,
    pub(super) binaries: Binaries,
    pub(super) pki: Pki,
    pub(super) folder: PathBuf,
    pub(super) port: u16,
    pub(super) etcd_port: u16,
    /// What this cluster's API server is told besides: whether it keeps an audit log, and of which families its Services are.
    pub(super) besides: Vec<String>,
    names: AtomicU64,
}

impl Cluster {
    /// Starts servers of one's own: for tests that stop or pause them. Takes seconds and 300 MB of memory.
    ///
    /// # Errors
    /// When the binaries are missing or the servers do not get ready; the message holds the ends of their logs.
    pub async fn start() -> anyhow::Result<Self> {
        Self::start_with(None, Vec::new()).await
    }

    /// The same for Services of both IP families; one that asks for none gets an address of IPv4.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub async fn start_dual_stack() -> anyhow::Result<Self> {
        Self::start_with(None, vec![arguments::both_families()]).await
    }

    /// The same with more node ports than there are by default: for a thousand Services of three ports.
    ///
    /// # Errors
    /// As for [`Self::start`].
    pub async fn start_roomy() -> anyhow::Result<Self> {
        Self::start_with(None, vec!["--service-node-port-range=20000-32767".to_owned()]).await
    }

    /// The same with an audit log under this policy, to be read at [`Self::audit_log`].
    ///
    /// # Errors
    /// As [`Self::start`]; also when the API server refuses the policy.
    pub async fn start_audited(policy: &Value) -> anyhow::Result<Self> {
        Self::start_with(Some(policy), Vec::new()).await
    }

    async fn start_with(audit_policy: Option<&Value>, mut besides: Vec<String>) -> anyhow::Result<Self> {
        install_crypto_provider();
        let binaries = Binaries::locate()?;
        let folder = tempfile::Builder::new().prefix("bowline-").tempdir()?;
        let janitor = Arc::new(Janitor::take_charge_of(folder.path())?);
        let folder = folder.keep(); // the janitor removes it, also when this process is killed
        let pki = Pki::create(&folder.join("pki"))?;
        if let Some(policy) = audit_policy {
            let file = folder.join("audit-policy.json");
            fs::write(&file, policy.to_string()).with_context(|| format!("write {}", file.display()))?;
            besides.extend(arguments::audit(&file, &folder.join(AUDIT_LOG)));
        }
        for attempt in 1..=PORT_ATTEMPTS {
            let place = folder.join(format!("attempt-{attempt}"));
            match Servers::start(&binaries, &pki, &place, &besides, &janitor).await {
                Ok(servers) => return Ok(Self::of(servers, binaries, pki, folder, besides, janitor)),
                Err(error) if matches!(error.downcast_ref(), Some(NotReady::PortTaken)) => {}
                Err(error) => return Err(error.context("start kube-apiserver and etcd")),
            }
        }
        bail!("no free ports for kube-apiserver and etcd in {PORT_ATTEMPTS} attempts")
    }

    /// The cluster that all tests of this process share. Tests keep out of each other's way by [`Self::namespace`],
    /// or by [`Self::unique_name`] where objects have no namespace.
    ///
    /// # Errors
    /// When it could not be started: see [`Self::start`].
    pub async fn shared() -> anyhow::Result<&'static Self> {
        let start = async || Self::start().await.map_err(|error| format!("{error:#}"));
        match SHARED.get_or_init(start).await {
            Ok(cluster) => Ok(cluster),
            Err(why) => bail!("the shared cluster did not start: {why}"),
        }
    }

    fn of(
        servers: Servers,
        binaries: Binaries,
        pki: Pki,
        folder: PathBuf,
        besides: Vec<String>,
        janitor: Arc<Janitor>,
    ) -> Self {
        Self {
            apiserver: Some(servers.apiserver),
            etcd: servers.etcd,
            janitor,
            binaries,
            pki,
            folder,
            port: servers.port,
            etcd_port: servers.etcd_port,
            besides,
            names: AtomicU64::new(1),
        }
    }

    /// The address of the API server.
    #[must_use]
    pub fn url(&self) -> String {
        url_of(self.port)
    }

    /// The certificate of the authority that signed the server's certificate.
    #[must_use]
    pub fn ca_pem(&self) -> &str {
        &self.pki.authority_pem
    }

    /// A folder that lives as long as the cluster, for logs and files of processes under test.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The audit log, one JSON document on each line; empty unless the cluster was made by [`Self::start_audited`].
    #[must_use]
    pub fn audit_log(&self) -> PathBuf {
        self.folder.join(AUDIT_LOG)
    }

    /// The process ids of etcd and, if it runs, kube-apiserver.
    #[must_use]
    pub fn process_ids(&self) -> Vec<u32> {
        [Some(&self.etcd), self.apiserver.as_ref()].into_iter().flatten().map(Process::pid).collect()
    }

    /// A name nobody else gets from this cluster: `prefix-1`, `prefix-2`, …
    #[must_use]
    pub fn unique_name(&self, prefix: &str) -> String {
        format!("{prefix}-{}", self.names.fetch_add(1, Ordering::Relaxed))
    }

    /// Creates a namespace with a unique name and returns the name.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn namespace(&self, prefix: &str) -> anyhow::Result<String> {
        let name = self.unique_name(prefix);
        let metadata = ObjectMeta { name: Some(name.clone()), ..ObjectMeta::default() };
        let namespaces = Api::<Namespace>::all(self.client(&Identity::Admin).await?);
        let namespace = Namespace { metadata, ..Namespace::default() };
        namespaces.create(&PostParams::default(), &namespace).await.context("create a namespace")?;
        Ok(name)
    }

    /// A new client. It does not retry: a test that breaks the server wants to see the error.
    ///
    /// # Errors
    /// When the identity cannot be made, as in [`Self::kubeconfig`].
    pub async fn client(&self, identity: &Identity) -> anyhow::Result<Client> {
        Ok(Client::try_from(self.config(identity).await?)?)
    }

    /// The configuration of [`Self::client`], for tests that change something in it.
    ///
    /// # Errors
    /// When the identity cannot be made, as in [`Self::kubeconfig`].
    pub async fn config(&self, identity: &Identity) -> anyhow::Result<Config> {
        install_crypto_provider();
        let credentials = self.credentials(identity).await?;
        client_config(&self.url(), &self.pki, &credentials).await
    }

    /// Writes a kubeconfig and returns its path; it and the files it names live as long as the cluster.
    ///
    /// # Errors
    /// When the API server refuses to make the ServiceAccount or its token, or a file cannot be written.
    pub async fn kubeconfig(&self, identity: &Identity) -> anyhow::Result<PathBuf> {
        let credentials = self.credentials(identity).await?;
        let document = identity::kubeconfig(&self.url(), Some(&self.pki.authority_file), &credentials);
        self.write_kubeconfig(&document)
    }

    /// Writes a kubeconfig for a proxy without TLS in front of the API server, with this token of a ServiceAccount.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn kubeconfig_of_proxy(&self, url: &str, token: &str) -> anyhow::Result<PathBuf> {
        self.write_kubeconfig(&identity::kubeconfig(url, None, &Credentials::Token(token.to_owned())))
    }

    fn write_kubeconfig(&self, document: &Value) -> anyhow::Result<PathBuf> {
        let path = self.folder.join(self.unique_name("kubeconfig"));
        fs::write(&path, document.to_string()).with_context(|| format!("write {}", path.display()))?;
        Ok(path)
    }

    /// A token of a ServiceAccount, which is created if it is missing.
    ///
    /// # Errors
    /// When the API server refuses, as it does if the namespace does not exist.
    pub async fn token(&self, namespace: &str, name: &str) -> anyhow::Result<String> {
        let admin = Credentials::Certificate(self.pki.admin.clone());
        let client = Client::try_from(client_config(&self.url(), &self.pki, &admin).await?)?;
        let accounts = Api::<ServiceAccount>::namespaced(client, namespace);
        let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
        let account = ServiceAccount { metadata, ..ServiceAccount::default() };
        match accounts.create(&PostParams::default(), &account).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.is_already_exists() => {}
            Err(error) => return Err(error).context("create a ServiceAccount"),
        }
        let expiration_seconds = Some(TOKEN_LIFETIME_SECONDS);
        let spec = TokenRequestSpec { expiration_seconds, ..TokenRequestSpec::default() };
        let request = TokenRequest { spec, ..TokenRequest::default() };
        let answer = accounts
            .create_token_request(name, &PostParams::default(), &request)
            .await
            .context("request a token")?;
        Ok(answer.status.context("the API server answered a TokenRequest without a token")?.token)
    }

    async fn credentials(&self, identity: &Identity) -> anyhow::Result<Credentials> {
        Ok(match identity {
            Identity::Admin => Credentials::Certificate(self.pki.admin.clone()),
            Identity::ServiceAccount { namespace, name } => {
                Credentials::Token(self.token(namespace, name).await?)
            }
            Identity::User { name, group } => {
                let file = self.unique_name("user");
                Credentials::Certificate(self.pki.client(&file, name, group.as_deref())?)
            }
            Identity::Anonymous => Credentials::None,
        })
    }
}

/// Two servers that have become ready together.
struct Servers {
    apiserver: Process,
    etcd: Process,
    port: u16,
    etcd_port: u16,
}

impl Servers {
    async fn start(
        binaries: &Binaries,
        pki: &Pki,
        place: &Path,
        besides: &[String],
        janitor: &Arc<Janitor>,
    ) -> anyhow::Result<Self> {
        fs::create_dir(place)?;
        let [port, etcd_port, peer_port] = ports::free()?;
        let arguments = arguments::etcd(&place.join("etcd"), etcd_port, peer_port);
        let mut etcd = Process::spawn(&binaries.etcd, &arguments, &place.join("etcd.log"), janitor)?;
        let mut arguments = arguments::kube_apiserver(pki, port, etcd_port);
        arguments.extend_from_slice(besides);
        let log = place.join("kube-apiserver.log");
        let mut apiserver = Process::spawn(&binaries.kube_apiserver, &arguments, &log, janitor)?;
        wait_until_ready(pki, port, &mut etcd, &mut apiserver).await?;
        Ok(Self { apiserver, etcd, port, etcd_port })
    }
}

/// Waits with the admin's client, which is dropped again: see the top of this file.
pub(super) async fn wait_until_ready(
    pki: &Pki,
    port: u16,
    etcd: &mut Process,
    apiserver: &mut Process,
) -> anyhow::Result<()> {
    let admin = Credentials::Certificate(pki.admin.clone());
    let client = Client::try_from(client_config(&url_of(port), pki, &admin).await?)?;
    Ok(ready::wait(&client, etcd, apiserver).await?)
}

async fn client_config(url: &str, pki: &Pki, credentials: &Credentials) -> anyhow::Result<Config> {
    let document = identity::kubeconfig(url, Some(&pki.authority_file), credentials);
    let kubeconfig: Kubeconfig = serde_json::from_value(document)?;
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    config.default_retry = false;
    config.proxy_url = None; // loopback, whatever the environment says
    Ok(config)
}

fn url_of(port: u16) -> String {
    format!("https://127.0.0.1:{port}")
}

/// One TLS implementation for the whole process, as in our binaries. A second call finds it installed, which is fine.
fn install_crypto_provider() {
    rustls::crypto::aws_lc_rs::default_provider().install_default().ok();
}
