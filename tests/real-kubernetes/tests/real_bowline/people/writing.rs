//! Who may write and who may not, and that the manager does what it was asked for.

use anyhow::{Context, ensure};
use serde_json::Value;

use crate::people::harness::Harness;
use crate::people::person::Person;

/// Somebody takes a member away in the cloud. The reader sees it and may not have it repaired; the writer may.
pub(crate) async fn a_drift_is_seen_by_one_and_repaired_for_another(
    site: &Harness,
    reader: &Person,
    writer: &Person,
) -> anyhow::Result<()> {
    let cloud = site.cloud_flag();
    ensure!(site.members().await? == 3, "{:#}", site.cloud.contents().await?);
    let taken = site.cloud.world(|world| {
        let members = &mut world.state.load_balancer.members;
        let first = members.iter().map(|member| member.id.clone()).next();
        first.and_then(|id| members.remove(&id))
    });
    taken.context("no member")?;
    site.cloud.forget();
    reader
        .run(&format!("drift {cloud}"))
        .await?
        .says(1, &["shop/web", "1 things differ, of 1 load balancers"])?;
    reader
        .run(&format!("plan --all {cloud}"))
        .await?
        .says(1, &["shop/web", "0 of 1 Services are settled"])?;
    reader.run(&format!("explain svc/web -n shop {cloud}")).await?.says(1, &["What to do"])?;

    let right = "it takes the right to patch services in namespace shop";
    let forbidden = "User \"ann\" cannot patch resource \"services\"";
    for line in ["resync svc/web -n shop", "resync --all"] {
        reader.run(line).await?.says(1, &["failed: Service shop/web", forbidden, right])?;
    }
    let id = site.cloud.contents().await?["loadbalancers"][0]["id"].clone();
    let id = id.as_str().context("no load balancer")?;
    let adopt = format!("adopt svc/web -n shop --load-balancer {id} {cloud}");
    reader.run(&adopt).await?.says(0, &["Nothing was written; --yes lets"])?;
    reader.run(&format!("{adopt} --yes")).await?.fails(1, &[forbidden, right])?;
    ensure!(site.service().await?["metadata"]["annotations"]["bowline.dev/resync-at"].is_null());
    ensure!(site.cloud.changes().is_empty() && site.members().await? == 2, "{:?}", site.cloud.changes());

    writer.run("resync svc/web -n shop").await?.says(0, &["shop/web: the manager looks at it"])?;
    site.wait.until("the member", async || Ok((site.members().await? == 3).then_some(()))).await?;
    site.wait
        .until("no drift", async || {
            let drift = reader.run(&format!("drift {cloud}")).await?;
            Ok((drift.code == 0).then_some(()))
        })
        .await?;
    writer.run(&format!("{adopt} --yes")).await?.says(0, &["names load balancer"])
}

/// Two of three servers go, and the breaker keeps their Nodes. The reader sees it; the writer lets one go, and it goes.
pub(crate) async fn nodes_are_let_go_of_by_who_may(
    site: &Harness,
    reader: &Person,
    writer: &Person,
) -> anyhow::Result<()> {
    let (cloud, way) = (site.cloud_flag(), site.way_flags());
    for (name, id, _address) in site.cloud.machines().await? {
        if name != "node-1" {
            site.cloud.world(|world| world.state.compute.servers.remove(&id)).context("no server")?;
            site.set_ready(&name, "Unknown").await?;
        }
    }
    site.wait
        .until("the breaker is open", async || {
            let told = reader.run(&format!("breaker status {cloud} {way}")).await?;
            Ok(told.out.contains("open: no Node is deleted").then_some(told))
        })
        .await?
        .says(
            1,
            &["gone: node-2", "gone: node-3", "2 of 3 Nodes have no server", "the overview of the leader"],
        )?;
    reader
        .run(&format!("status {cloud} {way}"))
        .await?
        .says(1, &["open: no Node is deleted", "the server is gone"])?;
    reader.run(&format!("explain node/node-2 {cloud}")).await?.says(1, &["gone", "What to do"])?;

    let refused = reader.run(&format!("breaker reset --yes {cloud}")).await?;
    refused.says(1, &["kept: node-2", "kept: node-3", "it takes the right to patch nodes"])?;
    ensure!(nodes(site).await? == ["node-1", "node-2", "node-3"]);
    let done = writer.run(&format!("breaker reset node-3 --yes {cloud}")).await?;
    done.says(0, &["node-3: may be deleted now"])?;
    site.wait
        .until("node-3 is gone, and only that", async || {
            Ok((nodes(site).await? == ["node-1", "node-2"]).then_some(()))
        })
        .await
}

async fn nodes(site: &Harness) -> anyhow::Result<Vec<String>> {
    let list = site.admin.json(&["get", "nodes"]).await?;
    let name = |node: &Value| node["metadata"]["name"].as_str().map(str::to_owned);
    Ok(list["items"].as_array().into_iter().flatten().filter_map(name).collect())
}
