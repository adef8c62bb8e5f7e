//! A simulated OpenStack that is served over HTTP, and that remembers who asked it to change what.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context, ensure};
use bytes::Bytes;
use http::header::USER_AGENT;
use http::request::Parts;
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use real_kubernetes_tests::migration::request::{self, Writer};
use serde_json::{Value, json};
use sim_openstack::identity::{Project, User};
use sim_openstack::{
    Account, Config, Estate, EstateSize, Latencies, MEMBER, Service, SimService, World, seed,
};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};
use tower::ServiceExt;

/// Somebody of another project, who sees nothing of the cluster's.
pub(crate) const STRANGER: Account = Account { user: "other", password: "other-secret", project: "other" };

/// Where everybody logs in: that changes nothing.
const IDENTITY: &str = "/identity";

/// What was asked.
#[derive(Default)]
struct Asked {
    requests: Vec<request::Request>,
    /// Requests of nobody who is known.
    strange: Vec<String>,
}

/// A served cloud.
pub(crate) struct Cloud {
    pub(crate) estate: Estate,
    recorder: Recorder,
    root: String,
    _stop: DropGuard,
}

/// A way into a cloud without a connection, for a writer of ours: what it asks is remembered as everybody's.
#[derive(Clone)]
pub(crate) struct Door {
    recorder: Recorder,
    root: String,
    token: String,
}

impl Door {
    /// Asks for something. What was asked is done even if nobody waits for the answer any more.
    pub(crate) async fn ask(
        &self,
        writer: &Writer,
        method: Method,
        [service, path]: [&str; 2],
        body: Option<Value>,
    ) -> anyhow::Result<Value> {
        let text = body.map(|body| body.to_string()).unwrap_or_default();
        let request = Request::builder()
            .method(method)
            .uri(format!("{}/{service}{path}", self.root))
            .header("x-auth-token", &self.token)
            .header("content-type", "application/json")
            .header(USER_AGENT, writer.agent())
            .body(())?;
        let (parts, ()) = request.into_parts();
        let recorder = self.recorder.clone();
        let answer = tokio::spawn(async move { recorder.pass(parts, text.into()).await }).await??;
        let (parts, body) = answer.into_parts();
        let body = body.collect().await?.to_bytes();
        ensure!(parts.status.is_success(), "{path}: {} {}", parts.status, String::from_utf8_lossy(&body));
        if body.is_empty() { Ok(Value::Null) } else { Ok(serde_json::from_slice(&body)?) }
    }
}

#[derive(Clone)]
struct Recorder {
    service: SimService,
    asked: Arc<Mutex<Asked>>,
    began: Instant,
}

/// A machine.
pub(crate) struct Machine {
    pub(crate) id: String,
    pub(crate) address: String,
}

