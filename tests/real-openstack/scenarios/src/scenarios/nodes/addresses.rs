//! What a Node is told of its server.

use std::collections::BTreeSet;

use anyhow::{Context, ensure};
use bowline_testkit::nodes::{UNINITIALIZED, addresses as addresses_of, provider_id, registered};
use k8s_openapi::api::core::v1::Node;
use serde_json::{Value, json};

use crate::conf::Conf;
use crate::harness::{Harness, id_of};
use crate::openstack::Api::{Compute, Network};
use crate::scenario::Stage;
use crate::waiting::until;

/// The labels that the manager writes.
const LABELS: [&str; 6] = [
    "node.kubernetes.io/instance-type",
    "beta.kubernetes.io/instance-type",
    "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/region",
];

type Addresses = BTreeSet<(String, String)>;

/// A server with everything that gives addresses.
struct Rich {
    name: String,
    id: String,
    /// The name of its network that is not the cluster's.
    side: String,
    home4: String,
    home6: String,
    beside: String,
    carried: String,
    floating: Value,
}

pub(super) async fn addresses(stage: &Stage<'_>) -> anyhow::Result<()> {
    let site = Harness::start(stage, &Conf::new("")).await?;
    let outcome = of_a_rich_server(&site).await;
    outcome.and(site.sweep().await)
}

async fn of_a_rich_server(site: &Harness<'_>) -> anyhow::Result<()> {
    let rich = boot(site).await.context("boot a server with all kinds of addresses")?;
    let _manager = site.run(&["--node-status-update-frequency=2s"])?;
    initialised(site, &rich).await.context("initialise it")?;
    by_configuration(site, &rich).await?;
    site.world.member.delete(Network, &format!("floatingips/{}", id_of(&rich.floating)?)).await?;
    shows(
        site,
        &rich,
        "after the floating IP went",
        &[rich.home4.as_str(), &rich.home6, &rich.beside, &rich.carried],
        &[],
    )
    .await
}

async fn boot(site: &Harness<'_>) -> anyhow::Result<Rich> {
    let estate = &site.world.about().estate;
    let side = site.lan("side", "10.77.1.0/24").await?;
    let vlan = site.lan("vlan", "10.77.2.0/24").await?;
    let parent = site.port("parent", &estate.network).await?;
    let carried = site.port("carried", &vlan.id).await?;
    site.trunk(&parent, &carried).await?;
    let name = site.called("rich");
    let more = json!({
        "networks": [{"port": parent["id"]}, {"uuid": side.id}], "availability_zone": estate.zones.last(),
    });
    let id = site.boot(&name, &more).await?.id;
    let floating = site.floating_ip_at(&parent).await?;
    let public = floating["floating_ip_address"].as_str().context("no address")?.to_owned();
    let shown = until("Nova shows the floating IP, and all ports are active", async || {
        let ports = site.world.member.list(Network, &format!("ports?device_id={id}"), "ports").await?;
        let active = ports.iter().all(|port| port["status"] == "ACTIVE");
        let server = site.world.member.get(Compute, &format!("servers/{id}")).await?;
        let all = server["server"]["addresses"].clone();
        Ok((active && all.to_string().contains(&public)).then_some(all))
    })
    .await?;
    let fixed = |port: &Value, six: bool| {
        let rows = port["fixed_ips"].as_array().into_iter().flatten();
        let mut texts = rows.filter_map(|row| row["ip_address"].as_str());
        texts.find(|text| text.contains(':') == six).map(str::to_owned).context("a port lacks an address")
    };
    let beside = shown[&side.name][0]["addr"].as_str().context("no address beside")?.to_owned();
    let (home4, home6) = (fixed(&parent, false)?, fixed(&parent, true)?);
    let carried = fixed(&carried, false)?;
    Ok(Rich { name, id, side: side.name, home4, home6, beside, carried, floating })
}

/// It joins with things of its own, and gets what the cloud knows, and nothing else.
async fn initialised(site: &Harness<'_>, rich: &Rich) -> anyhow::Result<()> {
    let mut node = registered(&rich.name, &rich.id);
    node["metadata"]["labels"]["team"] = json!("blue");
    node["status"]["addresses"] = json!([{"type": "Hostname", "address": rich.name}]);
    node["metadata"]["annotations"] = json!({"example.org/note": "mine"});
    let taints = node["spec"]["taints"].as_array_mut().context("no taints")?;
    taints.push(json!({"key": "dedicated", "value": "db", "effect": "NoSchedule"}));
    let node = serde_json::to_value(site.nodes.create(node).await?)?;
    let made = site.until_initialised(&rich.name).await?;
    ensure!(provider_id(&made) == format!("openstack:///{}", rich.id), "{made:#?}");
    let estate = &site.world.about().estate;
    let flavor = site.world.member.get(Compute, &format!("flavors/{}", estate.flavor)).await?;
    let zone = json!(estate.zones.last());
    let region = json!(site.world.about().region);
    let wanted = [&flavor["flavor"]["name"], &flavor["flavor"]["name"], &zone, &zone, &region, &region];
    let mut shown = serde_json::to_value(&made)?;
    let labels = shown["metadata"]["labels"].as_object_mut().context("no labels")?;
    for (label, value) in LABELS.iter().zip(wanted) {
        ensure!(labels.remove(*label).as_ref() == Some(value), "label {label} is not {value}: {made:#?}");
    }
    nothing_else(&node, &shown)?;
    let fixed = [rich.home4.as_str(), &rich.home6, &rich.beside, &rich.carried];
    let floating = rich.floating["floating_ip_address"].as_str().unwrap_or_default();
    shows(site, rich, "as the cloud has them", &fixed, &[floating]).await
}

