//! OCCM itself and Bowline, one after the other on one cluster and one cloud, with amphorae and with OVN.
//!
//! What OCCM left, Bowline takes over without a change; what Bowline makes is what OCCM makes; and OCCM takes that over
//! without a change: a cluster can go there and back. At the end nothing is left in the cloud.

#![expect(
    clippy::indexing_slicing,
    reason = "an answer without what is looked for fails the test, as it should"
)]

mod expected;
mod harness;
mod legacy;
mod normal;
mod shapes;

use anyhow::{Context, ensure};
use bowline_testkit::apiserver::Binaries;
use serde_json::Value;

use crate::expected::{Expected, Run};
use crate::harness::Harness;
use crate::shapes::{Providers, Shape, shapes, sharing};
use bowline_testkit::cloud::Things;
use bowline_testkit::process::{Process, program};

const AMPHORA: &str = "lb-provider = amphora\ncreate-monitor = true\nmax-shared-lb = 2";
const OVN: &str = "lb-provider = ovn\nlb-method = SOURCE_IP_PORT\ncreate-monitor = true";
const GROUPS: &str = "lb-provider = amphora\ncreate-monitor = true\nmanage-security-groups = true";
const SERIAL: &str = "lb-provider = amphora\ncreate-monitor = true\nmax-shared-lb = 2\nprovider-requires-serial-api-calls = true";
/// The class without a name counts for internal Services, and its subnet before that of the section above it.
const UNNAMED_CLASS: &str =
    "lb-provider = amphora\ncreate-monitor = true\n[LoadBalancerClass]\nsubnet-id = {second subnet}";

/// How many Services a manager works on at a time.
const WORKERS: u8 = 4;
/// How many OCCM works on where it manages security groups. It reads the groups of a Node's port and writes the whole list, with
/// nothing that tells it of a change in between: two workers at once lose the group of one of the two Services. That Bowline puts
/// such a group back is right, but not what is compared here.
const ONE_WORKER: u8 = 1;

#[tokio::test(flavor = "multi_thread")]
async fn amphorae_are_taken_over_and_given_back_without_a_change() -> anyhow::Result<()> {
    there_and_back(Run { conf: AMPHORA, workers: WORKERS, fits: |_| true, expected: Expected::Nothing }).await
}

#[tokio::test(flavor = "multi_thread")]
async fn ovn_is_taken_over_and_given_back_without_a_change() -> anyhow::Result<()> {
    let fits = |shape: &Shape| shape.with == Providers::Both;
    there_and_back(Run { conf: OVN, workers: WORKERS, fits, expected: Expected::MembersOnTheWayBack }).await
}

#[tokio::test(flavor = "multi_thread")]
async fn managed_security_groups_are_taken_over_and_given_back_without_a_change() -> anyhow::Result<()> {
    let shapes = |shape: &Shape| ["basic", "three-ports", "udp", "local", "kept"].contains(&shape.name);
    there_and_back(Run { conf: GROUPS, workers: ONE_WORKER, fits: shapes, expected: Expected::Nothing }).await
}

