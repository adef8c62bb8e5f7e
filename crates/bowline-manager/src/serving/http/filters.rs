//! The filters that every request passes, from the outside in: panic handler, log, cache headers, authentication, authorization, routes.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use futures::FutureExt;
use http::{HeaderValue, Request, StatusCode, header};
use rustls::pki_types::CertificateDer;
use serde_json::json;
use tokio::time::Instant;
use tower::ServiceExt;
use tracing::{debug, error};

use super::{json as json_reply, plain};
use crate::serving::authn::Authenticator;
use crate::serving::authz::{Authorizer, Decision};
use crate::serving::identity::User;
use crate::serving::reviews::AccessRequest;

/// Marks the responses of pages that only few callers may read. Health endpoints and unknown paths are not marked: Kubernetes allows every
/// ServiceAccount to read `/livez` and `/version`.
#[derive(Debug, Clone, Copy)]
pub(super) struct ProtectedPage;

/// Marks the response to a caller that was authenticated and allowed by a review to read a protected page.
#[derive(Debug, Clone, Copy)]
pub(super) struct KnownCaller;

/// The response to a request beyond the limits of concurrent requests.
pub(super) fn too_many_requests() -> Response {
    let mut response = plain(StatusCode::TOO_MANY_REQUESTS, "Too many requests; try again later\n");
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

/// The filters and routes, shared by all connections.
pub(in crate::serving) struct Chain {
    pub(in crate::serving) authenticator: Arc<Authenticator>,
    pub(in crate::serving) authorizer: Arc<Authorizer>,
    pub(in crate::serving) routes: Router,
}

impl Chain {
    /// Whether this request needs no review by the API server, whatever the identity of its caller.
    pub(super) fn needs_no_review<B>(&self, request: &Request<B>) -> bool {
        !request.headers().contains_key(header::AUTHORIZATION)
            && self.authorizer.is_open(request.uri().path())
    }

    /// Handles one request of a client with `certificates` (leaf first, may be empty).
    pub(super) async fn handle(
        &self,
        certificates: &[CertificateDer<'static>],
        request: Request<Body>,
    ) -> Response {
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let started = Instant::now();
        let answer = AssertUnwindSafe(self.checked(certificates, request)).catch_unwind().await;
        let mut response = answer.unwrap_or_else(|_panic| {
            error!(%method, path, "a handler panicked");
            plain(StatusCode::INTERNAL_SERVER_ERROR, "This request caused a bug to show; see the log\n")
        });
        response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
        let (status, took) = (response.status().as_u16(), started.elapsed());
        debug!(%method, path, status, ?took, "served");
        response
    }

    async fn checked(
        &self,
        certificates: &[CertificateDer<'static>],
        mut request: Request<Body>,
    ) -> Response {
        let authenticated = self.authenticator.authenticate(certificates, request.headers()).await;
        let Ok(user) = authenticated else { return unauthorized() };
        let verb = request.method().as_str().to_ascii_lowercase();
        let path = request.uri().path();
        let is_known = match self.authorizer.authorize(AccessRequest { user: &user, verb: &verb, path }).await
        {
            Ok(Decision::Open) => false,
            Ok(Decision::Allowed) => user.is_known(),
            Ok(Decision::Denied) => return forbidden(&user, &verb, path),
            Err(error) => {
                error!(%error, path, "access review failed");
                let body =
                    format!("Internal Server Error: {path:?}: the access review failed; see the log\n");
                return plain(StatusCode::INTERNAL_SERVER_ERROR, body);
            }
        };
        request.extensions_mut().insert(user);
        let mut response = match self.routes.clone().oneshot(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        };
        if is_known && response.extensions().get::<ProtectedPage>().is_some() {
            response.extensions_mut().insert(KnownCaller);
        }
        response
    }
}

fn unauthorized() -> Response {
    status(StatusCode::UNAUTHORIZED, "Unauthorized", "Unauthorized")
}

fn forbidden(user: &User, verb: &str, path: &str) -> Response {
    let message = format!("forbidden: User {:?} cannot {verb} path {path:?}", user.name);
    status(StatusCode::FORBIDDEN, "Forbidden", &message)
}

/// A Kubernetes `Status` object, which `kubectl get --raw` prints in readable form.
fn status(code: StatusCode, reason: &str, message: &str) -> Response {
    let body = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": reason, "code": code.as_u16(),
    });
    json_reply(code, &body)
}
