//! Elections against an API server over HTTP, which the thread of the test serves, while the work of a manager blocks its own
//! runtime for longer than a Lease lasts.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Instant;

use anyhow::ensure;
use bowline_cloud::Cloud;
use bowline_kube::client::{AnswerBudget, ClientFactory};
use bowline_kube::clock::Clock;
use bowline_kube::lease::{Elector, LeaseConfig, LeaseMetrics, Lost};
use bowline_testkit::eventually;
use bowline_testkit::provider::FakeCloud;
use bowline_testkit::simulated::SimulatedCluster;
use bytes::Bytes;
use futures::stream::pending;
use http::{Request, Response};
use http_body_util::{BodyExt, Either, StreamBody};
use hyper::body::Frame;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Node;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::client::Body;
use kube::{Api, Client};
use sim_kube::SimKube;
use tower::{BoxError, Service, ServiceExt, service_fn};

use super::*;
use crate::clients::Clients;
use crate::exit::{Exit, StopSignal};
use crate::locks::Lock;
use crate::logging::{LoggingOptions, subscriber};
use crate::signals::Signals;
use crate::{CloudControllerManager, Surroundings};

const LEASE: Duration = Duration::from_secs(6);
const RENEW: Duration = Duration::from_secs(5);
const RETRY: Duration = Duration::from_millis(250);

/// How often a test checks that something stays as it is.
const CHECK: Duration = Duration::from_millis(20);

/// How many worker threads a runtime with several has in these tests.
const WORKERS: usize = 2;

fn config(identity: &str) -> LeaseConfig {
    LeaseConfig {
        namespace: "kube-system".to_owned(),
        name: "cloud-controller-manager".to_owned(),
        identity: identity.to_owned(),
        lease_duration: LEASE,
        renew_deadline: RENEW,
        retry_period: RETRY,
    }
}

/// A candidate whose connections belong to `runtime`.
fn compete(runtime: &ElectionRuntime, api: SocketAddr, identity: &str) -> Lock {
    let url = format!("http://{api}").parse().unwrap();
    let factory = ClientFactory::new(kube::Config::new(url), "test", "0", 50.0, 50);
    let _entered = runtime.enter();
    let client = factory.client("leader-election").unwrap();
    let config = config(identity);
    let elector = Elector::new(client, config.clone(), Clock::system(), LeaseMetrics::default(), 1).unwrap();
    Lock::compete_on(runtime, config, elector)
}

/// Who holds the Lease, and how often it changed hands; read from memory, past every connection.
async fn lease(kube: &SimKube) -> (String, i32) {
    let leases: Api<Lease> = Api::namespaced(Client::new(kube.clone(), "default"), "kube-system");
    let found = leases.get_opt("cloud-controller-manager").await.unwrap();
    let spec = found.and_then(|lease| lease.spec).unwrap_or_default();
    (spec.holder_identity.unwrap_or_default(), spec.lease_transitions.unwrap_or_default())
}

/// Blocks the threads of a runtime.
#[derive(Default)]
struct Block {
    /// How many threads are blocked.
    threads: AtomicUsize,
    /// They may go on.
    over: AtomicBool,
}

