//! Incidents with Nodes: which go, and which must not.

use std::time::Duration;

use anyhow::{Context, ensure};
use http::{Method, StatusCode};
use k8s_openapi::api::core::v1::Node;
use serde_json::{Value, json};
use sim_openstack::{Fault, Rule, Service};

use crate::cluster::{UNINITIALIZED, is_ready, is_tainted};
use crate::stage::Stage;

/// So long nothing may happen: several times what the manager needs to look.
const WATCHED: Duration = Duration::from_secs(4);

/// What the rails say.
const BREAKER: &str = "seem gone at once";
const BUDGET: &str = "may be deleted within";
const GRACE: &str = "its machine was never seen";

/// A person says by it that a Node may go.
const RELEASE: &str = "bowline.dev/allow-node-deletion";

pub(super) async fn empty_cloud(stage: &mut Stage) -> anyhow::Result<String> {
    let before = stage.cluster.node_uids();
    let nothing = Rule::new(Fault::TruncateList { keep: 0 }).on(Service::Compute).method(Method::GET);
    stage.cloud.fail(nothing.path("/v2.1/servers/detail"));
    let gone = Rule::new(Fault::not_found_lie()).on(Service::Compute).method(Method::GET);
    stage.cloud.fail(gone.path("/v2.1/servers/{id}"));
    stage.kubelets.cut_off(true);
    stage.until("the breaker opens", || held_by(stage, BREAKER) > 0).await?;
    stage.stays(WATCHED, "all Nodes are there", || stage.cluster.node_uids() == before).await?;
    stage.tell("Nova is well again, and the kubelets are heard");
    stage.cloud.mend();
    stage.kubelets.cut_off(false);
    stage.until("all Nodes are ready", || stage.news.now().ready == before.len()).await?;
    ensure!(stage.cluster.node_uids() == before, "a Node was deleted and made anew");
    Ok(format!(
        "opened its breaker and deleted none of the {} Nodes; they are the same as before",
        before.len()
    ))
}

pub(super) async fn proxy_404(stage: &mut Stage) -> anyhow::Result<String> {
    let before = stage.cluster.node_uids();
    let asked = stage.cloud.asked().reads;
    stage.cloud.fail(Rule::new(Fault::html(StatusCode::NOT_FOUND)).on(Service::Compute));
    stage.kubelets.cut_off(true);
    stage.until("the manager asks", || stage.cloud.asked().reads > asked).await?;
    stage.stays(WATCHED, "all Nodes are there", || stage.cluster.node_uids() == before).await?;
    stage.cloud.mend();
    stage.kubelets.cut_off(false);
    stage.until("all Nodes are ready", || stage.news.now().ready == before.len()).await?;
    ensure!(stage.cluster.node_uids() == before, "a Node was deleted and made anew");
    Ok("saw that this is not Nova's answer, concluded nothing, and deleted nothing".to_owned())
}

pub(super) async fn half_gone(stage: &mut Stage) -> anyhow::Result<String> {
    let before = stage.cluster.node_uids();
    let lost: Vec<String> = (5..=8).map(|number| format!("node-{number}")).collect();
    for name in &lost {
        stage.cloud.delete_server(name);
    }
    stage.until("the breaker holds the four back", || held_by(stage, BREAKER) >= lost.len()).await?;
    stage.stays(WATCHED, "all Nodes are there", || stage.cluster.node_uids() == before).await?;
    stage.tell("a person has looked, and says of the four Nodes that they may go");
    for name in &lost {
        stage.cluster.nodes().edit(name, |node| {
            node.metadata.annotations.get_or_insert_default().insert(RELEASE.to_owned(), "true".to_owned());
        })?;
    }
    let kept = before.len() - lost.len();
    stage.until("the four Nodes are gone", || stage.cluster.node_uids().len() == kept).await?;
    let left = stage.cluster.node_uids();
    ensure!(
        left.iter().all(|(name, uid)| before.get(name) == Some(uid)),
        "one of the others was touched: {left:?}"
    );
    Ok("deleted none until a person had said so, and then exactly the four".to_owned())
}

pub(super) async fn mass_disappearance(stage: &mut Stage) -> anyhow::Result<String> {
    let before = stage.cluster.node_uids().len();
    for number in 15..=20 {
        stage.cloud.delete_server(&format!("node-{number}"));
    }
    let left = || stage.cluster.node_uids().len();
    stage.until("the first two Nodes are gone", || left() == before - 2).await?;
    stage.until("the budget holds the others back", || held_by(stage, BUDGET) >= 4).await?;
    stage.stays(WATCHED, "the other four are there", || left() == before - 2).await?;
    Ok("deleted two of them, which is a tenth of the nodes, and holds the other four back: for ten minutes, or until a \
        person says otherwise"
        .to_owned())
}

pub(super) async fn server_deleted(stage: &mut Stage) -> anyhow::Result<String> {
    let balancer = stage.cloud.balancers().first().map(|balancer| balancer.id.clone()).unwrap_or_default();
    stage.cloud.delete_server("node-3");
    let took = stage.until("node-3 is gone", || !stage.cluster.node_uids().contains_key("node-3")).await?;
    stage.until("the load balancer has two members", || stage.cloud.members(&balancer).len() == 2).await?;
    let kept = stage.cluster.node_uids();
    ensure!(kept.len() == 2, "others went too: {kept:?}");
    Ok(format!(
        "deleted the Node {:.1} s after its server, and took it out of the load balancer",
        took.as_secs_f64()
    ))
}

