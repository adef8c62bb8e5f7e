//! Managed security groups.

use std::collections::BTreeSet;

use anyhow::{Context, ensure};
use bowline_testkit::services::{port, service};
use serde_json::{Value, json};

use crate::conf::Conf;
use crate::harness::Harness;
use crate::openstack::Api::Network;
use crate::scenario::{Provider, Stage};
use crate::waiting::until;

pub(super) async fn groups(stage: &Stage<'_>) -> anyhow::Result<()> {
    let conf = format!("{}manage-security-groups = true\n", stage.provider.conf());
    let site = Harness::start(stage, &Conf::new(conf)).await?;
    let _manager = site.run(&[])?;
    site.join_all().await?;
    let before = ports_of_nodes(&site).await?;
    site.services.create(&service("web", &[], &json!({}))).await?;
    site.services.until_ready("web").await?;
    let group = until_guarded(&site, "the group is there", &["node-1", "node-2", "node-3"]).await?;
    let name = group["name"].as_str().context("a group without a name")?;
    ensure!(name.starts_with("lb-sg-") && name.ends_with("-shop-web"), "{name}");

    rules_follow(stage, &site).await?;
    nodes_come_and_go(&site).await?;
    site.services.delete("web").await?;
    site.nothing_left().await?;
    ensure!(ports_of_nodes(&site).await? == before, "the ports do not have the groups that they had before");
    Ok(())
}

/// The security groups of the ports of the servers.
async fn ports_of_nodes(site: &Harness<'_>) -> anyhow::Result<Vec<(String, BTreeSet<String>)>> {
    let mut all = Vec::new();
    for server in site.servers() {
        let path = format!("ports?device_id={}", server.id);
        for port in site.world.member.list(Network, &path, "ports").await? {
            let groups = port["security_groups"].as_array().into_iter().flatten();
            all.push((server.name.clone(), groups.filter_map(|id| id.as_str().map(str::to_owned)).collect()));
        }
    }
    Ok(all)
}

/// Waits until there is one group, and the ports of these Nodes alone have it.
async fn until_guarded(site: &Harness<'_>, what: &str, nodes: &[&str]) -> anyhow::Result<Value> {
    let mut last = String::new();
    let seen = until(what, async || {
        let mut groups = site.security_groups().await?;
        let ports = ports_of_nodes(site).await?;
        last = format!("{groups:#?}\n{ports:#?}");
        ensure!(groups.len() <= 1, "{} groups", groups.len());
        let Some(group) = groups.pop() else { return Ok(None) };
        let id = group["id"].as_str().unwrap_or_default();
        let guarded = ports.iter().filter(|(_, groups)| groups.contains(id)).map(|(node, _)| node.as_str());
        Ok(guarded.eq(nodes.iter().copied()).then_some(group))
    })
    .await;
    seen.with_context(|| format!("{last}\n{}", site.tail()))
}

/// Protocol, port and source of the rules that let something in; that there are rules of the other direction is an error.
async fn rules(site: &Harness<'_>) -> anyhow::Result<BTreeSet<(String, u64, String)>> {
    let group = site.security_groups().await?.pop().context("no group")?;
    let id = group["id"].as_str().unwrap_or_default();
    let path = format!("security-group-rules?security_group_id={id}");
    let rows = site.world.member.list(Network, &path, "security_group_rules").await?;
    ensure!(rows.iter().all(|rule| rule["direction"] == "ingress"), "{rows:#?}");
    let rule = |row: &Value| {
        let text = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
        (text("protocol"), row["port_range_min"].as_u64().unwrap_or_default(), text("remote_ip_prefix"))
    };
    Ok(rows.iter().map(rule).collect())
}

async fn until_rules(
    site: &Harness<'_>,
    what: &str,
    wanted: impl Fn(&Value) -> BTreeSet<(String, u64, String)>,
) -> anyhow::Result<()> {
    let mut last = String::new();
    let seen = until(what, async || {
        let web = site.services.get("web").await?;
        let (there, wanted) = (rules(site).await?, wanted(&web));
        last = format!("there: {there:?}, wanted: {wanted:?}");
        Ok((there == wanted).then_some(()))
    })
    .await;
    seen.with_context(|| format!("{last}\n{}", site.tail()))
}

async fn rules_follow(stage: &Stage<'_>, site: &Harness<'_>) -> anyhow::Result<()> {
    let subnet =
        site.world.member.get(Network, &format!("subnets/{}", site.world.about().estate.subnet)).await?;
    let inside = subnet["subnet"]["cidr"].as_str().context("a subnet without a range")?.to_owned();
    // OVN lets clients through with their own addresses.
    let ovn = stage.provider == Provider::Ovn;
    let outside = if ovn { "0.0.0.0/0".to_owned() } else { inside.clone() };
    until_rules(site, "a rule for the node port", |web| traffic(web, &[&outside])).await?;
    let ports = [port("http", 80, "TCP"), port("dns", 53, "UDP")];
    site.services.edit("web", &json!({"spec": {"ports": ports}})).await?;
    until_rules(site, "a rule for the second port", |web| traffic(web, &[&outside])).await?;

    let ranges = ["192.0.2.0/24", "198.51.100.0/24"];
    site.services
        .edit("web", &json!({"spec": {"loadBalancerSourceRanges": ranges, "externalTrafficPolicy": "Local"}}))
        .await?;
    let from = if ovn { ranges.to_vec() } else { vec![inside.as_str()] };
    until_rules(site, "rules for source ranges and the health check", |web| {
        let health = web["spec"]["healthCheckNodePort"].as_u64().unwrap_or_default();
        let mut rules = traffic(web, &from);
        rules.insert(("tcp".to_owned(), health, inside.clone()));
        rules
    })
    .await?;
    let plain = json!({"spec": {
        "loadBalancerSourceRanges": null, "externalTrafficPolicy": "Cluster", "ports": [port("http", 80, "TCP")],
    }});
    site.services.edit("web", &plain).await?;
    until_rules(site, "the rules that are not needed any more are gone", |web| traffic(web, &[&outside]))
        .await
}

fn traffic(web: &Value, from: &[&str]) -> BTreeSet<(String, u64, String)> {
    let mut rules = BTreeSet::new();
    for port in web["spec"]["ports"].as_array().into_iter().flatten() {
        let protocol = port["protocol"].as_str().unwrap_or_default().to_lowercase();
        let number = port["nodePort"].as_u64().unwrap_or_default();
        rules.extend(from.iter().map(|range| (protocol.clone(), number, (*range).to_owned())));
    }
    rules
}

async fn nodes_come_and_go(site: &Harness<'_>) -> anyhow::Result<()> {
    let servers = site.servers();
    let last = servers.last().context("no servers")?;
    site.nodes.delete(&last.name).await?;
    until_guarded(site, "a Node that left has the group no more", &["node-1", "node-2"]).await?;
    site.join(&last.name, &last.id).await?;
    until_guarded(site, "a Node that joined has the group", &["node-1", "node-2", "node-3"]).await?;
    Ok(())
}
