//! Many requests at once: one review for those that ask the same, and what the metrics say about it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures::future::join_all;
use http::{HeaderMap, header};
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use tokio::time::{sleep, timeout};

use super::fixture::Fixture;
use crate::serving::reviews::{AccessRequest, AccessVerdict, ReviewError};
use crate::serving::{
    AccessReviewer, Authenticator, AuthorizationConfig, Authorizer, Decision, ServingMetrics, TokenReviewer,
    User,
};

/// Answers everything after a second: bearers are named after their tokens, and `down` is not answered.
#[derive(Default)]
struct Slow {
    calls: AtomicUsize,
}

impl Slow {
    fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl TokenReviewer for Slow {
    async fn review(&self, token: &str) -> Result<Option<User>, ReviewError> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        sleep(Duration::from_secs(1)).await;
        match token {
            "down" => Err(ReviewError::permanent("connection refused")),
            name => Ok(Some(User::new(name, &[]))),
        }
    }
}

#[async_trait]
impl AccessReviewer for Slow {
    async fn review(&self, request: AccessRequest<'_>) -> Result<AccessVerdict, ReviewError> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        sleep(Duration::from_secs(1)).await;
        Ok(AccessVerdict { allowed: request.user.name == "jane", reason: String::new() })
    }
}

fn bearer(token: &str) -> HeaderMap {
    [(header::AUTHORIZATION, format!("Bearer {token}").parse().unwrap())].into_iter().collect()
}

async fn authenticator(slow: &Arc<Slow>, metrics: &ServingMetrics) -> Arc<Authenticator> {
    let fixture = Fixture { tokens: Some(slow.clone()), ..Fixture::default() };
    fixture.authenticator(metrics).await.unwrap()
}

fn page(metrics: &ServingMetrics) -> String {
    let (mut registry, mut page) = (Registry::default(), String::new());
    metrics.register(&mut registry);
    encode(&mut page, &registry).unwrap();
    page
}

#[tokio::test(start_paused = true)]
async fn a_herd_with_one_new_token_causes_one_token_review() {
    let (slow, metrics) = (Arc::new(Slow::default()), ServingMetrics::default());
    let (authn, headers) = (authenticator(&slow, &metrics).await, bearer("jane"));
    let herd = join_all((0..100).map(|_| authn.authenticate(&[], &headers)));
    let look = async {
        sleep(Duration::from_millis(500)).await;
        page(&metrics)
    };
    let (herd, meanwhile) = tokio::join!(herd, look);
    assert!(herd.iter().all(|who| who.as_ref().unwrap().name == "jane"));
    assert_eq!(slow.calls(), 1);
    for line in [r#"{status="blocked"} 100"#, r#"{status="in_flight"} 1"#] {
        let line = format!("authentication_token_cache_active_fetch_count{line}\n");
        assert!(meanwhile.contains(&line), "{line} is not in\n{meanwhile}");
    }

    authn.authenticate(&[], &headers).await.unwrap();
    assert_eq!(slow.calls(), 1, "remembered");
    let afterwards = page(&metrics);
    for line in [
        r#"authentication_token_cache_request_total{status="miss"} 100"#,
        r#"authentication_token_cache_request_total{status="hit"} 1"#,
        r#"authentication_token_cache_fetch_total{status="ok"} 1"#,
        r#"authentication_token_cache_active_fetch_count{status="blocked"} 0"#,
        r#"authentication_token_cache_active_fetch_count{status="in_flight"} 0"#,
        r#"apiserver_delegated_authn_request_total{code="201"} 1"#,
        r#"authenticated_user_requests{username="other"} 101"#,
        r#"authentication_duration_seconds_count{result="success"} 101"#,
    ] {
        assert!(afterwards.contains(&format!("{line}\n")), "{line} is not in\n{afterwards}");
    }
}

#[tokio::test(start_paused = true)]
async fn different_tokens_are_reviewed_side_by_side_each_for_its_bearer() {
    let (slow, metrics) = (Arc::new(Slow::default()), ServingMetrics::default());
    let authn = authenticator(&slow, &metrics).await;
    let (jane, joe) = (bearer("jane"), bearer("joe"));
    let both = async { tokio::join!(authn.authenticate(&[], &jane), authn.authenticate(&[], &joe)) };
    let (first, second) = timeout(Duration::from_millis(1500), both).await.unwrap();
    assert_eq!((first.unwrap().name.as_str(), second.unwrap().name.as_str()), ("jane", "joe"));
    assert_eq!(slow.calls(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_failed_review_fails_the_whole_herd_at_once_and_is_not_remembered() {
    let (slow, metrics) = (Arc::new(Slow::default()), ServingMetrics::default());
    let (authn, headers) = (authenticator(&slow, &metrics).await, bearer("down"));
    let herd = join_all((0..100).map(|_| authn.authenticate(&[], &headers)));
    let herd = timeout(Duration::from_millis(1500), herd).await.unwrap();
    assert!(herd.iter().all(Result::is_err));
    assert_eq!(slow.calls(), 1);
    assert!(authn.authenticate(&[], &headers).await.is_err());
    assert_eq!(slow.calls(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_scraper_that_hangs_up_does_not_take_the_review_of_the_others_with_it() {
    let (slow, metrics) = (Arc::new(Slow::default()), ServingMetrics::default());
    let (authn, headers) = (authenticator(&slow, &metrics).await, bearer("jane"));
    let impatient = timeout(Duration::from_millis(500), authn.authenticate(&[], &headers));
    let (left, patient) = tokio::join!(impatient, authn.authenticate(&[], &headers));
    assert!(left.is_err());
    assert_eq!(patient.unwrap().name, "jane");
    assert_eq!(slow.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_herd_that_wants_the_same_causes_one_access_review() {
    let (slow, metrics) = (Arc::new(Slow::default()), ServingMetrics::default());
    let authz = Authorizer::new(&AuthorizationConfig::default(), Some(slow.clone()), metrics.clone());
    let (jane, joe) = (User::new("jane", &[]), User::new("joe", &[]));
    let ask = |user, path| authz.authorize(AccessRequest { user, verb: "get", path });
    let herd = (0..100).map(|_| ask(&jane, "/metrics")).chain([ask(&jane, "/flagz"), ask(&joe, "/metrics")]);
    let mut answers = join_all(herd).await;
    assert_eq!(answers.pop(), Some(Ok(Decision::Denied)), "joe has a review of his own");
    assert!(answers.iter().all(|answer| *answer == Ok(Decision::Allowed)));
    assert_eq!(slow.calls(), 3);
    let page = page(&metrics);
    for line in [
        r#"apiserver_delegated_authz_request_total{code="201"} 3"#,
        r#"authorization_duration_seconds_count{result="allowed"} 101"#,
        r#"authorization_duration_seconds_count{result="denied"} 1"#,
    ] {
        assert!(page.contains(&format!("{line}\n")), "{line} is not in\n{page}");
    }
}
