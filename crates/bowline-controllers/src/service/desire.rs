//! What a Service wants of us, and whether a change of it matters. Pure; the rules are upstream's, to the letter.

use bowline_cloud::{PAUSED, Purpose, ServiceType, ServiceView, pause_said};

pub use bowline_cloud::service::FINALIZER;

/// Whether it wants a load balancer of this controller; one with a class is somebody else's.
#[must_use]
pub fn wants(service: &ServiceView) -> bool {
    service.kind == ServiceType::LoadBalancer && service.load_balancer_class.is_none()
}

/// Whether it carries our finalizer.
#[must_use]
pub fn has_finalizer(service: &ServiceView) -> bool {
    service.finalizers.contains(FINALIZER)
}

/// Whether it has, or says that it has, a load balancer that it shall no longer have.
#[must_use]
pub fn needs_cleanup(service: &ServiceView) -> bool {
    let of_another_type = service.kind != ServiceType::LoadBalancer;
    has_finalizer(service) && (service.deleted_at.is_some() || of_another_type)
        || of_another_type && service.condition.is_some()
}

/// Whether it is worth keeping in memory: all others are none of our business.
#[must_use]
pub fn concerns_us(service: &ServiceView) -> bool {
    service.kind == ServiceType::LoadBalancer || needs_cleanup(service)
}

/// Why nothing may be written for it, says its owner (SR-15).
#[must_use]
pub fn pause_of(service: &ServiceView) -> Option<&str> {
    pause_said(service.annotations.get(PAUSED))
}

/// Whether nothing may be written for it.
#[must_use]
pub fn is_paused(service: &ServiceView) -> bool {
    pause_of(service).is_some()
}

/// What is to be done for a Service; `None` if it is not ours. `known` says whether this process worked for it before: then
/// something may be in the cloud although no finalizer says so.
#[must_use]
pub fn purpose(service: &ServiceView, known: bool) -> Option<Purpose> {
    if wants(service) && service.deleted_at.is_none() {
        return Some(Purpose::Ensure);
    }
    (needs_cleanup(service) || known).then_some(Purpose::Remove)
}

/// Whether `new` asks for something else than `old`.
#[must_use]
pub fn needs_update(old: &ServiceView, new: &ServiceView) -> bool {
    if !wants(old) && !wants(new) {
        return false;
    }
    wants(old) != wants(new)
        || old.source_ranges != new.source_ranges
        || old.ports != new.ports
        || old.session_affinity != new.session_affinity
        || old.session_affinity_timeout_seconds != new.session_affinity_timeout_seconds
        || old.load_balancer_ip != new.load_balancer_ip
        || old.external_ips != new.external_ips
        || old.annotations != new.annotations
        || old.uid != new.uid
        || old.external_traffic_policy != new.external_traffic_policy
        || old.health_check_node_port != new.health_check_node_port
        // Their number alone, as upstream: the content cannot change while the number stays.
        || old.ip_families.len() != new.ip_families.len()
}

#[cfg(test)]
mod tests {
    use bowline_cloud::{ConditionStatus, PAUSED, ServiceCondition, ServicePort};

    use super::*;

    fn service(change: impl FnOnce(&mut ServiceView)) -> ServiceView {
        let port = ServicePort {
            protocol: "TCP".into(),
            port: 80,
            target_port: Some("8080".into()),
            ..ServicePort::default()
        };
        let mut service = ServiceView {
            namespace: "shop".into(),
            name: "web".into(),
            uid: "u-1".into(),
            kind: "LoadBalancer".into(),
            ports: vec![port],
            ip_families: vec!["IPv4".into()],
            ..ServiceView::default()
        };
        change(&mut service);
        service
    }

    type Edit = fn(&mut ServiceView);

    fn said() -> Box<ServiceCondition> {
        let (status, reason, message) = (ConditionStatus::False, "Why".into(), "because".into());
        Box::new(ServiceCondition { status, reason, message })
    }

