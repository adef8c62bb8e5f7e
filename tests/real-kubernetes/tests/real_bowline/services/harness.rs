//! A cluster on a cloud, and the people who use both with the programs that people have.

use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use bowline_testkit::apiserver::Identity;
use bowline_testkit::kubectl::Kubectl;
use bowline_testkit::manager::{FAST_ELECTION, Manager};
use bowline_testkit::objects::MANAGER;
use bowline_testkit::process::Process;
use serde_json::Value;

use crate::harness::Harness as Base;
use crate::openstack::{self, OpenStack};
use bowline_testkit::cloud::Cloud;

/// A manager is quiet when it has sent no request to the cloud for this long.
const QUIET: Duration = Duration::from_secs(3);

/// Which components of events are the manager's: its controller, and its cloud.
const OURS: [&str; 2] = ["service-controller", "cloud-controller-manager"];

/// Where the Services are.
pub(crate) const NAMESPACE: &str = "shop";
const RBAC: &str = include_str!("../../../../../deploy/rbac.yaml");

const FLAGS: [&str; 4] =
    ["--controller-start-interval=0s", "--kube-api-qps=200", "--kube-api-burst=400", "--cloud-api-qps=100"];

/// The programs that people use.
pub(crate) struct Tools {
    kubectl: PathBuf,
    openstack: PathBuf,
}

impl Tools {
    /// The programs of this machine; none, with a line on standard output, if one is missing.
    pub(crate) fn locate() -> anyhow::Result<Option<Self>> {
        let Some(kubectl) = Kubectl::locate()? else { return Ok(None) };
        let openstack = openstack::locate().inspect_err(|problem| println!("not tested: {problem}"));
        Ok(openstack.ok().map(|openstack| Self { kubectl, openstack }))
    }
}

/// A cluster on a cloud, with its people.
pub(crate) struct Harness {
    base: Base,
    /// Who runs the cluster.
    pub(crate) admin: Kubectl,
    /// Who has Services in it.
    pub(crate) user: Kubectl,
    /// Who runs the cluster, as a member of its project.
    pub(crate) member: OpenStack,
    /// Who runs the cloud.
    pub(crate) operator: OpenStack,
    manager: Manager,
}

impl Deref for Harness {
    type Target = Base;

    fn deref(&self) -> &Base {
        &self.base
    }
}

impl Harness {
    /// A cluster on a cloud, with a Node for each of its servers. No manager runs yet.
    pub(crate) async fn start(tools: &Tools, cloud: Arc<Cloud>, conf: &str) -> anyhow::Result<Self> {
        let base = Base::start(cloud, &[RBAC], NAMESPACE, conf).await?;
        let folder = base.cluster.folder();
        base.cloud.write_clouds_yaml(folder)?;
        let openstack = |cloud| OpenStack::start(&tools.openstack, cloud, folder);
        let (member, operator) = (openstack("sim")?, openstack("sim-admin")?);
        let cache = folder.join("kubectl");
        let kubectl = |kubeconfig| Kubectl::new(&tools.kubectl, kubeconfig, &cache);
        let admin = kubectl(base.cluster.kubeconfig(&Identity::Admin).await?);
        // `edit` itself is put together by a controller that is not here.
        for name in ["edit", "view"] {
            let role = format!("--clusterrole=system:aggregate-to-{name}");
            let namespace = format!("--namespace={NAMESPACE}");
            admin.run(&["create", "rolebinding", name, &role, "--user=dev", &namespace]).await?;
        }
        let user = kubectl(base.cluster.kubeconfig(&Identity::user("dev")).await?).within(NAMESPACE);
        let manager = base.manager(MANAGER).await?.flags(FAST_ELECTION).flags(FLAGS);
        Ok(Self { admin, user, member, operator, manager, base })
    }

    /// Starts the manager.
    pub(crate) fn run(&self, flags: &[&str]) -> anyhow::Result<Process> {
        self.manager.clone().flags(flags.iter().copied()).start(&self.log)
    }

    /// Waits until an administrator reads all of this on `/readyz`.
    pub(crate) async fn until_readyz(&self, parts: &[&str]) -> anyhow::Result<()> {
        self.port.until_readyz(&self.cluster, parts, &self.wait).await
    }

    /// Waits until the `openstack` client shows rows as they are wanted.
    pub(crate) async fn until_rows(
        &self,
        command: &str,
        what: &str,
        wanted: impl Fn(&[Value]) -> bool,
    ) -> anyhow::Result<Vec<Value>> {
        let rows = async || self.member.rows(command).await;
        let found = self.wait.until_value(what, rows, |rows: &Vec<Value>| wanted(rows)).await;
        found.with_context(|| format!("openstack {command}"))
    }

    /// The manager's warnings about a Service: reason and text. The API server warns of its own repairs, too.
    pub(crate) async fn warnings(&self, name: &str) -> anyhow::Result<Vec<(String, String)>> {
        let mut events = self.services.events(name).await?;
        events.retain(|event| {
            let is_ours = event.reporting_component.as_deref().is_some_and(|from| OURS.contains(&from));
            is_ours && event.type_.as_deref() == Some("Warning")
        });
        let text = |text: Option<String>| text.unwrap_or_default();
        Ok(events.into_iter().map(|event| (text(event.reason), text(event.message))).collect())
    }

    /// Waits until the manager has sent requests to the cloud, and then none for a while.
    pub(crate) async fn until_quiet(&self) -> anyhow::Result<()> {
        let requests = async || Ok(Some(self.cloud.requests().0).filter(|count| *count > 0));
        let quiet = self.wait.until_settled("no more requests to the cloud", QUIET, requests).await;
        quiet.with_context(|| format!("{:?}", self.cloud.counts()))
    }
}
