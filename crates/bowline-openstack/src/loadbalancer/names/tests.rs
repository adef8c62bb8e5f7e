//! Golden names. Those of cluster `held` are what a real OCCM left in a real cloud.

use super::*;

fn names(cluster: &str, namespace: &str, name: &str, uid: &str) -> Names {
    let service = ServiceView {
        namespace: namespace.into(),
        name: name.into(),
        uid: uid.into(),
        ..ServiceView::default()
    };
    Names::of(cluster, &service)
}

#[test]
fn names_are_those_that_occm_left_in_a_cloud() {
    let names = names("held", "default", "s02-three-ports", "5649d5e6-028e-48dc-9e1a-bacc9bf5993d");
    assert_eq!(names.load_balancer(), "kube_service_held_default_s02-three-ports");
    assert_eq!(names.tag(), "kube_service_held_default_s02-three-ports");
    assert_eq!(names.listener(2), "listener_2_kube_service_held_default_s02-three-ports");
    assert_eq!(names.pool(0), "pool_0_kube_service_held_default_s02-three-ports");
    assert_eq!(names.monitor(1), "monitor_1_kube_service_held_default_s02-three-ports");
    assert_eq!(names.legacy_load_balancer(), "a5649d5e6028e48dc9e1abacc9bf5993");
    assert_eq!(names.security_group(), "lb-sg-5649d5e6-028e-48dc-9e1a-bacc9bf5993d-default-s02-three-ports");
}

#[test]
fn descriptions_are_those_that_occm_left_in_a_cloud() {
    let names = names("held", "default", "s01-basic", "u");
    assert_eq!(
        names.load_balancer_description(),
        "Kubernetes external service default/s01-basic from cluster held"
    );
    assert_eq!(
        names.floating_ip_description(),
        "Floating IP for Kubernetes external service default/s01-basic from cluster held"
    );
    assert!(names.floating_ip_description().starts_with(FLOATING_IP_PREFIX));
    let used = names.used_floating_ip_description();
    assert_eq!(used, "Floating IP used by Kubernetes external service default/s01-basic from cluster held");
    // OCCM deletes what begins like this with its load balancer.
    assert!(!used.starts_with("Floating IP for Kubernetes external service"));
    assert_eq!(
        names.security_group_description(),
        "Security Group for default/s01-basic Service LoadBalancer in cluster held"
    );
}

#[test]
fn lbaas_v2_get_load_balancer_name() {
    assert_eq!(
        names("my-valid-cluster", "ns", "svc", "").load_balancer(),
        "kube_service_my-valid-cluster_ns_svc"
    );
    assert_eq!(names("", "", "", "").load_balancer(), "kube_service___");
    let long = names(&"c".repeat(300), "ns", "svc", "");
    assert_eq!(long.load_balancer(), format!("kube_service_{}", "c".repeat(242)));
    assert_eq!(long.listener(10), format!("listener_10_kube_service_{}", "c".repeat(230)));
}

#[test]
fn get_security_group_name() {
    assert_eq!(names("c", "ns", "svc", "12345").security_group(), "lb-sg-12345-ns-svc");
    assert_eq!(names("", "", "", "").security_group(), "lb-sg---");
    let long = names("c", &"n".repeat(300), "svc", "12345").security_group();
    assert_eq!(long, format!("lb-sg-12345-{}", "n".repeat(243)));
}

#[test]
fn a_listener_is_known_by_every_name_that_kubernetes_ever_gave_it() {
    let names = names("held", "default", "web", "11111111-2222-3333-4444-555555555555");
    for own in [
        "listener_0_kube_service_held_default_web",
        "listener_12_kube_service_held_default_web",
        "listener_kube_service_held_default_web_0",
        "listener_a1111111122223333444455555555555_1",
    ] {
        assert!(names.is_own_listener(own), "{own}");
    }
    for other in [
        "",
        "web",
        "listener_0_kube_service_held_default_other",
        "listener_0_kube_service_other_default_web",
        "listener_kube_service_held_default_web_",
        "listener_kube_service_held_default_web_x",
        "listener_kube_service_held_default_web",
        "listener_a2222222222223333444455555555555_1",
        "pool_0_kube_service_held_default_web",
    ] {
        assert!(!names.is_own_listener(other), "{other}");
    }
}

#[test]
fn a_description_tells_services_apart_whose_names_are_truncated() {
    let cluster = "c".repeat(190);
    let of = |name: &str| names(&cluster, "default", &format!("{}{name}", "n".repeat(50)), "");
    let (one, other) = (of("-one"), of("-other"));
    assert!(one.is_cut() && one.load_balancer() == other.load_balancer());
    assert!(one.describes_own_load_balancer(&one.load_balancer_description()));
    assert!(!one.describes_own_load_balancer(&other.load_balancer_description()));
}

