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
    let site = Harness::start().await?;
    let [first, second, orphan, unproven] = ["first", "second", "orphan", "unproven"];
    let [first_id, second_id, orphan_id, unproven_id] =
        [first, second, orphan, unproven].map(|name| site.cloud.boot(name));
    site.register(first, &first_id).await?;
    site.register(second, &second_id).await?;
    // The server was deleted before Bowline started, and the Node has its provider ID: it is deleted.
    site.remove_server(&orphan_id)?;
    site.register_with(orphan, &orphan_id, &format!("openstack:///{orphan_id}")).await?;
    // The same without a provider ID: nothing proves that it ever was a server of this cloud, so it stays (SR-4).
    site.remove_server(&unproven_id)?;
    site.register(unproven, &unproven_id).await?;
    let mut ccm = site.run("bowline", &["ccm"]).await?;

    let node = site.until(&mut ccm, first, "initialised", |node| is_initialised(node, &first_id)).await?;
    assert_eq!(label(&node, "node.kubernetes.io/instance-type"), Some("m1.tiny"));
    assert_eq!(label(&node, "topology.kubernetes.io/region"), Some("RegionOne"));
    assert_eq!(label(&node, "topology.kubernetes.io/zone"), Some("az1"));
    let addresses = node.status.and_then(|status| status.addresses).unwrap_or_default();
    assert!(
        addresses.iter().any(|a| a.type_ == "InternalIP" && a.address.starts_with("10.10.")),
        "{addresses:?}"
    );
    site.until(&mut ccm, second, "initialised", |node| is_initialised(node, &second_id)).await?;
    site.until_gone(&mut ccm, orphan).await?;
    ccm.line(&format!("the node is not deleted node={unproven} rail=\"claim\"")).await?;

    let power = |state: VmState| {
        site.cloud.edit(|all| all.compute.servers.update(&second_id, |server| server.vm_state = state));
    };
    power(VmState::Stopped);
    site.until(&mut ccm, second, "tainted as shut down", is_tainted).await?;
    power(VmState::Active);
    site.until(&mut ccm, second, "without the taint", |node| !is_tainted(node)).await?;

    site.remove_server(&first_id)?;
    site.until_gone(&mut ccm, first).await?;
    assert!(site.nodes.api.get_opt(second).await?.is_some());
    assert!(site.nodes.api.get_opt(unproven).await?.is_some(), "{unproven} was deleted without proof");
    assert_eq!(ccm.terminate().await?.code(), Some(143));
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn under_the_name_of_the_openstack_manager_a_password_is_rotated_while_it_runs() -> anyhow::Result<()> {
    let site = Harness::start().await?;
    let first_id = site.cloud.boot("first");
    site.register("first", &first_id).await?;
    let mut ccm = site.run("openstack-cloud-controller-manager", &[]).await?;
    site.until(&mut ccm, "first", "initialised", |node| is_initialised(node, &first_id)).await?;

    site.cloud.change_password(NEW_PASSWORD)?;
    site.rewrite_conf(NEW_PASSWORD, "")?;
    ccm.line("the configuration was replaced").await?;
    let second_id = site.cloud.boot("second");
    site.register("second", &second_id).await?;
    site.until(&mut ccm, "second", "initialised", |node| is_initialised(node, &second_id)).await?;
    assert!(site.nodes.api.get_opt("first").await?.is_some(), "no Node is lost meanwhile");
    assert!(!ccm.log().contains(NEW_PASSWORD));
    ccm.terminate().await.map(drop)
}
