//! One collection of objects with list (paged), watch (with history), and faults on demand.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::Instant;
use tower::BoxError;

use super::{Answer, Asked, Log, client, status};

/// A fault of all lists or all watches, until it is cleared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The connection is refused.
    Refused,
    /// The response is an error.
    Status(u16, &'static str),
    /// There is no response.
    Silence,
    /// A watch starts, and then sends nothing, not even its end.
    Mute,
    /// A watch starts and ends at once.
    EndAtOnce,
    /// A watch starts with an error in place of an event, and ends.
    ErrorEvent(u16, &'static str),
}

type Lines = UnboundedSender<Result<Value, BoxError>>;

#[derive(Default)]
struct State {
    objects: BTreeMap<String, Value>,
    version: u64,
    /// Watches from a version before this one get 410.
    oldest: u64,
    history: Vec<(u64, Value)>,
    watchers: Vec<Lines>,
    /// The channels of mute watches: kept open, never used.
    muted: Vec<Lines>,
    list_fault: Option<Fault>,
    watch_fault: Option<Fault>,
}

/// A handle on the server side of a collection.
#[derive(Clone)]
pub(crate) struct Collection {
    kind: &'static str,
    state: Arc<Mutex<State>>,
}

impl Collection {
    /// An empty collection of `v1` objects of this kind.
    pub(crate) fn new(kind: &'static str) -> Self {
        Self { kind, state: Arc::default() }
    }

    /// A client of this collection.
    pub(crate) fn client(&self) -> (Client, Log) {
        let served = self.clone();
        client(move |asked| served.answer(asked))
    }

    /// Creates or updates an object. If it has no UID, it keeps the existing one or gets `uid-<name>`.
    pub(crate) fn put(&self, mut object: Value) {
        let mut state = self.lock();
        let key = key_of(&object);
        let before = state.objects.get(&key);
        let uid = before.map_or_else(|| json!(format!("uid-{key}")), |old| old["metadata"]["uid"].clone());
        let kind = if before.is_some() { "MODIFIED" } else { "ADDED" };
        state.version += 1;
        if object["apiVersion"].is_null() {
            object["apiVersion"] = json!("v1");
        }
        object["kind"] = json!(self.kind);
        object["metadata"]["resourceVersion"] = json!(state.version.to_string());
        if object["metadata"]["uid"].is_null() {
            object["metadata"]["uid"] = uid;
        }
        state.objects.insert(key, object.clone());
        state.tell(kind, &object);
    }

    /// Deletes an object by its key (`namespace/name` or `name`).
    pub(crate) fn delete(&self, key: &str) {
        let mut state = self.lock();
        let mut object = state.objects.remove(key).expect("an object to delete");
        state.version += 1;
        object["metadata"]["resourceVersion"] = json!(state.version.to_string());
        state.tell("DELETED", &object);
    }

    /// Deletes an object like [`Self::delete`], but sends `told` to the watches.
    pub(crate) fn delete_telling(&self, key: &str, told: &Value) {
        let mut state = self.lock();
        state.objects.remove(key).expect("an object to delete");
        state.version += 1;
        state.tell("DELETED", told);
    }

    /// Compacts the history: older versions expire.
    pub(crate) fn compact(&self) {
        let mut state = self.lock();
        state.oldest = state.version;
        state.history.clear();
    }

    /// Ends all watches normally.
    pub(crate) fn end_watches(&self) {
        self.lock().watchers.clear();
    }

    /// Breaks all watches with an error.
    pub(crate) fn break_watches(&self) {
        for watcher in self.lock().watchers.drain(..) {
            watcher.send(Err("connection reset by peer".into())).ok();
        }
    }

    /// The number of open watches.
    pub(crate) fn watchers(&self) -> usize {
        let mut state = self.lock();
        state.watchers.retain(|watcher| !watcher.is_closed());
        state.watchers.len()
    }

    pub(crate) fn fault_lists(&self, fault: Option<Fault>) {
        self.lock().list_fault = fault;
    }

    pub(crate) fn fault_watches(&self, fault: Option<Fault>) {
        self.lock().watch_fault = fault;
    }

    fn answer(&self, asked: &Asked) -> Answer {
        let mut state = self.lock();
        if asked.is_watch() { state.watch(asked) } else { state.list(asked, self.kind) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl State {
    fn tell(&mut self, kind: &str, object: &Value) {
        let event = json!({"type": kind, "object": object});
        self.history.push((self.version, event.clone()));
        self.watchers.retain(|watcher| watcher.send(Ok(event.clone())).is_ok());
    }

    fn list(&self, asked: &Asked, kind: &str) -> Answer {
        if let Some(fault) = self.list_fault {
            return fault_answer(fault);
        }
        let limit: usize = asked.param("limit").map_or(usize::MAX, |limit| limit.parse().unwrap());
        let begin: usize = asked.param("continue").map_or(0, |token| token.parse().unwrap());
        let page: Vec<_> = self.objects.values().skip(begin).take(limit).cloned().collect();
        let end = begin + page.len();
        let more = if end < self.objects.len() { json!(end.to_string()) } else { Value::Null };
        Answer::Json(
            200,
            json!({
                "apiVersion": "v1", "kind": format!("{kind}List"), "items": page,
                "metadata": {"resourceVersion": self.version.to_string(), "continue": more},
            }),
        )
    }

    fn watch(&mut self, asked: &Asked) -> Answer {
        let (sender, lines) = unbounded_channel();
        match self.watch_fault {
            Some(Fault::EndAtOnce) => return lines_until(lines, None),
            Some(Fault::ErrorEvent(code, reason)) => {
                let object = status(code, reason, "a scripted fault");
                sender.send(Ok(json!({"type": "ERROR", "object": object}))).unwrap();
                return lines_until(lines, None);
            }
            Some(Fault::Mute) => {
                self.muted.push(sender);
                return lines_until(lines, None);
            }
            Some(fault) => return fault_answer(fault),
            None => {}
        }
        let from: u64 = asked.param("resourceVersion").unwrap().parse().unwrap();
        if from < self.oldest {
            let gone = status(410, "Expired", "too old resource version");
            sender.send(Ok(json!({"type": "ERROR", "object": gone}))).unwrap();
            return lines_until(lines, None);
        }
        for (_, event) in self.history.iter().filter(|(version, _)| *version > from) {
            sender.send(Ok(event.clone())).unwrap();
        }
        self.watchers.push(sender);
        let seconds =
            asked.param("timeoutSeconds").map(|seconds| Duration::from_secs(seconds.parse().unwrap()));
        lines_until(lines, seconds)
    }
}

fn lines_until(lines: UnboundedReceiver<Result<Value, BoxError>>, after: Option<Duration>) -> Answer {
    Answer::Lines { lines, until: after.map(|after| Instant::now() + after) }
}

fn fault_answer(fault: Fault) -> Answer {
    match fault {
        Fault::Refused => Answer::Refused,
        Fault::Status(code, reason) => Answer::status(code, reason, "a scripted fault"),
        Fault::Silence | Fault::Mute | Fault::EndAtOnce | Fault::ErrorEvent(..) => Answer::Silence,
    }
}

fn key_of(object: &Value) -> String {
    let name = object["metadata"]["name"].as_str().expect("a name");
    match object["metadata"]["namespace"].as_str() {
        Some(namespace) => format!("{namespace}/{name}"),
        None => name.to_owned(),
    }
}
