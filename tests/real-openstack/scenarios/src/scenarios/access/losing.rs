//! The cloud no longer knows the manager: its password was changed, or is wrong from the start.

use anyhow::{Context, ensure};
use kube::api::DeleteParams;
use serde_json::json;

use super::witness::{Estate, FLAGS, until_unknown, with_password, works};
use crate::conf::Conf;
use crate::harness::{Harness, Person};
use crate::scenario::Stage;

pub(super) async fn losing(stage: &Stage<'_>) -> anyhow::Result<()> {
    let site = Harness::start(stage, &Conf::new(stage.provider.conf())).await?;
    let outcome = lost_and_found(stage, &site).await;
    outcome.and(site.sweep().await)
}

async fn lost_and_found(stage: &Stage<'_>, site: &Harness<'_>) -> anyhow::Result<()> {
    let person = site.colleague("person").await?;
    site.reconfigure(&with_password(stage, &person, &person.account.password))?;
    let manager = site.run(&FLAGS)?;
    let estate = Estate::found(site).await?;

    site.reconfigure(&with_password(stage, &person, "wrong"))?;
    estate.stays(site).await.context("a wrong password is written")?;
    works(site).await.context("the old password goes on")?;

    change(site, &person, "second secret").await?;
    until_unknown(site).await?;
    estate.stays(site).await.context("the password was changed in the cloud")?;
    site.reconfigure(&with_password(stage, &person, "second secret"))?;
    works(site).await.context("the new password is written")?;
    estate.is_whole(site).await?;
    manager.terminate().await?;

    site.reconfigure(&with_password(stage, &person, "wrong from the start"))?;
    let mut manager = site.run(&FLAGS)?;
    site.until_readyz("Check the credentials").await?;
    site.services.api.delete("web", &DeleteParams::default()).await?;
    estate.stays(site).await.context("a wrong password from the start")?;
    ensure!(site.services.api.get_opt("web").await?.is_some(), "the Service went without its load balancer");
    site.reconfigure(&with_password(stage, &person, "second secret"))?;
    works(site).await.context("the right password at last")?;
    site.services.until_gone("web").await?;
    manager.ensure_running()?;
    site.nothing_left().await
}

async fn change(site: &Harness<'_>, person: &Person, password: &str) -> anyhow::Result<()> {
    site.change_person(person, &json!({"password": password})).await
}
