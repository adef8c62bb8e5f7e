//! Nodes and their servers: initialised, tainted, deleted, and all of it through a change of the password.

mod harness;

use bowline_testkit::nodes::{is_initialized, provider_id, taints};
use k8s_openapi::api::core::v1::Node;
use sim_openstack::compute::VmState;

use crate::nodes::harness::Harness;

const NEW_PASSWORD: &str = "n3w-s3cret";
const SHUTDOWN: &str = "node.cloudprovider.kubernetes.io/shutdown";

fn is_tainted(node: &Node) -> bool {
    taints(node).iter().any(|taint| taint == SHUTDOWN)
}

fn is_initialised(node: &Node, id: &str) -> bool {
    provider_id(node) == format!("openstack:///{id}") && is_initialized(node)
}

fn label<'a>(node: &'a Node, key: &str) -> Option<&'a str> {
    node.metadata.labels.as_ref()?.get(key).map(String::as_str)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_follow_their_servers() -> anyhow::Result<()> {
    let site = Harness::new("follow").await?;
    let (first, first_id) = site.boot("machine");
    let (second, second_id) = site.boot("machine");
    site.register(&first, &first_id).await?;
    site.register(&second, &second_id).await?;
    // The server was deleted before Bowline started, and the Node has its provider ID: it is deleted.
    let (orphan, orphan_id) = site.boot("machine");
    site.remove_server(&orphan_id)?;
    site.register_with(&orphan, &orphan_id, &format!("openstack:///{orphan_id}")).await?;
    // The same without a provider ID: nothing proves that it ever was a server of this cloud, so it stays (SR-4).
    let (unproven, unproven_id) = site.boot("machine");
    site.remove_server(&unproven_id)?;
    site.register(&unproven, &unproven_id).await?;
    let ccm = site.start("bowline", &["ccm"])?;

    let node = site.nodes.until(&first, "initialised", |node| is_initialised(node, &first_id)).await?;
    assert_eq!(label(&node, "node.kubernetes.io/instance-type"), Some("m1.tiny"));
    assert_eq!(label(&node, "topology.kubernetes.io/region"), Some("RegionOne"));
    assert_eq!(label(&node, "topology.kubernetes.io/zone"), Some("az1"));
    let addresses = node.status.and_then(|status| status.addresses).unwrap_or_default();
    assert!(
        addresses.iter().any(|a| a.type_ == "InternalIP" && a.address.starts_with("10.10.")),
        "{addresses:?}"
    );
    site.nodes.until(&second, "initialised", |node| is_initialised(node, &second_id)).await?;
    site.nodes.until_gone(&orphan).await?;
    ccm.logs(&format!("the node is not deleted node={unproven} rail=\"claim\"")).await?;

    let power = |state: VmState| {
        site.edit(|all| all.compute.servers.update(&second_id, |server| server.vm_state = state));
    };
    power(VmState::Stopped);
    site.nodes.until(&second, "tainted as shut down", is_tainted).await?;
    power(VmState::Active);
    site.nodes.until(&second, "without the taint", |node| !is_tainted(node)).await?;

    site.remove_server(&first_id)?;
    site.nodes.until_gone(&first).await?;
    assert!(site.nodes.api.get_opt(&second).await?.is_some());
    assert!(site.nodes.api.get_opt(&unproven).await?.is_some(), "{unproven} was deleted without proof");
    assert_eq!(ccm.terminate().await?.code(), Some(143));
    site.clean().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn under_the_name_of_the_openstack_manager_a_password_is_rotated_while_it_runs() -> anyhow::Result<()> {
    let site = Harness::new("rotate").await?;
    let (first, first_id) = site.boot("machine");
    site.register(&first, &first_id).await?;
    let ccm = site.start("openstack-cloud-controller-manager", &[])?;
    site.nodes.until(&first, "initialised", |node| is_initialised(node, &first_id)).await?;

    site.cloud.change_password(NEW_PASSWORD)?;
    site.write_conf(NEW_PASSWORD)?;
    ccm.logs("the configuration was replaced").await?;
    let (second, second_id) = site.boot("machine");
    site.register(&second, &second_id).await?;
    site.nodes.until(&second, "initialised", |node| is_initialised(node, &second_id)).await?;
    assert!(site.nodes.api.get_opt(&first).await?.is_some(), "no Node is lost meanwhile");
    assert!(!ccm.log().contains(NEW_PASSWORD));
    ccm.terminate().await?;
    site.clean().await
}
