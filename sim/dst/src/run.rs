//! One run, from its case to its report: in one thread, on virtual time.

use std::sync::Arc;
use std::time::Duration;

use bowline_manager::exit::Exit;
use parking_lot::Mutex;
use prometheus_client::registry::Registry;
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use tokio::time::{Instant, sleep, sleep_until};

use crate::action::Action;
use crate::case::Case;
use crate::fault::Faults;
use crate::invariants::{Judge, Rule};
use crate::kube_link::KubeLink;
use crate::net::Net;
use crate::replica::{Birth, start};
use crate::report::Report;
use crate::world::{TURN, World};

/// The pause between two looks whether it is.
const LOOK: Duration = Duration::from_secs(10);

/// A process that could not start is started again after this.
const AGAIN: Duration = Duration::from_secs(10);

/// Watches whose events are held back are looked at again after this.
const HELD: Duration = Duration::from_secs(5);

/// Runs a case.
#[must_use]
pub fn run(case: &Case) -> Report {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = runtime.expect("a runtime can be made");
    let report = runtime.block_on(live(case));
    runtime.shutdown_background();
    report
}

async fn live(case: &Case) -> Report {
    let net = Net::new(Faults::new(case.faults.clone()));
    let judge = Judge::new(World::new(&case.setting), net.clone());
    judge.world.kube.intercept(KubeLink::new(Arc::clone(&judge)));
    if case.faults_begin.is_some() {
        net.stop_faults();
    }
    let predecessor = case.setting.predecessor.map(|until| tokio::spawn(precede(Arc::clone(&judge), until)));
    let registries: Registries = Arc::default();
    for slot in 0..case.setting.replicas {
        let judge = Arc::clone(&judge);
        tokio::spawn(keep_alive(judge, case.clone(), slot, Arc::clone(&registries)));
    }
    let looks = tokio::spawn(look_at_held_watches(Arc::clone(&judge)));
    let prompt = tokio::spawn(be_prompt(Arc::clone(&judge), case.clone()));
    let broken = net.broken();
    let rested = tokio::select! {
        biased;
        () = broken.notified() => None,
        rested = story(case, &judge) => rested,
    };
    looks.abort();
    prompt.abort();
    predecessor.inspect(tokio::task::JoinHandle::abort);
    let said = if case.setting.listens { all_said(&judge, &registries) } else { String::new() };
    let report = Report::of(case.clone(), net.findings(), said, judge.checks(), rested);
    // Nothing of a process may outlive its run.
    for process in net.living() {
        net.kill(&process);
    }
    judge.world.kube.intercept(sim_kube::NoFaults);
    report
}

/// Everything that users and operators can read: the objects of the cluster, and the metrics of every process there was.
fn all_said(judge: &Judge, registries: &Registries) -> String {
    let kinds = [
        ("", "nodes"),
        ("", "services"),
        ("", "events"),
        ("", "configmaps"),
        ("coordination.k8s.io", "leases"),
    ];
    let mut said = String::new();
    for object in kinds.iter().flat_map(|(group, plural)| judge.world.kube.stored(group, plural)) {
        said.push_str(&object.to_string());
    }
    for registry in registries.lock().iter() {
        prometheus_client::encoding::text::encode(&mut said, registry).expect("metrics can be written");
    }
    said
}

/// What every process counted, for whoever looks for secrets in it.
pub(crate) type Registries = Arc<Mutex<Vec<Arc<Registry>>>>;

/// Everything that is done, then rest.
async fn story(case: &Case, judge: &Judge) -> Option<Duration> {
    let began = Instant::now();
    let later = case.faults_begin.map(|begin| tokio::spawn(start_faults(judge.net.clone(), began + begin)));
    for timed in &case.actions {
        sleep_until(began + timed.at).await;
        judge.net.tell("people", &timed.action.to_string(), "");
        judge.world.perform(&timed.action, &judge.net);
    }
    sleep_until(began + case.end_of_faults()).await;
    later.inspect(tokio::task::JoinHandle::abort);
    judge.net.stop_faults();
    judge.net.tell("nobody", "no more faults from here on", "");
    let ended = Instant::now();
    let missing = loop {
        for stuck in judge.world.mend_stuck() {
            judge.net.tell("operator", &format!("sets {stuck} to ERROR, which never ended"), "");
        }
        for kept in judge.world.fail_over() {
            judge.net.tell("operator", &format!("fails {kept} over, which is in ERROR and kept"), "");
        }
        let missing = judge.missing();
        if missing.is_empty() || ended.elapsed() > case.setting.patience {
            break missing;
        }
        sleep(LOOK).await;
    };
    let wrong = if missing.is_empty() { missing } else { judge.wrong() };
    if !wrong.is_empty() {
        judge.net.violated(Rule::L1, wrong.join("; "));
        return None;
    }
    let rested = ended.elapsed();
    judge.net.tell("nobody", "all is as it is wanted", "");
    at_rest(case, judge).await;
    Some(rested)
}