impl Cloud {
    /// Starts one whose log counts time from `began`.
    pub(crate) async fn start(servers: usize, began: Instant) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let root = format!("http://{}", listener.local_addr()?);
        let config = Config { latencies: Latencies::none(), ..Config::at(&root) };
        let size = EstateSize { servers, ..EstateSize::default() };
        let (mut cloud, estate) = seed(config, jiff::Timestamp::now(), &size);
        add_stranger(cloud.world());
        let recorder = Recorder { service: SimService::on_tokio_time(cloud), asked: Arc::default(), began };
        let stop = CancellationToken::new();
        let serving = serve(listener, recorder.clone(), stop.clone());
        tokio::spawn(stop.clone().run_until_cancelled_owned(serving));
        Ok(Self { estate, recorder, root, _stop: stop.drop_guard() })
    }

    /// A way in for a writer of ours.
    pub(crate) async fn door(&self) -> anyhow::Result<Door> {
        Ok(Door { recorder: self.recorder.clone(), root: self.root.clone(), token: self.token().await? })
    }

    /// A cloud.conf for somebody.
    pub(crate) fn conf(&self, who: Account) -> String {
        let (root, estate) = (&self.root, &self.estate);
        format!(
            "[Global]\nauth-url = {root}/identity/v3\nregion = RegionOne\nusername = {}\npassword = {}\n\
             tenant-name = {}\ndomain-id = default\n[LoadBalancer]\nsubnet-id = {}\nfloating-network-id = {}\n\
             lb-provider = amphora\ncreate-monitor = true\n",
            who.user, who.password, who.project, estate.subnet, estate.external_network,
        )
    }

    /// The requests so far that would change something, oldest first.
    pub(crate) fn requests(&self) -> Vec<request::Request> {
        self.recorder.asked().requests.clone()
    }

    /// Requests of nobody who is known.
    pub(crate) fn strange(&self) -> Vec<String> {
        self.recorder.asked().strange.clone()
    }

    /// The load balancers: name and id.
    pub(crate) async fn balancers(&self) -> anyhow::Result<Vec<(String, String)>> {
        let all = self.get(Service::LoadBalancer, "/v2.0/lbaas/loadbalancers").await?;
        let rows = all["loadbalancers"].as_array().context("no load balancers")?;
        Ok(rows.iter().map(|row| (text(&row["name"]), text(&row["id"]))).collect())
    }

    /// The machines.
    pub(crate) async fn machines(&self) -> anyhow::Result<Vec<Machine>> {
        let servers = self.get(Service::Compute, "/v2.1/servers/detail").await?;
        let mut machines = Vec::new();
        for server in servers["servers"].as_array().context("no servers")? {
            let first = server["addresses"].as_object().and_then(|all| all.values().next());
            let address = text(&first.context("no network")?[0]["addr"]);
            machines.push(Machine { id: text(&server["id"]), address });
        }
        Ok(machines)
    }

    async fn get(&self, service: Service, path: &str) -> anyhow::Result<Value> {
        let token = self.token().await?;
        let request = Request::builder()
            .method(Method::GET)
            .uri(format!("{}/{}{path}", self.root, service.catalog_type()))
            .header("x-auth-token", token)
            .body(String::new())?;
        let answer = self.recorder.service.clone().oneshot(request).await?;
        let status = answer.status();
        let body = answer.into_body().collect().await?.to_bytes();
        ensure!(status.is_success(), "{path}: {status} {}", String::from_utf8_lossy(&body));
        Ok(serde_json::from_slice(&body)?)
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
        let answer = self.recorder.service.clone().oneshot(request).await?;
        Ok(answer.headers().get("x-subject-token").context("no token")?.to_str()?.to_owned())
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn add_stranger(world: &mut World) {
    let project = Project {
        id: world.ids.hex(),
        name: STRANGER.project.to_owned(),
        domain_id: "default".to_owned(),
        description: String::new(),
        enabled: true,
        tags: Vec::new(),
    };
    let user = User {
        id: world.ids.hex(),
        name: STRANGER.user.to_owned(),
        domain_id: "default".to_owned(),
        password: STRANGER.password.to_owned(),
        enabled: true,
        default_project_id: Some(project.id.clone()),
    };
    let identity = &mut world.state.identity;
    for role in ["member", "load-balancer_member"] {
        let role = identity.role_named(role).map(|role| role.id.clone()).unwrap_or_default();
        identity.assignments.insert((user.id.clone(), project.id.clone(), role));
    }
    identity.projects.insert(project.id.clone(), project);
    identity.users.insert(user.id.clone(), user);
}

async fn serve(listener: TcpListener, recorder: Recorder, stop: CancellationToken) {
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(stop.clone().run_until_cancelled_owned(connection(stream, recorder.clone())));
    }
}

async fn connection(stream: TcpStream, recorder: Recorder) {
    let answer = service_fn(move |request| recorder.clone().answer(request));
    // A connection that breaks is the client's concern.
    auto::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), answer).await.ok();
}

impl Recorder {
    fn asked(&self) -> MutexGuard<'_, Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn answer(self, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
        let (parts, body) = request.into_parts();
        let Ok(body) = body.collect().await.map(http_body_util::Collected::to_bytes) else {
            return Ok(Response::new(Full::default()));
        };
        Ok(self.pass(parts, body).await.unwrap_or_else(|_| Response::new(Full::default())))
    }

    /// Has the cloud answer, and remembers it.
    async fn pass(&self, parts: Parts, body: Bytes) -> anyhow::Result<Response<Full<Bytes>>> {
        let agent = parts.headers.get(USER_AGENT).and_then(|agent| agent.to_str().ok()).unwrap_or_default();
        let (agent, method) = (agent.to_owned(), parts.method.clone());
        let path = parts.uri.path().to_owned();
        let asked = Request::from_parts(parts, Full::new(body.clone()));
        let answer = self.service.clone().oneshot(asked).await?;
        let (parts, answered) = answer.into_parts();
        let answered = answered.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
        let changes = !matches!(method, Method::GET | Method::HEAD) && !path.starts_with(IDENTITY);
        if changes {
            self.record(&agent, &method, path, parts.status.as_u16(), &body, &answered);
        }
        Ok(Response::from_parts(parts, Full::new(answered)))
    }

    fn record(&self, agent: &str, method: &Method, path: String, status: u16, body: &[u8], answered: &[u8]) {
        let Some(writer) = Writer::of_agent(agent) else {
            self.asked().strange.push(format!("{method} {path} by {agent:?}"));
            return;
        };
        self.asked().requests.push(request::Request {
            at: self.began.elapsed(),
            writer,
            method: method.to_string(),
            path,
            status,
            name: field(body, "name"),
            id: field(answered, "id"),
        });
    }
}

/// A field of the one thing that a body is about.
fn field(body: &[u8], name: &str) -> Option<String> {
    let body: Value = serde_json::from_slice(body).ok()?;
    body.as_object()?.values().next()?.get(name)?.as_str().map(ToOwned::to_owned)
}