impl Block {
    /// Blocks the thread. It sleeps between its checks, so that other tests have the processor; no task of the runtime runs on
    /// this thread meanwhile, just as if it computed.
    fn hold(&self) {
        self.threads.fetch_add(1, Ordering::SeqCst);
        while !self.over.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Waits until this many threads of a process are blocked.
    async fn holds<T>(&self, threads: usize, process: &JoinHandle<T>) {
        let blocked = eventually("the process leads and is blocked", async || {
            ensure!(!process.is_finished(), "it ended before it led");
            Ok((self.threads.load(Ordering::SeqCst) >= threads).then_some(()))
        });
        blocked.await.unwrap();
    }
}

/// Waits for the end of a process, while this thread serves its API server.
async fn joined<T>(process: JoinHandle<T>) -> T {
    let ended = async || Ok(process.is_finished().then_some(()));
    eventually("the process ends", ended).await.unwrap();
    process.join().unwrap()
}

/// A cloud that blocks every thread of the runtime once the manager leads.
fn blocking(block: &Arc<Block>) -> Arc<dyn Cloud> {
    let block = Arc::clone(block);
    Arc::new(FakeCloud::default().initialized_by(move || {
        let block = Arc::clone(&block);
        async move {
            for _ in 0..WORKERS {
                let block = Arc::clone(&block);
                tokio::spawn(async move { block.hold() });
            }
            block.hold();
            Ok(())
        }
    }))
}

/// Runs a whole manager, as the binary does, on a runtime of `kind` with so many `threads`, while its work blocks all of them for
/// longer than the Lease lasts and another replica waits for the Lease.
async fn a_blocked_manager_keeps_its_lease(mut kind: Builder, threads: usize) {
    let api = SimulatedCluster::start(sim_kube::Config::real()).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("kubeconfig");
    std::fs::write(&kubeconfig, api.kubeconfig()).unwrap();
    let (block, signals) = (Arc::new(Block::default()), Signals::default());
    let manager = {
        let block = Arc::clone(&block);
        CloudControllerManager::new("test", "v0").cloud("fake", move |_config| Ok(blocking(&block)))
    };
    let arguments = [
        "--cloud-provider=fake".to_owned(),
        format!("--kubeconfig={}", kubeconfig.display()),
        "--secure-port=0".to_owned(),
        format!("--leader-elect-lease-duration={}s", LEASE.as_secs()),
        format!("--leader-elect-renew-deadline={}s", RENEW.as_secs()),
        format!("--leader-elect-retry-period={}ms", RETRY.as_millis()),
    ];
    let (_dispatch, log_level) = subscriber(&LoggingOptions::default(), io::sink).unwrap();
    let around = Surroundings { signals: signals.clone(), log_level };
    let process = std::thread::spawn(move || {
        let runtime = kind.enable_all().build().unwrap();
        runtime.block_on(manager.run_inside(&arguments, around))
    });

    block.holds(threads, &process).await;
    let (holder, _) = lease(&api.kube).await;
    assert!(!holder.is_empty());
    let standby = compete(&ElectionRuntime::of_caller(), api.address, "standby");
    let blocked = Instant::now();
    while blocked.elapsed() < LEASE + RETRY * 2 {
        assert_eq!(lease(&api.kube).await, (holder.clone(), 0));
        sleep(CHECK).await;
    }
    assert!(!standby.has_led());

    signals.note(StopSignal::Terminate);
    block.over.store(true, Ordering::SeqCst);
    standby.leading().await.unwrap();
    assert_eq!(joined(process).await, Exit::Signal(StopSignal::Terminate), "it ended as it was asked to");
    assert_eq!(lease(&api.kube).await.0, "standby", "and gave the Lease back");
}

#[tokio::test]
async fn a_manager_whose_work_blocks_its_only_thread_keeps_its_lease() {
    a_blocked_manager_keeps_its_lease(Builder::new_current_thread(), 1).await;
}

#[tokio::test]
async fn a_manager_whose_work_blocks_all_its_threads_keeps_its_lease() {
    let mut kind = Builder::new_multi_thread();
    kind.worker_threads(WORKERS);
    // The thread that runs the manager itself is none of the workers.
    a_blocked_manager_keeps_its_lease(kind, WORKERS + 1).await;
}

#[tokio::test]
async fn a_process_whose_work_hangs_gives_its_lease_up_and_another_replica_takes_over() {
    let api = SimulatedCluster::start(sim_kube::Config::real()).await.unwrap();
    let address = api.address;
    let block = Arc::new(Block::default());
    let hangs = Arc::clone(&block);
    // However slow the machine is, the runtime counts as hung only while it is blocked.
    let blocked = CancellationToken::new();
    let watched = blocked.clone();
    let process = std::thread::spawn(move || {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let electors = ElectionRuntime::with_limit(Duration::from_millis(500), watched).unwrap();
            let lock = compete(&electors, address, "hung");
            lock.leading().await.unwrap();
            hangs.hold();
            // What the manager hears when it goes on.
            let lost = lock.lost().await;
            (lost, bowline_cloud::Fence::check(&lock.fence()).unwrap_err().why)
        })
    });
    block.holds(1, &process).await;
    blocked.cancel();
    let standby = compete(&ElectionRuntime::of_caller(), api.address, "standby");
    standby.leading().await.unwrap();
    block.over.store(true, Ordering::SeqCst);
    let (lost, fence) = joined(process).await;
    assert_eq!(lost, Lost::Hung { after: Duration::from_millis(500) });
    assert!(fence.contains("ran none of its tasks for 500ms"), "{fence}");
}

