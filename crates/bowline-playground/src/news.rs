//! Sees what happens in the cluster and in the cloud, and tells it. Watches the API server as any client does, from inside.

mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use futures::{Stream, StreamExt};
use k8s_openapi::api::core::v1::{Event, Node, Service};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, ResourceExt};
use sim_kube::SimKube;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};
use tokio_util::task::AbortOnDropHandle;

use self::words::{NodeSight, ServiceSight, Words};
use crate::cloud::Cloud;
use crate::terminal::{Terminal, Tone};

/// How often the load balancers are looked at.
const LOOK: Duration = Duration::from_millis(100);

/// Where a look takes long, because there are thousands, the pause after it is so many times as long.
const REST: u32 = 10;

/// How things stand in a cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Standing {
    /// Nodes.
    pub(crate) nodes: usize,
    /// Those that the manager has initialised.
    pub(crate) initialised: usize,
    /// Those that are Ready.
    pub(crate) ready: usize,
    /// Services that want a load balancer.
    pub(crate) services: usize,
    /// Those that have an address.
    pub(crate) addressed: usize,
}

/// What is told of a cluster. Ends when it is dropped.
pub(crate) struct News {
    /// How things stand.
    pub(crate) standing: watch::Receiver<Standing>,
    teller: Arc<Teller>,
    working: Vec<AbortOnDropHandle<()>>,
}

struct Teller {
    terminal: Terminal,
    /// Before every name: to tell clusters apart.
    prefix: &'static str,
    is_quiet: AtomicBool,
}

impl Teller {
    fn tell(&self, words: Option<Words>, subject: &str) {
        if let Some(Words { tone, text }) = words.filter(|_| !self.is_quiet.load(Relaxed)) {
            self.terminal.tell(tone, subject, &format!("{}{text}", self.prefix));
        }
    }
}

impl News {
    /// Begins to tell of a cluster, and of the cloud if it is handed in.
    pub(crate) fn start(
        kube: SimKube,
        cloud: Option<Arc<Cloud>>,
        terminal: Terminal,
        prefix: &'static str,
    ) -> Self {
        let teller = Arc::new(Teller { terminal, prefix, is_quiet: AtomicBool::new(false) });
        let (sender, standing) = watch::channel(Standing::default());
        let sender = Arc::new(sender);
        let client = Client::new(kube, "default");
        let nodes = follow_nodes(Api::all(client.clone()), Arc::clone(&teller), Arc::clone(&sender));
        let services = follow_services(Api::all(client.clone()), Arc::clone(&teller), sender);
        let events = follow_events(Api::all(client), Arc::clone(&teller));
        let mut working = vec![tokio::spawn(nodes), tokio::spawn(services), tokio::spawn(events)];
        working.extend(cloud.map(|cloud| tokio::spawn(follow_balancers(cloud, Arc::clone(&teller)))));
        Self { standing, teller, working: working.into_iter().map(AbortOnDropHandle::new).collect() }
    }

    /// Tells nothing from now on, or everything again.
    pub(crate) fn quiet(&self, quiet: bool) {
        self.teller.is_quiet.store(quiet, Relaxed);
    }

    /// Ends it. When this returns, no line is written any more, not even one that was being written on another thread.
    pub(crate) async fn end(self) {
        for task in &self.working {
            task.abort();
        }
        for task in self.working {
            // Aborting is what ends them.
            task.await.ok();
        }
    }

    /// How things stand now.
    pub(crate) fn now(&self) -> Standing {
        *self.standing.borrow()
    }
}

/// Goes through what a watch says, as pairs of what was and what is. Starts again when it breaks.
async fn follow<K, V, S>(
    stream: S,
    sight: impl Fn(&K) -> V,
    mut changed: impl FnMut(&str, Option<&V>, Option<&V>),
) where
    K: kube::Resource,
    S: Stream<Item = Result<watcher::Event<K>, watcher::Error>>,
{
    let mut known: BTreeMap<String, V> = BTreeMap::new();
    let mut listed = BTreeSet::new();
    let mut stream = std::pin::pin!(stream);
    while let Some(event) = stream.next().await {
        match event {
            Ok(watcher::Event::Apply(object) | watcher::Event::InitApply(object)) => {
                let (name, new) = (name_of(&object), sight(&object));
                changed(&name, known.get(&name), Some(&new));
                listed.insert(name.clone());
                known.insert(name, new);
            }
            Ok(watcher::Event::Delete(object)) => {
                let name = name_of(&object);
                changed(&name, known.remove(&name).as_ref(), None);
            }
            Ok(watcher::Event::Init) => listed.clear(),
            Ok(watcher::Event::InitDone) => {
                let gone: Vec<String> =
                    known.keys().filter(|name| !listed.contains(*name)).cloned().collect();
                for name in gone {
                    changed(&name, known.remove(&name).as_ref(), None);
                }
            }
            // It broke: what was missed is listed.
            Err(_) => {}
        }
    }
}

