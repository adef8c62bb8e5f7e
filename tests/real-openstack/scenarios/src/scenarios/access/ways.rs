//! Every way of writing a cloud.conf that users have, each with a manager that has to initialise a Node with it.

use std::path::Path;
use std::time::Instant;

use anyhow::Context;
use bowline_testkit::nodes::is_initialized;
use real_cloud::ApplicationCredential;

use super::witness::{credential_lines, works};
use crate::conf::{Access, Conf};
use crate::harness::{Harness, Person};
use crate::scenario::Stage;

pub(super) async fn ways(stage: &Stage<'_>) -> anyhow::Result<()> {
    let site = Harness::start(stage, &Conf::new("")).await?;
    let outcome = each_of_them(stage, &site).await;
    outcome.and(site.sweep().await)
}

async fn each_of_them(stage: &Stage<'_>, site: &Harness<'_>) -> anyhow::Result<()> {
    let person = site.colleague("person").await?;
    let credential = site.credential(&person, "spare key").await?;
    for (what, text) in texts(site, &person, &credential)? {
        let begun = Instant::now();
        site.reconfigure_as(&text)?;
        let manager = site.run(&[])?;
        works(site).await.with_context(|| format!("with {what}"))?;
        manager.terminate().await?;
        stage.note(format!("{what}: {:.1} s", begun.elapsed().as_secs_f64()));
    }
    untrusted(site).await.context("without the authority of the cloud's certificates")
}

/// What is tried, and the cloud.conf of each.
fn texts(
    site: &Harness<'_>,
    person: &Person,
    credential: &ApplicationCredential,
) -> anyhow::Result<Vec<(&'static str, String)>> {
    let about = site.world.about();
    let (user, id) = (&person.account.user, &person.id);
    let (project, project_name) = (&person.project, &person.account.project);
    let (domain, secret) = (&person.account.domain, &credential.secret);
    let password = format!("password = \"{}\"\n", person.account.password);
    let named = format!(
        "application-credential-name = \"{}\"\napplication-credential-secret = \"{secret}\"\n",
        credential.name
    );
    let lines = |lines: String| Conf { access: Access::Lines(lines), ..Conf::new("") }.text(about);
    let by_credential = Conf { access: Access::Lines(credential_lines(credential)), ..Conf::new("") };
    let by_password = format!("username = {user}\n{password}");
    Ok(vec![
        (
            "a password, one domain by name",
            lines(format!("{by_password}tenant-name = {project_name}\ndomain-name = {domain}\n")),
        ),
        (
            "a password, one domain by id",
            lines(format!("{by_password}tenant-name = {project_name}\ndomain-id = default\n")),
        ),
        (
            "a password, two domains",
            lines(format!(
                "{by_password}user-domain-name = {domain}\ntenant-name = {project_name}\ntenant-domain-id = default\n"
            )),
        ),
        (
            "a password, a project by id",
            lines(format!("{by_password}user-domain-id = default\ntenant-id = {project}\n")),
        ),
        ("a password, a user by id", lines(format!("user-id = {id}\n{password}tenant-id = {project}\n"))),
        (
            "an address without its version",
            by_credential.text(about).replace(&about.auth_url, about.auth_url.trim_end_matches("/v3")),
        ),
        (
            "a credential by name, a user by name",
            lines(format!("{named}username = {user}\nuser-domain-name = {domain}\n")),
        ),
        ("a credential by name, a user by id", lines(format!("{named}user-id = {id}\n"))),
        ("TLS with ca-file", Conf { tls: true, ..by_credential }.text(about)),
        ("clouds.yaml with a password", clouds(site, "plain", &plain_cloud(site, person))?),
        ("clouds.yaml with a credential and cacert", clouds(site, "safe", &safe_cloud(site, credential))?),
    ])
}

/// A cloud.conf that leaves everything to a clouds.yaml with two clouds.
fn clouds(site: &Harness<'_>, name: &str, cloud: &str) -> anyhow::Result<String> {
    let file = site.cluster.folder().join(format!("{name}-clouds.yaml"));
    let other = "  other:\n    auth: {auth_url: 'http://127.0.0.1:1/v3', username: nobody, password: x}\n";
    std::fs::write(&file, format!("clouds:\n{other}  {name}:\n{cloud}"))?;
    Ok(global(&file, name))
}

fn global(file: &Path, name: &str) -> String {
    format!("[Global]\nuse-clouds = true\nclouds-file = {}\ncloud = {name}\n", file.display())
}

fn plain_cloud(site: &Harness<'_>, person: &Person) -> String {
    let (about, account) = (site.world.about(), &person.account);
    format!(
        "    region_name: {}\n    auth:\n      auth_url: {}\n      username: {}\n      password: '{}'\n      \
         project_name: {}\n      user_domain_name: {domain}\n      project_domain_name: {domain}\n",
        about.region,
        about.auth_url,
        account.user,
        account.password,
        account.project,
        domain = account.domain
    )
}

fn safe_cloud(site: &Harness<'_>, credential: &ApplicationCredential) -> String {
    let tls = &site.world.about().tls;
    format!(
        "    region_name: {}\n    cacert: {}\n    auth_type: v3applicationcredential\n    auth:\n      auth_url: {}\n      \
         application_credential_id: {}\n      application_credential_secret: '{}'\n",
        tls.region,
        tls.ca_file.display(),
        tls.auth_url,
        credential.id,
        credential.secret
    )
}

/// The manager says why it does nothing, and needs no restart when it is told whom to believe.
async fn untrusted(site: &Harness<'_>) -> anyhow::Result<()> {
    let about = site.world.about();
    let whole = Conf { tls: true, ..Conf::new("") };
    let without: Vec<_> =
        whole.text(about).lines().filter(|line| !line.starts_with("ca-file")).map(str::to_owned).collect();
    site.reconfigure_as(&without.join("\n"))?;
    let server = about.estate.servers.first().context("no server")?;
    site.register(&server.name, &server.id).await?;
    let mut manager = site.run(&[])?;
    site.until_readyz("invalid peer certificate").await?;
    manager.ensure_running()?;
    let waiting = site.nodes.api.get(&server.name).await?;
    anyhow::ensure!(!is_initialized(&waiting), "{waiting:#?}");
    site.reconfigure(&whole)?;
    site.until_initialised(&server.name).await.map(drop)
}
