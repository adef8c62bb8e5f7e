//! The common controllers on the sample cloud: nodes are initialised, Services get addresses, what is gone is removed.
//! On an API server of their own: managers of other tests would take part in the shared one.

use anyhow::Context;
use bowline_testkit::eventually;
use k8s_openapi::api::core::v1::{Event, Node, NodeCondition, NodeSpec, NodeStatus, Service, Taint};
use kube::Api;
use kube::api::{DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, PostParams};
use serde_json::json;

use crate::ccm::Site;

const UNINITIALIZED: &str = "node.cloudprovider.kubernetes.io/uninitialized";

async fn events_of(client: &kube::Client, name: &str) -> anyhow::Result<Vec<String>> {
    let events = Api::<Event>::all(client.clone()).list(&ListParams::default()).await?;
    let about = events.into_iter().filter(|event| event.involved_object.name.as_deref() == Some(name));
    Ok(about.filter_map(|event| event.reason).collect())
}

/// A Node as a kubelet with an external cloud provider registers it.
async fn join(client: &kube::Client, name: &str) -> anyhow::Result<Node> {
    let taint = Taint {
        key: UNINITIALIZED.to_owned(),
        value: Some("true".to_owned()),
        effect: "NoSchedule".to_owned(),
        ..Taint::default()
    };
    let node = Node {
        metadata: ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() },
        spec: Some(NodeSpec { taints: Some(vec![taint]), ..NodeSpec::default() }),
        ..Node::default()
    };
    Ok(Api::all(client.clone()).create(&PostParams::default(), &node).await?)
}

fn is_initialised(node: &Node) -> bool {
    let taints = node.spec.as_ref().and_then(|spec| spec.taints.as_deref()).unwrap_or_default();
    !taints.iter().any(|taint| taint.key == UNINITIALIZED)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_joins_is_initialised_and_goes_when_its_machine_is_gone() -> anyhow::Result<()> {
    let site = Site::alone("nodes").await?;
    let client = site.admin().await?;
    let nodes = Api::<Node>::all(client.clone());
    let ccm = site.start(&["--new-node-grace-period=1s", "--node-monitor-period=500ms"])?;
    join(&client, &site.machine).await?;
    let node = eventually("an initialised node", async || {
        Ok(nodes.get_opt(&site.machine).await?.filter(is_initialised))
    })
    .await?;
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
    eventually("the event Synced", async || {
        Ok(events_of(&client, &site.machine).await?.contains(&"Synced".to_owned()).then_some(()))
    })
    .await?;

    // A node that is not ready and whose machine the cloud does not have.
    let gone = Node {
        metadata: ObjectMeta { name: Some("gone".to_owned()), ..ObjectMeta::default() },
        spec: Some(NodeSpec { provider_id: Some("sample://gone".to_owned()), ..NodeSpec::default() }),
        ..Node::default()
    };
    nodes.create(&PostParams::default(), &gone).await?;
    let not_ready =
        NodeCondition { type_: "Ready".to_owned(), status: "False".to_owned(), ..NodeCondition::default() };
    let status = NodeStatus { conditions: Some(vec![not_ready]), ..NodeStatus::default() };
    let patch = Patch::Merge(json!({ "status": status }));
    nodes.patch_status("gone", &PatchParams::default(), &patch).await?;
    eventually("its deletion", async || Ok(nodes.get_opt("gone").await?.is_none().then_some(()))).await?;
    assert!(nodes.get_opt(&site.machine).await?.is_some(), "and no other: {:#?}", ccm.lines());
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_gets_an_address_and_gives_it_back() -> anyhow::Result<()> {
    let site = Site::alone("services").await?;
    let client = site.admin().await?;
    let services = Api::<Service>::namespaced(client.clone(), &site.namespace);
    let _ccm = site.start(&[])?;
    for round in 0..2 {
        let name = format!("web-{round}");
        let service: Service = serde_json::from_value(json!({
            "metadata": {"name": name},
            "spec": {"type": "LoadBalancer", "selector": {"app": "web"}, "ports": [{"port": 80}]},
        }))?;
        services.create(&PostParams::default(), &service).await?;
        let ready = eventually("an address", async || {
            let service = services.get(&name).await?;
            let status = service.status.clone().and_then(|status| status.load_balancer).unwrap_or_default();
            Ok(status.ingress.filter(|ingress| !ingress.is_empty()).map(|ingress| (service, ingress)))
        })
        .await?;
        let (service, ingress) = ready;
        assert_eq!(
            ingress[0].ip.as_deref(),
            Some("198.51.100.1"),
            "the pool has one: it must have been given back"
        );
        let finalizers = service.metadata.finalizers.unwrap_or_default();
        assert_eq!(finalizers, ["service.kubernetes.io/load-balancer-cleanup"]);
        eventually("EnsuredLoadBalancer", async || {
            Ok(events_of(&client, &name).await?.contains(&"EnsuredLoadBalancer".to_owned()).then_some(()))
        })
        .await?;
        services.delete(&name, &DeleteParams::default()).await?;
        eventually("its end", async || Ok(services.get_opt(&name).await?.is_none().then_some(()))).await?;
    }
    Ok(())
}
