//! Leader migration as its users meet it: files, names, and where each controller runs.

use Component::{CloudControllerManager as Ccm, KubeControllerManager as Kcm};
use Placement::{NotOurs, UnderMainLock, UnderMigrationLock};

use super::*;

fn v1(rest: &str) -> String {
    format!("apiVersion: controllermanager.config.k8s.io/v1\nkind: LeaderMigrationConfiguration\n{rest}")
}

fn entries(entries: &[(&str, &str)]) -> LeaderMigration {
    let lines =
        entries.iter().map(|(name, component)| format!("- {{name: {name}, component: \"{component}\"}}\n"));
    let text = v1(&format!("leaderName: moving\ncontrollerLeaders:\n{}", lines.collect::<String>()));
    LeaderMigration::from_text(&text).unwrap()
}

fn refused(text: &str) -> String {
    LeaderMigration::from_text(text).unwrap_err().to_string()
}

fn assert_says(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "{part:?} is missing in: {message}");
    }
}

#[test]
fn each_manager_runs_what_the_configuration_gives_it() {
    let rows = [
        ("from KCM, seen by KCM", "kube-controller-manager", Kcm, UnderMigrationLock),
        ("from KCM, seen by CCM", "kube-controller-manager", Ccm, NotOurs),
        ("to CCM, seen by KCM", "cloud-controller-manager", Kcm, NotOurs),
        ("to CCM, seen by CCM", "cloud-controller-manager", Ccm, UnderMigrationLock),
        ("either, seen by KCM", "*", Kcm, UnderMigrationLock),
        ("either, seen by CCM", "*", Ccm, UnderMigrationLock),
    ];
    for (case, owner, component, expected) in rows {
        let migration = entries(&[("service-lb-controller", owner), ("node-route-controller", owner)]);
        assert_eq!(migration.placement(component, "service-lb-controller"), expected, "{case}");
        assert_eq!(migration.placement(component, "node-route-controller"), expected, "{case}");
        assert_eq!(migration.placement(component, "cloud-node-controller"), UnderMainLock, "{case}");
        assert_eq!(migration.placement(component, "deployment-controller"), UnderMainLock, "{case}");
    }
}

#[test]
fn the_built_in_configuration_moves_service_route_and_lifecycle_and_nothing_else() {
    let migration = LeaderMigration::built_in();
    assert_eq!(migration.lease_name(), "cloud-provider-extraction-migration");
    for component in [Kcm, Ccm] {
        for moving in ["service-lb-controller", "node-route-controller", "cloud-node-lifecycle-controller"] {
            assert_eq!(migration.placement(component, moving), UnderMigrationLock, "{moving}");
        }
        for staying in ["cloud-node-controller", "node-ipam-controller"] {
            assert_eq!(migration.placement(component, staying), UnderMainLock, "{staying}");
        }
    }
    assert_eq!(migration.warnings(), []);
}

#[test]
fn the_migration_lease_must_not_be_the_main_one() {
    let migration = entries(&[]);
    assert_eq!(migration.check_lease_name("cloud-controller-manager"), Ok(()));
    let message = migration.check_lease_name("moving").unwrap_err().to_string();
    assert_says(&message, &["leaderName", "\"moving\"", "--leader-elect-resource-name"]);
    let built_in = LeaderMigration::built_in();
    assert_eq!(built_in.check_lease_name("moving"), Ok(()));
    assert!(built_in.check_lease_name("cloud-provider-extraction-migration").is_err());
}

#[test]
fn what_is_listed_can_be_shown_by_canonical_name_and_component() {
    let migration = entries(&[
        ("service", "*"),
        ("route", "cloud-controller-manager"),
        ("theirs", "kube-controller-manager"),
    ]);
    let shown: Vec<_> = migration.controller_leaders().collect();
    let wanted = [
        ("node-route-controller", "cloud-controller-manager"),
        ("service-lb-controller", "*"),
        ("theirs", "kube-controller-manager"),
    ];
    assert_eq!(shown, wanted);
}

