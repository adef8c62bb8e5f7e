//! A cloud whose answers a test writes. Keystone is played here; everything else is the test's.

use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use futures::{FutureExt, future::BoxFuture};
use http::{HeaderMap, Method, Request, Response};
use http_body_util::{BodyExt, Full};
use jiff::{SignedDuration, Timestamp};
use openstack_client::{AuthOptions, Body, Client, Settings, Timeouts, Transport};
use parking_lot::Mutex;
use secrecy::SecretString;
use serde_json::{Value, json};
use tower::{BoxError, Service};

pub(crate) const PASSWORD: &str = "pa55word-marker";
pub(crate) const PROJECT: &str = "05a2ca643f9c4ec88c197cde22941c01";

/// A request as the cloud saw it.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) method: Method,
    pub(crate) host: String,
    pub(crate) path: String,
    pub(crate) query: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

impl Asked {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// `GET nova.test/v2.1/servers/detail?limit=2`
    pub(crate) fn line(&self) -> String {
        let query = if self.query.is_empty() { String::new() } else { format!("?{}", self.query) };
        format!("{} {}{}{query}", self.method, self.host, self.path)
    }
}

/// What the cloud does with a request.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    Answer { status: u16, headers: Vec<(&'static str, String)>, body: Bytes },
    Silence,
    Broken(&'static str),
    After(Duration, Box<Reply>),
}

impl Reply {
    pub(crate) fn json(status: u16, body: &Value) -> Self {
        let id = ("x-openstack-request-id", "req-1".to_owned());
        Self::Answer { status, headers: vec![id], body: body.to_string().into() }
    }

    pub(crate) fn ok(body: &Value) -> Self {
        Self::json(200, body)
    }

    pub(crate) fn text(status: u16, body: &str) -> Self {
        Self::Answer { status, headers: vec![], body: body.to_owned().into() }
    }

    pub(crate) fn with(mut self, name: &'static str, value: &str) -> Self {
        if let Self::Answer { headers, .. } = &mut self {
            headers.push((name, value.to_owned()));
        }
        self
    }

    pub(crate) fn after(self, pause: Duration) -> Self {
        Self::After(pause, Box::new(self))
    }

    /// As the services answer a token that they do not accept.
    pub(crate) fn unauthorized() -> Self {
        Self::json(
            401,
            &json!({"error": {"code": 401, "title": "Unauthorized",
            "message": "The request you have made requires authentication."}}),
        )
    }
}

type Handler = Arc<dyn Fn(&Asked) -> Reply + Send + Sync>;

/// The cloud.
#[derive(Clone)]
pub(crate) struct Cloud {
    handler: Handler,
    keystone: Handler,
    journal: Arc<Mutex<Vec<Asked>>>,
}

/// When the cloud's clock starts.
pub(crate) fn epoch() -> Timestamp {
    "2026-11-15T08:00:00Z".parse().unwrap()
}

/// Keystone's answer with the token `text`, which lives for `ttl`.
pub(crate) fn token(text: &str, ttl: Duration) -> Reply {
    let expires = epoch() + SignedDuration::try_from(ttl).unwrap();
    let endpoint = |url: &str| json!({"id": "e", "interface": "public", "region": "RegionOne", "region_id": "RegionOne", "url": url});
    let body = json!({"token": {
        "methods": ["password"],
        "user": {"domain": {"id": "default", "name": "Default"}, "id": "u1", "name": "k8s", "password_expires_at": null},
        "audit_ids": ["x"],
        "expires_at": expires.to_string(),
        "issued_at": epoch().to_string(),
        "project": {"domain": {"id": "default", "name": "Default"}, "id": PROJECT, "name": "k8s"},
        "is_domain": false,
        "roles": [{"id": "r1", "name": "member"}],
        "catalog": [
            {"type": "compute", "name": "nova", "endpoints": [endpoint("http://nova.test/v2.1")]},
            {"type": "network", "name": "neutron", "endpoints": [endpoint("http://neutron.test")]},
            {"type": "load-balancer", "name": "octavia", "endpoints": [endpoint("http://octavia.test")]},
            {"type": "key-manager", "name": "barbican", "endpoints": [endpoint("http://barbican.test")]},
        ],
    }});
    Reply::json(201, &body).with("x-subject-token", text)
}

impl Cloud {
    /// A cloud whose tokens are `token-1`, `token-2`, … and live for an hour.
    pub(crate) fn new(handler: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> Self {
        let issued = AtomicU64::new(0);
        let keystone = move |_: &Asked| {
            let number = issued.fetch_add(1, Ordering::SeqCst) + 1;
            token(&format!("token-{number}"), Duration::from_secs(3600))
        };
        Self { handler: Arc::new(handler), keystone: Arc::new(keystone), journal: Arc::default() }
    }

    /// The same cloud with another Keystone.
    pub(crate) fn keystone(mut self, keystone: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> Self {
        self.keystone = Arc::new(keystone);
        self
    }

    pub(crate) fn transport(&self) -> Transport {
        Transport::new(self.clone(), Timeouts::default())
    }

    pub(crate) fn settings() -> Settings {
        Settings::new(options().resolve().unwrap()).clock(Arc::new(epoch))
    }

    pub(crate) fn client(&self) -> Client {
        Client::new(self.transport(), Self::settings())
    }

    /// Everything that was asked.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.journal.lock().clone()
    }

    /// What was asked of all but Keystone.
    pub(crate) fn calls(&self) -> Vec<Asked> {
        self.asked().into_iter().filter(|asked| asked.host != "keystone.test").collect()
    }

    /// How many tokens were asked for.
    pub(crate) fn logins(&self) -> usize {
        self.asked().iter().filter(|asked| asked.path.ends_with("/auth/tokens")).count()
    }
}

pub(crate) fn options() -> AuthOptions {
    AuthOptions {
        auth_url: Some("http://keystone.test/v3".into()),
        username: Some("k8s".into()),
        password: Some(SecretString::from(PASSWORD)),
        project_name: Some("k8s".into()),
        domain_id: Some("default".into()),
        ..AuthOptions::default()
    }
}

impl Service<Request<Body>> for Cloud {
    type Response = Response<Full<Bytes>>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let cloud = self.clone();
        async move {
            let (head, body) = request.into_parts();
            let body: Result<_, Infallible> = body.collect().await;
            let body = body?.to_bytes();
            let asked = Asked {
                method: head.method,
                host: head.uri.host().unwrap_or_default().to_owned(),
                path: head.uri.path().to_owned(),
                query: head.uri.query().unwrap_or_default().to_owned(),
                headers: head.headers,
                body: if body.is_empty() { Value::Null } else { serde_json::from_slice(&body)? },
            };
            cloud.journal.lock().push(asked.clone());
            let handler = if asked.host == "keystone.test" { &cloud.keystone } else { &cloud.handler };
            perform(handler(&asked)).await
        }
        .boxed()
    }
}

async fn perform(mut reply: Reply) -> Result<Response<Full<Bytes>>, BoxError> {
    loop {
        match reply {
            Reply::Silence => std::future::pending().await,
            Reply::Broken(why) => return Err(why.into()),
            Reply::After(pause, then) => {
                tokio::time::sleep(pause).await;
                reply = *then;
            }
            Reply::Answer { status, headers, body } => {
                let mut response = Response::builder().status(status);
                for (name, value) in headers {
                    response = response.header(name, value);
                }
                return Ok(response.body(Full::new(body))?);
            }
        }
    }
}
