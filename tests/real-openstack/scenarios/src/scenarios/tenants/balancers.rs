//! Load balancers of other clusters, of other namespaces, and of unknown origin.

use std::time::Duration;

use anyhow::{Context, ensure};
use bowline_testkit::services::{address, load_balancer_id, port, service};
use k8s_openapi::api::core::v1::{Namespace, Service};
use kube::Api;
use kube::api::PostParams;
use serde_json::json;

use super::{LOAD_BALANCER_ID, owned};
use crate::conf::Conf;
use crate::harness::{Harness, id_of, ports_of};
use crate::openstack::Api::{LoadBalancer, Network};
use crate::scenario::Stage;
use crate::waiting::{holds, until};

const ADDRESS: &str = "loadbalancer.openstack.org/load-balancer-address";

/// What a cluster has, as the cloud shows it, with the times of all changes.
async fn picture(site: &Harness<'_>, id: &str) -> anyhow::Result<String> {
    Ok(format!("{:#?}\n{:#?}", site.whole(id).await?, site.floating_ips().await?))
}

/// The Service of the same namespace and name in another cluster of the project, with annotations that name the load balancer.
pub(super) async fn of_another_cluster(stage: &Stage<'_>) -> anyhow::Result<()> {
    let conf = Conf::new(stage.provider.conf());
    let (victim, attacker) = tokio::try_join!(Harness::start(stage, &conf), Harness::start(stage, &conf))?;
    let manager = victim.run(&[])?;
    victim.join_all().await?;
    victim.services.create(&service("web", &[], &json!({}))).await?;
    victim.served_once("web").await?;
    let web = victim.services.until_ready("web").await?;
    let (id, shown) = (load_balancer_id(&web)?.to_owned(), address(&web).context("no address")?.to_owned());
    // As OCCM leaves it: without the tags of the cluster and of the Service. And nobody watches over it.
    drop(manager);
    let tag = format!("kube_service_{}_shop_web", victim.name);
    let untagged = json!({"loadbalancer": {"tags": [tag]}});
    victim.world.member.put(LoadBalancer, &format!("loadbalancers/{id}"), &untagged).await?;
    victim.until_whole(&id, "the change is done", crate::harness::Whole::rests).await?;
    let before = picture(&victim, &id).await?;

    let _manager = attacker.run(&[])?;
    attacker.join_all().await?;
    let forged = [(LOAD_BALANCER_ID, id.as_str()), (ADDRESS, shown.as_str())];
    attacker.services.create(&service("web", &forged, &json!({}))).await?;
    let said = attacker.until_warned("web", &id).await?;
    ensure!(said.contains(&tag), "the refusal does not name the load balancer: {said}");
    stage.note(format!("said: {said}"));
    holds("the other cluster's load balancer is as it was", Duration::from_secs(5), async || {
        Ok(picture(&victim, &id).await? == before)
    })
    .await?;
    attacker.services.delete("web").await?;
    let after = picture(&victim, &id).await?;
    ensure!(after == before, "it changed:\n{before}\n{after}");
    attacker.nothing_left().await?;

    let _manager = victim.run(&[])?;
    victim.services.delete("web").await?;
    victim.nothing_left().await
}