#[test]
fn all_spellings_of_a_name_are_one_controller() {
    let same: [&[&str]; 5] = [
        &["service", "service-controller", "service-lb-controller"],
        &["route", "route-controller", "node-route-controller"],
        &["cloud-node-lifecycle", "cloud-node-lifecycle-controller"],
        &["nodeipam", "node-ipam-controller"],
        &["cloud-node", "cloud-node-controller"],
    ];
    for spellings in same {
        for written in spellings {
            let migration = entries(&[(written, "kube-controller-manager")]);
            assert_eq!(migration.warnings(), [], "{written}");
            for asked in spellings {
                assert_eq!(migration.placement(Ccm, asked), NotOurs, "written {written}, asked {asked}");
            }
            let others = same.iter().filter(|other| **other != spellings).copied().flatten();
            for other in others {
                assert_eq!(
                    migration.placement(Ccm, other),
                    UnderMainLock,
                    "written {written}, asked {other}"
                );
            }
        }
    }
}

#[test]
fn the_name_of_a_client_that_several_controllers_share_stands_for_none_of_them() {
    let migration = entries(&[("node-controller", "kube-controller-manager")]);
    assert_eq!(migration.warnings().len(), 1);
    for staying in ["cloud-node-controller", "cloud-node-lifecycle-controller", "node-ipam-controller"] {
        assert_eq!(migration.placement(Ccm, staying), UnderMainLock, "{staying}");
    }
}

#[test]
fn two_spellings_that_agree_serve_managers_of_two_versions() {
    let migration = entries(&[("service", "*"), ("service-lb-controller", "*")]);
    assert_eq!(migration.placement(Ccm, "service-lb-controller"), UnderMigrationLock);
}

#[test]
fn two_entries_for_one_controller_that_disagree_are_refused() {
    let text = v1("leaderName: moving\ncontrollerLeaders:\n\
                   - {name: service, component: kube-controller-manager}\n\
                   - {name: service-lb-controller, component: cloud-controller-manager}\n");
    let parts = ["controllerLeaders[1].component", "service-lb-controller", "kube-controller-manager"];
    assert_says(&refused(&text), &parts);
}

#[test]
fn an_entry_for_an_unknown_controller_is_kept_and_warned_about() {
    let migration = entries(&[("servise", "kube-controller-manager"), ("route", "*")]);
    assert_eq!(migration.placement(Ccm, "servise"), NotOurs);
    let [warning] = migration.warnings() else { panic!("{:?}", migration.warnings()) };
    assert_says(&warning.to_string(), &["\"servise\"", "service-lb-controller"]);
}

#[test]
fn a_controller_only_this_manager_has_is_known_by_its_alias_too() {
    let extra = [ControllerName::new(
        "volume-label-controller",
        "volume-label",
        "volume-label-controller",
        "volume-label-controller",
    )];
    let text = v1("leaderName: moving\ncontrollerLeaders:\n\
                   - {name: volume-label, component: kube-controller-manager}\n");
    let migration = LeaderMigration::from_text_knowing(&text, &extra).unwrap();
    assert_eq!(migration.warnings(), []);
    assert_eq!(migration.placement(Ccm, "volume-label-controller"), NotOurs);
}

#[test]
fn an_extra_controller_cannot_take_a_name_from_a_common_one() {
    let extra = [ControllerName::new(
        "mesh-service-controller",
        "service",
        "mesh-service-controller",
        "mesh-service-controller",
    )];
    let text =
        v1("leaderName: moving\ncontrollerLeaders:\n- {name: service, component: kube-controller-manager}\n");
    let migration = LeaderMigration::from_text_knowing(&text, &extra).unwrap();
    assert_eq!(migration.placement(Ccm, "service-lb-controller"), NotOurs);
    assert_eq!(migration.placement(Ccm, "mesh-service-controller"), UnderMainLock);
}

#[test]
fn a_minimal_file_moves_nothing() {
    for rest in ["leaderName: moving\n", "leaderName: moving\ncontrollerLeaders: []\n"] {
        let migration = LeaderMigration::from_text(&v1(rest)).unwrap();
        assert_eq!(migration.lease_name(), "moving");
        assert_eq!(migration.placement(Ccm, "service-lb-controller"), UnderMainLock);
    }
}

#[test]
fn json_is_read_like_yaml() {
    let text = "{\n\t\"apiVersion\": \"controllermanager.config.k8s.io/v1\",\n\
                \t\"kind\": \"LeaderMigrationConfiguration\",\n\t\"leaderName\": \"moving\",\n\
                \t\"controllerLeaders\": [\n\t\t{\"name\": \"route\", \"component\": \"*\"}\n\t]\n}\n";
    let migration = LeaderMigration::from_text(text).unwrap();
    assert_eq!(migration.lease_name(), "moving");
    assert_eq!(migration.placement(Ccm, "node-route-controller"), UnderMigrationLock);
}

