//! An HTML writer that always escapes: tags and attribute names are constants of this program, everything else is escaped.

/// A fragment of HTML.
#[derive(Debug, Default)]
pub(super) struct Html(String);

/// The attributes of an element: constant names with any values.
pub(super) type Attributes<'a> = &'a [(&'static str, &'a str)];

/// Elements without content and end tag.
const VOID: [&str; 4] = ["br", "input", "meta", "link"];

impl Html {
    /// Writes an element with the content that `content` writes.
    pub(super) fn element(
        &mut self,
        tag: &'static str,
        attributes: Attributes<'_>,
        content: impl FnOnce(&mut Self),
    ) -> &mut Self {
        self.0.push('<');
        self.0.push_str(tag);
        for (name, value) in attributes {
            self.0.push(' ');
            self.0.push_str(name);
            self.0.push_str("=\"");
            escape(value, &mut self.0);
            self.0.push('"');
        }
        self.0.push('>');
        if !VOID.contains(&tag) {
            content(self);
            self.0.push_str("</");
            self.0.push_str(tag);
            self.0.push('>');
        }
        self
    }

    /// Writes an element that contains only text.
    pub(super) fn leaf(&mut self, tag: &'static str, attributes: Attributes<'_>, text: &str) -> &mut Self {
        self.element(tag, attributes, |inside| {
            inside.text(text);
        })
    }

    /// Writes an element without content.
    pub(super) fn empty(&mut self, tag: &'static str, attributes: Attributes<'_>) -> &mut Self {
        self.element(tag, attributes, |_nothing| {})
    }

    /// Writes escaped text.
    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        escape(text, &mut self.0);
        self
    }

    /// Writes constant HTML of this program without escaping. Never for input.
    pub(super) fn ours(&mut self, html: &'static str) -> &mut Self {
        self.0.push_str(html);
        self
    }

    /// Writes another fragment.
    pub(super) fn piece(&mut self, other: &Self) -> &mut Self {
        self.0.push_str(&other.0);
        self
    }

    /// The HTML as a string.
    pub(super) fn into_string(self) -> String {
        self.0
    }
}

/// Escapes text content and double-quoted attribute values. Characters that HTML does not allow become U+FFFD.
fn escape(text: &str, into: &mut String) {
    for character in text.chars() {
        match character {
            '&' => into.push_str("&amp;"),
            '<' => into.push_str("&lt;"),
            '>' => into.push_str("&gt;"),
            '"' => into.push_str("&quot;"),
            '\'' => into.push_str("&#39;"),
            '\n' | '\t' => into.push(character),
            // Also replaces characters that change the text direction, so that a name cannot be made to look like another.
            character if character.is_control() || is_direction(character) => into.push('\u{fffd}'),
            character => into.push(character),
        }
    }
}

fn is_direction(character: char) -> bool {
    matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_comes_from_outside_stays_text() {
        let mut html = Html::default();
        let bad = "\"><script>alert('x')</script>&\u{202e}\u{0}";
        html.leaf("b", &[("title", bad)], bad);
        let escaped = "&quot;&gt;&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;\u{fffd}\u{fffd}";
        assert_eq!(html.into_string(), format!("<b title=\"{escaped}\">{escaped}</b>"));
    }

    #[test]
    fn elements_without_content_have_no_end_but_shapes_do() {
        let mut html = Html::default();
        html.empty("input", &[("name", "service")]).empty("rect", &[("x", "1")]).empty("td", &[]);
        assert_eq!(html.into_string(), "<input name=\"service\"><rect x=\"1\"></rect><td></td>");
    }
}
