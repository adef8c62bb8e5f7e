//! One run, from a cluster with its manager to the end of the migration, with all that must hold.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::Context;
use bowline_testkit::{Wait, deadline};
use real_kubernetes_tests::migration::balancers::{Served, differences, made_twice, removed};
use real_kubernetes_tests::migration::plan::{Event, From, Happening, Kind, Plan, Victim};
use real_kubernetes_tests::migration::request::Side;
use real_kubernetes_tests::migration::writers::{beside, two_writers};
use sim_openstack::MEMBER;
use tokio::time::{Instant, sleep};

use crate::agent::{Agent, OLD};
use crate::cloud::{Cloud, STRANGER};
use crate::cluster::MigrationCluster;
use crate::harness::{CLUSTER, Harness};
use crate::in_tree::InTree;
use crate::operators::Operators;
use crate::watch::{Seen, Watch};

const SERVERS: usize = 3;
/// The last version with the provider inside.
const LAST_INSIDE: u32 = 25;
/// An end is one when it has lasted so long; a block may still go by itself.
const LASTS: Duration = Duration::from_millis(1500);
const SETTLES: Duration = Duration::from_secs(5);
const BLOCK_LASTS: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(50);
const REST: Duration = Duration::from_secs(6);

/// What came of a run.
pub(crate) struct Report {
    pub(crate) phases: Vec<Seen>,
    pub(crate) end: Option<Seen>,
    /// What happened, with the phase it happened in.
    pub(crate) happened: Vec<String>,
    pub(crate) requests: usize,
    pub(crate) problems: Vec<String>,
    pub(crate) took: Duration,
}

/// A run under way.
struct Run<'a> {
    plan: &'a Plan,
    site: Harness,
    cloud: Cloud,
    agent: Agent,
    inside: Option<InTree>,
    operators: Operators,
    watch: Watch,
    before: BTreeMap<String, Served>,
    began: Instant,
    happened: Vec<String>,
    last: Option<Instant>,
    made: usize,
}

/// Runs it, and removes everything again.
pub(crate) async fn run(stage: &MigrationCluster, plan: &Plan, name: &str) -> anyhow::Result<Report> {
    let site = Harness { client: stage.client.clone(), resource: name.to_owned() };
    site.clear().await?;
    let began = Instant::now();
    let cloud = Cloud::start(SERVERS, began).await?;
    let node = gethostname::gethostname().to_string_lossy().into_owned();
    let (control_plane, writer, minor) = match plan.from {
        From::Manager => (1, OLD, None),
        From::InTree { control_plane } => (control_plane, "kubelet", Some(LAST_INSIDE)),
    };
    site.add_nodes(&cloud, &node, control_plane, writer).await?;
    for number in 0..plan.services {
        site.add_service(&format!("web-{number}")).await?;
    }
    let inside = match plan.from {
        From::Manager => {
            site.add_old(&cloud, plan.old_replicas).await?;
            None
        }
        From::InTree { .. } => {
            Some(InTree::start(stage, &cloud, name, &node, [control_plane, SERVERS], began).await?)
        }
    };
    let agent = Agent::start(stage, &node, name, plan.overlapping);
    let before = site.until_served(&cloud, Wait::default()).await.context("the manager that was there")?;
    let kept = before.iter().map(|(name, served)| (name.clone(), served.addresses.clone())).collect();
    let watch = Watch::start(&stage.client, kept, began);
    let (cluster, account) = match plan.kind {
        Kind::WrongName => ("other", MEMBER),
        Kind::WrongProject => (CLUSTER, STRANGER),
        Kind::There | Kind::Back => (CLUSTER, MEMBER),
    };
    site.add_conf("new-cloud-config", &cloud.conf(account)).await?;
    site.add_resource(cluster, plan.new_replicas).await?;
    let operators = Operators::start(stage, plan.operators, name, minor)?;
    let mut run = Run {
        plan,
        site,
        cloud,
        agent,
        inside,
        operators,
        watch,
        before,
        began,
        happened: Vec::new(),
        last: None,
        made: 0,
    };
    let report = run.finish().await;
    run.agent.clear().await;
    report
}

