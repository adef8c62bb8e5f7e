//! A simulated project with servers, and the instances on it.

use std::collections::BTreeMap;
use std::sync::Arc;

use bowline_cloud::{ErrorClass, Evidence, Instance, NodeView};
use http::{Request, Uri};
use openstack_client::clouds_yaml::Documents;
use openstack_client::{Client, Settings, Timeouts, Transport};
use sim_openstack::compute::{NewServer, boot};
use sim_openstack::{Config, Estate, EstateSize, Rule, SimService, State, clouds_yaml, seed};
use tower::util::MapRequest;
use zeroize::Zeroizing;

use crate::config::Networking;
use crate::instances::Servers;
use crate::inventory::{AGE_LIMIT, Inventory};

pub(crate) struct Simulation {
    pub(crate) sim: SimService,
    pub(crate) estate: Estate,
    pub(crate) client: Client,
}

impl Simulation {
    pub(crate) fn new(config: Config, servers: usize) -> Self {
        Self::asked(config, servers, |uri| uri)
    }

    /// A simulation whose client asks for something else than it says.
    pub(crate) fn asked(config: Config, servers: usize, instead: fn(Uri) -> Uri) -> Self {
        let text = clouds_yaml(&config);
        let start = "2026-11-15T08:00:00Z".parse().unwrap();
        let (cloud, estate) = seed(config, start, &EstateSize { servers, cidr: None });
        let sim = SimService::on_tokio_time(cloud);
        let entry =
            Documents { clouds: Zeroizing::new(text), ..Documents::default() }.entry(Some("sim")).unwrap();
        let clock = sim.clone();
        let settings = Settings::new(entry.auth.resolve().unwrap())
            .region(entry.region.unwrap())
            .clock(Arc::new(move || clock.now()));
        let asked = MapRequest::new(sim.clone(), move |mut request: Request<_>| {
            *request.uri_mut() = instead(request.uri().clone());
            request
        });
        let client = Client::new(Transport::new(asked, Timeouts::default()), settings);
        Self { sim, estate, client }
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

    pub(crate) fn edit(&self, change: impl FnOnce(&mut State)) {
        self.sim.with(|cloud| cloud.edit(change));
    }

    pub(crate) fn fault(&self, rule: Rule) {
        self.sim.with(|cloud| cloud.faults().add(rule));
    }

    /// Deletes a server behind everybody's back.
    pub(crate) fn remove(&self, index: usize) {
        let id = self.estate.servers[index].clone();
        self.edit(|state| {
            state.compute.remove_server(&id).unwrap();
            for port in state.network.ports.find_ids("device_id", &id) {
                state.network.ports.remove(&port);
            }
        });
    }

    /// The same for the server of a name.
    pub(crate) fn remove_named(&self, name: &str) {
        self.edit(|state| {
            let found = state.compute.servers.iter().find(|server| server.name == name);
            let id = found.map(|server| server.id.clone()).unwrap();
            state.compute.remove_server(&id).unwrap();
            for port in state.network.ports.find_ids("device_id", &id) {
                state.network.ports.remove(&port);
            }
        });
    }

    /// Makes a server at once.
    pub(crate) fn boot(&self, name: &str) -> String {
        let new = NewServer {
            name: name.to_owned(),
            project_id: self.estate.project.clone(),
            user_id: self.estate.user.clone(),
            flavor_id: self.estate.flavor.clone(),
            image_id: None,
            networks: vec![self.estate.network.clone()],
            security_groups: Vec::new(),
            zone: None,
            metadata: BTreeMap::new(),
        };
        self.sim.with(|cloud| boot(cloud.world(), new))
    }

    /// All requests so far, logins and discovery included.
    pub(crate) fn calls(&self) -> u64 {
        self.sim.with(|cloud| cloud.log().total())
    }

    pub(crate) fn counts(&self) -> Vec<String> {
        self.sim.with(|cloud| {
            let counts = cloud.log().counts();
            counts.map(|(_, method, path, count)| format!("{count} {method} {path}")).collect()
        })
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
