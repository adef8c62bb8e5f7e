//! What a scraper sees.

use std::collections::BTreeSet;
use std::future::pending;

use prometheus_client::encoding::text::encode;
use tokio::time::{sleep, timeout};

use super::*;
use crate::serving::reviews::ReviewError;

fn page(metrics: &ServingMetrics) -> String {
    let (mut registry, mut page) = (Registry::default(), String::new());
    metrics.register(&mut registry);
    encode(&mut page, &registry).unwrap();
    page
}

fn assert_has(metrics: &ServingMetrics, lines: &[&str]) {
    let page = page(metrics);
    for line in lines {
        assert!(page.lines().any(|found| found == *line), "{line} is not in\n{page}");
    }
}

#[test]
fn user_names_become_a_few_kinds() {
    for known in ["admin", "kubelet", "system:serviceaccount:kube-system:default"] {
        assert_eq!(name_kind(known), known);
    }
    assert_eq!(name_kind("jane@example.com"), "email_id");
    for other in ["system:anonymous", "system:node:n1", "system:serviceaccount:monitoring:prometheus", ""] {
        assert_eq!(name_kind(other), "other");
    }
}

#[test]
fn however_many_users_there_are_the_page_stays_small() {
    let metrics = ServingMetrics::default();
    for number in 0..1000 {
        for name in [format!("user-{number}"), format!("user-{number}@example.com")] {
            metrics.authenticated(Some(&name), Duration::ZERO);
        }
    }
    let page = page(&metrics);
    let series: BTreeSet<_> =
        page.lines().filter(|line| line.starts_with("authenticated_user_requests{")).collect();
    let expected = [
        r#"authenticated_user_requests{username="email_id"} 1000"#,
        r#"authenticated_user_requests{username="other"} 1000"#,
    ];
    assert_eq!(series, BTreeSet::from(expected));
}

#[test]
fn decisions_are_counted_and_timed_by_result() {
    let metrics = ServingMetrics::default();
    metrics.authenticated(Some("admin"), Duration::from_millis(3));
    metrics.authenticated(None, Duration::from_secs(10));
    metrics.authorized("denied", Duration::from_millis(20));
    assert_has(
        &metrics,
        &[
            r#"authenticated_user_requests{username="admin"} 1"#,
            r#"authentication_attempts{result="failure"} 1"#,
            r#"authentication_duration_seconds_bucket{le="0.002",result="success"} 0"#,
            r#"authentication_duration_seconds_bucket{le="0.004",result="success"} 1"#,
            r#"authentication_duration_seconds_bucket{le="16.384",result="failure"} 1"#,
            r#"authorization_attempts_total{result="denied"} 1"#,
            r#"authorization_duration_seconds_count{result="denied"} 1"#,
        ],
    );
}

#[tokio::test(start_paused = true)]
async fn questions_to_the_api_server_are_counted_by_status() {
    let metrics = ServingMetrics::default();
    let slow = async {
        sleep(Duration::from_millis(600)).await;
        Ok(())
    };
    metrics.delegated_authn.measured(slow).await.unwrap();
    let refused = ReviewError { status: Some(403), ..ReviewError::permanent("forbidden") };
    let asked = metrics.delegated_authz.measured(async { Err::<(), _>(refused) });
    assert!(asked.await.is_err());
    assert_has(
        &metrics,
        &[
            r#"apiserver_delegated_authn_request_total{code="201"} 1"#,
            r#"apiserver_delegated_authn_request_duration_seconds_bucket{le="0.5",code="201"} 0"#,
            r#"apiserver_delegated_authn_request_duration_seconds_bucket{le="0.7",code="201"} 1"#,
            r#"apiserver_delegated_authz_request_total{code="403"} 1"#,
            r#"apiserver_delegated_authz_request_duration_seconds_count{code="403"} 1"#,
        ],
    );
}

#[tokio::test(start_paused = true)]
async fn a_question_without_a_response_counts_as_error_also_if_nobody_waits_any_more() {
    let metrics = ServingMetrics::default();
    let down = async { Err::<(), _>(ReviewError::temporary("connection refused")) };
    assert!(metrics.delegated_authn.measured(down).await.is_err());
    let odd = ReviewError { status: Some(7), ..ReviewError::permanent("not HTTP") };
    assert!(metrics.delegated_authn.measured(async { Err::<(), _>(odd) }).await.is_err());
    let never = metrics.delegated_authn.measured(pending::<Result<(), _>>());
    assert!(timeout(Duration::from_secs(2), never).await.is_err());
    assert_has(
        &metrics,
        &[
            r#"apiserver_delegated_authn_request_total{code="<error>"} 3"#,
            r#"apiserver_delegated_authn_request_duration_seconds_sum{code="<error>"} 2.0"#,
        ],
    );
}
