//! Text for the reasons of steps.

use std::fmt::Display;

/// How many names a reason lists; the rest is given as a number.
const NAMED: usize = 5;

/// Joins the names, at most [`NAMED`] of them.
pub(super) fn few<T: AsRef<str>>(names: &[T]) -> String {
    let told: Vec<&str> = names.iter().take(NAMED).map(AsRef::as_ref).collect();
    match names.len().saturating_sub(NAMED) {
        0 => told.join(", "),
        more => format!("{} and {more} more", told.join(", ")),
    }
}

/// The differences between the observed and the wanted state of one object.
#[derive(Default)]
pub(super) struct Differences(Vec<String>);

impl Differences {
    /// Compares a field. Returns the wanted value and records the difference if it differs.
    pub(super) fn of<T: PartialEq + Display + Clone>(
        &mut self,
        what: &str,
        found: &T,
        wanted: &T,
    ) -> Option<T> {
        (found != wanted).then(|| {
            self.tell(what, found, wanted);
            wanted.clone()
        })
    }

    /// Records a difference.
    pub(super) fn tell(&mut self, what: &str, found: impl Display, wanted: impl Display) {
        self.0.push(format!("{what} is {found}, {wanted} is wanted"));
    }

    /// The reason for an update of the object `of`; `None` if nothing differs.
    pub(super) fn reason(self, of: &str) -> Option<String> {
        (!self.0.is_empty()).then(|| format!("{of}: {}", self.0.join("; ")))
    }
}
