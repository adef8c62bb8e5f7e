//! An entry point for fuzzers and for the tests of this crate: arbitrary bytes as the response to a list, or as the events of a watch.
//!
//! Only for `fuzz/` (with the feature `fuzzing`) and for tests, not part of the crate's interface. The API server is a closure, and time is
//! virtual.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::{StreamExt, stream};
use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use k8s_openapi::api::core::v1::Service;
use kube::api::{ObjectList, WatchEvent};
use kube::client::Body;
use kube::{Api, Client, ResourceExt};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use tower::{BoxError, service_fn};

use crate::client::is_watch;
use crate::informer::{InformerSpec, ObjectKey};

/// Long enough for a watch to fail, for a pause, for a list, and for resuming a watch.
const A_WHILE: Duration = Duration::from_secs(150);
/// The objects before the bytes arrive, and the objects afterwards.
const BEFORE: &str = r#"{"kind":"ServiceList","apiVersion":"v1","metadata":{"resourceVersion":"10"},"items":[
    {"metadata":{"name":"a","namespace":"shop","resourceVersion":"8"},"spec":{"clusterIP":"10.0.0.1"}},
    {"metadata":{"name":"b","namespace":"shop","resourceVersion":"9"},"spec":{"clusterIP":"10.0.0.2"}}]}"#;
const AFTERWARDS: &str = r#"{"kind":"ServiceList","apiVersion":"v1","metadata":{"resourceVersion":"1000"},"items":[
    {"metadata":{"name":"true","namespace":"shop","resourceVersion":"999"},"spec":{"clusterIP":"10.0.0.9"}}]}"#;

/// The projection of each object, by key.
type Picture = BTreeMap<String, String>;
type Held = Result<(), String>;

/// The expected result for the bytes.
#[derive(Debug, Default)]
struct Expected {
    /// The expected cache if the bytes are valid, or end in the middle of an event.
    good: Option<Picture>,
    /// If the bytes are invalid: the permitted caches of an informer that aborts the watch and resumes it.
    up_to: Vec<Picture>,
    /// The number of lists. After more lists, the cache must equal [`AFTERWARDS`].
    lists: usize,
}

/// Uses the bytes as the response to a list or, if the first byte is odd, as the events of a watch.
///
/// # Errors
///
/// If the cache differs from what the bytes contain, or invalid bytes were skipped.
pub fn watch_frames(bytes: &[u8]) -> Held {
    let (first, rest) = bytes.split_first().map_or((0, bytes), |(first, rest)| (*first, rest));
    let as_events = first % 2 == 1;
    let expected = if as_events { events(rest) } else { list(rest) };
    let seen = follow(rest, as_events).ok_or("no runtime")?;
    judged(&expected, &seen)
}

fn judged(expected: &Expected, seen: &Seen) -> Held {
    if seen.watches_from_nowhere {
        return Err("a watch was asked for without a version".to_owned());
    }
    let fits = if seen.lists > expected.lists {
        // An informer may list again in a doubtful case, such as a duplicate field.
        seen.picture == picture_of(AFTERWARDS.as_bytes())
    } else {
        let broke_off = || seen.broke_off && seen.picture.iter().any(|seen| expected.up_to.contains(seen));
        (seen.picture.is_some() && seen.picture == expected.good) || broke_off()
    };
    if fits { Ok(()) } else { Err(format!("expected {expected:?}, and saw {seen:?}")) }
}

fn kept(service: &Service) -> String {
    let ip = service.spec.as_ref().and_then(|spec| spec.cluster_ip.clone());
    let annotations = service.annotations().len();
    format!("{ip:?} {annotations} {:?}", service.metadata.uid)
}

/// The key of an object; `None` if it has no name, because such objects are skipped.
fn key(service: &Service) -> Option<String> {
    let name = service.metadata.name.as_deref()?;
    let namespace = service.metadata.namespace.as_deref();
    Some(namespace.map_or_else(|| name.to_owned(), |namespace| format!("{namespace}/{name}")))
}

fn picture(services: &[Service]) -> Picture {
    services.iter().filter_map(|service| Some((key(service)?, kept(service)))).collect()
}

fn picture_of(list: &[u8]) -> Option<Picture> {
    let list: ObjectList<Service> = serde_json::from_slice(list).ok()?;
    Some(picture(&list.items))
}

fn list(bytes: &[u8]) -> Expected {
    let Ok(list) = serde_json::from_slice::<ObjectList<Service>>(bytes) else {
        return Expected { lists: 1, ..Expected::default() };
    };
    let said = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.is_empty());
    let mut all = picture(&list.items);
    match (said(&list.metadata.continue_), said(&list.metadata.resource_version)) {
        (false, false) => Expected { lists: 1, ..Expected::default() },
        (false, true) => Expected { good: Some(all), lists: 1, ..Expected::default() },
        // The next page contains all objects of [`AFTERWARDS`].
        (true, _) => {
            all.extend(picture_of(AFTERWARDS.as_bytes()).unwrap_or_default());
            Expected { good: Some(all), lists: 2, ..Expected::default() }
        }
    }
}

