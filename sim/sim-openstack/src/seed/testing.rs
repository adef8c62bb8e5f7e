//! A seeded cloud for unit tests: requests in one line, time that moves when told to.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{ADMIN, Account, Estate, EstateSize, MEMBER, seed};
use crate::clock::later;
use crate::cloud::{Cloud, Outcome};
use crate::config::Config;

/// The root address of the services in unit tests.
pub(crate) const ROOT: &str = "http://openstack.sim";

/// An answer, read.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
    pub(crate) text: String,
}

/// A cloud with somebody who is logged in.
pub(crate) struct Bench {
    pub(crate) cloud: Cloud,
    pub(crate) estate: Estate,
    pub(crate) now: Timestamp,
    pub(crate) token: String,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self::with(Config::default())
    }

    pub(crate) fn with(config: Config) -> Self {
        let now = "2026-11-15T08:00:00Z".parse().unwrap();
        let (cloud, estate) = seed(config, now, &EstateSize::default());
        let mut bench = Self { cloud, estate, now, token: String::new() };
        bench.token = bench.login(MEMBER);
        bench
    }

    pub(crate) fn root(&self) -> String {
        ROOT.to_owned()
    }

    /// Lets time pass.
    pub(crate) fn pass(&mut self, seconds: f64) {
        self.now = later(self.now, Duration::from_secs_f64(seconds));
    }

    pub(crate) fn login(&mut self, account: Account) -> String {
        let answer = self.authenticate(account.user, account.password, account.project);
        answer.headers["x-subject-token"].to_str().unwrap().to_owned()
    }

    pub(crate) fn authenticate(&mut self, user: &str, password: &str, project: &str) -> Answer {
        let user = json!({"name": user, "domain": {"id": "default"}, "password": password});
        let identity = json!({"methods": ["password"], "password": {"user": user}});
        let scope = json!({"project": {"name": project, "domain": {"id": "default"}}});
        let body = json!({"auth": {"identity": identity, "scope": scope}});
        self.send(Method::POST, "/identity/v3/auth/tokens", &[], Some(&body))
    }

    /// Does something as the administrator.
    pub(crate) fn as_admin<R>(&mut self, act: impl FnOnce(&mut Self) -> R) -> R {
        let admin = self.login(ADMIN);
        let member = std::mem::replace(&mut self.token, admin);
        let result = act(self);
        self.token = member;
        result
    }

    pub(crate) fn get(&mut self, path: &str) -> Answer {
        self.send(Method::GET, path, &[], None)
    }

    pub(crate) fn post(&mut self, path: &str, body: &Value) -> Answer {
        self.send(Method::POST, path, &[], Some(body))
    }

    pub(crate) fn put(&mut self, path: &str, body: &Value) -> Answer {
        self.send(Method::PUT, path, &[], Some(body))
    }

    pub(crate) fn delete(&mut self, path: &str) -> Answer {
        self.send(Method::DELETE, path, &[], None)
    }

    pub(crate) fn send(
        &mut self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&Value>,
    ) -> Answer {
        match self.outcome(method, path, headers, body) {
            Outcome::Reply(response) | Outcome::Slow(_, response) => {
                let (parts, bytes) = response.into_parts();
                let text = String::from_utf8_lossy(&bytes).into_owned();
                let body = serde_json::from_str(&text).unwrap_or(Value::Null);
                Answer { status: parts.status, headers: parts.headers, body, text }
            }
            lost => panic!("no answer to {path}: {lost:?}"),
        }
    }

    pub(crate) fn outcome(
        &mut self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&Value>,
    ) -> Outcome {
        let mut request = Request::builder().method(method).uri(format!("{ROOT}{path}"));
        if !self.token.is_empty() {
            request = request.header("x-auth-token", &self.token);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let body = body.map(ToString::to_string).unwrap_or_default();
        self.cloud.handle(request.body(Bytes::from(body)).unwrap(), self.now)
    }
}
