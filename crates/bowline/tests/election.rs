//! The largest Services that the API server accepts, and the manager that the binary runs, on a runtime with one worker thread. It
//! works between a simulated OpenStack and a simulated API server, both over HTTP; another replica waits for its Lease.

#![expect(
    clippy::indexing_slicing,
    reason = "an answer without what is looked for fails the test, as it should"
)]

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, anyhow, ensure};
use bowline_manager::exit::{Exit, StopSignal};
use bowline_manager::logging::{LoggingOptions, subscriber};
use bowline_manager::signals::Signals;
use bowline_manager::{CloudControllerManager, Surroundings};
use bowline_openstack::cloud::{NAME, OpenStackCloud, Surroundings as CloudSurroundings};
use bowline_testkit::cloud::Cloud;
use bowline_testkit::nodes::initialized;
use bowline_testkit::services::{address, service};
use bowline_testkit::simulated::SimulatedCluster;
use bowline_testkit::{eventually, scaled};
use serde_json::{Value, json};
use tokio::runtime::Builder;

const SERVICES: usize = 8;
/// With keys like ours these are nearly the 256 KiB that the API server permits for all annotations of an object; the rest is for those
/// of the manager.
const UNKNOWN_KEYS: usize = 7_939;
const EDITS: i64 = 4;

const PREFIX: &str = "loadbalancer.openstack.org/";
const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/cloud-controller-manager";

/// A manager that runs on a thread of its own.
struct Manager {
    signals: Signals,
    thread: JoinHandle<io::Result<Exit>>,
}

impl Manager {
    fn start(folder: &Path) -> anyhow::Result<Self> {
        // A few seconds, and longer where the same work takes longer.
        let renew = scaled(Duration::from_secs(2));
        let flags = [
            format!("--cloud-provider={NAME}"),
            format!("--cloud-config={}", folder.join("cloud.conf").display()),
            format!("--kubeconfig={}", folder.join("kubeconfig").display()),
            "--secure-port=0".to_owned(),
            "--load-balancer-poll-period=100ms".to_owned(),
            format!("--leader-elect-lease-duration={}ms", (renew * 3 / 2).as_millis()),
            format!("--leader-elect-renew-deadline={}ms", renew.as_millis()),
            format!("--leader-elect-retry-period={}ms", (renew / 10).as_millis()),
        ];
        let manager = CloudControllerManager::new("test", "v0").async_cloud(NAME, async |config| {
            let cloud = OpenStackCloud::from_config(&config, CloudSurroundings::of_process("v0")).await?;
            Ok(Arc::new(cloud) as Arc<dyn bowline_cloud::Cloud>)
        });
        let signals = Signals::default();
        let (_dispatch, log_level) = subscriber(&LoggingOptions::default(), io::sink)?;
        let around = Surroundings { signals: signals.clone(), log_level };
        let thread = thread::spawn(move || {
            let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
            Ok(runtime.block_on(manager.run_inside(&flags, around)))
        });
        Ok(Self { signals, thread })
    }

    fn ensure_running(&self) -> anyhow::Result<()> {
        ensure!(!self.thread.is_finished(), "the manager has ended");
        Ok(())
    }

    /// Asks it to end, and waits until it has.
    async fn end(self) -> anyhow::Result<Exit> {
        self.signals.note(StopSignal::Terminate);
        eventually("the end of the manager", async || Ok(self.thread.is_finished().then_some(()))).await?;
        let ended = self.thread.join().map_err(|_panic| anyhow!("the manager panicked"))?;
        Ok(ended?)
    }
}

/// Who holds the Lease, and how often it changed hands.
fn holder(cluster: &SimulatedCluster) -> Option<(String, i64)> {
    let spec = &cluster.read(LEASE)["spec"];
    let holder = spec["holderIdentity"].as_str().filter(|holder| !holder.is_empty())?;
    Some((holder.to_owned(), spec["leaseTransitions"].as_i64().unwrap_or_default()))
}

fn path(service: usize) -> String {
    format!("/api/v1/namespaces/default/services/web-{service}")
}

/// A Service with as many unknown annotations as it may have.
fn hostile(number: usize) -> Value {
    let keys: Vec<String> = (0..UNKNOWN_KEYS).map(|key| format!("{PREFIX}{key:04}")).collect();
    let annotations: Vec<(&str, &str)> = keys.iter().map(|key| (key.as_str(), "")).collect();
    let mut hostile = service(&format!("web-{number}"), &annotations, &json!({}));
    hostile["metadata"]["namespace"] = json!("default");
    hostile
}

#[tokio::test(flavor = "multi_thread")]
async fn a_manager_with_one_worker_keeps_its_lease_while_the_largest_services_are_created_and_edited()
-> anyhow::Result<()> {
    let (cloud, folder) = (Cloud::start(1).await?, tempfile::tempdir()?);
    let cluster = SimulatedCluster::start(sim_kube::Config::real()).await?;
    for (name, id, address) in cloud.machines().await? {
        cluster.seed(initialized(&name, &id, &[&address]))?;
    }
    cloud.write_conf(folder.path(), "")?;
    std::fs::write(folder.path().join("kubeconfig"), cluster.kubeconfig())?;

    let leader = Manager::start(folder.path())?;
    let (leading, _) = eventually("a leader", async || {
        leader.ensure_running()?;
        Ok(holder(&cluster))
    })
    .await?;
    let standby = Manager::start(folder.path())?;
    let ensure_held = || {
        leader.ensure_running()?;
        standby.ensure_running()?;
        let (holder, transitions) = holder(&cluster).context("nobody holds the Lease")?;
        ensure!((&holder, transitions) == (&leading, 0), "{holder} leads after {transitions} transitions");
        Ok(())
    };

    // Seeded: with `managedFields` for each annotation the test would take nearly twice as long.
    for number in 0..SERVICES {
        cluster.seed(hostile(number))?;
    }
    eventually("all Services have an address", async || {
        ensure_held()?;
        Ok((0..SERVICES).all(|number| address(&cluster.read(&path(number))).is_some()).then_some(()))
    })
    .await?;
    for edit in 1..=EDITS {
        let timeout = 60_000 + edit;
        let annotations = json!({
            format!("{PREFIX}timeout-client-data"): timeout.to_string(),
            format!("{PREFIX}0000"): edit.to_string(),
        });
        for number in 0..SERVICES {
            cluster.patch(&path(number), &json!({"metadata": {"annotations": annotations}}))?;
        }
        eventually(format!("edit {edit} of all Services is in the cloud"), async || {
            ensure_held()?;
            let count = cloud.look(|state| {
                let listeners = state.load_balancer.listeners.iter();
                listeners.filter(|listener| listener.timeout_client_data == timeout).count()
            });
            Ok((count == SERVICES).then_some(()))
        })
        .await?;
    }
    ensure_held()?;

    assert_eq!(standby.end().await?, Exit::Signal(StopSignal::Terminate));
    assert_eq!(leader.end().await?, Exit::Signal(StopSignal::Terminate));
    Ok(())
}
