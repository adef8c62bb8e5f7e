//! What people are told who have fewer rights.

use anyhow::{Context, ensure};
use bowline_testkit::apiserver::Identity;
use serde_json::{Value, json};

use crate::people::harness::{CLUSTER, Harness, ROLE};
use crate::people::person::Person;

/// Each command with the right without which it can tell nothing.
const RIGHTS: [(&str, &str); 10] = [
    ("status", "list nodes"),
    ("explain svc/web -n shop", "get services in namespace shop"),
    ("explain node/node-1", "get nodes"),
    ("plan --all", "list nodes"),
    ("plan svc/web -n shop", "list nodes"),
    ("drift", "list nodes"),
    ("doctor", "list nodes"),
    ("adopt svc/web -n shop --load-balancer x --yes", "get services in namespace shop"),
    ("breaker status", "get leases in namespace kube-system"),
    ("breaker reset --yes", "list nodes"),
];

/// Somebody whom the API server knows, and who may do nothing; and somebody whom it does not know.
pub(crate) async fn all_rights(site: &Harness) -> anyhow::Result<()> {
    let (cloud, identity) = (site.cloud_flag(), Identity::service_account("default", "nobody"));
    let nobody = site.person(&identity).await?;
    let asked = |right: &str| format!("it takes the right to {right}");
    for (line, right) in RIGHTS {
        let told = nobody.run(&format!("{line} {cloud}")).await?;
        told.fails(2, &["system:serviceaccount:default:nobody", "is forbidden", &asked(right)])?;
    }
    let told = nobody.run("resync svc/web -n shop").await?;
    told.fails(2, &[&asked("get services in namespace shop")])?;
    nobody.run("resync --all").await?.fails(2, &[&asked("list services")])?;
    let place = site.cluster.folder().join("bundle-of-nobody");
    let told = nobody.run(&format!("support-bundle --out {} {cloud}", place.display())).await?;
    told.says(
        1,
        &["missing: cluster/nodes.json: nodes is forbidden", "missing: doctor: Nodes cannot be read"],
    )?;
    ensure!(!told.out.contains("cloudcontrollermanagers"), "there are none here: {told:#?}");

    let mut kubeconfig: Value =
        serde_json::from_slice(&std::fs::read(site.cluster.kubeconfig(&identity).await?)?)?;
    kubeconfig["users"][0]["user"]["token"] = "expired".into();
    let path = site.cluster.folder().join("kubeconfig-of-a-stranger");
    std::fs::write(&path, kubeconfig.to_string())?;
    let stranger = Person::with(path, site.cluster.folder());
    for line in ["status", "explain svc/web -n shop", "resync svc/web -n shop"] {
        stranger.run(line).await?.fails(2, &["does not know the credentials of the kubeconfig"])?;
    }
    Ok(())
}

/// Somebody who may look at one namespace.
pub(crate) async fn all_but_one_namespace(site: &Harness) -> anyhow::Result<()> {
    // `view` itself is put together by a controller that is not here.
    let words = ["--clusterrole=system:aggregate-to-view", "--user=dev", "--namespace=shop"];
    site.admin.run(&[&["create", "rolebinding", "dev"][..], &words].concat()).await?;
    let dev = site.person(&Identity::user("dev")).await?;
    let told = dev.run("explain svc/web -n shop").await?;
    told.says(
        2,
        &[
            "Service shop/web",
            "The manager says since",
            "EnsuredLoadBalancer",
            "Manager: not known",
            "it takes the right to list pods in namespace kube-system",
            "it takes the right to get leases in namespace kube-system",
            "it takes the right to list nodes",
        ],
    )?;
    let address = site.service().await?["status"]["loadBalancer"]["ingress"][0]["ip"].clone();
    let address = address.as_str().context("no address")?;
    ensure!(told.err.is_empty() && told.out.contains(&format!("reached at {address}")), "{told:#?}");
    // With credentials of the cloud they see what is there.
    let told =
        dev.run(&format!("explain svc/web -n shop --cluster-name={CLUSTER} {}", site.cloud_flag())).await?;
    told.says(2, &["TCP/80", "node-1", "Now: unknown", "who may not list Nodes"])?;

    let told = dev.run("explain svc/kubernetes -n default").await?;
    told.fails(2, &["it takes the right to get services in namespace default"])?;
    let told = dev.run("resync svc/web -n shop").await?;
    told.says(1, &["failed: Service shop/web", "it takes the right to patch services in namespace shop"])
}

