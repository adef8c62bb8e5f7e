//! Managers die at random points while Services and Nodes come, change and go. After each death all is as the Services want it, and
//! everything is there once.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::{Context, ensure};
use bowline_testkit::nodes::taints;
use bowline_testkit::process::Process;
use bowline_testkit::services::{port, service};
use k8s_openapi::api::core::v1::Node;
use rand::{RngExt, SeedableRng, rngs::StdRng};
use serde_json::{Value, json};

use crate::conf::Conf;
use crate::harness::{Harness, ports_of};
use crate::scenario::{Provider, Stage};
use crate::waiting::until;

/// Services at the same time.
const MOST: usize = 4;
const PORTS: [u16; 4] = [80, 443, 8080, 9090];

/// A change of leaders takes three seconds.
const QUICK: [&str; 4] = [
    "--leader-elect-lease-duration=3s",
    "--leader-elect-renew-deadline=2s",
    "--leader-elect-retry-period=500ms",
    "--create-limit=100",
];

/// What there has to be.
#[derive(Debug, Default)]
struct Wanted {
    services: BTreeMap<String, BTreeSet<u16>>,
    nodes: BTreeSet<String>,
    made: u32,
}

/// What somebody does.
#[derive(Debug)]
enum Deed {
    Create(String, BTreeSet<u16>),
    Edit(String, BTreeSet<u16>),
    Delete(String),
    Join(String),
    Leave(String),
}

impl Wanted {
    /// Something that can be done now.
    fn deed(&self, random: &mut StdRng, all_nodes: &[String]) -> Deed {
        let ports = |random: &mut StdRng| {
            let mut ports: BTreeSet<u16> =
                PORTS.iter().filter(|_| random.random_bool(0.5)).copied().collect();
            ports.insert(PORTS[random.random_range(0..PORTS.len())]);
            ports
        };
        let any = |random: &mut StdRng| {
            let place = random.random_range(0..self.services.len());
            self.services.keys().nth(place).cloned().unwrap_or_default()
        };
        let away = all_nodes.iter().find(|node| !self.nodes.contains(*node));
        loop {
            match random.random_range(0..10) {
                0..=3 if self.services.len() < MOST => {
                    return Deed::Create(format!("web-{}", self.made), ports(random));
                }
                4..=5 if !self.services.is_empty() => return Deed::Edit(any(random), ports(random)),
                6..=7 if !self.services.is_empty() => return Deed::Delete(any(random)),
                8 if let Some(node) = away => return Deed::Join(node.clone()),
                9 if self.nodes.len() == all_nodes.len() => {
                    let place = random.random_range(0..all_nodes.len());
                    return Deed::Leave(all_nodes[place].clone());
                }
                _ => {}
            }
        }
    }

    fn take_down(&mut self, deed: &Deed) {
        match deed {
            Deed::Create(name, ports) => {
                self.made += 1;
                self.services.insert(name.clone(), ports.clone());
            }
            Deed::Edit(name, ports) => {
                self.services.insert(name.clone(), ports.clone());
            }
            Deed::Delete(name) => {
                self.services.remove(name);
            }
            Deed::Join(node) => {
                self.nodes.insert(node.clone());
            }
            Deed::Leave(node) => {
                self.nodes.remove(node);
            }
        }
    }
}

fn spec(ports: &BTreeSet<u16>) -> Value {
    let rows: Vec<_> = ports.iter().map(|number| port(&format!("p{number}"), *number, "TCP")).collect();
    json!({"ports": rows})
}

async fn perform(site: &Harness<'_>, deed: &Deed) -> anyhow::Result<()> {
    match deed {
        Deed::Create(name, ports) => site.services.create(&service(name, &[], &spec(ports))).await.map(drop),
        Deed::Edit(name, ports) => site.services.edit(name, &json!({"spec": spec(ports)})).await,
        Deed::Delete(name) => site.services.request_delete(name).await,
        Deed::Join(node) => {
            let server = site.world.about().estate.servers.iter().find(|server| server.name == *node);
            site.register(node, &server.context("no such server")?.id).await?;
            site.nodes.report_ready(node, "True").await
        }
        Deed::Leave(node) => site.nodes.delete(node).await,
    }
    .with_context(|| format!("{deed:?}"))
}

/// Waits until all is as wanted, and counts.
async fn converged(site: &Harness<'_>, wanted: &Wanted) -> anyhow::Result<()> {
    for node in &wanted.nodes {
        // The API server taints new Nodes as not ready; nobody here takes that away.
        let initialised = |node: &Node| {
            taints(node).iter().all(|key| key != "node.cloudprovider.kubernetes.io/uninitialized")
        };
        site.nodes.until(node, "initialised", initialised).await?;
    }
    let mut last = String::new();
    let seen = until("all is as wanted", async || {
        last = difference(site, wanted).await?;
        Ok(last.is_empty().then_some(()))
    });
    seen.await.with_context(|| format!("{wanted:?}: {last}\n{}", site.tail()))
}

