//! What the operator sees of the world, and what our manager reports.

use std::time::Duration;

use jiff::Timestamp;

use super::election::{DURATION, Record};
use super::world::{Node, Pod, World, node_name, service_key};
use crate::api::MigrationKind;
use crate::flags::Component;
use crate::migration::{
    Answer, ClusterFacts, LeaseFacts, ManagerMode, ManagerWorkload, MirrorPod, NodeFacts, Observed,
    OurWorkload, PodFacts, PreflightFacts, Readiness, ServiceFacts, ShadowFacts, ShadowFinding, WorkloadKind,
    WorkloadRef, WouldDo,
};
use crate::rollout::Rollout;

pub(super) fn at(second: u64) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + i64::try_from(second).unwrap()).unwrap()
}

impl World {
    pub(super) fn observe(&mut self) -> Observed {
        let leases = self.leases();
        Observed {
            cluster: ClusterFacts {
                minor: if self.kind == MigrationKind::InTree { 25 } else { 34 },
                kubeadm_config: true,
                openshift: false,
            },
            nodes: (0..self.nodes.len()).map(|index| self.node_facts(index)).collect(),
            services: (0..self.services.len()).map(|index| self.service_facts(index)).collect(),
            control_plane: self.mirror_pods(),
            leases,
            managers: self.managers(),
            ours: self.our_workload(),
            shadow: self.report.clone(),
            preflight: PreflightFacts {
                config: Answer::Pass("read".to_owned()),
                ..PreflightFacts::default()
            },
            wanted_version: "1".to_owned(),
            ..Observed::default()
        }
    }

    fn leases(&mut self) -> Vec<LeaseFacts> {
        let names = ["cloud-controller-manager", "k3s-cloud-controller-manager"];
        let records = [self.lease.clone(), self.inside_lease.clone()];
        let mut found = Vec::new();
        for ((name, record), watched) in names.into_iter().zip(records).zip(&mut self.watched) {
            if watched.0 != record {
                let is_first = watched.0 == Record::default();
                *watched = (record.clone(), self.now, !is_first);
            }
            if record == Record::default() {
                continue;
            }
            found.push(LeaseFacts {
                namespace: "kube-system".to_owned(),
                name: name.to_owned(),
                holder: record.holder,
                duration: Duration::from_secs(DURATION),
                renewed_at: None,
                unchanged_for: Duration::from_secs(self.now - watched.1),
                seen_renewed: watched.2,
            });
        }
        found
    }

    fn node_facts(&self, index: usize) -> NodeFacts {
        let node = &self.nodes[index];
        let is_k3s = self.kind == MigrationKind::Embedded;
        let node_args =
            if node.inside { vec!["server"] } else { vec!["server", "--disable-cloud-controller"] };
        NodeFacts {
            name: node_name(index),
            uid: format!("uid-{index}"),
            provider_id: node.provider_id.clone(),
            uninitialized: node.uninitialized,
            tainted_at: node.tainted_at.map(at),
            addresses: vec![format!("InternalIP=10.0.0.{index}")],
            addresses_writer: Some(writer_of_addresses(node)),
            addresses_unchanged_for: Duration::from_secs(self.now - node.addresses_since),
            readiness: if self.reaches(index) { Readiness::Ready } else { Readiness::Unknown },
            control_plane: node.control_plane,
            kubelet_version: if is_k3s { "v1.34.1+k3s1" } else { "v1.34.1" }.to_owned(),
            node_args: (is_k3s && node.started_at <= self.now)
                .then(|| node_args.into_iter().map(ToOwned::to_owned).collect()),
            ..NodeFacts::default()
        }
    }

    fn service_facts(&self, index: usize) -> ServiceFacts {
        let service = &self.services[index];
        ServiceFacts {
            namespace: "default".to_owned(),
            name: service_key(index).replace("default/", ""),
            uid: format!("service-{index}"),
            ingress: if service.has_address { vec![format!("203.0.113.{index}")] } else { Vec::new() },
            load_balancer_id: service.has_id.then(|| format!("lb-{index}")),
            ..ServiceFacts::default()
        }
    }

