//! Values and sub-sections: quotes, escapes, continuations, and what is trimmed. Never interprets what it reads.

use zeroize::Zeroizing;

use super::cursor::{Cursor, begins_comment, is_blank};
use super::document::Value;
use super::error::Syntax;
use super::parse::Wrong;

/// A value, from behind the `=` to the end of the line or a comment.
pub(super) fn value(cursor: &mut Cursor<'_>) -> Result<Value, Wrong> {
    cursor.skip_blanks();
    let position = cursor.position();
    let mut text = Zeroizing::new(String::new());
    // How much of the text stays when blanks at the end are trimmed.
    let mut kept = 0;
    let mut quoted = false;
    let mut last_is_blank = true;
    loop {
        match cursor.peek() {
            None | Some('\n') if quoted => return Err((position, Syntax::NotTerminated)),
            None | Some('\n') => break,
            Some(c) if !quoted && begins_comment(c) => break,
            Some(_) => {}
        }
        let Some(c) = cursor.next() else { break };
        match c {
            '"' => quoted = !quoted,
            '\\' if quoted => text.push(escaped(cursor, |c| unescaped(c).or(letter_escape(c)))?),
            '\\' => {
                cursor.eat('\r');
                match cursor.next() {
                    Some('\n') => {}
                    Some('"') => text.push('"'),
                    _ => return Err((position, Syntax::LoneBackslash)),
                }
            }
            '\r' => {}
            other => text.push(other),
        }
        last_is_blank = is_blank(c);
        if quoted || !last_is_blank {
            kept = text.len();
        }
    }
    text.truncate(kept);
    let touches_comment = !last_is_blank && cursor.peek().is_some_and(begins_comment);
    Ok(Value { position, text, touches_comment })
}

/// The quoted name in a section's header.
pub(super) fn subsection(cursor: &mut Cursor<'_>) -> Result<String, Wrong> {
    let position = cursor.position();
    cursor.eat('"');
    let mut name = String::new();
    loop {
        if matches!(cursor.peek(), None | Some('\n')) {
            return Err((position, Syntax::NotTerminated));
        }
        match cursor.next() {
            Some('"') | None => break,
            Some('\\') => name.push(escaped(cursor, unescaped)?),
            Some(other) => name.push(other),
        }
    }
    if name.is_empty() {
        return Err((position, Syntax::EmptySubsection));
    }
    Ok(name)
}

fn escaped(cursor: &mut Cursor<'_>, meaning: impl Fn(char) -> Option<char>) -> Result<char, Wrong> {
    let found = cursor.peek().and_then(meaning).ok_or_else(|| (cursor.position(), Syntax::UnknownEscape))?;
    cursor.next();
    Ok(found)
}

fn unescaped(c: char) -> Option<char> {
    matches!(c, '\\' | '"').then_some(c)
}

fn letter_escape(c: char) -> Option<char> {
    match c {
        'n' => Some('\n'),
        't' => Some('\t'),
        _ => None,
    }
}
