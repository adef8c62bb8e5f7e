//! The frame at work: a controller of the sample cloud sees Nodes and writes to them, once and no more.

use std::collections::BTreeMap;

use anyhow::Context;
use bowline_cloud::Watches;
use bowline_manager::rbac::Rights;
use bowline_testkit::nodes::Nodes;
use k8s_openapi::api::core::v1::{Node, ServiceAccount};
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::json;

use crate::ccm::{Harness, apply, register_node};

const RACK: &str = "sample.bowline.dev/rack";

fn labels(node: &Node) -> BTreeMap<String, String> {
    node.metadata.labels.clone().unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_get_their_label_are_repaired_and_otherwise_left_alone() -> anyhow::Result<()> {
    let site = Harness::new("work").await?;
    let client = site.admin().await?;
    let nodes = Nodes::of(&client);
    let (ours, stranger) = (site.cluster.unique_name("ours"), site.cluster.unique_name("stranger"));
    register_node(&client, &ours, &site.machine).await?;
    register_node(&client, &stranger, "no-such-machine").await?;
    let before = nodes.api.get(&stranger).await?.metadata.resource_version;
    let ccm = site.start(&["--leader-elect=false"])?;

    let labelled = nodes
        .until(&ours, "as wanted", |node| labels(node).get(RACK).is_some_and(|rack| rack == "r1"))
        .await?;
    // An edit by hand is repaired …
    let edit = json!({"metadata": {"labels": {RACK: "wrong"}}});
    nodes.api.patch(&ours, &PatchParams::default(), &Patch::Merge(edit)).await?;
    nodes.until(&ours, "as wanted", |node| labels(node).get(RACK).is_some_and(|rack| rack == "r1")).await?;
    // … a foreign label costs no write: the version after our own edit stays.
    let edit = json!({"metadata": {"labels": {"somebody/else": "1"}}});
    let edited = nodes.api.patch(&ours, &PatchParams::default(), &Patch::Merge(edit)).await?;

    assert_eq!(nodes.api.get(&stranger).await?.metadata.resource_version, before, "not ours, not touched");
    // A re-created namesake is another Node, and is labelled as one.
    nodes.delete(&stranger).await?;
    let again = register_node(&client, &stranger, &site.machine).await?;
    nodes
        .until(&stranger, "as wanted", |node| {
            node.metadata.uid == again.metadata.uid && labels(node).contains_key(RACK)
        })
        .await?;
    let now = nodes.api.get(&ours).await?;
    assert_eq!(now.metadata.resource_version, edited.metadata.resource_version, "no needless write");
    assert_eq!(now.metadata.uid, labelled.metadata.uid);
    drop(ccm);
    for name in [&ours, &stranger] {
        nodes.delete(name).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_start_says_why_and_with_which_code() -> anyhow::Result<()> {
    let site = Harness::new("bad-start").await?;
    for (flags, code, says) in [
        (["--cloud-provider=nimbus"].as_slice(), 255, "this binary knows only sample"),
        (&["--cloud-config=/nowhere/cloud.yaml"], 255, "/nowhere/cloud.yaml"),
        (&["--controllers=rack-lable"], 1, "rack-label"),
        (&["--kubeconfig=/nowhere/kubeconfig"], 1, "/nowhere/kubeconfig"),
    ] {
        let mut ccm = site.start(flags)?;
        let status = ccm.ended().await?;
        assert_eq!(status.code(), Some(code), "{flags:?}: {:#?}", ccm.lines());
        assert!(ccm.lines().iter().any(|line| line.message.contains(says)), "{flags:?}: {:#?}", ccm.lines());
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_an_identity_of_its_own_a_controller_works_with_its_own_rights() -> anyhow::Result<()> {
    let site = Harness::new("accounts").await?;
    let client = site.admin().await?;
    let nodes = Nodes::of(&client);
    // Roles of the same names take the place of those for one identity: the process itself may not write to nodes.
    let rights = Rights::common().with_extra("rack-label-controller", Watches::Nodes);
    let manifest = rights.service_account_credentials_manifest(&site.namespace, "ccm")?;
    apply(&client, &site.namespace, &manifest).await?;

    let ours = site.cluster.unique_name("account");
    register_node(&client, &ours, &site.machine).await?;
    let ccm = site.start(&["--use-service-account-credentials", "--controllers=rack-label"])?;
    nodes.until(&ours, "as wanted", |node| labels(node).contains_key(RACK)).await?;
    let account =
        Api::<ServiceAccount>::namespaced(client, "kube-system").get("rack-label-controller").await?;
    assert!(account.metadata.uid.is_some(), "made by the process");
    drop(ccm);
    nodes.delete(&ours).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_secret_is_in_the_log_even_at_the_highest_verbosity() -> anyhow::Result<()> {
    let site = Harness::new("secrets").await?;
    let kubeconfig = std::fs::read_to_string(&site.kubeconfig)?;
    let token =
        kubeconfig.split('"').find(|word| word.starts_with("ey")).context("a token in the kubeconfig")?;
    let client = site.admin().await?;
    let ours = site.cluster.unique_name("secret");
    register_node(&client, &ours, &site.machine).await?;
    let mut ccm = site.start(&["--v=10"])?;
    Nodes::of(&client).until(&ours, "as wanted", |node| labels(node).contains_key(RACK)).await?;
    ccm.signal("TERM")?;
    ccm.ended().await?;
    let log = format!("{:?}", ccm.lines());
    assert!(log.contains("became leader") && ccm.lines().len() > 20, "there is a log to look through");
    assert!(!log.contains(token), "the bearer token is in the log");
    Nodes::of(&client).delete(&ours).await?;
    Ok(())
}
