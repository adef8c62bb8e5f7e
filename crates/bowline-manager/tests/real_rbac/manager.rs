//! The manager as a process: this program again, told by an environment variable to be the manager.

use std::process::Command;
use std::sync::Arc;

use anyhow::{Context, ensure};
use bowline_manager::CloudControllerManager;
use bowline_testkit::eventually;
use bowline_testkit::manager::{self as command, FAST_ELECTION, ServingPort, get};
use bowline_testkit::process::Process;
use kube::Config;
use kube::config::AuthInfo;

use crate::cloud::named_cloud;
use crate::harness::Harness;

const ARGUMENTS: &str = "BOWLINE_REAL_RBAC_MANAGER";

#[test]
#[ignore = "this is the manager that the other tests start"]
fn manager() {
    let Ok(arguments) = std::env::var(ARGUMENTS) else { return };
    let arguments: Vec<String> = arguments.lines().map(str::to_owned).collect();
    let exit = CloudControllerManager::new("test-cloud-controller-manager", "0.0.0")
        .cloud("named", |_config| Ok(Arc::new(named_cloud())))
        .node_ipam()
        .run_with(&arguments);
    std::process::exit(exit.code().into());
}

/// Quick where a person would wait, and never held back by how few Nodes there are.
const FLAGS: &[&str] = &[
    "--cloud-provider=named",
    "--logging-format=json",
    "--node-monitor-period=300ms",
    "--new-node-grace-period=1ms",
    "--node-status-update-frequency=300ms",
    "--node-deletion-limit-percent=100",
    "--node-deletion-breaker-percent=100",
    "--allocate-node-cidrs=true",
    "--cluster-cidr=10.244.0.0/16",
    "--route-reconciliation-period=1s",
    "--kube-api-qps=200",
    "--kube-api-burst=400",
];

/// A running manager. Killed when dropped.
pub(crate) struct Manager {
    process: Process,
    port: ServingPort,
    admin: Config,
}

impl Manager {
    /// Starts one with the Lease of this site, and these flags besides.
    pub(crate) fn start(site: &Harness, flags: &[&str]) -> anyhow::Result<Self> {
        let port = ServingPort::free()?;
        let manager = command::Manager::new(std::env::current_exe()?)
            .flags(FLAGS.iter().chain(&FAST_ELECTION).chain(flags).copied())
            .flags([format!("--leader-elect-resource-namespace={}", site.namespace)])
            .kubeconfig(&site.kubeconfig)
            .serving(port, &site.kubeconfig);
        let log = site.cluster.folder().join(site.cluster.unique_name("manager.log"));
        let mut command = Command::new(std::env::current_exe()?);
        command
            .args(["--exact", "manager::manager", "--ignored", "--nocapture"])
            .env(ARGUMENTS, manager.arguments().join("\n"));
        let process = Process::start(command, log)?;
        Ok(Self { process, port, admin: port.config(&site.admin_config)? })
    }

    /// Reads a page of the serving port as somebody who may read everything.
    pub(crate) async fn page(&self, path: &str) -> anyhow::Result<String> {
        let (status, body) = get(self.admin.clone(), path).await?;
        ensure!(status == 200, "{path}: {status} {body}");
        Ok(body)
    }

    /// Reads a page as the owner of a token; the answer is the status.
    pub(crate) async fn page_as(&self, token: &str, path: &str) -> anyhow::Result<u16> {
        let mut config = Config::new(self.port.url().parse()?);
        config.accept_invalid_certs = true;
        config.default_retry = false;
        config.auth_info = serde_json::from_value::<AuthInfo>(serde_json::json!({ "token": token }))?;
        Ok(get(config, path).await?.0)
    }

    /// How many requests the API server has refused for lack of a right.
    pub(crate) async fn refused(&self) -> anyhow::Result<u64> {
        let page = self.page("/metrics").await?;
        let refusals = page
            .lines()
            .filter(|line| line.starts_with("rest_client_requests_total{") && line.contains(r#"code="403""#));
        Ok(refusals.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum())
    }

    /// Waits until it serves.
    pub(crate) async fn serves(&self) -> anyhow::Result<()> {
        eventually("the serving port", async || Ok(self.page("/readyz").await.ok().map(drop))).await
    }

    /// Waits until it says on `/readyz?verbose` what it may not do.
    pub(crate) async fn says_it_lacks(&self, right: &str) -> anyhow::Result<()> {
        let mut last = String::new();
        let said = eventually("the missing permission", async || {
            last = self.page("/readyz?verbose").await.unwrap_or_default();
            Ok((last.contains("missing permissions") && last.contains(right)).then_some(()))
        })
        .await;
        said.with_context(|| format!("{right} is not said to be missing: {last}"))?;
        let (verb, resource) = right.split_once(' ').context("a verb and a resource")?;
        let series = format!(r#"bowline_missing_permissions{{verb="{verb}",resource="{resource}""#);
        ensure!(self.page("/metrics").await?.contains(&series), "no metric says {right}");
        Ok(())
    }

    /// Waits for its end; the answer is its code.
    pub(crate) async fn ended(&mut self) -> anyhow::Result<Option<i32>> {
        Ok(self.process.exited().await?.code())
    }

    /// Its log so far.
    pub(crate) fn log(&self) -> String {
        self.process.log()
    }

    /// Ends it in the middle of whatever it does.
    pub(crate) fn kill(&mut self) -> anyhow::Result<()> {
        self.process.kill()
    }
}
