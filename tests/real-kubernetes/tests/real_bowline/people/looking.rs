//! What people see who have the role for it.

use anyhow::{Context, ensure};
use bowline_testkit::apiserver::Identity;
use serde_json::{Value, json};

use bowline_testkit::command::Finished;

use crate::people::harness::{CLUSTER, Harness, POD, SERVICE};
use crate::people::person::Person;

/// Nothing that could be known is missing in it.
fn is_whole(answer: &Finished) -> anyhow::Result<()> {
    ensure!(!answer.out.contains("Note: ") && answer.err.is_empty(), "{answer:#?}");
    Ok(())
}

/// All is well, and every command says so, with what cluster and cloud say themselves.
pub(crate) async fn at_what_is_well(site: &Harness, reader: &Person) -> anyhow::Result<()> {
    let (cloud, way) = (site.cloud_flag(), site.way_flags());
    site.cloud.forget();
    let status = reader.run(&format!("status {cloud} {way}")).await?;
    status.says(0, &[&format!("Cluster {CLUSTER}"), "leads, renewed", POD, "breaker: closed", "settled"])?;
    is_whole(&status)?;
    agrees(site, &reader.run(&format!("status {cloud} {way} -o json")).await?.json()?).await?;

    let service = reader.run(&format!("explain svc/{SERVICE} -n shop {cloud}")).await?;
    service
        .says(0, &["Service shop/web", "3 Nodes get its traffic", "Now: settled", "EnsuredLoadBalancer"])?;
    service.says(0, &["node-1", "The manager says since", "leads, renewed"])?;
    is_whole(&service)?;
    let node = reader.run(&format!("explain node/node-1 {cloud}")).await?;
    node.says(0, &["Node node-1 (ready, gets traffic of load balancers)", "running", "leads, renewed"])?;
    is_whole(&node)?;
    let plan = reader.run(&format!("plan --all {cloud}")).await?;
    plan.says(0, &["1 of 1 Services are settled. Nothing was written."])?;
    is_whole(&plan)?;
    let drift = reader.run(&format!("drift {cloud}")).await?;
    drift.says(0, &["1 load balancers are as their Services ask. Nothing was written."])?;
    is_whole(&drift)?;
    let breaker = reader.run(&format!("breaker status {cloud} {way}")).await?;
    breaker.says(0, &["breaker: closed", "the overview of the leader", "0 of 3 Nodes have no server"])?;

    let doctor = reader.run(&format!("doctor {cloud} {way} -o json")).await?;
    let found = doctor.json()?;
    ensure!(found["findings"] == json!([]) && found["notLookedAt"] == json!([]), "{found:#}");
    doctor.says(0, &[])?;
    bundle(site, reader).await?;
    ensure!(site.cloud.changes().is_empty(), "{:?}", site.cloud.changes());
    Ok(())
}

/// A status is what cluster and cloud say.
async fn agrees(site: &Harness, status: &Value) -> anyhow::Result<()> {
    let (service, contents) = (site.service().await?, site.cloud.contents().await?);
    let row = &status["services"][0];
    ensure!(row["address"] == service["status"]["loadBalancer"]["ingress"][0]["ip"], "{row:#} {service:#}");
    ensure!(row["loadBalancer"] == contents["loadbalancers"][0]["id"], "{row:#} {contents:#}");
    ensure!(row["service"] == "shop/web" && row["verdict"] == "Settled", "{row:#}");
    let nodes = status["nodes"].as_array().context("no nodes")?;
    for (name, id, _address) in site.cloud.machines().await? {
        let row = nodes.iter().find(|row| row["node"] == name.as_str()).context("a Node is missing")?;
        let provider_id = format!("openstack:///{id}");
        ensure!(row["providerId"] == provider_id.as_str() && row["server"]["state"] == "present", "{row:#}");
    }
    let system = site.admin.json(&["get", "namespace", "kube-system"]).await?;
    ensure!(status["clusterUid"] == system["metadata"]["uid"], "{status:#}");
    ensure!(status["rails"]["from"] == "the overview of the leader", "{status:#}");
    ensure!(status["managers"][0]["pod"] == POD && status["leader"]["problem"].is_null(), "{status:#}");
    Ok(())
}

