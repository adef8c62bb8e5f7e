//! A cluster of one scenario: an API server of its own on the shared cloud, the manager with the rights that are shipped, and those
//! who use both. What it made in the cloud goes with it, also if the scenario failed.

mod balancers;
mod belongings;
mod nodes;
mod once;
mod people;
mod shape;

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::Context;
use bowline_testkit::Wait;
use bowline_testkit::apiserver::{Cluster, Identity};
use bowline_testkit::manager::{Manager, ServingPort};
use bowline_testkit::manifest::apply_manifest;
use bowline_testkit::nodes::Nodes;
use bowline_testkit::objects::{self, MANAGER, SYSTEM};
use bowline_testkit::process::{self, Process};
use bowline_testkit::services::{Services, events, until_warned};
use k8s_openapi::api::core::v1::Event;
use kube::{Api, Client};

pub(crate) use self::balancers::Whole;
pub(crate) use self::belongings::id_of;
pub(crate) use self::once::ports_of;
pub(crate) use self::people::Person;
use crate::conf::Conf;
use crate::scenario::Stage;
use crate::sweep::MARK;
use crate::waiting::wait;
use crate::world::World;

/// Where the Services are.
pub(crate) const NAMESPACE: &str = "shop";
const RBAC: &str = include_str!("../../../../deploy/rbac.yaml");

/// A change of leaders takes no longer than a scenario should.
const ELECTION: [&str; 3] = [
    "--leader-elect-lease-duration=6s",
    "--leader-elect-renew-deadline=4s",
    "--leader-elect-retry-period=1s",
];

/// Tells clusters of one run apart.
static NUMBER: AtomicU32 = AtomicU32::new(1);

/// A cluster on the cloud.
pub(crate) struct Harness<'w> {
    pub(crate) world: &'w World,
    /// The name of the cluster: what it makes in the cloud is named after it.
    pub(crate) name: String,
    pub(crate) cluster: Cluster,
    pub(crate) client: Client,
    pub(crate) services: Services,
    pub(crate) nodes: Nodes,
    /// The cloud.conf.
    pub(crate) conf: PathBuf,
    kubeconfig: PathBuf,
    log: PathBuf,
    port: ServingPort,
    wait: Wait,
}

impl<'w> Harness<'w> {
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
        apply_manifest(&client, RBAC).await?;
        objects::create_namespace(&client, NAMESPACE).await?;
        let folder = world.keep.join(format!("{}-{name}", stage.scenario.replace('/', "-")));
        std::fs::create_dir_all(&folder).with_context(|| format!("create {}", folder.display()))?;
        let conf_file = cluster.folder().join("cloud.conf");
        conf.write(world.about(), &conf_file)?;
        let log = folder.join("bowline.log");
        let wait = wait().with_log(&log);
        Ok(Self {
            world,
            name: name.to_owned(),
            services: Services::of(&client, NAMESPACE).waiting(wait.clone()),
            nodes: Nodes::of(&client).waiting(wait.clone()),
            wait,
            client,
            conf: conf_file,
            kubeconfig: cluster.kubeconfig(&Identity::service_account(SYSTEM, MANAGER)).await?,
            log,
            port: ServingPort::free()?,
            cluster,
        })
    }

    /// Starts the manager. A later flag takes the place of an earlier one.
    pub(crate) fn run(&self, flags: &[&str]) -> anyhow::Result<Process> {
        self.manager().flags(flags.iter().copied()).start(&self.log)
    }

    /// How the manager is started.
    pub(crate) fn manager(&self) -> Manager {
        Manager::new(&self.world.bowline)
            .flags(["ccm", "--cloud-provider=openstack", "--v=2"])
            .flags(ELECTION)
            .flags([format!("--cluster-name={}", self.name)])
            .cloud_config(&self.conf)
            .kubeconfig(&self.kubeconfig)
            .serving(self.port, &self.kubeconfig)
    }

    /// Waits until the manager reports something on `/readyz?verbose`. Reasons are shown to administrators, and withheld from others.
    pub(crate) async fn until_readyz(&self, part: &str) -> anyhow::Result<()> {
        self.port.until_readyz(&self.cluster, &[part], &self.wait).await
    }

    /// The events of an object, of any namespace: type, reason and text.
    pub(crate) async fn events(&self, name: &str) -> anyhow::Result<Vec<(String, String, String)>> {
        let text = |text: Option<String>| text.unwrap_or_default();
        let row = |event: Event| (text(event.type_), text(event.reason), text(event.message));
        Ok(events(&Api::all(self.client.clone()), name).await?.into_iter().map(row).collect())
    }

    /// Waits until a warning about an object contains a text; the answer is its message.
    pub(crate) async fn until_warned(&self, name: &str, part: &str) -> anyhow::Result<String> {
        until_warned(&Api::all(self.client.clone()), name, part, &self.wait).await
    }

    /// The last lines of the manager's log.
    pub(crate) fn tail(&self) -> String {
        process::tail(&self.log)
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
}
