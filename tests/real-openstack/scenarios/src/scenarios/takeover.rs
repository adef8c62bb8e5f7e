//! Load balancers that OCCM made, here by hand with OpenStack's own client, are taken over as they are.

mod client;
mod shapes;

use anyhow::{Context, ensure};
use bowline_testkit::services::{address, condition, load_balancer_id};
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use self::shapes::Shape;
use crate::conf::Conf;
use crate::harness::Harness;
use crate::openstack::Api::{LoadBalancer, Network};
use crate::scenario::{On, Scenario, Stage, When};
use crate::waiting::until;

pub(crate) const SCENARIOS: &[Scenario] = &[Scenario {
    name: "takeover/by-hand",
    story: "what was made in OCCM's form with the openstack client is left as it is, and its Services get their status",
    when: When::Asked,
    on: On::Both,
    run: |stage| Box::pin(by_hand(stage)),
}];

/// What Bowline writes on a Service that it has found to be as it shall be, if it writes it anyway.
const FINGERPRINT: &str = "bowline.dev/fingerprint";
/// Where Bowline keeps a line for each Service that it has found to be as it shall be.
const LEDGER: (&str, &str) = ("cloud-controller-manager-ledger", "bowline.dev/ledger");

async fn by_hand(stage: &Stage<'_>) -> anyhow::Result<()> {
    let site = Harness::start(stage, &Conf::new(stage.provider.conf())).await?;
    let manager = site.run(&[])?;
    for server in site.servers().into_iter().take(shapes::NODES) {
        site.join(&server.name, &server.id).await?;
    }
    manager.terminate().await?;

    let shapes = shapes::all();
    let mut services = Vec::new();
    for shape in &shapes {
        site.services.create(&shape.service()).await?;
        services.push(site.services.get(shape.name).await?);
    }
    let began = std::time::Instant::now();
    client::make(stage, &site, &shapes, &services).await.context("make load balancers by hand")?;
    stage.note(format!("made by hand in {:.0} s", began.elapsed().as_secs_f64()));
    for (shape, service) in shapes.iter().zip(&services).filter(|(shape, _)| shape.noted || shape.legacy) {
        note(&site, shape, service).await?;
    }

    let before = picture(&site, false).await?;
    let _manager = site.run(&[])?;
    for shape in &shapes {
        is_taken_over(&site, shape).await.with_context(|| format!("take {} over", shape.name))?;
    }
    let after = picture(&site, false).await?;
    ensure!(
        before == after,
        "the first plan was not empty:\n{}\n{}",
        differences(&before, &after),
        site.tail()
    );
    for name in ["sharer", "sharing"] {
        site.services.delete(name).await?;
    }
    site.services.delete_all().await?;
    until("nothing is left", async || Ok(picture(&site, true).await?.is_empty().then_some(()))).await?;
    site.nothing_left().await
}

/// What OCCM writes on a Service; Kubernetes' own provider did not write the annotations.
async fn note(site: &Harness<'_>, shape: &Shape, service: &Value) -> anyhow::Result<()> {
    let balancer = client::balancer(site, shape, service).await?.context("no load balancer")?;
    let shown = client::address(site, &balancer).await?;
    let mut patch = json!({"metadata": {"finalizers": ["service.kubernetes.io/load-balancer-cleanup"]}});
    if !shape.legacy {
        patch["metadata"]["annotations"] = json!({
            "loadbalancer.openstack.org/load-balancer-id": balancer["id"],
            "loadbalancer.openstack.org/load-balancer-address": shown,
        });
    }
    site.services.edit(shape.name, &patch).await?;
    let status = json!({"status": {"loadBalancer": {"ingress": [{"ip": shown, "ipMode": "VIP"}]}}});
    site.services.api.patch_status(shape.name, &PatchParams::default(), &Patch::Merge(status)).await?;
    Ok(())
}

async fn is_taken_over(site: &Harness<'_>, shape: &Shape) -> anyhow::Result<()> {
    let leases: Api<Lease> = Api::namespaced(site.client.clone(), "kube-system");
    // Of one that is served already nothing has to be told: that it was compared is seen in the ledger.
    let taken = until(&format!("{} is taken over", shape.name), async || {
        let service = site.services.get(shape.name).await?;
        let uid = service["metadata"]["uid"].as_str().unwrap_or_default();
        let lease = leases.get_opt(LEDGER.0).await?;
        let annotations = lease.as_ref().and_then(|lease| lease.metadata.annotations.as_ref());
        let compared = annotations.and_then(|all| all.get(LEDGER.1)).is_some_and(|lines| lines.contains(uid));
        let noted = service["metadata"]["annotations"][FINGERPRINT].is_string();
        Ok((compared || noted || condition(&service)["status"] == "True").then_some(service))
    })
    .await?;
    let balancer = client::balancer(site, shape, &taken).await?.context("the load balancer is gone")?;
    ensure!(balancer["id"] == load_balancer_id(&taken)?, "it has another load balancer: {taken:#}");
    let shown = client::address(site, &balancer).await?;
    ensure!(address(&taken) == Some(&shown), "{shown} is not shown: {taken:#}");
    Ok(())
}

/// All that there is of this cluster, each thing with its times and revisions, without how it fares at the moment. The load
/// balancer with the name that Kubernetes' own provider gave it gets the tags it never had: it is no part of this, if so asked.
async fn picture(site: &Harness<'_>, all: bool) -> anyhow::Result<Vec<String>> {
    let mut rows = Vec::new();
    for balancer in site.world.member.list(LoadBalancer, "loadbalancers", "loadbalancers").await? {
        let ours = balancer["description"].as_str().is_some_and(|text| text.ends_with(&site.name));
        let named = balancer["name"].as_str().is_some_and(|name| name.starts_with("kube_service_"));
        if !ours || (!named && !all) {
            continue;
        }
        let whole = site.whole(balancer["id"].as_str().unwrap_or_default()).await?;
        rows.push(whole.balancer.clone());
        rows.extend(whole.listeners.into_iter().chain(whole.pools).chain(whole.monitors));
        rows.extend(whole.members.into_iter().flatten());
        let port = format!("ports/{}", balancer["vip_port_id"].as_str().unwrap_or_default());
        rows.push(site.world.member.get(Network, &port).await?);
    }
    rows.extend(site.floating_ips().await?);
    rows.extend(site.security_groups().await?);
    for row in &mut rows {
        row.as_object_mut().map(|row| row.remove("operating_status"));
    }
    let mut texts: Vec<_> = rows.iter().map(Value::to_string).collect();
    texts.sort_unstable();
    Ok(texts)
}

fn differences(before: &[String], after: &[String]) -> String {
    let gone = before.iter().filter(|row| !after.contains(row)).map(|row| format!("- {row}"));
    let new = after.iter().filter(|row| !before.contains(row)).map(|row| format!("+ {row}"));
    gone.chain(new).collect::<Vec<_>>().join("\n")
}