/// What is left of a Node besides labels, provider ID, addresses and one taint is what its kubelet has written.
fn nothing_else(registered: &Value, shown: &Value) -> anyhow::Result<()> {
    for part in ["labels", "annotations"] {
        let (was, is) = (&registered["metadata"][part], &shown["metadata"][part]);
        ensure!(was == is, "{part} were {was}, besides those of the cloud they are {is}");
    }
    let spec: Vec<_> = shown["spec"].as_object().into_iter().flatten().map(|(key, _)| key.as_str()).collect();
    ensure!(spec == ["providerID", "taints"], "the spec has {spec:?}");
    let kept = |node: &Value| -> Vec<Value> {
        let taints = node["spec"]["taints"].as_array().into_iter().flatten();
        taints.filter(|taint| taint["key"] != UNINITIALIZED).cloned().collect()
    };
    let (was, is) = (kept(registered), kept(shown));
    ensure!(was == is, "the other taints were {was:?}, they are {is:?}");
    for part in ["nodeInfo", "conditions", "capacity"] {
        let (was, is) = (&registered["status"][part], &shown["status"][part]);
        ensure!(was == is, "{part} of the status was {was}, it is {is}");
    }
    Ok(())
}

/// The keys of `[Networking]`, each changed while the manager runs.
async fn by_configuration(site: &Harness<'_>, rich: &Rich) -> anyhow::Result<()> {
    let floating = rich.floating["floating_ip_address"].as_str().unwrap_or_default();
    let (home4, home6) = (rich.home4.as_str(), rich.home6.as_str());
    let (beside, carried) = (rich.beside.as_str(), rich.carried.as_str());
    let side = &rich.side;
    for (lines, internal, external) in [
        (format!("internal-network-name = {side}"), vec![beside], vec![floating]),
        (format!("public-network-name = {side}"), vec![home4, home6, carried], vec![floating, beside]),
        ("ipv6-support-disabled = true".to_owned(), vec![home4, beside, carried], vec![floating]),
    ] {
        networking(site, &lines)?;
        shows(site, rich, &format!("with {lines}"), &internal, &external).await?;
    }
    networking(site, "address-sort-order = 10.77.2.0/24, fd00::/8, 10.77.1.0/24")?;
    let first = [carried, home6, beside, home4].map(|one| ("InternalIP".to_owned(), one.to_owned()));
    site.nodes
        .until(&rich.name, "has its addresses in order", |node| {
            let internal = addresses_of(node).into_iter().filter(|(kind, _)| kind == "InternalIP");
            internal.collect::<Vec<_>>() == first
        })
        .await?;
    networking(site, "")?;
    let fixed = [home4, home6, beside, carried];
    shows(site, rich, "without any option", &fixed, &[floating]).await
}

fn networking(site: &Harness<'_>, lines: &str) -> anyhow::Result<()> {
    let more = format!("[Networking]\n{lines}\n");
    site.reconfigure(&Conf { more, ..Conf::new("") })
}

/// Waits until the Node has exactly these addresses, and its name.
async fn shows(
    site: &Harness<'_>,
    rich: &Rich,
    when: &str,
    internal: &[&str],
    external: &[&str],
) -> anyhow::Result<()> {
    let kinds = [("InternalIP", internal), ("ExternalIP", external), ("Hostname", &[rich.name.as_str()])];
    let of_kind = |(kind, texts): (&str, &[&str])| {
        texts.iter().map(|text| (kind.to_owned(), (*text).to_owned())).collect::<Vec<_>>()
    };
    let wanted: Addresses = kinds.into_iter().flat_map(of_kind).collect();
    let as_wanted = |node: &Node| {
        let found = addresses_of(node);
        found.len() == wanted.len() && found.into_iter().collect::<Addresses>() == wanted
    };
    let seen = site.nodes.until(&rich.name, &format!("has its addresses {when}"), as_wanted).await;
    seen.map(drop).with_context(|| format!("wanted {wanted:?}"))
}
