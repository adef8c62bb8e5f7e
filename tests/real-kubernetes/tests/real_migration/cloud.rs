//! A simulated OpenStack that is served over HTTP, and that remembers who asked it to change what.

use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{anyhow, ensure};
use bowline_testkit::cloud::{self, Options};
use bowline_testkit::http::Bound;
use bytes::Bytes;
use http::header::USER_AGENT;
use http::{Method, Request, Response};
use real_kubernetes_tests::migration::request::{self, Writer};
use serde_json::Value;
use sim_openstack::{Account, MEMBER, ReplyLost, SimService, add_account};
use tokio::time::Instant;

/// Somebody of another project, who sees nothing of the cluster's.
pub(crate) const STRANGER: Account<'_> =
    Account { user: "other", password: "other-secret", project: "other" };

/// Where everybody logs in: that changes nothing.
const IDENTITY: &str = "/identity";

/// The rest of `[LoadBalancer]`.
const CONF: &str = "lb-provider = amphora\ncreate-monitor = true";

/// What was asked.
#[derive(Default)]
struct Asked {
    requests: Vec<request::Request>,
    /// Requests of nobody who is known.
    strange: Vec<String>,
}

/// A served cloud.
pub(crate) struct Cloud {
    served: cloud::Cloud,
    recorder: Recorder,
}

impl Deref for Cloud {
    type Target = cloud::Cloud;

    fn deref(&self) -> &Self::Target {
        &self.served
    }
}

/// A way into a cloud without a connection, for a writer of ours: what it asks is remembered as everybody's.
#[derive(Clone)]
pub(crate) struct Door {
    recorder: Recorder,
    sim: SimService,
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
            .uri(format!("/{service}{path}"))
            .header("x-auth-token", &self.token)
            .header("content-type", "application/json")
            .header(USER_AGENT, writer.agent())
            .body(text.into())?;
        let (recorder, sim) = (self.recorder.clone(), self.sim.clone());
        let (parts, body) =
            tokio::spawn(async move { recorder.pass(sim, request).await }).await??.into_parts();
        ensure!(parts.status.is_success(), "{path}: {} {}", parts.status, String::from_utf8_lossy(&body));
        if body.is_empty() { Ok(Value::Null) } else { Ok(serde_json::from_slice(&body)?) }
    }
}

#[derive(Clone)]
struct Recorder {
    asked: Arc<Mutex<Asked>>,
    began: Instant,
}

impl Cloud {
    /// Starts one whose log counts time from `began`.
    pub(crate) async fn start(servers: usize, began: Instant) -> anyhow::Result<Self> {
        let recorder = Recorder { asked: Arc::default(), began };
        let passing = recorder.clone();
        let served =
            cloud::Cloud::start_behind(Bound::new()?, Options::new(servers), move |sim, request| {
                let recorder = passing.clone();
                async move { recorder.pass(sim, request).await }
            })?;
        served.world(|world| add_account(world, STRANGER, &["member", "load-balancer_member"]));
        Ok(Self { served, recorder })
    }

    /// A way in for a writer of ours.
    pub(crate) async fn door(&self) -> anyhow::Result<Door> {
        let token = self.sim.with(|cloud| cloud.login(MEMBER));
        let token = token.map_err(|(status, body)| anyhow!("log in: {status} {body}"))?;
        Ok(Door { recorder: self.recorder.clone(), sim: self.sim.clone(), token })
    }

    /// A cloud.conf for somebody.
    pub(crate) fn conf(&self, who: Account<'_>) -> String {
        self.served.conf(who, CONF)
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
    pub(crate) fn balancers(&self) -> Vec<(String, String)> {
        self.look(|state| {
            let all = state.load_balancer.load_balancers.iter();
            all.map(|row| (row.name.clone(), row.id.clone())).collect()
        })
    }
}

impl Recorder {
    fn asked(&self) -> MutexGuard<'_, Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has the cloud answer, and remembers it.
    async fn pass(&self, sim: SimService, request: Request<Bytes>) -> Result<Response<Bytes>, ReplyLost> {
        let agent = request.headers().get(USER_AGENT).and_then(|agent| agent.to_str().ok());
        let (agent, method) = (agent.unwrap_or_default().to_owned(), request.method().clone());
        let (path, body) = (request.uri().path().to_owned(), request.body().clone());
        let answer = sim.answer(request).await?;
        let changes = !matches!(method, Method::GET | Method::HEAD) && !path.starts_with(IDENTITY);
        if changes {
            self.record(&agent, &method, path, answer.status().as_u16(), &body, answer.body());
        }
        Ok(answer)
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
