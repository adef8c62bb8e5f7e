//! Gets a token for a ServiceAccount: creates the account if it is missing, then sends a `TokenRequest`, in each attempt.
//!
//! The response to a `TokenRequest` is parsed here and not by kube, which would log a response that it cannot parse.

use std::time::Duration;

use http::HeaderValue;
use jiff::Timestamp;
use k8s_openapi::api::{
    authentication::v1::{TokenRequest, TokenRequestSpec},
    core::v1::ServiceAccount,
};
use kube::{
    Api, Client, Resource,
    api::{ObjectMeta, PostParams},
    core::Request,
};
use tokio::time::sleep;

use super::super::describe;
use super::NAMESPACE;
use crate::clock::Clock;

/// The requested lifetime; the API server may grant less.
const LIFETIME: Duration = Duration::from_secs(3_600);
/// The shortest lifetime that an API server grants. If a token seems to have less, the local clock is ahead.
const SHORTEST: Duration = Duration::from_secs(600);
const TRIES: u32 = 4;
const FIRST_PAUSE: Duration = Duration::from_millis(500);

/// A token for a ServiceAccount, or a client that uses it, could not be obtained.
#[derive(Debug, thiserror::Error)]
pub enum ServiceAccountError {
    /// The API server refused a request of the root identity, or did not answer it.
    #[error(
        "--use-service-account-credentials: cannot {action} ServiceAccount {NAMESPACE}/{name}: {}; the manager's \
         own identity needs in namespace {NAMESPACE} the verbs \"get\" and \"create\" on resource \"serviceaccounts\" \
         and \"create\" on \"serviceaccounts/token\"",
        describe(source)
    )]
    Refused {
        /// The name of the ServiceAccount.
        name: String,
        /// The action that failed.
        action: &'static str,
        /// The error.
        source: Box<kube::Error>,
    },
    /// The response to the `TokenRequest` contains no token. The message does not quote the response.
    #[error(
        "--use-service-account-credentials: the answer to the TokenRequest for ServiceAccount {NAMESPACE}/{name} {why}; \
         is the address that of an API server?"
    )]
    NoToken {
        /// The name of the ServiceAccount.
        name: String,
        /// What is wrong with the response.
        why: &'static str,
    },
    /// kube cannot build the client.
    #[error(
        "cannot build the client of ServiceAccount {NAMESPACE}/{name}: {source}; check the cluster's CA and proxy"
    )]
    Stack {
        /// The name of the ServiceAccount.
        name: String,
        /// The error.
        source: Box<kube::Error>,
    },
}

/// A token, as an `Authorization` header.
pub(super) struct Grant {
    pub(super) header: HeaderValue,
    /// After this time the next token is requested.
    pub(super) fresh_for: Duration,
}

/// The root identity, which requests the tokens.
#[derive(Clone)]
pub(super) struct Grantor {
    root: Client,
    accounts: Api<ServiceAccount>,
    clock: Clock,
}

impl Grantor {
    pub(super) fn new(root: Client, clock: Clock) -> Self {
        Self { accounts: Api::namespaced(root.clone(), NAMESPACE), root, clock }
    }

    /// A token for `name`, within four attempts. A missing permission is retried as well: a new role may take a moment to become effective.
    pub(super) async fn grant(&self, name: &str) -> Result<Grant, ServiceAccountError> {
        let mut pause = FIRST_PAUSE;
        for _ in 1..TRIES {
            match self.try_grant(name).await {
                Ok(grant) => return Ok(grant),
                Err(error) => tracing::debug!(account = name, %error, "no token yet"),
            }
            sleep(pause).await;
            pause *= 2;
        }
        self.try_grant(name).await
    }

    async fn try_grant(&self, name: &str) -> Result<Grant, ServiceAccountError> {
        self.ensure_account(name).await?;
        let answer = self.request_token(name).await?;
        read_grant(&answer, self.clock.now())
            .map_err(|why| ServiceAccountError::NoToken { name: name.to_owned(), why })
    }

