//! Changes of routes in the words of Neutron, with what became of each. Pure.

use std::collections::BTreeSet;
use std::net::IpAddr;

use bowline_cloud::{AddressKind, CloudError, ErrorClass, Route, RouteChange};
use ipnet::IpNet;
use openstack_client::network::Route as RouterRoute;

/// Between destination and next hop in the name of a route. Neutron gives routes no id: these two are all they are.
const VIA: &str = " via ";

/// Changes that are performed together.
#[derive(Debug)]
pub(super) struct Batch(Vec<Item>);

#[derive(Debug)]
struct Item {
    /// What is to be done; none if that could not be told.
    task: Option<Task>,
    failure: Option<CloudError>,
}

/// One change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Task {
    pub(super) verb: Verb,
    /// The route in Neutron's own spelling: it is removed by comparing texts.
    pub(super) route: RouterRoute,
    pub(super) destination: IpNet,
    pub(super) hop: IpAddr,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    Add,
    Remove,
}

impl Batch {
    pub(super) fn new(changes: &[RouteChange]) -> Self {
        let item = |change: &RouteChange| match task(change) {
            Ok(task) => Item { task: Some(task), failure: None },
            Err(failure) => Item { task: None, failure: Some(failure) },
        };
        Self(changes.iter().map(item).collect())
    }

    /// What has not failed.
    pub(super) fn done(&self) -> impl Iterator<Item = &Task> {
        self.0.iter().filter(|item| item.failure.is_none()).filter_map(|item| item.task.as_ref())
    }

    /// Whether a route is still there that was to go.
    pub(super) fn has_failed_removals(&self) -> bool {
        let failed = self.0.iter().filter(|item| item.failure.is_some());
        failed.filter_map(|item| item.task.as_ref()).any(|task| task.verb == Verb::Remove)
    }

    /// The routes that are still to be added, or removed.
    pub(super) fn routes(&self, verb: Verb) -> Vec<RouterRoute> {
        self.done().filter(|task| task.verb == verb).map(|task| task.route.clone()).collect()
    }

    /// The routes that there are after all this, of those that there were.
    pub(super) fn outcome(&self, before: &[RouterRoute]) -> Vec<RouterRoute> {
        changed(before, &self.routes(Verb::Remove), &self.routes(Verb::Add))
    }

    /// Those of the tasks that have not failed yet fail.
    pub(super) fn fail(&mut self, which: impl Fn(&Task) -> bool, error: impl Fn() -> CloudError) {
        let alive = self.0.iter_mut().filter(|item| item.failure.is_none());
        for item in alive.filter(|item| item.task.as_ref().is_some_and(&which)) {
            item.failure = Some(error());
        }
    }

    pub(super) fn fail_all(&mut self, error: impl Fn() -> CloudError) {
        self.fail(|_| true, error);
    }

    pub(super) fn into_answers(self) -> Vec<Result<(), CloudError>> {
        self.0.into_iter().map(|item| item.failure.map_or(Ok(()), Err)).collect()
    }
}

/// A list of routes with some removed and then some added, each once however it is spelled.
pub(super) fn changed(
    before: &[RouterRoute],
    remove: &[RouterRoute],
    add: &[RouterRoute],
) -> Vec<RouterRoute> {
    let remove: BTreeSet<&RouterRoute> = remove.iter().collect();
    let mut after: Vec<RouterRoute> =
        before.iter().filter(|route| !remove.contains(route)).cloned().collect();
    let mut there: BTreeSet<_> = after.iter().filter_map(read).collect();
    after.extend(add.iter().filter(|route| read(route).is_none_or(|new| there.insert(new))).cloned());
    after
}

/// Destination and next hop of a route.
pub(super) fn read(route: &RouterRoute) -> Option<(IpNet, IpAddr)> {
    Some((route.destination.parse::<IpNet>().ok()?.trunc(), route.nexthop.parse().ok()?))
}