impl Run<'_> {
    async fn finish(&mut self) -> anyhow::Result<Report> {
        let mut rest: Vec<Happening> = self.plan.happenings.clone();
        let mut due: Option<(Instant, Happening)> = None;
        let (started, limit) = (Instant::now(), deadline());
        let mut problems = Vec::new();
        let (mut edited, mut edits) = (Instant::now(), 0_u32);
        let end = loop {
            sleep(LOOK).await;
            if self.pause_of_edits().is_some_and(|period| edited.elapsed() >= period) {
                (edited, edits) = (Instant::now(), edits + 1);
                self.site.touch_service("web-0", 60 + edits).await?;
            }
            let furthest = self.watch.furthest();
            if due.is_none()
                && let Some(place) =
                    rest.iter().position(|each| furthest.is_some_and(|seen| seen >= each.phase))
            {
                let next = rest.remove(place);
                due = Some((Instant::now() + next.after, next));
            }
            if let Some((when, happening)) = due
                && Instant::now() >= when
            {
                due = None;
                self.happen(happening.event).await.with_context(|| happening.event.to_string())?;
            }
            if due.is_none()
                && let Some(seen) = self.ended()
            {
                break Some(seen);
            }
            if started.elapsed() > limit {
                problems.push(format!("no end within {limit:?}: {}", self.site.status().await?));
                break None;
            }
        };
        problems.extend(self.problems(end.as_ref()).await?);
        Ok(Report {
            phases: self.watch.phases(),
            end,
            happened: std::mem::take(&mut self.happened),
            requests: self.cloud.requests().len(),
            problems,
            took: self.began.elapsed(),
        })
    }

    /// How soon the next edit comes. In one phase every Service has to be seen at rest once, in a report of which there is one a second.
    fn pause_of_edits(&self) -> Option<Duration> {
        let is_adopting = self.watch.phase().is_some_and(|seen| seen.phase == "ServiceOnly");
        self.plan.busy.map(|period| if is_adopting { period.max(REST) } else { period })
    }

    fn asked_back(&self) -> bool {
        self.happened.iter().any(|text| text.contains("Rollback"))
    }

    /// The end, if it has come. What was to happen in phases that never come does not.
    fn ended(&self) -> Option<Seen> {
        let seen = self.watch.phase()?;
        let lasted = self.began.elapsed().saturating_sub(seen.at);
        // Whoever was ended has to come back and look before the end counts.
        if self.last.is_some_and(|last| last.elapsed() < SETTLES) {
            return None;
        }
        let wanted = match seen.phase.as_str() {
            "Steady" if !self.asked_back() => LASTS,
            "Previous" => LASTS,
            "Steady" | "Blocked" => BLOCK_LASTS,
            _ => return None,
        };
        (lasted >= wanted).then_some(seen)
    }

    async fn happen(&mut self, event: Event) -> anyhow::Result<()> {
        let which = self.happened.len();
        let phase = self.watch.phase().map(|seen| seen.phase).unwrap_or_default();
        let mut done = true;
        match event {
            Event::Crash(Victim::Operator) => self.operators.end(which, true)?,
            Event::End(Victim::Operator) => self.operators.end(which, false)?,
            Event::Crash(Victim::Old) => done = self.end_old(which, true).await?,
            Event::End(Victim::Old) => done = self.end_old(which, false).await?,
            Event::Crash(Victim::New) => done = self.agent.end(Side::New, which, true).await?,
            Event::End(Victim::New) => done = self.agent.end(Side::New, which, false).await?,
            Event::LoseStatus => self.site.lose_status().await?,
            Event::Rollback => self.site.roll_back().await?,
            Event::Create => {
                self.made += 1;
                self.site.add_service(&format!("new-{}", self.made)).await?;
            }
            Event::Edit => {
                let port = u16::try_from(8000 + which)?;
                self.site.edit_service("web-0", port).await?;
            }
            Event::Delete => done = self.delete().await?,
        }
        let nobody = if done { "" } else { " (nobody)" };
        self.happened.push(format!("{event}@{phase}{nobody}"));
        self.last = done.then(Instant::now);
        Ok(())
    }

    async fn end_old(&self, which: usize, hard: bool) -> anyhow::Result<bool> {
        match &self.inside {
            Some(inside) => inside.end().await,
            None => self.agent.end(Side::Old, which, hard).await,
        }
    }

    /// Deletes one of those that were there, but never the first; whether there was one left.
    async fn delete(&mut self) -> anyhow::Result<bool> {
        let Some(name) = self.before.keys().next_back().filter(|name| *name != "web-0").cloned() else {
            return Ok(false);
        };
        self.watch.let_go(&name);
        self.before.remove(&name);
        self.site.delete_service(&name).await?;
        Ok(true)
    }

    async fn problems(&self, end: Option<&Seen>) -> anyhow::Result<Vec<String>> {
        let mut found = Vec::new();
        let phase = end.map(|seen| seen.phase.as_str()).unwrap_or_default();
        let is_right = match (self.plan.kind, phase) {
            (Kind::WrongName | Kind::WrongProject, "Blocked") => true,
            (Kind::WrongName | Kind::WrongProject, _) => false,
            (Kind::There, phase) => matches!(phase, "Steady" | "Blocked"),
            (Kind::Back, phase) => matches!(phase, "Previous" | "Blocked"),
        };
        if !is_right {
            found.push(format!("a run of kind {} ended in phase {phase:?}", self.plan.kind));
        }
        if let Some(seen) = end.filter(|seen| seen.phase == "Blocked" && seen.messages[1].is_empty()) {
            found.push(format!("blocked without a message after {:?}", seen.at));
        }
        // Whoever has the cluster now does what was asked for; a block may keep new ones from being served.
        let after = match phase {
            "Steady" | "Previous" => self.site.until_served(&self.cloud, Wait::default()).await,
            // A block may keep them unserved for ever: not a failure, so the wait is not scaled.
            _ => self
                .site
                .until_served(&self.cloud, Wait::within_unscaled(LASTS))
                .await
                .or_else(|_| Ok(self.before.clone())),
        };
        match after {
            Ok(after) => found.extend(differences(&self.before, &after)),
            Err(error) => found.push(format!("{error:#}")),
        }
        let requests = self.cloud.requests();
        let kept: BTreeSet<String> = self.before.values().map(|served| served.id.clone()).collect();
        found.extend(two_writers(&requests, self.asked_back()));
        found.extend(made_twice(&requests, &self.site.by_old_name().await?));
        if let Some(inside) = &self.inside {
            found.extend(beside(&requests, &inside.lives()));
        }
        found.extend(removed(&requests, &kept));
        if self.plan.must_block() && requests.iter().any(|request| request.writer.side == Side::New) {
            found.push("ours wrote although it must not begin".to_owned());
        }
        found.extend(
            self.cloud.strange().into_iter().map(|text| format!("a writer that is not known: {text}")),
        );
        found.extend(self.watch.problems());
        Ok(found)
    }
}

