//! What is seen of a run all the time: phases as they come, addresses that must stay, nodes that must not go.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bowline_operator::api::CloudControllerManager;
use futures::{StreamExt, pin_mut};
use k8s_openapi::api::core::v1::{Node, Service};
use kube::runtime::watcher::{self, watcher};
use kube::{Api, Client, Resource, ResourceExt};
use real_kubernetes_tests::migration::plan::PHASES;
use serde::de::DeserializeOwned;
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::harness::addresses;

/// In place of a phase, when somebody took the status away.
const LOST: &str = "lost";

/// A phase that was seen.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) phase: String,
    pub(crate) at: Duration,
    /// What was told first, and last.
    pub(crate) messages: [String; 2],
}

#[derive(Default)]
struct Sight {
    phases: Vec<Seen>,
    problems: Vec<String>,
    /// Addresses of Services that must stay; those that are deleted are taken out.
    kept: BTreeMap<String, Vec<String>>,
}

/// What is seen; nothing more when this is dropped.
pub(crate) struct Watch {
    sight: Arc<Mutex<Sight>>,
    _stop: DropGuard,
}

impl Watch {
    /// Watches everything from now on.
    pub(crate) fn start(client: &Client, kept: BTreeMap<String, Vec<String>>, began: Instant) -> Self {
        let sight = Arc::new(Mutex::new(Sight { kept, ..Sight::default() }));
        let stop = CancellationToken::new();
        let (of_phases, of_services, of_nodes) = (sight.clone(), sight.clone(), sight.clone());
        spawn(&stop, Api::<CloudControllerManager>::all(client.clone()), move |resource, _| {
            lock(&of_phases).phase(&resource, began.elapsed());
        });
        spawn(&stop, Api::<Service>::namespaced(client.clone(), "default"), move |service, is_gone| {
            lock(&of_services).service(&service, is_gone);
        });
        spawn(&stop, Api::<Node>::all(client.clone()), move |node, is_gone| {
            if is_gone {
                lock(&of_nodes).problems.push(format!("node {} was deleted", node.name_any()));
            }
        });
        Self { sight, _stop: stop.drop_guard() }
    }

    /// The phases so far.
    pub(crate) fn phases(&self) -> Vec<Seen> {
        lock(&self.sight).phases.clone()
    }

    /// The latest phase.
    pub(crate) fn phase(&self) -> Option<Seen> {
        lock(&self.sight).phases.last().cloned()
    }

    /// The place in [`PHASES`] of the furthest phase so far.
    pub(crate) fn furthest(&self) -> Option<usize> {
        let sight = lock(&self.sight);
        sight.phases.iter().filter_map(|seen| PHASES.iter().position(|phase| *phase == seen.phase)).max()
    }

    /// A Service is about to be deleted.
    pub(crate) fn let_go(&self, service: &str) {
        lock(&self.sight).kept.remove(service);
    }

    /// What must not have been seen.
    pub(crate) fn problems(&self) -> Vec<String> {
        lock(&self.sight).problems.clone()
    }
}

fn lock(sight: &Mutex<Sight>) -> MutexGuard<'_, Sight> {
    sight.lock().unwrap_or_else(PoisonError::into_inner)
}

fn spawn<K>(stop: &CancellationToken, api: Api<K>, see: impl Fn(K, bool) + Send + 'static)
where
    K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
{
    let watching = async move {
        let events = watcher(api, watcher::Config::default());
        pin_mut!(events);
        while let Some(event) = events.next().await {
            match event {
                Ok(watcher::Event::Apply(object) | watcher::Event::InitApply(object)) => see(object, false),
                Ok(watcher::Event::Delete(object)) => see(object, true),
                Ok(_) | Err(_) => {}
            }
        }
    };
    tokio::spawn(stop.clone().run_until_cancelled_owned(watching));
}

impl Sight {
    fn phase(&mut self, resource: &CloudControllerManager, at: Duration) {
        let status = resource.status.clone().unwrap_or_default();
        let phase = status.migration.map_or_else(|| LOST.to_owned(), |migration| migration.phase.to_string());
        let message = status.message.unwrap_or_default();
        if phase == LOST && self.phases.is_empty() {
            return;
        }
        match self.phases.last_mut() {
            Some(last) if last.phase == phase => last.messages[1] = message,
            _ => self.phases.push(Seen { phase, at, messages: [message.clone(), message] }),
        }
    }

    fn service(&mut self, service: &Service, is_gone: bool) {
        let name = service.name_any();
        let Some(then) = self.kept.get(&name) else { return };
        let now = addresses(service);
        if is_gone {
            self.problems.push(format!("Service {name} was deleted"));
        } else if *then != now {
            self.problems.push(format!("Service {name} had the addresses {then:?} and has {now:?}"));
        }
    }
}
