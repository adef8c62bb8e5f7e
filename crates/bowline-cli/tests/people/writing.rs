//! Commands that write: each writes one annotation and nothing else, and only when it was told to. And the bundle, which holds no secret.

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use crate::harness::{CLUSTER, Harness, Pages, WELL, manager};

const WEB: &str = "/api/v1/namespaces/default/services/web";
const NAMED: &str = "loadbalancer.openstack.org/load-balancer-id";

fn annotations(stage: &Harness, path: &str) -> Value {
    stage.read(path)["metadata"]["annotations"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resync_is_an_edit_of_the_service_and_nothing_else() -> anyhow::Result<()> {
    let stage = Harness::start(1).await?;
    stage.service("web")?;
    stage.settle("web").await?;
    let before = annotations(&stage, WEB);
    stage.cloud.forget();
    stage.run("resync svc/web").await?.says(0, &["default/web: the manager looks at it"])?;
    let after = annotations(&stage, WEB);
    ensure!(after["bowline.dev/resync-at"].is_string(), "{after}");
    ensure!(after[NAMED] == before[NAMED] && stage.cloud.changes().is_empty());

    stage.patch(WEB, &json!({"metadata": {"annotations": {"bowline.dev/paused": "true"}}}))?;
    stage.lead("2026-01-01T00:00:00Z".parse()?)?;
    stage.run("resync --all").await?.says(1, &["default/web: paused", "nobody works now"])?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_load_balancer_is_adopted_after_it_was_shown_and_never_one_of_another_cluster() -> anyhow::Result<()>
{
    let stage = Harness::start(1).await?;
    stage.service("web")?;
    let own = format!("kube_service_{CLUSTER}_default_web");
    stage.cloud.make_balancer(&own, &[]).await?;
    stage.cloud.make_balancer(&own, &[]).await?;
    stage.cloud.make_balancer("by-terraform", &[]).await?;
    stage.cloud.make_balancer("theirs", &["bowline-cluster:another"]).await?;
    let contents = stage.cloud.contents().await?;
    let id = |name: &str| -> anyhow::Result<String> {
        let all = contents["loadbalancers"].as_array().context("no load balancers")?;
        let found = all.iter().find(|one| one["name"] == name).context("not there")?;
        Ok(found["id"].as_str().context("no id")?.to_owned())
    };
    let (free, foreign, theirs) = (id(&own)?, id("by-terraform")?, id("theirs")?);
    stage.run("plan svc/web").await?.says(1, &["refused", "are all called"])?;
    stage.cloud.forget();

    let shown = stage.run(&format!("adopt svc/web --load-balancer {free}")).await?;
    shown.says(0, &[&own, "create listener", "Nothing was written"])?;
    ensure!(annotations(&stage, WEB)[NAMED] == Value::Null);
    let refused = stage.run(&format!("adopt svc/web --load-balancer {theirs} --yes")).await?;
    refused.says(1, &["another cluster's", "another"])?;
    let refused = stage.run(&format!("adopt svc/web --load-balancer {foreign} --yes")).await?;
    refused.says(1, &["the manager would refuse it: no floating IP leads to"])?;
    let missing =
        stage.run("adopt svc/web --load-balancer 00000000-0000-0000-0000-000000000009 --yes").await?;
    missing.says(1, &["no such load balancer"])?;
    ensure!(annotations(&stage, WEB)[NAMED] == Value::Null);

    stage
        .run(&format!("adopt svc/web --load-balancer {free} --yes"))
        .await?
        .says(0, &["names load balancer"])?;
    ensure!(annotations(&stage, WEB)[NAMED] == free.as_str());
    ensure!(stage.cloud.changes().is_empty(), "the manager does it, not we: {:?}", stage.cloud.changes());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_breaker_is_reset_for_nodes_whose_servers_are_proven_gone_and_for_no_other() -> anyhow::Result<()>
{
    let stage = Harness::start(3).await?;
    stage.run("breaker status").await?.says(0, &["0 of 3 Nodes have no server"])?;
    for server in stage.cloud.estate.servers.iter().skip(1) {
        stage.cloud.world(|world| world.state.compute.servers.remove(server));
    }
    let not_ready = json!({"status": {"conditions": [
        {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown", "lastTransitionTime": "2026-11-16T08:00:00Z"},
    ]}});
    stage.patch("/api/v1/nodes/node-2/status", &not_ready)?;
    let held = "Not deleting node node-2: 2 of 3 nodes seem gone at once, so none is deleted; check";
    stage.event(&json!({"kind": "Node", "name": "node-2"}), "NodeDeletionHeld", held)?;
    stage
        .run("breaker status")
        .await?
        .says(1, &["open: no Node is deleted", "gone: node-2", "gone: node-3 (Ready: it is kept)"])?;

    let key = "bowline.dev/allow-node-deletion";
    stage
        .run("breaker reset")
        .await?
        .says(1, &["node-2: would be let go of", "kept: node-3: it is Ready"])?;
    ensure!(annotations(&stage, "/api/v1/nodes/node-2")[key] == Value::Null);
    stage.run("breaker reset node-1 --yes").await?.says(1, &["kept: node-1: its server is there"])?;
    stage.run("breaker reset node-2 --yes").await?.says(0, &["node-2: may be deleted now"])?;
    ensure!(annotations(&stage, "/api/v1/nodes/node-2")[key] == "true");
    ensure!(annotations(&stage, "/api/v1/nodes/node-3")[key] == Value::Null);
    stage.run("breaker reset nobody").await?.says(1, &["there is no Node nobody"])?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_the_api_server_refuses_ends_with_one_and_names_the_right() -> anyhow::Result<()> {
    let stage = Harness::start(3).await?;
    stage.service("web")?;
    stage.settle("web").await?;
    for (place, server) in stage.cloud.estate.servers.iter().enumerate().skip(1) {
        stage.cloud.world(|world| world.state.compute.servers.remove(server));
        let path = format!("/api/v1/nodes/node-{}/status", place + 1);
        stage.patch(&path, &json!({"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}))?;
    }
    let named = annotations(&stage, WEB)[NAMED].as_str().context("no load balancer")?.to_owned();
    stage.kube.authorize_with(|access| access.verb != "patch" || access.name == "node-3");
    let right = "it takes the right to patch services in namespace default";
    let told = stage.run("resync svc/web").await?;
    told.says(1, &["failed: Service default/web cannot be annotated: services \"web\" is forbidden", right])?;
    ensure!(!told.out.contains("ApiError") && !told.out.contains("Status {"), "{told:?}");
    stage.run(&format!("adopt svc/web --load-balancer {named} --yes")).await?.says(1, &[right])?;
    // What is refused for one Node is done for the next all the same.
    let told = stage.run("breaker reset --yes").await?;
    told.says(1, &["kept: node-2", "it takes the right to patch nodes", "node-3: may be deleted now"])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_support_bundle_tells_all_that_helps_and_none_of_the_planted_secrets() -> anyhow::Result<()> {
    let stage = Harness::start(1).await?;
    stage.service("web")?;
    stage.settle("web").await?;
    stage.patch(WEB, &json!({"metadata": {"annotations": {
        "kubectl.kubernetes.io/last-applied-configuration": "{\"x\": \"CANARY-applied\"}",
        "example.org/webhook-token": "CANARY-annotation", "example.org/link": "https://u:CANARY-link@h.example/",
        "example.org/note": "the password is k8s-secret",
    }}}))?;
    stage.seed(json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "other", "namespace": "kube-system"},
        "data": {"key": k8s_openapi::ByteString(b"CANARY-secret".to_vec())},
    }))?;
    stage.seed(json!({
        "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"},
    }))?;
    let web = json!({"kind": "Service", "namespace": "shop", "name": "web"});
    stage.event(&web, "SyncLoadBalancerFailed", "of the shop; https://u:CANARY-event@h.example/")?;
    let mut restarted = manager("ccm-1", "bowline");
    restarted["status"]["containerStatuses"][0] =
        json!({"name": "manager", "ready": true, "restartCount": 1, "image": "", "imageID": ""});
    stage.seed(restarted)?;
    let wish = r#"{"kind": "CloudControllerManagerList", "items": [{"kind": "CloudControllerManager", "metadata": {"name": "main"},
        "spec": {"clusterName": "prod-1", "cloudConfig": {"inline": "[Global]\npassword = CANARY-inline\n"}}}]}"#;
    stage.kube.intercept(Pages(vec![
        WELL,
        ("/pods/ccm-1/log", 200, "starting with k8s-secret\n"),
        ("/apis/bowline.dev/v1alpha1/cloudcontrollermanagers", 200, wish),
    ]));
    let folder = stage.folder.path().join("bundle");
    let told =
        stage.run(&format!("support-bundle --kubectl=/nowhere/kubectl --out {}", folder.display())).await?;
    // There is no way to the leader here.
    told.says(1, &["status.json", "Written to", "missing: manager/overview.json: /nowhere/kubectl"])?;
    let mut texts = Vec::new();
    for name in [
        "about.json",
        "status.json",
        "doctor.json",
        "plan.json",
        "drift.json",
        "cloud/load-balancers.json",
        "cluster/nodes.json",
        "cluster/services.json",
        "cluster/events-of-services.json",
        "manager/pods.json",
        "manager/leases.json",
        "manager/cloud.conf",
        "manager/cloudcontrollermanagers.json",
        "manager/log-ccm-1.txt",
        "manager/log-ccm-1-before.txt",
    ] {
        texts.push((name, std::fs::read_to_string(folder.join(name)).with_context(|| name)?));
    }
    for (name, text) in &texts {
        for secret in ["CANARY", "k8s-secret", "Q0FOQVJZ"] {
            ensure!(!text.contains(secret), "{secret} is in {name}: {text}");
        }
    }
    let of = |name: &str| {
        texts.iter().find(|(one, _)| *one == name).map(|(_, text)| text.as_str()).unwrap_or_default()
    };
    ensure!(
        of("manager/cloud.conf").contains("subnet-id")
            && of("manager/cloud.conf").contains("password = [scrubbed]")
    );
    ensure!(of("cluster/events-of-services.json").contains("of the shop"));
    ensure!(of("manager/cloudcontrollermanagers.json").contains("clusterName"));
    ensure!(of("manager/log-ccm-1-before.txt").contains("starting"));
    ensure!(of("cloud/load-balancers.json").contains(&format!("kube_service_{CLUSTER}_default_web")));
    ensure!(
        of("manager/pods.json").contains("--cluster-name=prod-1")
            && of("cluster/services.json").contains("example.org/note")
    );

    let tar = stage.folder.path().join("bundle.tar");
    stage.run(&format!("support-bundle --out {}", tar.display())).await?;
    let bytes = std::fs::read(&tar)?;
    let text = String::from_utf8_lossy(&bytes);
    ensure!(
        bytes.len() % 512 == 0
            && text.contains("manager/cloud.conf")
            && !text.contains("CANARY")
            && !text.contains("k8s-secret")
    );
    stage.run(&format!("support-bundle --out {}", tar.display())).await?.says(2, &["is there already"])?;
    Ok(())
}
