//! `doctor`: nothing is found where all is well, and each finding that there is is provoked here.

use std::collections::BTreeSet;

use anyhow::{Context, ensure};
use bowline_cli::doctor::CHECKS;
use http::StatusCode;
use jiff::SignedDuration;
use serde_json::json;
use sim_openstack::{Fault, Rule, Service};

use crate::harness::{CLUSTER, Finished, Harness, Pages, WELL, manager, node};
use crate::recorder::Tls;

/// What each test below finds, one row for each state of its cluster and cloud.
const OF_NODES: &[&str] = &[
    "kubelet-flag-missing",
    "built-in-manager",
    "foreign-provider-id",
    "taint-left-over",
    "shutdown-taint-left-over",
    "uninitialized-for-long",
    "server-gone",
];
const OF_A_SILENT_NOVA: &[&str] = &["server-not-known"];
const OF_NO_SERVERS: &[&str] = &["another-project"];
const OF_MANAGERS: &[&str] = &["two-managers", "manager-restarts", "no-leader", "paused", "rights-missing"];
const OF_A_NAMELESS_CLUSTER: &[&str] = &["default-cluster-name"];
const OF_NO_MANAGERS: &[&str] = &["no-manager"];
const OF_THE_CLOUD: &[&str] =
    &["duplicate-cluster-name", "load-balancers-of-one-name", "load-balancer-in-error", "config-doubtful"];
const OF_AN_OLD_OCTAVIA: &[&str] = &["octavia-too-old"];
const OF_A_WRONG_REGION: &[&str] = &["service-missing"];
const OF_ENDPOINTS_WITHOUT_TLS: &[&str] = &["insecure-endpoint"];
const OF_A_WRONG_PASSWORD: &[&str] = &["credentials-refused"];
const OF_A_BROKEN_FILE: &[&str] = &["config-unreadable"];
const OF_CLOCKS: &[&str] = &["clock-skew"];
const OF_ITSELF: &[&str] = &["identity-lost", "manager-degraded"];
const OF_SERVICES: &[&str] = &["service-not-ready", "no-nodes-for-traffic", "local-traffic-unmonitored"];

#[test]
fn each_finding_that_doctor_can_make_is_made_in_a_test_here() {
    let made = [
        OF_NODES,
        OF_A_SILENT_NOVA,
        OF_NO_SERVERS,
        OF_MANAGERS,
        OF_A_NAMELESS_CLUSTER,
        OF_NO_MANAGERS,
        OF_THE_CLOUD,
        OF_AN_OLD_OCTAVIA,
        OF_A_WRONG_REGION,
        OF_ENDPOINTS_WITHOUT_TLS,
        OF_A_WRONG_PASSWORD,
        OF_A_BROKEN_FILE,
        OF_CLOCKS,
        OF_ITSELF,
        OF_SERVICES,
    ];
    let made: BTreeSet<&str> = made.concat().into_iter().collect();
    let all: BTreeSet<&str> = CHECKS.iter().map(|(kind, _check)| *kind).collect();
    assert_eq!(made, all, "a check needs a test on the simulators that finds something with it");
}

fn ids(answer: &Finished) -> anyhow::Result<Vec<String>> {
    let findings = answer.json()?["findings"].as_array().cloned().unwrap_or_default();
    Ok(findings.iter().filter_map(|one| one["id"].as_str()).map(str::to_owned).collect())
}

/// What doctor finds: all of this, and nothing of a kind that has no row among the checks.
async fn finds(stage: &Harness, wanted: &[&str]) -> anyhow::Result<Finished> {
    let answer = stage.run("doctor -o json").await?;
    let found = ids(&answer)?;
    for id in wanted {
        ensure!(found.iter().any(|one| one == id), "{id} was not found: {answer:?}");
    }
    for id in &found {
        ensure!(CHECKS.iter().any(|(kind, _check)| kind == id), "{id} has no row");
    }
    Ok(answer)
}

