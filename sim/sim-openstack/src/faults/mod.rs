//! Faults: what goes wrong, where, how often. By script (rules that match requests) or by seed (rules with a chance).
//!
//! Decides and shapes answers; it never touches the state of the cloud.

mod bodies;
mod memory;
mod rule;

use std::time::Duration;

use http::StatusCode;
use jiff::Timestamp;
use rand::rngs::Xoshiro256PlusPlus;
use rand::{Rng, SeedableRng};
use serde_json::Value;

use crate::cloud::Delivery;
use crate::config::Service;
use crate::http::{ApiRequest, ApiResponse, Body};
use crate::load_balancer::Fate;
use memory::Memory;
pub use rule::{Chaos, Rule, RuleId};

#[cfg(test)]
mod tests;

/// Something that goes wrong with a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// This status instead of doing what was asked.
    Answer {
        /// The status.
        status: StatusCode,
        /// What the body looks like.
        body: FaultBody,
        /// Seconds in a Retry-After header.
        retry_after: Option<u64>,
    },
    /// This status on a page of the proxy, though it was done: the connection behind it broke.
    AnswerAfter(StatusCode),
    /// No answer, and nothing was done.
    SilenceBefore,
    /// No answer, though it was done: the reply is lost.
    SilenceAfter,
    /// The connection closes, and nothing was done.
    DisconnectBefore,
    /// The connection closes, though it was done.
    DisconnectAfter,
    /// The answer comes late.
    Slow(Duration),
    /// A list has only its first entries, and no link to the rest.
    TruncateList {
        /// How many entries are left.
        keep: usize,
    },
    /// The body ends in the middle.
    CutBody {
        /// How many bytes are left.
        bytes: usize,
    },
    /// A read shows the cloud as it was up to this long ago: new objects are not there yet, changes not seen yet.
    Stale(Duration),
    /// The operation on the load balancer ends in ERROR.
    LoadBalancerError,
    /// The operation on the load balancer never ends: it stays PENDING.
    LoadBalancerStuck,
    /// All tokens expire just before this request.
    ExpireTokens,
}

/// What the body of an injected error looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultBody {
    /// As the service itself writes errors.
    Service,
    /// A page of the proxy in front of it.
    Html,
    /// Nothing.
    Empty,
}

impl Fault {
    /// An error as the service writes it.
    #[must_use]
    pub fn status(status: StatusCode) -> Self {
        Self::Answer { status, body: FaultBody::Service, retry_after: None }
    }

    /// An error page of a proxy.
    #[must_use]
    pub fn html(status: StatusCode) -> Self {
        Self::Answer { status, body: FaultBody::Html, retry_after: None }
    }

    /// 401 although the token is good.
    #[must_use]
    pub fn unauthorized() -> Self {
        Self::status(StatusCode::UNAUTHORIZED)
    }

    /// 403.
    #[must_use]
    pub fn forbidden() -> Self {
        Self::status(StatusCode::FORBIDDEN)
    }

    /// 404 although the thing is there.
    #[must_use]
    pub fn not_found_lie() -> Self {
        Self::status(StatusCode::NOT_FOUND)
    }

    /// 409.
    #[must_use]
    pub fn conflict() -> Self {
        Self::status(StatusCode::CONFLICT)
    }

    /// 429 with Retry-After.
    #[must_use]
    pub fn too_many_requests(retry_after: u64) -> Self {
        let status = StatusCode::TOO_MANY_REQUESTS;
        Self::Answer { status, body: FaultBody::Service, retry_after: Some(retry_after) }
    }

    /// 413 with Retry-After, as old services throttle.
    #[must_use]
    pub fn over_limit(retry_after: u64) -> Self {
        let status = StatusCode::PAYLOAD_TOO_LARGE;
        Self::Answer { status, body: FaultBody::Service, retry_after: Some(retry_after) }
    }
}

/// A fault that was chosen for a request, by when it acts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Injected {
    Instead(ApiResponse, Delivery),
    After(AfterFault),
    LoadBalancerFate(Fate),
    ExpireTokens,
}

/// A fault that acts on the answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum AfterFault {
    Deliver(Delivery),
    Answer(StatusCode),
    TruncateList(usize),
    Stale(Duration),
}

/// The rules in force.
#[derive(Clone, Debug)]
pub struct Faults {
    rules: Vec<Rule>,
    added: u64,
    random: Xoshiro256PlusPlus,
    memory: Memory,
    paused: bool,
}

