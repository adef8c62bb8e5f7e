//! Routes to the pods of Nodes, as extra routes of a Neutron router.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, ensure};
use real_cloud::Server;
use serde_json::{Value, json};

use crate::conf::Conf;
use crate::harness::Harness;
use crate::openstack::Api::Network;
use crate::scenario::{On, Scenario, Stage, When};
use crate::waiting::{holds, until};

pub(crate) const SCENARIOS: &[Scenario] = &[Scenario {
    name: "routes/extra",
    story: "each Node's pods get a route and an open port, both go with it, others' routes and all at the end stay",
    when: When::Always,
    on: On::Any,
    run: |stage| Box::pin(extra(stage)),
}];

const FLAGS: [&str; 4] = [
    "--configure-cloud-routes=true",
    "--allocate-node-cidrs=true",
    "--cluster-cidr=10.200.0.0/16,fd00:200::/48",
    "--route-reconciliation-period=2s",
];

async fn extra(stage: &Stage<'_>) -> anyhow::Result<()> {
    let router = &stage.world.about().estate.router;
    let conf = Conf { more: format!("[Route]\nrouter-id = {router}\n"), ..Conf::new(stage.provider.conf()) };
    let site = Harness::start(stage, &conf).await?;
    let before = (routes(&site).await?, pairs(&site).await?);
    let foreign = json!({"destination": "192.0.2.0/24", "nexthop": site.servers()[0].address});
    change(&site, "add_extraroutes", &json!([foreign])).await?;
    let outcome = come_and_go(&site).await;
    // Whatever happened, the router is as it was.
    let left: Vec<Value> = routes(&site).await?.difference(&before.0).map(row).collect();
    change(&site, "remove_extraroutes", &json!(left)).await?;
    if outcome.is_err() {
        close(&site).await?;
    }
    outcome?;
    ensure!(left.as_slice() == [foreign], "routes are left: {left:#?}");
    let after = (routes(&site).await?, pairs(&site).await?);
    ensure!(after == before, "not as before: {before:?} {after:?}");
    Ok(())
}

/// Destination and next hop.
type Route = (String, String);

fn row((destination, nexthop): &Route) -> Value {
    json!({"destination": destination, "nexthop": nexthop})
}

async fn change(site: &Harness<'_>, verb: &str, routes: &Value) -> anyhow::Result<()> {
    let path = format!("routers/{}/{verb}", site.world.about().estate.router);
    site.world.member.put(Network, &path, &json!({"router": {"routes": routes}})).await.map(drop)
}

async fn routes(site: &Harness<'_>) -> anyhow::Result<BTreeSet<Route>> {
    let path = format!("routers/{}", site.world.about().estate.router);
    let router = site.world.member.get(Network, &path).await?;
    let rows = router["router"]["routes"].as_array().context("a router without routes")?.iter();
    let text = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
    Ok(rows.map(|row| (text(row, "destination"), text(row, "nexthop"))).collect())
}

/// The ranges from which the servers may send, besides their own addresses.
async fn pairs(site: &Harness<'_>) -> anyhow::Result<BTreeSet<(String, String)>> {
    let mut all = BTreeSet::new();
    for server in site.servers() {
        let path = format!("ports?device_id={}", server.id);
        for port in site.world.member.list(Network, &path, "ports").await? {
            let rows = port["allowed_address_pairs"].as_array().into_iter().flatten();
            let ranges = rows.filter_map(|pair| pair["ip_address"].as_str());
            all.extend(ranges.map(|range| (server.name.clone(), range.to_owned())));
        }
    }
    Ok(all)
}

