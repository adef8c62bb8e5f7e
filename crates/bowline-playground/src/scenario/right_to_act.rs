//! Incidents with the right to act: a role loses a right, somebody else leads, a person says that nothing is to be changed.

use std::time::Duration;

use anyhow::{Context, ensure};
use http::Method;
use serde_json::{Value, json};
use sim_openstack::{Fault, Rule, Service};

use crate::cluster::{LEASE, is_tainted};
use crate::stage::Stage;

/// So long nothing may happen.
const WATCHED: Duration = Duration::from_secs(3);

/// A person says by it that nothing is to be changed, and why.
const PAUSED: &str = "bowline.dev/paused";
const WHY: &str = "rack 7 moves";

pub(super) async fn lost_right(stage: &mut Stage) -> anyhow::Result<String> {
    let before = stage.cluster.node_uids();
    stage.cluster.forbid("delete", "nodes");
    stage.cloud.delete_server("node-4");
    stage.restart_manager().await?;
    let missing = || said(stage, "MissingPermissions", "delete nodes");
    let told = stage.until("the manager says which right is missing", missing).await?;
    stage.tell("meanwhile a new server starts, and somebody creates the Service shop");
    stage.cloud.add_server("node-5", "");
    stage.cluster.create_service("shop", &json!({}))?;
    let failed = || said(stage, "DeletingNodeFailed", "node-4");
    stage.until("the manager says that the Node could not be deleted", failed).await?;
    stage.until("the Service shop has its address", || stage.cluster.address_of("shop").is_some()).await?;
    stage.until("the new node is initialised", || is_initialised(stage, "node-5")).await?;
    ensure!(stage.cluster.node_uids().contains_key("node-4"), "the Node went without the right to delete it");
    stage.tell("the role has the right again");
    stage.cluster.permit();
    let gone = || !stage.cluster.node_uids().contains_key("node-4");
    let took = stage.until("the Node of the deleted server is gone", gone).await?;
    let kept = stage.cluster.node_uids();
    let stayed = before.iter().filter(|(name, uid)| kept.get(*name) == Some(*uid)).count();
    ensure!(stayed == 3 && kept.len() == 4, "others went too: {kept:?}");
    Ok(format!(
        "named the missing right within {:.1} s of its start, did what it may, and deleted the Node {:.1} s after it could",
        told.as_secs_f64(),
        took.as_secs_f64()
    ))
}

pub(super) async fn lost_lease(stage: &mut Stage) -> anyhow::Result<String> {
    let stuck = Rule::new(Fault::LoadBalancerStuck).on(Service::LoadBalancer).method(Method::POST);
    stage.cloud.fail(stuck.path("*/lbaas/loadbalancers").times(1));
    stage.cluster.create_service("shop", &json!({}))?;
    let pending =
        || stage.cloud.balancers().into_iter().find(|one| one.provisioning_status == "PENDING_CREATE");
    stage.until("a load balancer is being made", || pending().is_some()).await?;
    let balancer = pending().context("the load balancer is ready too early")?.id;
    stage.tell("in the middle of it, somebody else takes the Lease");
    stage.cluster.patch(LEASE, &held_by("somebody-else", 3_600))?;
    let ended = stage.manager_gives_up().await?;
    ensure!(ended == "Failed", "the manager ended otherwise than by the loss of its Lease: {ended}");
    ensure!(
        said(stage, "LeaderElection", "stopped leading"),
        "the manager does not say that it leads no more"
    );
    stage.tell("the manager has ended and is started anew; the load balancer is ready, and nobody has gone on with it");
    let (written, asked) = (writes(stage), stage.cluster.gate.elections());
    stage.cloud.finish_balancer(&balancer);
    stage.restart_manager().await?;
    stage.until("it sees that somebody else leads", || stage.cluster.gate.elections() > asked).await?;
    let untouched = || writes(stage) == written && stage.cluster.address_of("shop").is_none();
    stage.stays(WATCHED, "nothing is written to the cloud, to Services or to Nodes", untouched).await?;
    stage.tell("the other one gives the Lease back");
    stage.cluster.patch(LEASE, &held_by("", 1))?;
    stage.until("the Service shop has its address", || stage.cluster.address_of("shop").is_some()).await?;
    let counts = (stage.cloud.balancers().len(), stage.cloud.floating_ips().len());
    ensure!(counts == (2, 2), "there is not one load balancer and one address for each Service: {counts:?}");
    ensure!(stage.cloud.balancers().iter().any(|one| one.id == balancer), "the load balancer is another one");
    Ok("ended at once, wrote nothing while another one led, and went on with the same load balancer when it led again"
        .to_owned())
}

