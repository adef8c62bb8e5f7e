//! An API server in memory that applies what this controller writes: finalizers, annotations, status, and nothing else.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use futures::{StreamExt, stream};
use http::{Method, Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::Frame;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::sync::mpsc;

type Reply = UnsyncBoxBody<Bytes, Infallible>;

#[derive(Default)]
pub(super) struct State {
    objects: BTreeMap<(bool, String), Value>,
    version: u64,
    watchers: Vec<(bool, mpsc::UnboundedSender<Value>)>,
    pub(super) patches: Vec<Value>,
    pub(super) events: Vec<(String, String, String)>,
    /// The status code of the next answers to patches.
    pub(super) refuse: Vec<(u16, &'static str)>,
    /// What somebody does to the Service right before the next release arrives.
    pub(super) before_release: Option<fn(&mut Value)>,
    /// What watchers of Services are not told yet, while they are told nothing.
    withheld: Option<Vec<Value>>,
}

#[derive(Clone, Default)]
pub(super) struct Cluster(Arc<Mutex<State>>);

impl Cluster {
    pub(super) fn with_nodes(names: &[&str]) -> Self {
        let cluster = Self::default();
        names.iter().for_each(|name| cluster.put_node(name));
        cluster
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    pub(super) fn put_node(&self, name: &str) {
        self.edit_node(name, |_| {});
    }

    pub(super) fn edit_node(&self, name: &str, edit: impl FnOnce(&mut Value)) {
        let fresh = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": format!("u-{name}")},
            "spec": {"providerID": format!("fake://{name}")}});
        self.state().edit((true, name.to_owned()), Some(fresh), edit);
    }

    pub(super) fn delete_node(&self, name: &str) {
        self.state().delete(&(true, name.to_owned()));
    }

    /// Creates a Service of type LoadBalancer with port 80, after `edit`.
    pub(super) fn put(&self, name: &str, edit: impl FnOnce(&mut Value)) {
        self.put_in("shop", name, edit);
    }

    /// The same in some namespace. Names are unique over all of them here.
    pub(super) fn put_in(&self, namespace: &str, name: &str, edit: impl FnOnce(&mut Value)) {
        let fresh = json!({"apiVersion": "v1", "kind": "Service",
            "metadata": {"name": name, "namespace": namespace, "uid": format!("s-{name}"), "annotations": {}},
            "spec": {"type": "LoadBalancer", "ports": [{"protocol": "TCP", "port": 80, "nodePort": 30080}]},
            "status": {"loadBalancer": {}}});
        self.state().edit((false, name.to_owned()), Some(fresh), edit);
    }

    /// Asks for the deletion: it goes when its last finalizer does.
    pub(super) fn delete(&self, name: &str) {
        let mut state = self.state();
        let key = (false, name.to_owned());
        state.edit(key.clone(), None, |s| s["metadata"]["deletionTimestamp"] = json!("2026-11-02T08:00:00Z"));
        state.collect(&key);
    }

    /// Deletes it whatever its finalizers say.
    pub(super) fn wipe(&self, name: &str) {
        self.state().delete(&(false, name.to_owned()));
    }

    /// Lets watchers of Services wait for what happens from now on.
    pub(super) fn withhold(&self) {
        self.state().withheld = Some(Vec::new());
    }

    /// Tells them.
    pub(super) fn deliver(&self) {
        let mut state = self.state();
        let withheld = state.withheld.take().unwrap_or_default();
        withheld.iter().for_each(|line| state.send(false, line));
    }

    pub(super) fn get(&self, name: &str) -> Option<Value> {
        self.state().objects.get(&(false, name.to_owned())).cloned()
    }

    /// Our condition of a Service: status, reason, message.
    pub(super) fn condition(&self, name: &str) -> Option<[String; 3]> {
        let service = self.get(name)?;
        let mut all = service["status"]["conditions"].as_array()?.iter();
        let ours = all.find(|one| one["type"] == crate::view::SERVICE_CONDITION)?;
        Some(["status", "reason", "message"].map(|field| ours[field].as_str().unwrap().to_owned()))
    }

    /// The reasons of the events so far, in order.
    pub(super) fn reasons(&self) -> Vec<String> {
        self.state().events.iter().map(|(_, reason, _)| reason.clone()).collect()
    }

    pub(super) fn client(&self) -> Client {
        let cluster = self.clone();
        Client::new(
            tower::service_fn(move |request: Request<Body>| {
                let cluster = cluster.clone();
                async move { Ok::<_, Infallible>(cluster.answer(request).await) }
            }),
            "default",
        )
    }

    async fn answer(&self, request: Request<Body>) -> Response<Reply> {
        let (head, body) = request.into_parts();
        let path = head.uri.path().to_owned();
        let is_nodes = path.ends_with("/nodes");
        if head.method == Method::GET && head.uri.query().unwrap_or_default().contains("watch=true") {
            let (sender, told) = mpsc::unbounded_channel::<Value>();
            self.state().watchers.push((is_nodes, sender));
            let lines = stream::unfold(told, |mut told| async { told.recv().await.map(|line| (line, told)) });
            let frames = lines.map(|line| Ok::<_, Infallible>(Frame::data(Bytes::from(format!("{line}\n")))));
            return Response::new(StreamBody::new(frames).boxed_unsync());
        }
        if head.method == Method::GET {
            let state = self.state();
            let items: Vec<_> = state
                .objects
                .iter()
                .filter(|((node, _), _)| *node == is_nodes)
                .map(|(_, o)| o.clone())
                .collect();
            let version = state.version.to_string();
            return whole(
                200,
                &json!({"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": version}, "items": items}),
            );
        }
        let body: Value = serde_json::from_slice(&body.collect().await.unwrap().to_bytes()).unwrap();
        if path.contains("/events") {
            let text = |field: &str| body[field].as_str().unwrap_or_default().to_owned();
            if head.method == Method::POST {
                self.state().events.push((text("type"), text("reason"), text("message")));
            }
            return whole(200, &body);
        }
        self.patch(&path, &body)
    }

    fn patch(&self, path: &str, body: &Value) -> Response<Reply> {
        let (_namespace, name) = path.split_once("/services/").unwrap();
        let name = name.strip_suffix("/status").expect("only the status subresource is written");
        let (key, mut state) = ((false, name.to_owned()), self.state());
        state.patches.push(body.clone());
        if let Some((code, reason)) = state.refuse.pop() {
            return failure(code, reason);
        }
        if body["metadata"].get("$deleteFromPrimitiveList/finalizers").is_some()
            && let Some(edit) = state.before_release.take()
        {
            state.edit(key.clone(), None, edit);
        }
        let Some(object) = state.objects.get(&key) else { return failure(404, "NotFound") };
        let seen = &body["metadata"]["resourceVersion"];
        if !seen.is_null() && *seen != object["metadata"]["resourceVersion"] {
            return failure(409, "Conflict");
        }
        let patched = apply(object.clone(), body);
        state.edit(key.clone(), None, |object| *object = patched.clone());
        state.collect(&key);
        whole(200, &patched)
    }
}

