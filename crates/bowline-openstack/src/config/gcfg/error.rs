//! Where something stands in a text, and what is wrong there.

use std::fmt;

/// A place in a text, for people: both numbers begin at one, the column counts characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// A part of a text, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Where it begins.
    pub start: usize,
    /// Behind its last byte.
    pub end: usize,
}

/// A line that is not in the format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{position}: {problem}")]
pub struct SyntaxError {
    /// Where.
    pub position: Position,
    /// The key of the line, where one could be read.
    pub key: Option<String>,
    /// What.
    pub problem: Syntax,
}

/// What can be wrong with a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Syntax {
    /// A NUL.
    #[error("a NUL character, which no configuration may hold")]
    Nul,
    /// Bytes that are not UTF-8.
    #[error("bytes that are not UTF-8; save the file in UTF-8")]
    NotUtf8,
    /// The mark that some editors put in front of UTF-8.
    #[error("a byte order mark begins the file; save it as UTF-8 without one")]
    ByteOrderMark,
    /// A character that begins nothing.
    #[error(
        "the character {0:?} cannot stand here; names have letters, digits and '-' only, and begin with a letter"
    )]
    IllegalCharacter(char),
    /// A key, but no section yet.
    #[error("a section header such as [Global] has to come first")]
    NoSection,
    /// Neither a header nor a key.
    #[error("wanted a section header or a key here")]
    NoDeclaration,
    /// A header without a name.
    #[error("the section header has no name; wanted [Name] or [Name \"sub-section\"]")]
    NoSectionName,
    /// A header with something else than a quoted name behind its name.
    #[error("wanted ']' or a sub-section in double quotes after the section's name")]
    NoBracketOrSubsection,
    /// A header that is not closed.
    #[error("wanted ']' after the sub-section")]
    NoBracket,
    /// A sub-section without a name.
    #[error("the sub-section's name is empty; leave the quotes out, or name it")]
    EmptySubsection,
    /// Something behind a header.
    #[error("wanted the end of the line or a comment after the section header")]
    NoLineEnd,
    /// Something else than a value behind a key.
    #[error("wanted '=' after the key")]
    NoAssignment,
    /// Quotes that are not closed.
    #[error("the double quote is not closed before the line ends; write a line break as \\n")]
    NotTerminated,
    /// An escape that is none, inside quotes.
    #[error(
        "unknown escape; inside double quotes these exist: \\\\ \\\" \\n \\t (in a sub-section \\\\ and \\\" only)"
    )]
    UnknownEscape,
    /// A backslash outside quotes.
    #[error(
        "a backslash outside double quotes has to end the line or stand before a double quote; put the value into double quotes and write \\\\"
    )]
    LoneBackslash,
}
