//! Clusters for tests: one of each kind, in which all is well, to be changed by the test in the one thing that it is about.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::json;

use super::super::{
    Answer, Case, ClusterFacts, Decision, LeaseFacts, ManagerMode, ManagerWorkload, MirrorPod, NodeFacts,
    Observed, OurWorkload, PodFacts, PreflightFacts, Readiness, ServiceFacts, ShadowFacts, Timings,
    WorkloadKind, WorkloadRef, decide,
};
use crate::api::{
    CloudControllerManagerSpec, CloudControllerManagerStatus, MigrationKind, MigrationStatus, Phase,
};
use crate::flags::Component;
use crate::rollout::Rollout;

/// A case that owns what it is made of.
#[derive(Debug, Clone)]
pub(super) struct Scene {
    pub(super) spec: CloudControllerManagerSpec,
    pub(super) status: CloudControllerManagerStatus,
    pub(super) observed: Observed,
    pub(super) now: Timestamp,
    pub(super) timings: Timings,
}

pub(super) fn now() -> Timestamp {
    "2030-01-01T00:00:00Z".parse().unwrap()
}

pub(super) fn ago(seconds: i64) -> Timestamp {
    Timestamp::from_second(now().as_second() - seconds).unwrap()
}

impl Scene {
    /// A cluster of three control-plane nodes and one worker, with one Service.
    pub(super) fn of(kind: MigrationKind) -> Self {
        let spec = json!({ "platform": "OpenStack", "clusterName": "test" });
        let minor = if kind == MigrationKind::InTree { 25 } else { 34 };
        let observed = Observed {
            cluster: ClusterFacts { minor, kubeadm_config: true, openshift: false },
            nodes: ["a", "b", "c", "w"].map(|name| node(kind, name)).into(),
            services: service(kind),
            control_plane: ["a", "b", "c"].map(|node| controller_manager(node, provider(kind))).into(),
            managers: if kind == MigrationKind::OtherManager { vec![occm()] } else { Vec::new() },
            ours: (kind == MigrationKind::Upgrade).then(|| ours(ManagerMode::Full)),
            preflight: PreflightFacts {
                config: Answer::Pass("read".to_owned()),
                ..PreflightFacts::default()
            },
            wanted_version: "1".to_owned(),
            ..Observed::default()
        };
        Self {
            spec: serde_json::from_value(spec).unwrap(),
            status: CloudControllerManagerStatus::default(),
            observed,
            now: now(),
            timings: Timings::default(),
        }
    }

    /// The same in a phase since a minute ago, with our manager in a mode and leading if it can.
    pub(super) fn at(kind: MigrationKind, phase: Phase, mode: ManagerMode) -> Self {
        let mut scene = Self::of(kind);
        scene.status.migration = Some(MigrationStatus {
            phase,
            kind: Some(kind),
            since: Some(ago(60)),
            ..MigrationStatus::default()
        });
        scene.run_ours(mode);
        scene
    }

    /// The previous writer has stopped.
    pub(super) fn relinquished(kind: MigrationKind, phase: Phase, mode: ManagerMode) -> Self {
        let mut scene = Self::at(kind, phase, mode);
        for manager in &mut scene.observed.managers {
            (manager.desired, manager.previous_replicas) = (0, Some(2));
            manager.pods.clear();
        }
        for pod in &mut scene.observed.control_plane {
            pod.arguments = vec!["--cloud-provider=external".to_owned()];
        }
        for node in scene.observed.nodes.iter_mut().filter(|node| node.node_args.is_some()) {
            node.node_args = Some(vec!["server".to_owned(), "--disable-cloud-controller".to_owned()]);
        }
        scene
    }

    pub(super) fn run_ours(&mut self, mode: ManagerMode) {
        self.observed.ours = (mode != ManagerMode::Absent).then(|| ours(mode));
        if mode.takes_lease() {
            self.observed.leases = vec![lease("w_1")];
        }
        self.observed.shadow = Some(report(
            if mode.acts() { ManagerMode::ServiceOnly } else { ManagerMode::Shadow },
            self.observed.services.len(),
        ));
    }

    pub(super) fn case(&self) -> Case<'_> {
        Case {
            name: "test",
            spec: &self.spec,
            status: &self.status,
            observed: &self.observed,
            now: self.now,
            timings: &self.timings,
        }
    }

    pub(super) fn decide(&self) -> Decision {
        decide(&self.case())
    }

    /// The phase that comes next, and why.
    pub(super) fn next(&self) -> (Phase, String) {
        let decision = self.decide();
        assert_eq!(decision.violations, Vec::new());
        (decision.status.phase, decision.message)
    }

    /// Why it is blocked, and what is told.
    pub(super) fn blocked(&self) -> (String, String) {
        let decision = self.decide();
        assert_eq!(decision.status.phase, Phase::Blocked, "{}", decision.message);
        (decision.status.blocked.unwrap_or_default(), decision.message)
    }

    pub(super) fn migration(&mut self) -> &mut MigrationStatus {
        self.status.migration.get_or_insert_default()
    }

    pub(super) fn report(&mut self) -> &mut ShadowFacts {
        self.observed.shadow.as_mut().unwrap()
    }

    pub(super) fn long_ago(mut self) -> Self {
        self.migration().since = Some(ago(3600));
        self
    }
}

