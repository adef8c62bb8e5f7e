//! Credentials that are wrong, change, or lead to a cloud without Octavia: what a person reads in the log and on `/readyz`.

use std::sync::Arc;

use anyhow::ensure;
use serde_json::json;
use sim_openstack::{MEMBER, Service};

use crate::cloud::Cloud;
use crate::site::{Site, Tools, condition, service};

const NEW_PASSWORD: &str = "n3w-s3cret";

#[tokio::test(flavor = "multi_thread")]
async fn credentials_that_do_not_work_are_told_and_mended_while_it_runs() -> anyhow::Result<()> {
    let Some(tools) = Tools::locate()? else { return Ok(()) };
    let site = Site::start(&tools, Arc::new(Cloud::start(1).await?), "").await?;
    site.rewrite_conf("wrong", "")?;
    let mut manager = site.run(&["--cluster-name=harbour"])?;
    tokio::time::sleep(std::time::Duration::from_secs(8)).await;
    println!("WRONG AT START {:?} {:?}\n{}", manager.ended()?, site.readyz().await, site.tail());
    site.rewrite_conf(MEMBER.password, "")?;
    if manager.ended()?.is_some() {
        manager = site.run(&["--cluster-name=harbour"])?;
    }
    site.user.apply(&service("web", &[], &json!({}))).await?;
    site.until_ready("web").await?;
    println!("READY {:?}", site.readyz().await);

    let user = site.cloud.estate.user.clone();
    site.cloud.world(|world| {
        if let Some(user) = world.state.identity.users.get_mut(&user) {
            NEW_PASSWORD.clone_into(&mut user.password);
        }
        world.state.identity.tokens.clear();
    });
    site.user.apply(&service("late", &[], &json!({}))).await?;
    tokio::time::sleep(std::time::Duration::from_secs(8)).await;
    println!("ROTATED {:?} {:?}\n{}", manager.ended()?, site.readyz().await, site.tail());
    println!("{:#?} {}", site.warnings("late").await?, condition(&site.user.service("late").await?));
    site.rewrite_conf(NEW_PASSWORD, "")?;
    site.until_ready("late").await?;
    println!("READY {:?}", site.readyz().await);
    ensure!(!manager.said().contains(NEW_PASSWORD));

    site.cloud.world(|world| {
        for region in &mut world.config.regions {
            region.endpoints.remove(&Service::LoadBalancer);
        }
        world.state.identity.tokens.clear();
    });
    manager.end().await?;
    let mut manager = site.run(&["--cluster-name=harbour"])?;
    site.user.apply(&service("third", &[], &json!({}))).await?;
    tokio::time::sleep(std::time::Duration::from_secs(8)).await;
    println!("NO OCTAVIA {:?} {:?}\n{}", manager.ended()?, site.readyz().await, site.tail());
    println!("{:#?} {}", site.warnings("third").await?, condition(&site.user.service("third").await?));
    Ok(())
}
