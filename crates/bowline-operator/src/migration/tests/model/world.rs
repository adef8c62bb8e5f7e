//! What there is, and what happens in a second. What the operator sees of it is in `observe`, what it does in `operator`.

use std::collections::BTreeSet;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use super::election::{Candidate, Record};
use crate::api::{CloudControllerManagerStatus, MigrationKind, MigrationStatus, Phase};
use crate::migration::{ManagerMode, ShadowFacts};

/// What differs between runs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Setting {
    pub(crate) rollback_at: Option<u64>,
    pub(crate) accepts: bool,
    /// Something goes wrong about once in so many seconds.
    pub(crate) trouble: u32,
}

/// A pod of a manager.
#[derive(Debug, Clone)]
pub(super) struct Pod {
    pub(super) name: String,
    pub(super) node: usize,
    pub(super) mode: ManagerMode,
    pub(super) ready_at: u64,
    pub(super) ends_at: Option<u64>,
    pub(super) process: Candidate,
}

/// A set of pods that is kept by somebody else.
#[derive(Debug, Clone, Default)]
pub(super) struct Workload {
    pub(super) desired: i32,
    pub(super) previous: Option<i32>,
    pub(super) pods: Vec<Pod>,
}

#[derive(Debug, Clone)]
pub(super) struct Ours {
    pub(super) mode: ManagerMode,
    pub(super) kind: Option<MigrationKind>,
    pub(super) pods: Vec<Pod>,
}

#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) control_plane: bool,
    pub(super) external: bool,
    pub(super) provider_id: Option<String>,
    pub(super) uninitialized: bool,
    pub(super) tainted_at: Option<u64>,
    pub(super) cut_off_until: u64,
    /// The writer inside: kube-controller-manager's, or that of k3s.
    pub(super) inside: bool,
    /// When what runs inside now began; later than now while it is restarted with other flags.
    pub(super) started_at: u64,
    pub(super) addresses_since: u64,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Service {
    pub(super) balancers: Vec<Balancer>,
    pub(super) has_address: bool,
    pub(super) has_id: bool,
    pub(super) made_at: u64,
}

#[derive(Debug, Clone)]
pub(super) struct Balancer {
    pub(super) legacy: bool,
    /// Who made it knows of it at once; others when the cloud shows it.
    pub(super) by: String,
    pub(super) visible_at: u64,
}

pub(crate) struct World {
    pub(crate) setting: Setting,
    pub(crate) now: u64,
    pub(crate) decisions: u64,
    pub(crate) losses: u64,
    pub(crate) message: String,
    pub(crate) longest_gap: u64,
    pub(crate) old_is_blind: bool,
    pub(super) kind: MigrationKind,
    pub(super) seed: u64,
    pub(super) random: SmallRng,
    pub(super) lease: Record,
    pub(super) inside_lease: Record,
    pub(super) old: Workload,
    pub(super) ours: Option<Ours>,
    pub(super) nodes: Vec<Node>,
    pub(super) services: Vec<Service>,
    pub(super) report: Option<ShadowFacts>,
    pub(super) stored: CloudControllerManagerStatus,
    pub(super) older: CloudControllerManagerStatus,
    pub(super) watched: Vec<(Record, u64, bool)>,
    pub(super) next_pass: u64,
    pub(super) rollback: bool,
    pub(super) accept: BTreeSet<String>,
    pub(super) log: Vec<String>,
    pub(super) still_since: u64,
    gap: u64,
    pub(super) made: u64,
}

impl World {
    pub(crate) fn calm(kind: MigrationKind) -> Self {
        let mut world = Self::new(kind, 0);
        world.setting = Setting::default();
        world
    }

    pub(crate) fn new(kind: MigrationKind, seed: u64) -> Self {
        let mut random = SmallRng::seed_from_u64(seed);
        let setting = Setting {
            rollback_at: random.random_bool(0.5).then(|| random.random_range(1..500)),
            accepts: random.random_bool(0.5),
            trouble: random.random_range(8..60),
        };
        let has_old = kind == MigrationKind::OtherManager;
        let nodes = (0..4).map(|index| node(kind, index)).collect();
        let served = !matches!(kind, MigrationKind::Fresh | MigrationKind::None);
        let service = || Service {
            balancers: if served {
                vec![Balancer { legacy: kind == MigrationKind::InTree, by: String::new(), visible_at: 0 }]
            } else {
                Vec::new()
            },
            has_address: served,
            has_id: has_old,
            made_at: 0,
        };
        let lbs = if kind == MigrationKind::Embedded { 0 } else { 3 };
        Self {
            services: (0..lbs).map(|_| service()).collect(),
            old: Workload { desired: if has_old { 2 } else { 0 }, ..Workload::default() },
            setting,
            now: 0,
            decisions: 0,
            losses: 0,
            message: String::new(),
            longest_gap: 0,
            old_is_blind: false,
            kind,
            seed,
            random,
            lease: Record::default(),
            inside_lease: Record::default(),
            ours: None,
            nodes,
            report: None,
            stored: CloudControllerManagerStatus::default(),
            older: CloudControllerManagerStatus::default(),
            watched: vec![(Record::default(), 0, false); 2],
            next_pass: 60,
            rollback: false,
            accept: BTreeSet::new(),
            log: Vec::new(),
            still_since: 0,
            gap: 0,
            made: 0,
        }
    }

