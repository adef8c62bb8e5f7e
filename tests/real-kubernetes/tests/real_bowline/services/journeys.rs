//! What people do with Services, one after the other, and what each of them leaves in the cloud.

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::{Context, ensure};
use bowline_testkit::nodes::initialized;
use bowline_testkit::services::{address, condition, load_balancer_id, port, service};
use serde_json::{Value, json};

use crate::services::harness::{Harness, NAMESPACE, Tools};
use bowline_testkit::cloud::Cloud;

const INTERNAL: &str = "service.beta.kubernetes.io/openstack-internal-load-balancer";
const KEEP: &str = "loadbalancer.openstack.org/keep-floatingip";
const SHARE: &str = "loadbalancer.openstack.org/load-balancer-id";

const BALANCERS: &str = "loadbalancer list";
const FLOATING: &str = "floating ip list";
/// A column of that list.
const ADDRESS: &str = "Floating IP Address";

#[tokio::test(flavor = "multi_thread")]
async fn services_are_made_changed_shared_and_deleted() -> anyhow::Result<()> {
    let Some(tools) = Tools::locate()? else { return Ok(()) };
    let site = Harness::start(&tools, Arc::new(Cloud::start(3).await?), "").await?;
    let manager = site.run(&["--cluster-name=harbour"])?;
    ports_come_and_go(&site).await?;
    nodes_come_and_go(&site).await?;
    it_becomes_internal_and_public_again(&site).await?;
    the_source_ranges_are_those_of_the_listeners(&site).await?;
    // It may have another listener to change.
    site.until_quiet().await?;

    manager.terminate().await?;
    site.cloud.forget();
    let manager = site.run(&["--cluster-name=harbour"])?;
    site.until_quiet().await?;
    let (requests, _) = site.cloud.requests();
    ensure!(site.cloud.changes().is_empty(), "a restart changed the cloud: {:#?}", site.cloud.changes());
    println!("a restart with one Service took {requests} requests");

    manager.terminate().await?;
    let _manager = site.run(&["--cluster-name=port"])?;
    another_cluster_name_renames_it(&site).await?;
    another_type_takes_the_load_balancer_away(&site).await?;
    two_share_one_load_balancer(&site).await?;
    a_kept_floating_ip_is_used_again(&site).await?;
    nothing_is_left(&site).await
}

fn names(rows: &[Value]) -> BTreeSet<&str> {
    rows.iter().filter_map(|row| row["name"].as_str()).collect()
}

fn ports(rows: &[Value]) -> BTreeSet<u64> {
    rows.iter().filter_map(|row| row["protocol_port"].as_u64()).collect()
}

