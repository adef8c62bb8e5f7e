//! A simulated OpenStack over HTTP that takes as long as a real one, counts what it is asked, and can brown out.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use serde_json::{Value, json};
use sim_openstack::compute::{NewServer, boot};
use sim_openstack::{
    Config, Estate, EstateSize, Fault, Latencies, MEMBER, ReplyLost, Rule, Service, SimService, State, seed,
};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::time::{Instant, sleep};
use tokio_util::sync::{CancellationToken, DropGuard};
use tower::ServiceExt;

use super::cloud_request::{class, name};
use super::traffic::Traffic;

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
    estate: Estate,
    service: SimService,
    root: String,
    /// Threads of its own: with large clusters it reckons for a while, and the proxy to the API server must not wait for that.
    threads: Option<Runtime>,
    _stop: DropGuard,
}

impl Drop for Cloud {
    fn drop(&mut self) {
        if let Some(threads) = self.threads.take() {
            // Without waiting, which asynchronous code must not do.
            threads.shutdown_background();
        }
    }
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
        let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
        listener.set_nonblocking(true)?;
        let root = format!("http://{}", listener.local_addr()?);
        let latencies = Latencies {
            amphora_create: pace.boot,
            amphora_change: pace.change,
            amphora_delete: pace.delete,
            server_delete: Duration::ZERO,
            ..Latencies::default()
        };
        let config = Config { latencies, load_balancer_page_max: Some(BALANCER_PAGE), ..Config::at(&root) };
        let size = EstateSize { servers, ..EstateSize::default() };
        let (mut cloud, estate) = seed(config, jiff::Timestamp::now(), &size);
        age(&mut cloud, &estate);
        let service = SimService::on_tokio_time(cloud);
        let (stop, traffic) = (CancellationToken::new(), Traffic::default());
        let front = Front { service: service.clone(), traffic: traffic.clone(), call: pace.call };
        let serve = serve(listener, Arc::new(front), stop.clone());
        let threads = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        threads.spawn(stop.clone().run_until_cancelled_owned(serve));
        Ok(Self { traffic, estate, service, root, threads: Some(threads), _stop: stop.drop_guard() })
    }

    /// A `cloud.conf` for it: the subnet and the floating network are given, so nothing has to be looked for.
    #[must_use]
    pub fn conf(&self) -> String {
        let (root, estate) = (&self.root, &self.estate);
        format!(
            "[Global]\nauth-url = {root}/identity/v3\nregion = RegionOne\nusername = {}\npassword = {}\n\
             tenant-name = {}\ndomain-id = default\n[LoadBalancer]\nsubnet-id = {}\nfloating-network-id = {}\n\
             lb-provider = amphora\ncreate-monitor = true\n",
            MEMBER.user, MEMBER.password, MEMBER.project, estate.subnet, estate.external_network,
        )
    }

    /// From now on a new load balancer is ACTIVE after so long.
    pub fn set_boot(&self, boot: Duration) {
        self.service.with(|cloud| cloud.world().config.latencies.amphora_create = boot);
    }

    /// Looks at what is in it.
    pub fn look<R>(&self, look: impl FnOnce(&State) -> R) -> R {
        self.service.with(|cloud| look(cloud.state()))
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
        let estate = &self.estate;
        let new = NewServer {
            name: name.to_owned(),
            project_id: estate.project.clone(),
            user_id: estate.user.clone(),
            flavor_id: estate.flavor.clone(),
            image_id: Some(estate.image.clone()),
            networks: vec![estate.network.clone()],
            security_groups: vec![estate.security_group.clone()],
            ..NewServer::default()
        };
        self.service.with(|cloud| boot(cloud.world(), new));
    }

    /// Deletes a server, as its owner does: not through the front, so it is not counted.
    ///
    /// # Errors
    /// When the cloud refuses.
    pub async fn delete_server(&self, name: &str) -> anyhow::Result<()> {
        let (id, _address) = self.server(name)?;
        let request = Request::delete(format!("{}/compute/v2.1/servers/{id}", self.root))
            .header("x-auth-token", self.token().await?)
            .body(String::new())?;
        let answer = self.service.clone().oneshot(request).await?;
        ensure!(answer.status().is_success(), "delete the server {name}: {}", answer.status());
        Ok(())
    }

    /// From now on a fifth of all requests but logins is refused, half of them with 503 and half with 429.
    pub fn brown_out(&self) {
        let refuse = |service: Service| {
            let unavailable = Rule::new(Fault::html(StatusCode::SERVICE_UNAVAILABLE)).on(service);
            let too_many = Rule::new(Fault::too_many_requests(RETRY_AFTER_SECONDS)).on(service);
            [unavailable.chance(BROWN_OUT.0), too_many.chance(BROWN_OUT.1)]
        };
        let services = [Service::Compute, Service::Network, Service::LoadBalancer];
        self.service.with(|cloud| {
            for rule in services.into_iter().flat_map(refuse) {
                cloud.faults().add(rule);
            }
        });
    }

    /// All requests are answered again.
    pub fn recover(&self) {
        self.service.with(|cloud| cloud.faults().clear());
    }

    async fn token(&self) -> anyhow::Result<String> {
        let scope = json!({"project": {"name": MEMBER.project, "domain": {"id": "default"}}});
        let user = json!({"name": MEMBER.user, "password": MEMBER.password, "domain": {"id": "default"}});
        let body: Value = json!({"auth": {
            "identity": {"methods": ["password"], "password": {"user": user}}, "scope": scope,
        }});
        let request = Request::post(format!("{}/identity/v3/auth/tokens", self.root))
            .header("content-type", "application/json")
            .body(body.to_string())?;
        let answer = self.service.clone().oneshot(request).await?;
        Ok(answer.headers().get("x-subject-token").context("no token")?.to_str()?.to_owned())
    }
}

struct Front {
    service: SimService,
    traffic: Traffic,
    call: Duration,
}

async fn serve(listener: std::net::TcpListener, front: Arc<Front>, stop: CancellationToken) {
    let Ok(listener) = TcpListener::from_std(listener) else { return };
    while let Ok((stream, _)) = listener.accept().await {
        stream.set_nodelay(true).ok();
        let stream = front.traffic.counted(stream);
        let front = Arc::clone(&front);
        let answer = service_fn(move |request| answer(Arc::clone(&front), request));
        let connection = async move {
            // A connection that breaks is the CCM's concern.
            auto::Builder::new(TokioExecutor::new())
                .serve_connection(TokioIo::new(stream), answer)
                .await
                .ok();
        };
        tokio::spawn(stop.clone().run_until_cancelled_owned(connection));
    }
}

async fn answer(front: Arc<Front>, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, ReplyLost> {
    let (at, method, path) = (Instant::now(), request.method().clone(), request.uri().path().to_owned());
    sleep(front.call).await;
    let answer = front.service.clone().oneshot(request).await?;
    front.traffic.add(class(&method, &path), name(&method, &path), at, answer.status().as_u16());
    let (parts, body) = answer.into_parts();
    let body = body.collect().await.unwrap_or_else(|never: Infallible| match never {}).to_bytes();
    Ok(Response::from_parts(parts, Full::new(body)))
}
