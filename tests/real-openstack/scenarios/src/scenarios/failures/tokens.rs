//! Tokens and credentials that the cloud does not know any more.

use anyhow::{Context, ensure};
use bowline_testkit::services::{condition, port, service};
use k8s_openapi::api::core::v1::Service;
use kube::api::ListParams;
use serde_json::{Value, json};

use crate::conf::{Access, Conf};
use crate::harness::Harness;
use crate::openstack::Api::{Identity, LoadBalancer};
use crate::scenario::Stage;
use crate::waiting::until;
use crate::world::World;

/// Makes every token of the member's user invalid at once: its password becomes another, and then what it was.
async fn revoke_all(world: &World) -> anyhow::Result<()> {
    let (user, member) = (&world.about().estate.user, &world.about().accounts.member);
    for password in ["another one for a moment", member.password.as_str()] {
        let path = format!("users/{user}");
        let change = json!({"user": {"password": password}});
        let (status, said) = world.admin.ask(http::Method::PATCH, Identity, &path, Some(&change)).await?;
        ensure!(status.is_success(), "change a password: {status} {said}");
    }
    world.cloud.forget_tokens()?;
    // Keystone counts in whole seconds: a token that is made in the second of the change is revoked as well.
    until("new tokens are good", async || {
        let (status, _said) =
            world.member.ask(http::Method::GET, LoadBalancer, "loadbalancers?limit=1", None).await?;
        Ok(status.is_success().then_some(()))
    })
    .await
}

pub(super) async fn revoked(stage: &Stage<'_>) -> anyhow::Result<()> {
    let mut conf = Conf::new(stage.provider.conf());
    for access in [
        Access::ApplicationCredential,
        Access::Password(stage.world.about().accounts.member.password.clone()),
    ] {
        conf.access = access;
        let site = Harness::start(stage, &conf).await?;
        let _manager = site.run(&[])?;
        site.join_all().await?;
        site.services.create(&service("web", &[], &json!({}))).await?;
        site.served_once("web").await?;
        revoke_all(site.world).await?;
        let began = std::time::Instant::now();
        site.services.edit("web", &json!({"spec": {"ports": [port("https", 443, "TCP")]}})).await?;
        site.served_once("web").await.context("its token was revoked")?;
        stage.note(format!("goes on {:.1} s after its token was revoked", began.elapsed().as_secs_f64()));
        let warnings = warnings(&site).await?;
        ensure!(warnings.is_empty(), "nobody needs to hear of a token: {warnings:#?}");
        site.services.delete_all().await?;
        site.nothing_left().await?;
    }
    Ok(())
}

async fn warnings(site: &Harness<'_>) -> anyhow::Result<Vec<String>> {
    let events = site.events("web").await?;
    Ok(events.into_iter().filter(|(kind, ..)| kind == "Warning").map(|(_, _, text)| text).collect())
}

/// An application credential of the member's, made for this scenario.
async fn new_credential(world: &World, name: &str) -> anyhow::Result<Value> {
    let path = format!("users/{}/application_credentials", world.about().estate.user);
    let body = json!({"application_credential": {"name": name}});
    let mut made = world.member.post(Identity, &path, &body).await?;
    Ok(made["application_credential"].take())
}

pub(super) async fn credential_deleted(stage: &Stage<'_>) -> anyhow::Result<()> {
    let world = stage.world;
    let name = format!("{}{}", crate::sweep::MARK, std::process::id());
    let credential = new_credential(world, &name).await?;
    let id = credential["id"].as_str().context("a credential without an id")?;
    let path = format!("users/{}/application_credentials/{id}", world.about().estate.user);
    let outcome = without_credential(stage, &credential, &path).await;
    world.member.delete(Identity, &path).await?;
    outcome
}

async fn without_credential(stage: &Stage<'_>, credential: &Value, path: &str) -> anyhow::Result<()> {
    let text = |key: &str| credential[key].as_str().unwrap_or_default();
    let lines = format!(
        "application-credential-id = {}\napplication-credential-secret = \"{}\"\n",
        text("id"),
        text("secret")
    );
    let conf = Conf { access: Access::Lines(lines), ..Conf::new(stage.provider.conf()) };
    let site = Harness::start(stage, &conf).await?;
    let mut manager = site.run(&[])?;
    site.join_all().await?;
    site.services.create(&service("web", &[], &json!({}))).await?;
    site.served_once("web").await?;

    site.world.member.delete(Identity, path).await?;
    site.world.cloud.forget_tokens()?;
    site.services.edit("web", &json!({"spec": {"ports": [port("https", 443, "TCP")]}})).await?;
    site.nodes.report_ready(&site.world.about().estate.servers[0].name, "Unknown").await?;
    let unknown = |service: &Value| condition(service)["status"] != "True";
    site.services
        .until("web", "is said not to be ready", unknown)
        .await
        .context("the credential was deleted")?;
    manager.ensure_running()?;
    let nodes = site.nodes.api.list(&ListParams::default()).await?.items.len();
    ensure!(nodes == site.world.about().estate.servers.len(), "{nodes} Nodes are left");

    site.reconfigure(&Conf::new(stage.provider.conf()))?;
    let began = std::time::Instant::now();
    site.served_once("web").await.context("another credential was given")?;
    stage.note(format!("goes on {:.1} s after another credential was given", began.elapsed().as_secs_f64()));
    let services: Vec<Service> = site.services.api.list(&ListParams::default()).await?.items;
    ensure!(services.len() == 1 && site.nothing_doubled().await? == 1);
    site.services.delete_all().await?;
    site.nothing_left().await
}
