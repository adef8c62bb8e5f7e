//! What the suites of the binary share: a cluster on a simulated cloud, with the shipped rights, a Node for each server, and the manager.

use std::path::PathBuf;
use std::sync::Arc;

use bowline_testkit::Wait;
use bowline_testkit::apiserver::{Cluster, Identity};
use bowline_testkit::manager::{Manager, ServingPort};
use bowline_testkit::manifest::apply_manifest;
use bowline_testkit::nodes::{self, Nodes};
use bowline_testkit::objects::{self, SYSTEM};
use bowline_testkit::services::Services;
use kube::Client;

use bowline_testkit::cloud::Cloud;

/// A cluster on a cloud.
pub(crate) struct Harness {
    pub(crate) cloud: Arc<Cloud>,
    pub(crate) cluster: Cluster,
    /// May do everything.
    pub(crate) admin: Client,
    pub(crate) nodes: Nodes,
    pub(crate) services: Services,
    pub(crate) conf: PathBuf,
    pub(crate) log: PathBuf,
    pub(crate) port: ServingPort,
    /// Waits that fail show the end of the manager's log.
    pub(crate) wait: Wait,
}

impl Harness {
    /// A cluster with these manifests applied and Services in this namespace. No manager runs yet.
    pub(crate) async fn start(
        cloud: Arc<Cloud>,
        manifests: &[&str],
        namespace: &str,
        conf: &str,
    ) -> anyhow::Result<Self> {
        let cluster = Cluster::start().await?;
        let admin = cluster.client(&Identity::Admin).await?;
        for manifest in manifests {
            apply_manifest(&admin, manifest).await?;
        }
        objects::create_namespace(&admin, namespace).await?;
        let log = cluster.folder().join("bowline.log");
        let wait = Wait::default().with_log(&log);
        let harness = Self {
            nodes: Nodes::of(&admin).waiting(wait.clone()),
            services: Services::of(&admin, namespace).waiting(wait.clone()),
            conf: cloud.write_conf(cluster.folder(), conf)?,
            port: ServingPort::free()?,
            admin,
            log,
            wait,
            cloud,
            cluster,
        };
        for (name, id, address) in harness.cloud.machines().await? {
            harness.nodes.create(nodes::initialized(&name, &id, &[&address])).await?;
        }
        Ok(harness)
    }

    /// Writes the cloud.conf anew, as one does who rotates a password.
    pub(crate) fn rewrite_conf(&self, password: &str, conf: &str) -> anyhow::Result<()> {
        self.cloud.write_conf_with(self.cluster.folder(), password, conf).map(drop)
    }

    /// The manager as a ServiceAccount of the shipped manifests.
    pub(crate) async fn manager(&self, account: &str) -> anyhow::Result<Manager> {
        let kubeconfig = self.cluster.kubeconfig(&Identity::service_account(SYSTEM, account)).await?;
        let manager = Manager::bowline()?.cloud_config(&self.conf).kubeconfig(&kubeconfig);
        Ok(manager.serving(self.port, &kubeconfig))
    }
}
