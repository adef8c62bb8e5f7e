//! A cluster of one scenario: an API server of its own on the shared cloud, the manager with the rights that are shipped, and those
//! who use both. What it made in the cloud goes with it, also if the scenario failed.

mod balancers;
mod belongings;
mod nodes;
mod once;
mod people;
mod readiness;
mod services;
mod shape;

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, ensure};
use bowline_testkit::apiserver::{Binaries, Cluster, Identity};
use bowline_testkit::process::Process;
use k8s_openapi::api::core::v1::{Namespace, Node, Service};
use kube::api::PostParams;
use kube::{Api, Client};
use serde_json::json;

pub(crate) use self::balancers::Whole;
pub(crate) use self::belongings::id_of;
pub(crate) use self::nodes::{UNINITIALISED, addresses, is_initialised, new_node, provider_id, taints};
pub(crate) use self::once::ports_of;
pub(crate) use self::people::Person;
pub(crate) use self::services::{address, balancer_id, condition, port, service};
use crate::conf::Conf;
use crate::scenario::Stage;
use crate::sweep::MARK;
use crate::world::World;

/// Where the Services are.
pub(crate) const NAMESPACE: &str = "shop";
/// Whom the manager runs as: the ServiceAccount of the shipped manifest.
const ACCOUNT: (&str, &str) = ("kube-system", "cloud-controller-manager");
const RBAC: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../deploy/rbac.yaml");

/// As in a cluster, but that a change of leaders takes no longer than a scenario should.
const FLAGS: [&str; 6] = [
    "--cloud-provider=openstack",
    "--bind-address=127.0.0.1",
    "--leader-elect-lease-duration=6s",
    "--leader-elect-renew-deadline=4s",
    "--leader-elect-retry-period=1s",
    "--v=2",
];

/// Tells clusters of one run apart.
static NUMBER: AtomicU32 = AtomicU32::new(1);

/// A cluster on the cloud.
pub(crate) struct Site<'w> {
    pub(crate) world: &'w World,
    /// The name of the cluster: what it makes in the cloud is named after it.
    pub(crate) name: String,
    pub(crate) cluster: Cluster,
    pub(crate) client: Client,
    pub(crate) services: Api<Service>,
    pub(crate) nodes: Api<Node>,
    /// The cloud.conf.
    pub(crate) conf: PathBuf,
    kubeconfig: PathBuf,
    log: PathBuf,
    port: u16,
}

impl<'w> Site<'w> {
    /// A cluster without Nodes; no manager runs yet.
    pub(crate) async fn start(stage: &Stage<'w>, conf: &Conf) -> anyhow::Result<Self> {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("{MARK}{}-{number}", std::process::id());
        Self::start_named(stage, conf, &name).await
    }

    /// The same with a name that is given: clusters may be told apart wrongly.
    pub(crate) async fn start_named(stage: &Stage<'w>, conf: &Conf, name: &str) -> anyhow::Result<Self> {
        let world = stage.world;
        let cluster = Cluster::start_dual_stack().await?;
        let client = cluster.client(&Identity::Admin).await?;
        apply(&cluster.kubeconfig(&Identity::Admin).await?, Path::new(RBAC))?;
        let shop: Namespace = serde_json::from_value(json!({"metadata": {"name": NAMESPACE}}))?;
        Api::all(client.clone()).create(&PostParams::default(), &shop).await?;
        let folder = world.keep.join(format!("{}-{name}", stage.scenario.replace('/', "-")));
        std::fs::create_dir_all(&folder).with_context(|| format!("create {}", folder.display()))?;
        let conf_file = cluster.folder().join("cloud.conf");
        conf.write(world.about(), &conf_file)?;
        Ok(Self {
            world,
            name: name.to_owned(),
            services: Api::namespaced(client.clone(), NAMESPACE),
            nodes: Api::all(client.clone()),
            client,
            conf: conf_file,
            kubeconfig: cluster.kubeconfig(&Identity::service_account(ACCOUNT.0, ACCOUNT.1)).await?,
            log: folder.join("bowline.log"),
            // Free now, and for the moment until the manager takes it.
            port: TcpListener::bind("127.0.0.1:0")?.local_addr()?.port(),
            cluster,
        })
    }

    /// Starts the manager. A later flag takes the place of an earlier one.
    pub(crate) fn run(&self, flags: &[&str]) -> anyhow::Result<Process> {
        Process::start(self.command(flags), self.log.clone())
    }

    /// How the manager is started.
    pub(crate) fn command(&self, flags: &[&str]) -> Command {
        let mut command = Command::new(&self.world.bowline);
        let kubeconfig = self.kubeconfig.display();
        command
            .arg("ccm")
            .args(FLAGS)
            .arg(format!("--cluster-name={}", self.name))
            .arg(format!("--secure-port={}", self.port))
            .arg(format!("--cloud-config={}", self.conf.display()))
            .arg(format!("--kubeconfig={kubeconfig}"))
            .arg(format!("--authentication-kubeconfig={kubeconfig}"))
            .arg(format!("--authorization-kubeconfig={kubeconfig}"))
            .args(flags);
        command
    }

    /// Writes the cloud.conf anew, as one does who changes something.
    pub(crate) fn reconfigure(&self, conf: &Conf) -> anyhow::Result<()> {
        self.reconfigure_as(&conf.text(self.world.about()))
    }

    /// The same with a text of one's own.
    pub(crate) fn reconfigure_as(&self, text: &str) -> anyhow::Result<()> {
        // Whole or not at all, as a mounted Secret changes.
        let aside = self.conf.with_extension("new");
        std::fs::write(&aside, text)?;
        Ok(std::fs::rename(aside, &self.conf)?)
    }

    /// Where the manager's log is.
    pub(crate) fn log(&self) -> &Path {
        &self.log
    }
}

/// Applies a manifest as people do.
pub(crate) fn apply(kubeconfig: &Path, manifest: &Path) -> anyhow::Result<()> {
    let kubectl = Binaries::locate()?.kubectl.context("no kubectl: `cargo xtask kubernetes` builds it")?;
    let output = Command::new(kubectl)
        .arg("--kubeconfig")
        .arg(kubeconfig)
        .args(["apply", "-f"])
        .arg(manifest)
        .output()
        .context("start kubectl")?;
    ensure!(output.status.success(), "kubectl apply: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}
