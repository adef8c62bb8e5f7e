//! Incidents with load balancers.

use std::ops::RangeInclusive;
use std::time::Duration;

use anyhow::{Context, ensure};
use http::{Method, StatusCode};
use serde_json::json;
use sim_openstack::load_balancer::LoadBalancer;
use sim_openstack::{Fault, Rule, Service};

use crate::stage::Stage;

const WATCHED: Duration = Duration::from_secs(4);

/// The pause between two looks, as the scenario's flags have it: time enough for a person here to correct a mistake.
const SECOND_LOOK: Duration = Duration::from_secs(5);

/// The label of a Node that gets no traffic from load balancers.
const EXCLUDED: &str = "node.kubernetes.io/exclude-from-external-load-balancers";

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

pub(super) async fn excluded_nodes(stage: &mut Stage) -> anyhow::Result<String> {
    let balancer = only_one(stage)?.id;
    let members = || stage.cloud.members(&balancer).len();
    stage.until("the load balancer has its four members", || members() == 4).await?;
    let written = stage.cloud.asked().writes;
    exclude(stage, 1..=4, true)?;
    stage.until("the manager wants a second look", || looks_again(stage, "4 of 4")).await?;
    stage.tell("the label was a mistake, and is taken off again");
    exclude(stage, 1..=4, false)?;
    let untouched = || members() == 4 && stage.cloud.asked().writes == written;
    stage.stays(SECOND_LOOK + WATCHED / 4, "nothing is taken out, nor put in again", untouched).await?;
    stage.tell("now three nodes are excluded for good");
    exclude(stage, 2..=4, true)?;
    stage.until("the manager wants a second look", || looks_again(stage, "3 of 4")).await?;
    let took = stage.until("one member is left", || members() == 1).await?;
    exclude(stage, 2..=4, false)?;
    stage.until("all four are members again", || members() == 4).await?;
    Ok(format!(
        "looked twice: the mistake cost no member, and what was meant was done {:.1} s after the first look",
        took.as_secs_f64()
    ))
}

/// Says of Nodes, by number, whether load balancers leave them out.
fn exclude(stage: &Stage, numbers: RangeInclusive<u32>, yes: bool) -> anyhow::Result<()> {
    let change = json!({"metadata": {"labels": {EXCLUDED: yes.then_some("true")}}});
    for number in numbers {
        stage.cluster.patch(&format!("/api/v1/nodes/node-{number}"), &change)?;
    }
    Ok(())
}

fn looks_again(stage: &Stage, what: &str) -> bool {
    stage.cluster.events("LoadBalancerChangeHeld").iter().any(|said| said.contains(what))
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
