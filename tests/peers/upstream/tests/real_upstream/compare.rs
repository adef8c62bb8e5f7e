//! Lays two records side by side: which subjects differ, which of that is listed, and how much each side wrote.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::differences::{KNOWN, Known, matches, reason};
use crate::record::{Record, StageRecord, Write, kinds, leave};
use crate::seen::Seen;

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
    let (mut our_cloud, mut their_cloud) = (Seen::new(), Seen::new());
    for (us, them) in ours.stages.iter().zip(&theirs.stages) {
        leave(&us.calls, &mut our_cloud);
        leave(&them.calls, &mut their_cloud);
        compared += differences(us.name, &subjects(us, &our_cloud), &subjects(them, &their_cloud), &mut all);
    }
    compared += differences("all stages", &told(&ours.events), &told(&theirs.events), &mut all);
    let writes = side_by_side(&ours.writes, &theirs.writes);
    let more = |resource: &str| {
        let sums = writes.iter().filter(|(write, _)| write.resource == resource && !write.refused);
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
    let rows = || KNOWN.iter().flat_map(|known| known.subjects.iter().map(move |subject| (known, *subject)));
    let occurs = |(known, subject): (&Known, &str)| {
        all.iter().any(|found| matches(subject, &found.subject) && known.covers(found.stage, &found.subject))
    };
    let idle = rows().filter(|row| !occurs(*row)).map(|(_, subject)| subject).collect();
    let (listed, unlisted) = all.into_iter().partition(|found| reason(found.stage, &found.subject).is_some());
    let calls = side_by_side(&counts(ours), &counts(theirs));
    Verdict { compared, unlisted, listed, idle, writes, calls }
}

fn subjects(stage: &StageRecord, cloud: &Seen) -> Seen {
    let mut seen = stage.seen.clone();
    seen.extend(cloud.clone());
    seen.extend(kinds(&stage.calls));
    seen.insert("the stage: came to its end".to_owned(), stage.arrived.to_string());
    seen
}

/// That it was told, not how often: the number of tries in some seconds is not the same twice.
fn told(events: &BTreeMap<String, i32>) -> Seen {
    events.keys().map(|event| (format!("event {event}"), "told".to_owned())).collect()
}

fn counts(record: &Record) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for call in record.stages.iter().flat_map(|stage| &stage.calls) {
        let outcome = if call.failed { " (failed)" } else { "" };
        *counts.entry(format!("{}{outcome}", call.op)).or_default() += 1;
    }
    counts
}

/// Adds what differs; answers how much was compared. Of what only one side has, it says only that.
fn differences(stage: &'static str, ours: &Seen, theirs: &Seen, found: &mut Vec<Difference>) -> usize {
    let subjects: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
    for subject in &subjects {
        let existence = format!("{}: exists", subject.split(": ").next().unwrap_or_default());
        if **subject != existence && ours.contains_key(&existence) != theirs.contains_key(&existence) {
            continue;
        }
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
            let refused = if write.refused { " (refused)" } else { "" };
            let what = format!("  {} {}{refused}", write.verb, write.resource);
            writeln!(f, "{what:<44}{us:>8}{them:>10}")?;
        }
        writeln!(f, "{:<44}{:>8}{:>10}", "calls that change the cloud", "ours", "upstream")?;
        for (call, [us, them]) in &self.calls {
            writeln!(f, "  {call:<42}{us:>8}{them:>10}")?;
        }
        writeln!(f, "{} subjects compared", self.compared)?;
        writeln!(f, "{} differences that are listed:", self.listed.len())?;
        let mut by_reason: BTreeMap<&str, BTreeMap<&str, Vec<&str>>> = BTreeMap::new();
        for Difference { stage, subject, .. } in &self.listed {
            let because = reason(stage, subject).unwrap_or_default();
            by_reason.entry(because).or_default().entry(subject).or_default().push(stage);
        }
        for (because, subjects) in by_reason {
            writeln!(f, "  because {because}")?;
            for (subject, stages) in subjects {
                writeln!(f, "    {subject} [{}]", stages.join("; "))?;
            }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn record(taints: &str, node_writes: usize) -> Record {
        let seen = Seen::from([("node a: taints".to_owned(), taints.to_owned())]);
        let stage = StageRecord { name: "a stage", arrived: true, seen, calls: Vec::new() };
        let write = Write { resource: "nodes".to_owned(), verb: "patch".to_owned(), refused: false };
        Record {
            stages: vec![stage],
            events: BTreeMap::new(),
            writes: BTreeMap::from([(write, node_writes)]),
        }
    }

    fn unlisted(ours: &Record, theirs: &Record) -> Vec<String> {
        compare(ours, theirs).unlisted.into_iter().map(|difference| difference.subject).collect()
    }

    #[test]
    fn what_differs_and_is_not_listed_is_found() {
        assert!(unlisted(&record("x", 1), &record("x", 1)).is_empty());
        assert_eq!(unlisted(&record("x", 1), &record("y", 1)), ["node a: taints"]);
    }

    #[test]
    fn more_writes_than_upstream_are_a_difference_and_fewer_are_not() {
        assert_eq!(unlisted(&record("x", 2), &record("x", 1)), ["writes: nodes"]);
        assert!(unlisted(&record("x", 1), &record("x", 2)).is_empty());
    }

    #[test]
    fn a_listed_difference_that_does_not_occur_is_a_fault_of_the_list() {
        let verdict = compare(&record("x", 1), &record("x", 1));
        assert!(!KNOWN.is_empty() && !verdict.is_clean());
        assert_eq!(verdict.idle.len(), KNOWN.iter().map(|known| known.subjects.len()).sum::<usize>());
    }
}
