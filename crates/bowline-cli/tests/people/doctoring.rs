//! `doctor`: nothing is found where all is well, and each finding that can be provoked here is.

use anyhow::ensure;
use serde_json::{Value, json};

use crate::stage::{Answer, CLUSTER, Stage, manager, node};

fn ids(answer: &Answer) -> anyhow::Result<Vec<String>> {
    let findings = answer.json()?["findings"].as_array().cloned().unwrap_or_default();
    Ok(findings.iter().filter_map(|one| one["id"].as_str()).map(str::to_owned).collect())
}

fn needs(found: &[String], wanted: &[&str]) -> anyhow::Result<()> {
    for id in wanted {
        ensure!(found.iter().any(|one| one == id), "{id} was not found: {found:?}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_in_which_all_is_well_has_no_finding() -> anyhow::Result<()> {
    let stage = Stage::start(2).await?;
    stage.service("web")?;
    stage.settle("web").await?;
    stage.cloud.forget();
    let well = stage.run("doctor -o json").await?;
    ensure!(well.code == 0 && ids(&well)?.is_empty(), "{well:?}");
    stage.run("doctor").await?.says(0, &["0 findings", "Nothing was written"])?;
    ensure!(stage.cloud.changes().is_empty());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_nodes_is_found() -> anyhow::Result<()> {
    let stage = Stage::start(2).await?;
    let tainted = |name: &str, key: &str, id: Option<&str>| {
        let mut node = node(name, id, "10.9.0.9");
        node["spec"]["taints"] = json!([{"key": key, "effect": "NoSchedule"}]);
        node
    };
    let uninitialized = "node.cloudprovider.kubernetes.io/uninitialized";
    let server = stage.cloud.estate.servers[0].clone();
    stage.seed(node("bare", None, "10.9.0.1"))?;
    stage.seed(node("rancher", Some("rke2://rancher"), "10.9.0.2"))?;
    stage.seed(node("metal", Some("metal://7"), "10.9.0.3"))?;
    stage.seed(tainted("left", uninitialized, Some(&format!("openstack:///{server}"))))?;
    stage.seed(tainted(
        "stopped",
        "node.cloudprovider.kubernetes.io/shutdown",
        Some("openstack:///00000000-0000-0000-0000-000000000001"),
    ))?;
    let mut waiting = tainted("waiting", uninitialized, None);
    waiting["metadata"]["creationTimestamp"] = json!("2026-01-01T00:00:00Z");
    stage.seed(waiting)?;
    let found = stage.run("doctor -o json").await?;
    let expected = [
        "kubelet-flag-missing",
        "built-in-manager",
        "foreign-provider-id",
        "taint-left-over",
        "shutdown-taint-left-over",
        "uninitialized-for-long",
        "server-gone",
    ];
    needs(&ids(&found)?, &expected)?;
    ensure!(found.code == 1, "{found:?}");
    stage.run("doctor").await?.says(1, &["ERROR kubelet-flag-missing: bare", "--cloud-provider=external"])?;

    for id in stage.cloud.estate.servers.clone() {
        stage.cloud.world(|world| world.state.compute.servers.remove(&id));
    }
    for name in ["bare", "waiting"] {
        stage.kube.request(http::Method::DELETE, &format!("/api/v1/nodes/{name}"), &Value::Null);
    }
    let found = ids(&stage.run("doctor -o json").await?)?;
    needs(&found, &["another-project"])?;
    ensure!(!found.contains(&"server-gone".to_owned()), "said once: {found:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_the_manager_is_found() -> anyhow::Result<()> {
    let stage = Stage::start(1).await?;
    stage.seed(manager("occm-1", "openstack-cloud-controller-manager"))?;
    let mut crashing = manager("ccm-2", "bowline");
    crashing["status"]["containerStatuses"][0] =
        json!({"name": "manager", "ready": false, "restartCount": 12, "image": "", "imageID": ""});
    stage.seed(crashing)?;
    stage.lead("2026-01-01T00:00:00Z".parse()?)?;
    stage.patch(
        "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/cloud-controller-manager",
        &json!({"metadata": {"annotations": {"bowline.dev/paused": "rack 7 moves"}}}),
    )?;
    stage.kube.authorize_with(|access| {
        let manager = access.user.name == "system:serviceaccount:kube-system:cloud-controller-manager";
        !(manager && access.verb == "delete" && access.resource == "nodes")
    });
    let found = stage.run("doctor -o json").await?;
    needs(&ids(&found)?, &["two-managers", "manager-restarts", "no-leader", "paused", "rights-missing"])?;
    stage.run("doctor").await?.says(1, &["may not delete nodes", "rack 7 moves", "deploy/rbac.yaml"])?;

    for name in ["ccm-1", "ccm-2", "occm-1"] {
        stage.kube.request(
            http::Method::DELETE,
            &format!("/api/v1/namespaces/kube-system/pods/{name}"),
            &Value::Null,
        );
    }
    needs(&ids(&stage.run("doctor -o json").await?)?, &["no-manager"])
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_the_cloud_is_found() -> anyhow::Result<()> {
    let stage = Stage::start(1).await?;
    let name = format!("kube_service_{CLUSTER}_default_web");
    stage.cloud.make_balancer(&name, &[&name, "bowline-cluster:another"]).await?;
    stage.cloud.make_balancer(&name, &[&name]).await?;
    stage.cloud.world(|world| {
        let balancers = &mut world.state.load_balancer.load_balancers;
        let first = balancers.iter().map(|one| one.id.clone()).next();
        first.and_then(|id| balancers.update(&id, |one| one.provisioning_status = "ERROR".to_owned()))
    });
    stage.cloud.write_conf(stage.folder.path(), "subnet-idd = x")?;
    let found = stage.run("doctor -o json").await?;
    let expected =
        ["duplicate-cluster-name", "load-balancers-of-one-name", "load-balancer-in-error", "config-doubtful"];
    needs(&ids(&found)?, &expected)?;
    ensure!(found.out.contains("did you mean subnet-id?"), "{found:?}");

    let good = std::fs::read_to_string(stage.conf())?;
    std::fs::write(stage.conf(), good.replace("RegionOne", "Nowhere"))?;
    needs(&ids(&stage.run("doctor -o json").await?)?, &["service-missing"])?;
    stage.cloud.write_conf_with(stage.folder.path(), "wrong", "")?;
    needs(&ids(&stage.run("doctor -o json").await?)?, &["credentials-refused"])?;
    std::fs::write(stage.conf(), "[Global\n")?;
    let broken = stage.run("doctor -o json").await?;
    needs(&ids(&broken)?, &["config-unreadable"])?;
    ensure!(broken.code == 1, "{broken:?}");
    Ok(())
}
