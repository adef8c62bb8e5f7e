//! The far side of a reverse proxy in front of an API server. A test serves the near side with [`crate::http`], and decides there what
//! is done to a request or an answer.

use std::io;

use anyhow::Context;
use bytes::Bytes;
use http::header::{CONNECTION, HOST, TRANSFER_ENCODING};
use http::uri::{Authority, Scheme};
use http::{Request, Response, Uri, Version};
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::{Body, Incoming};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use kube::Config;
use kube::client::ConfigExt;

type Broken = Box<dyn std::error::Error + Send + Sync>;

/// An API server, to which requests are forwarded as they came: nothing is encoded, compressed or authenticated anew.
#[derive(Clone, Debug)]
pub struct Upstream {
    client: Client<HttpsConnector<HttpConnector>, UnsyncBoxBody<Bytes, Broken>>,
    authority: Authority,
}

impl Upstream {
    /// The server of this configuration. Of the identity only a client certificate would be used.
    ///
    /// # Errors
    /// When the configuration has no usable address or authority.
    pub fn new(config: &Config) -> anyhow::Result<Self> {
        let authority = config.cluster_url.authority().context("the API server has no address")?.clone();
        let client = Client::builder(TokioExecutor::new()).build(config.rustls_https_connector()?);
        Ok(Self { client, authority })
    }

    /// Sends a request on, without what belongs to one connection.
    ///
    /// # Errors
    /// When the server cannot be reached, or the connection breaks.
    pub async fn forward<B>(&self, request: Request<B>) -> io::Result<Response<Incoming>>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Broken>,
    {
        let mut request = request.map(|body| body.map_err(Into::into).boxed_unsync());
        let mut parts = request.uri().clone().into_parts();
        (parts.scheme, parts.authority) = (Some(Scheme::HTTPS), Some(self.authority.clone()));
        *request.uri_mut() = Uri::from_parts(parts).map_err(io::Error::other)?;
        for name in [HOST, CONNECTION, TRANSFER_ENCODING] {
            request.headers_mut().remove(name);
        }
        *request.version_mut() = Version::HTTP_11;
        let mut answer = self.client.request(request).await.map_err(io::Error::other)?;
        *answer.version_mut() = Version::HTTP_11;
        answer.headers_mut().remove(CONNECTION);
        Ok(answer)
    }
}
