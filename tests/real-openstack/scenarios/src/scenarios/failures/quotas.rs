//! Quotas that are used up: told, not tried over and over, and served when there is room again.

use std::time::Duration;

use anyhow::{Context, ensure};
use bowline_testkit::services::{condition, port, service};
use serde_json::{Value, json};

use crate::conf::Conf;
use crate::harness::Harness;
use crate::openstack::Api::{self, LoadBalancer, Network};
use crate::scenario::Stage;
use crate::waiting::holds;
use crate::world::World;

/// Limits of the member's project that are others for a while.
struct Quota<'w> {
    world: &'w World,
    api: Api,
    before: Value,
}

impl<'w> Quota<'w> {
    /// Reads what the limits are.
    async fn of(world: &'w World, api: Api) -> anyhow::Result<Self> {
        let path = format!("quotas/{}", world.about().estate.project);
        let mut answer = world.admin.get(api, &path).await?;
        Ok(Self { world, api, before: answer["quota"].take() })
    }

    async fn limit(&self, key: &str, most: i64) -> anyhow::Result<()> {
        self.set(&json!({key: most})).await
    }

    async fn restore(&self, keys: &[&str]) -> anyhow::Result<()> {
        let before: serde_json::Map<_, _> =
            keys.iter().map(|key| ((*key).to_owned(), self.before[key].clone())).collect();
        self.set(&Value::Object(before)).await
    }

    async fn set(&self, limits: &Value) -> anyhow::Result<()> {
        let mut quota = limits.clone();
        if self.api == Network {
            // Also below what is used.
            quota["force"] = json!(true);
        }
        let path = format!("quotas/{}", self.world.about().estate.project);
        self.world.admin.put(self.api, &path, &json!({"quota": quota})).await.map(drop)
    }
}

/// A try of a person: the Service is changed, in nothing that matters.
async fn touch(site: &Harness<'_>, name: &str) -> anyhow::Result<()> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?.as_nanos();
    site.services.annotate(name, "example.org/touched", Some(&now.to_string())).await
}

async fn used(world: &World, path: &str, key: &str) -> anyhow::Result<i64> {
    let rows = world.member.list(Network, path, key).await?;
    Ok(i64::try_from(rows.len())?)
}

pub(super) async fn balancers(stage: &Stage<'_>) -> anyhow::Result<()> {
    let quota = Quota::of(stage.world, LoadBalancer).await?;
    let outcome = one_balancer(stage, &quota).await;
    quota.restore(&["load_balancer"]).await?;
    outcome
}

async fn one_balancer(stage: &Stage<'_>, quota: &Quota<'_>) -> anyhow::Result<()> {
    let site = Harness::start(stage, &Conf::new(stage.provider.conf())).await?;
    let _manager = site.run(&[])?;
    site.join_all().await?;
    quota.limit("load_balancer", 1).await?;
    site.services.create(&service("first", &[], &json!({}))).await?;
    site.served_once("first").await?;
    site.services.create(&service("second", &[], &json!({}))).await?;
    let said = site.until_warned("second", "quota").await?;
    ensure!(said.contains("Load Balancer"), "it does not say which quota: {said}");
    holds("it is told once", Duration::from_secs(6), async || {
        let events = site.events("second").await?;
        let warnings = events.iter().filter(|(kind, ..)| kind == "Warning").count();
        Ok(warnings == 1 && site.balancers().await?.len() == 1)
    })
    .await?;

    quota.limit("load_balancer", 2).await?;
    touch(&site, "second").await?;
    site.served_once("second").await.context("the quota was raised")?;
    site.services.create(&service("third", &[], &json!({}))).await?;
    site.until_warned("third", "quota").await?;
    site.services.delete("first").await?;
    site.served_once("third").await.context("the first one was deleted")?;
    ensure!(site.nothing_doubled().await? == 2);
    site.services.delete_all().await?;
    site.nothing_left().await
}

pub(super) async fn floating_ips(stage: &Stage<'_>) -> anyhow::Result<()> {
    let quota = Quota::of(stage.world, Network).await?;
    let outcome = no_floating_ip(stage, &quota).await;
    quota.restore(&["floatingip"]).await?;
    outcome
}

async fn no_floating_ip(stage: &Stage<'_>, quota: &Quota<'_>) -> anyhow::Result<()> {
    let site = Harness::start(stage, &Conf::new(stage.provider.conf())).await?;
    let mut manager = site.run(&[])?;
    site.join_all().await?;
    let used = used(stage.world, "floatingips", "floatingips").await?;
    quota.limit("floatingip", used).await?;
    site.services.create(&service("web", &[], &json!({}))).await?;
    site.until_warned("web", "floatingip").await?;
    let before = site.balancer_of("web").await?.context("no load balancer")?;
    manager.kill()?;
    let _next = site.run(&[])?;
    touch(&site, "web").await?;
    holds("the next manager makes no second load balancer", Duration::from_secs(10), async || {
        let now = site.balancer_of("web").await?;
        Ok(now.is_some_and(|now| now["id"] == before["id"]) && site.floating_ips().await?.is_empty())
    })
    .await?;
    quota.limit("floatingip", used + 1).await?;
    touch(&site, "web").await?;
    let served = site.served_once("web").await.context("the quota was raised")?;
    ensure!(served.balancer["id"] == before["id"]);
    ensure!(site.nothing_doubled().await? == 1);
    site.services.delete_all().await?;
    site.nothing_left().await
}

