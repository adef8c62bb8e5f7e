//! What goes wrong, and what the person does.

use rand::RngExt;

use super::election::Candidate;
use super::world::{Service, World, node_name};
use crate::api::{CloudControllerManagerStatus, MigrationKind, Phase};

impl World {
    /// The person does, now and then, one thing that is asked for.
    pub(super) fn person(&mut self) {
        if !self.now.is_multiple_of(7)
            || self.stored.migration.iter().flat_map(|status| &status.steps).all(|step| step.done)
        {
            return;
        }
        let now = self.now;
        let phase = self
            .stored
            .migration
            .as_ref()
            .map(crate::migration::outline::effective_phase)
            .unwrap_or_default();
        let back = phase == Phase::RollingBack;
        let ours_acts = self.ours.is_some();
        match phase {
            Phase::AwaitAdmin | Phase::Relinquish => {
                if let Some(node) =
                    self.nodes.iter_mut().find(|node| node.inside && node.cut_off_until <= now)
                {
                    (node.inside, node.started_at) = (false, now + 5);
                }
            }
            Phase::Nodes => {
                if let Some(node) = self.nodes.iter_mut().find(|node| !node.external) {
                    node.external = true;
                }
            }
            Phase::RollingBack if back && !ours_acts && self.has_inside() => {
                if let Some(node) = self.nodes.iter_mut().find(|node| node.control_plane && !node.inside) {
                    (node.inside, node.started_at) = (true, now);
                }
            }
            Phase::RollingBack if self.kind == MigrationKind::InTree => {
                self.nodes.iter_mut().for_each(|node| node.external = false);
            }
            _ => {}
        }
        if self.setting.accepts
            && self.stored.migration.as_ref().is_some_and(|status| status.phase == Phase::Blocked)
        {
            self.accept_all();
        }
    }

    pub(super) fn trouble(&mut self) {
        let until = self.now + self.random.random_range(5..60);
        let what = self.random.random_range(0..10);
        match what {
            0 => {
                let node = self.random.random_range(0..self.nodes.len());
                self.nodes[node].cut_off_until = until;
            }
            1 | 2 => self.kill(what == 1),
            3 => {
                self.stored = CloudControllerManagerStatus::default();
                self.forget();
            }
            4 => {
                self.stored = self.older.clone();
                self.forget();
            }
            5 => self.forget(),
            6 => self.next_pass = until,
            7 if self.old.previous.is_some() && self.random.random_bool(0.3) => self.old.desired = 2,
            8 => {
                let made_at = self.now;
                self.services.push(Service { made_at, ..Service::default() });
            }
            _ => self.older = self.stored.clone(),
        }
        self.note(&format!("trouble {what}"));
    }

    /// The operator starts anew: what it has watched is forgotten.
    pub(super) fn forget(&mut self) {
        self.losses += 1;
        let now = self.now;
        self.watched.iter_mut().for_each(|(_, since, renewed)| (*since, *renewed) = (now, false));
    }

    /// A process is killed, and started anew by its kubelet under another identity.
    fn kill(&mut self, of_old: bool) {
        let now = self.now;
        let count = self.made + 1;
        self.made = count;
        let pods = match (&mut self.ours, of_old) {
            (_, true) => &mut self.old.pods,
            (Some(ours), false) => &mut ours.pods,
            (None, false) => return,
        };
        if let Some(pod) = pods.iter_mut().next_back() {
            let identity = format!("{}_again-{count}", node_name(pod.node));
            pod.process = Candidate::new(identity, pod.process.releases, now + 3);
            pod.ready_at = now + 3;
        }
    }
}
