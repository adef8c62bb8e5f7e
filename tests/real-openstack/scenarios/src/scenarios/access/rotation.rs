//! Application credentials are exchanged while the manager runs, with overlap and without; tokens are revoked; somebody writes
//! credentials of another project.

use anyhow::{Context, ensure};
use bowline_testkit::services::{load_balancer_id, port};
use serde_json::json;

use super::witness::{Estate, FLAGS, until_unknown, with_credential, works};
use crate::harness::{Harness, Person, id_of};
use crate::scenario::Stage;

pub(super) async fn rotation(stage: &Stage<'_>) -> anyhow::Result<()> {
    let site = Harness::start(stage, &crate::conf::Conf::new(stage.provider.conf())).await?;
    let outcome = turns(stage, &site).await;
    outcome.and(site.sweep().await)
}

async fn turns(stage: &Stage<'_>, site: &Harness<'_>) -> anyhow::Result<()> {
    let person = site.colleague("person").await?;
    let first = site.credential(&person, "first").await?;
    site.reconfigure(&with_credential(stage, &first))?;
    let mut manager = site.run(&FLAGS)?;
    let estate = Estate::found(site).await?;

    let second = site.credential(&person, "second").await?;
    site.reconfigure(&with_credential(stage, &second))?;
    site.withdraw(&person, &first).await?;
    goes_on(site, &estate).await.context("the new credential is written, the old one deleted")?;

    site.withdraw(&person, &second).await?;
    until_unknown(site).await?;
    estate.stays(site).await.context("the credential is deleted")?;
    let third = site.credential(&person, "third").await?;
    site.reconfigure(&with_credential(stage, &third))?;
    goes_on(site, &estate).await.context("a new credential after a gap")?;

    // Whoever changes a password revokes all tokens of the user, not the credentials.
    site.change_person(&person, &json!({"password": "another secret"})).await?;
    goes_on(site, &estate).await.context("the tokens are revoked")?;

    of_another_project(stage, site, &estate).await.context("credentials of another project")?;
    site.reconfigure(&with_credential(stage, &third))?;
    goes_on(site, &estate).await.context("its own credential is back")?;
    manager.ensure_running()?;
    site.services.delete_all().await?;
    site.nothing_left().await
}

/// Nothing is lost, Nodes are initialised, Services are served.
async fn goes_on(site: &Harness<'_>, estate: &Estate) -> anyhow::Result<()> {
    works(site).await?;
    let before = site.services.api.get("web").await?;
    let ports = before.spec.and_then(|spec| spec.ports).map_or(0, |ports| ports.len());
    let ports: Vec<_> = (80_u16..=80)
        .chain((ports == 1).then_some(81))
        .map(|one| port(&format!("p{one}"), one, "TCP"))
        .collect();
    site.services.edit("web", &json!({"spec": {"ports": ports}})).await?;
    let web = site.services.until_ready("web").await?;
    site.until_whole(load_balancer_id(&web)?, "the listeners follow the Service", |whole| {
        whole.listeners.len() == ports.len() && whole.balancer["provisioning_status"] == "ACTIVE"
    })
    .await?;
    estate.is_whole(site).await
}

/// They are not taken, and those in use go on being used.
async fn of_another_project(stage: &Stage<'_>, site: &Harness<'_>, estate: &Estate) -> anyhow::Result<()> {
    let stranger: Person = site.stranger("stranger").await?;
    let theirs = site.credential(&stranger, "theirs").await?;
    site.reconfigure(&with_credential(stage, &theirs))?;
    estate.stays(site).await?;
    goes_on(site, estate).await?;
    let login = crate::openstack::OpenStack::login(site.world.about(), &stranger.account).await?;
    let kind = "loadbalancers";
    let there = login.list(crate::openstack::Api::LoadBalancer, kind, kind).await?;
    ensure!(
        there.is_empty(),
        "it made something in the other project: {:?}",
        there.iter().map(id_of).collect::<Vec<_>>()
    );
    Ok(())
}
