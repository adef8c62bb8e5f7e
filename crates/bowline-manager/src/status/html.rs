//! A writer of HTML that cannot forget to escape: tags and names of attributes are words of this program, everything else is escaped.

/// HTML in the making.
#[derive(Debug, Default)]
pub(super) struct Html(String);

/// Attributes of an element: a name of ours, and any value.
pub(super) type Attributes<'a> = &'a [(&'static str, &'a str)];

/// Elements without content and without an end.
const VOID: [&str; 4] = ["br", "input", "meta", "link"];

impl Html {
    /// An element with what `content` writes into it.
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

    /// An element with a text in it.
    pub(super) fn leaf(&mut self, tag: &'static str, attributes: Attributes<'_>, text: &str) -> &mut Self {
        self.element(tag, attributes, |inside| {
            inside.text(text);
        })
    }

    /// An element with nothing in it.
    pub(super) fn empty(&mut self, tag: &'static str, attributes: Attributes<'_>) -> &mut Self {
        self.element(tag, attributes, |_nothing| {})
    }

    /// A text.
    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        escape(text, &mut self.0);
        self
    }

    /// Something that stands in this program as it is. Never for what comes from outside.
    pub(super) fn ours(&mut self, html: &'static str) -> &mut Self {
        self.0.push_str(html);
        self
    }

    /// Another piece of HTML.
    pub(super) fn piece(&mut self, other: &Self) -> &mut Self {
        self.0.push_str(&other.0);
        self
    }

    /// The text of it.
    pub(super) fn into_string(self) -> String {
        self.0
    }
}

/// Escapes for texts and for values in double quotes alike. What is no character of HTML becomes a sign for that.
fn escape(text: &str, into: &mut String) {
    for character in text.chars() {
        match character {
            '&' => into.push_str("&amp;"),
            '<' => into.push_str("&lt;"),
            '>' => into.push_str("&gt;"),
            '"' => into.push_str("&quot;"),
            '\'' => into.push_str("&#39;"),
            '\n' | '\t' => into.push(character),
            // Also those that turn the direction of text around: a name must not look like another.
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