    pub(crate) fn status(&self) -> MigrationStatus {
        self.stored.migration.clone().unwrap_or_default()
    }

    pub(super) fn phase(&self) -> Phase {
        self.stored.migration.as_ref().map(|status| status.phase).unwrap_or_default()
    }

    pub(crate) fn lose_a_load_balancer(&mut self) {
        self.services[0].balancers.clear();
    }

    pub(crate) fn accept_all(&mut self) {
        self.accept = (0..self.services.len()).map(service_key).collect();
    }

    /// One second.
    pub(crate) fn tick(&mut self, troubled: bool) {
        self.now += 1;
        if troubled && self.setting.trouble > 0 && self.random.random_range(0..self.setting.trouble) == 0 {
            self.trouble();
        }
        self.rollback |= self.setting.rollback_at.is_some_and(|at| self.now >= at);
        self.keep_pods();
        self.elect();
        self.write();
        self.person();
        self.operate();
        let writes = !self.writers().is_empty();
        self.gap = if writes || matches!(self.kind, MigrationKind::Fresh | MigrationKind::None) {
            0
        } else {
            self.gap + 1
        };
        self.longest_gap = self.longest_gap.max(self.gap);
    }

    pub(super) fn note(&mut self, text: &str) {
        self.log.push(format!("{:>5} {text}", self.now));
    }

    pub(super) fn reaches(&self, node: usize) -> bool {
        self.nodes[node].cut_off_until <= self.now
    }

    fn pod(&mut self, prefix: &str, mode: ManagerMode, releases: bool) -> Pod {
        self.made += 1;
        let node = self.random.random_range(0..3);
        let name = format!("{prefix}-{}", self.made);
        let ready_at = self.now + self.random.random_range(1..8);
        // On the host's network, the identity has the node's name in front.
        let process = Candidate::new(format!("{}_{name}", node_name(node)), releases, ready_at);
        Pod { name, node, mode, ready_at, ends_at: None, process }
    }

    /// What the controllers of workloads do.
    fn keep_pods(&mut self) {
        let now = self.now;
        let mut old = std::mem::take(&mut self.old);
        let grace = self.random.random_range(1..20);
        let staying = old.pods.iter().filter(|pod| pod.ends_at.is_none()).count();
        for _ in staying..usize::try_from(old.desired).unwrap() {
            let pod = self.pod("occm", ManagerMode::Full, false);
            old.pods.push(pod);
        }
        let surplus = staying.saturating_sub(usize::try_from(old.desired).unwrap());
        old.pods
            .iter_mut()
            .filter(|pod| pod.ends_at.is_none())
            .take(surplus)
            .for_each(|pod| pod.ends_at = Some(now + grace));
        self.bury(&mut old.pods);
        self.old = old;
        let Some(mut ours) = self.ours.take() else { return };
        let mode = ours.mode;
        let wanted = if mode == ManagerMode::Absent { 0 } else { 2 };
        let new = ours.pods.iter().filter(|pod| pod.mode == mode && pod.ends_at.is_none()).count();
        if new < wanted {
            let pod = self.pod("bowline", mode, true);
            ours.pods.push(pod);
        }
        let ready = ours.pods.iter().any(|pod| pod.mode == mode && pod.ready_at <= now);
        if ready || wanted == 0 {
            let others = ours.pods.iter_mut().filter(|pod| pod.mode != mode && pod.ends_at.is_none());
            others.for_each(|pod| pod.ends_at = Some(now + grace / 4));
        }
        self.bury(&mut ours.pods);
        let is_gone = mode == ManagerMode::Absent && ours.pods.is_empty();
        self.ours = (!is_gone).then_some(ours);
    }