async fn start_faults(net: Net, at: Instant) {
    sleep_until(at).await;
    net.start_faults();
    net.tell("nobody", "faults from here on", "");
}

/// Nothing is written any more once what is under way has ended.
async fn at_rest(case: &Case, judge: &Judge) {
    sleep(case.setting.settle).await;
    let since = judge.net.elapsed();
    sleep(case.setting.quiet).await;
    let effects = judge.net.effects_since(since);
    if !effects.is_empty() {
        judge.net.violated(Rule::L1, format!("not at rest: {effects:?}"));
    }
    let wrong = judge.wrong();
    if !wrong.is_empty() {
        judge.net.violated(Rule::L1, format!("not any more: {}", wrong.join("; ")));
    }
    judge.calls_are_few();
    judge.inherited_stays();
    judge.foreign_is_untouched("in the end");
    let silent = judge.silent_waits();
    if !silent.is_empty() {
        judge.net.violated(Rule::L3, format!("{silent:?} wait and do not say for what"));
    }
}

/// OpenStack's own manager leads, and is killed.
async fn precede(judge: Arc<Judge>, until: Duration) {
    let end = Instant::now() + until;
    while Instant::now() < end {
        judge.world.occm_turn();
        sleep(TURN).await;
    }
    judge.world.occm_ends();
    judge.takes_note();
    judge.net.tell("occm", "is killed", "");
}

/// A place in which one process after the other lives.
async fn keep_alive(judge: Arc<Judge>, case: Case, slot: usize, registries: Registries) {
    let seed = case.setting.seed.wrapping_mul(31).wrapping_add(slot as u64);
    let mut dice = Xoshiro256PlusPlus::seed_from_u64(seed);
    // Processes do not start at the same moment.
    sleep(Duration::from_millis(dice.random_range(0..1500))).await;
    for life in 0.. {
        let name = format!("ccm-{slot}-{life}");
        sleep(judge.world.newcomers_wait()).await;
        let skew = case.setting.skew * u32::try_from(slot).unwrap_or_default();
        let birth = Birth {
            judge: Arc::clone(&judge),
            name: name.clone(),
            skew,
            seed: dice.random(),
            piece: case.piece,
        };
        let Some((life, registry, signals)) = start(birth).await else {
            judge.net.tell(&name, "cannot start: its configuration is wrong", "");
            sleep(AGAIN).await;
            continue;
        };
        registries.lock().push(registry);
        let died = judge.net.born(&name, signals);
        let mut life = tokio::spawn(life);
        let exit: Option<Exit> = tokio::select! {
            biased;
            () = died.notified() => None,
            exit = &mut life => exit.ok(),
        };
        judge.net.ended(&name);
        judge.net.tell(&name, "has ended", &format!("{exit:?}"));
        sleep(Duration::from_millis(dice.random_range(200..8000))).await;
    }
}

/// L2: a Service whose own load balancer is in no trouble is served in time.
async fn be_prompt(judge: Arc<Judge>, case: Case) {
    let Some((number, within)) = case.setting.prompt else { return };
    let created =
        case.actions.iter().find(|timed| matches!(timed.action, Action::Create(one, _) if one == number));
    let Some(created) = created else { return };
    sleep(created.at + within).await;
    judge.is_served(number);
}

/// A delayed event arrives in the end.
async fn look_at_held_watches(judge: Arc<Judge>) {
    loop {
        sleep(HELD).await;
        judge.world.kube.wake_watches();
    }
}
