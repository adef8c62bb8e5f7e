//! Failures: upstream's cases.

use super::*;

const RETRIED: Verdict = Verdict { is_degraded: false, is_retried: true };
const DEGRADED: Verdict = Verdict { is_degraded: true, is_retried: true };

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

#[test]
fn a_failure_that_may_pass_is_told_after_the_threshold_and_not_before() {
    let start = Instant::now();
    let mut window = FailureWindow::of_workloads();
    assert_eq!(window.failed(Failure::Transient, start), RETRIED);
    assert_eq!(window.failed(Failure::Transient, start + seconds(149)), RETRIED);
    assert_eq!(window.failed(Failure::Transient, start + seconds(150)), DEGRADED);
    let mut config = FailureWindow::of_config();
    assert_eq!(config.failed(Failure::Transient, start), RETRIED);
    assert_eq!(config.failed(Failure::Transient, start + seconds(120)), DEGRADED);
}

#[test]
fn a_failure_that_only_a_change_can_mend_is_told_at_once_and_not_retried() {
    let mut window = FailureWindow::of_workloads();
    let verdict = window.failed(Failure::Terminal, Instant::now());
    assert_eq!(verdict, Verdict { is_degraded: true, is_retried: false });
}

#[test]
fn a_success_begins_anew() {
    let start = Instant::now();
    let mut window = FailureWindow::of_workloads();
    window.failed(Failure::Transient, start);
    window.succeeded(Pass::Full);
    assert_eq!(window.failed(Failure::Transient, start + seconds(200)), RETRIED);
    assert_eq!(window.failed(Failure::Transient, start + seconds(350)), DEGRADED);
}

#[test]
fn a_gap_begins_anew_where_failures_go_stale() {
    let start = Instant::now();
    let mut window = FailureWindow::of_trust();
    window.failed(Failure::Transient, start);
    assert_eq!(window.failed(Failure::Transient, start + seconds(151)), RETRIED, "the first is forgotten");
    assert_eq!(window.failed(Failure::Transient, start + seconds(151 + 119)), RETRIED);
    assert_eq!(window.failed(Failure::Transient, start + seconds(151 + 120)), DEGRADED);
    let mut steady = FailureWindow::of_trust();
    steady.failed(Failure::Transient, start);
    assert_eq!(steady.failed(Failure::Transient, start + seconds(150)), DEGRADED, "no gap too long");
}

#[test]
fn a_pass_over_a_part_leaves_the_window_as_it_is() {
    let start = Instant::now();
    let mut window = FailureWindow::of_trust();
    window.failed(Failure::Transient, start);
    window.succeeded(Pass::Partial);
    assert_eq!(window.failed(Failure::Transient, start + seconds(120)), DEGRADED);
}
