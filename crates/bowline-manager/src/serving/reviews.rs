//! The requests that authentication and authorization send to the API server, behind small traits so that tests need no API server.
//!
//! Implementations only send requests and return responses; caching, retries and decisions belong to the callers.

use std::collections::BTreeMap;

use async_trait::async_trait;
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, UserInfo};
use k8s_openapi::api::authorization::v1::{
    NonResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec, SubjectAccessReviewStatus,
};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, PostParams};

use super::identity::User;

/// The namespace of the cluster's authentication ConfigMap.
pub const LOOKUP_NAMESPACE: &str = "kube-system";
/// The name of the cluster's authentication ConfigMap.
pub const LOOKUP_NAME: &str = "extension-apiserver-authentication";

/// The HTTP status of a successful review: 201, because a review is created.
pub(super) const ANSWERED: u16 = 201;

/// Why a review has no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ReviewError {
    /// The error message.
    pub message: String,
    /// Whether a retry may succeed.
    pub retriable: bool,
    /// The HTTP status of the response; `None` if there was no response.
    pub status: Option<u16>,
}

impl ReviewError {
    /// A retriable error: the API server is down, busy or slow.
    pub fn temporary(message: impl Into<String>) -> Self {
        Self { message: message.into(), retriable: true, status: None }
    }

    /// An error that a retry cannot fix.
    pub fn permanent(message: impl Into<String>) -> Self {
        Self { message: message.into(), retriable: false, status: None }
    }
}

impl From<kube::Error> for ReviewError {
    fn from(error: kube::Error) -> Self {
        let retriable = match &error {
            kube::Error::Api(status) => status.code == 429 || status.code >= 500,
            kube::Error::HyperError(_) | kube::Error::Service(_) => true,
            _ => false,
        };
        let status = match &error {
            kube::Error::Api(status) => Some(status.code),
            _ => None,
        };
        Self { message: bowline_kube::client::describe(&error), retriable, status }
    }
}

/// Reviews bearer tokens.
#[async_trait]
pub trait TokenReviewer: Send + Sync {
    /// The user of the token, or `None` if the token is invalid.
    ///
    /// # Errors
    /// If the token could not be reviewed.
    async fn review(&self, token: &str) -> Result<Option<User>, ReviewError>;
}

/// The attributes of a request that authorization uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccessRequest<'a> {
    /// The caller.
    pub user: &'a User,
    /// The HTTP method in lower case.
    pub verb: &'a str,
    /// The path without the query.
    pub path: &'a str,
}

/// The result of an access review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessVerdict {
    /// Whether the request is allowed.
    pub allowed: bool,
    /// The reason, for logs; may be empty.
    pub reason: String,
}

/// Reviews whether a user may access a path.
#[async_trait]
pub trait AccessReviewer: Send + Sync {
    /// Reviews one request.
    ///
    /// # Errors
    /// If the access could not be reviewed.
    async fn review(&self, request: AccessRequest<'_>) -> Result<AccessVerdict, ReviewError>;
}

/// Reads the cluster's authentication ConfigMap.
#[async_trait]
pub trait AuthConfigLookup: Send + Sync {
    /// The data of the ConfigMap; `None` if it does not exist.
    ///
    /// # Errors
    /// If the ConfigMap could not be read.
    async fn fetch(&self) -> Result<Option<BTreeMap<String, String>>, ReviewError>;
}

/// Implements all three traits with a real API server.
#[derive(Clone)]
pub struct KubeReviews {
    client: kube::Client,
}

impl KubeReviews {
    /// Creates reviews that use `client`; its limits (QPS, timeouts) apply.
    #[must_use]
    pub fn new(client: kube::Client) -> Self {
        Self { client }
    }
}

#[async_trait]
impl TokenReviewer for KubeReviews {
    async fn review(&self, token: &str) -> Result<Option<User>, ReviewError> {
        let question = TokenReview {
            spec: TokenReviewSpec { token: Some(token.to_owned()), audiences: None },
            ..TokenReview::default()
        };
        let answer =
            Api::<TokenReview>::all(self.client.clone()).create(&PostParams::default(), &question).await?;
        let status = answer.status.unwrap_or_default();
        match status.error.filter(|error| !error.is_empty()) {
            Some(message) => Err(ReviewError { message, retriable: false, status: Some(ANSWERED) }),
            None if status.authenticated == Some(true) => Ok(status.user.map(user_from_info)),
            None => Ok(None),
        }
    }
}

fn user_from_info(info: UserInfo) -> User {
    User {
        name: info.username.unwrap_or_default(),
        uid: info.uid.unwrap_or_default(),
        groups: info.groups.unwrap_or_default(),
        extra: info.extra.unwrap_or_default(),
    }
}

#[async_trait]
impl AccessReviewer for KubeReviews {
    async fn review(&self, request: AccessRequest<'_>) -> Result<AccessVerdict, ReviewError> {
        let api = Api::<SubjectAccessReview>::all(self.client.clone());
        let answer = api.create(&PostParams::default(), &access_question(request)).await?;
        Ok(verdict(answer.status.unwrap_or_default()))
    }
}

fn access_question(request: AccessRequest<'_>) -> SubjectAccessReview {
    let user = request.user;
    let attributes =
        NonResourceAttributes { path: Some(request.path.to_owned()), verb: Some(request.verb.to_owned()) };
    SubjectAccessReview {
        spec: SubjectAccessReviewSpec {
            user: Some(user.name.clone()),
            uid: Some(user.uid.clone()).filter(|uid| !uid.is_empty()),
            groups: Some(user.groups.clone()),
            extra: Some(user.extra.clone()).filter(|extra| !extra.is_empty()),
            non_resource_attributes: Some(attributes),
            ..SubjectAccessReviewSpec::default()
        },
        ..SubjectAccessReview::default()
    }
}

fn verdict(status: SubjectAccessReviewStatus) -> AccessVerdict {
    // "Denied" with an evaluation error means that an authorizer failed and no other one allowed the request.
    let reason =
        status.evaluation_error.filter(|error| !error.is_empty()).or(status.reason).unwrap_or_default();
    AccessVerdict { allowed: status.allowed, reason }
}

#[async_trait]
impl AuthConfigLookup for KubeReviews {
    async fn fetch(&self) -> Result<Option<BTreeMap<String, String>>, ReviewError> {
        let api = Api::<ConfigMap>::namespaced(self.client.clone(), LOOKUP_NAMESPACE);
        Ok(api.get_opt(LOOKUP_NAME).await?.map(|map| map.data.unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests;
