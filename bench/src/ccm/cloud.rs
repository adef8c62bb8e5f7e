//! A simulated OpenStack over HTTP that takes as long as a real one, counts what it is asked, and can brown out.

use std::time::Duration;

use anyhow::Context;
use bowline_testkit::cloud::{self, Options};
use bowline_testkit::http::Bound;
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use sim_openstack::{Config, Estate, Fault, Latencies, MEMBER, ReplyLost, Rule, Service, SimService, State};
use tokio::time::{Instant, sleep};

use super::cloud_request::{class, name};
use super::traffic::Traffic;
use crate::own_thread::OwnThread;

/// Objects on a page of Octavia, as it is delivered.
const BALANCER_PAGE: usize = 1000;
/// The parts of requests that a brown-out refuses with 503, and of the rest with 429: a fifth together.
const BROWN_OUT: (f64, f64) = (0.1, 0.1 / 0.9);
/// What it asks who gets a 429 to wait, in seconds.
const RETRY_AFTER_SECONDS: u64 = 1;

/// How long this cloud takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pace {
    /// To answer a request.
    pub call: Duration,
    /// Until a new load balancer is ACTIVE.
    pub boot: Duration,
    /// Until a load balancer has been changed.
    pub change: Duration,
    /// Until a load balancer is gone.
    pub delete: Duration,
}

/// A served cloud.
pub struct Cloud {
    /// What it was asked.
    pub traffic: Traffic,
    served: cloud::Cloud,
    /// With large clusters the cloud reckons for a while, and the proxy to the API server must not wait for that.
    _thread: OwnThread,
}

/// How old the servers are that are there from the beginning.
const AGE: jiff::SignedDuration = jiff::SignedDuration::from_hours(1);

/// They were made before anything is measured: what has changed lately is what joins.
fn age(cloud: &mut sim_openstack::Cloud, estate: &Estate) {
    let made = cloud.now() - AGE;
    cloud.edit(|state| {
        for id in &estate.servers {
            state.compute.servers.update(id, |server| (server.created, server.updated) = (made, made));
        }
    });
}

impl Cloud {
    /// Serves one with so many servers, called `node-1` and so on.
    ///
    /// # Errors
    /// When no port is free.
    pub fn start(servers: usize, pace: Pace) -> anyhow::Result<Self> {
        let latencies = Latencies {
            amphora_create: pace.boot,
            amphora_change: pace.change,
            amphora_delete: pace.delete,
            server_delete: Duration::ZERO,
            ..Latencies::default()
        };
        let config = Config { latencies, load_balancer_page_max: Some(BALANCER_PAGE), ..Config::default() };
        let options = Options { config, ..Options::new(servers) };
        let (thread, bound) = (OwnThread::start()?, Bound::new()?);
        let traffic = Traffic::over(bound.wire.clone());
        let passed = traffic.clone();
        let served = {
            let _there = thread.enter();
            cloud::Cloud::start_behind(bound, options, move |sim, request| {
                answer(sim, request, passed.clone(), pace.call)
            })?
        };
        served.sim.with(|cloud| age(cloud, &served.estate));
        Ok(Self { traffic, served, _thread: thread })
    }

    /// A `cloud.conf` for it: the subnet and the floating network are given, so nothing has to be looked for.
    #[must_use]
    pub fn conf(&self) -> String {
        self.served.conf(MEMBER, "lb-provider = amphora\ncreate-monitor = true")
    }

    /// From now on a new load balancer is ACTIVE after so long.
    pub fn set_boot(&self, boot: Duration) {
        self.served.world(|world| world.config.latencies.amphora_create = boot);
    }

    /// Looks at what is in it.
    pub fn look<R>(&self, look: impl FnOnce(&State) -> R) -> R {
        self.served.look(look)
    }

    /// The id of a server, and its address.
    ///
    /// # Errors
    /// When there is none of this name, or it has no address.
    pub fn server(&self, name: &str) -> anyhow::Result<(String, String)> {
        let find = |state: &State| {
            let server = state.compute.servers.iter().find(|server| server.name == name)?;
            let port = state.network.ports.iter().find(|port| port.device_id == server.id)?;
            Some((server.id.clone(), port.fixed_ips.first()?.ip_address.clone()))
        };
        self.look(find).with_context(|| format!("no server {name} with an address"))
    }

    /// Boots a server.
    pub fn boot(&self, name: &str) {
        self.served.boot(name);
    }

    /// Deletes a server, as its owner does: not through the front, so it is not counted.
    ///
    /// # Errors
    /// When the cloud refuses.
    pub async fn delete_server(&self, name: &str) -> anyhow::Result<()> {
        let (id, _address) = self.server(name)?;
        self.served.delete_server(&id).await
    }

    /// From now on a fifth of all requests but logins is refused, half of them with 503 and half with 429.
    pub fn brown_out(&self) {
        let refuse = |service: Service| {
            let unavailable = Rule::new(Fault::html(StatusCode::SERVICE_UNAVAILABLE)).on(service);
            let too_many = Rule::new(Fault::too_many_requests(RETRY_AFTER_SECONDS)).on(service);
            [unavailable.chance(BROWN_OUT.0), too_many.chance(BROWN_OUT.1)]
        };
        let services = [Service::Compute, Service::Network, Service::LoadBalancer];
        self.served.disturb(|faults| {
            for rule in services.into_iter().flat_map(refuse) {
                faults.add(rule);
            }
        });
    }

    /// All requests are answered again.
    pub fn recover(&self) {
        self.served.disturb(sim_openstack::Faults::clear);
    }
}

async fn answer(
    sim: SimService,
    request: Request<Bytes>,
    traffic: Traffic,
    call: Duration,
) -> Result<Response<Bytes>, ReplyLost> {
    let (at, method, path) = (Instant::now(), request.method().clone(), request.uri().path().to_owned());
    sleep(call).await;
    let answer = sim.answer(request).await?;
    traffic.add(class(&method, &path), name(&method, &path), at, answer.status().as_u16());
    Ok(answer)
}
