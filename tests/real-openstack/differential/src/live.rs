//! The live run: sessions in projects of their own, side by side, and the report.

mod deviations;

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use anyhow::Context;
use futures::future::join_all;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::compare::Difference;
use crate::deviations::{Judgement, judge};
use crate::estate::{self, Administrator};
use crate::real::{Catalog, RealCloud, Wire};
use crate::script;
use crate::session::{Answers, Session, Source, Start};

/// What every session begins with: its project and its user.
const PEOPLE: &str = include_str!("scripts/people.http");
/// A network with two subnets and a security group.
const PLACES: &str = include_str!("scripts/places.http");
/// A router to the external network.
const WAY_OUT: &str = include_str!("scripts/way_out.http");
const LOAD_BALANCERS: [&str; 9] = [
    PLACES,
    include_str!("scripts/load_balancers.http"),
    include_str!("scripts/children.http"),
    include_str!("scripts/members.http"),
    include_str!("scripts/options.http"),
    include_str!("scripts/pending.http"),
    include_str!("scripts/addresses.http"),
    WAY_OUT,
    include_str!("scripts/floating.http"),
];

/// One session: its name, the scripts after its people, and what they take from `<shared:/…>`.
struct Plan {
    name: &'static str,
    scripts: Vec<&'static str>,
    shared: Value,
}

fn plans() -> Vec<Plan> {
    let plan = |name, scripts: &[&'static str], shared| Plan { name, scripts: scripts.to_vec(), shared };
    let provider = |provider: &str, algorithm: &str| json!({"provider": provider, "algorithm": algorithm});
    vec![
        plan("identity", &[PLACES, include_str!("scripts/identity.http")], json!({})),
        plan("compute", &[PLACES, include_str!("scripts/compute.http")], json!({})),
        plan(
            "network",
            &[PLACES, include_str!("scripts/network.http"), WAY_OUT, include_str!("scripts/routers.http")],
            json!({}),
        ),
        plan("ovn", &LOAD_BALANCERS, provider("ovn", "SOURCE_IP_PORT")),
        plan("amphora", &LOAD_BALANCERS, provider("amphora", "ROUND_ROBIN")),
        plan("flavors", &[PLACES, include_str!("scripts/flavors.http")], json!({})),
    ]
}

/// What came of a live run.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// How many exchanges were compared.
    pub exchanges: usize,
    /// How many of them were equal.
    pub equal: usize,
    /// Differences that no table lists.
    pub differences: Vec<Difference>,
    /// Differences that are listed, with the reason.
    pub listed: Vec<(Difference, &'static str)>,
    /// Listed differences that did not show.
    pub stale: Vec<String>,
    /// Sessions that came to no end, or whose things could not be removed, and why.
    pub failures: Vec<String>,
}

impl Report {
    /// Whether every session came to its end, every difference is listed, and every row of the list is needed.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.differences.is_empty() && self.stale.is_empty() && self.failures.is_empty()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (difference, reason) in &self.listed {
            writeln!(f, "known: {difference} ({reason})")?;
        }
        for difference in &self.differences {
            writeln!(f, "DIFFERS: {difference}")?;
        }
        for row in &self.stale {
            writeln!(f, "STALE: {row}")?;
        }
        for failure in &self.failures {
            writeln!(f, "FAILED: {failure}")?;
        }
        let (exchanges, equal, listed) = (self.exchanges, self.equal, self.listed.len());
        let unlisted = self.differences.len();
        write!(f, "{exchanges} exchanges, {equal} equal; {listed} known differences, {unlisted} others")
    }
}

/// Sends the scripts to the real cloud and to a simulator with the same estate, and compares the answers.
///
/// It works in projects of its own, which it makes as the administrator and removes afterwards.
///
/// # Errors
/// When the administrator cannot log in, or the cloud lacks what servers are made from.
pub async fn run(real: &RealCloud) -> anyhow::Result<Report> {
    Ok(run_sessions(real, &Choice::default()).await?.0)
}

/// The names of the sessions that [`run`] holds side by side.
#[must_use]
pub fn sessions() -> Vec<&'static str> {
    plans().into_iter().map(|plan| plan.name).collect()
}

/// Which part of a live run is wanted.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// The names of the sessions to hold; none: all.
    pub sessions: Vec<String>,
    /// How long a session may take before it is broken off, and what it made removed.
    pub within: Option<Duration>,
}

