//! The pages: HTML for users, JSON for programs, and the live stream. All are read-only and need no external resources.

use std::sync::LazyLock;

use axum::body::Body;
use axum::extract::Query as Parameters;
use axum::response::Response;
use axum::routing::{MethodRouter, get};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderName, HeaderValue, StatusCode, header};
use tokio_util::sync::CancellationToken;

use super::board::StatusPage;
use super::live;
use super::page::{SCRIPT, STYLE};
use super::query::Query;
use crate::serving::digest::sha384;

/// The path of the page. Kubernetes' own `/statusz` is a different page, which is served too.
pub const PAGE: &str = "/bowline";

/// The path of the live stream.
pub const LIVE: &str = "/bowline/live";

/// The path of the JSON data for programs.
pub const JSON: &str = "/bowline.json";

type Pairs = Vec<(String, String)>;

impl StatusPage {
    /// The routes of the pages; streams end with `shutdown`.
    pub(crate) fn routes(&self, shutdown: &CancellationToken) -> [(&'static str, MethodRouter); 3] {
        let shown = self.clone();
        let html = async move |Parameters(pairs): Parameters<Pairs>| shown.answer(&Query::from_pairs(pairs));
        let shown = self.clone();
        let json = async move |Parameters(pairs): Parameters<Pairs>| shown.json(&Query::from_pairs(pairs));
        let (shown, shutdown) = (self.clone(), shutdown.clone());
        let live = async move |Parameters(pairs): Parameters<Pairs>| {
            live::answer(&shown, Query::from_pairs(pairs), shutdown.clone())
        };
        [(PAGE, get(html)), (LIVE, get(live)), (JSON, get(json))]
    }

    fn answer(&self, query: &Query) -> Response {
        let mut response = reply(StatusCode::OK, "text/html; charset=utf-8", self.html(query));
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_SECURITY_POLICY, POLICY.clone());
        headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
        headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
        let opener = HeaderName::from_static("cross-origin-opener-policy");
        headers.insert(opener, HeaderValue::from_static("same-origin"));
        response
    }

    fn json(&self, query: &Query) -> Response {
        match serde_json::to_string(&self.overview(query)) {
            Ok(body) => reply(StatusCode::OK, "application/json", body),
            Err(error) => {
                let body = format!("the overview cannot be written: {error}\n");
                reply(StatusCode::INTERNAL_SERVER_ERROR, "text/plain; charset=utf-8", body)
            }
        }
    }
}

/// Redirects from the root to the page.
#[must_use]
pub fn to_page() -> Response {
    let mut response = reply(StatusCode::TEMPORARY_REDIRECT, "text/plain; charset=utf-8", "see /bowline\n");
    response.headers_mut().insert(header::LOCATION, HeaderValue::from_static(PAGE));
    response
}

/// A response without content sniffing and caching.
pub fn reply(status: StatusCode, content_type: &'static str, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// The content security policy: only this program's style and script may run, identified by their digests, and connections may only go to
/// the page's origin.
static POLICY: LazyLock<HeaderValue> = LazyLock::new(|| {
    let digest = |text: &str| STANDARD.encode(sha384(text.as_bytes()));
    let policy = format!(
        "default-src 'none'; style-src 'sha384-{}'; script-src 'sha384-{}'; connect-src 'self'; img-src data:; \
         form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
        digest(STYLE),
        digest(SCRIPT)
    );
    // Cannot fail, because it is plain ASCII. Without the script and style the page can still be read.
    HeaderValue::try_from(policy).unwrap_or(HeaderValue::from_static("default-src 'none'"))
});
