//! The proxy between a CCM and the API server: HTTP on loopback to the one, TLS to the other. It changes nothing that either says, so
//! that encodings and compression are the CCM's own; it counts. The one thing that it adds is the CCM's token, where it is missing:
//! client-go sends none without TLS.

use bowline_testkit::http::{Bound, Server};
use bowline_testkit::proxy::Upstream;
use http::HeaderValue;
use http::header::AUTHORIZATION;
use kube::Config;
use tokio::time::Instant;

use super::kube_request::{class, name};
use super::traffic::Traffic;

/// A running proxy.
pub struct Proxy {
    /// Where it listens.
    pub url: String,
    _server: Server,
    /// What passed.
    pub traffic: Traffic,
}

impl Proxy {
    /// Starts one in front of the server that this configuration names, for somebody with this token.
    ///
    /// # Errors
    /// When no port is free, or the configuration has no usable authority.
    pub async fn start(config: &Config, token: &str) -> anyhow::Result<Self> {
        let (bound, upstream) = (Bound::new()?, Upstream::new(config)?);
        let traffic = Traffic::over(bound.wire.clone());
        let mut credentials = HeaderValue::from_str(&format!("Bearer {token}"))?;
        credentials.set_sensitive(true);
        let passed = traffic.clone();
        let server = bound.serve(move |mut request| {
            let (upstream, traffic, credentials) = (upstream.clone(), passed.clone(), credentials.clone());
            async move {
                let (at, name) = (Instant::now(), name(request.method(), request.uri()));
                request.headers_mut().entry(AUTHORIZATION).or_insert(credentials);
                let answer = upstream.forward(request).await?;
                traffic.add(class(&name), name, at, answer.status().as_u16());
                std::io::Result::Ok(answer)
            }
        })?;
        Ok(Self { url: server.url.clone(), _server: server, traffic })
    }
}
