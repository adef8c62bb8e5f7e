//! Escapes text from a cluster or a cloud, so that it cannot control a terminal. Pure.
//!
//! A name, an annotation, an event or an error message may contain escape sequences that move the cursor, rename the window or change what
//! the reader sees, and characters that change the order of the text. Text printed for people is escaped. The `json` and `yaml` formats
//! stay exact: there such a character is written as a JSON escape sequence, which denotes the same character.

use std::borrow::Cow;

/// Escapes text of several lines: every character that a terminal interprets is written as `\u{..}`. Line breaks stay.
#[must_use]
pub fn escaped(text: &str) -> Cow<'_, str> {
    escape(text, |character| character != '\n' && is_obeyed(character))
}

/// Escapes text that must stay on one line: a line break is written as `\n`, so that the text cannot add lines of its own.
#[must_use]
pub fn one_line(text: &str) -> Cow<'_, str> {
    escape(text, is_obeyed)
}

/// A line of a report, including its line break.
#[must_use]
pub fn line_of(text: impl AsRef<str>) -> String {
    format!("{}\n", one_line(text.as_ref()))
}

/// Escapes JSON text: every character that a terminal interprets is written as `\uXXXX`. Outside of strings JSON has no such characters
/// except line breaks, which stay, so the parsed values are unchanged.
#[must_use]
pub fn escaped_json(text: &str) -> Cow<'_, str> {
    if !is_escaped(text) {
        return Cow::Borrowed(text);
    }
    let mut harmless = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if character != '\n' && is_obeyed(character) {
            let units = character.encode_utf16(&mut [0; 2]).to_vec();
            harmless.extend(units.iter().map(|unit| format!("\\u{unit:04x}")));
        } else {
            harmless.push(character);
        }
    }
    Cow::Owned(harmless)
}

/// Whether [`escaped`] changes a text.
#[must_use]
pub fn is_escaped(text: &str) -> bool {
    text.contains(|character| character != '\n' && is_obeyed(character))
}

/// Whether a terminal, or software that lays out its text, interprets this character instead of showing it.
fn is_obeyed(character: char) -> bool {
    character.is_control() // C0, DEL and C1, of which ESC and CSI are two
        || matches!(
            character,
            '\u{061C}' // marks, embeddings, overrides and isolates of direction
                | '\u{200B}'..='\u{200F}' // and characters without width
                | '\u{2028}'..='\u{202E}' // separators of lines and paragraphs
                | '\u{2060}'..='\u{206F}'
                | '\u{FEFF}'
                | '\u{FFF9}'..='\u{FFFB}'
                | '\u{E0000}'..='\u{E007F}'
        )
}

fn escape(text: &str, is_escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut harmless = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match character {
            '\n' if is_escaped('\n') => harmless.push_str("\\n"),
            _ if is_escaped(character) => harmless.extend(character.escape_unicode()),
            _ => harmless.push(character),
        }
    }
    Cow::Owned(harmless)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_terminal_obeys_is_left() {
        // ESC and its 8-bit form CSI, the title of a window (OSC .. BEL), DEL, a carriage return, direction overrides and isolates.
        let attacks = [
            "\u{1b}[2J\u{1b}[H",
            "\u{9b}31m",
            "\u{1b}]0;owned\u{7}",
            "a\u{7f}",
            "hidden\rshown",
            "\u{202e}txt.exe",
            "\u{2066}x\u{2069}",
            "\u{61c}",
            "\u{200b}",
            "\u{2028}",
            "\u{feff}",
            "\u{e0041}",
            "\0",
            "\t",
        ];
        for attack in attacks {
            for harmless in [escaped(attack), one_line(attack)] {
                assert!(!harmless.chars().any(is_obeyed), "{attack:?}: {harmless:?}");
                assert!(harmless.contains("\\u{"), "it is shown that something was there: {harmless:?}");
            }
        }
        for code in (0..=0x9f).filter_map(char::from_u32).filter(|one| one.is_control() && *one != '\n') {
            assert!(!escaped(&code.to_string()).contains(code), "{code:?}");
        }
        assert_eq!(one_line("\u{1b}[31m"), "\\u{1b}[31m");
    }

    #[test]
    fn json_means_the_same_and_holds_nothing_that_a_terminal_obeys() {
        let value = serde_json::json!({ "a\u{9b}": "\u{1b}[2J\u{7f}\u{85}\u{202e}x\u{2066}\u{feff}\u{e0041}\n\t", "b": "Größe 😀" });
        let text = serde_json::to_string_pretty(&value).unwrap();
        assert!(is_escaped(&text), "serde_json escapes what is below 0x20 only");
        let harmless = escaped_json(&text);
        assert!(!is_escaped(&harmless), "{harmless:?}");
        assert!(harmless.contains("\\u009b") && harmless.contains("\\udb40\\udc41"), "{harmless}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&harmless).unwrap(), value);
        assert!(matches!(escaped_json("{\n}"), Cow::Borrowed("{\n}")));
    }

    #[test]
    fn a_line_stays_one_line_and_other_text_is_not_touched() {
        assert_eq!(one_line("a\nService b settled"), "a\\nService b settled");
        assert_eq!(escaped("a\nb"), "a\nb");
        assert_eq!(line_of("a\nb"), "a\\nb\n");
        for plain in ["", "web", "Größe 5 → ✓ 日本語 \\n \"x\" 😀"] {
            assert!(matches!(escaped(plain), Cow::Borrowed(text) if text == plain));
            assert!(matches!(one_line(plain), Cow::Borrowed(text) if text == plain));
        }
    }
}
