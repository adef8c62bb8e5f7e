//! The text format of cloud.conf: the dialect of gcfg 1.2.3, which resembles git's. Read without loss, never refused as a
//! whole: a line that is wrong becomes [`ItemKind::Broken`] and a [`SyntaxError`], and reading goes on after it, so that all
//! errors are known at once. Knows no section and no key by name.
//!
//! The text may hold passwords: it is zeroised, no `Debug` shows it, and no error quotes more than one character of it.

mod cursor;
mod document;
mod error;
mod fold;
mod parse;
mod value;

#[cfg(test)]
mod golden;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

pub use self::document::{Document, Entry, Item, ItemKind, Section, Value};
pub use self::error::{Position, Span, Syntax, SyntaxError};
pub use self::fold::equal_fold;
pub use self::parse::{parse, text_of};
