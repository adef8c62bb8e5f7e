//! What the loop does with decisions: steps in their order, then the mode, then the status; and it may die between any two of them.

use std::time::Duration;

use rand::RngExt;

use super::observe::at;
use super::world::{Ours, World};
use crate::api::{CloudControllerManagerSpec, Phase};
use crate::migration::{Case, Decision, ManagerMode, Step, Timings, decide};

const TIMINGS: Timings = Timings {
    phase: Duration::from_secs(120),
    node: Duration::from_secs(40),
    address_refresh: Duration::from_secs(5),
    report_age: Duration::from_secs(30),
    look: Duration::from_secs(3),
    rest: Duration::from_secs(10),
};

impl World {
    fn spec(&self) -> CloudControllerManagerSpec {
        let accept: Vec<&String> = self.accept.iter().collect();
        let text = serde_json::json!({
            "platform": "OpenStack",
            "clusterName": "test",
            "migration": { "rollback": self.rollback, "accept": accept, "keepPreviousHours": 24 },
        });
        serde_json::from_value(text).unwrap()
    }

    pub(super) fn operate(&mut self) {
        if self.now < self.next_pass {
            return;
        }
        let observed = self.observe();
        let (spec, status) = (self.spec(), self.stored.clone());
        let case = Case {
            name: "test",
            spec: &spec,
            status: &status,
            observed: &observed,
            now: at(self.now),
            timings: &TIMINGS,
        };
        let decision = decide(&case);
        self.decisions += 1;
        assert_eq!(decision.violations, Vec::new(), "{}", self.story());
        self.next_pass = self.now + decision.look_again.as_secs().max(1);
        let told = format!(
            "{:?} {:?} hold {} {:?}: {}",
            decision.status.phase, decision.mode, decision.hold, decision.steps, decision.message
        );
        if self.log.last().is_none_or(|last| !last.ends_with(&told)) {
            self.note(&told);
        }
        self.execute(decision);
    }

    fn execute(&mut self, decision: Decision) {
        let dies = self.setting.trouble > 0 && self.now < super::CHAOS;
        for step in decision.steps {
            if dies && self.random.random_range(0..15) == 0 {
                return self.forget();
            }
            self.execute_step(step);
        }
        if !decision.hold {
            self.apply(decision.mode, decision.status.kind);
        }
        if dies && self.random.random_range(0..15) == 0 {
            return self.forget();
        }
        self.message = decision.message;
        let has_acted = self.stored.cluster_name.is_some() || decision.mode.acts();
        self.stored.cluster_name = has_acted.then(|| "test".to_owned());
        self.stored.migration = Some(decision.status);
        if self.phase() == Phase::Blocked && self.setting.accepts && self.now.is_multiple_of(5) {
            self.accept_all();
        }
    }

    fn apply(&mut self, mode: ManagerMode, kind: Option<crate::api::MigrationKind>) {
        match (&mut self.ours, mode) {
            (None, ManagerMode::Absent) => {}
            (None, mode) => self.ours = Some(Ours { mode, kind, pods: Vec::new() }),
            (Some(ours), mode) => (ours.mode, ours.kind) = (mode, kind),
        }
    }

    fn execute_step(&mut self, step: Step) {
        let now = self.now;
        let index = |name: &str| name.trim_start_matches("node-").parse::<usize>().unwrap();
        match step {
            Step::ScaleDown { replicas, .. } => (self.old.desired, self.old.previous) = (0, Some(replicas)),
            Step::ScaleUp { replicas, .. } => (self.old.desired, self.old.previous) = (replicas, None),
            Step::DeletePrevious { .. } => panic!("nothing has lasted for a day\n{}", self.story()),
            Step::TaintNode { name, .. } => {
                let node = &mut self.nodes[index(&name)];
                (node.uninitialized, node.tainted_at) = (true, Some(now));
            }
            Step::UntaintNode { name, .. } => self.nodes[index(&name)].uninitialized = false,
        }
    }
}