fn provider(kind: MigrationKind) -> &'static str {
    if kind == MigrationKind::InTree { "openstack" } else { "external" }
}

pub(super) fn node(kind: MigrationKind, name: &str) -> NodeFacts {
    let (id, uninitialized) = match kind {
        MigrationKind::Fresh => (None, true),
        MigrationKind::None => (None, false),
        MigrationKind::Embedded => (Some(format!("k3s://{name}")), false),
        _ => (Some(format!("openstack:///{name}")), false),
    };
    let by_kubelet = matches!(kind, MigrationKind::None | MigrationKind::InTree);
    NodeFacts {
        name: name.to_owned(),
        uid: format!("uid-{name}"),
        provider_id: id,
        uninitialized,
        addresses_writer: Some(if by_kubelet { "kubelet" } else { "cloud-controller-manager" }.to_owned()),
        addresses: vec![format!("InternalIP=10.0.0.{}", name.len())],
        addresses_unchanged_for: Duration::from_secs(3600),
        readiness: Readiness::Ready,
        control_plane: name != "w",
        kubelet_version: if kind == MigrationKind::Embedded { "v1.34.1+k3s1" } else { "v1.34.1" }.to_owned(),
        node_args: (kind == MigrationKind::Embedded).then(|| vec!["server".to_owned()]),
        ..NodeFacts::default()
    }
}

fn service(kind: MigrationKind) -> Vec<ServiceFacts> {
    if !matches!(kind, MigrationKind::InTree | MigrationKind::OtherManager | MigrationKind::Upgrade) {
        return Vec::new();
    }
    let id = (kind != MigrationKind::InTree).then(|| "lb-1".to_owned());
    vec![ServiceFacts {
        namespace: "default".to_owned(),
        name: "web".to_owned(),
        uid: "web-1".to_owned(),
        ingress: vec!["203.0.113.1".to_owned()],
        load_balancer_id: id,
        has_finalizer: true,
        ..ServiceFacts::default()
    }]
}

pub(super) fn controller_manager(node: &str, provider: &str) -> MirrorPod {
    MirrorPod {
        component: Component::ControllerManager,
        name: format!("kube-controller-manager-{node}"),
        node: node.to_owned(),
        arguments: vec!["kube-controller-manager".to_owned(), format!("--cloud-provider={provider}")],
        started_at: Some(ago(100)),
        ready: true,
    }
}

pub(super) fn pod(name: &str, node: &str, mode: Option<ManagerMode>) -> PodFacts {
    PodFacts {
        name: name.to_owned(),
        uid: name.to_owned(),
        node: Some(node.to_owned()),
        phase: "Running".to_owned(),
        ready: true,
        mode,
        config: mode.map(|_| "config-1".to_owned()),
        ..PodFacts::default()
    }
}

pub(super) fn occm() -> ManagerWorkload {
    ManagerWorkload {
        workload: workload("openstack-cloud-controller-manager"),
        product: "openstack-cloud-controller-manager v1.34.0".to_owned(),
        desired: 2,
        previous_replicas: None,
        pods: vec![pod("occm-1", "a", None), pod("occm-2", "b", None)],
        arguments: vec![
            "/bin/openstack-cloud-controller-manager".to_owned(),
            "--cluster-name=test".to_owned(),
        ],
    }
}

pub(super) fn workload(name: &str) -> WorkloadRef {
    WorkloadRef {
        kind: WorkloadKind::Deployment,
        namespace: "kube-system".to_owned(),
        name: name.to_owned(),
        uid: format!("uid-{name}"),
    }
}

pub(super) fn ours(mode: ManagerMode) -> OurWorkload {
    OurWorkload {
        workload: workload("bowline"),
        mode: Some(mode),
        desired: 1,
        rollout: Rollout::Complete,
        pods: vec![pod("bowline-1", "w", Some(mode))],
        version: "1".to_owned(),
        kind: None,
    }
}

pub(super) fn lease(holder: &str) -> LeaseFacts {
    LeaseFacts {
        namespace: "kube-system".to_owned(),
        name: "cloud-controller-manager".to_owned(),
        holder: Some(holder.to_owned()),
        duration: Duration::from_secs(15),
        renewed_at: None,
        unchanged_for: Duration::from_secs(1),
        seen_renewed: true,
    }
}

pub(super) fn report(mode: ManagerMode, services: usize) -> ShadowFacts {
    ShadowFacts {
        observed_at: ago(10),
        started_at: ago(100),
        mode: Some(mode),
        leader: mode.acts(),
        holder: "w_1".to_owned(),
        cluster_name: "test".to_owned(),
        services,
        settled: services,
        cloud_known: true,
        nodes_present: 4,
        ..ShadowFacts::default()
    }
}
