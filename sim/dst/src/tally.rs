//! What many runs came to: how many, what struck, which kind of change met which kind of fault.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::fault::{Kind, Place};
use crate::report::Report;

/// A sum over runs.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Runs.
    pub runs: u64,
    /// Requests of all processes.
    pub requests: u64,
    /// Checks of invariants.
    pub checks: u64,
    /// Virtual time.
    pub virtual_seconds: f64,
    struck: BTreeMap<Kind, u64>,
    steps: BTreeMap<(String, Option<Kind>), u64>,
}

impl Tally {
    /// Adds a run.
    pub fn add(&mut self, report: &Report) {
        self.runs += 1;
        self.requests += report.counts.values().sum::<u64>();
        self.checks += report.checks;
        self.virtual_seconds += report.trace.lines().last().map_or(0.0, |line| line.at.as_secs_f64());
        for kind in report.struck.values() {
            *self.struck.entry(*kind).or_default() += 1;
        }
        for (step, count) in &report.steps {
            *self.steps.entry(step.clone()).or_default() += count;
        }
    }

    /// Adds another sum.
    pub fn merge(&mut self, other: Self) {
        self.runs += other.runs;
        self.requests += other.requests;
        self.checks += other.checks;
        self.virtual_seconds += other.virtual_seconds;
        for (kind, count) in other.struck {
            *self.struck.entry(kind).or_default() += count;
        }
        for (step, count) in other.steps {
            *self.steps.entry(step).or_default() += count;
        }
    }

    /// The kinds of change that were seen.
    fn changes(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.steps.keys().map(|(step, _)| step.as_str()).collect();
        names.dedup();
        names
    }

    /// What never met: a kind of change and a kind of fault that can strike it.
    #[must_use]
    pub fn never_met(&self) -> Vec<(String, Kind)> {
        let mut never = Vec::new();
        for step in self.changes() {
            for kind in Kind::ALL.into_iter().filter(|kind| kind.strikes(place_of(step))) {
                let balancers = matches!(kind, Kind::BalancerError | Kind::BalancerStuck);
                if balancers && !step.contains("/lbaas/") {
                    continue;
                }
                if !self.steps.contains_key(&(step.to_owned(), Some(kind))) {
                    never.push((step.to_owned(), kind));
                }
            }
        }
        never
    }

    /// The tables.
    #[must_use]
    pub fn tables(&self) -> String {
        let mut out = String::new();
        let write = "writing to a text does not fail";
        writeln!(out, "\nfaults injected, by kind").expect(write);
        for (kind, count) in &self.struck {
            writeln!(out, "  {count:>9}  {kind}").expect(write);
        }
        writeln!(
            out,
            "\nchanges by kind: how many without a fault, and how many times each fault struck them"
        )
        .expect(write);
        for step in self.changes() {
            let calm = self.steps.get(&(step.to_owned(), None)).copied().unwrap_or_default();
            let met: Vec<String> = Kind::ALL
                .into_iter()
                .filter_map(|kind| {
                    self.steps.get(&(step.to_owned(), Some(kind))).map(|count| format!("{kind} {count}"))
                })
                .collect();
            writeln!(out, "  {step}\n      {calm} without; {}", met.join(", ")).expect(write);
        }
        let never = self.never_met();
        writeln!(out, "\n{} pairs of change and fault never met", never.len()).expect(write);
        for (step, kind) in never.iter().take(20) {
            writeln!(out, "  {step}: {kind}").expect(write);
        }
        out
    }
}

fn place_of(step: &str) -> Place {
    if step.contains(" /") { Place::CloudEffect } else { Place::KubeEffect }
}
