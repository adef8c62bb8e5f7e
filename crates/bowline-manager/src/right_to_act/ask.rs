//! Asks the API server, as whoever needs the right.

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

/// An identity that could not be had is not asked for again within this: all questions of a round would wait for it.
const BELIEVE_FAILURE: Duration = Duration::from_secs(10);

/// Rules are listed for a namespace, and those of all namespaces with them. No namespace can have a name with a dot, so nothing but
/// what holds everywhere holds in this one.
const EVERYWHERE: &str = "every.where";

/// What came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    /// It may.
    Allowed,
    /// It may not.
    Denied,
    /// Nobody could say, for this reason; it may pass.
    Unanswered(String),
    /// The question itself is forbidden.
    Unasked(String),
}

/// Answers questions about rights.
#[async_trait]
pub(crate) trait Ask: Send + Sync {
    /// The rules that hold for somebody somewhere; none if they cannot be listed, or not all of them.
    async fn rules(&self, place: &Place) -> Option<Vec<ResourceRule>>;

    /// Asks.
    async fn ask(&self, question: &Question) -> Answer;
}

/// The API server.
pub(crate) struct KubeAsk {
    clients: Clients,
    /// One for each identity; each has a lock of its own, since getting one may take seconds.
    made: parking_lot::Mutex<BTreeMap<Option<String>, Arc<Mutex<Made>>>>,
}

/// The client of one identity, or why there is none.
#[derive(Default)]
enum Made {
    #[default]
    NotYet,
    Client(Client),
    Failed(String, Instant),
}

impl KubeAsk {
    /// Asks with clients of these.
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
    /// Why there is no list is not told: the questions are asked one by one then, and say it.
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
                // "No" beside an error means that some authorizer could not say.
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
