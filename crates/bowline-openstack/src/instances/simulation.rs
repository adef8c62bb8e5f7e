//! A simulated project with servers, and the instances on it.

use std::ops::Deref;
use std::sync::Arc;

use bowline_cloud::{ErrorClass, Evidence, Instance, NodeView};
use bowline_testkit::cloud::{Cloud, Options};
use http::{Request, Uri};
use openstack_client::{Client, Timeouts, Transport};
use sim_openstack::{Config, Rule};
use tower::util::MapRequest;

use crate::config::Networking;
use crate::instances::Servers;
use crate::inventory::{AGE_LIMIT, Inventory};

pub(crate) struct Simulation {
    pub(crate) cloud: Cloud,
    pub(crate) client: Client,
}

impl Deref for Simulation {
    type Target = Cloud;

    fn deref(&self) -> &Cloud {
        &self.cloud
    }
}

impl Simulation {
    pub(crate) fn new(config: Config, servers: usize) -> Self {
        Self::asked(config, servers, |uri| uri)
    }

    /// So many servers, and the provider that reads them.
    pub(crate) fn with_servers(count: usize) -> (Self, Servers) {
        let simulation = Self::new(Config::default(), count);
        let servers = simulation.servers();
        (simulation, servers)
    }

    /// A simulation whose client asks for something else than it says.
    pub(crate) fn asked(config: Config, servers: usize, instead: fn(Uri) -> Uri) -> Self {
        let now = "2026-11-15T08:00:00Z".parse().unwrap();
        let cloud = Cloud::in_process(Options { servers, now, config });
        let asked = MapRequest::new(cloud.sim.clone(), move |mut request: Request<_>| {
            *request.uri_mut() = instead(request.uri().clone());
            request
        });
        let settings = cloud.settings("sim").unwrap();
        let client = Client::new(Transport::new(asked, Timeouts::default()), settings);
        Self { cloud, client }
    }

    pub(crate) fn servers(&self) -> Servers {
        self.servers_with(&Networking::default(), false)
    }

    pub(crate) fn servers_with(&self, networking: &Networking, regional: bool) -> Servers {
        let inventory = Arc::new(Inventory::new(self.client.clone(), AGE_LIMIT));
        Servers::new(inventory, networking, "RegionOne", regional)
    }

    /// The Node of a server, which names it by its id.
    pub(crate) fn of(&self, index: usize) -> NodeView {
        let id = format!("openstack:///{}", self.estate.servers[index]);
        node(&format!("node-{}", index + 1), Some(&id))
    }

    pub(crate) fn fault(&self, rule: Rule) {
        self.disturb(|faults| faults.add(rule));
    }

    /// Deletes a server behind everybody's back.
    pub(crate) fn remove(&self, index: usize) {
        let id = self.estate.servers[index].clone();
        self.edit(|state| state.remove_server(&id)).unwrap();
    }

    /// The same for the server of a name.
    pub(crate) fn remove_named(&self, name: &str) {
        self.edit(|state| {
            let found = state.compute.servers.iter().find(|server| server.name == name);
            let id = found.map(|server| server.id.clone()).unwrap();
            state.remove_server(&id).unwrap();
        });
    }

    /// All requests so far, logins and discovery included.
    pub(crate) fn calls(&self) -> u64 {
        self.requests().0
    }
}

pub(crate) fn node(name: &str, provider_id: Option<&str>) -> NodeView {
    NodeView { name: name.into(), provider_id: provider_id.map(Into::into), ..NodeView::default() }
}

pub(crate) fn present(evidence: &Evidence<Instance>) -> &Instance {
    match evidence {
        Evidence::Present(instance) => instance,
        other => panic!("not present: {other:?}"),
    }
}

/// The class of the doubt, if it is one.
pub(crate) fn class(evidence: &Evidence<Instance>) -> Option<ErrorClass> {
    match evidence {
        Evidence::Unknown(doubt) => Some(doubt.class),
        _ => None,
    }
}
