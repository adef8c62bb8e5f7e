//! Commands that only look: plan, explain, status, drift. Each is asked before and after, and nothing is ever written.

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use crate::harness::{CLUSTER, Harness, Pages};
use crate::recorder::Recorder;

/// The Service, as its events name it.
fn web() -> Value {
    json!({"kind": "Service", "namespace": "default", "name": "web"})
}

/// A Service whose last failure is told with the id of the cloud's request.
fn complain(stage: &Harness) -> anyhow::Result<()> {
    let why = "Tried again with a growing pause; the last failure: 503 (request id req-7f)";
    stage.say("web", "SyncFailed", why)?;
    stage.event(&web(), "SyncLoadBalancerFailed", "Error syncing load balancer: 503")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_is_planned_explained_and_shown_before_and_after_it_has_its_load_balancer()
-> anyhow::Result<()> {
    let stage = Harness::start(2).await?;
    let nothing = stage.run("plan --all").await?;
    nothing.says(0, &["No Service wants a load balancer"])?;
    stage.service("web")?;
    complain(&stage)?;
    stage.cloud.forget();
    stage.kube.clear_log();

    let name = format!("kube_service_{CLUSTER}_default_web");
    stage.run("plan svc/web").await?.says(1, &["+ create load balancer", &name, "Nothing was written"])?;
    let explained = stage.run("explain svc/web").await?;
    explained.says(
        1,
        &[
            "no load balancer",
            "creates",
            "SyncFailed",
            "req-7f",
            "SyncLoadBalancerFailed x3",
            "resync -n default svc/web",
            "ccm-1_x leads",
        ],
    )?;
    let status = stage.run("status -o json").await?;
    ensure!(status.code == 1 && status.json()?["services"][0]["verdict"] == "Creates", "{status:?}");
    ensure!(stage.cloud.changes().is_empty() && stage.kube.writes() == 0, "something was written");

    stage.settle("web").await?;
    let web = "/api/v1/namespaces/default/services/web/status";
    stage.patch(web, &json!({"status": {"conditions": null}}))?;
    stage.cloud.forget();
    stage.kube.clear_log();
    let planned = stage.run("plan --all -o json").await?;
    ensure!(planned.code == 0 && planned.json()?["counts"]["settled"] == 1, "{planned:?}");
    let explained = stage.run("explain svc/web -o json").await?;
    let there = &explained.json()?["there"];
    ensure!(
        explained.code == 0
            && there["detail"] == "read"
            && there["owner"]["clusters"][0] == stage.uid.as_str(),
        "{explained:?}"
    );
    let members = there["frontends"][0]["pools"][0]["members"].as_array().context("no members")?;
    ensure!(members.len() == 2 && members[0]["status"]["operating"] != Value::Null, "{members:?}");
    stage.run("explain svc/web").await?.says(0, &["TCP/80", "node-1", "node-2", "as the Service asks"])?;

    let status = stage.run("status -o json").await?;
    let shown = status.json()?;
    ensure!(status.code == 0, "{status:?}");
    ensure!(shown["clusterName"] == CLUSTER && shown["leader"]["holder"] == "ccm-1_x", "{shown}");
    ensure!(
        shown["services"][0]["loadBalancer"] == there["id"]
            && shown["nodes"][1]["server"]["state"] == "present"
    );
    ensure!(
        shown["rails"]["breakerOpen"] == Value::Null && shown["rails"]["problem"].is_string(),
        "it is not known, and why is told: {shown}"
    );
    stage.run("status").await?.says(0, &["SERVICE", "default/web", "settled", "not known"])?;
    let yaml: Value = serde_saphyr::from_str(&stage.run("plan --all -o yaml").await?.out)?;
    ensure!(yaml["services"][0]["service"] == "default/web", "{yaml}");
    ensure!(stage.cloud.changes().is_empty() && stage.kube.writes() == 0, "something was written");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_changed_behind_the_managers_back_what_nobody_uses_and_lost_servers_are_drift()
-> anyhow::Result<()> {
    let stage = Harness::start(2).await?;
    stage.service("web")?;
    stage.settle("web").await?;
    stage.service("new")?;
    let clean = stage.run("drift").await?;
    clean.says(0, &["1 load balancers are as their Services ask"])?;

    // Nothing about the load balancer itself tells of it.
    stage
        .cloud
        .world(|world| {
            let members = &mut world.state.load_balancer.members;
            let first = members.iter().map(|member| member.id.clone()).next();
            first.and_then(|id| members.remove(&id))
        })
        .context("no member")?;
    let orphan = format!("kube_service_{CLUSTER}_default_gone");
    let cluster = format!("bowline-cluster:{}", stage.uid);
    stage.cloud.make_balancer(&orphan, &[&orphan, &cluster, "bowline-service:dead"]).await?;
    let server = stage.cloud.estate.servers[1].clone();
    stage.cloud.world(|world| world.state.compute.servers.remove(&server)).context("no server")?;
    stage.cloud.forget();

    let drift = stage.run("drift -o json").await?;
    let found = drift.json()?;
    ensure!(drift.code == 1, "{drift:?}");
    ensure!(
        found["services"][0]["service"] == "default/web"
            && found["services"].as_array().map(Vec::len) == Some(1),
        "{found}"
    );
    ensure!(
        found["orphans"][0]["name"] == orphan.as_str() && found["nodes"][0]["node"] == "node-2",
        "{found}"
    );
    stage
        .run("drift")
        .await?
        .says(1, &["no Service uses load balancer", "the server of Node node-2 is gone", "update"])?;
    ensure!(stage.cloud.changes().is_empty(), "{:?}", stage.cloud.changes());

    stage.run("explain node/node-1").await?.says(0, &["provider ID: openstack:///", "ready"])?;
    stage.run("explain node/node-2").await?.says(1, &["gone", "credentials of its project"])?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_looked_at_ends_with_two_and_the_managers_own_secret_is_used_without_a_file()
-> anyhow::Result<()> {
    let stage = Harness::start(1).await?;
    stage.service("web")?;
    for line in [
        "explain svc/nobody",
        "explain node/nobody",
        "plan svc/nobody",
        "resync svc/nobody",
        "adopt svc/nobody --load-balancer x",
    ] {
        let answer = stage.run(line).await?;
        ensure!(answer.code == 2 && !answer.err.is_empty(), "{line}: {answer:?}");
    }
    // It was looked at, and is nothing to plan for.
    for line in ["plan svc/kubernetes", "resync svc/kubernetes", "adopt svc/kubernetes --load-balancer x"] {
        stage.run(line).await?.says(1, &["wants no load balancer of this manager"])?;
    }
    let by_secret = stage.run_with("plan --all -o json --trust-cloud-host", None).await?;
    ensure!(
        by_secret.code == 1 && by_secret.json()?["cloudConfig"] == "Secret kube-system/cloud-config",
        "{by_secret:?}"
    );

    stage.cloud.write_conf_with(stage.folder.path(), "wrong", "")?;
    let refused = stage.run("plan --all").await?;
    refused.says(2, &["error: the cloud"])?;
    stage.run("status").await?.says(2, &["Cloud: not looked at", "node-1"])?;
    stage.run("explain svc/web").await?.says(2, &["unknown", "doctor"])?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn breaker_and_budgets_are_what_the_leader_says_of_itself() -> anyhow::Result<()> {
    let stage = Harness::start(1).await?;
    let scrape = "bowline_node_deletion_breaker_open 1\nbowline_node_deletions_held{rail=\"breaker\"} 2\n\
        bowline_cloud_budget_remaining_calls{service=\"compute\"} 17\n";
    stage.kube.intercept(Pages(vec![("/https:ccm-1:10258/proxy/metrics", 200, scrape)]));
    let status = stage.run("status -o json").await?;
    let rails = &status.json()?["rails"];
    ensure!(
        status.code == 1 && rails["breakerOpen"] == true && rails["heldNodes"]["breaker"] == 2,
        "{rails}"
    );
    ensure!(rails["callsLeft"]["compute"] == 17, "{rails}");
    stage.run("status").await?.says(1, &["open: no Node is deleted", "2 by breaker", "compute 17"])?;

    let health = "[+]ping ok\n[+]node-deletion-breaker ok\nreadyz check passed\n";
    stage.kube.intercept(Pages(vec![("/proxy/metrics", 403, "{}"), ("/proxy/readyz", 200, health)]));
    let status = stage.run("status -o json").await?;
    let rails = &status.json()?["rails"];
    ensure!(
        status.code == 0 && rails["breakerOpen"] == false && rails["heldNodes"] == Value::Null,
        "{rails}"
    );
    ensure!(rails["problem"].as_str().is_some_and(|why| why.contains("ccm-1")), "{rails}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_not_read_the_lease_is_told_all_but_who_leads() -> anyhow::Result<()> {
    let stage = Harness::start(1).await?;
    stage.service("web")?;
    stage.settle("web").await?;
    stage.kube.authorize_with(|access| access.resource != "leases" || access.user.name != "system:admin");
    let lease = "Lease kube-system/cloud-controller-manager cannot be read";
    let right = "it takes the right to get leases in namespace kube-system";
    stage.run("status").await?.says(2, &["Manager: not known", "default/web", "settled", lease, right])?;
    stage.run("doctor").await?.says(2, &["NOT LOOKED AT the leader is not known", lease, right])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_of_the_cluster_gets_no_password_of_the_person_whoever_it_names() -> anyhow::Result<()> {
    let stage = Harness::start(1).await?;
    let evil = Recorder::start(None).await?;
    let clouds = stage.folder.path().join("clouds.yaml");
    let own = "clouds: {mine: {auth: {auth_url: \"https://mine.example/v3\", username: ann, password: CANARY-of-ann, project_name: p, user_domain_name: d, project_domain_name: d}}}";
    std::fs::write(&clouds, own)?;
    let attack = format!(
        "[Global]\nauth-url = http://127.0.0.1:{}/v3\nuse-clouds = true\nclouds-file = {}\ncloud = mine\n",
        evil.port,
        clouds.display()
    );
    let secret = |text: &str| {
        stage.delete("/api/v1/namespaces/kube-system/secrets/cloud-config");
        stage.seed(json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "cloud-config", "namespace": "kube-system"},
            "data": {"cloud.conf": k8s_openapi::ByteString(text.as_bytes().to_vec())},
        }))
    };
    let commands = ["plan --all", "drift", "doctor", "status", "explain node/node-1", "breaker status"];
    let bundle = stage.folder.path().join("bundle.tar").display().to_string();
    let bundle = format!("support-bundle --out {bundle}");
    for (nth, own_credentials) in
        ["", "username = u\npassword = of-the-secret\ntenant-id = t\nuser-domain-id = d\n"].iter().enumerate()
    {
        secret(&format!("{attack}{own_credentials}"))?;
        for command in commands.into_iter().chain((nth == 0).then_some(bundle.as_str())) {
            let line = format!("{command} --trust-cloud-host --kubectl=/nowhere/kubectl");
            let line = if ["plan", "drift", "explain"].iter().any(|one| command.starts_with(one)) {
                format!("{command} --trust-cloud-host")
            } else {
                line
            };
            let answer = stage.run_with(&line, None).await?;
            let text = format!("{}{}", answer.out, answer.err);
            ensure!(answer.code != 0 && !text.contains("CANARY"), "{line}: {answer:?}");
            let is_told = text.contains("name the file with --cloud-config");
            ensure!(
                is_told || nth == 1 || command.starts_with("doctor") || command.starts_with("support"),
                "{text}"
            );
        }
        let all = evil.take();
        ensure!(!all.contains("CANARY") && !all.contains("ann"), "{all}");
        // Without credentials in the Secret nothing is sent at all.
        ensure!(all.contains("of-the-secret") == (nth == 1), "{all}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn names_events_and_conditions_of_the_cluster_command_no_terminal_and_add_no_lines()
-> anyhow::Result<()> {
    let stage = Harness::start(1).await?;
    stage.service("web")?;
    let attack = "\u{1b}[2J\u{9b}H\u{202e}\u{7}\nNow: settled - all is well";
    stage.say("web", "SyncFailed", attack)?;
    stage.event(&web(), "SyncLoadBalancerFailed", attack)?;
    stage.pause(Some(attack))?;
    for line in ["explain svc/web", "status --kubectl=/nowhere/kubectl", "doctor --kubectl=/nowhere/kubectl"]
    {
        let told = stage.run(line).await?.out;
        ensure!(told.contains("\\u{1b}[2J\\u{9b}H\\u{202e}\\u{7}"), "it is shown as what it is: {told}");
        ensure!(
            told.chars().all(|one| one == '\n' || !one.is_control()) && !told.contains('\u{202e}'),
            "{told}"
        );
        ensure!(!told.lines().any(|line| line.starts_with("Now: settled")), "{told}");
    }
    let exact = stage.run("explain svc/web -o json").await?.json()?;
    ensure!(exact["condition"]["message"] == attack, "{exact}");
    Ok(())
}