async fn ports_come_and_go(site: &Harness) -> anyhow::Result<()> {
    site.user.apply(&service("web", &[], &json!({}))).await?;
    let web = site.services.until_ready("web").await?;
    let address = address(&web).context("no address")?;
    let table = site.user.run(&["get", "svc", "web"]).await?;
    ensure!(table.contains(address), "{address} is not in\n{table}");
    let story = site.user.run(&["describe", "svc", "web"]).await?;
    for part in ["EnsuringLoadBalancer", "EnsuredLoadBalancer", "LoadBalancer Ingress:", address] {
        ensure!(story.contains(part), "{part} is not in\n{story}");
    }
    ensure!(condition(&web)["reason"] == "Ensured", "{web:#}");

    let balancers = site.member.rows(BALANCERS).await?;
    ensure!(names(&balancers) == [format!("kube_service_harbour_{NAMESPACE}_web").as_str()].into());
    ensure!(balancers[0]["provisioning_status"] == "ACTIVE", "{balancers:#?}");
    let id = load_balancer_id(&web)?;
    let shown = site.member.json(&format!("loadbalancer show {id}")).await?;
    ensure!(
        shown["description"] == format!("Kubernetes external service {NAMESPACE}/web from cluster harbour")
    );
    let floating = site.member.rows(FLOATING).await?;
    ensure!(floating.len() == 1 && floating[0][ADDRESS] == address, "{floating:#?}");
    ensure!(floating[0]["Fixed IP Address"] == shown["vip_address"], "{floating:#?}");
    let listeners = format!("loadbalancer listener list --loadbalancer {id}");
    ensure!(ports(&site.member.rows(&listeners).await?) == [80].into());

    let three = [port("http", 80, "TCP"), port("https", 443, "TCP"), port("dns", 53, "UDP")];
    site.user.apply(&service("web", &[], &json!({"ports": three}))).await?;
    site.until_rows(&listeners, "three listeners", |rows| ports(rows) == [53, 80, 443].into()).await?;
    let two = [port("http", 80, "TCP"), port("dns", 53, "UDP")];
    site.user.apply(&service("web", &[], &json!({"ports": two}))).await?;
    site.until_rows(&listeners, "two listeners", |rows| ports(rows) == [53, 80].into()).await?;
    site.until_rows("loadbalancer pool list", "two pools", |rows| rows.len() == 2).await?;

    let pool = pool_at(site, id, 80).await?;
    let fixed = json!([{"op": "replace", "path": "/spec/ports/0/nodePort", "value": 30_080}]).to_string();
    site.user.run(&["patch", "svc", "web", "--type=json", "-p", &fixed]).await?;
    let members = format!("loadbalancer member list {pool}");
    site.until_rows(&members, "three members at the new port", |rows| {
        rows.len() == 3 && ports(rows) == [30_080].into()
    })
    .await?;
    Ok(())
}

/// The pool behind a port of a load balancer.
async fn pool_at(site: &Harness, balancer: &str, port: u64) -> anyhow::Result<String> {
    let listeners =
        site.member.rows(&format!("loadbalancer listener list --loadbalancer {balancer}")).await?;
    let listener = listeners.iter().find(|row| row["protocol_port"] == port).context("no listener")?;
    Ok(listener["default_pool_id"].as_str().context("no pool")?.to_owned())
}

async fn nodes_come_and_go(site: &Harness) -> anyhow::Result<()> {
    let web = site.user.service("web").await?;
    let pool = pool_at(site, load_balancer_id(&web)?, 80).await?;
    let members = format!("loadbalancer member list {pool}");
    let machines = site.cloud.machines().await?;
    let (name, id, address) = machines.last().context("no machine")?;
    site.admin.run(&["delete", "node", name]).await?;
    let left = site.until_rows(&members, "two members", |rows| rows.len() == 2).await?;
    ensure!(!names(&left).contains(name.as_str()), "{left:#?}");
    site.nodes.create(initialized(name, id, &[address])).await?;
    let all = site.until_rows(&members, "three members", |rows| rows.len() == 3).await?;
    ensure!(all.iter().any(|row| row["name"] == *name && row["address"] == *address), "{all:#?}");
    Ok(())
}

async fn it_becomes_internal_and_public_again(site: &Harness) -> anyhow::Result<()> {
    let web = site.user.service("web").await?;
    let shown = site.member.json(&format!("loadbalancer show {}", load_balancer_id(&web)?)).await?;
    let vip = shown["vip_address"].as_str();
    site.user.annotate("web", &format!("{INTERNAL}=true")).await?;
    site.services.until("web", "has its own address", |web| address(web) == vip).await?;
    site.until_rows(FLOATING, "no floating IP", <[_]>::is_empty).await?;
    site.user.annotate("web", &format!("{INTERNAL}-")).await?;
    let web = site.services.until("web", "is public again", |web| address(web) != vip).await?;
    let floating = site.member.rows(FLOATING).await?;
    ensure!(
        floating.len() == 1 && floating[0][ADDRESS] == address(&web).unwrap_or_default(),
        "{floating:#?}"
    );
    Ok(())
}