    #[test]
    fn needs_update_is_true_for_every_field_that_a_load_balancer_is_made_from() {
        let cases: [(&str, Edit); 22] = [
            ("LoadBalancer to ClusterIP", |s| s.kind = "ClusterIP".into()),
            ("a class", |s| s.load_balancer_class = Some("other".into())),
            ("source ranges", |s| s.source_ranges = ["192.0.2.0/24".into()].into()),
            ("one port more", |s| s.ports.push(ServicePort::default())),
            ("port name", |s| s.ports[0].name = Some("http".into())),
            ("port protocol", |s| s.ports[0].protocol = "UDP".into()),
            ("port number", |s| s.ports[0].port = 81),
            ("node port", |s| s.ports[0].node_port = Some(30080)),
            ("target port number", |s| s.ports[0].target_port = Some("8081".into())),
            ("target port number to name", |s| s.ports[0].target_port = Some("http".into())),
            ("appProtocol set", |s| s.ports[0].app_protocol = Some("http".into())),
            ("session affinity", |s| s.session_affinity = Some("ClientIP".into())),
            ("session affinity config", |s| s.session_affinity_timeout_seconds = Some(60)),
            ("loadBalancerIP", |s| s.load_balancer_ip = Some("192.0.2.1".into())),
            ("number of external IPs", |s| s.external_ips = ["192.0.2.1".into()].into()),
            ("annotations", |s| s.annotations.insert("any".into(), "thing".into())),
            ("UID", |s| s.uid = "u-2".into()),
            ("traffic policy", |s| s.external_traffic_policy = Some("Local".into())),
            ("health check node port", |s| s.health_check_node_port = Some(31000)),
            ("one IP family to two", |s| s.ip_families.push("IPv6".into())),
            ("one IP family to none", |s| s.ip_families.clear()),
            ("the pause", |s| s.annotations.insert(PAUSED.into(), "true".into())),
        ];
        let old = service(|_| {});
        for (name, edit) in cases {
            assert!(needs_update(&old, &service(edit)), "{name}");
            assert!(needs_update(&service(edit), &old), "{name}, backwards");
        }
        let ips = |ip: &str| service(|s| s.external_ips = [ip.into()].into());
        assert!(needs_update(&ips("192.0.2.1"), &ips("192.0.2.2")), "external IPs");
        let spoken = |protocol: &str| service(|s| s.ports[0].app_protocol = Some(protocol.into()));
        assert!(needs_update(&spoken("http"), &spoken("https")), "appProtocol changed");
    }

    #[test]
    fn needs_update_is_false_for_everything_else() {
        let cases: [(&str, Edit); 8] = [
            ("identical", |_| {}),
            ("families of the same number", |s| s.ip_families = vec!["IPv6".into()]),
            ("labels", |s| s.labels.insert("a".into(), "b".into())),
            ("family policy", |s| s.ip_family_policy = Some("SingleStack".into())),
            ("allocateLoadBalancerNodePorts", |s| s.allocate_node_ports = Some(false)),
            ("finalizers", |s| s.finalizers = [FINALIZER].into()),
            ("our own condition", |s| s.condition = Some(said())),
            ("deletion", |s| s.deleted_at = Some(k8s_openapi::jiff::Timestamp::UNIX_EPOCH)),
        ];
        let old = service(|_| {});
        for (name, edit) in cases {
            assert!(!needs_update(&old, &service(edit)), "{name}");
        }
        let plain = service(|s| s.kind = "ClusterIP".into());
        let other = service(|s| (s.kind, s.uid) = ("NodePort".into(), "u-9".into()));
        assert!(!needs_update(&plain, &other), "neither wants a load balancer");
    }

    #[test]
    fn needs_cleanup_as_upstream() {
        let finalizer: Edit = |s| s.finalizers = [FINALIZER].into();
        let deleted: Edit = |s| s.deleted_at = Some(k8s_openapi::jiff::Timestamp::UNIX_EPOCH);
        assert!(!needs_cleanup(&service(|s| s.kind = "NodePort".into())), "no finalizer");
        assert!(needs_cleanup(&service(|s| {
            finalizer(s);
            s.kind = "NodePort".into();
        })));
        assert!(!needs_cleanup(&service(finalizer)), "it is wanted");
        assert!(needs_cleanup(&service(|s| {
            finalizer(s);
            deleted(s);
        })));
    }

    #[test]
    fn what_was_said_of_a_load_balancer_goes_when_the_type_changes_and_no_finalizer_is_there() {
        let told = |kind: &str| {
            service(|s| {
                s.kind = kind.into();
                s.condition = Some(said());
            })
        };
        assert_eq!(purpose(&told("ClusterIP"), false), Some(Purpose::Remove));
        assert_eq!(purpose(&told("LoadBalancer"), false), Some(Purpose::Ensure));
        assert!(concerns_us(&told("ClusterIP")) && !concerns_us(&service(|s| s.kind = "ClusterIP".into())));
    }

    #[test]
    fn a_service_with_a_class_is_not_ours_even_with_our_finalizer() {
        let classed = service(|s| {
            s.load_balancer_class = Some("other".into());
            s.finalizers = [FINALIZER].into();
        });
        assert_eq!(purpose(&classed, false), None);
    }

    #[test]
    fn what_is_being_deleted_is_never_ensured() {
        let deleted = service(|s| s.deleted_at = Some(k8s_openapi::jiff::Timestamp::UNIX_EPOCH));
        assert_eq!(purpose(&deleted, false), None, "somebody else's finalizer holds it");
        assert_eq!(purpose(&deleted, true), Some(Purpose::Remove));
        assert_eq!(purpose(&service(|_| {}), false), Some(Purpose::Ensure));
    }
}
