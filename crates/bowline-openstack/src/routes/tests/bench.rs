//! A simulated project with a router, and the routes on it as the wiring gets them.

use std::sync::Arc;

use bowline_cloud::{
    AddressKind, Capability, CloudError, ErrorClass, NodeAddress, Route, RouteChange, Routes, Unfenced,
};
use ipnet::IpNet;
use sim_openstack::network::{Port, Router};
use sim_openstack::{Config, Rule};

use crate::config;
use crate::instances::simulation::Simulation;
use crate::routes::RouteAccess;

pub(super) struct Bench {
    pub(super) simulation: Simulation,
    pub(super) routes: Arc<dyn Routes>,
}

pub(super) fn without(extensions: &[&str]) -> Config {
    let missing_network_extensions = extensions.iter().map(|&alias| alias.to_owned()).collect();
    Config { missing_network_extensions, ..Config::default() }
}

pub(super) fn access(simulation: &Simulation, router_id: &str) -> RouteAccess {
    RouteAccess::new(simulation.client.clone(), &config::Route { router_id: router_id.to_owned() })
}

pub(super) fn net(text: &str) -> IpNet {
    text.parse().unwrap()
}

/// The pods of a server, by its number.
pub(super) fn pods(server: usize) -> String {
    format!("10.244.{server}.0/24")
}

impl Bench {
    /// A cloud that lacks some extensions.
    pub(super) async fn new(missing: &[&str], servers: usize) -> Self {
        let simulation = Simulation::new(without(missing), servers);
        let access = access(&simulation, &simulation.estate.router);
        access.find_out().await.unwrap();
        let Capability::Supported(routes) = access.capability() else { panic!("no routes") };
        Self { simulation, routes }.forget_calls()
    }

    fn forget_calls(self) -> Self {
        self.simulation.forget();
        self
    }

    /// The calls since the last time, logins left out.
    pub(super) fn calls(&self) -> Vec<String> {
        self.simulation.sim.with(|cloud| {
            let log = cloud.log();
            let counts = log.counts().filter(|(_, _, path, _)| !path.contains("/auth/"));
            let calls = counts.map(|(_, method, path, count)| format!("{count} {method} {path}")).collect();
            cloud.log_mut().clear();
            calls
        })
    }

    pub(super) fn fault(&self, rule: Rule) {
        self.simulation.fault(rule);
    }

    pub(super) fn clear_faults(&self) {
        self.simulation.sim.with(|cloud| cloud.faults().clear());
    }

    pub(super) fn port(&self, server: usize) -> Port {
        self.simulation.port(&self.simulation.estate.servers[server]).expect("a port")
    }

    pub(super) fn edit_port(&self, server: usize, change: impl FnOnce(&mut Port)) {
        let id = self.port(server).id;
        self.simulation.edit(|state| {
            state.network.ports.update(&id, |port| {
                port.revision_number += 1;
                change(port);
            });
        });
    }

    pub(super) fn edit_router(&self, change: impl FnOnce(&mut Router)) {
        let id = self.simulation.estate.router.clone();
        self.simulation.edit(|state| {
            state.network.routers.update(&id, |router| {
                router.revision_number += 1;
                change(router);
            });
        });
    }

    /// Somebody adds a route.
    pub(super) fn add(&self, destination: &str, nexthop: &str) {
        let route = sim_openstack::network::Route {
            destination: destination.to_owned(),
            nexthop: nexthop.to_owned(),
        };
        self.edit_router(|router| router.routes.push(route));
    }

    pub(super) fn address(&self, server: usize) -> String {
        self.port(server).fixed_ips[0].ip_address.clone()
    }

    /// The ranges that a server may send from.
    pub(super) fn open_for(&self, server: usize) -> Vec<String> {
        self.port(server).allowed_address_pairs.into_iter().map(|pair| pair.ip_address).collect()
    }

    /// The router's routes, sorted.
    pub(super) fn table(&self) -> Vec<String> {
        let id = &self.simulation.estate.router;
        let mut table: Vec<String> = self.simulation.sim.with(|cloud| {
            let routes = &cloud.state().network.routers.get(id).unwrap().routes;
            routes.iter().map(|route| format!("{} via {}", route.destination, route.nexthop)).collect()
        });
        table.sort();
        table
    }

    /// The route to the pods of a server.
    pub(super) fn route(&self, server: usize) -> String {
        format!("{} via {}", pods(server), self.address(server))
    }

    /// A route for a server, as the framework asks for it.
    pub(super) fn create(&self, server: usize) -> RouteChange {
        let addresses: Vec<String> =
            self.port(server).fixed_ips.into_iter().map(|fixed| fixed.ip_address).collect();
        create(&pods(server), &addresses)
    }

    pub(super) async fn list(&self) -> Vec<Route> {
        self.routes.list("kubernetes").await.unwrap()
    }

    /// The removal of a route, as the framework asks for it.
    pub(super) async fn delete(&self, name: &str) -> RouteChange {
        let listed = self.list().await.into_iter().find(|route| route.name == name);
        RouteChange::Delete(listed.unwrap_or_else(|| panic!("no {name}")))
    }

    pub(super) async fn apply(&self, changes: &[RouteChange]) -> Vec<Result<(), CloudError>> {
        self.routes.apply("kubernetes", changes, &Unfenced).await
    }

    pub(super) async fn apply_all(&self, changes: &[RouteChange]) {
        for answer in self.apply(changes).await {
            answer.unwrap();
        }
    }
}

pub(super) fn create(pods: &str, addresses: &[String]) -> RouteChange {
    let mut route = Route::new("", Some("node".to_owned()), net(pods));
    let host = NodeAddress::new(AddressKind::Hostname, "node");
    let outside = NodeAddress::new(AddressKind::ExternalIP, "203.0.113.9");
    let inside = addresses.iter().map(|text| NodeAddress::new(AddressKind::InternalIP, text.as_str()));
    route.target_addresses = Some([host, outside].into_iter().chain(inside).collect());
    RouteChange::Create { hint: "uid".to_owned(), route }
}

/// The classes of the failures; none for what went well.
pub(super) fn classes(answers: &[Result<(), CloudError>]) -> Vec<Option<ErrorClass>> {
    answers.iter().map(|answer| answer.as_ref().err().map(CloudError::class)).collect()
}
