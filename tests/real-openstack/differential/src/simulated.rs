//! The simulator, with the addresses and the base estate of the real cloud, in virtual time.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::{Context, bail};
use bytes::Bytes;
use http::Request;
use jiff::Timestamp;
use serde_json::{Value, json};
use sim_openstack::{ADMIN, Cloud, Config, Endpoint, EstateSize, Latencies, Outcome, Region, Service};

use crate::answer::Answer;
use crate::real::{Catalog, Interfaces};

/// How much time passes with each request: what is made by two of them is never made in the same second.
const PER_REQUEST: Duration = Duration::from_secs(1);
/// What the addresses in catalogs end with, after the root of the service.
const SUFFIXES: [&str; 7] = ["/v3/", "/v3", "/v2.1/", "/v2.1", "/v2.0/", "/v2.0", "/v2"];

/// A simulated cloud.
pub(crate) struct Simulated {
    cloud: Cloud,
    now: Timestamp,
}

impl Simulated {
    /// A cloud with the same catalog as the real one, and what its scripts may name as `<site:/…>`.
    pub(crate) fn new(catalog: &Catalog) -> anyhow::Result<(Self, Value)> {
        let config = Config {
            regions: catalog.iter().map(|(name, services)| region(name, services)).collect(),
            default_load_balancer_provider: "ovn".to_owned(),
            latencies: latencies(),
            token_lifetime: Duration::from_secs(30 * 86_400), // waiting is long in virtual time
            ..Config::default()
        };
        let now: Timestamp = "2026-11-15T08:00:00Z".parse().context("the time of the start")?;
        let (mut cloud, estate) = sim_openstack::seed(config, now, &EstateSize { servers: 0, cidr: None });
        cloud.edit(|state| {
            let range = |subnet: &mut sim_openstack::network::Subnet| {
                "172.24.4.0/24".clone_into(&mut subnet.cidr);
            };
            state.network.subnets.update(&estate.external_subnet, range);
        });
        let site = json!({
            "admin_user": ADMIN.user, "admin_password": ADMIN.password, "admin_project": ADMIN.project,
            "external_network": estate.external_network, "external_subnet": estate.external_subnet,
            "image": estate.image, "flavor": estate.flavor,
        });
        Ok((Self { cloud, now }, site))
    }

    pub(crate) fn ask(&mut self, request: Request<Bytes>) -> anyhow::Result<Answer> {
        self.pass(PER_REQUEST);
        match self.cloud.handle(request, self.now) {
            Outcome::Reply(response) => Ok(Answer::read(&response)),
            other => bail!("the simulator did not answer, without a fault being asked for: {other:?}"),
        }
    }

    /// Lets time pass.
    pub(crate) fn pass(&mut self, time: Duration) {
        self.now += time;
    }
}

/// Long enough that what follows at once finds things pending.
fn latencies() -> Latencies {
    let while_pending = 10 * PER_REQUEST;
    Latencies {
        ovn_create: while_pending,
        ovn_change: while_pending,
        ovn_delete: while_pending,
        amphora_change: while_pending,
        amphora_delete: while_pending,
        ..Latencies::default()
    }
}

fn region(name: &str, services: &BTreeMap<String, Interfaces>) -> Region {
    let interfaces: BTreeSet<&String> = services.values().flat_map(BTreeMap::keys).collect();
    let endpoint = |service: Service| {
        let url = services.get(service.catalog_type())?.values().next()?;
        let (base, catalog_suffix) = split(url);
        Some((service, Endpoint { base, catalog_suffix }))
    };
    Region {
        name: name.to_owned(),
        interfaces: interfaces.into_iter().cloned().collect(),
        endpoints: Service::ALL.into_iter().filter_map(endpoint).collect(),
    }
}

/// The root of a service, and what its address in the catalog has after it.
pub(crate) fn split(url: &str) -> (String, String) {
    let suffix = SUFFIXES.into_iter().find(|suffix| url.ends_with(suffix));
    let suffix = suffix.unwrap_or(if url.ends_with('/') { "/" } else { "" });
    (url.strip_suffix(suffix).unwrap_or(url).to_owned(), suffix.to_owned())
}
