//! A place that moves through a text, character by character. Decides nothing.

use unicode_general_category::{GeneralCategory, get_general_category};

use super::error::{Position, Span};

/// A place in a text.
#[derive(Clone)]
pub(super) struct Cursor<'a> {
    text: &'a str,
    offset: usize,
    line: usize,
    line_start: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, offset: 0, line: 1, line_start: 0 }
    }

    pub(super) fn offset(&self) -> usize {
        self.offset
    }

    pub(super) fn position(&self) -> Position {
        Position { line: self.line, column: self.slice(self.line_start).chars().count() + 1 }
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.text.get(self.offset..)?.chars().next()
    }

    /// The character here, and a step on.
    pub(super) fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.offset += next.len_utf8();
        if next == '\n' {
            self.line += 1;
            self.line_start = self.offset;
        }
        Some(next)
    }

    /// Steps over the character if it is this one.
    pub(super) fn eat(&mut self, wanted: char) -> bool {
        let there = self.peek() == Some(wanted);
        if there {
            self.next();
        }
        there
    }

    /// The text from `start` to here.
    pub(super) fn slice(&self, start: usize) -> &'a str {
        self.text.get(start..self.offset).unwrap_or_default()
    }

    pub(super) fn span(&self, start: usize) -> Span {
        Span { start, end: self.offset }
    }

    pub(super) fn skip_while(&mut self, wanted: impl Fn(char) -> bool) {
        while self.peek().is_some_and(&wanted) {
            self.next();
        }
    }

    pub(super) fn skip_blanks(&mut self) {
        self.skip_while(is_blank);
    }

    /// Blanks, and a comment up to the end of its line.
    pub(super) fn skip_blanks_and_comment(&mut self) {
        self.skip_blanks();
        if self.peek().is_some_and(begins_comment) {
            self.skip_while(|c| c != '\n');
        }
    }

    /// The rest of the line with its end.
    pub(super) fn skip_line(&mut self) {
        self.skip_while(|c| c != '\n');
        self.next();
    }

    /// A name, if one begins here.
    pub(super) fn name(&mut self) -> Option<&'a str> {
        let start = self.offset;
        if self.peek().is_some_and(is_letter) {
            self.skip_while(|c| is_letter(c) || is_digit(c) || c == '-');
        }
        Some(self.slice(start)).filter(|name| !name.is_empty())
    }
}

/// Carriage returns are blanks: files with the line ends of Windows work.
pub(super) fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r')
}

pub(super) fn begins_comment(c: char) -> bool {
    matches!(c, '#' | ';')
}

/// Unicode's category L; `char::is_alphabetic` holds more.
pub(super) fn is_letter(c: char) -> bool {
    use GeneralCategory as Category;
    if c.is_ascii() {
        return c.is_ascii_alphabetic();
    }
    matches!(
        get_general_category(c),
        Category::UppercaseLetter
            | Category::LowercaseLetter
            | Category::TitlecaseLetter
            | Category::ModifierLetter
            | Category::OtherLetter
    )
}

/// Unicode's category Nd; `char::is_numeric` holds more.
fn is_digit(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_digit();
    }
    get_general_category(c) == GeneralCategory::DecimalNumber
}