/// A load balancer that is named as one of this cluster, of a Service that is not there, and has a listener of unknown origin.
pub(super) async fn leaving(stage: &Stage<'_>) -> anyhow::Result<()> {
    let site = Harness::start(stage, &Conf::new(stage.provider.conf())).await?;
    let _manager = site.run(&[])?;
    site.join_all().await?;
    let member = &site.world.member;
    let made = json!({"loadbalancer": {
        "name": format!("kube_service_{}_shop_ghost", site.name), "provider": stage.provider.name(),
        "vip_subnet_id": site.world.about().estate.subnet,
        "listeners": [{"name": "theirs", "protocol": "TCP", "protocol_port": 9000}],
    }});
    let id = id_of(&member.post(LoadBalancer, "loadbalancers", &made).await?["loadbalancer"])?;
    let whole = site.until_whole(&id, "it is made", crate::harness::Whole::rests).await?;
    // A Service that joins brings no floating IP of its own.
    site.floating_ip_at(&json!({"id": whole.balancer["vip_port_id"]})).await?;
    let before = owned(&whole);

    let ports = json!({"ports": [port("http", 8080, "TCP")]});
    site.services.create(&service("visitor", &[(LOAD_BALANCER_ID, &id)], &ports)).await?;
    site.until_whole(&id, "the visitor is on it", |whole| {
        whole.rests() && ports_of(&whole.listeners) == [8080, 9000].into()
    })
    .await?;
    site.services.delete("visitor").await?;
    let whole = site.until_whole(&id, "the visitor has left", crate::harness::Whole::rests).await?;
    ensure!(owned(&whole) == before, "it changed:\n{before}\n{}", owned(&whole));
    site.sweep().await?;
    site.nothing_left().await
}

/// Refused without a rule, possible with one, and over when the owner is gone and the rule too.
pub(super) async fn of_another_namespace(stage: &Stage<'_>) -> anyhow::Result<()> {
    let conf = Conf::new(stage.provider.conf());
    let site = Harness::start(stage, &conf).await?;
    let _manager = site.run(&[])?;
    site.join_all().await?;
    site.services.create(&service("web", &[], &json!({}))).await?;
    site.served_once("web").await?;
    let web = site.services.until_ready("web").await?;
    let (id, shown) = (load_balancer_id(&web)?.to_owned(), address(&web).context("no address")?.to_owned());
    let before = picture(&site, &id).await?;

    let others = other_namespace(&site).await?;
    let ports = json!({"ports": [port("http", 8080, "TCP")]});
    let mut joining = service("joins", &[(LOAD_BALANCER_ID, &id)], &ports);
    joining["metadata"]["namespace"] = json!("other");
    let joining: Service = serde_json::from_value(joining)?;
    others.create(&PostParams::default(), &joining).await?;
    let said = site.until_warned("joins", "join-namespace").await?;
    stage.note(format!("said: {said}"));
    holds("the owner's load balancer is as it was", Duration::from_secs(5), async || {
        Ok(picture(&site, &id).await? == before)
    })
    .await?;

    // The administrator allows it.
    let allowing = Conf { more: "[Tenancy \"other\"]\njoin-namespace = shop\n".to_owned(), ..conf.clone() };
    site.reconfigure(&allowing)?;
    site.until_whole(&id, "it has joined", |whole| {
        whole.rests() && ports_of(&whole.listeners) == [80, 8080].into() && !whole.members(8080).is_empty()
    })
    .await
    .context("a rule allows it")?;

    // The rule is withdrawn: what is there stays, until the owner goes, and with it the address.
    site.reconfigure(&conf)?;
    site.until_warned("joins", "may not join any more").await?;
    ensure!(ports_of(&site.whole(&id).await?.listeners) == [80, 8080].into(), "a rule deleted a listener");
    site.services.delete("web").await?;
    let path = format!("floatingips?floating_ip_address={shown}");
    until("the owner's address went with the owner", async || {
        let rows = site.world.member.list(Network, &path, "floatingips").await?;
        Ok(rows.is_empty().then_some(()))
    })
    .await
    .with_context(|| site.tail())?;
    others.delete("joins", &kube::api::DeleteParams::default()).await?;
    until("the Service that had joined is gone", async || {
        Ok(others.get_opt("joins").await?.is_none().then_some(()))
    })
    .await
    .with_context(|| site.tail())?;
    site.nothing_left().await
}

async fn other_namespace(site: &Harness<'_>) -> anyhow::Result<Api<Service>> {
    let namespace: Namespace = serde_json::from_value(json!({"metadata": {"name": "other"}}))?;
    Api::all(site.client.clone()).create(&PostParams::default(), &namespace).await?;
    Ok(Api::namespaced(site.client.clone(), "other"))
}
