//! What is nobody's fault: left over on purpose, changed a moment ago, or a known gap.

use std::collections::BTreeSet;
use std::time::Duration;

use super::{World, service_name};
use crate::action::{Action, Edit};
use crate::net::Net;

/// The annotation of Services whose floating IP is not given back.
const KEEP: &str = "keep-floatingip";

/// What was seen before somebody meddled may be acted on for this long.
pub(super) const MEDDLED: jiff::SignedDuration = jiff::SignedDuration::from_secs(60);

/// So many floating IPs of a Service may be lost that way.
const STRAYS: usize = 2;

/// Floating IPs that may be left over.
#[derive(Clone, Debug, Default)]
pub struct Excused {
    /// All of these Services.
    pub services: BTreeSet<String>,
    /// These, by id.
    pub floating_ips: BTreeSet<String>,
    /// Load balancers that stay, by id: people added something to them, or they belong to others.
    pub balancers: BTreeSet<String>,
    /// Listeners of others, by id.
    pub listeners: BTreeSet<String>,
    /// Load balancers that a Service joined before it named another one: its tag and the id of the load balancer.
    pub left_behind: BTreeSet<(String, String)>,
}

impl World {
    /// The Services that ever said that their floating IP shall be kept: one may be left of each, and more of namesakes.
    #[must_use]
    pub fn kept(&self) -> BTreeSet<String> {
        self.kept.lock().clone()
    }

    /// Whether somebody changed what belongs to a Service so lately that nobody could know.
    #[must_use]
    pub fn meddled_lately(&self, service: &str) -> bool {
        let meddled = self.meddled.lock().get(service).copied();
        meddled.is_some_and(|at| self.cloud.now().duration_since(at) < MEDDLED)
    }

    /// A known gap: a floating IP whose load balancer goes before its address was published is found again only by the process
    /// that made it. If that dies too it is left over, because nothing proves whose it is (seeds 54 and 233). Not counted.
    pub fn note_strays(&self) {
        let shown: BTreeSet<String> = self
            .kube
            .stored("", "services")
            .iter()
            .filter(|service| service["status"]["loadBalancer"]["ingress"].is_array())
            .map(|service| {
                let part = |key: &str| service["metadata"][key].as_str().unwrap_or_default().to_owned();
                format!("{}/{}", part("namespace"), part("name"))
            })
            .collect();
        let of = |text: &str| {
            let rest = text.split_once("external service ")?.1;
            rest.strip_suffix(" from cluster kubernetes").map(str::to_owned)
        };
        let found: Vec<(String, String)> = self.cloud.with(|cloud| {
            let floating = cloud.state().network.floating_ips.iter().filter(|one| one.port_id.is_none());
            floating.filter_map(|one| Some((one.id.clone(), of(&one.description)?))).collect()
        });
        let mut strays = self.strays.lock();
        for (id, name) in found.into_iter().filter(|(_, name)| !shown.contains(name)) {
            // A few, not one for each look.
            if strays.values().filter(|other| **other == name).count() < STRAYS {
                strays.entry(id).or_insert(name);
            }
        }
    }

    /// What is left over on purpose, or known to be.
    #[must_use]
    pub fn excused(&self) -> Excused {
        let mut excused = Excused {
            services: self.kept(),
            floating_ips: self.strays.lock().keys().cloned().collect(),
            balancers: self.balancers_added_to(),
            listeners: BTreeSet::new(),
            left_behind: self.left_behind.lock().clone(),
        };
        self.property.excuse(&mut excused);
        excused
    }

    /// How long a new process has still to wait. A known limit: one that never saw the leader takes a Lease that is not there as
    /// client-go does, and then two lead until the other looks. Whoever deletes the Lease must not start a manager just then, nor
    /// delete it while one starts (`has_newcomers`).
    #[must_use]
    pub fn newcomers_wait(&self) -> Duration {
        let deleted = *self.lease_deleted.lock();
        let since = deleted.map(|at| self.cloud.now().duration_since(at).unsigned_abs());
        since.map_or(Duration::ZERO, |since| Duration::from_secs(60).saturating_sub(since))
    }

    /// A process was shown the leader's Lease.
    pub fn note_lease_seen(&self, process: &str) {
        self.lease_seen.lock().insert(process.to_owned());
    }

    /// Whether a process lives that was never shown the Lease: its first look may be under way (seed 769).
    pub(super) fn has_newcomers(&self, net: &Net) -> bool {
        let seen = self.lease_seen.lock();
        net.living().iter().any(|process| !seen.contains(process))
    }

    pub(super) fn note_kept(&self, action: &Action) {
        let number = match action {
            Action::Create(number, spec) if spec.annotations.iter().any(|(key, _)| *key == KEEP) => *number,
            Action::Edit(number, Edit::Annotate(KEEP, Some(_))) => *number,
            _ => return,
        };
        self.kept.lock().insert(service_name(number));
    }
}
