//! Health checks as their endpoints answer for them.

use super::*;

fn registry() -> HealthRegistry {
    let registry = HealthRegistry::new();
    registry.add("leaderElection", CheckSets::ALL, || Ok(()));
    registry.add("node-controller", CheckSets::ALL, || Ok(()));
    registry
}

fn verbose() -> HealthQuery {
    HealthQuery { verbose: true, reasons: true, ..HealthQuery::default() }
}

#[test]
fn when_all_pass_the_answer_is_ok() {
    let answer = registry().respond(Endpoint::Healthz, &HealthQuery::default());
    assert_eq!(answer, HealthResponse { ok: true, body: "ok".to_owned() });
}

#[test]
fn verbose_lists_every_check() {
    let answer = registry().respond(Endpoint::Healthz, &verbose());
    assert_eq!(answer.body, "[+]leaderElection ok\n[+]node-controller ok\nhealthz check passed\n");
}

#[test]
fn a_failing_check_fails_the_endpoint_and_keeps_its_reason_to_itself() {
    let registry = registry();
    registry.add("node-controller", CheckSets::ALL, || Err("password was hunter2".to_owned()));
    let answer = registry.respond(Endpoint::Livez, &HealthQuery::default());
    assert!(!answer.ok);
    assert_eq!(
        answer.body,
        "[+]leaderElection ok\n[-]node-controller failed: reason withheld\nlivez check failed\n"
    );
}

#[test]
fn an_excluded_check_is_not_run() {
    let registry = registry();
    registry.add("bad", CheckSets::ALL, || Err("bad".to_owned()));
    let exclude = vec!["bad".to_owned(), "unknown".to_owned()];
    let answer = registry.respond(Endpoint::Healthz, &HealthQuery { verbose: true, exclude, reasons: true });
    assert!(answer.ok);
    assert!(answer.body.contains("[+]bad excluded: ok\n"), "{}", answer.body);
    assert!(answer.body.contains("unknown"), "{}", answer.body);
}

#[test]
fn a_degraded_part_is_shown_and_does_not_fail() {
    let registry = registry();
    registry
        .add("service-controller", CheckSets::READY_ONLY, || CheckOutcome::Degraded("no Octavia".to_owned()));
    let answer = registry.respond(Endpoint::Readyz, &verbose());
    assert!(answer.ok);
    assert!(answer.body.contains("[!]service-controller degraded: no Octavia\n"), "{}", answer.body);
    assert!(registry.respond(Endpoint::Readyz, &HealthQuery::default()).ok);
    assert!(!registry.respond(Endpoint::Healthz, &verbose()).body.contains("service-controller"));
}

#[test]
fn one_check_can_be_asked_for() {
    let registry = registry();
    assert_eq!(registry.respond_one(Endpoint::Healthz, "leaderElection", true).unwrap().body, "ok");
    assert_eq!(registry.respond_one(Endpoint::Healthz, "nope", true), None);
    registry.remove("leaderElection");
    assert_eq!(registry.respond_one(Endpoint::Healthz, "leaderElection", true), None);
}

#[test]
fn runs_are_counted_by_name_type_and_status() {
    let registry = registry();
    registry.add("bad", CheckSets::ALL, || Err("bad".to_owned()));
    for _ in 0..2 {
        assert!(!registry.respond(Endpoint::Healthz, &HealthQuery::default()).ok);
    }
    let page = registry.slis_page().unwrap();
    for line in [
        r#"kubernetes_healthcheck{name="leaderElection",type="healthz"} 1"#,
        r#"kubernetes_healthcheck{name="bad",type="healthz"} 0"#,
        r#"kubernetes_healthchecks_total{name="bad",type="healthz",status="error"} 2"#,
    ] {
        assert!(page.contains(line), "{line} not in\n{page}");
    }
}
