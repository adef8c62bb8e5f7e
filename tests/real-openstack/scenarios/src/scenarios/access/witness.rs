//! Sees that the manager works, and that nothing was lost.

use std::time::Duration;

use anyhow::{Context, ensure};
use bowline_testkit::nodes::{addresses, provider_id};
use bowline_testkit::services::{address, load_balancer_id, service};
use k8s_openapi::api::core::v1::Node;
use kube::api::ListParams;
use real_cloud::ApplicationCredential;
use serde_json::json;

use crate::conf::{Access, Conf};
use crate::harness::{Harness, Person};
use crate::scenario::Stage;
use crate::waiting::{holds, until};

/// Nothing but the cloud's word keeps a Node.
pub(super) const FLAGS: [&str; 4] = [
    "--node-monitor-period=1s",
    "--new-node-grace-period=0s",
    "--node-deletion-limit-percent=100",
    "--node-deletion-breaker-percent=100",
];

/// What a cluster has that must not be lost.
pub(super) struct Estate {
    nodes: Vec<String>,
    balancer: String,
    address: String,
}

impl Estate {
    /// Nodes of all servers and a Service, made by the manager that runs. One Node is not ready any more.
    pub(super) async fn found(site: &Harness<'_>) -> anyhow::Result<Self> {
        site.join_all().await?;
        site.services.create(&service("web", &[], &json!({}))).await?;
        let web = site.services.until_ready("web").await?;
        let servers = &site.world.about().estate.servers;
        site.nodes.report_ready(&servers.first().context("no server")?.name, "Unknown").await?;
        Ok(Self {
            nodes: nodes(site).await?,
            balancer: load_balancer_id(&web)?.to_owned(),
            address: address(&web).context("no address")?.to_owned(),
        })
    }

    /// That all of it is there as it was.
    pub(super) async fn is_whole(&self, site: &Harness<'_>) -> anyhow::Result<()> {
        let now = nodes(site).await?;
        ensure!(now == self.nodes, "the Nodes were {:#?}, they are {now:#?}\n{}", self.nodes, site.tail());
        let balancer = site.balancer_of("web").await?.context("the load balancer is gone")?;
        ensure!(balancer["id"] == self.balancer.as_str(), "another load balancer: {balancer:#}");
        let floating = site.floating_ip_of(&balancer).await?.context("the floating IP is gone")?;
        ensure!(floating["floating_ip_address"] == self.address.as_str(), "{floating:#}");
        Ok(())
    }

    /// That it stays so for a while. The cloud may be slow to answer us as well; what is gone does not come back.
    pub(super) async fn stays(&self, site: &Harness<'_>) -> anyhow::Result<()> {
        let stay = async || Ok(nodes(site).await? == self.nodes);
        holds("no Node is lost", Duration::from_secs(8), stay).await.with_context(|| site.tail())?;
        until("nothing is lost", async || self.is_whole(site).await.map(Some)).await
    }
}

/// Of each Node: its name, its server, its addresses, and whether somebody wants it gone.
async fn nodes(site: &Harness<'_>) -> anyhow::Result<Vec<String>> {
    let shown = |node: &Node| {
        let (meta, addresses) = (&node.metadata, addresses(node));
        format!("{:?} {} {addresses:?} {}", meta.name, provider_id(node), meta.deletion_timestamp.is_some())
    };
    Ok(site.nodes.api.list(&ListParams::default()).await?.iter().map(shown).collect())
}

/// The manager works: the kubelet of the last server registers again, and its Node is initialised.
pub(super) async fn works(site: &Harness<'_>) -> anyhow::Result<()> {
    let servers = &site.world.about().estate.servers;
    let server = servers.last().context("no server")?;
    if site.nodes.api.get_opt(&server.name).await?.is_some() {
        site.nodes.delete(&server.name).await?;
    }
    let node = site.join(&server.name, &server.id).await?;
    ensure!(provider_id(&node).ends_with(&server.id), "{node:#?}");
    Ok(())
}

/// The services of the cloud believe a token for minutes after they have seen it, revoked or not. Now they have to ask Keystone;
/// and the manager says that nobody knows it any more.
pub(super) async fn until_unknown(site: &Harness<'_>) -> anyhow::Result<()> {
    site.world.cloud.forget_tokens()?;
    site.until_readyz("[!]cloud-identity").await
}

/// A cloud.conf with an application credential.
pub(super) fn with_credential(stage: &Stage<'_>, credential: &ApplicationCredential) -> Conf {
    let access = Access::Lines(credential_lines(credential));
    Conf { access, ..Conf::new(stage.provider.conf()) }
}

pub(super) fn credential_lines(credential: &ApplicationCredential) -> String {
    let ApplicationCredential { id, secret, .. } = credential;
    format!("application-credential-id = {id}\napplication-credential-secret = \"{secret}\"\n")
}

/// A cloud.conf with a password.
pub(super) fn with_password(stage: &Stage<'_>, person: &Person, password: &str) -> Conf {
    let account = &person.account;
    let access = Access::Lines(format!(
        "username = {}\npassword = \"{password}\"\ntenant-name = {}\ndomain-name = {}\n",
        account.user, account.project, account.domain
    ));
    Conf { access, ..Conf::new(stage.provider.conf()) }
}
