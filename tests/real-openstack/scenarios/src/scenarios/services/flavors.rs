//! Flavors and availability zones of load balancers, which the administrator makes.

use anyhow::{Context, ensure};
use bowline_testkit::services::service;
use serde_json::{Value, json};

use crate::conf::Conf;
use crate::harness::Harness;
use crate::openstack::Api::LoadBalancer;
use crate::scenario::Stage;

const FLAVOR: &str = "loadbalancer.openstack.org/flavor-id";
const ZONE: &str = "loadbalancer.openstack.org/availability-zone";

/// What the administrator made, by its path.
#[derive(Default)]
struct Made(Vec<String>);

pub(super) async fn flavor_and_zone(stage: &Stage<'_>) -> anyhow::Result<()> {
    let site = Harness::start(stage, &Conf::new(stage.provider.conf())).await?;
    let mut made = Made::default();
    let outcome = used(&site, &mut made).await;
    // In the other order: a profile cannot go before what is made of it.
    for path in made.0.iter().rev() {
        site.world.admin.delete(LoadBalancer, path).await?;
    }
    outcome
}

impl Made {
    async fn make(&mut self, site: &Harness<'_>, collection: &str, body: &Value) -> anyhow::Result<Value> {
        let answer = site.world.admin.post(LoadBalancer, collection, body).await?;
        let thing =
            answer.as_object().and_then(|answer| answer.values().next()).context("an empty answer")?;
        // Zones are known by their names.
        let key = thing["id"].as_str().or_else(|| thing["name"].as_str()).context("no id")?;
        self.0.push(format!("{collection}/{key}"));
        Ok(thing.clone())
    }
}

async fn used(site: &Harness<'_>, made: &mut Made) -> anyhow::Result<()> {
    let name = site.name.as_str();
    let data = json!({"loadbalancer_topology": "SINGLE"}).to_string();
    let profile = json!({"flavorprofile": {"name": name, "provider_name": "amphora", "flavor_data": data}});
    let profile = made.make(site, "flavorprofiles", &profile).await?;
    let flavor = json!({"flavor": {"name": name, "flavor_profile_id": profile["id"], "enabled": true}});
    let flavor = made.make(site, "flavors", &flavor).await?;
    let data = json!({"compute_zone": site.world.about().estate.zones[0]}).to_string();
    let profile = json!({"availability_zone_profile": {
        "name": name, "provider_name": "amphora", "availability_zone_data": data,
    }});
    let profile = made.make(site, "availabilityzoneprofiles", &profile).await?;
    let zone = json!({"availability_zone": {
        "name": name, "availability_zone_profile_id": profile["id"], "enabled": true,
    }});
    made.make(site, "availabilityzones", &zone).await?;

    let _manager = site.run(&[])?;
    site.join_all().await?;
    let id = flavor["id"].as_str().context("a flavor without an id")?;
    site.services.create(&service("web", &[(FLAVOR, id), (ZONE, name)], &json!({}))).await?;
    site.services.until_ready("web").await?;
    let balancer = site.balancer_of("web").await?.context("no load balancer")?;
    ensure!(balancer["flavor_id"] == id && balancer["availability_zone"] == name, "{balancer:#}");
    // One that is not there is told, and no load balancer is made.
    site.services
        .create(&service("lost", &[(FLAVOR, &site.world.about().estate.subnet)], &json!({})))
        .await?;
    site.until_warned("lost", "lavor").await?;
    site.services.delete("lost").await?;
    site.services.delete("web").await?;
    site.nothing_left().await
}
