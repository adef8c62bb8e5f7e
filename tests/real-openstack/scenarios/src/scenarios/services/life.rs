//! From creation to deletion: ports, Nodes, and the type of the Service.

use anyhow::{Context, ensure};
use bowline_testkit::services::{address, load_balancer_id, port, service};
use serde_json::{Value, json};

use crate::conf::Conf;
use crate::harness::Harness;
use crate::openstack::Api::LoadBalancer;
use crate::scenario::Stage;
use crate::waiting::until;

pub(super) async fn life(stage: &Stage<'_>) -> anyhow::Result<()> {
    let site = Harness::start(stage, &Conf::new(stage.provider.conf())).await?;
    let _manager = site.run(&[])?;
    site.join_all().await?;
    it_is_created(stage, &site).await.context("creation with three ports")?;
    ports_change(&site).await.context("changes of ports")?;
    nodes_change(&site).await.context("changes of Nodes")?;
    the_type_changes(&site).await.context("changes of the type")?;
    site.services.delete("web").await?;
    site.nothing_left().await
}

async fn it_is_created(stage: &Stage<'_>, site: &Harness<'_>) -> anyhow::Result<()> {
    let ports = [port("http", 80, "TCP"), port("https", 443, "TCP"), port("dns", 53, "UDP")];
    let began = std::time::Instant::now();
    site.services.create(&service("web", &[], &json!({"ports": ports}))).await?;
    let web = site.services.until_ready("web").await?;
    stage.note(format!("ready after {:.1} s", began.elapsed().as_secs_f64()));
    let (_, whole) = site.until_served("web", "three ports are served", &site.servers()).await?;
    let balancer = &whole.balancer;
    let name = format!("kube_service_{}_shop_web", site.name);
    ensure!(balancer["name"] == name.as_str() && balancer["provider"] == stage.provider.name());
    let description = format!("Kubernetes external service shop/web from cluster {}", site.name);
    ensure!(balancer["description"] == description.as_str(), "{balancer:#}");
    for (place, number) in [80, 443, 53].into_iter().enumerate() {
        ensure!(whole.listener(number)["name"] == format!("listener_{place}_{name}"), "{whole:#?}");
        ensure!(whole.listener(number)["tags"] == json!([name]), "{whole:#?}");
        ensure!(whole.pool(number)["name"] == format!("pool_{place}_{name}"), "{whole:#?}");
    }
    let floating = site.floating_ip_of(balancer).await?.context("no floating IP")?;
    ensure!(floating["floating_ip_address"].as_str() == address(&web), "{floating:#} {web:#}");
    ensure!(floating["description"] == format!("Floating IP for {description}").as_str(), "{floating:#}");
    Ok(())
}

async fn ports_change(site: &Harness<'_>) -> anyhow::Result<()> {
    let nodes = site.servers();
    let edit = async |what: &str, ports: &[Value]| {
        site.services.edit("web", &json!({"spec": {"ports": ports}})).await.context(what.to_owned())?;
        site.until_served("web", what, &nodes).await
    };
    let (http, https, dns) = (port("http", 80, "TCP"), port("https", 443, "TCP"), port("dns", 53, "UDP"));
    let sctp = port("sctp", 3868, "SCTP");
    let (before, _) =
        edit("a port for SCTP is added", &[http.clone(), https.clone(), dns.clone(), sctp]).await?;
    edit("a port gets another number", &[http.clone(), port("https", 8443, "TCP"), dns]).await?;
    edit(
        "a port speaks another protocol",
        &[http.clone(), port("https", 8443, "TCP"), port("dns", 53, "TCP")],
    )
    .await?;
    let mut moved = http;
    // Any other of the range that is free: nothing else has node ports here.
    let taken = before["spec"]["ports"][0]["nodePort"].as_u64().context("no node port")?;
    moved["nodePort"] = json!(if taken == 30_080 { 30_081 } else { 30_080 });
    let (after, _) = edit("a port gets another node port, the others go", &[moved]).await?;
    ensure!(load_balancer_id(&after)? == load_balancer_id(&before)?, "it is another load balancer");
    ensure!(address(&after) == address(&before), "it has another address");
    Ok(())
}

async fn nodes_change(site: &Harness<'_>) -> anyhow::Result<()> {
    let all = site.servers();
    let (last, rest) = all.split_last().context("no servers")?;
    site.nodes.delete(&last.name).await?;
    site.until_served("web", "a Node left", rest).await?;
    site.join(&last.name, &last.id).await?;
    site.until_served("web", "the Node is back", &all).await?;
    let exclusion = "node.kubernetes.io/exclude-from-external-load-balancers";
    site.label_node(&last.name, exclusion, Some("true")).await?;
    site.until_served("web", "a Node is excluded", rest).await?;
    site.label_node(&last.name, exclusion, None).await?;
    site.until_served("web", "the Node is excluded no more", &all).await?;
    Ok(())
}

async fn the_type_changes(site: &Harness<'_>) -> anyhow::Result<()> {
    let web = site.services.until_ready("web").await?;
    let first = load_balancer_id(&web)?;
    site.services.edit("web", &json!({"spec": {"type": "ClusterIP"}})).await?;
    site.services.until("web", "shows no address", |service| address(service).is_none()).await?;
    until("the load balancer is gone", async || {
        let path = format!("loadbalancers/{first}");
        Ok(site.world.member.find(LoadBalancer, &path).await?.is_none().then_some(()))
    })
    .await?;
    site.nothing_left().await.context("after it became a ClusterIP")?;
    let finalizers =
        site.services.until("web", "has no finalizer", |web| web["metadata"]["finalizers"].is_null()).await;
    finalizers?;
    site.services.edit("web", &json!({"spec": {"type": "LoadBalancer"}})).await?;
    site.services.until_ready("web").await?;
    let (again, _) = site.until_served("web", "it is served again", &site.servers()).await?;
    ensure!(load_balancer_id(&again)? != first, "the load balancer that was deleted is still noted");
    Ok(())
}
