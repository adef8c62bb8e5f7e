//! The manager as a process: this program again, told by an environment variable to be the manager.

use std::net::TcpListener;
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context, ensure};
use bowline_manager::CloudControllerManager;
use bowline_testkit::eventually;
use bowline_testkit::process::Process;
use http::Request;
use http_body_util::BodyExt;
use kube::client::Body;
use kube::config::AuthInfo;
use kube::{Client, Config};

use crate::cloud::NamedCloud;
use crate::site::Site;

const ARGUMENTS: &str = "BOWLINE_REAL_RBAC_MANAGER";

#[test]
#[ignore = "this is the manager that the other tests start"]
fn manager() {
    let Ok(arguments) = std::env::var(ARGUMENTS) else { return };
    let arguments: Vec<String> = arguments.lines().map(str::to_owned).collect();
    let exit = CloudControllerManager::new("test-cloud-controller-manager", "0.0.0")
        .cloud("named", |_config| Ok(Arc::new(NamedCloud::default())))
        .node_ipam()
        .run_with(&arguments);
    std::process::exit(exit.code().into());
}

/// Quick where a person would wait, and never held back by how few Nodes there are.
const FLAGS: &[&str] = &[
    "--cloud-provider=named",
    "--logging-format=json",
    "--bind-address=127.0.0.1",
    "--node-monitor-period=300ms",
    "--new-node-grace-period=1ms",
    "--node-status-update-frequency=300ms",
    "--node-deletion-limit-percent=100",
    "--node-deletion-breaker-percent=100",
    "--allocate-node-cidrs=true",
    "--cluster-cidr=10.244.0.0/16",
    "--route-reconciliation-period=1s",
    "--leader-elect-lease-duration=3s",
    "--leader-elect-renew-deadline=2s",
    "--leader-elect-retry-period=500ms",
    "--kube-api-qps=200",
    "--kube-api-burst=400",
];

/// A running manager. Killed when dropped.
pub(crate) struct Manager {
    process: Process,
    port: u16,
    admin: Config,
}

impl Manager {
    /// Starts one with the Lease of this site, and these flags besides.
    pub(crate) fn start(site: &Site, flags: &[&str]) -> anyhow::Result<Self> {
        // Free now, and for the moment until the manager takes it.
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let kubeconfig = site.kubeconfig.display();
        let own = [
            format!("--kubeconfig={kubeconfig}"),
            format!("--authentication-kubeconfig={kubeconfig}"),
            format!("--authorization-kubeconfig={kubeconfig}"),
            format!("--leader-elect-resource-namespace={}", site.namespace),
            format!("--secure-port={port}"),
        ];
        let given = FLAGS.iter().chain(flags).map(|flag| (*flag).to_owned());
        let arguments: Vec<String> = given.chain(own).collect();
        let log = site.cluster.folder().join(site.cluster.unique_name("manager.log"));
        let mut command = Command::new(std::env::current_exe()?);
        command
            .args(["--exact", "manager::manager", "--ignored", "--nocapture"])
            .env(ARGUMENTS, arguments.join("\n"));
        let process = Process::start(command, log)?;
        let mut admin = site.admin_config.clone();
        admin.cluster_url = format!("https://127.0.0.1:{port}").parse()?;
        admin.accept_invalid_certs = true;
        admin.root_cert = None;
        Ok(Self { process, port, admin })
    }

    /// Reads a page of the serving port as somebody who may read everything.
    pub(crate) async fn page(&self, path: &str) -> anyhow::Result<String> {
        let (status, body) = fetch(self.admin.clone(), path).await?;
        ensure!(status == 200, "{path}: {status} {body}");
        Ok(body)
    }

    /// Reads a page as the owner of a token; the answer is the status.
    pub(crate) async fn page_as(&self, token: &str, path: &str) -> anyhow::Result<u16> {
        let mut config = Config::new(format!("https://127.0.0.1:{}", self.port).parse()?);
        config.accept_invalid_certs = true;
        config.default_retry = false;
        config.auth_info = serde_json::from_value::<AuthInfo>(serde_json::json!({ "token": token }))?;
        Ok(fetch(config, path).await?.0)
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

async fn fetch(config: Config, path: &str) -> anyhow::Result<(u16, String)> {
    let client = Client::try_from(config)?;
    let answer = client.send(Request::get(path).body(Body::empty())?).await?;
    let status = answer.status().as_u16();
    let body = answer.into_body().collect().await?.to_bytes();
    Ok((status, String::from_utf8(body.to_vec())?))
}