/// Somebody who may list Nodes and Services, and not read the Lease: all but the leader is told.
pub(crate) async fn the_lease(site: &Harness) -> anyhow::Result<()> {
    let words = ["--clusterrole=bowline-people", "--user=eve"];
    site.admin.run(&[&["create", "clusterrolebinding", "eve"][..], &words].concat()).await?;
    let metadata = json!({"name": "viewers", "namespace": "kube-system"});
    let rule = json!({"apiGroups": [""], "resources": ["serviceaccounts/token"], "resourceNames": ["bowline-viewer"], "verbs": ["create"]});
    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": metadata, "rules": [rule]});
    site.admin.apply(&role).await?;
    let words = ["create", "rolebinding", "eve", "--role=viewers", "--user=eve", "--namespace=kube-system"];
    site.admin.run(&words).await?;
    let eve = site.person(&Identity::user("eve")).await?;
    let flags = format!("--cluster-name={CLUSTER} {} {}", site.cloud_flag(), site.way_flags());
    let lease = "Lease kube-system/cloud-controller-manager cannot be read";
    let told = eve.run(&format!("status {flags}")).await?;
    told.says(2, &["Manager: not known", "shop/web", "settled", "breaker: closed", lease])?;
    let told = eve.run(&format!("doctor {flags}")).await?;
    told.says(2, &["NOT LOOKED AT the leader is not known", lease, "NOT LOOKED AT the managers"])
}

/// What tells that a rule of the roles is missing, by the first thing that the rule is about.
const NEEDED: [(&str, &str, &str); 8] = [
    ("nodes", "status {cloud}", "it takes the right to list nodes"),
    ("events", "explain svc/web -n shop {cloud}", "it takes the right to list events in namespace shop"),
    ("namespaces", "status {cloud} {way} -o json", "\"clusterUid\": null"),
    ("subjectaccessreviews", "doctor {cloud} {way}", "it takes the right to create subjectaccessreviews"),
    (
        "serviceaccounts/token",
        "breaker status {cloud} {way}",
        "it takes the right to create serviceaccounts/token of bowline-viewer in namespace kube-system",
    ),
    ("pods", "plan --all {cloud}", "it takes the right to list pods in namespace kube-system"),
    ("pods/portforward", "status {cloud} {kubectl}", "cannot create resource \"pods/portforward\""),
    ("leases", "explain node/node-1 {cloud}", "it takes the right to get leases in namespace kube-system"),
];

/// Somebody for each rule, who has all the others: none is there for nothing.
pub(crate) async fn one_rule_of_the_roles(site: &Harness) -> anyhow::Result<()> {
    for (kind, place) in [("clusterrole", "--output=json"), ("role", "--namespace=kube-system")] {
        let whole = site.admin.json(&["get", kind, ROLE, place]).await?;
        let rules = whole["rules"].as_array().context("no rules")?;
        for (nth, rule) in rules.iter().enumerate() {
            let about = rule["resources"][0].as_str().or(rule["nonResourceURLs"][0].as_str());
            let about = about.context("a rule about nothing")?;
            // Nobody asks for them where there is no operator.
            if about == "cloudcontrollermanagers" {
                continue;
            }
            let row = NEEDED.iter().find(|(what, ..)| *what == about);
            let (_, line, words) = row.with_context(|| format!("what needs the rule about {about}?"))?;
            let name = format!("without-{kind}-{nth}");
            let mut less = whole.clone();
            less["metadata"] = json!({"name": name});
            if kind == "role" {
                less["metadata"]["namespace"] = "kube-system".into();
            }
            less["rules"].as_array_mut().context("no rules")?.remove(nth);
            site.admin.apply(&less).await?;
            let (role, cluster_role) =
                if kind == "role" { (name.as_str(), ROLE) } else { (ROLE, name.as_str()) };
            site.bind(&name, &format!("--user={name}"), role, &[cluster_role]).await?;
            let person = site.person(&Identity::user(&name)).await?;
            let line = line
                .replace("{cloud}", &site.cloud_flag())
                .replace("{way}", &site.way_flags())
                .replace("{kubectl}", &format!("--kubectl={}", site.kubectl.display()))
                .replace("{out}", &site.cluster.folder().join(&name).display().to_string());
            let told = person.run(&line).await?;
            told.says(told.code, &[words]).with_context(|| format!("without the rule about {about}"))?;
        }
    }
    Ok(())
}
