//! What sessions make in the real cloud: found by its project, and removed in the order that the services demand.

use std::time::Duration;

use anyhow::{Context, ensure};
use bytes::Bytes;
use http::Request;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::answer::Answer;
use crate::real::{Catalog, RealCloud, Wire};
use crate::session::Session;
use crate::simulated::split;

/// How long the cloud may take to let go of one kind of thing.
const GONE_WITHIN: Duration = Duration::from_secs(600);
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// The administrator of the real cloud, logged in.
pub(crate) struct Administrator {
    pub(crate) wire: Wire,
    pub(crate) catalog: Catalog,
    token: String,
    region: String,
}

impl Administrator {
    pub(crate) async fn log_in(wire: Wire, real: &RealCloud) -> anyhow::Result<Self> {
        let (token, catalog) = wire.log_in(real).await?;
        Ok(Self { wire, catalog, token, region: real.region.clone() })
    }

    /// What scripts may name as `<site:/…>`.
    pub(crate) async fn site(&self, real: &RealCloud) -> anyhow::Result<Value> {
        let network = format!("/v2.0/networks?name={}", real.external_network);
        let network = self.first("network", &network, "networks").await?;
        let subnet = network.pointer("/subnets/0").context("the external network has no subnet")?;
        let image = self.first("image", &format!("/v2/images?name={}", real.image), "images").await?;
        Ok(json!({
            "admin_user": real.admin_user, "admin_password": real.admin_password,
            "admin_project": real.admin_project, "external_network": network.get("id"),
            "external_subnet": subnet, "image": image.get("id"), "flavor": real.flavor,
        }))
    }

    async fn first(&self, service: &str, path: &str, list: &str) -> anyhow::Result<Value> {
        let found = self.list(service, path, list).await?;
        found.into_iter().next().with_context(|| format!("the real cloud has nothing at {service} {path}"))
    }

    async fn list(&self, service: &str, path: &str, list: &str) -> anyhow::Result<Vec<Value>> {
        let answer = self.ask("GET", service, path, &Value::Null).await?;
        ensure!(answer.status == 200, "{service} {path}: {} {}", answer.status, answer.body);
        Ok(answer.body.get(list).and_then(Value::as_array).cloned().unwrap_or_default())
    }

    async fn ask(&self, method: &str, service: &str, path: &str, body: &Value) -> anyhow::Result<Answer> {
        let services = self.catalog.get(&self.region);
        let url = services.and_then(|services| services.get(service)?.get("public"));
        let (root, _) =
            split(url.with_context(|| format!("the catalog has no {service} in {}", self.region))?);
        let request = Request::builder()
            .method(method)
            .uri(format!("{root}{path}"))
            .header("x-auth-token", &self.token)
            .header("content-type", "application/json");
        let body = if body.is_null() { Bytes::new() } else { Bytes::from(body.to_string()) };
        self.wire.ask(request.body(body)?).await
    }

