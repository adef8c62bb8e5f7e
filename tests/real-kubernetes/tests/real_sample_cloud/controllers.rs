//! The common controllers on the sample cloud: nodes are initialised, Services get addresses, what is gone is removed.
//! On an API server of their own: managers of other tests would take part in the shared one.

use anyhow::Context;
use bowline_testkit::eventually;
use bowline_testkit::nodes::{Nodes, is_initialized, registered};
use bowline_testkit::services::{self, Services, address, service};
use k8s_openapi::api::core::v1::Event;
use kube::{Api, Client};
use serde_json::json;

use crate::ccm::Harness;

async fn has_event(client: &Client, name: &str, reason: &str) -> anyhow::Result<()> {
    let api = Api::<Event>::all(client.clone());
    eventually(format!("event {reason} of {name}"), async || {
        let events = services::events(&api, name).await?;
        Ok(events.iter().any(|event| event.reason.as_deref() == Some(reason)).then_some(()))
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_joins_is_initialised_and_goes_when_its_machine_is_gone() -> anyhow::Result<()> {
    let site = Harness::alone("nodes").await?;
    let client = site.admin().await?;
    let nodes = Nodes::of(&client);
    let ccm = site.start(&["--new-node-grace-period=1s", "--node-monitor-period=500ms"])?;
    nodes.create(registered(&site.machine, "")).await?;
    let node = nodes.until(&site.machine, "initialised", is_initialized).await?;
    let spec = node.spec.clone().context("a spec")?;
    assert_eq!(spec.provider_id, Some(format!("sample://{}", site.machine)));
    let labels = node.metadata.labels.clone().unwrap_or_default();
    for (key, value) in [
        ("node.kubernetes.io/instance-type", "small"),
        ("beta.kubernetes.io/instance-type", "small"),
        ("topology.kubernetes.io/zone", "here-a"),
        ("failure-domain.beta.kubernetes.io/zone", "here-a"),
        ("topology.kubernetes.io/region", "here"),
        ("failure-domain.beta.kubernetes.io/region", "here"),
    ] {
        assert_eq!(labels.get(key).map(String::as_str), Some(value), "{key}");
    }
    let addresses = node.status.and_then(|status| status.addresses).unwrap_or_default();
    let addresses: Vec<_> = addresses.iter().map(|at| (at.type_.as_str(), at.address.as_str())).collect();
    assert_eq!(addresses, [("Hostname", site.machine.as_str()), ("InternalIP", "192.0.2.11")]);
    has_event(&client, &site.machine, "Synced").await?;

    // A node that is not ready and whose machine the cloud does not have.
    let spec = json!({"providerID": "sample://gone"});
    let status = json!({"conditions": [{"type": "Ready", "status": "False"}]});
    nodes.create(json!({"metadata": {"name": "gone"}, "spec": spec, "status": status})).await?;
    nodes.until_gone("gone").await?;
    assert!(nodes.api.get_opt(&site.machine).await?.is_some(), "and no other: {:#?}", ccm.lines());
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_gets_an_address_and_gives_it_back() -> anyhow::Result<()> {
    let site = Harness::alone("services").await?;
    let client = site.admin().await?;
    let services = Services::of(&client, &site.namespace);
    let _ccm = site.start(&[])?;
    for round in 0..2 {
        let name = format!("web-{round}");
        services.create(&service(&name, &[], &json!({}))).await?;
        let made = services.until(&name, "has an address", |service| address(service).is_some()).await?;
        assert_eq!(address(&made), Some("198.51.100.1"), "the pool has one: it must have been given back");
        let finalizers = &made["metadata"]["finalizers"];
        assert_eq!(*finalizers, json!(["service.kubernetes.io/load-balancer-cleanup"]));
        has_event(&client, &name, "EnsuredLoadBalancer").await?;
        services.delete(&name).await?;
    }
    Ok(())
}
