//! A simulated OpenStack over HTTP, with things of others in it, that can brown out. Every write is shown to the observer.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use anyhow::{Context, ensure};
use bytes::Bytes;
use http::header::USER_AGENT;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use serde_json::{Value, json};
use sim_openstack::compute::{NewServer, boot};
use sim_openstack::{Config, Estate, EstateSize, Latencies, MEMBER, Service, SimService, State, World, seed};
use tokio::net::TcpListener;
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};
use tower::ServiceExt;

use crate::observer::{Observer, Verdict};
use crate::scenario::SERVERS;

/// Where everybody logs in: that changes nothing.
const IDENTITY: &str = "/identity";

/// A served cloud.
#[derive(Clone)]
pub struct Cloud {
    /// What is in it.
    pub estate: Arc<Estate>,
    /// Itself, to look at.
    pub service: SimService,
    root: String,
    front: Front,
    _stop: Arc<DropGuard>,
}

#[derive(Clone)]
struct Front {
    service: SimService,
    observer: Arc<OnceLock<Observer>>,
    down_until: Arc<Mutex<Option<Instant>>>,
    lose_replies: Arc<Mutex<usize>>,
}

impl Cloud {
    /// Starts one in which operations on load balancers take this long, with things of others in it.
    ///
    /// # Errors
    /// When no port is free, or the cloud refuses what others want.
    pub async fn start(operation: Duration) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let root = format!("http://{}", listener.local_addr()?);
        let (create, change, delete) = (operation, operation, operation);
        let latencies = Latencies {
            amphora_create: create,
            amphora_change: change,
            amphora_delete: delete,
            ..Latencies::none()
        };
        let config = Config { latencies, ..Config::at(&root) };
        let size = EstateSize { servers: SERVERS.len(), ..EstateSize::default() };
        let (cloud, estate) = seed(config, jiff::Timestamp::now(), &size);
        let service = SimService::on_tokio_time(cloud);
        let front = Front {
            service: service.clone(),
            observer: Arc::default(),
            down_until: Arc::default(),
            lose_replies: Arc::default(),
        };
        let stop = CancellationToken::new();
        tokio::spawn(stop.clone().run_until_cancelled_owned(serve(listener, front.clone(), stop.clone())));
        let cloud =
            Self { estate: Arc::new(estate), service, root, front, _stop: Arc::new(stop.drop_guard()) };
        cloud.plant().await?;
        Ok(cloud)
    }

    /// From now on, writes are shown to this observer.
    pub fn show_to(&self, observer: Observer) {
        // Set once, by whoever starts the run.
        self.front.observer.set(observer).ok();
    }

    /// For so long, every request is answered by a proxy in front of the cloud: 503 (429 to who wants a load balancer), and nothing is
    /// done.
    pub fn brown_out(&self, duration: Duration) {
        *lock(&self.front.down_until) = Some(Instant::now() + duration);
    }

    /// The replies of the next so many writes are lost, though they are done.
    pub fn lose_replies(&self, count: usize) {
        *lock(&self.front.lose_replies) = count;
    }

    /// Everything is answered again.
    pub fn recover(&self) {
        *lock(&self.front.down_until) = None;
        *lock(&self.front.lose_replies) = 0;
    }

    /// A cloud.conf for it.
    #[must_use]
    pub fn conf(&self) -> String {
        let (root, estate) = (&self.root, &self.estate);
        format!(
            "[Global]\nauth-url = {root}/identity/v3\nregion = RegionOne\nusername = {}\npassword = {}\n\
             tenant-name = {}\ndomain-id = default\n[LoadBalancer]\nsubnet-id = {}\nfloating-network-id = {}\n\
             lb-provider = amphora\ncreate-monitor = true\nmanage-security-groups = true\n",
            MEMBER.user, MEMBER.password, MEMBER.project, estate.subnet, estate.external_network,
        )
    }

    /// Looks at what it knows.
    pub fn look<R>(&self, look: impl FnOnce(&State) -> R) -> R {
        self.service.with(|cloud| look(cloud.state()))
    }

    /// Changes it behind everybody's back.
    pub fn world<R>(&self, change: impl FnOnce(&mut World) -> R) -> R {
        self.service.with(|cloud| change(cloud.world()))
    }

    /// Boots a server; its id.
    #[must_use]
    pub fn boot(&self, name: &str) -> String {
        let estate = &self.estate;
        let new = NewServer {
            name: name.to_owned(),
            project_id: estate.project.clone(),
            user_id: estate.user.clone(),
            flavor_id: estate.flavor.clone(),
            image_id: Some(estate.image.clone()),
            networks: vec![estate.network.clone()],
            security_groups: vec![estate.security_group.clone()],
            zone: Some("az1".to_owned()),
            ..NewServer::default()
        };
        self.world(|world| boot(world, new))
    }

    /// The id of the newest server of a name.
    #[must_use]
    pub fn server(&self, name: &str) -> Option<String> {
        self.look(|state| {
            let servers = state.compute.servers.iter().filter(|server| server.name == name);
            servers.max_by_key(|server| server.number).map(|server| server.id.clone())
        })
    }

    /// Deletes a server, as its owner does.
    ///
    /// # Errors
    /// When the cloud refuses.
    pub async fn delete_server(&self, id: &str) -> anyhow::Result<()> {
        self.ask(Method::DELETE, Service::Compute, &format!("/v2.1/servers/{id}"), &Value::Null)
            .await
            .map(drop)
    }

    /// Things of others: a load balancer with all that belongs to one, one of another cluster, a group, a port, a floating IP.
    async fn plant(&self) -> anyhow::Result<()> {
        let subnet = &self.estate.subnet;
        let lbaas = |path: &str| format!("/v2.0/lbaas/{path}");
        let pool = json!({
            "name": "theirs", "protocol": "TCP", "lb_algorithm": "ROUND_ROBIN",
            "members": [{"name": "theirs", "address": "10.10.200.1", "protocol_port": 80}],
        });
        let listeners =
            json!([{"name": "theirs", "protocol": "TCP", "protocol_port": 80, "default_pool": pool}]);
        for (name, tags) in [
            ("theirs", json!([])),
            (
                "kube_service_another_default_web",
                json!(["kube_service_another_default_web", "bowline-cluster:another"]),
            ),
        ] {
            let new = json!({"loadbalancer": {
                "name": name, "vip_subnet_id": subnet, "tags": tags, "listeners": listeners,
            }});
            self.ask(Method::POST, Service::LoadBalancer, &lbaas("loadbalancers"), &new).await?;
        }
        let new = json!({"security_group": {"name": "lb-sg-of-theirs"}});
        let group = self.ask(Method::POST, Service::Network, "/v2.0/security-groups", &new).await?;
        let new = json!({"port": {
            "network_id": self.estate.network, "name": "theirs", "security_groups": [group["security_group"]["id"]],
        }});
        self.ask(Method::POST, Service::Network, "/v2.0/ports", &new).await?;
        let new = json!({"floatingip": {
            "floating_network_id": self.estate.external_network,
            "description": "Floating IP for Kubernetes external service default/web from cluster another",
        }});
        self.ask(Method::POST, Service::Network, "/v2.0/floatingips", &new).await?;
        // Their load balancers get ready, which changes them a last time.
        let deadline = Instant::now() + Duration::from_secs(10);
        let busy = |state: &State| {
            state.load_balancer.load_balancers.iter().any(|row| row.provisioning_status != "ACTIVE")
        };
        while self.look(busy) {
            ensure!(Instant::now() < deadline, "the load balancers of others do not get ready");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Ok(())
    }

    async fn ask(&self, method: Method, service: Service, path: &str, body: &Value) -> anyhow::Result<Value> {
        let what = format!("{method} {path}");
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let request = Request::builder()
            .method(method)
            .uri(format!("{}/{}{path}", self.root, service.catalog_type()))
            .header("x-auth-token", self.token().await?)
            .header("content-type", "application/json")
            .body(body)?;
        let answer = self.service.clone().oneshot(request).await?;
        let status = answer.status();
        let body = answer.into_body().collect().await?.to_bytes();
        ensure!(status.is_success(), "{what}: {status} {}", String::from_utf8_lossy(&body));
        Ok(serde_json::from_slice(&body).unwrap_or(Value::Null))
    }

    async fn token(&self) -> anyhow::Result<String> {
        let scope = json!({"project": {"name": MEMBER.project, "domain": {"id": "default"}}});
        let user = json!({"name": MEMBER.user, "password": MEMBER.password, "domain": {"id": "default"}});
        let body = json!({"auth": {
            "identity": {"methods": ["password"], "password": {"user": user}}, "scope": scope,
        }});
        let request = Request::post(format!("{}/identity/v3/auth/tokens", self.root))
            .header("content-type", "application/json")
            .body(body.to_string())?;
        let answer = self.service.clone().oneshot(request).await?;
        Ok(answer.headers().get("x-subject-token").context("no token")?.to_str()?.to_owned())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn serve(listener: TcpListener, front: Front, stop: CancellationToken) {
    while let Ok((stream, _)) = listener.accept().await {
        let front = front.clone();
        let answer = service_fn(move |request| front.clone().answer(request));
        let connection = async move {
            // A connection that breaks is the client's concern, or was wanted.
            auto::Builder::new(TokioExecutor::new())
                .serve_connection(TokioIo::new(stream), answer)
                .await
                .ok();
        };
        tokio::spawn(stop.clone().run_until_cancelled_owned(connection));
    }
}

/// How a process says in its `User-Agent` which one it is.
#[must_use]
pub fn agent(place: usize) -> String {
    format!("place-{place}")
}

fn place_of(request: &http::request::Parts) -> Option<usize> {
    let agent = request.headers.get(USER_AGENT)?.to_str().ok()?;
    agent.split(' ').find_map(|word| word.strip_prefix("place-"))?.parse().ok()
}

type Answer = Result<Response<Full<Bytes>>, ReplyLost>;

/// The connection breaks instead of an answer.
#[derive(Debug)]
struct ReplyLost;

impl std::fmt::Display for ReplyLost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the reply is lost")
    }
}