async fn the_source_ranges_are_those_of_the_listeners(site: &Harness) -> anyhow::Result<()> {
    let web = site.user.service("web").await?;
    let id = load_balancer_id(&web)?;
    let listeners = site.member.rows(&format!("loadbalancer listener list --loadbalancer {id}")).await?;
    let listener = listeners[0]["id"].as_str().context("no listener")?;
    let allowed = async |wanted: Value| {
        site.wait
            .until(&format!("listeners that allow {wanted}"), async || {
                let shown = site.member.json(&format!("loadbalancer listener show {listener}")).await?;
                let mut cidrs = shown["allowed_cidrs"].clone();
                if let Some(cidrs) = cidrs.as_array_mut() {
                    cidrs.sort_by_key(Value::to_string);
                }
                Ok((cidrs == wanted).then_some(()))
            })
            .await
    };
    let ranges = json!(["10.0.0.0/8", "192.0.2.0/24"]);
    site.user.patch("web", &json!({"spec": {"loadBalancerSourceRanges": ranges}})).await?;
    allowed(ranges).await?;
    site.user.patch("web", &json!({"spec": {"loadBalancerSourceRanges": null}})).await?;
    allowed(json!(["0.0.0.0/0"])).await
}

async fn another_cluster_name_renames_it(site: &Harness) -> anyhow::Result<()> {
    let web = site.user.service("web").await?;
    let id = load_balancer_id(&web)?;
    let renamed = format!("kube_service_port_{NAMESPACE}_web");
    let rows =
        site.until_rows(BALANCERS, "another name", |rows| names(rows) == [renamed.as_str()].into()).await?;
    ensure!(rows[0]["id"] == id, "another load balancer: {rows:#?}");
    Ok(())
}

async fn another_type_takes_the_load_balancer_away(site: &Harness) -> anyhow::Result<()> {
    let web = site.user.service("web").await?;
    let before = load_balancer_id(&web)?;
    site.user.patch("web", &json!({"spec": {"type": "ClusterIP"}})).await?;
    site.until_rows(BALANCERS, "no load balancer", <[_]>::is_empty).await?;
    site.until_rows(FLOATING, "no floating IP", <[_]>::is_empty).await?;
    site.services
        .until("web", "is bare again", |web| {
            let annotations = web["metadata"]["annotations"].as_object().into_iter().flatten();
            let written = annotations.filter(|(key, _)| key.contains("openstack") || key.contains("bowline"));
            address(web).is_none() && written.count() == 0 && web["metadata"]["finalizers"].is_null()
        })
        .await?;
    site.user.patch("web", &json!({"spec": {"type": "LoadBalancer"}})).await?;
    let web = site.services.until_ready("web").await?;
    ensure!(load_balancer_id(&web)? != before, "the same load balancer");
    Ok(())
}

async fn two_share_one_load_balancer(site: &Harness) -> anyhow::Result<()> {
    let web = site.user.service("web").await?;
    let id = load_balancer_id(&web)?;
    let other = json!({"ports": [port("other", 8080, "TCP")]});
    site.user.apply(&service("guest", &[(SHARE, id)], &other)).await?;
    let guest = site.services.until_ready("guest").await?;
    ensure!(address(&guest) == address(&web) && load_balancer_id(&guest)? == id, "{guest:#}");
    ensure!(site.member.rows(BALANCERS).await?.len() == 1);
    let listeners = format!("loadbalancer listener list --loadbalancer {id}");
    ensure!(ports(&site.member.rows(&listeners).await?) == [53, 80, 8080].into());

    site.user.run(&["delete", "svc", "web"]).await?;
    site.services.until_gone("web").await?;
    ensure!(ports(&site.member.rows(&listeners).await?) == [8080].into(), "the guest's listener stays alone");
    let guest = site.user.service("guest").await?;
    let floating = site.member.rows(FLOATING).await?;
    ensure!(address(&guest) == address(&web) && floating.len() == 1, "{guest:#} {floating:#?}");
    site.user.run(&["delete", "svc", "guest"]).await?;
    site.services.until_gone("guest").await?;
    ensure!(site.member.rows(BALANCERS).await?.is_empty());
    Ok(())
}