/// A run in one line.
pub(crate) fn line(plan: &Plan, report: &Report) -> String {
    let told = |seen: &Seen| match seen.phase.as_str() {
        "Blocked" => format!(" ({})", seen.messages[0]),
        _ => String::new(),
    };
    let phases: Vec<String> = report
        .phases
        .iter()
        .map(|seen| format!("{} {:.1}{}", seen.phase, seen.at.as_secs_f64(), told(seen)))
        .collect();
    let crashes =
        report.happened.iter().filter(|text| text.starts_with("Crash") || text.starts_with("End")).count();
    let end = report.end.as_ref().map_or_else(
        || "none".to_owned(),
        |seen| match seen.phase.as_str() {
            "Blocked" => format!("Blocked ({})", seen.messages[1]),
            phase => phase.to_owned(),
        },
    );
    let verdict = if report.problems.is_empty() { "ok" } else { "FAILED" };
    format!(
        "{verdict} seed {} {} from {:?} services {} replicas {}>{} operators {} overlapping {} busy {:?} crashes {crashes} [{}] phases [{}] end {end} requests {} took {:.1} s",
        plan.seed,
        plan.kind,
        plan.from,
        plan.services,
        plan.old_replicas,
        plan.new_replicas,
        plan.operators,
        plan.overlapping,
        plan.busy.unwrap_or_default(),
        report.happened.join(", "),
        phases.join(", "),
        report.requests,
        report.took.as_secs_f64(),
    )
}