fn events(bytes: &[u8]) -> Expected {
    let mut picture = picture_of(BEFORE.as_bytes()).unwrap_or_default();
    let mut up_to = vec![picture.clone()];
    let mut lines = bytes.split(|byte| *byte == b'\n').peekable();
    while let Some(line) = lines.next() {
        // A line reader takes this for a part of the line break.
        let text = std::str::from_utf8(line.strip_suffix(b"\r").unwrap_or(line));
        if text.is_ok_and(|text| text.trim_ascii().is_empty()) {
            continue;
        }
        match text.map(serde_json::from_str::<WatchEvent<Service>>) {
            Ok(Err(cut)) if cut.is_eof() && lines.peek().is_none() => {
                return Expected { good: Some(picture), up_to, lists: 1 };
            }
            Ok(Ok(WatchEvent::Bookmark(bookmark))) if !bookmark.metadata.resource_version.is_empty() => {}
            Ok(Ok(WatchEvent::Added(service) | WatchEvent::Modified(service))) if has_version(&service) => {
                picture.extend(key(&service).map(|key| (key, kept(&service))));
            }
            Ok(Ok(WatchEvent::Deleted(service))) if has_version(&service) => {
                let _gone = key(&service).and_then(|key| picture.remove(&key));
            }
            _ => return Expected { good: None, up_to, lists: 1 },
        }
        up_to.push(picture.clone());
    }
    Expected { good: Some(picture), up_to: Vec::new(), lists: 1 }
}

fn has_version(service: &Service) -> bool {
    service.resource_version().is_some_and(|version| !version.is_empty())
}

/// The result of the informer.
#[derive(Debug, Default)]
struct Seen {
    picture: Option<Picture>,
    lists: usize,
    watches: usize,
    watches_from_nowhere: bool,
    /// Whether the first watch was aborted before its end: it is resumed, and no event is missed.
    broke_off: bool,
}

fn follow(bytes: &[u8], as_events: bool) -> Option<Seen> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().ok()?;
    let bytes = Bytes::copy_from_slice(bytes);
    Some(runtime.block_on(async move {
        let seen = Arc::new(Mutex::new(Seen::default()));
        let spec = InformerSpec::new("services", |service: Service| Some(kept(&service)));
        let (informer, task) = spec.build(server(bytes, as_events, Arc::clone(&seen)), Api::all);
        let cancel = CancellationToken::new();
        let running = tokio::spawn(task.run(cancel.clone()));
        tokio::time::sleep(A_WHILE).await;
        let objects = informer.snapshot();
        let picture =
            objects.objects().iter().map(|object| (name(&object.key), object.view.clone())).collect();
        let failed = informer.health().last_failure.is_some();
        cancel.cancel();
        drop(running.await);
        let mut seen = std::mem::take(&mut *seen.lock());
        seen.picture = informer.has_synced().then_some(picture);
        seen.broke_off = failed && seen.watches > 1;
        seen
    }))
}

fn name(key: &ObjectKey) -> String {
    key.as_str().to_owned()
}

/// An API server that answers once with the bytes, and correctly from then on.
fn server(bytes: Bytes, as_events: bool, seen: Arc<Mutex<Seen>>) -> Client {
    let service = service_fn(move |request: Request<Body>| {
        let mut seen = seen.lock();
        let body = if is_watch(&request) {
            seen.watches += 1;
            seen.watches_from_nowhere |= !request.uri().query().is_some_and(begins_somewhere);
            if as_events && seen.watches == 1 { whole(bytes.clone()) } else { silence() }
        } else {
            seen.lists += 1;
            let first = if as_events { Bytes::from_static(BEFORE.as_bytes()) } else { bytes.clone() };
            let afterwards = Bytes::from_static(AFTERWARDS.as_bytes());
            whole(if seen.lists == 1 { first } else { afterwards })
        };
        async move { Ok::<_, BoxError>(Response::new(body)) }
    });
    Client::new(service, "default")
}

fn begins_somewhere(query: &str) -> bool {
    query
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .any(|(name, value)| name == "resourceVersion" && !value.is_empty())
}

fn whole(bytes: Bytes) -> UnsyncBoxBody<Bytes, BoxError> {
    Full::new(bytes).map_err(BoxError::from).boxed_unsync()
}

fn silence() -> UnsyncBoxBody<Bytes, BoxError> {
    // A full body yields its frame; naming the frame's type would need another crate.
    let never = stream::once(async {
        std::future::pending::<()>().await;
        whole(Bytes::new()).frame().await
    });
    StreamBody::new(never.filter_map(std::future::ready)).boxed_unsync()
}
