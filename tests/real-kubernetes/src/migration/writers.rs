//! Never two writers: what the order of their requests says.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::migration::request::{Request, Side, Writer};

/// What is wrong with who wrote when. The requests of a process are one block: once another one has written, it never writes again.
/// The managers follow each other in this order and no other: the old one, the new one and, after a way back, the old one.
#[must_use]
pub fn two_writers(requests: &[Request], goes_back: bool) -> Vec<String> {
    let mut over: BTreeSet<&Writer> = BTreeSet::new();
    let mut last: Option<&Request> = None;
    let mut found = Vec::new();
    for request in requests {
        let before = last.replace(request);
        let Some(before) = before.filter(|before| before.writer != request.writer) else { continue };
        over.insert(&before.writer);
        if over.contains(&request.writer) {
            found.push(format!("{request}, after another one had written: {before}"));
        }
    }
    let sides = sides(requests);
    let most: &[Side] = if goes_back { &[Side::Old, Side::New, Side::Old] } else { &[Side::Old, Side::New] };
    if !is_part(&sides, most) {
        found.push(format!("the managers wrote in the order {sides:?}; wanted no more than {most:?}"));
    }
    found
}

/// A time during which a process could have written whenever it liked.
#[derive(Debug, Clone)]
pub struct Life {
    /// Who.
    pub writer: Writer,
    /// From when.
    pub from: Duration,
    /// Until when; `None` if it still can.
    pub until: Option<Duration>,
}

/// Requests of the new manager at a time when one that heeds no Lease of ours could have written, whether it did or not.
#[must_use]
pub fn beside(requests: &[Request], lives: &[Life]) -> Vec<String> {
    let could = |request: &Request, life: &&Life| {
        life.from <= request.at && life.until.is_none_or(|until| request.at <= until)
    };
    let new = requests.iter().filter(|request| request.writer.side == Side::New);
    new.filter_map(|request| lives.iter().find(|life| could(request, life)).map(|life| (request, life)))
        .map(|(request, life)| format!("{request}, while {} could write: {life:?}", life.writer))
        .collect()
}

/// Who wrote one after the other.
fn sides(requests: &[Request]) -> Vec<Side> {
    let mut sides: Vec<Side> = requests.iter().map(|request| request.writer.side).collect();
    sides.dedup();
    sides
}

/// Whether `found` is left of `most` when some are taken away.
fn is_part(found: &[Side], most: &[Side]) -> bool {
    let mut rest = most.iter();
    found.iter().all(|side| rest.any(|next| next == side))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requests(who: &[(Side, &str)]) -> Vec<Request> {
        let request = |(place, (side, process)): (usize, &(Side, &str))| Request {
            at: Duration::from_secs(u64::try_from(place).unwrap()),
            writer: Writer { side: *side, process: (*process).to_owned() },
            method: "POST".to_owned(),
            path: "/v2.0/lbaas/loadbalancers".to_owned(),
            status: 201,
            name: None,
            id: None,
        };
        who.iter().enumerate().map(request).collect()
    }

    #[test]
    fn one_after_the_other_is_well() {
        use Side::{New, Old};
        assert!(two_writers(&[], false).is_empty());
        let there = [(Old, "a"), (Old, "a"), (Old, "b"), (New, "c"), (New, "d")];
        assert!(two_writers(&requests(&there), false).is_empty());
        assert!(two_writers(&requests(&[(New, "c")]), false).is_empty());
    }

    #[test]
    fn a_process_that_writes_again_after_another_one_is_found() {
        use Side::{New, Old};
        let found = two_writers(&requests(&[(Old, "a"), (Old, "b"), (Old, "a")]), false);
        assert!(found.len() == 1 && found[0].starts_with("2.000 s old a"), "{found:?}");
        let found = two_writers(&requests(&[(Old, "a"), (New, "c"), (Old, "a")]), true);
        assert_eq!(found.len(), 1, "not even on a way back: {found:?}");
    }

    #[test]
    fn the_old_manager_writes_again_only_after_a_way_back() {
        use Side::{New, Old};
        let back = requests(&[(Old, "a"), (New, "c"), (Old, "b")]);
        assert!(two_writers(&back, true).is_empty());
        assert_eq!(two_writers(&back, false).len(), 1);
        let twice = requests(&[(Old, "a"), (New, "c"), (Old, "b"), (New, "d")]);
        assert_eq!(two_writers(&twice, true).len(), 1);
    }

    #[test]
    fn the_new_one_never_writes_while_one_could_that_heeds_no_lease() {
        let writer = Writer { side: Side::Old, process: "inside".to_owned() };
        let life = |from: u64, until: Option<u64>| Life {
            writer: writer.clone(),
            from: Duration::from_secs(from),
            until: until.map(Duration::from_secs),
        };
        let all =
            requests(&[(Side::Old, "inside"), (Side::New, "a"), (Side::New, "a"), (Side::Old, "inside")]);
        assert!(beside(&all, &[life(0, Some(0)), life(3, None)]).is_empty());
        assert_eq!(beside(&all, &[life(0, Some(1)), life(3, None)]).len(), 1);
        assert_eq!(beside(&all, &[life(0, None)]).len(), 2);
    }
}
