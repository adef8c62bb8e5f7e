//! The cloud itself: state, time, faults and log around the services. Synchronous, and a pure function of what it is
//! handed: the same configuration, requests and times give the same answers.

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::config::{Config, Service};
use crate::faults::{Faults, Injected};
use crate::http::{ApiRequest, ApiResponse, Body, Query, Target, target};
use crate::ids::IdGenerator;
use crate::log::{LogEntry, RequestLog};
use crate::schedule::{Effect, Schedule};
use crate::{compute, identity, image, key_manager, load_balancer, network};

/// Everything the cloud knows. Public, so that a test can look at it and change it behind the API's back.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// Keystone's.
    pub identity: identity::IdentityState,
    /// Nova's.
    pub compute: compute::ComputeState,
    /// Neutron's.
    pub network: network::NetworkState,
    /// Octavia's.
    pub load_balancer: load_balancer::LoadBalancerState,
    /// Barbican's.
    pub key_manager: key_manager::KeyManagerState,
    /// Glance's.
    pub image: image::ImageState,
}

impl State {
    /// Takes a server out with its ports, at once.
    pub fn remove_server(&mut self, id: &str) -> Option<compute::Server> {
        for port in self.network.ports.find_ids("device_id", id) {
            self.network.ports.remove(&port);
        }
        self.compute.remove_server(id)
    }
}

/// The state with what is needed to change it.
#[derive(Clone, Debug)]
pub struct World {
    /// What the cloud knows.
    pub state: State,
    /// What was chosen before it started.
    pub config: Config,
    /// Where identifiers come from.
    pub ids: IdGenerator,
    /// What will happen later.
    pub schedule: Schedule,
    /// The time of the present request.
    pub now: Timestamp,
    /// How the next operation on a load balancer ends, if a fault says so.
    pub(crate) load_balancer_fate: Option<load_balancer::Fate>,
}

/// What comes of a request.
#[derive(Debug)]
pub enum Outcome {
    /// This answer.
    Reply(Response<Bytes>),
    /// This answer, after a while.
    Slow(std::time::Duration, Response<Bytes>),
    /// No answer, and the connection stays open.
    Silence,
    /// No answer, and the connection closes.
    Disconnect,
}

/// A simulated OpenStack.
#[derive(Clone, Debug)]
pub struct Cloud {
    world: World,
    faults: Faults,
    log: RequestLog,
}

impl Cloud {
    /// An empty cloud: no users, so nobody can log in until [`crate::seed`] or a test adds some.
    #[must_use]
    pub fn new(config: Config, now: Timestamp) -> Self {
        let ids = IdGenerator::new(config.seed);
        let faults = Faults::new(config.seed);
        let schedule = Schedule::default();
        let world = World { state: State::default(), config, ids, schedule, now, load_balancer_fate: None };
        Self { world, faults, log: RequestLog::default() }
    }