async fn a_kept_floating_ip_is_used_again(site: &Harness) -> anyhow::Result<()> {
    site.user.apply(&service("kept", &[(KEEP, "true")], &json!({}))).await?;
    let kept = site.services.until_ready("kept").await?;
    let kept = address(&kept).context("no address")?.to_owned();
    site.user.run(&["delete", "svc", "kept"]).await?;
    site.services.until_gone("kept").await?;
    let floating = site.member.rows(FLOATING).await?;
    let row = floating.iter().find(|row| row[ADDRESS] == kept).context("it was not kept")?;
    ensure!(row["Port"].is_null(), "{row}");

    let made = site.member.json("floating ip create public").await?;
    let made = made["floating_ip_address"].as_str().context("no address")?.to_owned();
    let given = |name: &str, address: &str| service(name, &[], &json!({"loadBalancerIP": address}));
    site.user.apply_all(&[given("again", &kept), given("given", &made)]).await?;
    for (name, wanted) in [("again", &kept), ("given", &made)] {
        let service = site.services.until_ready(name).await?;
        ensure!(address(&service) == Some(wanted.as_str()), "{service:#}");
    }
    ensure!(site.member.rows(FLOATING).await?.len() == floating.len() + 1, "no other floating IP is made");
    site.user.run(&["delete", "svc", "again", "given"]).await?;
    for name in ["again", "given"] {
        site.services.until_gone(name).await?;
    }
    let floating = site.member.rows(FLOATING).await?;
    // Neither was made for the Service that used it last, so both stay (SR-9).
    for (address, what) in [(&made, "given"), (&kept, "kept for another Service")] {
        let row = floating.iter().find(|row| row[ADDRESS] == *address);
        let row = row.with_context(|| format!("a floating IP that was {what} was deleted"))?;
        ensure!(row["Port"].is_null(), "{row}");
    }
    site.member.done(&format!("floating ip delete {made} {kept}")).await
}

/// The cloud is as it was, but for what people asked to keep.
async fn nothing_is_left(site: &Harness) -> anyhow::Result<()> {
    for list in [BALANCERS, "loadbalancer listener list", "loadbalancer pool list", FLOATING] {
        let rows = site.member.rows(list).await?;
        ensure!(rows.is_empty(), "openstack {list}: {rows:#?}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn two_clusters_in_one_project_leave_each_other_alone() -> anyhow::Result<()> {
    let Some(tools) = Tools::locate()? else { return Ok(()) };
    let cloud = Arc::new(Cloud::start(1).await?);
    let (north, south) =
        tokio::try_join!(Harness::start(&tools, Arc::clone(&cloud), ""), Harness::start(&tools, cloud, ""))?;
    let _managers = (north.run(&["--cluster-name=north"])?, south.run(&["--cluster-name=south"])?);
    for site in [&north, &south] {
        site.user.apply(&service("web", &[], &json!({}))).await?;
    }
    north.services.until_ready("web").await?;
    let web = south.services.until_ready("web").await?;
    let both = ["north", "south"].map(|cluster| format!("kube_service_{cluster}_{NAMESPACE}_web"));
    ensure!(names(&north.member.rows(BALANCERS).await?) == both.iter().map(String::as_str).collect());
    north.user.run(&["delete", "svc", "web"]).await?;
    north.services.until_gone("web").await?;
    ensure!(names(&north.member.rows(BALANCERS).await?) == [both[1].as_str()].into());
    let floating = north.member.rows(FLOATING).await?;
    ensure!(
        floating.len() == 1 && floating[0][ADDRESS] == address(&web).unwrap_or_default(),
        "{floating:#?}"
    );
    Ok(())
}
