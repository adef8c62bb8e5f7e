//! Reasons in words for a person.

use std::fmt::Display;

/// How many names are told; of more only their number.
const NAMED: usize = 5;

/// Names in a row, not too many.
pub(super) fn few<T: AsRef<str>>(names: &[T]) -> String {
    let told: Vec<&str> = names.iter().take(NAMED).map(AsRef::as_ref).collect();
    match names.len().saturating_sub(NAMED) {
        0 => told.join(", "),
        more => format!("{} and {more} more", told.join(", ")),
    }
}

/// What differs between what was found and what is wanted.
#[derive(Default)]
pub(super) struct Differences(Vec<String>);

impl Differences {
    /// The wanted value, if it is not the one that was found.
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

    /// Something differs.
    pub(super) fn tell(&mut self, what: &str, found: impl Display, wanted: impl Display) {
        self.0.push(format!("{what} is {found}, {wanted} is wanted"));
    }

    /// All of them, unless there is none.
    pub(super) fn reason(self, of: &str) -> Option<String> {
        (!self.0.is_empty()).then(|| format!("{of}: {}", self.0.join("; ")))
    }
}
