//! Takes away what failed scenarios left in the cloud, so that it does not make the next ones fail: load balancers, floating IPs, security
//! groups and servers that carry the names of this program's clusters.

use serde_json::{Value, json};

use crate::openstack::Api::{self, Compute, LoadBalancer, Network};
use crate::openstack::OpenStack;
use crate::waiting::until;

/// What all names of its clusters begin with.
pub(crate) const MARK: &str = "e2e-";

/// Where things are found, the key of the list, and how they are deleted.
const KINDS: [(Api, &str, &str, &str); 5] = [
    (LoadBalancer, "loadbalancers", "loadbalancers", "?cascade=true"),
    (Network, "floatingips", "floatingips", ""),
    (Compute, "servers/detail", "servers", ""),
    (Network, "ports", "ports", ""),
    (Network, "security-groups", "security_groups", ""),
];

/// Deletes them, and waits until they are gone.
pub(crate) async fn sweep(member: &OpenStack) -> anyhow::Result<()> {
    for (api, path, key, how) in KINDS {
        until(&format!("no {key} are left of failed scenarios"), async || {
            let rows = member.list(api, path, key).await?;
            let left: Vec<_> = rows.iter().filter(|row| is_ours(row)).collect();
            for row in &left {
                let id = row["id"].as_str().unwrap_or_default();
                if key == "security_groups" {
                    detach(member, id).await?;
                }
                // Refused while it is being changed: the next look tries again.
                member.delete(api, &format!("{}/{id}{how}", path.trim_end_matches("/detail"))).await?;
            }
            Ok(left.is_empty().then_some(()))
        })
        .await?;
    }
    Ok(())
}

/// Takes a security group off the ports of servers, which would keep it.
async fn detach(member: &OpenStack, group: &str) -> anyhow::Result<()> {
    for port in member.list(Network, "ports", "ports").await? {
        let all = port["security_groups"].as_array().cloned().unwrap_or_default();
        let others: Vec<&Value> = all.iter().filter(|one| one.as_str() != Some(group)).collect();
        if others.len() < all.len() {
            let path = format!("ports/{}", port["id"].as_str().unwrap_or_default());
            member.put(Network, &path, &json!({"port": {"security_groups": others}})).await?;
        }
    }
    Ok(())
}

fn is_ours(row: &Value) -> bool {
    let marked = |key: &str| row[key].as_str().is_some_and(|text| text.contains(MARK));
    // A port of a load balancer or server goes with it.
    let alone = row["device_id"].as_str().is_none_or(str::is_empty);
    alone && (marked("name") || marked("description"))
}
