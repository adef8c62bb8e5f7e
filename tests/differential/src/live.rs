//! The live run: sessions in projects of their own, side by side, and the report.

mod deviations;

use std::fmt;

use anyhow::Context;
use futures::future::join_all;
use serde_json::{Value, json};

use crate::compare::Difference;
use crate::deviations::{Judgement, judge};
use crate::estate::{self, Administrator};
use crate::real::{RealCloud, Wire};
use crate::script;
use crate::session::{Session, Start};

/// What every session begins with: its project, its user, its networks.
const ESTATE: &str = include_str!("scripts/estate.http");
const LOAD_BALANCERS: [&str; 5] = [
    include_str!("scripts/load_balancers.http"),
    include_str!("scripts/children.http"),
    include_str!("scripts/members.http"),
    include_str!("scripts/addresses.http"),
    include_str!("scripts/options.http"),
];

/// One session: its name, the scripts after the estate, and what they take from `<shared:/…>`.
struct Plan {
    name: &'static str,
    scripts: Vec<&'static str>,
    shared: Value,
}

fn plans() -> Vec<Plan> {
    let plan = |name, scripts: &[&'static str], shared| Plan { name, scripts: scripts.to_vec(), shared };
    let provider = |provider: &str, algorithm: &str| json!({"provider": provider, "algorithm": algorithm});
    vec![
        plan("identity", &[include_str!("scripts/identity.http")], json!({})),
        plan("compute", &[include_str!("scripts/compute.http")], json!({})),
        plan(
            "network",
            &[include_str!("scripts/network.http"), include_str!("scripts/routers.http")],
            json!({}),
        ),
        plan("ovn", &LOAD_BALANCERS, provider("ovn", "SOURCE_IP_PORT")),
        plan("amphora", &LOAD_BALANCERS, provider("amphora", "ROUND_ROBIN")),
        plan("flavors", &[include_str!("scripts/flavors.http")], json!({})),
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
    let admin = Administrator::log_in(Wire::new(), real).await?;
    let site = admin.site(real).await?;
    let plans = plans();
    let sessions = join_all(plans.iter().map(|plan| play(real, &admin, &site, plan))).await;
    let mut report = Report::default();
    let mut differences = Vec::new();
    for (session, failures) in sessions.into_iter().collect::<anyhow::Result<Vec<_>>>()? {
        report.exchanges += session.exchanges;
        report.equal += session.equal;
        report.failures.extend(failures);
        differences.extend(session.differences);
    }
    let Judgement { unlisted, listed, stale } = judge(differences, deviations::DEVIATIONS);
    Ok(Report { differences: unlisted, listed, stale, ..report })
}

/// One session from its project to the removal of it, which happens whatever comes before; and what failed.
async fn play(
    real: &RealCloud,
    admin: &Administrator,
    site: &Value,
    plan: &Plan,
) -> anyhow::Result<(Session, Vec<String>)> {
    let mut shared = plan.shared.clone();
    if let Some(shared) = shared.as_object_mut() {
        let run = uuid::Uuid::new_v4().simple().to_string();
        let run = run.get(..8).unwrap_or(&run);
        shared.insert("project".to_owned(), json!(format!("differential-{}-{run}", plan.name)));
        shared.insert("password".to_owned(), json!(format!("secret-{run}")));
    }
    let start =
        Start { name: plan.name, catalog: &admin.catalog, region: &real.region, site: site.clone(), shared };
    let mut session = Session::new(admin.wire.clone(), &start)?;
    let played = play_scripts(&mut session, plan).await;
    let played = played.with_context(|| format!("the session {:?}", plan.name));
    let removed = estate::remove(admin, &session).await;
    let removed = removed.with_context(|| format!("remove what the session {:?} made", plan.name));
    let failures = [played.err(), removed.err()].into_iter().flatten().map(|error| format!("{error:#}"));
    Ok((session, failures.collect()))
}

async fn play_scripts(session: &mut Session, plan: &Plan) -> anyhow::Result<()> {
    for text in [ESTATE].iter().chain(&plan.scripts) {
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
            for text in [ESTATE].iter().chain(&plan.scripts) {
                let steps = script::parse(text).unwrap_or_else(|error| panic!("{}: {error:#}", plan.name));
                assert!(!steps.is_empty());
            }
        }
    }
}
