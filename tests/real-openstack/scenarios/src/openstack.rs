//! The cloud's APIs as plain HTTP and JSON: what scenarios look at and change it with. On purpose not Bowline's own client.

use std::collections::BTreeMap;

use anyhow::{Context, ensure};
use bytes::Bytes;
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use real_cloud::{Account, Description};
use serde_json::{Value, json};
use tokio::sync::Mutex;

/// A service of the cloud.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Api {
    Identity,
    Compute,
    Network,
    LoadBalancer,
}

impl Api {
    /// Its name in the catalog.
    const fn kind(self) -> &'static str {
        match self {
            Self::Identity => "identity",
            Self::Compute => "compute",
            Self::Network => "network",
            Self::LoadBalancer => "load-balancer",
        }
    }

    /// What comes between its address in the catalog and a path.
    const fn prefix(self) -> &'static str {
        match self {
            Self::Identity | Self::Compute => "",
            Self::Network => "/v2.0",
            Self::LoadBalancer => "/v2/lbaas",
        }
    }
}

/// The cloud's APIs as somebody.
pub(crate) struct OpenStack {
    http: Client<HttpConnector, Full<Bytes>>,
    auth_url: String,
    request: Value,
    region: String,
    session: Mutex<Session>,
}

#[derive(Clone)]
struct Session {
    token: String,
    endpoints: BTreeMap<String, String>,
}

impl OpenStack {
    /// Logs in with a password.
    pub(crate) async fn login(cloud: &Description, who: &Account) -> anyhow::Result<Self> {
        let domain = json!({"name": who.domain});
        let request = json!({"auth": {
            "identity": {"methods": ["password"], "password": {"user": {
                "name": who.user, "password": who.password, "domain": domain,
            }}},
            "scope": {"project": {"name": who.project, "domain": domain}},
        }});
        let http = Client::builder(TokioExecutor::new()).build_http();
        let session = Mutex::new(Session { token: String::new(), endpoints: BTreeMap::new() });
        let (auth_url, region) = (cloud.auth_url.clone(), cloud.region.clone());
        let this = Self { http, auth_url, request, region, session };
        *this.session.lock().await =
            this.open_session().await.with_context(|| format!("log in as {}", who.user))?;
        Ok(this)
    }

    async fn open_session(&self) -> anyhow::Result<Session> {
        let url = format!("{}/auth/tokens", self.auth_url);
        let request = Request::post(url).header("content-type", "application/json");
        let answer = self.http.request(request.body(self.request.to_string().into())?).await?;
        ensure!(answer.status() == StatusCode::CREATED, "Keystone answered {}", answer.status());
        let token = answer.headers().get("x-subject-token").context("no token")?.to_str()?.to_owned();
        let body: Value = serde_json::from_slice(&answer.into_body().collect().await?.to_bytes())?;
        let mut endpoints = BTreeMap::new();
        for service in body["token"]["catalog"].as_array().into_iter().flatten() {
            for endpoint in service["endpoints"].as_array().into_iter().flatten() {
                if endpoint["interface"] == "public" && endpoint["region"] == self.region {
                    let (kind, url) = (&service["type"], &endpoint["url"]);
                    let text =
                        |value: &Value| value.as_str().unwrap_or_default().trim_end_matches('/').to_owned();
                    endpoints.insert(text(kind), text(url));
                }
            }
        }
        Ok(Session { token, endpoints })
    }

    /// Asks for something; any answer is one.
    pub(crate) async fn ask(
        &self,
        method: Method,
        api: Api,
        path: &str,
        body: Option<&Value>,
    ) -> anyhow::Result<(StatusCode, Value)> {
        let session = self.session.lock().await.clone();
        let answer = self.send(&session, method.clone(), api, path, body).await?;
        if answer.0 != StatusCode::UNAUTHORIZED {
            return Ok(answer);
        }
        let renewed = self.open_session().await?;
        *self.session.lock().await = renewed.clone();
        self.send(&renewed, method, api, path, body).await
    }

    async fn send(
        &self,
        session: &Session,
        method: Method,
        api: Api,
        path: &str,
        body: Option<&Value>,
    ) -> anyhow::Result<(StatusCode, Value)> {
        let kind = api.kind();
        let root = session.endpoints.get(kind).with_context(|| format!("no {kind} in the catalog"))?;
        let request = Request::builder()
            .method(method)
            .uri(format!("{root}{}/{path}", api.prefix()))
            .header("x-auth-token", &session.token)
            .header("openstack-api-version", "compute 2.90")
            .header("content-type", "application/json");
        let body = body.map(Value::to_string).unwrap_or_default();
        let answer = self.http.request(request.body(body.into())?).await?;
        let status = answer.status();
        let body = answer.into_body().collect().await?.to_bytes();
        // An empty answer, or a page of HTML.
        let value = serde_json::from_slice(&body)
            .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&body).into_owned()));
        Ok((status, value))
    }

    async fn expect_success(
        &self,
        method: Method,
        api: Api,
        path: &str,
        body: Option<&Value>,
    ) -> anyhow::Result<Value> {
        let (status, value) = self.ask(method.clone(), api, path, body).await?;
        ensure!(status.is_success(), "{method} {api:?} {path}: {status} {value}");
        Ok(value)
    }

    pub(crate) async fn get(&self, api: Api, path: &str) -> anyhow::Result<Value> {
        self.expect_success(Method::GET, api, path, None).await
    }

    /// The rows of a list: `list(Api::Network, "ports?name=x", "ports")`.
    pub(crate) async fn list(&self, api: Api, path: &str, key: &str) -> anyhow::Result<Vec<Value>> {
        let mut answer = self.get(api, path).await?;
        match answer[key].take() {
            Value::Array(rows) => Ok(rows),
            other => anyhow::bail!("no list of {key} in the answer to {path}: {other}"),
        }
    }

    /// One thing; none if the service says that there is no such thing.
    pub(crate) async fn find(&self, api: Api, path: &str) -> anyhow::Result<Option<Value>> {
        let (status, value) = self.ask(Method::GET, api, path, None).await?;
        if status == StatusCode::NOT_FOUND {
            return Ok(None);
        }
        ensure!(status.is_success(), "GET {api:?} {path}: {status} {value}");
        Ok(Some(value))
    }

    pub(crate) async fn post(&self, api: Api, path: &str, body: &Value) -> anyhow::Result<Value> {
        self.expect_success(Method::POST, api, path, Some(body)).await
    }

    pub(crate) async fn put(&self, api: Api, path: &str, body: &Value) -> anyhow::Result<Value> {
        self.expect_success(Method::PUT, api, path, Some(body)).await
    }

    pub(crate) async fn patch(&self, api: Api, path: &str, body: &Value) -> anyhow::Result<Value> {
        self.expect_success(Method::PATCH, api, path, Some(body)).await
    }

    /// Deletes something; that it is gone already is fine.
    pub(crate) async fn delete(&self, api: Api, path: &str) -> anyhow::Result<()> {
        let (status, value) = self.ask(Method::DELETE, api, path, None).await?;
        ensure!(
            status.is_success() || status == StatusCode::NOT_FOUND,
            "DELETE {api:?} {path}: {status} {value}"
        );
        Ok(())
    }
}
