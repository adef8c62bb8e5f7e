//! Sends permission checks to the API server, with the identity that needs the permission.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, ResourceRule, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
    SelfSubjectRulesReview, SelfSubjectRulesReviewSpec,
};
use kube::api::PostParams;
use kube::{Api, Client};
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::Question;
use super::rules::Place;
use crate::clients::{ClientError, Clients};

/// How long a failure to obtain an identity's credentials is cached, because all checks of a round would otherwise wait for it.
const BELIEVE_FAILURE: Duration = Duration::from_secs(10);

/// The namespace for cluster-wide rules reviews. A rules review is always for one namespace, and includes the cluster-wide rules. Namespace
/// names cannot contain a dot, so in this one only cluster-wide rules apply.
const EVERYWHERE: &str = "every.where";

/// The result of one permission check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The identity has the permission.
    Allowed,
    /// The identity does not have the permission.
    Denied,
    /// The check failed for this reason, which may be transient.
    Unanswered(String),
    /// The identity may not create the access review itself, with the API server's message.
    Unasked(String),
}

/// Checks permissions.
#[async_trait]
pub(crate) trait Ask: Send + Sync {
    /// The rules that apply to an identity in a namespace. `None` if they cannot be listed, or the list is incomplete.
    async fn rules(&self, place: &Place) -> Option<Vec<ResourceRule>>;

    /// Checks one permission.
    async fn ask(&self, question: &Question) -> Answer;
}

/// Checks permissions with access reviews of the API server.
pub(crate) struct KubeAsk {
    clients: Clients,
    /// One client for each identity (`None` is the process itself). Each has its own lock, because obtaining credentials may take seconds.
    made: parking_lot::Mutex<BTreeMap<Option<String>, Arc<Mutex<Made>>>>,
}

/// The client of one identity, or why it could not be created.
#[derive(Default)]
enum Made {
    #[default]
    NotYet,
    Client(Client),
    Failed(String, Instant),
}

impl KubeAsk {
    /// Creates the clients for the checks with `clients`.
    pub(crate) fn new(clients: Clients) -> Self {
        Self { clients, made: parking_lot::Mutex::default() }
    }

    async fn client(&self, account: Option<&str>) -> Result<Client, String> {
        let slot = {
            let mut made = self.made.lock();
            made.entry(account.map(str::to_owned)).or_default().clone()
        };
        let mut slot = slot.lock().await;
        match &*slot {
            Made::Client(client) => return Ok(client.clone()),
            Made::Failed(why, at) if at.elapsed() < BELIEVE_FAILURE => return Err(why.clone()),
            Made::Failed(..) | Made::NotYet => {}
        }
        let made = self.make(account).await.map_err(|error| error.to_string());
        *slot = match &made {
            Ok(client) => Made::Client(client.clone()),
            Err(why) => Made::Failed(why.clone(), Instant::now()),
        };
        made
    }

    async fn make(&self, account: Option<&str>) -> Result<Client, ClientError> {
        match account {
            Some(account) => self.clients.controller(account).await,
            None => self.clients.root("permissions"),
        }
    }
}

#[async_trait]
impl Ask for KubeAsk {
    /// A failure is not reported here: the permissions are then checked one by one, which reports the reason.
    async fn rules(&self, place: &Place) -> Option<Vec<ResourceRule>> {
        let client = self.client(place.account.as_deref()).await.ok()?;
        let namespace = Some(place.namespace.clone().unwrap_or_else(|| EVERYWHERE.to_owned()));
        let review = SelfSubjectRulesReview {
            spec: SelfSubjectRulesReviewSpec { namespace },
            ..SelfSubjectRulesReview::default()
        };
        let reviews = Api::<SelfSubjectRulesReview>::all(client);
        let status = reviews.create(&PostParams::default(), &review).await.ok()?.status?;
        (!status.incomplete).then_some(status.resource_rules)
    }

    async fn ask(&self, question: &Question) -> Answer {
        let client = match self.client(question.account.as_deref()).await {
            Ok(client) => client,
            Err(why) => return Answer::Unanswered(why),
        };
        let review = Api::<SelfSubjectAccessReview>::all(client);
        match review.create(&PostParams::default(), &review_of(question)).await {
            Ok(answer) if answer.status.as_ref().is_some_and(|status| status.allowed) => Answer::Allowed,
            Ok(answer) => {
                let errors = answer.status.and_then(|status| status.evaluation_error);
                // "Denied" together with an evaluation error means that an authorizer failed.
                errors.filter(|error| !error.is_empty()).map_or(Answer::Denied, Answer::Unanswered)
            }
            Err(kube::Error::Api(status)) if status.code == 403 => Answer::Unasked(status.message.clone()),
            Err(error) => Answer::Unanswered(bowline_kube::client::describe(&error)),
        }
    }
}

fn review_of(question: &Question) -> SelfSubjectAccessReview {
    let (resource, subresource) = match question.resource.split_once('/') {
        Some((resource, subresource)) => (resource, Some(subresource.to_owned())),
        None => (question.resource, None),
    };
    let attributes = ResourceAttributes {
        group: Some(question.group.to_owned()),
        resource: Some(resource.to_owned()),
        subresource,
        verb: Some(question.verb.to_owned()),
        namespace: question.namespace.clone(),
        name: question.name.clone(),
        ..ResourceAttributes::default()
    };
    SelfSubjectAccessReview {
        spec: SelfSubjectAccessReviewSpec {
            resource_attributes: Some(attributes),
            ..SelfSubjectAccessReviewSpec::default()
        },
        ..SelfSubjectAccessReview::default()
    }
}
