//! Tests of the ledger on a Lease in memory.

use bowline_core::{Fence, Unfenced};
use bowline_testkit::fence::TestFence;
use bowline_testkit::memory_cluster::MemoryCluster;
use serde_json::{Value, json};

use super::*;

struct Bench {
    cluster: MemoryCluster,
    client: Client,
    place: LedgerPlace,
}

impl Bench {
    fn new() -> Self {
        let cluster = MemoryCluster::default();
        let client = cluster.client();
        Self { cluster, client, place: LedgerPlace::beside("kube-system", "ccm") }
    }

    fn path(&self) -> String {
        format!("/apis/coordination.k8s.io/v1/namespaces/{}/leases/{}", self.place.namespace, self.place.name)
    }

    fn annotations(&self) -> Value {
        let lease = self.cluster.get(&self.path()).unwrap_or_default();
        lease["metadata"]["annotations"].clone()
    }

    /// What stands on the Lease about Services.
    fn says(&self) -> String {
        self.annotations()[Subject::Service.annotation()].as_str().unwrap_or_default().to_owned()
    }

    /// A process with a ledger, which is kept until the token says to stop.
    fn process(&self, fence: Arc<dyn Fence>) -> (Ledger, CancellationToken, tokio::task::JoinHandle<()>) {
        let (ledger, stop) = (Ledger::default(), CancellationToken::new());
        let writer = Writer::new(self.client.clone(), fence, Duration::from_secs(5));
        let (kept, client, place, cancel) =
            (ledger.clone(), self.client.clone(), self.place.clone(), stop.clone());
        let task = tokio::spawn(async move {
            kept.read(&client, &place).await;
            kept.keep(&client, &writer, &place, &cancel).await;
        });
        (ledger, stop, task)
    }

    fn writes(&self) -> usize {
        self.cluster.writes().len()
    }
}

#[tokio::test(start_paused = true)]
async fn many_facts_are_one_write_and_the_next_process_has_them() {
    let bench = Bench::new();
    let (ledger, stop, task) = bench.process(Arc::new(Unfenced));
    sleep(GATHER).await;
    assert_eq!(bench.writes(), 0, "nothing to say");
    for number in 0..1000 {
        ledger.note(Subject::Service, &format!("u-{number}").into(), "fact".into());
    }
    sleep(2 * GATHER).await;
    assert_eq!(bench.writes(), 1);
    ledger.note(Subject::Service, &"u-7".into(), "fact".into());
    sleep(2 * GATHER).await;
    assert_eq!(bench.writes(), 1, "it says so already");
    ledger.note(Subject::Service, &"u-7".into(), "newer".into());
    stop.cancel();
    task.await.unwrap();
    assert_eq!(bench.writes(), 2, "the last is written at the end");

    let (next, stop, task) = bench.process(Arc::new(Unfenced));
    sleep(GATHER).await;
    assert_eq!(
        (
            next.about(Subject::Service, "u-7"),
            next.about(Subject::Service, "u-999"),
            next.about(Subject::Service, "u-1000")
        ),
        (Some("newer".into()), Some("fact".into()), None)
    );
    next.keeps_only(Subject::Service, &BTreeSet::from(["u-7".into()]));
    next.forget(Subject::Service, "u-7");
    sleep(2 * GATHER).await;
    assert_eq!(bench.says(), "");
    stop.cancel();
    task.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn nothing_is_written_behind_a_closed_fence_and_all_of_it_when_it_opens() {
    let bench = Bench::new();
    let gate = TestFence::closed();
    let (ledger, stop, task) = bench.process(Arc::new(gate.clone()));
    ledger.note(Subject::Service, &"u-1".into(), "a".into());
    sleep(4 * GATHER).await;
    assert_eq!(bench.writes(), 0);
    gate.open();
    sleep(3 * GATHER).await;
    assert_eq!(bench.says(), "u-1 a\n");
    stop.cancel();
    task.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn who_else_writes_or_deletes_the_lease_delays_it_and_loses_nothing() {
    let bench = Bench::new();
    let (ledger, stop, task) = bench.process(Arc::new(Unfenced));
    ledger.note(Subject::Service, &"u-1".into(), "a".into());
    sleep(2 * GATHER).await;
    bench.cluster.edit(&bench.path(), |lease| lease["metadata"]["annotations"]["theirs"] = json!("stays"));
    ledger.note(Subject::Service, &"u-2".into(), "b".into());
    sleep(4 * GATHER).await;
    assert_eq!(bench.says(), "u-1 a\nu-2 b\n");
    assert_eq!(bench.annotations()["theirs"], "stays");

    bench.cluster.delete(&bench.path());
    ledger.note(Subject::Service, &"u-3".into(), "c".into());
    sleep(4 * GATHER).await;
    assert_eq!(bench.says(), "u-1 a\nu-2 b\nu-3 c\n");

    bench.cluster.edit(&bench.path(), |lease| lease["metadata"]["annotations"]["theirs"] = json!("newer"));
    ledger.forget(Subject::Service, "u-2");
    sleep(4 * GATHER).await;
    assert_eq!(bench.says(), "u-1 a\nu-3 c\n", "what is gone does not come back with a conflict");
    stop.cancel();
    task.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn facts_about_nodes_outlive_the_services_controller_dropping_its_own_and_reach_the_next_process() {
    let bench = Bench::new();
    let (ledger, stop, task) = bench.process(Arc::new(Unfenced));
    ledger.note(Subject::Node, &"n-1".into(), "cloud://1".into());
    ledger.note(Subject::Service, &"s-1".into(), "a".into());
    ledger.keeps_only(Subject::Service, &BTreeSet::new());
    stop.cancel();
    task.await.unwrap();
    assert_eq!(bench.says(), "");

    let (next, stop, task) = bench.process(Arc::new(Unfenced));
    sleep(GATHER).await;
    assert_eq!(next.about(Subject::Node, "n-1"), Some("cloud://1".into()));
    assert_eq!(next.about(Subject::Service, "n-1"), None);
    next.keeps_only(Subject::Node, &BTreeSet::new());
    assert_eq!(next.about(Subject::Node, "n-1"), None);
    stop.cancel();
    task.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_fact_that_is_forgotten_before_it_was_written_costs_no_write() {
    let bench = Bench::new();
    let (ledger, stop, task) = bench.process(Arc::new(Unfenced));
    for _join in 0..3 {
        ledger.note(Subject::Node, &"n-1".into(), "cloud://1".into());
        ledger.forget(Subject::Node, "n-1");
        sleep(2 * GATHER).await;
    }
    assert_eq!(bench.writes(), 0);
    stop.cancel();
    task.await.unwrap();
}
