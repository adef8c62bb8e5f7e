//! From a text to a document, line by line.

use zeroize::Zeroizing;

use super::cursor::{Cursor, begins_comment, is_letter};
use super::document::{Document, Entry, Item, ItemKind, Section};
use super::error::{Position, Syntax, SyntaxError};
use super::value;

/// What is wrong with a line, and where.
pub(super) type Wrong = (Position, Syntax);

/// Which section the lines belong to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Home {
    /// None yet.
    None,
    /// The one of the last header.
    Section,
    /// The last header is wrong.
    Unknown,
}

/// Reads a text. Total: whatever is wrong is in [`Document::errors`].
#[must_use]
pub fn parse(text: &str) -> Document {
    let mut cursor = Cursor::new(text);
    let mut home = Home::None;
    let (mut items, mut errors) = (Vec::new(), Vec::new());
    while cursor.peek().is_some() {
        let (start, from) = (cursor.offset(), cursor.clone());
        let mut key = None;
        let read = item(&mut cursor, home, &mut key).and_then(|kind| match cursor.slice(start).find('\0') {
            Some(nul) => Err((place(&from, start + nul), Syntax::Nul)),
            None => Ok(kind),
        });
        let header = from.clone().begins_header();
        let kind = read.unwrap_or_else(|(position, problem)| {
            // A value that went wrong on a later line has that line's end behind it already.
            if !cursor.slice(start).ends_with('\n') {
                cursor.skip_line();
            }
            errors.push(SyntaxError { position, key, problem });
            ItemKind::Broken
        });
        home = match (&kind, header) {
            (ItemKind::Section(_), _) => Home::Section,
            (ItemKind::Broken, true) => Home::Unknown,
            _ => home,
        };
        items.push(Item { span: cursor.span(start), kind });
    }
    Document { source: Zeroizing::new(text.to_owned()), items, errors }
}

/// The text that bytes are.
///
/// # Errors
///
/// Where they stop to be UTF-8.
pub fn text_of(bytes: &[u8]) -> Result<&str, SyntaxError> {
    std::str::from_utf8(bytes).map_err(|error| {
        let good = bytes.get(..error.valid_up_to()).and_then(|good| std::str::from_utf8(good).ok());
        let mut cursor = Cursor::new(good.unwrap_or_default());
        while cursor.next().is_some() {}
        SyntaxError { position: cursor.position(), key: None, problem: Syntax::NotUtf8 }
    })
}

fn place(from: &Cursor<'_>, offset: usize) -> Position {
    let mut cursor = from.clone();
    while cursor.offset() < offset && cursor.next().is_some() {}
    cursor.position()
}

impl Cursor<'_> {
    fn begins_header(mut self) -> bool {
        self.skip_blanks();
        self.peek() == Some('[')
    }

    /// The end of the line, which a comment may come before.
    fn line_end(&mut self, otherwise: Syntax) -> Result<(), Wrong> {
        self.skip_blanks_and_comment();
        match self.peek() {
            None => Ok(()),
            Some('\n') => {
                self.next();
                Ok(())
            }
            Some(_) => Err(self.wrong(otherwise)),
        }
    }

    /// What is wrong here: a character that begins nothing is told first.
    fn wrong(&self, otherwise: Syntax) -> Wrong {
        let problem = match self.peek() {
            Some('\0') => Syntax::Nul,
            Some('\u{feff}') if self.offset() == 0 => Syntax::ByteOrderMark,
            Some(c) if !is_letter(c) && !matches!(c, '"' | '[' | ']' | '=' | '\n' | '#' | ';') => {
                Syntax::IllegalCharacter(c)
            }
            _ => otherwise,
        };
        (self.position(), problem)
    }
}

fn item(cursor: &mut Cursor<'_>, home: Home, key: &mut Option<String>) -> Result<ItemKind, Wrong> {
    cursor.skip_blanks();
    match cursor.peek() {
        None | Some('\n') => {}
        Some(c) if begins_comment(c) => {}
        Some('[') => return header(cursor).map(ItemKind::Section),
        Some(c) if is_letter(c) => return entry(cursor, home, key),
        Some(_) if home == Home::None => return Err(cursor.wrong(Syntax::NoSection)),
        Some(_) => return Err(cursor.wrong(Syntax::NoDeclaration)),
    }
    cursor.line_end(Syntax::NoDeclaration)?;
    Ok(ItemKind::Blank)
}

fn header(cursor: &mut Cursor<'_>) -> Result<Section, Wrong> {
    cursor.eat('[');
    cursor.skip_blanks_and_comment();
    let position = cursor.position();
    let name = cursor.name().ok_or_else(|| cursor.wrong(Syntax::NoSectionName))?.to_owned();
    cursor.skip_blanks_and_comment();
    let subsection = match cursor.peek() {
        Some('"') => Some(value::subsection(cursor)?),
        _ => None,
    };
    cursor.skip_blanks_and_comment();
    if !cursor.eat(']') {
        let wanted = if subsection.is_some() { Syntax::NoBracket } else { Syntax::NoBracketOrSubsection };
        return Err(cursor.wrong(wanted));
    }
    cursor.line_end(Syntax::NoLineEnd)?;
    Ok(Section { position, name, subsection })
}

fn entry(cursor: &mut Cursor<'_>, home: Home, key: &mut Option<String>) -> Result<ItemKind, Wrong> {
    let position = cursor.position();
    let name = cursor.name().unwrap_or_default().to_owned();
    *key = Some(name.clone());
    if home == Home::None {
        return Err((position, Syntax::NoSection));
    }
    cursor.skip_blanks();
    let value = if cursor.eat('=') { Some(value::value(cursor)?) } else { None };
    cursor.line_end(Syntax::NoAssignment)?;
    let entry = Entry { position, key: name, value };
    Ok(if home == Home::Unknown { ItemKind::Homeless(entry) } else { ItemKind::Entry(entry) })
}
