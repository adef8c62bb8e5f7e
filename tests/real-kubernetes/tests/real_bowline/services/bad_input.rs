//! What people get wrong: what each of them sees, that nothing is left in the cloud, and that it works once it is mended.

use std::sync::Arc;

use anyhow::{Context, ensure};
use bowline_openstack::loadbalancer::annotations::{ANNOTATIONS, Annotation, Kind, SOURCE_RANGES};
use bowline_testkit::services::{address, condition, service};
use serde_json::{Value, json};

use crate::services::harness::{Harness, Tools};
use bowline_testkit::cloud::Cloud;

const NOWHERE: &str = "11111111-2222-3333-4444-555555555555";

macro_rules! openstack {
    ($name:literal) => {
        concat!("loadbalancer.openstack.org/", $name)
    };
}

/// A Service that cannot be served, what its owner reads, and the Service as the owner mends it.
struct Case {
    name: String,
    wrong: Value,
    /// The reason of the condition.
    reason: &'static str,
    /// Parts of the event.
    says: Vec<String>,
    mended: Value,
    /// Whether it has a load balancer meanwhile, for which only the address is missing.
    waits: bool,
}

impl Case {
    /// With annotations that the owner takes away.
    fn annotated(name: &str, annotations: &[(&str, &str)], says: &[&str]) -> Self {
        Self {
            name: name.to_owned(),
            wrong: service(name, annotations, &json!({})),
            reason: "Refused",
            says: says.iter().map(|part| (*part).to_owned()).collect(),
            mended: service(name, &[], &json!({})),
            waits: false,
        }
    }

    /// With a part of its spec that the owner takes away.
    fn specified(name: &str, spec: &Value, says: &[&str]) -> Self {
        Self { wrong: service(name, &[], spec), ..Self::annotated(name, &[], says) }
    }

    /// One that is tried again by itself.
    fn failing(self) -> Self {
        Self { reason: "SyncFailed", ..self }
    }

