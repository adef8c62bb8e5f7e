//! The way of a process with a bug to the API server: its writes are altered, or refused.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use kube::client::Body;
use serde_json::{Value, json};
use sim_kube::{SimBody, SimKube};
use tower::{BoxError, Service};

use super::{Piece, Workshop};

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
            Some(Piece::ProviderIdForgotten) if method == Method::PATCH && nodes => {
                edited(&body, |body| {
                    if let Some(all) = body.as_array_mut() {
                        all.retain(|one| one["path"] != "/spec/providerID");
                    }
                })
            }
            Some(Piece::OwnNoteIsNews) if method == Method::PATCH && services => {
                let times = {
                    let mut memory = self.workshop.memory();
                    memory.times += 1;
                    memory.times
                };
                edited(&body, |body| {
                    if let Some(notes) = body["metadata"]["annotations"].as_object_mut() {
                        notes.insert("loadbalancer.openstack.org/synced".to_owned(), json!(times.to_string()));
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
    let mut answer = Response::new(Full::new(Bytes::from(text.to_string())).map_err(|never| match never {}).boxed_unsync());
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
            if way.workshop.is(Piece::NodeDeleteForbidden) && method == Method::DELETE && path.contains("/nodes/") {
                return Ok(forbidden());
            }
            let body = way.altered(&method, &path, body.collect().await?.to_bytes());
            let request = Request::from_parts(head, Full::new(body));
            way.server.call(request).await
        })
    }
}
