//! A cluster without Nodes on a cloud without servers, and the binary under any name.

use std::ops::Deref;
use std::sync::Arc;

use anyhow::Context;
use bowline_testkit::apiserver::Identity;
use bowline_testkit::cloud::Cloud;
use bowline_testkit::manager::Manager;
use bowline_testkit::nodes::registered;
use bowline_testkit::process::{Process, program};
use k8s_openapi::api::core::v1::Node;
use serde_json::json;

use crate::harness::Harness as Base;

/// A cluster on a cloud.
pub(crate) struct Harness(Base);

impl Deref for Harness {
    type Target = Base;

    fn deref(&self) -> &Base {
        &self.0
    }
}

impl Harness {
    pub(crate) async fn start() -> anyhow::Result<Self> {
        Ok(Self(Base::start(Arc::new(Cloud::start(0).await?), &[], "default", "").await?))
    }

    /// Deletes a server behind everybody's back.
    pub(crate) fn remove_server(&self, id: &str) -> anyhow::Result<()> {
        self.cloud.edit(|state| state.compute.remove_server(id)).context("no such server").map(drop)
    }

    /// A Node as a kubelet registers it that leaves the rest to us.
    pub(crate) async fn register(&self, name: &str, system_uuid: &str) -> anyhow::Result<Node> {
        self.nodes.create(registered(name, system_uuid)).await
    }

    /// The same for a kubelet that was given a provider ID.
    pub(crate) async fn register_with(
        &self,
        name: &str,
        system_uuid: &str,
        provider_id: &str,
    ) -> anyhow::Result<Node> {
        let mut node = registered(name, system_uuid);
        node["spec"]["providerID"] = json!(provider_id);
        self.nodes.create(node).await
    }

    /// Starts the binary under this name, with these arguments before the usual flags.
    pub(crate) async fn run(&self, name: &str, first: &[&str]) -> anyhow::Result<Process> {
        let link = self.cluster.folder().join(name);
        std::os::unix::fs::symlink(program("bowline")?, &link)?;
        Manager::new(link)
            .flags(first.iter().copied())
            .flags(["--cloud-provider=openstack", "--user-agent=real-test/1"])
            // A test has few nodes and no time.
            .flags(["--node-deletion-limit-percent=100", "--node-deletion-breaker-percent=100"])
            .flags(["--new-node-grace-period=1s", "--node-monitor-period=1s"])
            .cloud_config(&self.conf)
            .kubeconfig(&self.cluster.kubeconfig(&Identity::Admin).await?)
            .without_port()
            .start(&self.log)
    }

    /// Waits until a Node is as wanted; fails at once when the manager ends.
    pub(crate) async fn until(
        &self,
        manager: &mut Process,
        name: &str,
        what: &str,
        wanted: impl Fn(&Node) -> bool,
    ) -> anyhow::Result<Node> {
        manager.while_running(self.nodes.until(name, what, wanted)).await
    }

    /// Waits until a Node is gone; fails at once when the manager ends.
    pub(crate) async fn until_gone(&self, manager: &mut Process, name: &str) -> anyhow::Result<()> {
        manager.while_running(self.nodes.until_gone(name)).await
    }
}