/// All of it is in a bundle but the log of a pod without a kubelet, and no secret is.
async fn bundle(site: &Harness, reader: &Person) -> anyhow::Result<()> {
    let place = site.cluster.folder().join("bundle");
    let (cloud, way) = (site.cloud_flag(), site.way_flags());
    let told = reader.run(&format!("support-bundle --out {} {cloud} {way} -o json", place.display())).await?;
    let answer = told.json()?;
    let missing: Vec<&str> =
        answer["missing"].as_array().context("no list")?.iter().filter_map(Value::as_str).collect();
    let is_log = |why: &str| why.starts_with("the log of kube-system/ccm-1: ") && !why.contains("forbidden");
    ensure!(matches!(missing.as_slice(), [only] if is_log(only)), "{answer:#}");
    told.says(1, &[])?;
    for name in ["status.json", "doctor.json", "plan.json", "drift.json", "manager/overview.json"] {
        ensure!(place.join(name).exists(), "{name} is missing: {answer:#}");
    }
    let leases = std::fs::read_to_string(place.join("manager/leases.json"))?;
    ensure!(leases.contains("cloud-controller-manager"), "{leases}");
    let metrics = std::fs::read_to_string(place.join("manager/metrics.txt"))?;
    ensure!(metrics.contains("bowline_node_deletion_breaker_open 0"), "{metrics}");
    let events = std::fs::read_to_string(place.join("cluster/events-of-services.json"))?;
    ensure!(events.contains("EnsuredLoadBalancer"), "{events}");
    let conf = std::fs::read_to_string(place.join("manager/cloud.conf"))?;
    ensure!(conf.contains("subnet-id") && !conf.contains(sim_openstack::MEMBER.password), "{conf}");
    Ok(())
}

/// The rights to the way are there although the way is not, and the Secret of the manager is none of theirs.
pub(crate) async fn without_a_way_to_the_manager_or_the_cloud(
    site: &Harness,
    reader: &Person,
) -> anyhow::Result<()> {
    let (cloud, kubectl) = (site.cloud_flag(), format!("--kubectl={}", site.kubectl.display()));
    let status = reader.run(&format!("status {cloud} {kubectl}")).await?;
    status.says(
        0,
        &["(from the events of Nodes)", "kubectl port-forward makes no way to pod kube-system/ccm-1"],
    )?;
    ensure!(!status.out.contains("orbidden"), "the role has all that port-forward takes: {status:#?}");
    reader
        .run(&format!("doctor {cloud} {kubectl}"))
        .await?
        .says(2, &["NOT LOOKED AT the health of the leader"])?;

    let words = ["neither --cloud-config", "secrets \"cloud-config\" is forbidden"];
    reader.run("plan --all").await?.fails(2, &words)?;
    reader.run("drift").await?.fails(2, &words)?;
    reader
        .run("status")
        .await?
        .says(2, &["Cloud: not looked at", "secrets \"cloud-config\" is forbidden"])?;
    let own = reader.run("plan --all --os-cloud=sim -o json").await?.json()?;
    ensure!(own["notes"][0].as_str().is_some_and(|note| note.starts_with("credentials only")), "{own:#}");
    Ok(())
}

/// The manager made its certificate itself, and is known by what it says on its Lease; it is shown a token of the viewer's account.
pub(crate) async fn at_the_leader_that_the_lease_names(
    site: &Harness,
    reader: &Person,
) -> anyhow::Result<()> {
    let (cloud, way) = (site.cloud_flag(), site.leader_flags()?);
    let lease = ["get", "lease", "--namespace", "kube-system", "cloud-controller-manager"];
    let key = "bowline.dev/serving-certificate-sha256";
    let named = site.admin.json(&lease).await?["metadata"]["annotations"][key].clone();
    ensure!(named.as_str().is_some_and(|named| named.len() == 64), "{named}");
    for command in ["status", "breaker status"] {
        let told = reader.run(&format!("{command} {cloud} {way} -o json")).await?;
        let rails = &told.json()?["rails"];
        ensure!(rails["from"] == "the overview of the leader" && rails["problem"].is_null(), "{told:#?}");
    }
    // Ann may not see the page herself.
    let own = reader.run(&format!("status {cloud} {way} --own-credentials -o json")).await?.json()?;
    ensure!(own["rails"]["problem"].as_str().is_some_and(|why| why.contains("answers 403")), "{own:#}");
    Ok(())
}

/// Where the cluster names the cloud, the host is shown, and without a terminal nothing is sent to it unless the person says so.
pub(crate) async fn at_the_cloud_that_the_cluster_names(site: &Harness) -> anyhow::Result<()> {
    let admin = site.person(&Identity::Admin).await?;
    let conf = format!("--from-file=cloud.conf={}", &site.conf.display());
    let secret = ["secret", "generic", "cloud-config", "--namespace", "kube-system", &conf];
    site.admin.run(&[&["create"][..], &secret].concat()).await?;
    let host = "Secret kube-system/cloud-config names the cloud: requests go to http://127.0.0.1:";
    admin.run("plan --all").await?.fails(2, &["--trust-cloud-host", "no terminal", host])?;
    let told = admin.run("plan --all --trust-cloud-host").await?;
    told.says(0, &["1 of 1 Services are settled"])?;
    ensure!(told.err.contains(host) && told.err.contains("project"), "{told:#?}");
    let words = ["delete", "secret", "cloud-config", "--namespace", "kube-system"];
    site.admin.run(&words).await.map(drop)
}
