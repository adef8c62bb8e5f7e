//! Gives back what a scenario that failed has left in the cloud. Everything that this run made is known by the names of its
//! clusters, which begin alike and like no other run's.

use serde_json::{Value, json};

use crate::openstack::Api::{self, Compute, LoadBalancer, Network};
use crate::patience::until;
use crate::world::World;

/// How the names of all clusters of this run begin.
pub(crate) fn prefix() -> String {
    format!("e2e-{}-", std::process::id())
}

/// Removes all that bears the name of a cluster of this run.
pub(crate) async fn sweep(world: &World) -> anyhow::Result<()> {
    until("the load balancers of this run are gone", async || {
        let left = ours(world, LoadBalancer, "loadbalancers", "loadbalancers").await?;
        for id in &left {
            // Refused while it is busy, and asked again.
            world.member.delete(LoadBalancer, &format!("loadbalancers/{id}?cascade=true")).await.ok();
        }
        Ok(left.is_empty().then_some(()))
    })
    .await?;
    for id in ours(world, Network, "floatingips", "floatingips").await? {
        world.member.delete(Network, &format!("floatingips/{id}")).await?;
    }
    for id in ours(world, Network, "security-groups", "security_groups").await? {
        release(world, &id).await?;
    }
    for id in ours(world, Compute, "servers/detail", "servers").await? {
        world.member.delete(Compute, &format!("servers/{id}")).await?;
    }
    for id in ours(world, Network, "ports", "ports").await? {
        world.member.delete(Network, &format!("ports/{id}")).await?;
    }
    Ok(())
}

/// Takes a security group from the ports that have it, and deletes it.
async fn release(world: &World, group: &str) -> anyhow::Result<()> {
    let member = &world.member;
    for port in member.list(Network, &format!("ports?security_groups={group}"), "ports").await? {
        let groups = port["security_groups"].as_array().into_iter().flatten();
        let others: Vec<_> = groups.filter(|other| *other != group).collect();
        let path = format!("ports/{}", port["id"].as_str().unwrap_or_default());
        member.put(Network, &path, &json!({"port": {"security_groups": others}})).await?;
    }
    member.delete(Network, &format!("security-groups/{group}")).await
}

/// The ids of what bears a name of this run, in its name or its description.
async fn ours(world: &World, api: Api, path: &str, key: &str) -> anyhow::Result<Vec<String>> {
    let prefix = prefix();
    let bears = |row: &Value, field: &str| row[field].as_str().is_some_and(|text| text.contains(&prefix));
    let rows = world.member.list(api, path, key).await?;
    let ours = rows.iter().filter(|row| bears(row, "name") || bears(row, "description"));
    Ok(ours.filter_map(|row| row["id"].as_str().map(str::to_owned)).collect())
}