/// A route as the framework sees it. One that cannot be understood is an error: a list is complete, or it is none.
pub(super) fn listed(route: &RouterRoute, shut: bool) -> Result<Route, CloudError> {
    let RouterRoute { destination, nexthop } = route;
    let Some((range, hop)) = read(route) else {
        return Err(CloudError::transient(format!(
            "the router has a route to {destination:?} via {nexthop:?}, which are not a range and an address"
        )));
    };
    let mut listed = Route::via(format!("{destination}{VIA}{nexthop}"), hop, range);
    if shut {
        let lacks = format!("the port with address {nexthop} lacks the allowed address pair {range}");
        listed.incomplete = Some(lacks);
    }
    Ok(listed)
}

fn task(change: &RouteChange) -> Result<Task, CloudError> {
    match change {
        RouteChange::Create { route, .. } => {
            let destination = route.destination.trunc();
            let hop = route.next_hop.map_or_else(|| next_hop(route), Ok)?;
            let route = RouterRoute { destination: destination.to_string(), nexthop: hop.to_string() };
            Ok(Task { verb: Verb::Add, route, destination, hop })
        }
        RouteChange::Delete(route) => {
            let spelled = route.name.split_once(VIA);
            let spelled = spelled.map(|(destination, nexthop)| RouterRoute {
                destination: destination.to_owned(),
                nexthop: nexthop.to_owned(),
            });
            let unknown = || CloudError::invalid(format!("{:?} is no route of this router", route.name));
            let route = spelled.ok_or_else(unknown)?;
            let (destination, hop) = read(&route).ok_or_else(unknown)?;
            Ok(Task { verb: Verb::Remove, route, destination, hop })
        }
    }
}

/// The address of the Node that its pods are reached by: its first internal one of their family.
fn next_hop(route: &Route) -> Result<IpAddr, CloudError> {
    let addresses = route.target_addresses.iter().flatten();
    let mut internal = addresses
        .filter(|address| address.kind == AddressKind::InternalIP)
        .filter_map(|address| address.address.parse::<IpAddr>().ok());
    let v4 = route.destination.addr().is_ipv4();
    internal.find(|address| address.is_ipv4() == v4).ok_or_else(|| {
        let (node, family) =
            (route.target_node.as_deref().unwrap_or_default(), if v4 { "IPv4" } else { "IPv6" });
        let message = format!(
            "Node {node} has no InternalIP of {family} to which {} could be routed; it needs one in its status",
            route.destination
        );
        CloudError::new(ErrorClass::Invalid, message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(destination: &str, nexthop: &str) -> RouterRoute {
        RouterRoute { destination: destination.to_owned(), nexthop: nexthop.to_owned() }
    }

    #[test]
    fn a_table_with_a_route_that_cannot_be_read_is_no_list() {
        for (destination, hop) in [("10.0.0.0", "10.9.9.9"), ("10.0.0.0/24", "gateway"), ("", "")] {
            assert!(listed(&route(destination, hop), false).is_err(), "{destination:?} {hop:?}");
        }
    }

    #[test]
    fn a_route_that_is_there_in_another_spelling_is_not_added_again() {
        let before = [route("fd00:0:0:1::/64", "fd00:0::9"), route("10.0.0.7/24", "10.9.9.9")];
        let add = [route("fd00:0:0:1::/64", "fd00::9"), route("10.0.0.0/24", "10.9.9.9")];
        assert_eq!(changed(&before, &[], &add), before);
        assert_eq!(changed(&before, &before[..1], &add[..1]), [before[1].clone(), add[0].clone()]);
    }

    #[test]
    fn a_removal_of_what_was_never_listed_is_refused() {
        let stranger = Route::new("uid", Some("n".to_owned()), "10.0.0.0/24".parse().unwrap());
        let answers = Batch::new(&[RouteChange::Delete(stranger)]).into_answers();
        assert_eq!(answers[0].as_ref().unwrap_err().class(), ErrorClass::Invalid);
    }
}
