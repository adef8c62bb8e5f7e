//! Nodes on an API server in memory that applies what this controller writes, with the API server's own rules: a patch
//! names the UID, and ranges once set cannot be changed. Lists, watches with history, relists, and faults on demand.

use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use futures::stream;
use http::{Method, Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::Frame;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

type Reply = Response<UnsyncBoxBody<Bytes, Infallible>>;

/// What happens to the next patch of a node.
pub(super) enum Fault {
    /// It is answered with this status and not applied.
    Status(u16, &'static str),
    /// It is applied, and the answer is lost.
    AnswerLost,
    /// Before it comes, the node is deleted and made again under this UID.
    Replaced(&'static str),
    /// Another writer is faster and gives the node this range.
    Overtaken(&'static str),
}

#[derive(Default)]
struct State {
    nodes: BTreeMap<String, Value>,
    version: u64,
    oldest: u64,
    history: Vec<(u64, Value)>,
    watchers: Vec<UnboundedSender<Value>>,
    faults: VecDeque<Fault>,
    patches: Vec<(String, Value)>,
    events: Vec<Value>,
}

/// A handle on the cluster. Clones share it.
#[derive(Clone, Default)]
pub(super) struct Cluster(Arc<Mutex<State>>);

impl Cluster {
    pub(super) fn client(&self) -> Client {
        let cluster = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let cluster = cluster.clone();
            async move { Ok::<_, Infallible>(cluster.answer(request).await) }
        });
        Client::new(service, "default")
    }

    /// Registers a node; `created` orders nodes by age.
    pub(super) fn add(&self, name: &str, uid: &str, created: u32, ranges: &[&str]) {
        let node = json!({"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "uid": uid, "creationTimestamp": format!("2026-11-01T08:00:{created:02}Z")},
            "spec": {"podCIDR": ranges.first(), "podCIDRs": ranges}});
        self.lock().put("ADDED", name, node);
    }

    pub(super) fn label(&self, name: &str, label: &str) {
        let mut state = self.lock();
        let mut node = state.nodes[name].clone();
        node["metadata"]["labels"]["test"] = json!(label);
        state.put("MODIFIED", name, node);
    }

    /// Another writer gives the node a range.
    pub(super) fn give(&self, name: &str, range: &str) {
        self.lock().assign(name, &json!({"podCIDR": range, "podCIDRs": [range]}));
    }

    pub(super) fn delete(&self, name: &str) {
        let mut state = self.lock();
        let node = state.nodes.remove(name).unwrap();
        state.tell("DELETED", &node);
    }

    /// Deletes a node while nobody watches: the watch breaks, and history is gone when it comes back.
    pub(super) fn delete_unseen(&self, name: &str) {
        let mut state = self.lock();
        state.watchers.clear();
        state.nodes.remove(name).unwrap();
        state.version += 1;
        state.oldest = state.version;
        state.history.clear();
    }

    pub(super) fn next_patch(&self, fault: Fault) {
        self.lock().faults.push_back(fault);
    }

    /// `spec.podCIDRs` of a node, joined.
    pub(super) fn ranges(&self, name: &str) -> String {
        let list = self.lock().nodes[name]["spec"]["podCIDRs"].clone();
        let list: Vec<String> = serde_json::from_value(list).unwrap();
        list.join(" ")
    }

    pub(super) fn patches(&self) -> Vec<(String, Value)> {
        self.lock().patches.clone()
    }

    /// Node, type and reason of each event that was posted.
    pub(super) fn events(&self) -> Vec<[String; 3]> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let events = &self.lock().events;
        events
            .iter()
            .map(|e| [text(&e["involvedObject"]["name"]), text(&e["type"]), text(&e["reason"])])
            .collect()
    }

    pub(super) fn messages(&self) -> Vec<String> {
        self.lock().events.iter().map(|event| event["message"].as_str().unwrap().to_owned()).collect()
    }

    async fn answer(&self, request: Request<Body>) -> Reply {
        let (head, body) = request.into_parts();
        let path = head.uri.path().to_owned();
        if head.method == Method::GET {
            let query = head.uri.query().unwrap_or_default().to_owned();
            return if query.contains("watch=true") { self.watch(&path, &query) } else { self.list(&path) };
        }
        let bytes = body.collect().await.unwrap().to_bytes();
        let body: Value = serde_json::from_slice(&bytes).unwrap();
        let Some(name) = path.strip_prefix("/api/v1/nodes/") else {
            if head.method == Method::POST {
                self.lock().events.push(body.clone());
            }
            return whole(200, &body);
        };
        match self.patch(name, &body) {
            Some(reply) => reply,
            None => pending().await,
        }
    }

    /// The answer to a patch; `None` if it is lost.
    fn patch(&self, name: &str, patch: &Value) -> Option<Reply> {
        let mut state = self.lock();
        state.patches.push((name.to_owned(), patch.clone()));
        let fault = state.faults.pop_front();
        match &fault {
            Some(Fault::Status(code, reason)) => return Some(refusal(*code, reason, "as the test wants it")),
            Some(Fault::Overtaken(range)) => {
                state.assign(name, &json!({"podCIDR": range, "podCIDRs": [range]}));
            }
            Some(Fault::Replaced(uid)) => {
                let old = state.nodes.remove(name).unwrap();
                state.tell("DELETED", &old);
                let mut new = old;
                new["metadata"]["uid"] = json!(uid);
                state.put("ADDED", name, new);
            }
            Some(Fault::AnswerLost) | None => {}
        }
        let reply = state.apply(name, patch);
        (!matches!(fault, Some(Fault::AnswerLost))).then_some(reply)
    }

    fn list(&self, path: &str) -> Reply {
        let state = self.lock();
        let items: Vec<_> =
            if path.ends_with("/nodes") { state.nodes.values().cloned().collect() } else { Vec::new() };
        whole(
            200,
            &json!({"kind": "List", "apiVersion": "v1", "items": items,
                    "metadata": {"resourceVersion": state.version.to_string()}}),
        )
    }

    fn watch(&self, path: &str, query: &str) -> Reply {
        let mut state = self.lock();
        let (sender, mut lines) = unbounded_channel::<Value>();
        let from = query.split('&').find_map(|pair| pair.strip_prefix("resourceVersion="));
        let from: u64 = from.unwrap().parse().unwrap();
        if !path.ends_with("/nodes") {
            Box::leak(Box::new(sender)); // a watch of nothing stays open
        } else if from < state.oldest {
            let gone = status(410, "Expired", "too old");
            sender.send(json!({"type": "ERROR", "object": gone})).unwrap();
        } else {
            for (_, event) in state.history.iter().filter(|(version, _)| *version > from) {
                sender.send(event.clone()).unwrap();
            }
            state.watchers.push(sender);
        }
        let lines = stream::poll_fn(move |cx| lines.poll_recv(cx));
        let frames = futures::StreamExt::map(lines, |line| {
            Ok::<_, Infallible>(Frame::data(Bytes::from(format!("{line}\n"))))
        });
        Response::new(StreamBody::new(frames).boxed_unsync())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }
}

impl State {
    fn apply(&mut self, name: &str, patch: &Value) -> Reply {
        let Some(node) = self.nodes.get(name) else { return refusal(404, "NotFound", "no such node") };
        if patch["metadata"]["uid"] != node["metadata"]["uid"] {
            let mut invalid = status(422, "Invalid", "metadata.uid: field is immutable");
            invalid["details"] =
                json!({"causes": [{"field": "metadata.uid", "reason": "FieldValueInvalid"}]});
            return whole(422, &invalid);
        }
        let before = node["spec"]["podCIDRs"].as_array().is_some_and(|ranges| !ranges.is_empty());
        if before && node["spec"]["podCIDRs"] != patch["spec"]["podCIDRs"] {
            return refusal(422, "Invalid", "node updates may not change podCIDR");
        }
        let node = self.assign(name, &patch["spec"]);
        whole(200, &node)
    }

    fn assign(&mut self, name: &str, spec: &Value) -> Value {
        let mut node = self.nodes[name].clone();
        node["spec"] = spec.clone();
        self.put("MODIFIED", name, node.clone());
        node
    }

    fn put(&mut self, kind: &str, name: &str, mut node: Value) {
        node["metadata"]["resourceVersion"] = json!((self.version + 1).to_string());
        self.nodes.insert(name.to_owned(), node.clone());
        self.tell(kind, &node);
    }

    fn tell(&mut self, kind: &str, node: &Value) {
        self.version += 1;
        let mut node = node.clone();
        node["metadata"]["resourceVersion"] = json!(self.version.to_string());
        let event = json!({"type": kind, "object": node});
        self.history.push((self.version, event.clone()));
        self.watchers.retain(|watcher| watcher.send(event.clone()).is_ok());
    }
}

fn status(code: u16, reason: &str, message: &str) -> Value {
    json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason,
           "message": message})
}

fn refusal(code: u16, reason: &str, message: &str) -> Reply {
    whole(code, &status(code, reason, message))
}

fn whole(code: u16, answer: &Value) -> Reply {
    let mut reply = Response::new(Full::new(Bytes::from(answer.to_string())).boxed_unsync());
    *reply.status_mut() = code.try_into().unwrap();
    reply
}
