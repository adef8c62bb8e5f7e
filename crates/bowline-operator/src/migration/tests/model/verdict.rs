//! What must be so at every second, and in the end.

use super::world::World;
use crate::api::Phase;

impl World {
    pub(crate) fn assert_safe(&self) {
        let writers = self.writers();
        assert!(writers.len() <= 1, "two writers: {writers:?}\n{}", self.story());
        let twice = self.services.iter().position(|service| service.balancers.len() > 1);
        assert!(
            twice.is_none() || !self.accept.is_empty(),
            "Service {twice:?} has two load balancers\n{}",
            self.story()
        );
    }

    /// In the end every Service has its load balancer and every node its name.
    pub(crate) fn assert_served(&self) {
        assert!(self.services.iter().all(|service| service.balancers.len() == 1), "{}", self.story());
        assert!(
            self.nodes.iter().all(|node| node.provider_id.is_some() && !node.uninitialized),
            "{}",
            self.story()
        );
    }

    /// Whether nothing has changed for so long that nothing will.
    pub(crate) fn is_settled(&mut self) -> bool {
        let phase = self.phase();
        let may_end = matches!(phase, Phase::Steady | Phase::Previous | Phase::Blocked);
        let waits_for_way_back = self.setting.rollback_at.is_some_and(|at| self.now < at + 60);
        if !may_end || waits_for_way_back {
            self.still_since = self.now;
        }
        let patience = if phase == Phase::Blocked { 500 } else { 60 };
        let quiet_since = if self.setting.trouble > 0 { super::CHAOS } else { 0 };
        self.now > self.still_since.max(quiet_since) + patience
    }

    pub(crate) fn story(&self) -> String {
        let tail = self.log.iter().rev().take(60).rev().cloned().collect::<Vec<_>>().join("\n");
        format!(
            "{:?} seed {} {:?} at {}\n{tail}\nstatus {:#?}\nours {:?}\nold {:?}\nlease {:?}",
            self.kind,
            self.seed,
            self.setting,
            self.now,
            self.status(),
            self.ours,
            self.old,
            self.lease
        )
    }
}
