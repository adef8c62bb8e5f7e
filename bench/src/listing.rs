//! An API server that answers lists, page by page, and watches that say nothing. Pages are made when they are asked for, so
//! that nothing of them is in memory when the informer's own share is measured.

use std::convert::Infallible;
use std::future::pending;

use http::{Request, Response};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};

/// A client of a server that has `count` objects, the i-th of which is `object(i)`.
pub(crate) fn client(count: usize, object: fn(usize) -> Value) -> Client {
    let service = tower::service_fn(move |request: Request<Body>| async move {
        let query = request.uri().query().unwrap_or_default().to_owned();
        if is_watch(&query) {
            pending::<()>().await;
        }
        Ok::<_, Infallible>(Response::new(Body::from(page(&query, count, object).into_bytes())))
    });
    Client::new(service, "default")
}

/// Whether a request with this query is a watch.
pub(crate) fn is_watch(query: &str) -> bool {
    query.contains("watch=true")
}

/// One page; the continue token is the number of the first object on it.
pub(crate) fn page(query: &str, count: usize, object: fn(usize) -> Value) -> String {
    let number = |name: &str| {
        let found = query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
        found.and_then(|value| value.parse::<usize>().ok())
    };
    let first = number("continue").unwrap_or(0);
    let next = count.min(first + number("limit").unwrap_or(count));
    let items: Vec<Value> = (first..next).map(object).collect();
    let mut metadata = json!({"resourceVersion": "1"});
    if next < count {
        metadata["continue"] = json!(next.to_string());
    }
    json!({"kind": "List", "apiVersion": "v1", "metadata": metadata, "items": items}).to_string()
}
