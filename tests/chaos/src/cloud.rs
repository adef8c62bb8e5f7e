//! A simulated OpenStack with things of others in it, that can brown out and lose replies. Every write is shown to the observer.

use std::ops::Deref;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use bowline_testkit::cloud::{self, Options};
use bowline_testkit::eventually;
use bowline_testkit::http::Bound;
use bytes::Bytes;
use http::header::USER_AGENT;
use http::{Method, Request, Response, StatusCode};
use serde_json::{Value, json};
use sim_openstack::compute::NewServer;
use sim_openstack::{Config, Latencies, MEMBER, ReplyLost, SimService, State};
use tokio::time::Instant;

use crate::observer::{Observer, Verdict};
use crate::scenario::SERVERS;

/// Where everybody logs in: that changes nothing.
const IDENTITY: &str = "/identity";

/// A served cloud.
#[derive(Clone)]
pub struct Cloud {
    served: Arc<cloud::Cloud>,
    front: Front,
}

impl Deref for Cloud {
    type Target = cloud::Cloud;

    fn deref(&self) -> &Self::Target {
        &self.served
    }
}

#[derive(Clone, Default)]
struct Front {
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
        let (create, change, delete) = (operation, operation, operation);
        let latencies = Latencies {
            amphora_create: create,
            amphora_change: change,
            amphora_delete: delete,
            ..Latencies::none()
        };
        let mut options = Options::new(SERVERS.len());
        options.config = Config { latencies, ..options.config };
        let front = Front::default();
        let answering = front.clone();
        let served = cloud::Cloud::start_behind(Bound::new()?, options, move |sim, request| {
            answering.clone().answer(sim, request)
        })?;
        let cloud = Self { served: Arc::new(served), front };
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
        let more = "lb-provider = amphora\ncreate-monitor = true\nmanage-security-groups = true";
        self.served.conf(MEMBER, more)
    }

    /// Boots a server; its id.
    #[must_use]
    pub fn boot(&self, name: &str) -> String {
        self.boot_as(NewServer { zone: Some("az1".to_owned()), ..self.estate.new_server(name) })
    }

    /// Things of others: a load balancer with all that belongs to one, one of another cluster, a group, a port, a floating IP.
    async fn plant(&self) -> anyhow::Result<()> {
        let subnet = &self.estate.subnet;
        let post = |path: &str, new: &Value| self.ask(MEMBER, Method::POST, path, new);
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
            post("/load-balancer/v2.0/lbaas/loadbalancers", &new)?;
        }
        let new = json!({"security_group": {"name": "lb-sg-of-theirs"}});
        let group = post("/network/v2.0/security-groups", &new)?;
        let new = json!({"port": {
            "network_id": self.estate.network, "name": "theirs", "security_groups": [group["security_group"]["id"]],
        }});
        post("/network/v2.0/ports", &new)?;
        let new = json!({"floatingip": {
            "floating_network_id": self.estate.external_network,
            "description": "Floating IP for Kubernetes external service default/web from cluster another",
        }});
        post("/network/v2.0/floatingips", &new)?;
        // Their load balancers get ready, which changes them a last time.
        let busy = |state: &State| {
            state.load_balancer.load_balancers.iter().any(|row| row.provisioning_status != "ACTIVE")
        };
        eventually("the load balancers of others are ready", async || Ok((!self.look(busy)).then_some(())))
            .await
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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

    async fn answer(self, sim: SimService, request: Request<Bytes>) -> Result<Response<Bytes>, ReplyLost> {
        let (parts, body) = request.into_parts();
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
        let answer = sim.answer(Request::from_parts(parts, body.clone())).await?;
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
        Ok(answer)
    }
}

/// Nothing was done, for certain. Of a 503 that is not so, and who asked for a load balancer rightly waits half a minute for it to come:
/// a large part of a run.
fn too_many() -> Response<Bytes> {
    let mut response = Response::new(Bytes::from("{\"error\": \"too many requests\"}"));
    *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
    response.headers_mut().insert(http::header::RETRY_AFTER, http::HeaderValue::from_static("1"));
    response
}

fn unavailable() -> Response<Bytes> {
    let page = "<html><body><h1>503 Service Unavailable</h1>No server is available to handle this request.</body></html>";
    let mut response = Response::new(Bytes::from(page));
    *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    response
}