fn name_of<K: kube::Resource>(object: &K) -> String {
    match object.namespace() {
        Some(namespace) => format!("{namespace}/{}", object.name_any()),
        None => object.name_any(),
    }
}

async fn follow_nodes(api: Api<Node>, teller: Arc<Teller>, standing: Arc<watch::Sender<Standing>>) {
    let stream = watcher(api, watcher::Config::default()).default_backoff();
    follow(stream, NodeSight::of, |name, old, new| {
        standing.send_modify(|standing| {
            count(&mut standing.nodes, old, new, |_| true);
            count(&mut standing.initialised, old, new, |node| !node.is_tainted);
            count(&mut standing.ready, old, new, |node| node.is_ready);
        });
        teller.tell(words::of_node(name, old, new), "node");
    })
    .await;
}

async fn follow_services(api: Api<Service>, teller: Arc<Teller>, standing: Arc<watch::Sender<Standing>>) {
    let stream = watcher(api, watcher::Config::default()).default_backoff();
    follow(stream, ServiceSight::of, |name, old, new| {
        standing.send_modify(|standing| {
            count(&mut standing.services, old, new, |service| service.is_balanced);
            count(&mut standing.addressed, old, new, |service| {
                service.is_balanced && service.address.is_some()
            });
        });
        teller.tell(words::of_service(name, old, new), "service");
    })
    .await;
}

async fn follow_events(api: Api<Event>, teller: Arc<Teller>) {
    let stream = watcher(api, watcher::Config::default()).default_backoff();
    let text = |event: &Event| words::of_event(event);
    follow(stream, text, |_, old, new| {
        if let Some(Some(words)) = new
            && old != new
        {
            teller.tell(Some(words.clone()), "event");
        }
    })
    .await;
}

/// Keeps a count of those that are so.
fn count<V>(count: &mut usize, old: Option<&V>, new: Option<&V>, is_so: impl Fn(&V) -> bool) {
    let (was, is) = (old.is_some_and(&is_so), new.is_some_and(&is_so));
    *count = (*count + usize::from(is)).saturating_sub(usize::from(was));
}

async fn follow_balancers(cloud: Arc<Cloud>, teller: Arc<Teller>) {
    let mut known: BTreeMap<String, (String, String)> = BTreeMap::new();
    loop {
        let began = Instant::now();
        for (name, status) in cloud.service.with(|cloud| changed_balancers(cloud.state(), &mut known)) {
            let tone = match status.as_str() {
                "ACTIVE" => Tone::Good,
                "ERROR" => Tone::Bad,
                _ => Tone::Plain,
            };
            teller.tell(Some(Words { tone, text: format!("load balancer {name} is {status}") }), "cloud");
        }
        sleep(LOOK.max(began.elapsed() * REST)).await;
    }
}

/// The load balancers that are not as they were, by name and status.
fn changed_balancers(
    state: &sim_openstack::State,
    known: &mut BTreeMap<String, (String, String)>,
) -> Vec<(String, String)> {
    let all = &state.load_balancer.load_balancers;
    let mut changed = Vec::new();
    for balancer in all.iter() {
        let status = &balancer.provisioning_status;
        if known.get(&balancer.id).is_none_or(|(_, was)| was != status) {
            changed.push((balancer.name.clone(), status.clone()));
            known.insert(balancer.id.clone(), (balancer.name.clone(), status.clone()));
        }
    }
    known.retain(|id, (name, _)| {
        let is_there = all.contains(id);
        if !is_there {
            changed.push((name.clone(), "gone".to_owned()));
        }
        is_there
    });
    changed
}

#[cfg(test)]
mod tests;
