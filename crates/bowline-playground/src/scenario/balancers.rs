//! Incidents with load balancers.

use std::time::Duration;

use anyhow::{Context, ensure};
use http::{Method, StatusCode};
use serde_json::json;
use sim_openstack::load_balancer::LoadBalancer;
use sim_openstack::{Fault, Rule, Service};

use crate::stage::Stage;

const WATCHED: Duration = Duration::from_secs(4);

fn only_one(stage: &Stage) -> anyhow::Result<LoadBalancer> {
    let all = stage.cloud.balancers();
    ensure!(all.len() == 1, "there are {} load balancers", all.len());
    all.into_iter().next().context("there is no load balancer")
}

pub(super) async fn deleted(stage: &mut Stage) -> anyhow::Result<String> {
    let (old, address) = (only_one(stage)?, stage.cluster.address_of("web"));
    stage.cloud.delete_balancer(&old.id);
    let is_new = || only_one(stage).is_ok_and(|one| one.id != old.id && one.provisioning_status == "ACTIVE");
    let took = stage.until("there is a new load balancer", is_new).await?;
    let new = only_one(stage)?;
    stage.until("it has all members", || stage.cloud.members(&new.id).len() == 3).await?;
    stage.until("the Service has its address", || stage.cluster.address_of("web") == address).await?;
    stage
        .stays(WATCHED, "there is one load balancer and one address", || {
            only_one(stage).is_ok()
                && stage.cloud.floating_ips().len() == 1
                && stage.cluster.address_of("web") == address
        })
        .await?;
    Ok(format!("made it anew within {:.1} s; the Service has the same address", took.as_secs_f64()))
}

pub(super) async fn edited(stage: &mut Stage) -> anyhow::Result<String> {
    let (balancer, address) = (only_one(stage)?, stage.cluster.address_of("web"));
    settled(stage, &balancer).await?;
    stage.cloud.delete_member(&balancer.id);
    let whole = || stage.cloud.members(&balancer.id).len() == 3;
    let first = stage.until("the member is back", whole).await?;
    settled(stage, &balancer).await?;
    stage.tell("now the listener goes");
    stage.cloud.delete_listener(&balancer.id);
    let whole = || stage.cloud.listeners(&balancer.id) == 1 && stage.cloud.members(&balancer.id).len() == 3;
    let second = stage.until("the listener is back", whole).await?;
    ensure!(only_one(stage)?.id == balancer.id, "the load balancer is another one");
    ensure!(stage.cluster.address_of("web") == address, "the address is another one");
    Ok(format!(
        "put both back, after {:.1} and {:.1} s (--load-balancer-repair-period), and touched nothing else",
        first.as_secs_f64(),
        second.as_secs_f64()
    ))
}

/// Octavia tells times of change in seconds: what is done within the same second as a change of the manager would leave no trace.
async fn settled(stage: &Stage, balancer: &LoadBalancer) -> anyhow::Result<()> {
    let whole = || stage.cloud.members(&balancer.id).len() == 3;
    stage.stays(Duration::from_secs(2), "the load balancer has its three members", whole).await
}

pub(super) async fn lost_reply(stage: &mut Stage) -> anyhow::Result<String> {
    for (service, path) in
        [(Service::LoadBalancer, "*/lbaas/loadbalancers"), (Service::Network, "/v2.0/floatingips")]
    {
        let lost = Rule::new(Fault::DisconnectAfter).on(service).method(Method::POST).path(path);
        stage.cloud.fail(lost.times(1));
    }
    stage.cluster.create_service("shop", &json!({}))?;
    stage.until("the Service shop has its address", || stage.cluster.address_of("shop").is_some()).await?;
    let counts = || (stage.cloud.balancers().len(), stage.cloud.floating_ips().len());
    stage.stays(WATCHED, "there are two load balancers and two addresses", || counts() == (2, 2)).await?;
    Ok("looked for what it had asked for before it asked again: one load balancer and one address for each Service".to_owned())
}

pub(super) async fn octavia_down(stage: &mut Stage) -> anyhow::Result<String> {
    stage.cloud.fail(Rule::new(Fault::html(StatusCode::SERVICE_UNAVAILABLE)).on(Service::LoadBalancer));
    stage
        .tell("meanwhile somebody creates the Service shop, the manager is started anew, and two nodes join");
    stage.restart_manager().await?;
    stage.cluster.create_service("shop", &json!({}))?;
    stage.cloud.add_server("node-3", "");
    stage.cloud.add_server("node-4", "");
    let took = stage.until("all four nodes are initialised", || stage.news.now().initialised == 4).await?;
    ensure!(stage.cluster.address_of("shop").is_none(), "without Octavia there can be no address");
    stage.tell("Octavia is well again");
    stage.cloud.mend();
    stage.until("the Service shop has its address", || stage.cluster.address_of("shop").is_some()).await?;
    let members = || stage.cloud.balancers().iter().all(|one| stage.cloud.members(&one.id).len() == 4);
    stage.until("both load balancers have all four nodes", members).await?;
    Ok(format!(
        "initialised the new nodes within {:.1} s, and the Service when Octavia was back",
        took.as_secs_f64()
    ))
}