#[test]
fn older_versions_may_say_that_the_lock_is_a_lease() {
    for version in ["v1beta1", "v1alpha1"] {
        let older = |rest: &str| v1(rest).replace("/v1\n", &format!("/{version}\n"));
        for lock in ["", "resourceLock: leases\n"] {
            let text = older(&format!("leaderName: moving\n{lock}"));
            assert_eq!(LeaderMigration::from_text(&text).unwrap().lease_name(), "moving");
        }
        let endpoints = refused(&older("leaderName: moving\nresourceLock: endpoints\n"));
        assert_says(&endpoints, &["resourceLock", "\"endpoints\"", "leases", "no locks on Endpoints"]);
        let other = refused(&older("leaderName: moving\nresourceLock: configmaps\n"));
        assert_says(&other, &["resourceLock", "\"configmaps\"", "wanted leases"]);
    }
}

#[test]
fn keys_that_do_not_belong_are_refused_with_those_that_do() {
    let lock_in_v1 = refused(&v1("leaderName: moving\nresourceLock: leases\n"));
    assert_says(&lock_in_v1, &["line 4", "\"resourceLock\"", "leaderName, controllerLeaders"]);
    let case = refused(&v1("leadername: moving\n"));
    assert_says(&case, &["\"leadername\"", "leaderName"]);
    let in_entry =
        refused(&v1("leaderName: moving\ncontrollerLeaders:\n- {name: a, component: '*', lock: b}\n"));
    assert_says(&in_entry, &["line 5", "\"lock\"", "name, component"]);
}

#[test]
fn a_key_given_twice_is_refused() {
    let twice = [
        (v1("leaderName: moving\nleaderName: moving\n"), "\"leaderName\""),
        (v1("leaderName: moving\nkind: LeaderMigrationConfiguration\n"), "\"kind\""),
        (v1("leaderName: m\ncontrollerLeaders:\n- {name: a, name: b, component: '*'}\n"), "\"name\""),
        (
            "{\"kind\": \"LeaderMigrationConfiguration\", \"kind\": \"LeaderMigrationConfiguration\"}".into(),
            "\"kind\"",
        ),
    ];
    for (text, key) in twice {
        assert_says(&refused(&text), &[key, "twice"]);
    }
}

#[test]
fn a_wrong_kind_and_a_wrong_version_are_both_reported() {
    let message = refused("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n");
    let accepted =
        ["controllermanager.config.k8s.io/v1,", "/v1beta1 or", "/v1alpha1", "LeaderMigrationConfiguration"];
    assert_says(&message, &accepted);
    assert_says(
        &message,
        &["apiVersion", "\"kubelet.config.k8s.io/v1beta1\"", "kind", "\"KubeletConfiguration\""],
    );
    let nothing = refused("{}");
    assert_says(&nothing, &["apiVersion: missing", "kind: missing"]);
}

#[test]
fn what_is_no_object_is_refused() {
    for text in [
        "",
        "# nothing\n",
        "null",
        "- a\n- b\n",
        "just words",
        "a: [",
        &format!("{0}---\n{0}", v1("leaderName: a\n")),
    ] {
        let message = refused(text);
        assert!(!message.contains('\n'), "{message:?}");
    }
}

#[test]
fn numbers_and_booleans_are_no_names() {
    for value in ["7", "true"] {
        refused(&v1(&format!("leaderName: {value}\n")));
        assert_eq!(
            LeaderMigration::from_text(&v1(&format!("leaderName: '{value}'\n"))).unwrap().lease_name(),
            value
        );
    }
}

#[test]
fn all_problems_of_a_file_are_reported_together() {
    let text = v1("leaderName: ''\ncontrollerLeaders:\n\
                   - component: '*'\n\
                   - name: service\n\
                   - {name: route, component: cloud-controler-manager}\n\
                   - {name: cloud-node-lifecycle, component: '*'}\n");
    let Err(MigrationError::Invalid(problems)) = LeaderMigration::from_text(&text) else {
        panic!("accepted")
    };
    let keys: Vec<_> = problems.iter().map(|problem| problem.key.as_str()).collect();
    let wrong = ["leaderName", "controllerLeaders[0].name", "controllerLeaders[1].component"];
    assert_eq!(keys, [wrong.as_slice(), &["controllerLeaders[2].component"]].concat());
    let parts = ["\"cloud-controler-manager\"", "kube-controller-manager, cloud-controller-manager or *"];
    assert_says(&refused(&text), &parts);
}
