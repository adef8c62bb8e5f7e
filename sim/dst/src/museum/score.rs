//! Whether the pieces are found: each is run from seed to seed until a rule is broken.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use super::{Piece, case};
use crate::invariants::{Rule, Violation};
use crate::report::Report;

/// What came of the hunt for a piece.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Which piece.
    pub piece: Piece,
    /// After how many seeds it was found, and what was broken; none if it was not.
    pub found: Option<(u64, Violation)>,
}

impl Finding {
    /// Whether it was found, by a rule by which it should be.
    #[must_use]
    pub fn is_right(&self) -> bool {
        self.found.as_ref().is_some_and(|(_, violation)| self.piece.card().rules.contains(&violation.rule))
    }

    /// By which rule it was found.
    #[must_use]
    pub fn rule(&self) -> Option<Rule> {
        self.found.as_ref().map(|(_, violation)| violation.rule)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let card = self.piece.card();
        match &self.found {
            Some((seeds, violation)) => {
                let rule = format!("{:?}", violation.rule);
                write!(out, "{seeds:>2} seeds {rule:<4}{} ({})", card.title, card.source)
            }
            None => write!(out, "NOT FOUND in {} seeds: {} ({})", card.seeds, card.title, card.source),
        }
    }
}

/// Runs a piece from seed to seed until it is found, as often as its card says at most.
#[must_use]
pub fn hunt(piece: Piece) -> Finding {
    let found = (1..=piece.card().seeds).find_map(|seed| {
        let report = crate::run(&piece.case(seed));
        report.violations.first().map(|violation| (seed, violation.clone()))
    });
    Finding { piece, found }
}

/// Runs the cases of a piece without it, for the seeds that were needed to find it. Gives what was not sound.
#[must_use]
pub fn is_sound_without(piece: Piece, seeds: u64) -> Option<Report> {
    (1..=seeds).map(|seed| crate::run(&case(piece, seed))).find(|report| !report.is_sound())
}

/// Hunts for all of them, in as many threads as said.
#[must_use]
pub fn score(threads: usize) -> Vec<Finding> {
    each_piece(threads, hunt)
}

/// Does something for each piece, in as many threads as said; the answers stand in the order of the pieces.
pub fn each_piece<T: Send>(threads: usize, task: impl Fn(Piece) -> T + Sync) -> Vec<T> {
    let (next, answers) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(piece) = Piece::ALL.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let answer = task(*piece);
                    answers.lock().push((*piece, answer));
                }
            });
        }
    });
    let mut answers = answers.into_inner();
    answers.sort_by_key(|(piece, _)| *piece);
    answers.into_iter().map(|(_, answer)| answer).collect()
}