    async fn ensure_account(&self, name: &str) -> Result<(), ServiceAccountError> {
        if self.accounts.get_opt(name).await.map_err(refused(name, "get"))?.is_some() {
            return Ok(());
        }
        let metadata = ObjectMeta {
            name: Some(name.to_owned()),
            namespace: Some(NAMESPACE.to_owned()),
            ..ObjectMeta::default()
        };
        let account = ServiceAccount { metadata, ..ServiceAccount::default() };
        match self.accounts.create(&PostParams::default(), &account).await {
            // Another replica created it first.
            Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(()),
            created => created.map(drop).map_err(refused(name, "create")),
        }
    }

    async fn request_token(&self, name: &str) -> Result<String, ServiceAccountError> {
        let expiration_seconds = i64::try_from(LIFETIME.as_secs()).ok();
        let wanted = TokenRequest {
            spec: TokenRequestSpec { expiration_seconds, ..TokenRequestSpec::default() },
            ..TokenRequest::default()
        };
        let fail = || refused(name, "request a token for");
        let body = serde_json::to_vec(&wanted).map_err(kube::Error::SerdeError).map_err(fail())?;
        let request = Request::new(ServiceAccount::url_path(&(), Some(NAMESPACE)))
            .create_subresource("token", name, &PostParams::default(), body)
            .map_err(kube::Error::BuildRequest)
            .map_err(fail())?;
        match self.root.request_text(request).await {
            // This error contains the bytes of the response.
            Err(kube::Error::FromUtf8(_)) => {
                Err(ServiceAccountError::NoToken { name: name.to_owned(), why: "is not text" })
            }
            answer => answer.map_err(fail()),
        }
    }
}

fn refused(name: &str, action: &'static str) -> impl FnOnce(kube::Error) -> ServiceAccountError {
    move |source| ServiceAccountError::Refused { name: name.to_owned(), action, source: Box::new(source) }
}

/// Parses a response. The error does not quote the response, as serde's errors would.
fn read_grant(answer: &str, now: Timestamp) -> Result<Grant, &'static str> {
    let answer: TokenRequest = serde_json::from_str(answer).map_err(|_quoting| "is not a TokenRequest")?;
    let status = answer.status.ok_or("has no status")?;
    if status.token.is_empty() {
        return Err("has an empty token");
    }
    let mut header = HeaderValue::try_from(format!("Bearer {}", status.token))
        .map_err(|_opaque| "has a token that cannot stand in a header")?;
    header.set_sensitive(true);
    let left = status.expiration_timestamp.0.duration_since(now);
    Ok(Grant { header, fresh_for: fresh_for(Duration::try_from(left).unwrap_or_default()) })
}

/// How long a token with a remaining lifetime of `left` is used before the next one is requested: until a fifth remains. `left` is limited
/// on both sides, because the local clock may be wrong.
fn fresh_for(left: Duration) -> Duration {
    left.clamp(SHORTEST, LIFETIME) * 4 / 5
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_fresh_until_a_fifth_of_its_life_remains_whatever_our_clock_says() {
        let minutes = |n: u64| Duration::from_secs(60 * n);
        assert_eq!(fresh_for(minutes(60)), minutes(48));
        assert_eq!(fresh_for(minutes(20)), minutes(16), "a server may give less than was asked for");
        assert_eq!(fresh_for(minutes(0)), minutes(8), "our clock is ahead");
        assert_eq!(fresh_for(minutes(600)), minutes(48), "our clock is behind");
    }

    #[test]
    fn what_is_wrong_with_an_answer_is_said_without_quoting_it() {
        let now = Timestamp::UNIX_EPOCH;
        let why = |answer: &str| read_grant(answer, now).err().unwrap();
        assert_eq!(why("\"s3cret\""), "is not a TokenRequest");
        assert_eq!(why(r#"{"spec": {"audiences": []}}"#), "has no status");
        let with = |token: &str| {
            let expires = "2026-11-02T08:00:00Z";
            serde_json::json!({"spec": {"audiences": []}, "status": {"token": token, "expirationTimestamp": expires}})
        };
        assert_eq!(why(&with("").to_string()), "has an empty token");
        assert_eq!(why(&with("a\nb").to_string()), "has a token that cannot stand in a header");
        let header = read_grant(&with("s3cret").to_string(), now).ok().unwrap().header;
        assert!(!format!("{header:?}").contains("s3cret"));
    }
}
