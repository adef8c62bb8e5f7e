//! The reverse proxy between one process and the API server: shows writes to the observer, and obeys a [`Disturbance`].
//!
//! Speaks HTTP on loopback to the process and TLS to the server; the process's own token goes through, so its rights are its own.

use std::io;
use std::sync::Arc;

use bowline_testkit::http::{Bound, Server, whole};
use bowline_testkit::proxy::Upstream;
use bytes::Bytes;
use futures::{StreamExt, stream};
use http::header::ACCEPT_ENCODING;
use http::{Method, Request, Response, StatusCode, Uri};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use k8s_openapi::api::core::v1::Node;
use kube::{Client, api::Api};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::disturbance::{Disturbance, Kind};
use crate::observer::{Observer, Verdict};

/// Frames of a watch that wait for the process.
const WATCH_FRAMES_MAX: usize = 64;

type Reply = Response<UnsyncBoxBody<Bytes, io::Error>>;

/// A running proxy.
pub struct Proxy {
    /// What is done to the connection.
    pub disturbance: Arc<Disturbance>,
    /// Where it listens.
    pub url: String,
    _server: Server,
}

#[derive(Clone)]
struct Between {
    place: usize,
    upstream: Upstream,
    admin: Client,
    observer: Observer,
    disturbance: Arc<Disturbance>,
}

impl Proxy {
    /// Starts one for the process in a place.
    ///
    /// # Errors
    /// When no port is free.
    pub fn start(
        place: usize,
        upstream: Upstream,
        admin: Client,
        observer: Observer,
    ) -> anyhow::Result<Self> {
        let disturbance = Arc::new(Disturbance::default());
        let between = Between { place, upstream, admin, observer, disturbance: Arc::clone(&disturbance) };
        let server = Bound::new()?.serve(move |request| between.clone().answer(request))?;
        Ok(Self { disturbance, url: server.url.clone(), _server: server })
    }
}

/// What a request is, as far as it matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sort {
    Watch(Kind),
    List(Kind),
    Write,
    /// Of leases, events, reviews, and everything else.
    Other,
}

fn sort_of(method: &Method, uri: &Uri) -> Sort {
    let (path, query) = (uri.path(), uri.query().unwrap_or_default());
    if *method == Method::GET {
        let watches = query.split('&').any(|pair| matches!(pair, "watch=true" | "watch=1"));
        return match Kind::of(path) {
            Some(kind) if watches => Sort::Watch(kind),
            Some(kind) => Sort::List(kind),
            None => Sort::Other,
        };
    }
    let is_of_state = path.contains("/nodes") || path.contains("/services");
    if is_of_state { Sort::Write } else { Sort::Other }
}

/// Whether a list may be answered with what a server remembers instead of what is so.
fn may_be_stale(uri: &Uri) -> bool {
    let query = uri.query().unwrap_or_default();
    let has = |start: &str| query.split('&').any(|pair| pair.starts_with(start));
    has("resourceVersion=") && !has("resourceVersionMatch=Exact") && !has("continue=")
}