/// The strategic merge patches this controller sends: it sends no other.
fn apply(mut object: Value, body: &Value) -> Value {
    let (guard, is) = (&body["metadata"], &object["metadata"]);
    assert!(guard["uid"] == is["uid"] || guard["resourceVersion"] == is["resourceVersion"], "{body}");
    let finalizers = &mut object["metadata"]["finalizers"];
    let mut all = finalizers.as_array().cloned().unwrap_or_default();
    all.extend(body["metadata"]["finalizers"].as_array().into_iter().flatten().cloned());
    let gone = &body["metadata"]["$deleteFromPrimitiveList/finalizers"];
    all.retain(|name| gone.as_array().is_none_or(|gone| !gone.contains(name)));
    *finalizers = all.into();
    for (key, value) in body["metadata"]["annotations"].as_object().into_iter().flatten() {
        let annotations = object["metadata"]["annotations"].as_object_mut().unwrap();
        annotations.remove(key);
        annotations.extend((!value.is_null()).then(|| (key.clone(), value.clone())));
    }
    if let Some(balancer) = body["status"].get("loadBalancer") {
        let cleared = balancer["ingress"].is_null();
        object["status"]["loadBalancer"] = if cleared { json!({}) } else { balancer.clone() };
    }
    for condition in body["status"]["conditions"].as_array().into_iter().flatten() {
        merge_condition(&mut object["status"]["conditions"], condition);
    }
    object
}

fn merge_condition(there: &mut Value, condition: &Value) {
    let mut all = there.as_array().cloned().unwrap_or_default();
    let of_type = |one: &Value| one["type"] == condition["type"];
    if condition["$patch"] == "delete" {
        all.retain(|one| !of_type(one));
    } else if let Some(one) = all.iter_mut().find(|one| of_type(one)) {
        one.as_object_mut().unwrap().extend(condition.as_object().unwrap().clone());
    } else {
        all.push(condition.clone());
    }
    *there = all.into();
}

impl State {
    fn edit(&mut self, key: (bool, String), fresh: Option<Value>, edit: impl FnOnce(&mut Value)) {
        let before = self.objects.get(&key).cloned();
        let kind = if before.is_some() { "MODIFIED" } else { "ADDED" };
        let mut object = before.or(fresh).expect("an object to edit");
        edit(&mut object);
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        self.tell(key.0, kind, &object);
        self.objects.insert(key, object);
    }

    fn delete(&mut self, key: &(bool, String)) {
        let object = self.objects.remove(key).expect("an object to delete");
        self.tell(key.0, "DELETED", &object);
    }

    /// Lets an object go that is deleted and has no finalizer.
    fn collect(&mut self, key: &(bool, String)) {
        let metadata = &self.objects[key]["metadata"];
        let held = metadata["finalizers"].as_array().is_some_and(|all| !all.is_empty());
        if !metadata["deletionTimestamp"].is_null() && !held {
            self.delete(key);
        }
    }

    fn tell(&mut self, is_node: bool, kind: &str, object: &Value) {
        let line = json!({"type": kind, "object": object});
        match &mut self.withheld {
            Some(withheld) if !is_node => withheld.push(line),
            _ => self.send(is_node, &line),
        }
    }

    fn send(&mut self, is_node: bool, line: &Value) {
        self.watchers.retain(|(node, sender)| *node != is_node || sender.send(line.clone()).is_ok());
    }
}

fn whole(code: u16, answer: &Value) -> Response<Reply> {
    let mut response = Response::new(Full::new(Bytes::from(answer.to_string())).boxed_unsync());
    *response.status_mut() = StatusCode::from_u16(code).unwrap();
    response
}

fn failure(code: u16, reason: &str) -> Response<Reply> {
    let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason,
        "message": "scripted"});
    whole(code, &status)
}
