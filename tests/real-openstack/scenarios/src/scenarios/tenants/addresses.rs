//! Floating IPs of other Services.

use anyhow::{Context, ensure};
use bowline_testkit::services::{address, service};
use serde_json::{Value, json};

use crate::conf::Conf;
use crate::harness::Harness;
use crate::openstack::Api::Network;
use crate::scenario::Stage;

const PINNED: &str = "loadbalancer.bowline.dev/floating-ip";
const KEPT: &str = "loadbalancer.openstack.org/keep-floatingip";

/// Both ways to request an address: the annotation, and the field of the Service.
pub(super) async fn kept(stage: &Stage<'_>) -> anyhow::Result<()> {
    let site = Harness::start(stage, &Conf::new(stage.provider.conf())).await?;
    let _manager = site.run(&[])?;
    site.join_all().await?;
    site.services.create(&service("keeper", &[(KEPT, "true")], &json!({}))).await?;
    let keeper = site.services.until_ready("keeper").await?;
    let kept = address(&keeper).context("no address")?.to_owned();

    // While the Service exists, nobody else gets its address.
    site.services.create(&service("thief", &[(PINNED, &kept)], &json!({}))).await?;
    site.until_warned("thief", &kept).await?;
    site.services.delete("thief").await?;

    site.services.delete("keeper").await?;
    let left = site.floating_ips().await?;
    ensure!(left.len() == 1 && left[0]["port_id"].is_null(), "{left:#?}");
    let before = identity(&left[0]);
    let by_field = service("by-field", &[], &json!({"loadBalancerIP": kept}));
    for (name, wanted) in
        [("by-annotation", service("by-annotation", &[(PINNED, &kept)], &json!({}))), ("by-field", by_field)]
    {
        site.services.create(&wanted).await?;
        let served = site.services.until_ready(name).await?;
        ensure!(address(&served) == Some(kept.as_str()), "{served:#}");
        site.services.delete(name).await?;
        let after = site.floating_ips().await?;
        ensure!(after.len() == 1, "{name} was deleted, and the floating IP went with it: {after:#?}");
        ensure!(identity(&after[0]) == before, "{name} changed it:\n{before}\n{}", identity(&after[0]));
    }
    let path = format!("floatingips/{}", left[0]["id"].as_str().context("no id")?);
    site.world.member.delete(Network, &path).await?;
    site.nothing_left().await
}

/// A floating IP but for what attaching and detaching changes.
fn identity(floating: &Value) -> String {
    let keys =
        ["id", "floating_ip_address", "description", "tags", "port_id", "fixed_ip_address", "project_id"];
    keys.map(|key| format!("{key}: {}", floating[key])).join("\n")
}