/// The same where there is nothing else to find.
async fn finds_only(stage: &Harness, wanted: &[&str]) -> anyhow::Result<Finished> {
    let answer = finds(stage, wanted).await?;
    let found = ids(&answer)?;
    ensure!(found.iter().all(|id| wanted.contains(&id.as_str())), "{wanted:?}: {answer:?}");
    Ok(answer)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_in_which_all_is_well_has_no_finding() -> anyhow::Result<()> {
    let stage = Harness::start(2).await?;
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
    let stage = Harness::start(2).await?;
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
    let found = finds(&stage, OF_NODES).await?;
    ensure!(found.code == 1, "{found:?}");
    stage.run("doctor").await?.says(1, &["ERROR kubelet-flag-missing: bare", "--cloud-provider=external"])?;

    for name in ["bare", "waiting"] {
        stage.delete(&format!("/api/v1/nodes/{name}"));
    }
    let outage = Rule::new(Fault::html(StatusCode::SERVICE_UNAVAILABLE)).on(Service::Compute);
    let outage = stage.cloud.disturb(|faults| faults.add(outage.path("*/servers*")));
    let found = finds(&stage, OF_A_SILENT_NOVA).await?;
    found.says(1, &["does not say whether the servers of left, node-1, node-2, stopped are there", "503"])?;
    ensure!(!ids(&found)?.contains(&"server-gone".to_owned()), "silence proves nothing: {found:?}");
    stage.cloud.disturb(|faults| faults.remove(outage));

    for id in stage.cloud.estate.servers.clone() {
        stage.cloud.world(|world| world.state.compute.servers.remove(&id));
    }
    let found = finds(&stage, OF_NO_SERVERS).await?;
    ensure!(!ids(&found)?.contains(&"server-gone".to_owned()), "said once: {found:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_the_manager_is_found() -> anyhow::Result<()> {
    let stage = Harness::start(1).await?;
    stage.seed(manager("occm-1", "openstack-cloud-controller-manager"))?;
    let mut crashing = manager("ccm-2", "bowline");
    crashing["status"]["containerStatuses"][0] =
        json!({"name": "manager", "ready": false, "restartCount": 12, "image": "", "imageID": ""});
    stage.seed(crashing)?;
    stage.lead("2026-01-01T00:00:00Z".parse()?)?;
    stage.pause(Some("rack 7 moves"))?;
    stage.kube.authorize_with(|access| {
        let manager = access.user.name == "system:serviceaccount:kube-system:cloud-controller-manager";
        !(manager && access.verb == "delete" && access.resource == "nodes")
    });
    finds(&stage, OF_MANAGERS).await?;
    stage.run("doctor").await?.says(1, &["may not delete nodes", "rack 7 moves", "deploy/rbac.yaml"])?;

    for name in ["ccm-2", "occm-1"] {
        stage.delete(&format!("/api/v1/namespaces/kube-system/pods/{name}"));
    }
    let mut nameless = manager("ccm-1", "bowline");
    nameless["spec"]["containers"][0]["args"] = json!(["--cloud-config=/etc/cloud/cloud.conf"]);
    stage.seed(nameless)?;
    stage.kube.authorize_with(|_anybody| true);
    stage.lead(jiff::Timestamp::now())?;
    let found = finds_only(&stage, OF_A_NAMELESS_CLUSTER).await?;
    found.says(0, &["is called kubernetes in the cloud"])?;

    stage.delete("/api/v1/namespaces/kube-system/pods/ccm-1");
    stage.lead("2026-01-01T00:00:00Z".parse()?)?;
    finds_only(&stage, OF_NO_MANAGERS).await?.says(1, &["install one"])
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_manager_says_of_itself_is_found_and_a_manager_that_cannot_be_asked_is_no_good_answer()
-> anyhow::Result<()> {
    let stage = Harness::start(1).await?;
    stage.lose_identity(true)?;
    let (page, ..) = WELL;
    let ill = "[+]ping ok\n[!]cloud-identity degraded: reason withheld\n[-]informers failed: reason withheld\nreadyz check failed\n";
    stage.kube.intercept(Pages(vec![(page, 500, ill)]));
    finds_only(&stage, OF_ITSELF).await?.says(
        1,
        &[
            "does not know the manager any more: 401",
            "should look at cloud-identity, informers",
            "bowline page",
        ],
    )?;
    stage.lose_identity(false)?;
    stage.kube.intercept(Pages(vec![(page, 403, "{}")]));
    let silent = stage.run("doctor --kubectl=/nowhere/kubectl").await?;
    silent.says(
        2,
        &["NOT LOOKED AT the health of the leader", "/nowhere/kubectl", "through the API server: 403"],
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_the_cloud_is_found() -> anyhow::Result<()> {
    let stage = Harness::start(1).await?;
    let name = format!("kube_service_{CLUSTER}_default_web");
    stage.cloud.make_balancer(&name, &[&name, "bowline-cluster:another"]).await?;
    stage.cloud.make_balancer(&name, &[&name]).await?;
    stage.cloud.world(|world| {
        let balancers = &mut world.state.load_balancer.load_balancers;
        let first = balancers.iter().map(|one| one.id.clone()).next();
        first.and_then(|id| balancers.update(&id, |one| one.provisioning_status = "ERROR".to_owned()))
    });
    stage.cloud.write_conf(stage.folder.path(), "subnet-idd = x")?;
    finds_only(&stage, OF_THE_CLOUD).await?.says(1, &["did you mean subnet-id?"])?;

    // An Octavia of the release Rocky.
    stage.cloud.world(|world| world.config.load_balancer_minor_version = 4);
    finds(&stage, OF_AN_OLD_OCTAVIA).await?.says(1, &["Octavia's API is 2.4; tags came with 2.5"])?;

    let good = std::fs::read_to_string(stage.conf())?;
    std::fs::write(stage.conf(), good.replace("RegionOne", "Nowhere"))?;
    finds(&stage, OF_A_WRONG_REGION).await?;
    stage.cloud.write_conf_with(stage.folder.path(), "wrong", "")?;
    finds_only(&stage, OF_A_WRONG_PASSWORD).await?;
    std::fs::write(stage.conf(), "[Global\n")?;
    finds_only(&stage, OF_A_BROKEN_FILE).await?.says(1, &["bowline config check FILE"])
}

#[tokio::test(flavor = "multi_thread")]
async fn clocks_that_are_off_are_found_at_the_api_server_and_at_keystone() -> anyhow::Result<()> {
    let (ahead, behind) = (SignedDuration::from_secs(3600), SignedDuration::from_secs(-1800));
    let stage = Harness::start_with_clocks(1, ahead, behind).await?;
    let found = finds_only(&stage, OF_CLOCKS).await?;
    ensure!(ids(&found)?.len() == 2, "{found:?}");
    found.says(1, &["the clock of the API server is 3", "ahead of", "the clock of Keystone is 1", "behind"])
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_services_is_found() -> anyhow::Result<()> {
    let stage = Harness::start(2).await?;
    stage.service("web")?;
    stage.settle("web").await?;
    stage.say("web", "SyncFailed", "503 (request id req-7f)")?;
    let local = json!({"spec": {"externalTrafficPolicy": "Local"}});
    stage.patch("/api/v1/namespaces/default/services/web", &local)?;
    let excluded =
        json!({"metadata": {"labels": {"node.kubernetes.io/exclude-from-external-load-balancers": ""}}});
    for node in ["node-1", "node-2"] {
        stage.patch(&format!("/api/v1/nodes/{node}"), &excluded)?;
    }
    finds_only(&stage, OF_SERVICES).await?.says(
        1,
        &[
            "default/web (SyncFailed)",
            "kubectl bowline explain -n default svc/web",
            "1 Services want load balancers, and none of 2 Nodes may get traffic",
            "the load balancers of default/web do not know which Nodes have a pod",
        ],
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn endpoints_without_tls_under_a_keystone_with_tls_are_found_also_where_they_are_allowed()
-> anyhow::Result<()> {
    let stage = Harness::start(1).await?;
    let good = std::fs::read_to_string(stage.conf())?;
    let behind =
        good.split("http://").nth(1).and_then(|rest| rest.split('/').next()).context("no address")?;
    let (port, _front) = Tls::new()?.forward(behind.to_owned()).await?;
    let with_tls = good
        .replace(&format!("auth-url = http://{behind}"), &format!("auth-url = https://localhost:{port}"))
        .replace("[LoadBalancer]", "tls-insecure = true\n[LoadBalancer]");
    std::fs::write(stage.conf(), &with_tls)?;
    let refused = finds_only(&stage, OF_ENDPOINTS_WITHOUT_TLS).await?;
    refused.says(
        1,
        &["error", "without TLS (http) for compute", "for load-balancer", "allow-insecure-endpoints"],
    )?;
    let allowing = with_tls.replace("tls-insecure", "allow-insecure-endpoints = true\ntls-insecure");
    std::fs::write(stage.conf(), allowing)?;
    let allowed = finds_only(&stage, OF_ENDPOINTS_WITHOUT_TLS).await?;
    allowed.says(1, &["warning", "the token travels in clear"])
}