impl Faults {
    pub(crate) fn new(seed: u64) -> Self {
        // Its own stream: adding a rule must not change the identifiers that follow.
        let random = Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x0066_6175_6c74_7321);
        Self { rules: Vec::new(), added: 0, random, memory: Memory::default(), paused: false }
    }

    /// Adds a rule. Of all rules that match a request the first one acts, and only that.
    pub fn add(&mut self, rule: Rule) -> RuleId {
        self.added += 1;
        let id = RuleId(self.added);
        if let Fault::Stale(age) = rule.fault() {
            self.memory.keep_at_least(*age);
        }
        self.rules.push(rule.with_id(id));
        id
    }

    /// Adds the rules of a seeded chaos.
    pub fn add_chaos(&mut self, chaos: &Chaos) {
        for rule in chaos.rules() {
            self.add(rule);
        }
    }

    /// Takes a rule away.
    pub fn remove(&mut self, id: RuleId) {
        self.rules.retain(|rule| rule.id() != id);
    }

    /// Takes all rules away.
    pub fn clear(&mut self) {
        self.rules.clear();
    }

    /// Nothing goes wrong while this is on: for requests of an operator who looks from outside. Returns whether it was on before.
    pub fn pause(&mut self, paused: bool) -> bool {
        std::mem::replace(&mut self.paused, paused)
    }

    /// How often a rule has acted; none if it is gone or used up and forgotten.
    #[must_use]
    pub fn acted(&self, id: RuleId) -> Option<u64> {
        self.rules.iter().find(|rule| rule.id() == id).map(Rule::acted)
    }

    /// The fault for a request, if any.
    pub(crate) fn choose(
        &mut self,
        service: Service,
        request: &ApiRequest,
        now: Timestamp,
    ) -> Option<Injected> {
        let Self { rules, random, paused, .. } = self;
        if *paused {
            return None;
        }
        // 53 random bits are all a double can hold: an even chance between 0 and 1.
        let mut chance = || (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        for rule in rules.iter_mut() {
            if rule.matches(service, request, now) && rule.turn(&mut chance) {
                return Some(injected(rule.fault(), service, request));
            }
        }
        None
    }

    /// What an after-fault makes of an answer.
    pub(crate) fn alter(
        &mut self,
        fault: AfterFault,
        service: Service,
        request: &ApiRequest,
        project: &str,
        response: ApiResponse,
        now: Timestamp,
    ) -> (ApiResponse, Delivery) {
        match fault {
            AfterFault::Deliver(delivery) => (response, delivery),
            AfterFault::Answer(status) => {
                (bodies::answer(service, request, status, FaultBody::Html), Delivery::Send)
            }
            AfterFault::TruncateList(keep) => (truncated(response, keep), Delivery::Send),
            AfterFault::Stale(age) => {
                (self.memory.stale(service, request, project, response, age, now), Delivery::Send)
            }
        }
    }

    /// Keeps an answer for stale reads, if some rule may want it.
    pub(crate) fn remember(
        &mut self,
        service: Service,
        request: &ApiRequest,
        project: &str,
        response: &ApiResponse,
        now: Timestamp,
    ) {
        self.memory.remember(service, request, project, response, now);
    }
}

fn injected(fault: &Fault, service: Service, request: &ApiRequest) -> Injected {
    let nothing = || ApiResponse::empty(StatusCode::GATEWAY_TIMEOUT);
    let deliver = |delivery| Injected::After(AfterFault::Deliver(delivery));
    match fault {
        Fault::Answer { status, body, retry_after } => {
            let response = bodies::answer(service, request, *status, *body);
            let response = match retry_after {
                Some(seconds) => response.with("retry-after", &seconds.to_string()),
                None => response,
            };
            Injected::Instead(response, Delivery::Send)
        }
        Fault::AnswerAfter(status) => Injected::After(AfterFault::Answer(*status)),
        Fault::SilenceBefore => Injected::Instead(nothing(), Delivery::Silence),
        Fault::DisconnectBefore => Injected::Instead(nothing(), Delivery::Disconnect),
        Fault::SilenceAfter => deliver(Delivery::Silence),
        Fault::DisconnectAfter => deliver(Delivery::Disconnect),
        Fault::Slow(wait) => deliver(Delivery::Wait(*wait)),
        Fault::CutBody { bytes } => deliver(Delivery::Cut(*bytes)),
        Fault::TruncateList { keep } => Injected::After(AfterFault::TruncateList(*keep)),
        Fault::Stale(age) => Injected::After(AfterFault::Stale(*age)),
        Fault::LoadBalancerError => Injected::LoadBalancerFate(Fate::Error),
        Fault::LoadBalancerStuck => Injected::LoadBalancerFate(Fate::Stuck),
        Fault::ExpireTokens => Injected::ExpireTokens,
    }
}

/// A list answer with fewer entries and without links; anything else as it was.
fn truncated(mut response: ApiResponse, keep: usize) -> ApiResponse {
    if let Body::Json(Value::Object(members)) = &mut response.body {
        members.retain(|name, _| !name.ends_with("_links"));
        for list in members.values_mut().filter_map(Value::as_array_mut) {
            list.truncate(keep);
        }
    }
    response
}
