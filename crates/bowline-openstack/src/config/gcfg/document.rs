//! A text that was read: its lines in order, with what each says. Printing it gives the text back.

use std::fmt;

use zeroize::Zeroizing;

use super::error::{Position, Span, SyntaxError};

/// A text that was read.
#[derive(Clone, PartialEq, Eq)]
pub struct Document {
    pub(super) source: Zeroizing<String>,
    pub(super) items: Vec<Item>,
    pub(super) errors: Vec<SyntaxError>,
}

/// One line with its end, or several that a value continues over. Items follow each other without gaps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// The part of the text.
    pub span: Span,
    /// What it says.
    pub kind: ItemKind,
}

/// What a line says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ItemKind {
    /// Nothing, or a comment only.
    Blank,
    /// A section begins.
    Section(Section),
    /// A key of the section before it.
    Entry(Entry),
    /// A key below a header that is wrong, so that nobody knows its section.
    Homeless(Entry),
    /// The line is wrong; the document's errors say how.
    Broken,
}

/// The header of a section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// Where the name stands.
    pub position: Position,
    /// Its name as it was written.
    pub name: String,
    /// The name in quotes behind it.
    pub subsection: Option<String>,
}

/// A key with or without a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Where the key stands.
    pub position: Position,
    /// The key as it was written.
    pub key: String,
    /// Its value; `None` if there is not even a `=`.
    pub value: Option<Value>,
}

/// A value without its quotes, escapes and continuations.
#[derive(Clone, PartialEq, Eq)]
pub struct Value {
    /// Where it begins.
    pub position: Position,
    /// What it is. May be a secret.
    pub text: Zeroizing<String>,
    /// Whether a comment follows right behind it, without a blank: perhaps it was meant to be a part of the value.
    pub touches_comment: bool,
}

impl Document {
    /// The lines.
    #[must_use]
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// What is wrong, in the order of the text.
    #[must_use]
    pub fn errors(&self) -> &[SyntaxError] {
        &self.errors
    }
}

impl fmt::Display for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |item: &Item| self.source.get(item.span.start..item.span.end).unwrap_or_default();
        self.items.iter().try_for_each(|item| f.write_str(text(item)))
    }
}

impl fmt::Debug for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Document")
            .field("items", &self.items)
            .field("errors", &self.errors)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Value").field("position", &self.position).finish_non_exhaustive()
    }
}
