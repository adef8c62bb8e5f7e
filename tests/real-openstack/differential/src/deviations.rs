//! Known differences between the simulator and the real services: the form of the tables, and the judgement by them.

use crate::compare::Difference;

/// A known difference: exchanges and places (a star stands for any text), and why.
#[derive(Clone, Copy, Debug)]
pub struct Deviation {
    exchange: &'static str,
    place: &'static str,
    reason: &'static str,
    always: bool,
}

impl Deviation {
    /// A difference that every run shows.
    #[must_use]
    pub const fn always(exchange: &'static str, place: &'static str, reason: &'static str) -> Self {
        Self { exchange, place, reason, always: true }
    }

    /// A difference that depends on chance or on how quick the real cloud is.
    #[must_use]
    pub const fn sometimes(exchange: &'static str, place: &'static str, reason: &'static str) -> Self {
        Self { exchange, place, reason, always: false }
    }

    fn covers(&self, difference: &Difference) -> bool {
        matches(self.exchange, &difference.exchange) && matches(self.place, &difference.place)
    }
}

fn matches(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        Some((start, end)) => {
            text.starts_with(start) && text.ends_with(end) && text.len() >= start.len() + end.len()
        }
        None => pattern == text,
    }
}

/// Differences, sorted by whether a table lists them.
#[derive(Clone, Debug, Default)]
pub struct Judgement {
    /// Not listed: the simulator is wrong, or a row is missing.
    pub unlisted: Vec<Difference>,
    /// Listed, with the reason.
    pub listed: Vec<(Difference, &'static str)>,
    /// Rows that no difference needs any more.
    pub stale: Vec<String>,
}

/// Judges differences by a table.
#[must_use]
pub fn judge(differences: impl IntoIterator<Item = Difference>, table: &[Deviation]) -> Judgement {
    let mut judgement = Judgement::default();
    let mut unused: Vec<&Deviation> = table.iter().filter(|row| row.always).collect();
    for difference in differences {
        match table.iter().find(|row| row.covers(&difference)) {
            Some(row) => {
                unused.retain(|other| !std::ptr::eq(*other, row));
                judgement.listed.push((difference, row.reason));
            }
            None => judgement.unlisted.push(difference),
        }
    }
    let stale =
        |row: &&Deviation| format!("no longer differs: {} at {} ({})", row.exchange, row.place, row.reason);
    judgement.stale = unused.iter().map(stale).collect();
    judgement
}
