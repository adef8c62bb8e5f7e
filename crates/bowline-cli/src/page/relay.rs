//! Hands requests on to the manager, and its answers back: three paths, GET only, and of the headers those that belong to a page.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use axum::routing::{any, get};
use bowline_manager::status::serve::{JSON, LIVE, PAGE, reply, to_page};
use futures::StreamExt as _;
use http::{HeaderName, Method, Request, StatusCode, header};
use http_body_util::BodyDataStream;
use tokio_util::sync::CancellationToken;

use crate::way::Way;

/// What of an answer is handed back. Nothing here is about the connection, and nothing is kept by a browser.
const HANDED_BACK: [HeaderName; 8] = [
    header::CONTENT_TYPE,
    header::CONTENT_SECURITY_POLICY,
    header::REFERRER_POLICY,
    header::X_FRAME_OPTIONS,
    header::X_CONTENT_TYPE_OPTIONS,
    header::CACHE_CONTROL,
    header::RETRY_AFTER,
    HeaderName::from_static("cross-origin-opener-policy"),
];

/// The paths that are handed on; streams end with `closing`.
pub(super) fn routes(way: &Arc<Way>, closing: &CancellationToken) -> Router {
    let mut routes = Router::new().route("/", get(async || to_page()));
    for path in [PAGE, LIVE, JSON] {
        let (way, closing) = (Arc::clone(way), closing.clone());
        let relayed = any(move |request: Request<Body>| {
            let (way, closing) = (Arc::clone(&way), closing.clone());
            async move { relay(&way, request, closing).await }
        });
        routes = routes.route(path, relayed);
    }
    routes
}

async fn relay(way: &Way, request: Request<Body>, closing: CancellationToken) -> Response {
    let plain = |status, text: String| reply(status, "text/plain; charset=utf-8", text);
    if request.method() != Method::GET {
        return plain(StatusCode::METHOD_NOT_ALLOWED, "the status page can only be read\n".to_owned());
    }
    let path = request.uri().path_and_query().map_or(PAGE, |path| path.as_str());
    // Who loads the page anew wants to see who leads now.
    let answer = way.ask(path, request.uri().path() == PAGE).await;
    match answer {
        Ok(answer) => handed_back(answer, closing),
        Err(why) => plain(StatusCode::BAD_GATEWAY, format!("{why}\n")),
    }
}

fn handed_back(answer: http::Response<kube::client::Body>, closing: CancellationToken) -> Response {
    let (head, body) = answer.into_parts();
    // Frame by frame as they come, until there are no more or nobody wants them.
    let frames = BodyDataStream::new(body).take_until(closing.cancelled_owned());
    let mut response = Response::new(Body::from_stream(frames));
    *response.status_mut() = head.status;
    for name in HANDED_BACK {
        if let Some(value) = head.headers.get(&name) {
            response.headers_mut().insert(name, value.clone());
        }
    }
    response
}