    /// Pods whose time has come end, unless their node cannot be told to.
    fn bury(&mut self, pods: &mut Vec<Pod>) {
        let (now, nodes, lease, services) = (self.now, &self.nodes, &mut self.lease, &mut self.services);
        pods.retain_mut(|pod| {
            let is_over = pod.ends_at.is_some_and(|at| at <= now) && nodes[pod.node].cut_off_until <= now;
            if is_over {
                pod.process.end(lease);
                // Who ends in an orderly way waits for the answers to what it has asked for.
                let made = services
                    .iter_mut()
                    .flat_map(|service| &mut service.balancers)
                    .filter(|made| made.by == pod.name);
                made.for_each(|made| made.visible_at = now);
            }
            !is_over
        });
    }

    fn elect(&mut self) {
        let (now, nodes, lease) = (self.now, &self.nodes, &mut self.lease);
        let ours = self.ours.iter_mut().flat_map(|ours| ours.pods.iter_mut());
        for pod in self.old.pods.iter_mut().chain(ours) {
            if pod.mode.takes_lease() && pod.ready_at <= now {
                pod.process.step(lease, now, nodes[pod.node].cut_off_until <= now);
            }
        }
        if self.nodes.iter().any(|node| node.inside)
            && self.kind == MigrationKind::Embedded
            && now.is_multiple_of(2)
        {
            self.inside_lease.holder = Some("server".to_owned());
            self.inside_lease.renewals += 1;
        }
    }

    /// Everyone who acts in this second, by name.
    pub(super) fn writers(&self) -> Vec<String> {
        let now = self.now;
        let leads = |pod: &&Pod| pod.mode.acts() && pod.process.leads(now);
        let mut found: Vec<String> = self.old.pods.iter().filter(leads).map(|pod| pod.name.clone()).collect();
        found.extend(self.ours.iter().flat_map(|ours| &ours.pods).filter(leads).map(|pod| pod.name.clone()));
        // They elect one of themselves: together they are one writer. Until the new process runs, the old one may.
        if self.nodes.iter().any(|node| node.inside || (self.has_inside() && node.started_at > now)) {
            found.push("the provider inside".to_owned());
        }
        found
    }

    pub(super) fn has_inside(&self) -> bool {
        matches!(self.kind, MigrationKind::InTree | MigrationKind::Embedded)
    }

    /// What the writer of this second does to load balancers and nodes.
    fn write(&mut self) {
        let now = self.now;
        let by = self.writers();
        let ours = self
            .ours
            .as_ref()
            .and_then(|ours| ours.pods.iter().find(|pod| by.contains(&pod.name)))
            .map(|pod| pod.mode);
        let old = by.iter().any(|name| name.starts_with("occm")) && !self.old_is_blind;
        let inside = self.kind == MigrationKind::InTree && by.iter().any(|name| name.starts_with("the"));
        let who = by.first().cloned().unwrap_or_default();
        let delay = self.random.random_range(0..3);
        for service in &mut self.services {
            let found = service.balancers.iter().any(|balancer| {
                (balancer.visible_at <= now || balancer.by == who) && (!inside || balancer.legacy)
            });
            let adopts_only = ours == Some(ManagerMode::ServiceOnly);
            let writes = old || inside || ours.is_some();
            if !found && writes && !adopts_only && service.made_at + 3 < now {
                service.balancers.push(Balancer { legacy: inside, by: who.clone(), visible_at: now + delay });
                service.has_address = true;
            }
            if found && (old || ours.is_some()) {
                service.has_id = true;
            }
        }
        if ours.is_some_and(ManagerMode::writes_nodes) || old {
            let by_ours = ours.is_some_and(ManagerMode::writes_nodes);
            for (index, node) in self.nodes.iter_mut().enumerate().filter(|(_, node)| node.uninitialized) {
                assert!(
                    node.external || !by_ours,
                    "I5: a node is initialised whose kubelet writes addresses"
                );
                node.uninitialized = false;
                node.provider_id.get_or_insert_with(|| format!("openstack:///{index}"));
            }
        }
        self.make_report();
    }
}

pub(super) fn node_name(index: usize) -> String {
    format!("node-{index}")
}

pub(super) fn service_key(index: usize) -> String {
    format!("default/service-{index}")
}

fn node(kind: MigrationKind, index: usize) -> Node {
    let control_plane = index < 3;
    let is_named = matches!(kind, MigrationKind::InTree | MigrationKind::OtherManager);
    Node {
        control_plane,
        external: matches!(kind, MigrationKind::Fresh | MigrationKind::OtherManager),
        provider_id: is_named.then(|| format!("openstack:///{index}")),
        uninitialized: kind == MigrationKind::Fresh,
        tainted_at: None,
        cut_off_until: 0,
        inside: control_plane && matches!(kind, MigrationKind::InTree | MigrationKind::Embedded),
        started_at: 0,
        addresses_since: 0,
    }
}