pub(super) async fn namesake(stage: &mut Stage) -> anyhow::Result<String> {
    let name = "node-2";
    let old = stage.cluster.node_uids().get(name).cloned();
    let slow = Rule::new(Fault::Slow(Duration::from_secs(2))).on(Service::Compute).method(Method::GET);
    stage.cloud.fail(slow.path("/v2.1/servers/{id}"));
    stage.cloud.delete_server(name);
    let ready = || node(stage, name).is_some_and(|node| is_ready(&node));
    stage.until("node-2 is not ready", || !ready()).await?;
    let reads = || {
        stage
            .cloud
            .service
            .with(|cloud| cloud.log().count(Service::Compute, &Method::GET, "/v2.1/servers/{id}"))
    };
    let before = reads();
    stage.until("the manager asks Nova for the old server", || reads() > before).await?;
    stage.tell("Nova has not answered yet; a new server of the same name starts");
    stage.cluster.nodes().delete(name)?;
    stage.cloud.add_server(name, "");
    stage.until("the new Node is there", || node(stage, name).is_some()).await?;
    let new = stage.cluster.node_uids().get(name).cloned();
    ensure!(new.is_some() && new != old, "the Node is still the old one");
    stage
        .stays(WATCHED, "the new Node is there", || stage.cluster.node_uids().get(name).cloned() == new)
        .await?;
    stage.cloud.mend();
    let works = || node(stage, name).is_some_and(|node| is_ready(&node) && !is_tainted(&node));
    stage.until("the new Node is initialised", works).await?;
    ensure!(stage.cluster.node_uids().get(name).cloned() == new, "the new Node was deleted");
    Ok("deleted neither: its answer was about the old machine, and the new Node has another identity"
        .to_owned())
}

pub(super) async fn foreign_node(stage: &mut Stage) -> anyhow::Result<String> {
    let name = "metal-1";
    stage.cluster.kube.seed(json!({"apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "creationTimestamp": "2020-01-01T00:00:00Z"},
        "spec": {"providerID": "metal3://rack-7/slot-3"},
        "status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}))?;
    let uid = stage.cluster.node_uids().get(name).cloned();
    let stays = || stage.cluster.node_uids().get(name).cloned() == uid;
    stage.stays(WATCHED, "the bare-metal Node is there", stays).await?;
    let untouched = node(stage, name).is_some_and(|node| node.spec.is_some_and(|spec| spec.taints.is_none()));
    ensure!(untouched, "the bare-metal Node was tainted");
    Ok("saw that the Node is somebody else's, and left it alone".to_owned())
}

pub(super) async fn young_node(stage: &mut Stage) -> anyhow::Result<String> {
    let (young, old) = ("node-5", "node-6");
    let server = stage.cloud.hidden_server(young).context("the server did not start")?;
    stage.cluster.kube.seed(unready(young, &server.id, &jiff::Timestamp::now()))?;
    let uid = stage.cluster.node_uids().get(young).cloned();
    stage.until("the manager does not find its server, and waits", || held_by(stage, GRACE) > 0).await?;
    let is_same = || stage.cluster.node_uids().get(young).cloned() == uid;
    stage.stays(WATCHED / 2, "the new Node is there", is_same).await?;
    stage.tell("Nova knows the server now, and its kubelet is ready");
    stage.cloud.show_server(server);
    let works = || node(stage, young).is_some_and(|node| is_ready(&node) && !is_tainted(&node));
    stage.until("the new Node is initialised", works).await?;
    ensure!(is_same(), "the new Node was deleted and made anew");
    stage.tell("now a Node whose server nobody knows is years old");
    let others = stage.cluster.node_uids();
    let server = stage.cloud.hidden_server(old).context("the server did not start")?;
    stage.cluster.kube.seed(unready(old, &server.id, &jiff::Timestamp::UNIX_EPOCH))?;
    let took = stage.until("that Node is gone", || !stage.cluster.node_uids().contains_key(old)).await?;
    ensure!(stage.cluster.node_uids() == others, "others went too: {:?}", stage.cluster.node_uids());
    Ok(format!(
        "kept the young Node until Nova knew its server, and deleted the old one within {:.1} s",
        took.as_secs_f64()
    ))
}

/// A Node whose kubelet is not ready, of a server, with the time at which it joined.
fn unready(name: &str, server: &str, joined: &jiff::Timestamp) -> Value {
    json!({"apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "creationTimestamp": joined.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()},
        "spec": {"providerID": format!("openstack:///{server}"),
            "taints": [{"key": UNINITIALIZED, "value": "true", "effect": "NoSchedule"}]},
        "status": {"conditions": [{"type": "Ready", "status": "False", "reason": "KubeletNotReady"}]}})
}

/// How many Nodes a rail holds back, by its words.
fn held_by(stage: &Stage, words: &str) -> usize {
    stage.cluster.events("NodeDeletionHeld").iter().filter(|said| said.contains(words)).count()
}

fn node(stage: &Stage, name: &str) -> Option<Node> {
    stage.cluster.nodes().get(name).ok()?
}
