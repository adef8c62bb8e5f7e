//! An API server in memory for the tests of this crate: it lists what it was given, tells watchers what a test tells it,
//! and writes down every write. It applies nothing; what needs that belongs on the real API server.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures::stream;
use http::{Method, Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::Frame;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::sync::mpsc;

type Reply = UnsyncBoxBody<Bytes, Infallible>;

fn whole(answer: &Value) -> Response<Reply> {
    Response::new(Full::new(Bytes::from(answer.to_string())).boxed_unsync())
}

/// An API server with these nodes, which writes down what is written to it and tells watchers what `tell` is told.
#[derive(Clone)]
pub(crate) struct Server {
    nodes: Vec<Value>,
    services: Vec<Value>,
    pub(crate) writes: Arc<Mutex<Vec<(String, Value)>>>,
    watchers: Arc<Mutex<Vec<mpsc::UnboundedSender<Value>>>>,
}

impl Server {
    pub(crate) fn new(nodes: Vec<Value>) -> Self {
        Self { nodes, services: Vec::new(), writes: Arc::default(), watchers: Arc::default() }
    }

    /// The same with these Services.
    pub(crate) fn with_services(self, services: Vec<Value>) -> Self {
        Self { services, ..self }
    }

    pub(crate) fn client(&self) -> Client {
        let server = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let server = server.clone();
            async move { Ok::<_, Infallible>(server.answer(request).await) }
        });
        Client::new(service, "default")
    }

    async fn answer(&self, request: Request<Body>) -> Response<Reply> {
        let (head, body) = request.into_parts();
        let path = head.uri.path().to_owned();
        let is_node = path.ends_with("/nodes");
        if head.method != Method::GET {
            let body = body.collect().await.unwrap().to_bytes();
            let body: Value = serde_json::from_slice(&body).unwrap();
            self.writes.lock().unwrap().push((format!("{} {path}", head.method), body.clone()));
            return whole(&body);
        }
        if head.uri.query().unwrap_or_default().contains("watch=true") {
            let (sender, mut told) = mpsc::unbounded_channel::<Value>();
            if is_node {
                self.watchers.lock().unwrap().push(sender);
            }
            let lines = stream::poll_fn(move |cx| told.poll_recv(cx));
            let frames = futures::StreamExt::map(lines, |line| {
                Ok::<_, Infallible>(Frame::data(Bytes::from(format!("{line}\n"))))
            });
            return Response::new(StreamBody::new(frames).boxed_unsync());
        }
        let items = if is_node { self.nodes.clone() } else { self.services.clone() };
        let list =
            json!({"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": items});
        whole(&list)
    }

    pub(crate) fn tell(&self, kind: &str, node: &Value) {
        let line = json!({"type": kind, "object": node});
        // A watch that was quiet for long is begun anew; the old one hears nothing any more.
        self.watchers.lock().unwrap().retain(|watcher| watcher.send(line.clone()).is_ok());
    }

    pub(crate) fn patches(&self) -> Vec<Value> {
        let writes = self.writes.lock().unwrap();
        writes
            .iter()
            .filter(|(what, _)| what.starts_with("PATCH /api/v1/nodes/"))
            .map(|(_, body)| body.clone())
            .collect()
    }
}

pub(crate) fn node(uid: &str, labels: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Node",
           "metadata": {"name": "worker", "uid": uid, "resourceVersion": "7", "labels": labels}})
}
