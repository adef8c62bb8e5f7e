//! An API server in memory that applies what the node controller writes: JSON patches with tests, merge patches, versions,
//! conflicts, watches that may lag.

use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures::stream;
use http::{Method, Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::Frame;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::sync::mpsc;

type Reply = UnsyncBoxBody<Bytes, Infallible>;

#[derive(Clone, Default)]
pub(super) struct Server(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    nodes: BTreeMap<String, Value>,
    version: u64,
    watchers: Vec<mpsc::UnboundedSender<Value>>,
    /// Changes from this version on are not told to watchers yet.
    hold_from: Option<u64>,
    held: Vec<Value>,
    /// Answers to the next patches instead of doing them.
    faults: VecDeque<u16>,
    /// What is done to the Node right before the next patch is looked at, by somebody else.
    meddling: Option<Value>,
    patches: Vec<(String, Value)>,
    events: Vec<Value>,
}

impl Server {
    pub(super) fn with(nodes: impl IntoIterator<Item = Value>) -> Self {
        let server = Self::default();
        nodes.into_iter().for_each(|node| server.add(node));
        server
    }

    pub(super) fn add(&self, node: Value) {
        self.0.lock().unwrap().put(node, "ADDED");
    }

    /// Somebody merges `change` into the Node.
    pub(super) fn edit(&self, name: &str, change: &Value) {
        self.0.lock().unwrap().edit(name, change);
    }

    pub(super) fn meddle_before_next_patch(&self, change: Value) {
        self.0.lock().unwrap().meddling = Some(change);
    }

    pub(super) fn fail_next(&self, codes: impl IntoIterator<Item = u16>) {
        self.0.lock().unwrap().faults.extend(codes);
    }

    /// Watchers are told nothing from this version on, until `release_watches`.
    pub(super) fn hold_watches_from(&self, version: u64) {
        self.0.lock().unwrap().hold_from = Some(version);
    }

    pub(super) fn release_watches(&self) {
        let mut state = self.0.lock().unwrap();
        state.hold_from = None;
        let held = std::mem::take(&mut state.held);
        held.iter().for_each(|line| state.tell(line));
    }

    pub(super) fn node(&self, name: &str) -> Value {
        self.0.lock().unwrap().nodes[name].clone()
    }

    /// Every patch that arrived, as `path` and body.
    pub(super) fn patches(&self) -> Vec<(String, Value)> {
        self.0.lock().unwrap().patches.clone()
    }

    /// The events as (reason, message), repeats not counted.
    pub(super) fn events(&self) -> Vec<(String, String)> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let state = self.0.lock().unwrap();
        state.events.iter().map(|event| (text(&event["reason"]), text(&event["message"]))).collect()
    }

    pub(super) fn client(&self) -> Client {
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
        let body = body.collect().await.unwrap().to_bytes();
        let mut state = self.0.lock().unwrap();
        let is_nodes = path.ends_with("/nodes");
        if head.method == Method::GET && head.uri.query().unwrap_or_default().contains("watch=true") {
            return state.watch(is_nodes);
        }
        let (code, answer) = match head.method {
            Method::GET => (200, state.list(is_nodes)),
            Method::PATCH if path.starts_with("/api/v1/nodes/") => {
                state.patch(&path, &serde_json::from_slice(&body).unwrap())
            }
            Method::POST => {
                state.events.push(serde_json::from_slice(&body).unwrap());
                (201, serde_json::from_slice(&body).unwrap())
            }
            _repeated_event => (200, serde_json::from_slice(&body).unwrap()),
        };
        let mut response = Response::new(Full::new(Bytes::from(answer.to_string())).boxed_unsync());
        *response.status_mut() = StatusCode::from_u16(code).unwrap();
        response
    }
}

impl State {
    fn put(&mut self, mut node: Value, kind: &str) -> Value {
        self.version += 1;
        node["metadata"]["resourceVersion"] = json!(self.version.to_string());
        let name = node["metadata"]["name"].as_str().unwrap().to_owned();
        self.nodes.insert(name, node.clone());
        let line = json!({"type": kind, "object": node});
        match self.hold_from {
            Some(from) if self.version >= from => self.held.push(line),
            _ => self.tell(&line),
        }
        node
    }

    fn tell(&mut self, line: &Value) {
        self.watchers.retain(|watcher| watcher.send(line.clone()).is_ok());
    }

    fn edit(&mut self, name: &str, change: &Value) {
        let mut node = self.nodes[name].clone();
        merge(&mut node, change);
        self.put(node, "MODIFIED");
    }

    fn list(&self, is_nodes: bool) -> Value {
        let items: Vec<_> = if is_nodes { self.nodes.values().cloned().collect() } else { Vec::new() };
        let version = self.version.to_string();
        json!({"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": version}, "items": items})
    }

    fn watch(&mut self, is_nodes: bool) -> Response<Reply> {
        let (sender, mut told) = mpsc::unbounded_channel::<Value>();
        if is_nodes {
            self.watchers.push(sender);
        }
        let lines = stream::poll_fn(move |cx| told.poll_recv(cx));
        let frames = futures::StreamExt::map(lines, |line| {
            Ok::<_, Infallible>(Frame::data(Bytes::from(format!("{line}\n"))))
        });
        Response::new(StreamBody::new(frames).boxed_unsync())
    }

    fn patch(&mut self, path: &str, body: &Value) -> (u16, Value) {
        let name = path.trim_start_matches("/api/v1/nodes/").trim_end_matches("/status").to_owned();
        self.patches.push((path.to_owned(), body.clone()));
        if let Some(change) = self.meddling.take() {
            self.edit(&name, &change);
        }
        if let Some(code) = self.faults.pop_front() {
            return (code, json!({"kind": "Status", "message": "as the test wants it", "code": code}));
        }
        let mut node = self.nodes[&name].clone();
        let version = &node["metadata"]["resourceVersion"];
        let asked = &body["metadata"]["resourceVersion"];
        if !asked.is_null() && asked != version {
            return (409, json!({"kind": "Status", "reason": "Conflict", "message": "changed", "code": 409}));
        }
        match body {
            Value::Array(operations) => {
                if !operations.iter().all(|operation| operate(&mut node, operation)) {
                    return (422, json!({"kind": "Status", "reason": "Invalid", "message": "test failed"}));
                }
            }
            merged => merge(&mut node, merged),
        }
        (200, self.put(node, "MODIFIED"))
    }
}

/// A JSON merge patch (RFC 7386).
fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    let target = target.as_object_mut().unwrap();
    for (key, value) in patch {
        if value.is_null() {
            target.remove(key);
        } else {
            merge(target.entry(key.clone()).or_insert(Value::Null), value);
        }
    }
}

/// One operation of a JSON patch (RFC 6902), as far as they are used here; whether it could be done.
fn operate(target: &mut Value, operation: &Value) -> bool {
    let path = operation["path"].as_str().unwrap();
    let (parent, last) = path.rsplit_once('/').unwrap();
    let last = last.replace("~1", "/").replace("~0", "~");
    let value = operation["value"].clone();
    match (operation["op"].as_str().unwrap(), target.pointer_mut(parent)) {
        ("test", _) => target.pointer(path) == Some(&value),
        ("add", Some(Value::Object(parent))) => {
            parent.insert(last, value);
            true
        }
        ("remove", Some(Value::Array(parent))) => {
            let at: usize = last.parse().unwrap();
            at < parent.len() && !parent.remove(at).is_null()
        }
        _ => false,
    }
}