pub(super) async fn parts(stage: &Stage<'_>) -> anyhow::Result<()> {
    let quota = Quota::of(stage.world, LoadBalancer).await?;
    let outcome = no_parts(stage, &quota).await;
    quota.restore(&["listener", "pool", "member"]).await?;
    outcome
}

async fn no_parts(stage: &Stage<'_>, quota: &Quota<'_>) -> anyhow::Result<()> {
    let site = Harness::start(stage, &Conf::new(stage.provider.conf())).await?;
    let _manager = site.run(&[])?;
    site.join_all().await?;
    let nodes = i64::try_from(site.world.about().estate.servers.len())?;
    for (key, word, most) in [("listener", "Listener", 1), ("pool", "Pool", 1), ("member", "Member", nodes)] {
        quota.limit(key, most).await?;
        let two = json!({"ports": [port("http", 80, "TCP"), port("https", 443, "TCP")]});
        site.services.create(&service(key, &[], &two)).await?;
        let said = site.until_warned(key, "quota").await?;
        ensure!(said.contains(word), "it does not say which quota: {said}");
        ensure!(site.balancers().await?.len() <= 1, "{:#?}", site.balancers().await?);
        quota.restore(&[key]).await?;
        touch(&site, key).await?;
        site.served_once(key).await.with_context(|| format!("the quota of {key} was raised"))?;

        // The same for what is added to a load balancer that is there.
        quota.limit(key, if key == "member" { nodes * 2 } else { 2 }).await?;
        let more = json!([port("http", 80, "TCP"), port("https", 443, "TCP"), port("more", 8080, "TCP")]);
        site.services.edit(key, &json!({"spec": {"ports": more}})).await?;
        let refused = |service: &Value| condition(service)["message"].to_string().contains(word);
        site.services.until(key, "says which quota keeps it from growing", refused).await?;
        quota.restore(&[key]).await?;
        touch(&site, key).await?;
        site.served_once(key).await.with_context(|| format!("the quota of {key} was raised again"))?;
        ensure!(site.nothing_doubled().await? == 1);
        site.services.delete_all().await?;
    }
    site.nothing_left().await
}

pub(super) async fn security_groups(stage: &Stage<'_>) -> anyhow::Result<()> {
    let quota = Quota::of(stage.world, Network).await?;
    let outcome = no_security_group(stage, &quota).await;
    quota.restore(&["security_group", "security_group_rule"]).await?;
    outcome
}

async fn no_security_group(stage: &Stage<'_>, quota: &Quota<'_>) -> anyhow::Result<()> {
    let conf = format!("{}manage-security-groups = true\n", stage.provider.conf());
    let site = Harness::start(stage, &Conf::new(conf)).await?;
    let _manager = site.run(&[])?;
    site.join_all().await?;
    let groups = used(stage.world, "security-groups", "security_groups").await?;
    quota.limit("security_group", groups).await?;
    site.services.create(&service("web", &[], &json!({}))).await?;
    let said = site.until_warned("web", "quota").await?;
    ensure!(said.contains("security_group"), "it does not say which quota: {said}");
    let before = site.balancer_of("web").await?.context("no load balancer")?;
    quota.limit("security_group", groups + 1).await?;
    touch(&site, "web").await?;
    let served = site.served_once("web").await.context("the quota of groups was raised")?;
    ensure!(served.balancer["id"] == before["id"] && site.security_groups().await?.len() == 1);

    // A group without its rules.
    quota.restore(&["security_group"]).await?;
    let rules = used(stage.world, "security-group-rules", "security_group_rules").await?;
    quota.limit("security_group_rule", rules).await?;
    site.services
        .edit("web", &json!({"spec": {"ports": [port("http", 80, "TCP"), port("more", 8080, "TCP")]}}))
        .await?;
    let refused = |service: &Value| condition(service)["message"].to_string().contains("security_group_rule");
    site.services.until("web", "says that there is no room for its rules", refused).await?;
    quota.restore(&["security_group_rule"]).await?;
    touch(&site, "web").await?;
    site.served_once("web").await.context("the quota of rules was raised")?;
    ensure!(site.nothing_doubled().await? == 1 && site.security_groups().await?.len() == 1);
    site.services.delete_all().await?;
    site.nothing_left().await
}
