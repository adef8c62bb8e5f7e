//! What a manager's container may, and how it is known to live.

use k8s_openapi::api::core::v1::{
    Capabilities, HTTPGetAction, PodSecurityContext, Probe, SeccompProfile, SecurityContext,
};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

/// The user of images that have no other: nobody on the host.
const USER: i64 = 65532;

/// The pod's part. Files of Secrets belong to the group, so that the user can read them and others cannot.
pub(super) fn pod() -> PodSecurityContext {
    PodSecurityContext {
        run_as_non_root: Some(true),
        run_as_user: Some(USER),
        run_as_group: Some(USER),
        fs_group: Some(USER),
        seccomp_profile: Some(runtime_default()),
        ..PodSecurityContext::default()
    }
}

/// The container's part.
pub(super) fn container() -> SecurityContext {
    SecurityContext {
        allow_privilege_escalation: Some(false),
        capabilities: Some(Capabilities { drop: Some(vec!["ALL".to_owned()]), add: None }),
        privileged: Some(false),
        read_only_root_filesystem: Some(true),
        run_as_non_root: Some(true),
        seccomp_profile: Some(runtime_default()),
        ..SecurityContext::default()
    }
}

fn runtime_default() -> SeccompProfile {
    SeccompProfile { type_: "RuntimeDefault".to_owned(), localhost_profile: None }
}

/// How a container is known to live, to be ready and to have started.
#[derive(Debug)]
pub(crate) struct Probes {
    pub(crate) liveness: Probe,
    pub(crate) readiness: Probe,
    pub(crate) startup: Probe,
}

/// Probes of a manager that serves on `port`.
pub(crate) fn probes((live, ready): (&str, &str), port: i32) -> Probes {
    Probes {
        liveness: Probe { failure_threshold: Some(6), ..get(live, port) },
        readiness: Probe { failure_threshold: Some(3), ..get(ready, port) },
        // Five minutes: a cloud that is slow to answer must not make the kubelet restart who waits for it.
        startup: Probe { failure_threshold: Some(60), period_seconds: Some(5), ..get(live, port) },
    }
}

/// Asked on the loopback: until the manager has given the node its addresses, a pod on the host's network may have none.
fn get(path: &str, port: i32) -> Probe {
    Probe {
        http_get: Some(HTTPGetAction {
            host: Some("127.0.0.1".to_owned()),
            path: Some(path.to_owned()),
            port: IntOrString::Int(port),
            scheme: Some("HTTPS".to_owned()),
            ..HTTPGetAction::default()
        }),
        period_seconds: Some(10),
        timeout_seconds: Some(5),
        ..Probe::default()
    }
}
