//! The real cloud: where it is, who asks, and how a request gets there.
//!
//! It only sends what it is told, and takes nothing for granted but Keystone's form of a token and its catalog.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, ensure};
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::answer::Answer;

/// How long one answer may take.
const ANSWER_WITHIN: Duration = Duration::from_secs(300);
/// The largest answer that is read.
const BODY_BYTES_MAX: usize = 16 << 20;

/// A real OpenStack whose administrator we are: it makes projects of its own in it, and removes them.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RealCloud {
    /// Where Keystone is, without TLS: `http://127.0.0.1:5000/v3`.
    pub auth_url: String,
    /// The administrator's name, in the domain with the identifier `default`.
    pub admin_user: String,
    /// The administrator's password.
    pub admin_password: String,
    /// The administrator's project.
    pub admin_project: String,
    /// The region whose services are asked.
    #[serde(default = "default_region")]
    pub region: String,
    /// The name of the external network.
    #[serde(default = "default_external_network")]
    pub external_network: String,
    /// The name of an image that servers can be made from.
    #[serde(default = "default_image")]
    pub image: String,
    /// The identifier of a flavor that servers can have.
    #[serde(default = "default_flavor")]
    pub flavor: String,
}

fn default_region() -> String {
    "RegionOne".to_owned()
}

fn default_external_network() -> String {
    "public".to_owned()
}

fn default_image() -> String {
    "tiny".to_owned()
}

fn default_flavor() -> String {
    "1".to_owned()
}

/// The endpoints of one service in one region, by interface.
pub(crate) type Interfaces = BTreeMap<String, String>;
/// The catalog: regions, their services by type, the endpoints.
pub(crate) type Catalog = BTreeMap<String, BTreeMap<String, Interfaces>>;

/// Sends requests to the real cloud.
#[derive(Clone)]
pub(crate) struct Wire {
    client: Client<HttpConnector, Full<Bytes>>,
}

impl Wire {
    pub(crate) fn new() -> Self {
        Self { client: Client::builder(TokioExecutor::new()).build_http() }
    }

    pub(crate) async fn ask(&self, request: Request<Bytes>) -> anyhow::Result<Answer> {
        let what = format!("{} {}", request.method(), request.uri());
        let whole = async {
            let response = self.client.request(request.map(Full::new)).await?;
            let (head, body) = response.into_parts();
            let body = Limited::new(body, BODY_BYTES_MAX).collect().await;
            let body = body.map_err(|error| anyhow::anyhow!(error))?.to_bytes();
            anyhow::Ok(Answer::read(&Response::from_parts(head, body)))
        };
        let answered = tokio::time::timeout(ANSWER_WITHIN, whole).await;
        answered.map_err(anyhow::Error::from).flatten().with_context(|| format!("the real cloud on {what}"))
    }

    /// A token of the administrator, and the catalog that came with it.
    pub(crate) async fn log_in(&self, cloud: &RealCloud) -> anyhow::Result<(String, Catalog)> {
        let domain = json!({"id": "default"});
        let user = json!({"name": cloud.admin_user, "domain": domain, "password": cloud.admin_password});
        let scope = json!({"project": {"name": cloud.admin_project, "domain": domain}});
        let identity = json!({"methods": ["password"], "password": {"user": user}});
        let body = json!({"auth": {"identity": identity, "scope": scope}}).to_string();
        let url = format!("{}/auth/tokens", cloud.auth_url.trim_end_matches('/'));
        let request =
            Request::post(url).header("content-type", "application/json").body(Bytes::from(body))?;
        let answer = self.ask(request).await?;
        ensure!(answer.status == 201, "the administrator was refused: {} {}", answer.status, answer.body);
        let token = answer.headers.get("x-subject-token").context("the answer has no token")?;
        Ok((token.clone(), catalog(&answer.body)?))
    }
}

#[derive(Deserialize)]
struct CatalogEntry {
    #[serde(rename = "type")]
    kind: String,
    endpoints: Vec<CatalogEndpoint>,
}

#[derive(Deserialize)]
struct CatalogEndpoint {
    region_id: String,
    interface: String,
    url: String,
}

fn catalog(token: &Value) -> anyhow::Result<Catalog> {
    let entries = token.pointer("/token/catalog").context("the token has no catalog")?;
    let entries: Vec<CatalogEntry> = serde_json::from_value(entries.clone()).context("read the catalog")?;
    let mut catalog = Catalog::new();
    for entry in entries {
        for endpoint in entry.endpoints {
            let services = catalog.entry(endpoint.region_id).or_default();
            let interfaces = services.entry(entry.kind.clone()).or_default();
            interfaces.insert(endpoint.interface, endpoint.url);
        }
    }
    Ok(catalog)
}