/// An API server in memory, whose answers about Nodes begin and do not end.
fn server_whose_nodes_do_not_end(
    kube: SimKube,
) -> impl Service<
    Request<Body>,
    Response = Response<impl BodyExt<Data = Bytes, Error = BoxError> + Send>,
    Error = BoxError,
    Future: Send,
> + Clone
+ Send
+ Sync
+ 'static {
    service_fn(move |request: Request<Body>| {
        let kube = kube.clone();
        async move {
            if request.uri().path().starts_with("/api/v1/nodes") {
                let body = StreamBody::new(pending::<Result<Frame<Bytes>, BoxError>>());
                return Ok(Response::new(Either::Left(body)));
            }
            Ok(kube.oneshot(request).await?.map(Either::Right))
        }
    })
}

#[tokio::test]
async fn answers_that_take_all_memory_and_do_not_end_do_not_cost_the_lease() {
    let (kube, memory) = (SimKube::new(sim_kube::Config::real()), AnswerBudget::new(64 << 20));
    let url = "https://api.example:6443".parse().unwrap();
    let factory = ClientFactory::new(kube::Config::new(url), "test", "0", 50.0, 50)
        .with_answer_budget(memory.clone())
        .in_memory(server_whose_nodes_do_not_end(kube.clone()));
    let clients = Clients::new(factory, false, Clock::system()).unwrap();
    let nodes: Api<Node> = Api::all(clients.root("node-controller").unwrap());
    let _held: Vec<_> = (0..4)
        .map(|_| {
            let nodes = nodes.clone();
            tokio::spawn(async move { nodes.get("n").await.map(drop) })
        })
        .collect();
    let is_used_up = async || Ok((memory.free_bytes() == 0).then_some(()));
    eventually("no memory is free", is_used_up).await.unwrap();
    let (client, config) = (clients.leader_election().unwrap(), config("a"));
    let elector = Elector::new(client, config.clone(), Clock::system(), LeaseMetrics::default(), 1).unwrap();
    let lock = Lock::compete_on(&ElectionRuntime::of_caller(), config, elector);
    lock.leading().await.unwrap();
    let taken = renewed_at(&kube).await;
    let is_renewed = async || Ok((renewed_at(&kube).await != taken).then_some(()));
    eventually("the Lease is renewed", is_renewed).await.unwrap();
    assert_eq!(memory.free_bytes(), 0, "all along");
}

/// When the Lease was renewed last.
async fn renewed_at(kube: &SimKube) -> Option<MicroTime> {
    let leases: Api<Lease> = Api::namespaced(Client::new(kube.clone(), "default"), "kube-system");
    leases.get("cloud-controller-manager").await.unwrap().spec?.renew_time
}

#[tokio::test]
async fn what_runs_on_the_thread_ends_with_the_runtime() {
    let runtime = ElectionRuntime::on_own_thread().unwrap();
    let ended = CancellationToken::new();
    let guard = ended.clone().drop_guard();
    runtime.handle().spawn(async move {
        let _guard = guard;
        std::future::pending::<()>().await;
    });
    drop(runtime);
    ended.cancelled().await;
}
