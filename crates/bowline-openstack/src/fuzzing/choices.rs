//! Bytes as decisions: whoever makes something up asks here. The same bytes give the same thing; when they end, the first choice
//! is taken, so that every beginning is a whole input too.

use std::str::FromStr;

/// Decisions, one byte after the other.
#[derive(Debug, Clone)]
pub struct Choices<'a>(std::slice::Iter<'a, u8>);

impl<'a> Choices<'a> {
    /// Decisions that these bytes make.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes.iter())
    }

    fn byte(&mut self) -> u8 {
        self.0.next().copied().unwrap_or_default()
    }

    /// A number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        usize::from(self.byte()).checked_rem(end).unwrap_or_default()
    }

    /// Yes, once in so many times.
    pub fn once_in(&mut self, times: usize) -> bool {
        // The last one, so that it is no where the bytes have ended.
        self.below(times) + 1 == times
    }

    /// One of these.
    #[expect(clippy::indexing_slicing, reason = "the number is below the length, and there is one")]
    pub fn of<T: Clone, const N: usize>(&mut self, all: &[T; N]) -> T {
        const { assert!(N > 0) };
        all[self.below(N)].clone()
    }

    /// Any of these, in their order.
    pub fn some_of<T: Clone>(&mut self, all: &[T], once_in: usize) -> Vec<T> {
        all.iter().filter(|_one| self.once_in(once_in)).cloned().collect()
    }

    /// So many bytes as they are, read as text.
    pub fn text(&mut self, most: usize) -> String {
        let length = self.below(most + 1);
        let bytes: Vec<u8> = self.0.by_ref().take(length).copied().collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Puts a list into another order.
    pub fn shuffle<T>(&mut self, all: &mut [T]) {
        for end in (1..all.len()).rev() {
            all.swap(end, self.below(end + 1));
        }
    }
}

/// An id that is written in this module.
#[expect(clippy::expect_used, reason = "who makes things up for a test writes ids that are some")]
pub(super) fn id<T: FromStr>(text: &str) -> T {
    text.parse().ok().expect("an id")
}
