//! Plans the route changes for the pods of all Nodes, and which routes each Node needs. Pure: no client, no clock.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bowline_cloud::{NodeAddress, NodeView, Planned, Route, RouteChange};
use ipnet::IpNet;

use super::range::ClusterRange;

/// The input of a plan: Nodes and routes, observed at about the same time.
#[derive(Debug)]
pub struct Observed {
    /// The Nodes that get routes.
    pub nodes: Vec<Arc<NodeView>>,
    /// Names of Nodes that this manager does not handle: their routes are left alone.
    pub foreign: BTreeSet<String>,
    /// All routes of this cluster in the cloud.
    pub routes: Vec<Route>,
}

/// All changes, and the needs of every Node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RoutePlan {
    /// The changes by destination; for one destination, deletions come before creations.
    pub changes: BTreeMap<IpNet, Vec<Planned<RouteChange>>>,
    /// How many of the listed routes are inside the cluster CIDR, so that we may delete them.
    pub ours: usize,
    /// The needs of each Node, by name. A Node with neither pod ranges nor routes is not listed.
    pub needs: BTreeMap<String, Vec<Need>>,
}

/// A route that a Node needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Need {
    /// The Node's pod range.
    pub destination: IpNet,
    /// The state of the route.
    pub standing: Standing,
}

/// The state of a needed route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// The route exists.
    There,
    /// The plan creates the route.
    ToBeMade,
    /// The route is a blackhole and outside the cluster CIDR, so it is not ours to replace.
    Blocked,
}

/// Identifies one route when two plans are compared: the cloud's name, the Node, the destination.
pub type Removal = (String, Option<String>, IpNet);

impl RoutePlan {
    /// All routes that the plan deletes.
    #[must_use]
    pub fn removals(&self) -> BTreeSet<Removal> {
        let steps = self.changes.values().flatten();
        steps
            .filter_map(|planned| match &planned.step {
                RouteChange::Delete(route) => {
                    Some((route.name.clone(), route.target_node.clone(), route.destination))
                }
                RouteChange::Create { .. } => None,
            })
            .collect()
    }
}

/// Node and destination: the identity of a route. Destinations are compared as networks, not as text.
type RouteKey<'a> = (&'a str, IpNet);

/// Compares the Nodes with the routes.
#[must_use]
pub fn plan(observed: &Observed, range: &ClusterRange) -> RoutePlan {
    let mut planner = Planner {
        wanted: wanted(&observed.nodes),
        known: observed.nodes.iter().map(|node| node.name.as_str()).collect(),
        standing: BTreeMap::new(),
        incomplete: BTreeMap::new(),
        plan: RoutePlan::default(),
    };
    let is_foreign = |target: &String| observed.foreign.contains(target);
    let mut routes: Vec<&Route> =
        observed.routes.iter().filter(|route| !route.target_node.as_ref().is_some_and(is_foreign)).collect();
    // The plan must not depend on the order of the cloud's list.
    routes.sort_by_key(|route| (&route.name, &route.target_node, route.next_hop));
    for route in routes {
        if range.contains(&route.destination) {
            planner.judge_ours(route);
        } else {
            planner.see_others(route);
        }
    }
    planner.finish()
}

struct Planner<'a> {
    wanted: BTreeMap<RouteKey<'a>, &'a NodeView>,
    known: BTreeSet<&'a str>,
    standing: BTreeMap<RouteKey<'a>, Standing>,
    incomplete: BTreeMap<RouteKey<'a>, &'a Route>,
    plan: RoutePlan,
}

impl<'a> Planner<'a> {
    fn judge_ours(&mut self, route: &'a Route) {
        self.plan.ours += 1;
        let key = key(route);
        if self.known.contains(key.0) {
            self.plan.needs.entry(key.0.to_owned()).or_default();
        }
        match self.why_delete(route) {
            None if route.incomplete.is_some() => {
                self.incomplete.insert(key, route);
                self.note(key, Standing::ToBeMade);
            }
            None => self.note(key, Standing::There),
            Some(reason) => {
                let step = Planned::new(RouteChange::Delete(route.clone()), reason);
                self.plan.changes.entry(key.1).or_default().push(step);
            }
        }
    }

    /// A route outside the cluster CIDR counts for a Node that needs it, but is not ours to replace.
    fn see_others(&mut self, route: &'a Route) {
        let key = key(route);
        if self.wanted.contains_key(&key) {
            self.note(key, if route.blackhole { Standing::Blocked } else { Standing::There });
        }
    }

    /// A working route takes precedence over a second one that does not work.
    fn note(&mut self, key: RouteKey<'a>, new: Standing) {
        let entry = self.standing.entry(key).or_insert(new);
        if new == Standing::There {
            *entry = new;
        }
    }

    fn why_delete(&self, route: &'a Route) -> Option<String> {
        let key = key(route);
        if route.blackhole {
            return Some(match (route.next_hop, &route.target_node) {
                (Some(hop), None) => format!("it leads to {hop}, which no Node has"),
                _ => "it leads nowhere".to_owned(),
            });
        }
        let (target, destination) = key;
        match (self.wanted.get(&key), &route.target_addresses) {
            (Some(node), Some(listed)) if !same_addresses(listed, &node.addresses) => {
                Some(format!("the addresses of Node {target} have changed"))
            }
            (Some(_), _) => None,
            (None, _) if target.is_empty() => {
                Some("the cloud does not know which Node it leads to".to_owned())
            }
            (None, _) if self.known.contains(target) => {
                Some(format!("{destination} is not a pod range of Node {target}"))
            }
            (None, _) => Some(format!("there is no Node {target}")),
        }
    }

    fn finish(self) -> RoutePlan {
        let Self { wanted, standing, incomplete, mut plan, .. } = self;
        for ((name, destination), node) in wanted {
            let standing = standing.get(&(name, destination)).copied().unwrap_or(Standing::ToBeMade);
            plan.needs.entry(name.to_owned()).or_default().push(Need { destination, standing });
            if standing == Standing::ToBeMade {
                let listed = incomplete.get(&(name, destination)).copied();
                plan.changes.entry(destination).or_default().push(creation(node, destination, listed));
            }
        }
        plan
    }
}

fn key(route: &Route) -> RouteKey<'_> {
    (route.target_node.as_deref().unwrap_or_default(), route.destination.trunc())
}

fn wanted(nodes: &[Arc<NodeView>]) -> BTreeMap<RouteKey<'_>, &NodeView> {
    let mut wanted = BTreeMap::new();
    for node in nodes {
        for cidr in &node.pod_cidrs {
            wanted.insert((node.name.as_str(), cidr.trunc()), node.as_ref());
        }
    }
    wanted
}

fn same_addresses(a: &[NodeAddress], b: &[NodeAddress]) -> bool {
    let sorted = |addresses: &[NodeAddress]| {
        let mut sorted = addresses.to_vec();
        sorted.sort();
        sorted
    };
    sorted(a) == sorted(b)
}

/// The change that creates a route, or completes the incomplete route `listed`.
fn creation(node: &NodeView, destination: IpNet, listed: Option<&Route>) -> Planned<RouteChange> {
    let mut route = Route::new("", Some(node.name.to_string()), destination);
    route.target_addresses = Some(node.addresses.clone());
    let mut reason = format!("the pods of Node {} have no route", node.name);
    if let Some(Route { next_hop, incomplete: Some(lacks), .. }) = listed {
        route.next_hop = *next_hop;
        reason = format!("the route to the pods of Node {} is incomplete: {lacks}", node.name);
    }
    Planned::new(RouteChange::Create { hint: node.uid.to_string(), route }, reason)
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
