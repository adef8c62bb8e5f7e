//! A short-lived token of the viewer's ServiceAccount, for which the API server is asked: a manager never sees what a person logs in with.
//!
//! The token is good for what the API server knows tokens for, since managers review it without naming an audience; but the account may read
//! the managers' own pages and nothing of the cluster.

use std::time::Duration;

use bowline_manager::rbac::VIEWER;
use http::{HeaderValue, Request};
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use tokio::sync::Mutex;
use tokio::time::Instant;
use zeroize::Zeroizing;

use crate::session::Cluster;
use crate::session::refusal::{is_refusal, said};

/// The least that the API server gives.
const LIFETIME_SECONDS: i64 = 600;

/// A token is replaced after this time, well before it expires.
const RENEW_AFTER: Duration = Duration::from_secs(480);

/// Whose tokens are shown, and the one that is shown now.
pub(super) struct Viewer {
    cluster: Cluster,
    namespace: String,
    account: String,
    issued: Mutex<Option<(HeaderValue, Instant)>>,
}

impl Viewer {
    pub(super) fn new(cluster: Cluster, namespace: &str, account: &str) -> Self {
        let (namespace, account) = (namespace.to_owned(), account.to_owned());
        Self { cluster, namespace, account, issued: Mutex::default() }
    }

    /// A token, as a manager is shown it.
    ///
    /// # Errors
    ///
    /// Which right or account is missing, and what to do.
    pub(super) async fn bearer(&self) -> Result<HeaderValue, String> {
        let mut issued = self.issued.lock().await;
        if let Some((bearer, since)) = issued.as_ref()
            && since.elapsed() < RENEW_AFTER
        {
            return Ok(bearer.clone());
        }
        let since = Instant::now();
        let bearer = super::header_of(&self.token().await?).ok_or("the token of the API server is none")?;
        *issued = Some((bearer.clone(), since));
        Ok(bearer)
    }

    async fn token(&self) -> Result<Zeroizing<String>, String> {
        let Self { namespace, account, .. } = self;
        let spec =
            TokenRequestSpec { expiration_seconds: Some(LIFETIME_SECONDS), ..TokenRequestSpec::default() };
        let wanted = TokenRequest { spec, ..TokenRequest::default() };
        let body = serde_json::to_vec(&wanted).map_err(|error| error.to_string())?;
        let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token");
        let request = Request::post(path).header("content-type", "application/json").body(body);
        let request = request.map_err(|error| format!("--viewer-account {account}: {error}"))?;
        // Parsed here and not by kube, which would log an answer that it cannot parse.
        let answer = self.cluster.client.request_text(request).await.map(Zeroizing::new);
        let answer = answer.map_err(|error| self.refused(&error))?;
        let answer: TokenRequest = serde_json::from_str(&answer)
            .map_err(|_quoting| "the API server answers a TokenRequest with something else".to_owned())?;
        let token = answer.status.map(|status| Zeroizing::new(status.token));
        token.ok_or_else(|| "the API server answers a TokenRequest without a token".to_owned())
    }

    fn refused(&self, error: &kube::Error) -> String {
        let Self { namespace, account, .. } = self;
        let own = "or add --own-credentials, with which the manager sees those of your kubeconfig, or give a token with --token-file";
        let said = said(error);
        match error {
            refusal if is_refusal(refusal) => format!(
                "no token for the manager: {said}; it takes the right to create serviceaccounts/token of {account} in namespace {namespace}, {own}"
            ),
            kube::Error::Api(status) if status.code == 404 => format!(
                "no token for the manager: there is no ServiceAccount {namespace}/{account}. Apply deploy/rbac-{}.yaml, name another account with --viewer-account, {own}",
                VIEWER.trim_start_matches("bowline-")
            ),
            _ => format!("no token for the manager: {said}"),
        }
    }
}
