//! Several clusters in one project.

use std::time::Duration;

use anyhow::{Context, ensure};
use bowline_testkit::services::{address, condition, load_balancer_id, service};
use serde_json::{Value, json};

use crate::conf::Conf;
use crate::harness::Harness;
use crate::scenario::Stage;
use crate::waiting::holds;

pub(super) async fn two_clusters(stage: &Stage<'_>) -> anyhow::Result<()> {
    let conf = Conf::new(format!("{}manage-security-groups = true\n", stage.provider.conf()));
    let (first, second) = tokio::try_join!(Harness::start(stage, &conf), Harness::start(stage, &conf))?;
    let (_one, _two) = (first.run(&[])?, second.run(&[])?);
    tokio::try_join!(first.join_all(), second.join_all())?;
    let web = served(&first).await?;
    each_has_its_own(&first, &second, &web).await.context("two names")?;
    let third = Harness::start_named(stage, &conf, &first.name).await?;
    let _three = third.run(&[])?;
    third.join_all().await?;
    the_second_of_a_name_is_refused(&first, &third, &web).await.context("one name for two clusters")?;
    first.services.delete("web").await?;
    first.nothing_left().await
}

async fn served(site: &Harness<'_>) -> anyhow::Result<Value> {
    site.services.create(&service("web", &[], &json!({}))).await?;
    site.services.until_ready("web").await?;
    Ok(site.until_served("web", "it is served", &site.servers()).await?.0)
}

/// What a cluster has of its Service, as the cloud shows it, with the times of all changes.
async fn picture(site: &Harness<'_>, web: &Value) -> anyhow::Result<String> {
    let whole = site.whole(load_balancer_id(web)?).await?;
    let (floating, groups) = (site.floating_ips().await?, site.security_groups().await?);
    Ok(format!("{whole:#?}\n{floating:#?}\n{groups:#?}"))
}

async fn each_has_its_own(first: &Harness<'_>, second: &Harness<'_>, web: &Value) -> anyhow::Result<()> {
    let before = picture(first, web).await?;
    let other = served(second).await?;
    ensure!(
        load_balancer_id(web)? != load_balancer_id(&other)? && address(web) != address(&other),
        "they have one together"
    );
    second.nodes.delete("node-3").await?;
    let rest = &second.servers()[..2];
    second.until_served("web", "a Node left the second cluster", rest).await?;
    second.services.delete("web").await?;
    second.nothing_left().await?;
    let after = picture(first, web).await?;
    ensure!(before == after, "the second cluster changed what is the first one's:\n{before}\n{after}");
    Ok(())
}

/// The namesake gets no load balancer of the other, says why, and leaves all as it is, also when its Service goes.
async fn the_second_of_a_name_is_refused(
    first: &Harness<'_>,
    namesake: &Harness<'_>,
    web: &Value,
) -> anyhow::Result<()> {
    let before = picture(first, web).await?;
    namesake.services.create(&service("web", &[], &json!({}))).await?;
    let said = namesake.until_warned("web", "--cluster-name").await?;
    ensure!(said.contains(load_balancer_id(web)?), "{said}");
    let refused = namesake
        .services
        .until("web", "is refused", |service| condition(service)["status"] == "False")
        .await?;
    ensure!(address(&refused).is_none(), "{refused:#}");
    namesake.services.delete("web").await?;
    holds("the first cluster has what it had", Duration::from_secs(3), async || {
        Ok(picture(first, web).await? == before)
    })
    .await
}
