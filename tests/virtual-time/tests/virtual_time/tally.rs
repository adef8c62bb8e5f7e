//! Counts what was asked of the cloud and written to the cluster, and prints it.

use std::fmt::Write as _;

use http::Method;
use sim_openstack::{LogEntry, Service};

use super::world::World;

/// What something cost.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cost {
    /// Changes in the cloud.
    pub(crate) changes: u64,
    /// Reads, without those below.
    pub(crate) reads: u64,
    /// Reads of servers and their ports, which all share: addresses of Nodes are refreshed every five minutes.
    pub(crate) inventory: u64,
    /// Reads of load balancers that were asked for while something was pending: one for all who wait.
    pub(crate) polls: u64,
    /// Everything that was asked of the cloud, logins included.
    pub(crate) calls: u64,
    /// Writes to Services and Nodes.
    pub(crate) writes: usize,
    /// Writes of events.
    pub(crate) events: usize,
    /// By method and path.
    pub(crate) by_path: Vec<String>,
}

/// Forgets what was asked so far.
pub(crate) fn clear(world: &World) {
    world.cloud.forget();
    world.kube.clear_log();
}

/// What was asked since [`clear`].
pub(crate) fn cost(world: &World) -> Cost {
    let mut cost = Cost::default();
    world.cloud.sim.with(|cloud| {
        let log = cloud.log();
        (cost.changes, cost.calls) = (log.mutating(), log.total());
        let gets =
            log.counts().filter(|(_, method, ..)| *method == "GET").map(|(.., count)| count).sum::<u64>();
        // The log keeps only the latest of very many; counts are of all.
        cost.polls = u64::try_from(log.entries().filter(|entry| is_poll(entry)).count()).unwrap();
        let count = |service, path| log.count(service, &Method::GET, path);
        cost.inventory =
            count(Service::Compute, "/v2.1/servers/detail") + count(Service::Network, "/v2.0/ports");
        cost.reads = gets - cost.polls - cost.inventory;
        cost.by_path =
            log.counts().map(|(_, method, path, count)| format!("{count} {method} {path}")).collect();
    });
    let events = |resource: &str| resource == "events";
    let is_done = |code: u16| (200..300).contains(&code);
    cost.events = world
        .kube
        .count(|entry| entry.request.is_write() && is_done(entry.code) && events(&entry.request.resource));
    cost.writes = world.kube.writes() - cost.events;
    assert_eq!(world.kube.dropped_entries(), 0, "the log of the API server is too short");
    cost
}

/// Whether it asks for the state of load balancers that are known: one of them, or all.
fn is_poll(entry: &LogEntry) -> bool {
    let (path, query) = entry.target.split_once('?').unwrap_or((&entry.target, ""));
    entry.service == Some(Service::LoadBalancer)
        && entry.method == Method::GET
        && path.contains("/lbaas/loadbalancers")
        && !query.split('&').any(|part| part.starts_with("name="))
}

impl Cost {
    pub(crate) fn print(&self, what: &str) {
        let Self { changes, reads, inventory, polls, calls, writes, events, by_path: _ } = self;
        println!(
            "| {what} | {changes} changes | {reads} reads | {polls} polls | {inventory} of the inventory | {calls} calls in all | {writes} API writes | \
             {events} event writes |"
        );
    }

    pub(crate) fn detail(&self) -> String {
        let mut text = format!("{self:?}");
        for line in &self.by_path {
            write!(text, "\n  {line}").unwrap();
        }
        text
    }
}
