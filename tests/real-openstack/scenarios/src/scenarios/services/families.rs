//! IPv6: Services of that family alone, and of both.

use anyhow::{Context, ensure};
use bowline_testkit::services::{address, port, service};
use serde_json::{Value, json};

use crate::conf::Conf;
use crate::harness::Harness;
use crate::scenario::Stage;

const SUBNET: &str = "loadbalancer.openstack.org/subnet-id";

pub(super) async fn families(stage: &Stage<'_>) -> anyhow::Result<()> {
    let site = Harness::start(stage, &Conf::new(stage.provider.conf())).await?;
    let _manager = site.run(&[])?;
    site.join_all().await?;
    sixth_alone(&site).await.context("IPv6 alone")?;
    both(stage, &site).await.context("both families")?;
    site.nothing_left().await
}

fn is_sixth(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.contains(':'))
}

async fn sixth_alone(site: &Harness<'_>) -> anyhow::Result<()> {
    let subnet = site.world.about().estate.subnet6.as_str();
    let spec = json!({"ipFamilyPolicy": "SingleStack", "ipFamilies": ["IPv6"]});
    site.services.create(&service("six", &[(SUBNET, subnet)], &spec)).await?;
    let six = site.services.until_ready("six").await?;
    let nodes = site.servers().len();
    let (_, whole) =
        site.until_both("six", "three members", |_, whole| whole.members(80).len() == nodes).await?;
    ensure!(whole.balancer["vip_address"].as_str() == address(&six), "{whole:#?} {six:#}");
    ensure!(is_sixth(&whole.balancer["vip_address"]), "{whole:#?}");
    ensure!(whole.members(80).iter().all(|member| is_sixth(&member["address"])), "{whole:#?}");
    ensure!(site.floating_ips().await?.is_empty(), "a floating IP for IPv6");
    let ports = [port("http", 80, "TCP"), port("dns", 53, "UDP")];
    site.services.edit("six", &json!({"spec": {"ports": ports}})).await?;
    site.until_both("six", "a second port", |_, whole| whole.members(53).len() == nodes).await?;
    site.services.delete("six").await?;
    site.nothing_left().await
}

/// The addresses that a Service shows.
fn shown(service: &Value) -> Vec<&str> {
    let rows = service["status"]["loadBalancer"]["ingress"].as_array().into_iter().flatten();
    rows.filter_map(|row| row["ip"].as_str()).collect()
}

async fn both(stage: &Stage<'_>, site: &Harness<'_>) -> anyhow::Result<()> {
    let spec = json!({"ipFamilyPolicy": "RequireDualStack", "ipFamilies": ["IPv4", "IPv6"]});
    site.services.create(&service("both", &[], &spec)).await?;
    let both = site.services.until_ready("both").await?;
    let balancer = site.balancer_of("both").await?.context("no load balancer")?;
    let second = &balancer["additional_vips"][0]["ip_address"];
    ensure!(is_sixth(second), "no second address: {balancer:#}");
    stage.note(format!("shown for both families: {:?}", shown(&both)));
    ensure!(
        shown(&both).contains(&second.as_str().unwrap_or_default()),
        "the second address is not shown: {both:#}"
    );
    let floating = site.floating_ip_of(&balancer).await?.context("no floating IP")?;
    ensure!(shown(&both).contains(&floating["floating_ip_address"].as_str().unwrap_or_default()), "{both:#}");
    site.services.delete("both").await
}