/// Takes the ranges of this scenario from the servers' ports.
async fn close(site: &Harness<'_>) -> anyhow::Result<()> {
    let ours: Vec<_> = (0..site.servers().len()).flat_map(ranges).collect();
    for server in site.servers() {
        let path = format!("ports?device_id={}", server.id);
        for port in site.world.member.list(Network, &path, "ports").await? {
            let rows = port["allowed_address_pairs"].as_array().into_iter().flatten();
            let is_ours = |pair: &&Value| ours.iter().any(|range| pair["ip_address"] == range.as_str());
            let others: Vec<_> = rows.filter(|pair| !is_ours(pair)).collect();
            let path = format!("ports/{}", port["id"].as_str().unwrap_or_default());
            let body = json!({"port": {"allowed_address_pairs": others}});
            site.world.member.put(Network, &path, &body).await?;
        }
    }
    Ok(())
}

/// The ranges of a Node's pods.
fn ranges(place: usize) -> [String; 2] {
    // A group of zeros would be written shorter by those who compare.
    let place = place + 1;
    [format!("10.200.{place}.0/24"), format!("fd00:200:0:{place}::/64")]
}

/// The addresses of a Node, of both families.
async fn hops(site: &Harness<'_>, server: &Server) -> anyhow::Result<[String; 2]> {
    let node = serde_json::to_value(site.nodes.api.get(&server.name).await?)?;
    let rows = node["status"]["addresses"].as_array().into_iter().flatten();
    let inside = rows.filter(|row| row["type"] == "InternalIP").filter_map(|row| row["address"].as_str());
    let of = |sixth: bool| inside.clone().find(|address| address.contains(':') == sixth);
    Ok([of(false).context("no IPv4")?.to_owned(), of(true).context("no IPv6")?.to_owned()])
}

async fn come_and_go(site: &Harness<'_>) -> anyhow::Result<()> {
    let before = (routes(site).await?, pairs(site).await?);
    let manager = site.run(&FLAGS)?;
    let mut wanted = before.clone();
    for (place, server) in site.servers().into_iter().enumerate() {
        site.join(&server.name, &server.id).await?;
        site.give_pod_ranges(&server.name, &ranges(place)).await?;
        for (range, hop) in ranges(place).into_iter().zip(hops(site, server).await?) {
            wanted.0.insert((range.clone(), hop));
            wanted.1.insert((server.name.clone(), range));
        }
    }
    until_so(site, "each Node has its routes, and the foreign one is there", &wanted).await?;
    for server in site.servers() {
        site.nodes.until(&server.name, "has its network", is_reached).await?;
    }
    let last = site.servers().pop().context("no servers")?;
    let place = site.servers().len() - 1;
    let mut rest = wanted.clone();
    rest.0.retain(|(range, _)| !ranges(place).contains(range));
    rest.1.retain(|(_, range)| !ranges(place).contains(range));
    site.nodes.delete(&last.name).await?;
    until_so(site, "the routes of a Node that left are gone", &rest).await?;
    site.join(&last.name, &last.id).await?;
    site.give_pod_ranges(&last.name, &ranges(place)).await?;
    until_so(site, "the routes of a Node that is back are there", &wanted).await?;

    manager.terminate().await?;
    holds("routes stay without a manager", Duration::from_secs(3), async || {
        Ok((routes(site).await?, pairs(site).await?) == wanted)
    })
    .await?;
    let _manager = site.run(&FLAGS)?;
    for server in site.servers() {
        site.nodes.delete(&server.name).await?;
    }
    until_so(site, "all Nodes left, and the foreign route is there", &before).await
}

fn is_reached(node: &k8s_openapi::api::core::v1::Node) -> bool {
    let conditions = node.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.into_iter().flatten().any(|one| one.type_ == "NetworkUnavailable" && one.status == "False")
}

async fn until_so(
    site: &Harness<'_>,
    what: &str,
    wanted: &(BTreeSet<Route>, BTreeSet<(String, String)>),
) -> anyhow::Result<()> {
    let mut last = String::new();
    let seen = until(what, async || {
        let there = (routes(site).await?, pairs(site).await?);
        last = format!("there: {there:#?}\nwanted: {wanted:#?}");
        Ok((there == *wanted).then_some(()))
    })
    .await;
    seen.with_context(|| format!("{last}\n{}", site.tail()))
}
