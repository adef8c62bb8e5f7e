//! The questions of the preflight.

use super::super::{Answer, Check, ManagerMode, ShadowFinding, WouldDo};
use super::scene::{Scene, ago};
use crate::api::{MigrationKind, Phase};
use crate::migration::preflight::checks;

fn scene() -> Scene {
    Scene::at(MigrationKind::OtherManager, Phase::Preflight, ManagerMode::Shadow)
}

fn check(scene: &Scene, name: &str) -> Check {
    let kind = scene.status.migration.as_ref().unwrap().kind.unwrap();
    checks(&scene.case(), kind).into_iter().find(|check| check.name == name).unwrap()
}

fn failed(scene: &Scene, name: &str) -> String {
    match check(scene, name).answer {
        Answer::Fail(text) => text,
        other => panic!("{name}: {other:?}"),
    }
}

fn unknown(scene: &Scene, name: &str) -> String {
    match check(scene, name).answer {
        Answer::Unknown(text) => text,
        other => panic!("{name}: {other:?}"),
    }
}

fn finding(service: &str, would: WouldDo) -> ShadowFinding {
    ShadowFinding { service: service.to_owned(), would, held: true, message: "why".to_owned() }
}

#[test]
fn when_all_is_well_nothing_holds_up() {
    let scene = scene();
    let all = checks(&scene.case(), MigrationKind::OtherManager);
    assert_eq!(all.len(), 11);
    let open: Vec<_> = all.iter().filter(|check| check.holds_up()).collect();
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn silence_and_old_reports_are_no_answers() {
    let mut quiet = scene();
    quiet.observed.shadow = None;
    let mut old = scene();
    old.report().observed_at = ago(1000);
    let mut ahead = scene();
    ahead.report().observed_at = ago(-1000);
    for scene in [quiet, old, ahead] {
        for name in ["CloudReachable", "NodesResolvable", "HandOverClean"] {
            unknown(&scene, name);
        }
        assert_eq!(scene.next().0, Phase::Preflight);
    }
    let mut unasked = scene();
    unasked.observed.preflight.config = Answer::NotAsked;
    unknown(&unasked, "ConfigValid");
}

#[test]
fn a_cloud_that_does_not_answer_fails_with_its_words() {
    let mut scene = scene();
    scene.report().cloud_problem = Some("401 from Keystone".to_owned());
    assert!(failed(&scene, "CloudReachable").contains("401 from Keystone"));
}

#[test]
fn nodes_that_the_cloud_does_not_know_fail_because_they_would_be_deleted() {
    let mut scene = scene();
    scene.report().nodes_absent = vec!["w".to_owned()];
    assert!(failed(&scene, "NodesResolvable").contains("nodes w; they would be deleted"));
    scene.report().nodes_absent.clear();
    scene.report().nodes_unknown = vec!["b".to_owned()];
    assert!(unknown(&scene, "NodesResolvable").contains('b'));
    scene.report().nodes_unknown.clear();
    scene.report().nodes_present = 0;
    assert!(failed(&scene, "NodesResolvable").contains("project"));
}

#[test]
fn nodes_of_somebody_else_are_listed_and_do_no_harm() {
    let mut scene = scene();
    scene.report().nodes_foreign = vec!["edge".to_owned()];
    assert!(check(&scene, "NodesResolvable").message().contains("1 are of somebody else"));
    assert!(!check(&scene, "NodesResolvable").holds_up());
}

#[test]
fn another_cluster_name_than_at_first_fails() {
    let mut scene = scene();
    scene.status.cluster_name = Some("first".to_owned());
    assert!(failed(&scene, "ClusterNameMatches").contains("\"first\""));
    scene.status.cluster_name = Some("test".to_owned());
    assert!(!check(&scene, "ClusterNameMatches").holds_up());
}

#[test]
fn another_cluster_name_than_the_previous_managers_fails() {
    let mut scene = scene();
    let arguments = |scene: &mut Scene, told: &[&str]| {
        scene.observed.managers[0].arguments = told.iter().map(|word| (*word).to_owned()).collect();
    };
    arguments(&mut scene, &["--cluster-name=held"]);
    assert!(failed(&scene, "ClusterNameMatches").contains("--cluster-name=held"));
    arguments(&mut scene, &[]);
    assert!(failed(&scene, "ClusterNameMatches").contains("--cluster-name=kubernetes"), "its default");
    arguments(&mut scene, &["--cluster-name=$(CLUSTER_NAME)"]);
    assert!(!check(&scene, "ClusterNameMatches").holds_up(), "nobody can see what it is");
    arguments(&mut scene, &["--cluster-name=test"]);
    assert!(!check(&scene, "ClusterNameMatches").holds_up());
}

#[test]
fn what_was_answered_outside_is_passed_on() {
    let mut scene = scene();
    let no = || Answer::Fail("no".to_owned());
    let facts = &mut scene.observed.preflight;
    (facts.config, facts.load_balancers, facts.duplicates, facts.trust, facts.images, facts.cluster_name) =
        (no(), no(), no(), no(), no(), no());
    for name in [
        "ConfigValid",
        "LoadBalancersAvailable",
        "NoDuplicateLoadBalancers",
        "CertificatesTrusted",
        "ImagesPullable",
        "ClusterNameMatches",
    ] {
        assert_eq!(failed(&scene, name), "no", "{name}");
    }
}

#[test]
fn the_previous_manager_must_use_the_lease_that_ours_takes() {
    let mut scene = scene();
    scene.observed.managers[0].arguments.push("--leader-elect-resource-name=other".to_owned());
    assert!(failed(&scene, "LeaseShared").contains("set leaseNamespace: kube-system and leaseName: other"));
    scene.spec.lease_name = "other".to_owned();
    assert!(!check(&scene, "LeaseShared").holds_up());
    scene.observed.managers[0].arguments.push("--leader-elect=false".to_owned());
    assert!(failed(&scene, "LeaseShared").contains("--leader-elect=false"));
}

#[test]
fn a_plan_that_makes_removes_or_moves_something_is_the_gate_unless_it_is_accepted_by_name() {
    let blocking = [
        WouldDo::Create,
        WouldDo::Delete,
        WouldDo::Readdress,
        WouldDo::Wait,
        WouldDo::Block,
        WouldDo::Unknown,
    ];
    for would in blocking {
        let mut scene = scene();
        scene.report().findings = vec![finding("default/web", would)];
        scene.report().blocking = 1;
        assert!(failed(&scene, "HandOverClean").contains("default/web"), "{would:?}");
        scene.spec.migration.accept = vec!["default/other".to_owned()];
        assert!(check(&scene, "HandOverClean").holds_up());
        scene.spec.migration.accept = vec!["default/web".to_owned()];
        assert!(!check(&scene, "HandOverClean").holds_up());
    }
    for would in [WouldDo::Change, WouldDo::Refuse] {
        let mut scene = scene();
        scene.report().findings = vec![finding("default/web", would)];
        assert!(!check(&scene, "HandOverClean").holds_up(), "{would:?}");
    }
}

#[test]
fn findings_that_do_not_fit_into_the_report_cannot_be_accepted() {
    let mut scene = scene();
    scene.report().blocking = 3;
    assert!(failed(&scene, "HandOverClean").contains("3 Services"));
}

#[test]
fn a_plan_with_gaps_is_no_plan() {
    let mut scene = scene();
    scene.report().cloud_known = false;
    unknown(&scene, "HandOverClean");
}

#[test]
fn a_new_service_of_a_cluster_that_nobody_serves_may_get_its_load_balancer() {
    for (kind, may) in
        [(MigrationKind::Fresh, true), (MigrationKind::None, true), (MigrationKind::OtherManager, false)]
    {
        let mut scene = Scene::at(kind, Phase::Preflight, ManagerMode::Shadow);
        let mut new = Scene::of(MigrationKind::OtherManager).observed.services.remove(0);
        (new.name, new.load_balancer_id) = ("new".to_owned(), None);
        new.ingress.clear();
        scene.observed.services.push(new);
        scene.report().findings = vec![finding("default/new", WouldDo::Create)];
        scene.report().blocking = 1;
        assert_eq!(!check(&scene, "HandOverClean").holds_up(), may, "{kind:?}");
    }
}

#[test]
fn every_check_is_a_condition() {
    let mut scene = scene();
    scene.observed.preflight.trust = Answer::Fail("the issuer is not trusted".to_owned());
    let decision = scene.decide();
    let found =
        decision.conditions.iter().find(|condition| condition.type_ == "CertificatesTrusted").unwrap();
    assert_eq!((found.status.as_str(), found.reason.as_str()), ("False", "Failed"));
    assert_eq!(found.message, "the issuer is not trusted");
    let upgradeable = decision.conditions.iter().find(|condition| condition.type_ == "Upgradeable").unwrap();
    assert_eq!((upgradeable.status.as_str(), upgradeable.reason.as_str()), ("False", "PreflightFailed"));
    assert_eq!(decision.conditions.len(), 13);
}
