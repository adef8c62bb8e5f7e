//! Watches all Nodes and Services from beginning to end: the latest of each, and what must never be seen.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bowline_testkit::nodes::{UNINITIALIZED, addresses, provider_id};
use futures::StreamExt;
use k8s_openapi::api::core::v1::{Node, Service};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher;
use kube::runtime::watcher::Event;
use kube::{Api, ResourceExt};
use real_kubernetes_tests::framework::server::Served;
use tokio::task::{AbortHandle, JoinHandle};

use crate::harness::Harness;
use crate::kubelet::has_taint;

/// What was seen. Clones share it.
#[derive(Clone)]
pub(crate) struct World {
    seen: Arc<Mutex<Seen>>,
    pub(crate) client: kube::Client,
    pub(crate) cloud: Served,
}

#[derive(Default)]
struct Seen {
    nodes: BTreeMap<String, Node>,
    services: BTreeMap<String, Service>,
    node_versions: usize,
    node_deletions: usize,
    service_versions: usize,
    /// UIDs of Nodes whose machine is gone and that are not ready.
    may_go: BTreeSet<String>,
    wrongs: Vec<String>,
    watches: Vec<AbortHandle>,
}

impl World {
    /// Begins to watch, until [`Self::look_away`].
    pub(crate) fn watch(site: &Harness) -> Self {
        let world = Self { seen: Arc::default(), client: site.client.clone(), cloud: site.cloud.clone() };
        let watches =
            [tokio::spawn(world.clone().watch_nodes()), tokio::spawn(world.clone().watch_services())];
        world.seen().watches.extend(watches.iter().map(JoinHandle::abort_handle));
        world
    }

    /// Looks away: what comes now is the end of the API server.
    pub(crate) fn look_away(&self) {
        self.seen().watches.drain(..).for_each(|watch| watch.abort());
    }

    pub(crate) fn node(&self, name: &str) -> Option<Node> {
        self.seen().nodes.get(name).cloned()
    }

    pub(crate) fn service(&self, name: &str) -> Option<Service> {
        self.seen().services.get(name).cloned()
    }

    /// From now on this Node may be deleted.
    pub(crate) fn may_go(&self, node: &Node) {
        self.seen().may_go.extend(node.uid());
    }

    /// What should never have been seen.
    pub(crate) fn wrongs(&self) -> Vec<String> {
        self.seen().wrongs.clone()
    }

    /// Versions of Nodes, deletions of Nodes, versions of Services that passed by.
    pub(crate) fn figures(&self) -> (usize, usize, usize) {
        let seen = self.seen();
        (seen.node_versions, seen.node_deletions, seen.service_versions)
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn watch_nodes(self) {
        let mut events = watcher(Api::<Node>::all(self.client.clone()), watcher::Config::default())
            .default_backoff()
            .boxed();
        while let Some(event) = events.next().await {
            match event {
                Ok(Event::Apply(node) | Event::InitApply(node)) => self.seen().node_is(node),
                Ok(Event::Delete(node)) => self.seen().node_went(&node),
                Ok(Event::Init | Event::InitDone) => {}
                Err(error) => self.seen().missed(&error),
            }
        }
    }

    async fn watch_services(self) {
        let mut events = watcher(Api::<Service>::all(self.client.clone()), watcher::Config::default())
            .default_backoff()
            .boxed();
        while let Some(event) = events.next().await {
            match event {
                Ok(Event::Apply(service) | Event::InitApply(service)) => self.seen().service_is(service),
                Ok(Event::Delete(service)) => self.service_went(&service),
                Ok(Event::Init | Event::InitDone) => {}
                Err(error) => self.seen().missed(&error),
            }
        }
    }

    /// Its UID never comes again, so that nothing may be left in the cloud by now.
    fn service_went(&self, service: &Service) {
        let uid = service.uid().unwrap_or_default();
        self.seen().services.remove(&service.name_any());
        if self.cloud.with(|cloud| cloud.balancers.values().any(|balancer| balancer.owner == uid)) {
            let name = service.name_any();
            self.seen().wrongs.push(format!("Service {name} is gone, and its load balancer is not"));
        }
    }
}

impl Seen {
    /// A watch that begins anew has not seen everything: then nothing is proven.
    fn missed(&mut self, error: &watcher::Error) {
        self.wrongs
            .push(format!("a watch of this test broke, so that something may not have been seen: {error}"));
    }

    fn node_is(&mut self, node: Node) {
        self.node_versions += 1;
        let name = node.name_any();
        let has_ip = addresses(&node).iter().any(|(kind, _)| kind == "InternalIP");
        if !has_taint(&node, UNINITIALIZED) && !has_ip {
            self.wrongs.push(format!("node {name} is schedulable without an address"));
        }
        if let Some(before) = self.nodes.get(&name).filter(|before| before.uid() == node.uid()) {
            if !provider_id(before).is_empty() && provider_id(before) != provider_id(&node) {
                self.wrongs.push(format!("the provider ID of node {name} changed"));
            }
            if !has_taint(before, UNINITIALIZED) && has_taint(&node, UNINITIALIZED) {
                self.wrongs.push(format!("node {name} is uninitialised again"));
            }
        }
        self.nodes.insert(name, node);
    }

    fn service_is(&mut self, service: Service) {
        self.service_versions += 1;
        self.services.insert(service.name_any(), service);
    }

    fn node_went(&mut self, node: &Node) {
        self.node_deletions += 1;
        let name = node.name_any();
        self.nodes.remove(&name);
        if !node.uid().is_some_and(|uid| self.may_go.contains(&uid)) {
            self.wrongs.push(format!("node {name} was deleted, although nothing was wrong with it"));
        }
    }
}
