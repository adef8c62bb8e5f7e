//! One load balancer for several Services.

use anyhow::{Context, ensure};
use bowline_testkit::services::{address, condition, load_balancer_id, port, service};
use serde_json::{Value, json};

use crate::conf::Conf;
use crate::harness::{Harness, Whole};
use crate::scenario::Stage;
use crate::waiting::until;

const ID: &str = "loadbalancer.openstack.org/load-balancer-id";

pub(super) async fn shared(stage: &Stage<'_>) -> anyhow::Result<()> {
    let conf = format!("{}max-shared-lb = 3\n", stage.provider.conf());
    let site = Harness::start(stage, &Conf::new(conf)).await?;
    let _manager = site.run(&[])?;
    site.join_all().await?;

    let id = three_share(&site).await?;
    site.services.delete("one").await?;
    let whole = until_ports(&site, &id, "the owner left first", &[8080, 9090]).await?;
    ensure!(tags(&whole, "shop_one") == 0 && tags(&whole, "shop_two") == 1, "{whole:#?}");
    let two = site.services.until_ready("two").await?;
    ensure!(
        site.floating_ip_of(&whole.balancer).await?.context("no floating IP")?["floating_ip_address"]
            .as_str()
            == address(&two)
    );
    site.services.delete("two").await?;
    until_ports(&site, &id, "one is left", &[9090]).await?;
    site.services.delete("three").await?;
    site.nothing_left().await.context("the last one left")?;

    let id = three_share(&site).await.context("once more")?;
    site.services.delete("three").await?;
    until_ports(&site, &id, "a guest left", &[80, 8080]).await?;
    site.services.delete("two").await?;
    until_ports(&site, &id, "the owner is alone again", &[80]).await?;
    site.services.delete("one").await?;
    site.nothing_left().await.context("the owner left last")
}

fn on(name: &str, balancer: &str, number: u16) -> Value {
    service(name, &[(ID, balancer)], &json!({"ports": [port("http", number, "TCP")]}))
}

/// An owner and two guests; what a fourth, and one with a port that is taken, are told.
async fn three_share(site: &Harness<'_>) -> anyhow::Result<String> {
    site.services.create(&service("one", &[], &json!({}))).await?;
    let one = site.services.until_ready("one").await?;
    let id = load_balancer_id(&one)?.to_owned();
    site.services.create(&on("two", &id, 8080)).await?;
    let two = site.services.until_ready("two").await?;
    ensure!(address(&two) == address(&one), "they share no address: {one:#} {two:#}");

    site.services.create(&on("three", &id, 80)).await?;
    let said = site.until_warned("three", "80/TCP is taken").await?;
    ensure!(said.contains(&format!("kube_service_{}_shop_one", site.name)), "{said}");
    until_ports(site, &id, "a port that is taken", &[80, 8080]).await?;
    site.services.edit("three", &json!({"spec": {"ports": [port("http", 9090, "TCP")]}})).await?;
    site.services.until("three", "has another port", |three| condition(three)["status"] == "True").await?;
    let whole = until_ports(site, &id, "three share it", &[80, 8080, 9090]).await?;
    for name in ["shop_one", "shop_two", "shop_three"] {
        ensure!(tags(&whole, name) == 1, "no tag of {name}: {whole:#?}");
    }
    site.services.create(&on("four", &id, 9999)).await?;
    site.until_warned("four", "max-shared-lb").await?;
    site.services.delete("four").await?;
    until_ports(site, &id, "one too many changed nothing", &[80, 8080, 9090]).await?;
    ensure!(site.floating_ips().await?.len() == 1, "each has a floating IP of its own");
    Ok(id)
}

/// How many of its tags end so.
fn tags(whole: &Whole, end: &str) -> usize {
    let tags = whole.balancer["tags"].as_array().into_iter().flatten();
    tags.filter(|tag| tag.as_str().is_some_and(|tag| tag.starts_with("kube_service_") && tag.ends_with(end)))
        .count()
}

async fn until_ports(site: &Harness<'_>, id: &str, what: &str, ports: &[u64]) -> anyhow::Result<Whole> {
    let nodes = site.servers().len();
    let mut last = String::new();
    let seen = until(what, async || {
        let whole = site.whole(id).await?;
        last = format!("{whole:#?}");
        let all = ports.iter().all(|port| whole.members(*port).len() == nodes);
        let exact = whole.listeners.len() == ports.len() && whole.pools.len() == ports.len();
        Ok((whole.rests() && all && exact).then_some(whole))
    })
    .await;
    seen.with_context(|| format!("{last}\n{}", site.tail()))
}