/// The Lease as its holder writes it.
fn held_by(holder: &str, seconds: u32) -> Value {
    json!({"spec": {"holderIdentity": holder, "leaseDurationSeconds": seconds}})
}

pub(super) async fn paused(stage: &mut Stage) -> anyhow::Result<String> {
    let web = stage.cloud.balancers().into_iter().next().context("there is no load balancer")?.id;
    stage.cluster.patch(LEASE, &pause(Some(WHY)))?;
    stage.until("the manager says that it is paused", || said(stage, "Paused", WHY)).await?;
    stage.tell(
        "meanwhile a server is deleted, another one starts, somebody creates the Service late, and another manager leads",
    );
    let written = writes(stage);
    stage.cloud.delete_server("node-4");
    stage.cloud.add_server("node-5", "");
    stage.cluster.create_service("late", &json!({}))?;
    stage.restart_manager().await?;
    let waits = ["NodeDeletionHeld", "CloudNodeInitializationPaused", "LoadBalancerPaused"];
    let told = || waits.iter().all(|reason| said(stage, reason, WHY));
    stage.until("each of the three is told that it waits, and why", told).await?;
    let untouched = || writes(stage) == written;
    stage.stays(WATCHED, "nothing is written to the cloud, to Services or to Nodes", untouched).await?;
    stage.tell("the pause is over");
    stage.cluster.patch(LEASE, &pause(None))?;
    stage.until("the Service late has its address", || stage.cluster.address_of("late").is_some()).await?;
    stage.until("node-4 is gone", || !stage.cluster.node_uids().contains_key("node-4")).await?;
    stage.until("the new node is initialised", || is_initialised(stage, "node-5")).await?;
    paused_alone(stage, &web).await?;
    Ok("wrote nothing while it was paused, told everybody who waited, and did all of it afterwards; one paused Service \
        kept nobody else waiting"
        .to_owned())
}

/// One Service is paused, and the others are not.
async fn paused_alone(stage: &Stage, balancer: &str) -> anyhow::Result<()> {
    let path = "/api/v1/namespaces/default/services/web";
    stage.tell(
        "now the Service web alone is paused; it gets another port, and somebody creates the Service shop",
    );
    stage.cluster.patch(path, &pause(Some(WHY)))?;
    let told = || said(stage, "LoadBalancerPaused", "for this Service");
    stage.until("the manager says that the Service is paused", told).await?;
    let port = json!({"name": "https", "port": 443, "protocol": "TCP", "targetPort": 8443});
    stage.cluster.patch(path, &json!({"spec": {"ports": [port]}}))?;
    stage.cluster.create_service("shop", &json!({}))?;
    stage.until("the Service shop has its address", || stage.cluster.address_of("shop").is_some()).await?;
    let listeners = || stage.cloud.listeners(balancer);
    stage.stays(WATCHED, "the paused Service has one listener", || listeners() == 1).await?;
    stage.cluster.patch(path, &pause(None))?;
    stage.until("it has one for the new port, too", || listeners() == 2).await?;
    Ok(())
}

/// Pauses what is patched with it, or ends the pause.
fn pause(why: Option<&str>) -> Value {
    json!({"metadata": {"annotations": {PAUSED: why}}})
}

/// What the manager has written so far: to the cloud, and to the cluster.
fn writes(stage: &Stage) -> (u64, u64) {
    (stage.cloud.asked().writes, stage.cluster.gate.writes().objects)
}

fn is_initialised(stage: &Stage, node: &str) -> bool {
    let node = stage.cluster.nodes().get(node).ok().flatten();
    node.is_some_and(|node| !is_tainted(&node))
}

/// Whether the manager said this, by an event of that reason.
fn said(stage: &Stage, reason: &str, words: &str) -> bool {
    stage.cluster.events(reason).iter().any(|said| said.contains(words))
}