#[tokio::test(flavor = "multi_thread")]
async fn serial_calls_are_taken_over_with_monitor_ports_for_local_traffic_and_no_other_change()
-> anyhow::Result<()> {
    let fits = |shape: &Shape| {
        ["basic", "internal", "local", "local-no-monitor", "no-monitor", "kept"].contains(&shape.name)
    };
    there_and_back(Run { conf: SERIAL, workers: WORKERS, fits, expected: Expected::SerialMembers }).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_class_without_a_name_counts_for_internal_services_as_with_occm() -> anyhow::Result<()> {
    let fits = |shape: &Shape| ["basic", "internal", "kept", "inner"].contains(&shape.name);
    there_and_back(Run { conf: UNNAMED_CLASS, workers: WORKERS, fits, expected: Expected::Nothing }).await
}

async fn there_and_back(run: Run) -> anyhow::Result<()> {
    let Run { conf, workers, fits, expected } = run;
    let Some(occm) = Binaries::locate()?.occm else {
        println!("no openstack-cloud-controller-manager beside kube-apiserver: nothing is compared with it");
        return Ok(());
    };
    let class = format!("{conf}\n[LoadBalancerClass \"special\"]\n");
    let stage = Harness::start(&class).await?;

    let their_things = stage.cloud.prepare("theirs").await?;
    stage.cloud.forget();
    let mut manager = stage.run(&occm, &[], "occm", workers)?;
    let theirs = make_all(&stage, "theirs", &their_things, fits, &mut manager).await?;
    tell("OCCM made", theirs.len(), &stage);
    drop(manager);

    let before = stage.cloud.contents().await?;
    stage.cloud.forget();
    let mut manager = bowline(&stage)?;
    stage.until_quiet(&mut manager).await?;
    tell("Bowline took over", theirs.len(), &stage);
    let (changes, after) = (stage.cloud.changes(), stage.cloud.contents().await?);
    let words_of = |services: &[Value], things: &Things| {
        words(services).into_iter().chain(things.words()).collect::<Vec<_>>()
    };
    let theirs_words = words_of(&theirs, &their_things);
    expected.take_over(&changes, [&before, &after], &theirs_words).with_context(|| manager.tail())?;

    let our_things = stage.cloud.prepare("ours").await?;
    stage.cloud.forget();
    let ours = make_all(&stage, "ours", &our_things, fits, &mut manager).await?;
    tell("Bowline made", ours.len(), &stage);
    let contents = stage.cloud.contents().await?;
    let made = |namespace: &str, services: &[Value], things: &Things| {
        normal::of_namespace(&contents, namespace, &words_of(services, things))
    };
    let mut different =
        normal::differences(&made("theirs", &theirs, &their_things), &made("ours", &ours, &our_things));
    different.retain(|difference| !expected.is_made_so(difference));
    ensure!(different.is_empty(), "made otherwise than by OCCM: {different:#?}");
    drop(manager);

    stage.cloud.forget();
    let mut manager = stage.run(&occm, &[], "occm", workers)?;
    stage.until_quiet(&mut manager).await?;
    tell("OCCM took back", theirs.len() + ours.len(), &stage);
    let changes = stage.cloud.changes();
    ensure!(expected.way_back(&changes), "the way back changed the cloud: {changes:#?}");
    drop(manager);

    stage.cloud.forget();
    let mut manager = bowline(&stage)?;
    for namespace in ["theirs", "ours"] {
        stage.delete_all(namespace, &manager).await?;
    }
    stage.until_quiet(&mut manager).await?;
    tell("Bowline deleted", theirs.len() + ours.len(), &stage);
    nothing_left(&stage.cloud.contents().await?)
}

fn tell(what: &str, services: usize, stage: &Harness) {
    let (requests, changes) = stage.cloud.requests();
    println!("{what} {services} Services with {requests} requests, {changes} of them changes");
}

/// Makes a Service of each shape in a namespace, and one that shares the load balancer of the first.
async fn make_all(
    stage: &Harness,
    namespace: &str,
    things: &Things,
    fits: fn(&Shape) -> bool,
    manager: &mut Process,
) -> anyhow::Result<Vec<Value>> {
    let shapes: Vec<Shape> = shapes(things).into_iter().filter(fits).collect();
    stage.create_namespace(namespace).await?;
    stage.create(namespace, &shapes).await?;
    let served = stage.until_served(namespace, manager).await?;
    let first = served.iter().find(|service| service["metadata"]["name"] == shapes[0].name);
    let id = first.and_then(|first| {
        first["metadata"]["annotations"]["loadbalancer.openstack.org/load-balancer-id"].as_str()
    });
    stage.create(namespace, &[sharing(id.context("no load-balancer-id")?)]).await?;
    stage.until_served(namespace, manager).await
}

/// The floating IPs that Services asked to keep, and the project's default security group.
fn nothing_left(contents: &Value) -> anyhow::Result<()> {
    for kind in ["loadbalancers", "listeners", "pools", "healthmonitors"] {
        ensure!(contents[kind].as_array().is_some_and(Vec::is_empty), "{kind} are left: {}", contents[kind]);
    }
    let groups = contents["security_groups"].as_array().into_iter().flatten();
    let groups: Vec<_> = groups.filter_map(|row| row["name"].as_str()).collect();
    ensure!(!groups.iter().any(|name| name.starts_with("lb-sg-")), "security groups: {groups:?}");
    let rows = contents["floatingips"].as_array().into_iter().flatten();
    let left: Vec<_> = rows.filter_map(|row| row["description"].as_str()).collect();
    // Two were to be kept, and four were given.
    let kept = left.iter().filter(|description| description.contains("/kept ")).count();
    ensure!((kept, left.len()) == (2, 6), "floating IPs: {left:?}");
    Ok(())
}

fn bowline(stage: &Harness) -> anyhow::Result<Process> {
    stage.run(&program("bowline")?, &["ccm"], "bowline", WORKERS)
}

/// Node ports and UIDs, and what they stand for.
fn words(services: &[Value]) -> Vec<(String, String)> {
    let mut words = Vec::new();
    for service in services {
        let name = service["metadata"]["name"].as_str().unwrap_or_default();
        words.push((
            service["metadata"]["uid"].as_str().unwrap_or_default().to_owned(),
            format!("<uid of {name}>"),
        ));
        for port in service["spec"]["ports"].as_array().into_iter().flatten() {
            if let Some(node_port) = port["nodePort"].as_u64() {
                words.push((node_port.to_string(), format!("<node port {name} {}>", port["port"])));
            }
        }
        if let Some(port) = service["spec"]["healthCheckNodePort"].as_u64() {
            words.push((port.to_string(), format!("<health port {name}>")));
        }
    }
    words
}
