//! The simulator against the real kube-apiserver: the same requests go to both, and the answers are compared after what
//! must differ has been normalised. Needs the servers' binaries: `cargo xtask kubernetes`.

mod difference;
mod exchange;
mod kubectl;
mod listed;
mod normal;
mod script;

use bowline_testkit::apiserver::{Cluster, Identity};
use bowline_testkit::simulated::SimulatedCluster;
use kube::Client;

use difference::Difference;
use exchange::Server;
use listed::LISTED;

/// The scripts, by theme.
const SCRIPTS: &[(&str, &str)] = &[
    ("objects", include_str!("scripts/objects.http")),
    ("metadata", include_str!("scripts/metadata.http")),
    ("nodes", include_str!("scripts/nodes.http")),
    ("services", include_str!("scripts/services.http")),
    ("leases", include_str!("scripts/leases.http")),
    ("patches", include_str!("scripts/patches.http")),
    ("apply", include_str!("scripts/apply.http")),
    ("lists", include_str!("scripts/lists.http")),
    ("watches", include_str!("scripts/watches.http")),
    ("requests", include_str!("scripts/requests.http")),
    ("deletes", include_str!("scripts/deletes.http")),
    ("namespaces", include_str!("scripts/namespaces.http")),
    ("workloads", include_str!("scripts/workloads.http")),
    ("custom", include_str!("scripts/custom.http")),
];

const DISCOVERY: (&str, &str) = ("discovery", include_str!("scripts/discovery.http"));

#[tokio::test(flavor = "multi_thread")]
async fn the_simulator_answers_as_the_real_server_does() -> anyhow::Result<()> {
    let cluster = Cluster::start().await?;
    let real = cluster.client(&Identity::Admin).await?;
    let simulator = simulator().await?;
    let simulated = simulator.client()?;
    let (mut requests, mut equal, mut differences) = (0, 0, Vec::new());
    // What the others add must not show in the discovery; they are in nobody else's way.
    let (name, text) = DISCOVERY;
    let first = run_script(name, text, &simulated, &real).await?;
    let others = SCRIPTS.iter().map(|(name, text)| run_script(name, text, &simulated, &real));
    let others = futures::future::try_join_all(others).await?;
    let names = [name].into_iter().chain(SCRIPTS.iter().map(|(name, _)| *name));
    for (name, (count, same, found)) in names.zip([first].into_iter().chain(others)) {
        println!("{name}: {count} requests, {same} equal");
        requests += count;
        equal += same;
        differences.extend(found);
    }
    judge(requests, equal, &differences);
    Ok(())
}

/// The simulator's HTTP server, which is set up as the test's cluster is: no controllers, the same addresses.
async fn simulator() -> anyhow::Result<SimulatedCluster> {
    SimulatedCluster::start(sim_kube::Config {
        collect_garbage: false,
        finish_namespaces: false,
        service_cidrs: vec!["10.0.0.0/16".parse()?],
        ..sim_kube::Config::real()
    })
    .await
}

/// Runs one script on both servers, side by side.
async fn run_script(
    name: &'static str,
    text: &str,
    simulated: &Client,
    real: &Client,
) -> anyhow::Result<(usize, usize, Vec<Difference>)> {
    let steps = script::parse(text)?;
    let (mut simulated, mut real) = (Server::new(simulated.clone()), Server::new(real.clone()));
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for step in &steps {
        let (our, their) = tokio::join!(simulated.run(step), real.run(step));
        ours.push(our.map_err(|error| error.context("the simulator"))?);
        theirs.push(their.map_err(|error| error.context("the real server"))?);
    }
    let pairs = normal::normalised(&ours).into_iter().zip(normal::normalised(&theirs));
    let mut equal = 0;
    let mut differences = Vec::new();
    for (step, (our, their)) in steps.iter().zip(pairs) {
        let mut their = their;
        if name == "discovery" {
            their.body = difference::restricted(their.body, &our.body);
        }
        let found = difference::between(name, &step.title, &our, &their);
        equal += usize::from(found.is_empty());
        differences.extend(found);
    }
    Ok((steps.len(), equal, differences))
}

/// Fails on what is not listed and on what is listed in vain.
fn judge(requests: usize, equal: usize, differences: &[Difference]) {
    let (listed, unlisted): (Vec<_>, Vec<_>) =
        differences.iter().partition(|difference| difference.listed().is_some());
    let different = requests - equal;
    println!(
        "{requests} requests: {equal} answered equally, {different} differently; {} rows are listed",
        LISTED.len()
    );
    let vain: Vec<_> =
        LISTED.iter().filter(|entry| !listed.iter().any(|found| found.listed() == Some(entry))).collect();
    for found in &unlisted {
        println!(
            "DIFFERENT {} / {} at {}\n  simulated: {}\n  real:      {}",
            found.script, found.title, found.place, found.simulated, found.real
        );
    }
    assert!(unlisted.is_empty(), "{} differences are not listed", unlisted.len());
    assert!(vain.is_empty(), "listed, but no longer so: {vain:#?}");
}