/// What is not as wanted; nothing if all is.
async fn difference(site: &Harness<'_>, wanted: &Wanted) -> anyhow::Result<String> {
    let there: BTreeSet<String> = services(site).await?;
    let names: BTreeSet<String> = wanted.services.keys().cloned().collect();
    if there != names {
        return Ok(format!("the Services {there:?}"));
    }
    let (balancers, floating, groups) =
        (site.balancers().await?, site.floating_ips().await?, site.security_groups().await?);
    let counts = [balancers.len(), floating.len(), groups.len()];
    if counts != [names.len(); 3] {
        return Ok(format!("{counts:?} load balancers, floating IPs and groups: {balancers:#?}"));
    }
    for (name, ports) in &wanted.services {
        let Some(balancer) = site.balancer_of(name).await? else { return Ok(format!("{name} has none")) };
        let whole = site.whole(balancer["id"].as_str().unwrap_or_default()).await?;
        let found = ports_of(&whole.listeners);
        let members: BTreeSet<usize> = whole.members.iter().map(Vec::len).collect();
        let right = found == ports.iter().map(|port| u64::from(*port)).collect()
            && whole.pools.len() == ports.len()
            && members == [wanted.nodes.len()].into()
            && balancer["provisioning_status"] == "ACTIVE"
            && site.floating_ip_of(&balancer).await?.is_some();
        if !right {
            return Ok(format!("{name}: {whole:#?}"));
        }
    }
    for name in names {
        site.services.until_ready(&name).await?;
    }
    Ok(String::new())
}

async fn services(site: &Harness<'_>) -> anyhow::Result<BTreeSet<String>> {
    let list = site.services.api.list(&kube::api::ListParams::default()).await?;
    Ok(list.items.into_iter().filter_map(|service| service.metadata.name).collect())
}

/// Repeats a run: its seed is in its notes.
fn seed() -> anyhow::Result<u64> {
    match std::env::var("BOWLINE_SEED") {
        Ok(text) => text.parse().with_context(|| format!("BOWLINE_SEED is no number: {text}")),
        Err(_) => Ok(rand::random_range(0..1_000_000)),
    }
}

/// Who leads, and perhaps who waits to.
struct Managers {
    leader: Process,
    standby: Option<Process>,
}

impl Managers {
    fn start(site: &Harness<'_>, with_standby: bool) -> anyhow::Result<Self> {
        let leader = site.run(&QUICK)?;
        Ok(Self { leader, standby: with_standby.then(|| second(site)).transpose()? })
    }

    /// The leader dies; the standby takes over and a new one waits, or another one starts.
    fn crash(mut self, site: &Harness<'_>) -> anyhow::Result<Self> {
        self.leader.kill()?;
        match self.standby {
            Some(standby) => Ok(Self { leader: standby, standby: Some(second(site)?) }),
            None => Self::start(site, false),
        }
    }
}

/// A manager beside another one, which has the port.
fn second(site: &Harness<'_>) -> anyhow::Result<Process> {
    let mut flags = QUICK.to_vec();
    flags.push("--secure-port=0");
    site.run(&flags)
}

/// So many rounds, each with a few deeds and one death.
pub(super) async fn rounds(stage: &Stage<'_>, rounds: u32, with_standby: bool) -> anyhow::Result<()> {
    let seed = seed()?;
    stage.note(format!("BOWLINE_SEED={seed}"));
    println!("      BOWLINE_SEED={seed}");
    let mut random = StdRng::seed_from_u64(seed);
    let conf = format!("{}manage-security-groups = true\n", stage.provider.conf());
    let site = Harness::start(stage, &Conf::new(conf)).await?;
    let mut managers = Managers::start(&site, with_standby)?;
    site.join_all().await?;
    let all_nodes: Vec<String> =
        site.world.about().estate.servers.iter().map(|server| server.name.clone()).collect();
    let mut wanted = Wanted { nodes: all_nodes.iter().cloned().collect(), ..Wanted::default() };
    let (mut deeds, mut deaths, mut longest) = (0, 0, Duration::ZERO);
    let latest = if stage.provider == Provider::Amphora { 12_000 } else { 4_000 };
    for round in 0..rounds {
        for _ in 0..random.random_range(1..=4) {
            let deed = wanted.deed(&mut random, &all_nodes);
            perform(&site, &deed).await.with_context(|| format!("seed {seed}, round {round}"))?;
            wanted.take_down(&deed);
            deeds += 1;
        }
        // A random point, not a condition.
        tokio::time::sleep(Duration::from_millis(random.random_range(0..latest))).await;
        managers = managers.crash(&site)?;
        deaths += 1;
        let began = std::time::Instant::now();
        converged(&site, &wanted).await.with_context(|| format!("seed {seed}, round {round}"))?;
        longest = longest.max(began.elapsed());
    }
    stage.note(format!(
        "{deaths} deaths, {deeds} deeds, {} Services; nothing doubled or left; at most {:.1} s to converge",
        wanted.made,
        longest.as_secs_f64()
    ));
    ensure!(deaths == rounds);
    site.services.delete_all().await?;
    site.nothing_left().await
}
