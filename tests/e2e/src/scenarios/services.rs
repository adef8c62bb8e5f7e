//! The life of Services.

use anyhow::{Context, ensure};
use serde_json::json;

use crate::conf::Conf;
use crate::openstack::Api::LoadBalancer;
use crate::scenario::{On, Scenario, Stage, When};
use crate::site::{Site, address, balancer_id, service};

pub(crate) const SCENARIOS: &[Scenario] = &[Scenario {
    name: "services/one",
    story: "a Service gets its load balancer and floating IP, and gives both back",
    when: When::Always,
    on: On::Both,
    run: |stage| Box::pin(one(stage)),
}];

async fn one(stage: &Stage<'_>) -> anyhow::Result<()> {
    let site = Site::start(stage, &Conf::new(stage.provider.conf())).await?;
    let _manager = site.run(&[])?;
    site.join_all().await?;
    site.create(&service("web", &[], &json!({}))).await?;
    let web = site.until_ready("web").await?;
    let balancer = site.balancer_of("web").await?.context("no load balancer")?;
    ensure!(balancer["provider"] == stage.provider.name() && balancer["provisioning_status"] == "ACTIVE");
    ensure!(balancer["id"] == balancer_id(&web)?, "{balancer:#}");
    let floating = site.floating_ip_of(&balancer).await?.context("no floating IP")?;
    ensure!(floating["floating_ip_address"].as_str() == address(&web), "{floating:#} {web:#}");
    let whole = site.whole(balancer_id(&web)?).await?;
    ensure!(whole.listeners.len() == 1 && whole.pools.len() == 1, "{whole:#?}");
    ensure!(whole.members[0].len() == site.world.about().estate.servers.len(), "{whole:#?}");

    site.delete("web").await?;
    site.nothing_left().await?;
    let path = format!("loadbalancers/{}", balancer_id(&web)?);
    ensure!(site.world.member.find(LoadBalancer, &path).await?.is_none(), "it is still there");
    Ok(())
}