    fn mirror_pods(&self) -> Vec<MirrorPod> {
        if self.kind == MigrationKind::Embedded {
            return Vec::new();
        }
        let nodes = self.nodes.iter().enumerate().filter(|(_, node)| node.control_plane);
        let pod = |(index, node): (usize, &Node)| {
            let runs = node.started_at <= self.now;
            let provider = if node.inside { "openstack" } else { "external" };
            MirrorPod {
                component: Component::ControllerManager,
                name: format!("kube-controller-manager-{}", node_name(index)),
                node: node_name(index),
                arguments: vec!["kube-controller-manager".to_owned(), format!("--cloud-provider={provider}")],
                started_at: runs.then(|| at(node.started_at)),
                ready: runs,
            }
        };
        nodes.map(pod).collect()
    }

    fn managers(&self) -> Vec<ManagerWorkload> {
        if self.kind != MigrationKind::OtherManager {
            return Vec::new();
        }
        vec![ManagerWorkload {
            workload: reference("openstack-cloud-controller-manager"),
            product: "openstack-cloud-controller-manager".to_owned(),
            desired: self.old.desired,
            previous_replicas: self.old.previous,
            pods: self.old.pods.iter().map(|pod| self.pod_facts(pod)).collect(),
            arguments: vec![
                "openstack-cloud-controller-manager".to_owned(),
                "--cluster-name=test".to_owned(),
            ],
        }]
    }

    fn our_workload(&self) -> Option<OurWorkload> {
        let ours = self.ours.as_ref()?;
        let pods: Vec<PodFacts> = ours.pods.iter().map(|pod| self.pod_facts(pod)).collect();
        let ready =
            pods.iter().filter(|pod| pod.mode == Some(ours.mode) && pod.ready && !pod.deleting).count();
        let is_alone = pods.iter().all(|pod| pod.mode == Some(ours.mode));
        Some(OurWorkload {
            workload: reference("bowline"),
            mode: Some(ours.mode),
            desired: 2,
            rollout: if ready == 2 && is_alone { Rollout::Complete } else { Rollout::Progressing },
            pods,
            version: "1".to_owned(),
            kind: ours.kind,
        })
    }

    fn pod_facts(&self, pod: &Pod) -> PodFacts {
        PodFacts {
            name: pod.name.clone(),
            uid: pod.name.clone(),
            node: Some(node_name(pod.node)),
            phase: "Running".to_owned(),
            ready: pod.ready_at <= self.now && self.reaches(pod.node),
            deleting: pod.ends_at.is_some(),
            started_at: None,
            mode: Some(pod.mode),
            config: None,
        }
    }

    /// A shadow reports, and so does who leads in adopt-only mode.
    pub(super) fn make_report(&mut self) {
        let now = self.now;
        let reports = |pod: &&Pod| match pod.mode {
            ManagerMode::Shadow => true,
            ManagerMode::ServiceOnly => pod.process.leads(now),
            _ => false,
        };
        let pods = self.ours.iter().flat_map(|ours| &ours.pods).filter(|pod| pod.ready_at <= now);
        let Some(pod) = pods.filter(|pod| self.reaches(pod.node)).find(reports) else { return };
        let found =
            |index: &usize| self.services[*index].balancers.iter().any(|balancer| balancer.visible_at <= now);
        let findings: Vec<ShadowFinding> = (0..self.services.len())
            .filter(|index| !found(index))
            .map(|index| ShadowFinding {
                service: service_key(index),
                would: WouldDo::Create,
                held: true,
                message: "none was found".to_owned(),
            })
            .collect();
        self.report = Some(ShadowFacts {
            observed_at: at(now),
            started_at: at(now),
            mode: Some(pod.mode),
            leader: pod.mode.acts(),
            holder: pod.process.identity.clone(),
            cluster_name: "test".to_owned(),
            services: self.services.len(),
            settled: self.services.len() - findings.len(),
            blocking: findings.len(),
            findings,
            cloud_known: true,
            nodes_present: self.nodes.len(),
            ..ShadowFacts::default()
        });
    }
}

fn writer_of_addresses(node: &Node) -> String {
    if node.external { "openstack-cloud-controller-manager" } else { "kubelet" }.to_owned()
}

pub(super) fn reference(name: &str) -> WorkloadRef {
    WorkloadRef {
        kind: WorkloadKind::Deployment,
        namespace: "kube-system".to_owned(),
        name: name.to_owned(),
        uid: name.to_owned(),
    }
}
