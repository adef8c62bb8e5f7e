//! When a fault acts: on which requests, from which to which time, how many times, with what chance.

use http::{Method, StatusCode};
use jiff::Timestamp;

use super::Fault;
use crate::config::Service;
use crate::http::ApiRequest;
use crate::log::pattern;

/// Names a rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct RuleId(pub(super) u64);

/// A fault with the requests it acts on. Without conditions it acts on every request.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    id: RuleId,
    fault: Fault,
    service: Option<Service>,
    method: Option<Method>,
    path: Option<String>,
    skip: u64,
    times: Option<u64>,
    chance: f64,
    from: Option<Timestamp>,
    until: Option<Timestamp>,
    acted: u64,
}

impl Rule {
    /// A rule for all requests.
    #[must_use]
    pub fn new(fault: Fault) -> Self {
        Self {
            id: RuleId::default(),
            fault,
            service: None,
            method: None,
            path: None,
            skip: 0,
            times: None,
            chance: 1.0,
            from: None,
            until: None,
            acted: 0,
        }
    }

    /// Only requests to this service.
    #[must_use]
    pub fn on(self, service: Service) -> Self {
        Self { service: Some(service), ..self }
    }

    /// Only requests with this method.
    #[must_use]
    pub fn method(self, method: Method) -> Self {
        Self { method: Some(method), ..self }
    }

    /// Only requests whose path below the service's root matches, such as `/v2.0/ports/{id}` or `*/loadbalancers*`; a star
    /// stands for any text, `{id}` for an identifier.
    #[must_use]
    pub fn path(self, pattern: &str) -> Self {
        Self { path: Some(pattern.to_owned()), ..self }
    }

    /// Only so many times.
    #[must_use]
    pub fn times(self, times: u64) -> Self {
        Self { times: Some(times), ..self }
    }

    /// Not the first so many requests that match.
    #[must_use]
    pub fn after(self, skip: u64) -> Self {
        Self { skip, ..self }
    }

    /// With a chance between 0 and 1.
    #[must_use]
    pub fn chance(self, chance: f64) -> Self {
        Self { chance, ..self }
    }

    /// Only from one time on and before another.
    #[must_use]
    pub fn between(self, from: Timestamp, until: Timestamp) -> Self {
        Self { from: Some(from), until: Some(until), ..self }
    }

    pub(super) fn with_id(self, id: RuleId) -> Self {
        Self { id, ..self }
    }

    pub(super) fn id(&self) -> RuleId {
        self.id
    }

    pub(super) fn fault(&self) -> &Fault {
        &self.fault
    }

    pub(super) fn acted(&self) -> u64 {
        self.acted
    }

    pub(super) fn matches(&self, service: Service, request: &ApiRequest, now: Timestamp) -> bool {
        self.times != Some(0)
            && self.service.is_none_or(|wanted| wanted == service)
            && self.method.as_ref().is_none_or(|wanted| *wanted == request.method)
            && self.from.is_none_or(|from| from <= now)
            && self.until.is_none_or(|until| now < until)
            && self
                .path
                .as_ref()
                .is_none_or(|wanted| glob(wanted, &request.path) || glob(wanted, &pattern(&request.path)))
    }

    /// Whether it acts on a request that matches; counts it.
    pub(super) fn turn(&mut self, chance: impl FnOnce() -> f64) -> bool {
        if self.skip > 0 {
            self.skip -= 1;
            return false;
        }
        if self.chance < 1.0 && chance() >= self.chance {
            return false;
        }
        self.times = self.times.map(|times| times.saturating_sub(1));
        self.acted += 1;
        true
    }
}

/// Whether a text matches a pattern in which a star stands for any text.
fn glob(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((head, rest)) => text.strip_prefix(head).is_some_and(|tail| {
            (0..=tail.len()).filter_map(|start| tail.get(start..)).any(|tail| glob(rest, tail))
        }),
    }
}

/// A seeded mix of faults: the chance of each per request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chaos {
    /// 500, 502, 503, half of them as HTML.
    pub server_errors: f64,
    /// 429 and 413 with Retry-After.
    pub throttling: f64,
    /// Replies that are lost after the effect, and requests lost before it.
    pub lost_replies: f64,
    /// 404 for things that are there.
    pub not_found_lies: f64,
    /// 409 without a reason.
    pub conflicts: f64,
    /// 401 with a good token.
    pub unauthorized: f64,
    /// Load balancer operations that end in ERROR.
    pub load_balancer_errors: f64,
    /// Lists that end early.
    pub truncated_lists: f64,
    /// Reads that are up to ten seconds old.
    pub stale_reads: f64,
}

impl Chaos {
    /// Every fault with the same chance.
    #[must_use]
    pub fn even(chance: f64) -> Self {
        Self {
            server_errors: chance,
            throttling: chance,
            lost_replies: chance,
            not_found_lies: chance,
            conflicts: chance,
            unauthorized: chance,
            load_balancer_errors: chance,
            truncated_lists: chance,
            stale_reads: chance,
        }
    }

    pub(super) fn rules(&self) -> Vec<Rule> {
        let rule = |fault: Fault, chance: f64| Rule::new(fault).chance(chance);
        let third = self.server_errors / 3.0;
        let half = self.lost_replies / 4.0;
        let age = std::time::Duration::from_secs(10);
        vec![
            rule(Fault::status(StatusCode::INTERNAL_SERVER_ERROR), third),
            rule(Fault::html(StatusCode::BAD_GATEWAY), third),
            rule(Fault::html(StatusCode::SERVICE_UNAVAILABLE), third),
            rule(Fault::too_many_requests(2), self.throttling / 2.0),
            rule(Fault::over_limit(2), self.throttling / 2.0),
            rule(Fault::SilenceBefore, half),
            rule(Fault::SilenceAfter, half),
            rule(Fault::DisconnectBefore, half),
            rule(Fault::DisconnectAfter, half),
            rule(Fault::not_found_lie(), self.not_found_lies).method(Method::GET),
            rule(Fault::conflict(), self.conflicts).method(Method::PUT),
            rule(Fault::unauthorized(), self.unauthorized),
            rule(Fault::LoadBalancerError, self.load_balancer_errors).on(Service::LoadBalancer),
            rule(Fault::TruncateList { keep: 1 }, self.truncated_lists).method(Method::GET),
            rule(Fault::Stale(age), self.stale_reads).method(Method::GET),
        ]
    }
}