    /// The time of the latest request or look.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.world.now
    }

    /// Everything the cloud knows.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.world.state
    }

    /// The state with what is needed to change it as a service would.
    pub fn world(&mut self) -> &mut World {
        &mut self.world
    }

    /// Changes the state behind the API's back: what an operator, another tenant or a bug does.
    ///
    /// What was due before it but not looked at yet has not happened: call [`Cloud::settle`] first where time has passed, as
    /// [`crate::SimService::with`] does.
    pub fn edit<R>(&mut self, change: impl FnOnce(&mut State) -> R) -> R {
        let result = change(&mut self.world.state);
        self.world.state.compute.date_deleted(self.world.now);
        result
    }

    /// The faults that are injected.
    pub fn faults(&mut self) -> &mut Faults {
        &mut self.faults
    }

    /// What was asked so far.
    #[must_use]
    pub fn log(&self) -> &RequestLog {
        &self.log
    }

    /// The same, to clear it.
    pub fn log_mut(&mut self) -> &mut RequestLog {
        &mut self.log
    }

    /// When something will next happen by itself.
    #[must_use]
    pub fn next_due(&self) -> Option<Timestamp> {
        self.world.schedule.next_due()
    }

    /// Lets everything happen that is due by `now`. Time never goes back.
    pub fn settle(&mut self, now: Timestamp) {
        let now = now.max(self.world.now);
        while let Some((time, effect)) = self.world.schedule.take_due(now) {
            self.world.now = time.max(self.world.now);
            match effect {
                Effect::Server(id) => compute::finish(&mut self.world, &id),
                Effect::FloatingIp(id) => network::finish_floating_ip(&mut self.world, &id),
                Effect::LoadBalancer(id) => load_balancer::finish(&mut self.world, &id),
                Effect::LoadBalancerChildren(id) => load_balancer::finish_children(&mut self.world, &id),
            }
        }
        self.world.now = now;
    }

    /// Answers a request that arrives at `now`.
    pub fn handle(&mut self, request: Request<Bytes>, now: Timestamp) -> Outcome {
        self.settle(now);
        let (parts, body) = request.into_parts();
        let target = target(&self.world.config, &parts);
        let Some(Target { service, path }) = target else {
            let entry = self.entry(None, &parts, parts.uri.path().to_owned());
            self.log.add(LogEntry { status: 404, ..entry });
            return Outcome::Reply(nobody_here().into_http());
        };
        let query = parts.uri.query().unwrap_or_default();
        let target = if query.is_empty() { path.clone() } else { format!("{path}?{query}") };
        let entry = self.entry(Some(service), &parts, target);
        let request = read(parts.method, path, query, parts.headers, &body);
        let injected = self.faults.choose(service, &request, self.world.now);
        let fault = injected.as_ref().map(|fault| format!("{fault:?}"));
        let (response, outcome) = self.answer(service, &request, injected, &entry.request_id);
        self.log.add(LogEntry { status: response.status.as_u16(), fault, ..entry });
        match outcome {
            Delivery::Send => Outcome::Reply(response.into_http()),
            Delivery::Cut(bytes) => {
                let whole = response.into_http();
                Outcome::Reply(whole.map(|body| body.slice(..bytes.min(body.len()))))
            }
            Delivery::Wait(wait) => Outcome::Slow(wait, response.into_http()),
            Delivery::Silence => Outcome::Silence,
            Delivery::Disconnect => Outcome::Disconnect,
        }
    }

    fn entry(&mut self, service: Option<Service>, asked: &http::request::Parts, target: String) -> LogEntry {
        let request_id = self.world.ids.request();
        let (at, method) = (self.world.now, asked.method.clone());
        let header = asked.headers.get(http::header::USER_AGENT).and_then(|value| value.to_str().ok());
        let agent = crate::log::agent(header.unwrap_or_default());
        LogEntry { at, service, method, target, status: 0, request_id, fault: None, agent }
    }

    fn answer(
        &mut self,
        service: Service,
        request: &ApiRequest,
        injected: Option<Injected>,
        request_id: &str,
    ) -> (ApiResponse, Delivery) {
        if let Some(Injected::Instead(response, delivery)) = injected {
            return (identify(service, request, response, request_id), delivery);
        }
        self.world.load_balancer_fate = match &injected {
            Some(Injected::LoadBalancerFate(fate)) => Some(*fate),
            _ => None,
        };
        if matches!(injected, Some(Injected::ExpireTokens)) {
            identity::expire_all_tokens(&mut self.world.state.identity, self.world.now);
        }
        let response = dispatch(&mut self.world, service, request);
        self.world.load_balancer_fate = None;
        let response = identify(service, request, response, request_id);
        let project = identity::project_of(&self.world, request);
        let now = self.world.now;
        // What is true, not what is told: a former answer that is given again would never become old.
        let truth = response.clone();
        let (response, delivery) = match injected {
            Some(Injected::After(after)) => {
                self.faults.alter(after, service, request, &project, response, now)
            }
            _ => (response, Delivery::Send),
        };
        self.faults.remember(service, request, &project, &truth, now);
        (response, delivery)
    }
}

/// How an answer gets to the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delivery {
    Send,
    Cut(usize),
    Wait(std::time::Duration),
    Silence,
    Disconnect,
}

fn dispatch(world: &mut World, service: Service, request: &ApiRequest) -> ApiResponse {
    let reply = match service {
        Service::Identity => identity::serve(world, request),
        Service::Compute => compute::serve(world, request),
        Service::Network => network::serve(world, request),
        Service::LoadBalancer => load_balancer::serve(world, request),
        Service::KeyManager => key_manager::serve(world, request),
        Service::Image => image::serve(world, request),
    };
    reply.unwrap_or_else(crate::http::Refusal::into_response)
}

/// Adds the request id, in the headers in which each service gives it.
fn identify(service: Service, request: &ApiRequest, response: ApiResponse, request_id: &str) -> ApiResponse {
    let discovery = request.segments.is_empty();
    let refused = response.status == StatusCode::UNAUTHORIZED;
    match service {
        Service::Identity => response.with("vary", "X-Auth-Token").with("x-openstack-request-id", request_id),
        Service::Compute if !discovery => {
            response.with("x-openstack-request-id", request_id).with("x-compute-request-id", request_id)
        }
        Service::LoadBalancer if !refused => response.with("x-openstack-request-id", request_id),
        Service::Network if !discovery => response.with("x-openstack-request-id", request_id),
        Service::KeyManager => response.with("x-openstack-request-id", request_id),
        Service::Image if request.segments.first().is_some_and(|part| part == "v2") => {
            response.with("x-openstack-request-id", request_id)
        }
        _ => response,
    }
}

fn read(method: Method, path: String, query: &str, headers: http::HeaderMap, body: &Bytes) -> ApiRequest {
    let decode = |part: &str| percent_encoding::percent_decode_str(part).decode_utf8_lossy().into_owned();
    let segments = path.split('/').filter(|part| !part.is_empty()).map(decode).collect();
    let parsed = if body.is_empty() { Ok(Value::Null) } else { serde_json::from_slice(body) };
    let body_is_garbage = parsed.is_err();
    let body = parsed.unwrap_or(Value::Null);
    ApiRequest { method, path, segments, query: Query::parse(query), headers, body, body_is_garbage }
}

fn nobody_here() -> ApiResponse {
    let message = "No service of this simulated cloud has this address; the catalog lists them.";
    ApiResponse {
        status: StatusCode::NOT_FOUND,
        headers: Vec::new(),
        body: Body::Json(json!({"error": {"code": 404, "title": "Not Found", "message": message}})),
    }
}