impl Between {
    async fn answer(self, request: Request<Incoming>) -> io::Result<Reply> {
        if self.observer.arrives(self.place) == Verdict::Drop {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        if self.disturbance.is_down() {
            return Ok(refusal(StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable", "browned out"));
        }
        let (mut parts, body) = whole(request).await.map_err(io::Error::other)?.into_parts();
        // Answers are read here.
        parts.headers.remove(ACCEPT_ENCODING);
        let sort = sort_of(&parts.method, &parts.uri);
        match sort {
            Sort::Watch(kind) if self.disturbance.is_too_old(kind) => {
                self.observer
                    .tell(format!("manager {}: the watch of {kind} is refused as too old", self.place));
                Ok(refusal(StatusCode::GONE, "Expired", "too old resource version"))
            }
            Sort::Watch(kind) => {
                let answer = self.forward(parts, body).await?;
                Ok(if answer.status().is_success() { self.watch(kind, answer) } else { streamed(answer) })
            }
            Sort::List(kind) => {
                self.look_at_list(kind, &mut parts)?;
                Ok(streamed(self.forward(parts, body).await?))
            }
            Sort::Write => self.write(parts, body).await,
            Sort::Other => Ok(streamed(self.forward(parts, body).await?)),
        }
    }

    async fn forward(&self, parts: http::request::Parts, body: Bytes) -> io::Result<Response<Incoming>> {
        self.upstream.forward(Request::from_parts(parts, Full::new(body))).await
    }

    fn look_at_list(&self, kind: Kind, parts: &mut http::request::Parts) -> io::Result<()> {
        if may_be_stale(&parts.uri) {
            self.observer.may_be_stale(&parts.uri.to_string());
        }
        let query = parts.uri.query().unwrap_or_default();
        if query.contains("continue=") {
            return Ok(());
        }
        if let Some(version) = self.disturbance.past(kind) {
            self.observer.tell(format!("manager {}: the list of {kind} is of version {version}", self.place));
            let asked =
                query.split('&').filter(|pair| !pair.starts_with("resourceVersion") && !pair.is_empty());
            let asked: Vec<&str> = asked.collect();
            let path = parts.uri.path();
            let past = format!("resourceVersion={version}&resourceVersionMatch=Exact");
            parts.uri = format!("{path}?{past}&{}", asked.join("&")).parse().map_err(io::Error::other)?;
        }
        Ok(())
    }

    async fn write(&self, parts: http::request::Parts, body: Bytes) -> io::Result<Reply> {
        let (method, path) = (parts.method.clone(), parts.uri.path().to_owned());
        if method == Method::DELETE
            && let Some(name) = path.strip_prefix("/api/v1/nodes/")
        {
            let node = Api::<Node>::all(self.admin.clone()).get_opt(name).await.map_err(io::Error::other)?;
            let node = node.map(serde_json::to_value).transpose().map_err(io::Error::other)?;
            let options = serde_json::from_slice(&body).unwrap_or(Value::Null);
            self.observer.judge_node_deletion(name, &options, node.as_ref());
        }
        let answer = self.forward(parts, body).await?;
        let (parts, body) = answer.into_parts();
        let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
        let told = serde_json::from_slice(&body).unwrap_or(Value::Null);
        match self.observer.kube_wrote(self.place, &method, &path, parts.status.as_u16(), &told) {
            Verdict::Drop => Err(io::ErrorKind::ConnectionReset.into()),
            Verdict::Send => Ok(Response::from_parts(parts, full(body))),
        }
    }

    /// A watch, line by line: held back, or broken, as is wanted.
    fn watch(self, kind: Kind, answer: Response<Incoming>) -> Reply {
        let (parts, body) = answer.into_parts();
        let (sender, receiver) = mpsc::channel(WATCH_FRAMES_MAX);
        tokio::spawn(async move {
            let disturbance = Arc::clone(&self.disturbance);
            let pump = async {
                let mut frames = body.into_data_stream();
                while let Some(frame) = frames.next().await {
                    disturbance.until_shown(kind).await;
                    let frame = frame.map(Frame::data).map_err(io::Error::other);
                    if sender.send(frame).await.is_err() {
                        return; // the process is gone
                    }
                }
            };
            tokio::select! {
                biased;
                () = disturbance.until_cut(kind) => {
                    self.observer.tell(format!("manager {}: the watch of {kind} breaks", self.place));
                    // It may have gone at the same moment.
                    sender.send(Err(io::ErrorKind::ConnectionReset.into())).await.ok();
                }
                () = pump => {}
            }
        });
        let frames = stream::unfold(receiver, |mut receiver| async move {
            receiver.recv().await.map(|frame| (frame, receiver))
        });
        Response::from_parts(parts, StreamBody::new(frames).boxed_unsync())
    }
}

fn full(body: Bytes) -> UnsyncBoxBody<Bytes, io::Error> {
    Full::new(body).map_err(|never| match never {}).boxed_unsync()
}

fn streamed(answer: Response<Incoming>) -> Reply {
    answer.map(|body| body.map_err(io::Error::other).boxed_unsync())
}

/// A refusal as the API server words it.
fn refusal(code: StatusCode, reason: &str, message: &str) -> Reply {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": reason, "code": code.as_u16(),
    });
    let mut response = Response::new(full(Bytes::from(status.to_string())));
    *response.status_mut() = code;
    response
        .headers_mut()
        .insert(http::header::CONTENT_TYPE, http::HeaderValue::from_static("application/json"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sort(method: &Method, uri: &str) -> Sort {
        sort_of(method, &uri.parse().unwrap())
    }

    #[test]
    fn requests_are_told_apart() {
        assert_eq!(sort(&Method::GET, "/api/v1/nodes?limit=500"), Sort::List(Kind::Nodes));
        let watch = "/api/v1/services?&watch=true&timeoutSeconds=60&resourceVersion=1";
        assert_eq!(sort(&Method::GET, watch), Sort::Watch(Kind::Services));
        assert_eq!(sort(&Method::PATCH, "/api/v1/namespaces/default/services/web/status"), Sort::Write);
        let lease = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/cloud-controller-manager";
        assert_eq!(sort(&Method::PUT, lease), Sort::Other);
        assert_eq!(sort(&Method::POST, "/api/v1/namespaces/default/events"), Sort::Other);
    }

    #[test]
    fn a_list_without_a_version_is_consistent_and_one_with_any_is_not() {
        let stale = |uri: &str| may_be_stale(&uri.parse().unwrap());
        assert!(!stale("/api/v1/nodes?limit=500"));
        assert!(stale("/api/v1/nodes?limit=500&resourceVersion=0"));
        assert!(!stale("/api/v1/nodes?continue=abc&resourceVersion=7"));
    }
}
