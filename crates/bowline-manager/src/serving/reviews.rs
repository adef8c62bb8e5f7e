//! What authentication and authorization ask the API server, behind small traits so that tests need none.
//!
//! Implementations only carry questions and answers; caching, retries and decisions live with the callers.

use std::collections::BTreeMap;

use async_trait::async_trait;
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, UserInfo};
use k8s_openapi::api::authorization::v1::{
    NonResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec, SubjectAccessReviewStatus,
};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, PostParams};

use super::identity::User;

/// Namespace of the cluster's authentication ConfigMap.
pub const LOOKUP_NAMESPACE: &str = "kube-system";
/// Name of the cluster's authentication ConfigMap.
pub const LOOKUP_NAME: &str = "extension-apiserver-authentication";

/// The HTTP status of an answered review: the API server has "created" it.
pub(super) const ANSWERED: u16 = 201;

/// Why a question has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ReviewError {
    /// What happened.
    pub message: String,
    /// Whether asking again may help.
    pub retriable: bool,
    /// The HTTP status that came instead; `None` if no response came at all.
    pub status: Option<u16>,
}

impl ReviewError {
    /// An error that may pass: the server is down, busy or slow.
    pub fn temporary(message: impl Into<String>) -> Self {
        Self { message: message.into(), retriable: true, status: None }
    }

    /// An error that asking again does not change.
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

/// Says whose bearer token this is.
#[async_trait]
pub trait TokenReviewer: Send + Sync {
    /// The token's owner, or `None` if the token is not good.
    ///
    /// # Errors
    /// If the question could not be answered.
    async fn review(&self, token: &str) -> Result<Option<User>, ReviewError>;
}

/// One request, as authorization sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccessRequest<'a> {
    /// Who asks.
    pub user: &'a User,
    /// The HTTP method in lower case.
    pub verb: &'a str,
    /// The path without query.
    pub path: &'a str,
}

/// The API server's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessVerdict {
    /// Whether the request may go on.
    pub allowed: bool,
    /// Why, for logs; may be empty.
    pub reason: String,
}

/// Says whether a user may use a path.
#[async_trait]
pub trait AccessReviewer: Send + Sync {
    /// The verdict on one request.
    ///
    /// # Errors
    /// If the question could not be answered.
    async fn review(&self, request: AccessRequest<'_>) -> Result<AccessVerdict, ReviewError>;
}

/// Reads the cluster's authentication ConfigMap.
#[async_trait]
pub trait AuthConfigLookup: Send + Sync {
    /// Its data; `None` if the ConfigMap does not exist.
    ///
    /// # Errors
    /// If it could not be read.
    async fn fetch(&self) -> Result<Option<BTreeMap<String, String>>, ReviewError>;
}

/// All three, asked of a real API server.
#[derive(Clone)]
pub struct KubeReviews {
    client: kube::Client,
}

impl KubeReviews {
    /// Reviews through `client`, whose own limits (QPS, timeouts) apply.
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
    // An evaluation error beside a "no" means that some authorizer failed and the rest had no reason to allow.
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