    /// Deletes what a list shows until it shows nothing more. What cannot be deleted yet is tried again.
    async fn delete_all(&self, kind: &Kind<'_>) -> anyhow::Result<()> {
        let deadline = Instant::now() + GONE_WITHIN;
        loop {
            let left = self.delete_each(kind).await?;
            if left == 0 {
                return Ok(());
            }
            ensure!(Instant::now() < deadline, "{left} {} are left", kind.list);
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Asks for the deletion of each thing that a list shows, and says how many there were.
    async fn delete_each(&self, kind: &Kind<'_>) -> anyhow::Result<usize> {
        let left = self.list(kind.service, &kind.listed, kind.list).await?;
        for thing in &left {
            let id = thing.get(kind.key).and_then(Value::as_str).context("a thing without identifier")?;
            let path = format!("{}/{id}{}", kind.below, kind.how);
            self.ask("DELETE", kind.service, &path, &Value::Null).await?;
        }
        Ok(left.len())
    }
}

/// How one kind of thing is listed and deleted.
struct Kind<'a> {
    service: &'a str,
    /// The path with query that lists those to delete.
    listed: String,
    /// The member of the answer that is the list.
    list: &'a str,
    /// The path below which each is deleted.
    below: &'a str,
    /// The query of a deletion.
    how: &'a str,
    /// The member that names each.
    key: &'a str,
}

/// Removes what a session has made in the real cloud, as far as it came.
pub(crate) async fn remove(admin: &Administrator, session: &Session) -> anyhow::Result<()> {
    let id = |label: &str| Some(session.real(label)?.pointer(&format!("/{label}/id"))?.as_str()?.to_owned());
    let text = |name: &str| session.real("shared").and_then(|shared| shared.get(name)?.as_str());
    if let Some(project) = id("project") {
        things_of(admin, &project).await?;
        if let Some(name) = text("project") {
            load_balancer_choices(admin, name).await?;
        }
        admin.ask("DELETE", "identity", &format!("/v3/projects/{project}"), &Value::Null).await?;
    }
    if let Some(user) = id("user") {
        admin.ask("DELETE", "identity", &format!("/v3/users/{user}"), &Value::Null).await?;
    }
    Ok(())
}

/// Flavors and zones of load balancers belong to no project: they are called like it.
async fn load_balancer_choices(admin: &Administrator, name: &str) -> anyhow::Result<()> {
    let kinds = [
        ("flavors", "flavors", "id"),
        ("flavorprofiles", "flavorprofiles", "id"),
        ("availabilityzones", "availability_zones", "name"),
        ("availabilityzoneprofiles", "availability_zone_profiles", "id"),
    ];
    for (path, list, key) in kinds {
        let below = format!("/v2/lbaas/{path}");
        let listed = format!("{below}?name={name}");
        let kind = Kind { service: "load-balancer", listed, list, below: &below, how: "", key };
        admin.delete_all(&kind).await?;
    }
    Ok(())
}

async fn things_of(admin: &Administrator, project: &str) -> anyhow::Result<()> {
    let of = |service, below, list, how| {
        let listed = format!("{below}?project_id={project}");
        Kind { service, listed, list, below, how, key: "id" }
    };
    let servers = Kind {
        listed: format!("/v2.1/servers?all_tenants=1&project_id={project}"),
        ..of("compute", "/v2.1/servers", "servers", "")
    };
    admin
        .delete_all(&of("load-balancer", "/v2/lbaas/loadbalancers", "loadbalancers", "?cascade=true"))
        .await?;
    admin.delete_all(&servers).await?;
    admin.delete_all(&of("network", "/v2.0/floatingips", "floatingips", "")).await?;
    unplug_routers(admin, project).await?;
    admin.delete_all(&of("network", "/v2.0/routers", "routers", "")).await?;
    admin.delete_all(&of("network", "/v2.0/ports", "ports", "")).await?;
    admin.delete_all(&of("network", "/v2.0/networks", "networks", "")).await?;
    // Only once: Neutron makes a new default group for a project whose groups are listed.
    let groups = of("network", "/v2.0/security-groups", "security_groups", "");
    admin.delete_each(&groups).await.map(|_| ())
}

async fn unplug_routers(admin: &Administrator, project: &str) -> anyhow::Result<()> {
    let routers = admin.list("network", &format!("/v2.0/routers?project_id={project}"), "routers").await?;
    for router in routers.iter().filter_map(|router| router.get("id")?.as_str()) {
        let path = format!("/v2.0/routers/{router}");
        admin.ask("PUT", "network", &path, &json!({"router": {"routes": []}})).await?;
        let ports = format!("/v2.0/ports?device_id={router}&device_owner=network:router_interface");
        for port in admin.list("network", &ports, "ports").await? {
            let wanted = json!({"port_id": port.get("id")});
            admin.ask("PUT", "network", &format!("{path}/remove_router_interface"), &wanted).await?;
        }
    }
    Ok(())
}
