//! How an external subnet is chosen: by the pattern of its name and by its tags. Pure; who the candidates are is not known here.

#[cfg(test)]
mod tests;

use openstack_client::network::TagFilter;
use regex::{Regex, RegexBuilder};

/// The longest pattern or list of tags that is read. Neutron's names and tags have up to 255 characters.
pub(in crate::loadbalancer) const LONGEST_TEXT_BYTES: usize = 4 << 10;
/// The largest compiled expression, a tenth of the library's default: `(a{1000}){1000}` has 15 characters and no use.
const LARGEST_EXPRESSION_BYTES: usize = 1 << 20;

/// A pattern for the names of subnets: a glob, or a regular expression behind `~`; a `!` before it means all other names.
#[derive(Debug, Clone)]
pub struct NamePattern {
    text: String,
    negated: bool,
    expression: Regex,
}

impl PartialEq for NamePattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for NamePattern {}

impl NamePattern {
    /// The pattern that a text is, unless it is none.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() > LONGEST_TEXT_BYTES {
            return None;
        }
        let (negated, pattern) = text.strip_prefix('!').map_or((false, text), |rest| (true, rest));
        let expression = match pattern.strip_prefix('~') {
            Some(expression) => compiled(expression),
            None => compiled(&format!("^(?:{})$", glob(pattern))),
        };
        Some(Self { text: text.to_owned(), negated, expression: expression.ok()? })
    }

    /// Whether a name fits: the first place where the expression is found must be all of it.
    #[must_use]
    pub fn fits(&self, name: &str) -> bool {
        let found = self.expression.find(name).is_some_and(|found| found.as_str().len() == name.len());
        found != self.negated
    }
}

fn compiled(expression: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(expression).size_limit(LARGEST_EXPRESSION_BYTES).build()
}

/// The regular expression of a glob: `?` is any character, `*` any but `/`, `**/` folders, `{a,b}` one of them, `[…]` a class.
fn glob(pattern: &str) -> String {
    let mut expression = String::new();
    let mut depth = 0_usize;
    let mut before = None;
    let mut rest = pattern.chars().peekable();
    while let Some(sign) = rest.next() {
        match sign {
            '?' => expression.push('.'),
            '*' => {
                let mut stars = 1;
                while rest.next_if_eq(&'*').is_some() {
                    stars += 1;
                }
                let whole = matches!(before, None | Some('/')) && matches!(rest.peek(), None | Some('/'));
                if stars > 1 && whole {
                    expression.push_str("(?:[^/]*(?:/|$))*");
                    // The folder's slash is in the expression.
                    let _slash = rest.next();
                } else {
                    expression.push_str("[^/]*");
                }
            }
            '{' => {
                depth += 1;
                expression.push_str("(?:");
            }
            '}' => {
                depth = depth.saturating_sub(1);
                expression.push(')');
            }
            ',' if depth > 0 => expression.push('|'),
            '[' | ']' | '-' => expression.push(sign),
            other => expression.push_str(&regex::escape(other.encode_utf8(&mut [0; 4]))),
        }
        before = Some(sign);
    }
    expression
}

/// The tags that a text asks for: any of them; behind `&` all of them; behind `!` the opposite.
///
/// OCCM asks Neutron for "not all" where it means "none", and the other way round; here it is as its documentation says.
#[must_use]
pub fn tags(text: &str) -> Option<TagFilter> {
    if text.len() > LONGEST_TEXT_BYTES {
        return None;
    }
    let (negated, rest) = text.strip_prefix('!').map_or((false, text), |rest| (true, rest));
    let (all, rest) = rest.strip_prefix('&').map_or((false, rest), |rest| (true, rest));
    let split = rest.split(',').map(str::trim);
    let tags: Vec<String> = split.filter(|tag| !tag.is_empty()).map(ToOwned::to_owned).collect();
    if tags.is_empty() {
        return None;
    }
    let filter = TagFilter::default();
    Some(match (negated, all) {
        (false, false) => TagFilter { any: tags, ..filter },
        (false, true) => TagFilter { all: tags, ..filter },
        (true, false) => TagFilter { not_any: tags, ..filter },
        (true, true) => TagFilter { not_all: tags, ..filter },
    })
}
