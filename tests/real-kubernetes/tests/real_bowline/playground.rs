//! The playground, driven by the programs that people have: the real `kubectl` and the real `openstack` client.

use anyhow::{Context, ensure};
use bowline_testkit::Wait;
use bowline_testkit::kubectl::Kubectl;
use bowline_testkit::services::address;
use serde_json::Value;

use crate::openstack::{self, OpenStack};
use crate::playground_process::Playground;

const BALANCER: &str = "kube_service_kubernetes_default_shop";

#[tokio::test]
async fn kubectl_and_the_openstack_client_work_on_it_as_it_says() -> anyhow::Result<()> {
    let Some(program) = Kubectl::locate()? else { return Ok(()) };
    let client = match openstack::locate() {
        Ok(client) => client,
        Err(problem) => {
            println!("not tested: {problem}");
            return Ok(());
        }
    };
    let folder = tempfile::tempdir()?;
    let mut playground = Playground::start(&["--dir", &folder.path().display().to_string()])?;
    playground.line("Ctrl-C ends all of it").await?;
    let kubectl = Kubectl::new(&program, folder.path().join("kubeconfig"), &folder.path().join("cache"));
    let cloud = OpenStack::start(&client, "sim", folder.path())?;

    let nodes = kubectl.run(&["get", "nodes", "-o", "wide"]).await?;
    ensure!(nodes.matches(" Ready ").count() == 3 && nodes.contains("10.10."), "{nodes}");

    kubectl.run(&["create", "service", "loadbalancer", "shop", "--tcp=80:8080"]).await?;
    let wait = Wait::default();
    let shop = async || kubectl.service("shop").await;
    let service = wait.until_value("an address", shop, |service| address(service).is_some()).await?;
    let address = address(&service).context("an address")?;
    playground.line(&format!("default/shop has the address {address}")).await?;
    let balancers = cloud.rows("loadbalancer list").await?;
    let shop =
        balancers.iter().find(|row| row["name"] == BALANCER).with_context(|| format!("{balancers:?}"))?;
    ensure!(shop["provisioning_status"] == "ACTIVE", "{shop}");

    kubectl.annotate("shop", "loadbalancer.openstack.org/connection-limit=500").await?;
    let listeners = cloud.rows(&format!("loadbalancer listener list --loadbalancer {BALANCER}")).await?;
    let listener = listeners.first().and_then(|row| row["id"].as_str()).context("a listener")?;
    let show = format!("loadbalancer listener show {listener}");
    let shown = async || cloud.json(&show).await;
    wait.until_value("the new limit", shown, |listener| listener["connection_limit"] == 500).await?;

    kubectl.run(&["delete", "service", "shop"]).await?;
    let is_gone = |rows: &Vec<Value>| rows.iter().all(|row| row["name"] != BALANCER);
    let rows = async || cloud.rows("loadbalancer list").await;
    wait.until_value("no load balancer", rows, is_gone).await?;

    cloud.done("server delete node-3").await?;
    playground.line("node-3 is deleted").await?;
    cloud.json("server create --flavor m1.tiny --image tiny --network k8s-net node-4").await?;
    playground.line("node-4 is initialised").await?;
    let nodes = kubectl.run(&["get", "nodes", "-o", "name"]).await?;
    ensure!(nodes.lines().collect::<Vec<_>>() == ["node/node-1", "node/node-2", "node/node-4"], "{nodes}");

    playground.interrupt()?;
    ensure!(playground.end().await?.0 == Some(0), "{}", playground.all());
    Ok(())
}
