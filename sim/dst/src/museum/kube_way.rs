//! The way of a process with a bug to the API server: its writes are altered, or refused.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use kube::client::Body;
use serde_json::{Value, json};
use sim_kube::{SimBody, SimKube};
use tokio::time::Instant;
use tower::{BoxError, Service};

use super::{Piece, Workshop};

const FIVE_MINUTES: Duration = Duration::from_secs(300);

/// One process's way to the API server.
#[derive(Clone)]
pub(crate) struct KubeWay {
    server: SimKube,
    workshop: Workshop,
}

impl KubeWay {
    pub(crate) const fn new(server: SimKube, workshop: Workshop) -> Self {
        Self { server, workshop }
    }

    /// Every five minutes each Node is written as it is.
    async fn patch_nodes(&mut self, like: &http::request::Parts) {
        let is_due = {
            let mut memory = self.workshop.memory();
            let since = *memory.since.get_or_insert_with(Instant::now);
            let is_due = since.elapsed() >= FIVE_MINUTES;
            memory.since = Some(if is_due { Instant::now() } else { since });
            is_due
        };
        let nodes = if is_due { self.workshop.judge.world.kube.stored("", "nodes") } else { Vec::new() };
        for node in nodes {
            let mut head = like.clone();
            head.method = Method::PATCH;
            let name = node["metadata"]["name"].as_str().unwrap_or_default();
            head.uri = format!("/api/v1/nodes/{name}/status").parse().expect("a path");
            head.headers.insert("content-type", HeaderValue::from_static("application/merge-patch+json"));
            let patch = Request::from_parts(head, Full::new(Bytes::from_static(b"{}")));
            let _ignored = self.server.call(patch).await.is_ok();
        }
    }

    /// Who has written its lease once takes it for its own, whatever the API server says later.
    fn believe(
        &self,
        method: &Method,
        body: Bytes,
        answer: Result<Response<SimBody>, BoxError>,
    ) -> Result<Response<SimBody>, BoxError> {
        let mut memory = self.workshop.memory();
        let written = method == Method::PUT || method == Method::POST;
        let fine = answer.as_ref().is_ok_and(|answer| answer.status().is_success());
        memory.struck |= written && fine;
        if !memory.struck || fine || !written {
            return answer;
        }
        Ok(Response::new(Full::new(body).map_err(|never| match never {}).boxed_unsync()))
    }

    /// The body as the bug has it.
    fn altered(&self, method: &Method, path: &str, body: Bytes) -> Bytes {
        let (nodes, services) = (path.starts_with("/api/v1/nodes/"), path.contains("/services/"));
        match self.workshop.piece {
            Some(Piece::DeleteWithoutUid) if method == Method::DELETE && nodes => {
                edited(&body, |body| drop(body.as_object_mut().map(|body| body.remove("preconditions"))))
            }
            Some(Piece::FinalizerForgotten) if method == Method::PATCH && services => edited(&body, |body| {
                body["metadata"].as_object_mut().map(|metadata| metadata.remove("finalizers"));
            }),
            Some(Piece::ProviderIdForgotten) if method == Method::PATCH && nodes => edited(&body, |body| {
                if let Some(all) = body.as_array_mut() {
                    all.retain(|one| one["path"] != "/spec/providerID");
                }
            }),
            Some(Piece::OwnNoteIsNews) if method == Method::PATCH && services => {
                let times = {
                    let mut memory = self.workshop.memory();
                    memory.times += 1;
                    memory.times
                };
                edited(&body, |body| {
                    if let Some(notes) = body["metadata"]["annotations"].as_object_mut() {
                        notes
                            .insert("loadbalancer.openstack.org/synced".to_owned(), json!(times.to_string()));
                    }
                })
            }
            _ => body,
        }
    }
}

fn edited(body: &Bytes, edit: impl FnOnce(&mut Value)) -> Bytes {
    let mut value: Value = serde_json::from_slice(body).unwrap_or_default();
    edit(&mut value);
    Bytes::from(value.to_string())
}

fn forbidden() -> Response<SimBody> {
    let text = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": "Forbidden",
        "message": "nodes is forbidden: cannot delete resource \"nodes\" at the cluster scope", "code": 403});
    let mut answer = Response::new(
        Full::new(Bytes::from(text.to_string())).map_err(|never| match never {}).boxed_unsync(),
    );
    *answer.status_mut() = StatusCode::FORBIDDEN;
    answer
}

impl Service<Request<Body>> for KubeWay {
    type Response = Response<SimBody>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let mut way = self.clone();
        Box::pin(async move {
            if way.workshop.piece.is_none() {
                return way.server.call(request).await;
            }
            let (head, body) = request.into_parts();
            let (method, path) = (head.method.clone(), head.uri.path().to_owned());
            if way.workshop.is(Piece::NodeDeleteForbidden)
                && method == Method::DELETE
                && path.contains("/nodes/")
            {
                return Ok(forbidden());
            }
            let body = way.altered(&method, &path, body.collect().await?.to_bytes());
            let is_lease = path.contains("/leases/");
            if way.workshop.is(Piece::AddressesAlwaysDiffer) && is_lease && method == Method::PUT {
                way.patch_nodes(&head).await;
            }
            let request = Request::from_parts(head, Full::new(body.clone()));
            let answer = way.server.call(request).await;
            if way.workshop.is(Piece::LeaseBelieved) && is_lease {
                return way.believe(&method, body, answer);
            }
            answer
        })
    }
}