    /// The same after its load balancer was made.
    fn waiting(self) -> Self {
        Self { waits: true, ..self.failing() }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_input_is_told_leaves_nothing_and_is_mended() -> anyhow::Result<()> {
    let Some(tools) = Tools::locate()? else { return Ok(()) };
    let site = Harness::start(&tools, Arc::new(Cloud::start(2).await?), "").await?;
    let manager = site.run(&["--cluster-name=harbour"])?;
    malformed_annotations(&site).await?;
    references_that_lead_nowhere(&site).await?;
    things_of_others(&site).await?;
    used_up_quotas(&site).await?;
    no_node_fits(&site).await?;
    source_ranges_are_refused_at_once(&site).await?;
    manager.terminate().await?;
    names_that_are_cut(&site).await
}

/// Names have at most 255 bytes, as OCCM cuts them.
async fn names_that_are_cut(site: &Harness) -> anyhow::Result<()> {
    let _manager = site.run(&[&format!("--cluster-name={}", "c".repeat(200))])?;
    let name = format!("long-{}", "x".repeat(40));
    site.user.apply(&service(&name, &[], &json!({}))).await?;
    site.services.until_ready(&name).await?;
    let balancers = site.member.rows("loadbalancer list").await?;
    let called = balancers[0]["name"].as_str().unwrap_or_default();
    ensure!(called.len() == 255 && called.starts_with("kube_service_ccc"), "{balancers:#?}");
    delete_all(site, &[&name], 0).await
}

/// A value that a row does not accept; none if it accepts every text.
fn wrong_value(row: &Annotation) -> Option<&'static str> {
    match row.kind {
        Kind::Text | Kind::ShortText => None,
        Kind::Id => Some("no/id"),
        Kind::Flag => Some("maybe"),
        Kind::Number { .. } => Some("many"),
        Kind::Duration { .. } => Some("a while"),
        Kind::Word(_) => Some("RANDOM"),
        Kind::Class => Some("nosuch"),
        Kind::NamePattern => Some("~("),
        Kind::Tags => Some(","),
        Kind::ExtraTags => Some("kube_service_kubernetes_default_other"),
        Kind::Selector => Some("=value"),
        Kind::Certificate => Some("nonsense"),
        Kind::Networks => Some("10.0.0.0/99"),
        Kind::Address => Some("here"),
    }
}

async fn malformed_annotations(site: &Harness) -> anyhow::Result<()> {
    let wrong: Vec<(&Annotation, &str)> = ANNOTATIONS
        .iter()
        // The API server itself refuses that one.
        .filter(|row| row.key != SOURCE_RANGES.key)
        .filter_map(|row| Some((row, wrong_value(row)?)))
        .collect();
    let mut cases: Vec<Case> = Vec::new();
    for (place, (row, value)) in wrong.iter().enumerate() {
        let said = format!("annotation {} is {value:?}", row.key);
        cases.push(Case::annotated(
            &format!("wrong-{place}"),
            &[(row.key, value)],
            &[&said, &row.kind.accepted()],
        ));
    }
    let few: Vec<(&str, &str)> = wrong.iter().take(5).map(|(row, value)| (row.key, *value)).collect();
    let keys: Vec<&str> = few.iter().map(|(key, _)| *key).collect();
    cases.push(Case::annotated("wrong-few", &few, &keys));
    let all: Vec<(&str, &str)> = wrong.iter().map(|(row, value)| (row.key, *value)).collect();
    // An event has 1024 bytes, which are as many as fit.
    cases.push(Case::annotated("wrong-all", &all, &[all[0].0, openstack!("class"), openstack!("subnet-id")]));
    told_and_mended(site, &cases).await
}

async fn references_that_lead_nowhere(site: &Harness) -> anyhow::Result<()> {
    let certificate = format!("http://barbican/v1/secrets/{NOWHERE}");
    let tls = openstack!("default-tls-container-ref");
    let things = site.cloud.prepare("spare").await?;
    let vanished = subnet_that_was_used(site).await?;
    let annotated =
        |name, key, value, place: &str| Case::annotated(name, &[(key, value)], &[value, place]).failing();
    let cases = [
        annotated("subnet", openstack!("subnet-id"), NOWHERE, "/subnet-id or subnet-id in cloud.conf"),
        annotated("vanished", openstack!("subnet-id"), &vanished, "/subnet-id or subnet-id in cloud.conf"),
        annotated(
            "member-subnet",
            openstack!("member-subnet-id"),
            NOWHERE,
            "Correct annotation loadbalancer.openstack.org/member-subnet-id",
        ),
        Case::annotated(
            "port",
            &[(openstack!("port-id"), NOWHERE)],
            &[NOWHERE, "correct annotation loadbalancer.openstack.org/port-id"],
        ),
        annotated(
            "flavor",
            openstack!("flavor-id"),
            NOWHERE,
            "Correct annotation loadbalancer.openstack.org/flavor-id",
        ),
        Case::annotated("zone", &[(openstack!("availability-zone"), "nosuch")], &["/availability-zone"])
            .failing(),
        annotated("vip", "loadbalancer.bowline.dev/vip-address", "192.0.2.77", "spec.loadBalancerIP"),
        annotated(
            "external",
            openstack!("floating-network-id"),
            NOWHERE,
            "floating-network-id in cloud.conf",
        )
        .waiting(),
        Case::specified(
            "outside",
            &json!({"loadBalancerIP": "192.0.2.78"}),
            &["192.0.2.78", "openstack floating ip create"],
        )
        .waiting(),
        Case::annotated(
            "external-subnet",
            &[(openstack!("floating-subnet-id"), NOWHERE)],
            &[NOWHERE, "accepted: a subnet of the external network"],
        ),
        Case::annotated(
            "external-name",
            &[(openstack!("floating-subnet"), "nosuch")],
            &["correct the annotations or cloud.conf"],
        ),
        Case::annotated(
            "lost",
            &[(openstack!("load-balancer-id"), NOWHERE)],
            &[NOWHERE, "correct or remove it"],
        ),
        Case {
            mended: service("certificate", &[(tls, &things.secret)], &json!({})),
            ..Case::annotated(
                "certificate",
                &[(tls, &certificate)],
                &[NOWHERE, "correct default-tls-container-ref"],
            )
        },
    ];
    told_and_mended(site, &cases).await?;
    let prepared = format!("{} {}", things.floating_ip, things.other_floating_ip);
    site.member.done(&format!("floating ip delete {prepared}")).await
}

/// A subnet that had a load balancer, and then was deleted with its network.
async fn subnet_that_was_used(site: &Harness) -> anyhow::Result<String> {
    site.member.json("network create passing").await?;
    let subnet = "subnet create --network passing --subnet-range 192.168.99.0/24 passing";
    let subnet = site.member.json(subnet).await?["id"].as_str().context("no id")?.to_owned();
    let internal = "service.beta.kubernetes.io/openstack-internal-load-balancer";
    let annotations = [(openstack!("subnet-id"), subnet.as_str()), (internal, "true")];
    site.user.apply(&service("passing", &annotations, &json!({}))).await?;
    site.services.until_ready("passing").await?;
    delete_all(site, &["passing"], 2).await?;
    site.member.done("network delete passing").await?;
    Ok(subnet)
}

/// Floating IPs and load balancers that are another project's, or lead to another thing already.
async fn things_of_others(site: &Harness) -> anyhow::Result<()> {
    let text = |value: &Value, key: &str| value[key].as_str().map(ToOwned::to_owned).context("no such field");
    // The network has a subnet without a way out, too.
    let subnet = &site.cloud.estate.subnet;
    let port = format!("port create --network k8s-net --fixed-ip subnet={subnet} busy");
    let port = site.member.json(&port).await?;
    let port = text(&port, "id")?;
    let busy = site.member.json(&format!("floating ip create public --port {port}")).await?;
    let other = text(&site.operator.json("project create other").await?, "id")?;
    let theirs = site.operator.json(&format!("floating ip create public --project {other}")).await?;
    let (busy, theirs) = (text(&busy, "floating_ip_address")?, text(&theirs, "floating_ip_address")?);
    let create = format!("loadbalancer create --name theirs --project {other} --vip-subnet-id k8s-subnet");
    let balancer = text(&site.operator.json(&create).await?, "id")?;
    let there = "detach it there or ask for another address";
    let cases = [
        Case::specified("busy", &json!({"loadBalancerIP": busy}), &[&busy, there]),
        Case::annotated("pinned", &[("loadbalancer.bowline.dev/floating-ip", &busy)], &[&busy, there]),
        Case::specified("foreign", &json!({"loadBalancerIP": theirs}), &[&theirs, "is not of this project"])
            .waiting(),
        Case::annotated(
            "their-balancer",
            &[(openstack!("load-balancer-id"), &balancer)],
            &[&balancer, "correct or remove it"],
        ),
    ];
    told_and_mended(site, &cases).await?;
    let shown = site.operator.json(&format!("loadbalancer show {balancer}")).await?;
    ensure!(shown["provisioning_status"] == "ACTIVE", "{shown}");
    site.operator.done(&format!("loadbalancer delete {balancer}")).await?;
    site.operator.done(&format!("floating ip delete {busy} {theirs}")).await?;
    site.member.done(&format!("port delete {port}")).await
}

/// A quota is the project's: the Service works by itself once there is more.
async fn used_up_quotas(site: &Harness) -> anyhow::Result<()> {
    let project = site.cloud.estate.project.clone();
    let set = async |command: &str| site.operator.done(command).await;
    set(&format!("quota set --floating-ips 0 --force {project}")).await?;
    set(&format!("loadbalancer quota set --loadbalancer 1 {project}")).await?;
    site.user.apply(&service("first", &[], &json!({}))).await?;
    let says = |name: &str, says: &[&str]| Case::annotated(name, &[], says).failing();
    told(site, &says("first", &["floatingip", "quota"])).await?;
    site.user.apply(&service("second", &[], &json!({}))).await?;
    told(site, &says("second", &["quota", "Load Balancer"])).await?;
    set(&format!("quota set --floating-ips 9 --force {project}")).await?;
    set(&format!("loadbalancer quota set --loadbalancer 9 {project}")).await?;
    for name in ["first", "second"] {
        site.services.until_ready(name).await?;
    }
    delete_all(site, &["first", "second"], 0).await
}

async fn no_node_fits(site: &Harness) -> anyhow::Result<()> {
    let nobody = [(openstack!("node-selector"), "kubernetes.io/hostname=nobody")];
    site.user.apply(&service("lonely", &nobody, &json!({}))).await?;
    site.services.until_ready("lonely").await?;
    let warnings = site
        .wait
        .until("a warning on lonely", async || {
            Ok(Some(site.warnings("lonely").await?).filter(|warnings| !warnings.is_empty()))
        })
        .await?;
    let (reason, text) = &warnings[0];
    ensure!(reason == "LoadBalancerWithoutMembers" && text.contains("label Nodes"), "{warnings:#?}");
    let pool =
        site.member.rows("loadbalancer pool list").await?[0]["id"].as_str().context("no pool")?.to_owned();
    let members = format!("loadbalancer member list {pool}");
    ensure!(site.member.rows(&members).await?.is_empty());
    let node = concat!(openstack!("node-selector"), "=kubernetes.io/hostname=node-1");
    site.user.annotate("lonely", node).await?;
    site.until_rows(&members, "one member", |rows| rows.len() == 1).await?;
    delete_all(site, &["lonely"], 0).await
}

/// What the API server refuses is told by kubectl.
async fn source_ranges_are_refused_at_once(site: &Harness) -> anyhow::Result<()> {
    let wrong = service("ranges", &[], &json!({"loadBalancerSourceRanges": ["10.0.0.0/99"]}));
    let error = site.user.apply(&wrong).await.err().context("it was accepted")?;
    ensure!(error.to_string().contains("10.0.0.0/99"), "{error}");
    Ok(())
}

/// Deletes all Services; so many floating IPs stay.
async fn delete_all(site: &Harness, names: &[&str], floating: usize) -> anyhow::Result<()> {
    site.user.run(&["delete", "svc", "--all"]).await?;
    for name in names {
        site.services.until_gone(name).await?;
    }
    nothing_is_left(site, floating).await
}

/// Makes all Services, sees that each is told what is wrong and gets nothing, mends and deletes them.
async fn told_and_mended(site: &Harness, cases: &[Case]) -> anyhow::Result<()> {
    let before = site.cloud.contents().await?;
    let wrong: Vec<Value> = cases.iter().map(|case| case.wrong.clone()).collect();
    site.user.apply_all(&wrong).await?;
    let mut problems = Vec::new();
    for case in cases {
        problems.extend(told(site, case).await.err().map(|problem| format!("{}: {problem}", case.name)));
    }
    ensure!(problems.is_empty(), "{problems:#?}");
    let meanwhile = site.cloud.contents().await?;
    let balancers = |contents: &Value| contents["loadbalancers"].as_array().map_or(0, Vec::len);
    let waiting = cases.iter().filter(|case| case.waits).count();
    ensure!(balancers(&meanwhile) == balancers(&before) + waiting, "{:#}", meanwhile["loadbalancers"]);
    ensure!(meanwhile["floatingips"] == before["floatingips"], "{:#}", meanwhile["floatingips"]);
    let mended: Vec<Value> = cases.iter().map(|case| case.mended.clone()).collect();
    site.user.apply_all(&mended).await?;
    for case in cases {
        site.services.until_ready(&case.name).await?;
    }
    site.user.run(&["delete", "svc", "--all"]).await?;
    for case in cases {
        site.services.until_gone(&case.name).await?;
    }
    let after = site.cloud.contents().await?;
    ensure!(after == before, "left in the cloud: {after:#}");
    Ok(())
}

async fn told(site: &Harness, case: &Case) -> anyhow::Result<()> {
    let name = &case.name;
    let said =
        site.services.until(name, "says what is wrong", |service| !condition(service)["message"].is_null());
    let service = said.await?;
    let said = condition(&service);
    let warnings = site
        .wait
        .until(&format!("a warning on {name}"), async || {
            Ok(Some(site.warnings(name).await?).filter(|warnings| !warnings.is_empty()))
        })
        .await?;
    println!("{name}: {} {}", said["reason"], warnings[0].1);
    ensure!(said["status"] == "False" && said["reason"] == case.reason, "{said}");
    ensure!(address(&service).is_none(), "it has an address: {service:#}");
    for part in &case.says {
        ensure!(warnings.iter().any(|(_, text)| text.contains(part)), "{part:?} is not in {warnings:#?}");
    }
    Ok(())
}

/// Nothing of ours, and so many floating IPs of others.
async fn nothing_is_left(site: &Harness, floating: usize) -> anyhow::Result<()> {
    let contents = site.cloud.contents().await?;
    for kind in ["loadbalancers", "listeners", "pools", "healthmonitors"] {
        ensure!(
            contents[kind].as_array().is_some_and(Vec::is_empty),
            "{kind} are left: {:#}",
            contents[kind]
        );
    }
    let left = contents["floatingips"].as_array().map_or(0, Vec::len);
    ensure!(left == floating, "floating IPs: {:#}", contents["floatingips"]);
    Ok(())
}