impl std::error::Error for ReplyLost {}

impl Front {
    fn is_down(&self) -> bool {
        lock(&self.down_until).is_some_and(|until| Instant::now() < until)
    }

    fn takes_reply(&self) -> bool {
        let mut left = lock(&self.lose_replies);
        let takes = *left > 0;
        *left = left.saturating_sub(1);
        takes
    }

    async fn answer(self, request: Request<Incoming>) -> Answer {
        let (parts, body) = request.into_parts();
        let body = body.collect().await.map_err(|_| ReplyLost)?.to_bytes();
        let (place, observer) = (place_of(&parts), self.observer.get());
        if let (Some(place), Some(observer)) = (place, observer)
            && observer.arrives(place) == Verdict::Drop
        {
            return Err(ReplyLost);
        }
        let (method, path) = (parts.method.clone(), parts.uri.path().to_owned());
        if self.is_down() {
            let makes = method == Method::POST && path.ends_with("/loadbalancers");
            return Ok(if makes { too_many() } else { unavailable() });
        }
        let asked = Request::from_parts(parts, Full::new(body.clone()));
        let answer = self.service.clone().oneshot(asked).await.map_err(|_| ReplyLost)?;
        let writes = !matches!(method, Method::GET | Method::HEAD) && !path.starts_with(IDENTITY);
        if writes && let (Some(place), Some(observer)) = (place, observer) {
            let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
            let verdict = observer.cloud_wrote(place, &method, &path, answer.status().as_u16(), &body);
            if verdict == Verdict::Drop {
                return Err(ReplyLost);
            }
            if self.takes_reply() {
                observer.tell("its reply is lost");
                return Err(ReplyLost);
            }
        }
        let (parts, body) = answer.into_parts();
        let body = body.collect().await.unwrap_or_else(|never: Infallible| match never {}).to_bytes();
        Ok(Response::from_parts(parts, Full::new(body)))
    }
}

/// Nothing was done, for certain. Of a 503 that is not so, and who asked for a load balancer rightly waits half a minute for it to come:
/// a large part of a run.
fn too_many() -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from("{\"error\": \"too many requests\"}"));
    *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
    response.headers_mut().insert(http::header::RETRY_AFTER, http::HeaderValue::from_static("1"));
    response
}

fn unavailable() -> Response<Full<Bytes>> {
    let page = "<html><body><h1>503 Service Unavailable</h1>No server is available to handle this request.</body></html>";
    let mut response = Response::new(Full::from(page));
    *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    response
}