#[test]
fn a_cut_through_a_character_leaves_what_go_sends() {
    // 13 bytes of prefix, 241 of letters: of the three bytes of the sign one is left.
    let names = names(&format!("{}€", "c".repeat(241)), "ns", "svc", "");
    assert_eq!(names.load_balancer(), format!("kube_service_{}\u{fffd}", "c".repeat(241)));
    assert_eq!(
        names.pool(0),
        format!("pool_0_kube_service_{}", "c".repeat(235)),
        "cut again, before the sign"
    );
}

#[test]
fn a_description_is_cut_where_the_cloud_would_refuse_it() {
    let description = names(&"é".repeat(300), "ns", "svc", "").load_balancer_description();
    assert_eq!(description.chars().count(), 255);
    assert!(description.starts_with("Kubernetes external service ns/svc from cluster éé"));
}

#[test]
fn a_member_that_is_made_alone_is_named_by_node_address_and_port() {
    assert_eq!(serial_member("node-1", "10.0.0.7", 31968), "member_node-1_10.0.0.7_31968");
    assert_eq!(serial_member(&"n".repeat(300), "10.0.0.7", 31968).len(), 255);
}

#[test]
fn get_cluster_name() {
    for (name, cluster) in [
        ("kube_service_kubernetes_ns_svc", Some("kubernetes")),
        ("listener_0_kube_service_kubernetes_ns_svc", Some("kubernetes")),
        ("pool_12_kube_service_kubernetes_ns_svc", Some("kubernetes")),
        ("monitor_0_kube_service_my_cluster_ns_svc", Some("my_cluster")),
        ("kube_service_my_cluster_ns_svc", Some("my_cluster")),
        ("kube_service_cluster_namespace-that-was-c", Some("cluster")),
        ("kube_service_cluster", None),
        ("kube_service_", None),
        ("kube_service__ns_svc", Some("_ns")),
        ("listener_x_kube_service_cluster_ns_svc", None),
        ("listener_0_cluster_ns_svc", None),
        ("somebody-elses", None),
    ] {
        assert_eq!(cluster_of(name), cluster, "{name}");
    }
}

#[test]
fn replace_cluster_name() {
    for (name, renamed) in [
        ("kube_service_old_ns_svc", Some("kube_service_new_ns_svc")),
        ("listener_0_kube_service_old_ns_svc", Some("listener_0_kube_service_new_ns_svc")),
        ("kube_service_kube_ns_svc", Some("kube_service_new_ns_svc")),
        ("pool_3_kube_service_service_ns_svc", Some("pool_3_kube_service_new_ns_svc")),
        ("kube_service_ns_ns_ns", Some("kube_service_new_ns_ns")),
        ("old_ns_svc", None),
    ] {
        assert_eq!(in_cluster(name, "new").as_deref(), renamed, "{name}");
    }
    let long = in_cluster("kube_service_old_ns_svc", &"c".repeat(300)).unwrap();
    assert_eq!(long, format!("kube_service_{}", "c".repeat(242)));
}

#[test]
fn the_cluster_of_every_name_we_give_can_be_changed() {
    let (old, new) = (names("old_1", "ns", "svc", ""), names("new", "ns", "svc", ""));
    for (old, new) in [
        (old.load_balancer(), new.load_balancer()),
        (old.listener(11), new.listener(11)),
        (old.pool(0), new.pool(0)),
        (old.monitor(2), new.monitor(2)),
    ] {
        assert_eq!(in_cluster(&old, "new"), Some(new));
    }
}

#[test]
fn a_floating_ip_that_a_service_only_uses_is_not_its_own_and_names_it_to_others() {
    let (web, other) = (names("c", "ns", "web", "u"), names("c", "ns", "other", "v"));
    let used = web.used_floating_ip_description();
    assert!(web.describes_used_floating_ip(&used) && !web.describes_own_floating_ip(&used));
    assert_eq!(web.other_owner(&used), None);
    let owner = FloatingIpOwner { namespace: "ns", name: "web", other_cluster: None };
    assert_eq!(other.other_owner(&used), Some(owner));
    let elsewhere = names("d", "ns", "web", "u");
    assert_eq!(elsewhere.other_owner(&used), Some(FloatingIpOwner { other_cluster: Some("c"), ..owner }));
    let former = elsewhere.with_former_clusters(&["c".to_owned()]);
    assert_eq!(former.other_owner(&used), None);
}
