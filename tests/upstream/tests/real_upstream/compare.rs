//! Lays two records side by side: which subjects differ, which of that is listed, and how much each side wrote.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::differences::KNOWN;
use crate::record::{Record, StageRecord, Write, summary};
use crate::seen::Seen;

/// A repeated event is counted so far: how often something is tried in some seconds is not the same twice.
const MOST_COUNTED: i32 = 1;

/// One subject that is not the same on both sides.
#[derive(Debug)]
struct Difference {
    stage: &'static str,
    subject: String,
    ours: String,
    theirs: String,
}

/// The outcome.
#[derive(Debug)]
pub(crate) struct Verdict {
    compared: usize,
    unlisted: Vec<Difference>,
    listed: Vec<Difference>,
    /// Rows of the list that did not occur.
    idle: Vec<&'static str>,
    writes: BTreeMap<Write, [usize; 2]>,
    calls: BTreeMap<String, [usize; 2]>,
}

impl Verdict {
    /// Whether everything is the same, or listed and so.
    pub(crate) fn is_clean(&self) -> bool {
        self.unlisted.is_empty() && self.idle.is_empty()
    }
}

/// Compares them.
pub(crate) fn compare(ours: &Record, theirs: &Record) -> Verdict {
    let mut all = Vec::new();
    let mut compared = 0;
    for (us, them) in ours.stages.iter().zip(&theirs.stages) {
        compared += differences(us.name, &subjects(us), &subjects(them), &mut all);
    }
    compared += differences("all stages", &told(&ours.events), &told(&theirs.events), &mut all);
    let writes = side_by_side(&ours.writes, &theirs.writes);
    let more = |resource: &str| {
        let sums = writes.iter().filter(|(write, _)| write.resource == resource);
        sums.fold([0, 0], |sum, (_, counts)| [sum[0] + counts[0], sum[1] + counts[1]])
    };
    for resource in writes.keys().map(|write| write.resource.clone()).collect::<BTreeSet<_>>() {
        let [us, them] = more(&resource);
        compared += 1;
        if us > them {
            let subject = format!("writes: {resource}");
            all.push(Difference {
                stage: "all stages",
                subject,
                ours: us.to_string(),
                theirs: them.to_string(),
            });
        }
    }
    let is_listed = |difference: &Difference| KNOWN.iter().any(|known| known.subject == difference.subject);
    let idle = KNOWN.iter().map(|known| known.subject);
    let idle = idle.filter(|subject| !all.iter().any(|found| found.subject == *subject)).collect();
    let (listed, unlisted) = all.into_iter().partition(is_listed);
    let calls = side_by_side(&counts(ours), &counts(theirs));
    Verdict { compared, unlisted, listed, idle, writes, calls }
}

fn subjects(stage: &StageRecord) -> Seen {
    let mut seen = stage.seen.clone();
    seen.extend(summary(&stage.calls));
    seen.insert("the stage: came to its end".to_owned(), stage.arrived.to_string());
    seen
}

fn told(events: &BTreeMap<String, i32>) -> Seen {
    let capped = |count: &i32| if *count > MOST_COUNTED { "often" } else { "told" };
    events
        .iter()
        .map(|(event, count)| (format!("event {event}"), capped(count).replace("often", "told")))
        .collect()
}

fn counts(record: &Record) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for call in record.stages.iter().flat_map(|stage| &stage.calls) {
        let outcome = if call.failed { " (failed)" } else { "" };
        *counts.entry(format!("{}{outcome}", call.op)).or_default() += 1;
    }
    counts
}

/// Adds what differs; answers how much was compared.
fn differences(stage: &'static str, ours: &Seen, theirs: &Seen, found: &mut Vec<Difference>) -> usize {
    let subjects: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
    for subject in &subjects {
        let side = |seen: &Seen| seen.get(*subject).map_or("(not there)", String::as_str).to_owned();
        let (ours, theirs) = (side(ours), side(theirs));
        if ours != theirs {
            found.push(Difference { stage, subject: (*subject).clone(), ours, theirs });
        }
    }
    subjects.len()
}

fn side_by_side<K: Ord + Clone>(
    ours: &BTreeMap<K, usize>,
    theirs: &BTreeMap<K, usize>,
) -> BTreeMap<K, [usize; 2]> {
    let count = |counts: &BTreeMap<K, usize>, key: &K| counts.get(key).copied().unwrap_or_default();
    ours.keys()
        .chain(theirs.keys())
        .map(|key| (key.clone(), [count(ours, key), count(theirs, key)]))
        .collect()
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<44}{:>8}{:>10}", "writes to the API", "ours", "upstream")?;
        for (write, [us, them]) in &self.writes {
            writeln!(f, "{:<44}{us:>8}{them:>10}", format!("  {} {}", write.verb, write.resource))?;
        }
        writeln!(f, "{:<44}{:>8}{:>10}", "calls that change the cloud", "ours", "upstream")?;
        for (call, [us, them]) in &self.calls {
            writeln!(f, "  {call:<42}{us:>8}{them:>10}")?;
        }
        let known =
            |subject: &str| KNOWN.iter().find(|known| known.subject == subject).map(|known| known.because);
        writeln!(f, "{} subjects compared", self.compared)?;
        writeln!(f, "{} differences that are listed:", self.listed.len())?;
        for difference in &self.listed {
            writeln!(f, "{difference}    because {}", known(&difference.subject).unwrap_or_default())?;
        }
        writeln!(f, "{} differences that are not listed:", self.unlisted.len())?;
        for difference in &self.unlisted {
            writeln!(f, "{difference}")?;
        }
        for idle in &self.idle {
            writeln!(f, "listed, and does not occur: {idle}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  [{}] {}", self.stage, self.subject)?;
        writeln!(f, "    ours:     {}", self.ours)?;
        writeln!(f, "    upstream: {}", self.theirs)
    }
}