/// The same in part, and what is needed to compare with these answers again.
///
/// # Errors
/// As [`run`].
pub async fn run_sessions(real: &RealCloud, choice: &Choice) -> anyhow::Result<(Report, Recording)> {
    let admin = Administrator::log_in(Wire::new(), real).await?;
    let site = admin.site(real).await?;
    let mut recording =
        Recording { catalog: admin.catalog.clone(), region: real.region.clone(), sessions: BTreeMap::new() };
    let plans: Vec<Plan> = plans().into_iter().filter(|plan| wanted(plan, &choice.sessions)).collect();
    let deadline = choice.within.map(|within| Instant::now() + within);
    let outcomes = join_all(plans.iter().map(|plan| play(real, &admin, &site, plan, deadline))).await;
    let mut played = Vec::new();
    for (plan, outcome) in plans.iter().zip(outcomes) {
        let (mut session, shared, failures) = outcome?;
        let answers = std::mem::take(&mut session.answers);
        let one = RecordedSession { site: site.clone(), shared, answers };
        recording.sessions.insert(plan.name.to_owned(), one);
        played.push((session, failures));
    }
    Ok((report(played, choice.sessions.is_empty()), recording))
}

/// Compares the simulator with the answers of an earlier run: what is quick while the simulator is corrected.
///
/// # Errors
/// When the recording does not go with the scripts.
pub async fn rerun(recording: &Recording) -> anyhow::Result<Report> {
    let mut played = Vec::new();
    for plan in plans() {
        let Some(recorded) = recording.sessions.get(plan.name) else { continue };
        let start = Start {
            name: plan.name,
            catalog: &recording.catalog,
            region: &recording.region,
            site: recorded.site.clone(),
            shared: recorded.shared.clone(),
        };
        let mut session = Session::new(Source::Kept(recorded.answers.clone()), &start)?;
        let failure = play_scripts(&mut session, &plan).await.err();
        played.push((session, failure.into_iter().map(|error| format!("{error:#}")).collect()));
    }
    let whole = played.len() == sessions().len();
    Ok(report(played, whole))
}

fn wanted(plan: &Plan, names: &[String]) -> bool {
    names.is_empty() || names.iter().any(|name| name == plan.name)
}

/// The answers of the real cloud in one run. It holds tokens and passwords.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Recording {
    catalog: Catalog,
    region: String,
    sessions: BTreeMap<String, RecordedSession>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
struct RecordedSession {
    site: Value,
    shared: Value,
    answers: Answers,
}

/// Sums up; rows of the table can only be called stale when all sessions were held.
fn report(played: Vec<(Session, Vec<String>)>, whole: bool) -> Report {
    let mut report = Report::default();
    let mut differences = Vec::new();
    for (session, failures) in played {
        report.exchanges += session.exchanges;
        report.equal += session.equal;
        report.failures.extend(failures);
        differences.extend(session.differences);
    }
    let Judgement { unlisted, listed, stale } = judge(differences, deviations::DEVIATIONS);
    let stale = if whole { stale } else { Vec::new() };
    Report { differences: unlisted, listed, stale, ..report }
}

/// One session from its project to the removal of it, which happens whatever comes before; and what failed.
async fn play(
    real: &RealCloud,
    admin: &Administrator,
    site: &Value,
    plan: &Plan,
    deadline: Option<Instant>,
) -> anyhow::Result<(Session, Value, Vec<String>)> {
    let mut shared = plan.shared.clone();
    if let Some(shared) = shared.as_object_mut() {
        let run = uuid::Uuid::new_v4().simple().to_string();
        let run = run.get(..8).unwrap_or(&run);
        shared.insert("project".to_owned(), json!(format!("differential-{}-{run}", plan.name)));
        shared.insert("password".to_owned(), json!(format!("secret-{run}")));
    }
    let (site, region, catalog) = (site.clone(), &real.region, &admin.catalog);
    let start = Start { name: plan.name, catalog, region, site, shared: shared.clone() };
    let mut session = Session::new(Source::Live(Box::new(admin.wire.clone())), &start)?;
    session.deadline = deadline;
    let played = play_scripts(&mut session, plan).await;
    let played = played.with_context(|| format!("the session {:?}", plan.name));
    let removed = estate::remove(admin, &session).await;
    let removed = removed.with_context(|| format!("remove what the session {:?} made", plan.name));
    let failures = [played.err(), removed.err()].into_iter().flatten().map(|error| format!("{error:#}"));
    Ok((session, shared, failures.collect()))
}

async fn play_scripts(session: &mut Session, plan: &Plan) -> anyhow::Result<()> {
    for text in [PEOPLE].iter().chain(&plan.scripts) {
        for step in script::parse(text)? {
            session.play(&step).await?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_script_can_be_read() {
        for plan in plans() {
            for text in [PEOPLE].iter().chain(&plan.scripts) {
                let steps = script::parse(text).unwrap_or_else(|error| panic!("{}: {error:#}", plan.name));
                assert!(!steps.is_empty());
            }
        }
    }
}
