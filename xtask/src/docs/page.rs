//! One page of Markdown, as far as it is judged: headings, links, code in lines and code in fences. Pure; it reads no file.
//!
//! No parser of all of Markdown: what our pages are written in, and no more.

use std::collections::{BTreeMap, BTreeSet};

/// A piece of a page and the line it begins in, counted from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) line: usize,
    pub(crate) text: String,
}

/// A block between fences.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fence {
    pub(crate) line: usize,
    /// What stands behind the opening fence: the language, then our own words.
    pub(crate) words: Vec<String>,
    pub(crate) text: String,
}

impl Fence {
    /// The language, if one is named.
    pub(crate) fn language(&self) -> &str {
        self.words.first().map_or("", String::as_str)
    }
}

/// A page, taken apart.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Page {
    pub(crate) anchors: BTreeSet<String>,
    pub(crate) links: Vec<Piece>,
    pub(crate) code: Vec<Piece>,
    pub(crate) fences: Vec<Fence>,
    /// The whole text, for what is looked for everywhere.
    pub(crate) text: String,
}

impl Page {
    /// Takes a page apart.
    pub(crate) fn parse(text: &str) -> Self {
        let (prose, fences) = split(text);
        let (plain, code) = without_code(&prose);
        Self { anchors: anchors(&prose), links: links(&plain), code, fences, text: text.to_owned() }
    }
}

/// The text with blank lines in place of fenced blocks, so that lines keep their numbers; and those blocks.
fn split(text: &str) -> (String, Vec<Fence>) {
    let (mut prose, mut fences) = (String::new(), Vec::new());
    let mut open: Option<(Fence, String)> = None;
    for (number, line) in text.lines().enumerate() {
        let bare = line.trim_start();
        match &mut open {
            None if bare.starts_with("```") => {
                let mark: String = bare.chars().take_while(|c| *c == '`').collect();
                let words = bare.trim_start_matches('`').split([' ', ',']).filter(|word| !word.is_empty());
                let words = words.map(str::to_owned).collect();
                open = Some((Fence { line: number + 1, words, text: String::new() }, mark));
                prose.push('\n');
            }
            None => {
                prose.push_str(line);
                prose.push('\n');
            }
            Some((_fence, mark)) if bare.trim_end() == mark.as_str() => {
                fences.extend(open.take().map(|(fence, _mark)| fence));
                prose.push('\n');
            }
            Some((fence, _mark)) => {
                fence.text.push_str(line);
                fence.text.push('\n');
                prose.push('\n');
            }
        }
    }
    fences.extend(open.map(|(fence, _mark)| fence));
    (prose, fences)
}

/// The prose with blanks in place of code, and that code. A paragraph's code may go over the end of a line, not of the paragraph.
fn without_code(prose: &str) -> (String, Vec<Piece>) {
    let (mut plain, mut code) = (String::new(), Vec::new());
    let mut rest = prose;
    while let Some(start) = rest.find('`') {
        let (before, from) = rest.split_at(start);
        plain.push_str(before);
        let mark: String = from.chars().take_while(|c| *c == '`').collect();
        let inside = from.get(mark.len()..).unwrap_or_default();
        let paragraph = inside.find("\n\n").unwrap_or(inside.len());
        match inside.find(&mark).filter(|end| *end < paragraph) {
            Some(end) => {
                let text = inside.get(..end).unwrap_or_default();
                let line = plain.matches('\n').count() + 1;
                code.push(Piece { line, text: text.replace('\n', " ").trim().to_owned() });
                plain.push_str(&" ".repeat(mark.len()));
                plain.extend(text.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
                plain.push_str(&" ".repeat(mark.len()));
                rest = inside.get(end + mark.len()..).unwrap_or_default();
            }
            None => {
                plain.push_str(&mark);
                rest = inside;
            }
        }
    }
    plain.push_str(rest);
    (plain, code)
}

/// Targets of `[text](target)` and of `[name]: target`.
fn links(plain: &str) -> Vec<Piece> {
    let mut found = Vec::new();
    for (number, line) in plain.lines().enumerate() {
        let inline = line.match_indices("](").filter_map(|(at, _)| {
            let target = line.get(at + 2..)?;
            target.get(..target.find(')')?)
        });
        let defined =
            line.starts_with('[').then(|| line.split_once("]: ")).flatten().map(|(_, target)| target);
        for target in inline.chain(defined) {
            found.push(Piece { line: number + 1, text: target.trim().to_owned() });
        }
    }
    found
}

/// The anchors of all headings, as GitHub and mdBook make them.
fn anchors(prose: &str) -> BTreeSet<String> {
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    let headings = prose.lines().filter_map(|line| {
        let text = line.trim_start_matches('#');
        (text.len() < line.len() && text.starts_with(' ')).then(|| text.trim())
    });
    let mut anchors = BTreeSet::new();
    for heading in headings {
        let anchor = slug(heading);
        let before = times.entry(anchor.clone()).or_default();
        anchors.insert(if *before == 0 { anchor } else { format!("{anchor}-{before}") });
        *before += 1;
    }
    anchors
}

fn slug(heading: &str) -> String {
    let text = heading.split("](").next().unwrap_or_default(); // of a heading that is a link, its words
    let kept = text.to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# A `page`: first\n\nSee [this](that.md#x) and `[no](link)`, a\n`long\nspan`.\n\n\
        ```sh run=sims\nbowline ccm\n```\n\n## Again\n## Again\n";

    #[test]
    fn headings_become_the_anchors_that_github_makes() {
        let page = Page::parse(TEXT);
        assert_eq!(page.anchors, ["a-page-first", "again", "again-1"].map(str::to_owned).into());
        assert_eq!(slug("`--shadow`: see what would be done"), "--shadow-see-what-would-be-done");
    }

    #[test]
    fn links_are_found_outside_of_code_only() {
        assert_eq!(Page::parse(TEXT).links, [Piece { line: 3, text: "that.md#x".to_owned() }]);
    }

    #[test]
    fn code_is_found_with_its_line_also_over_the_end_of_one() {
        let found = Page::parse(TEXT).code;
        let found: Vec<(usize, &str)> = found.iter().map(|piece| (piece.line, piece.text.as_str())).collect();
        assert_eq!(found, [(1, "page"), (3, "[no](link)"), (4, "long span")]);
    }

    #[test]
    fn a_fence_has_its_language_its_words_and_its_text() {
        let page = Page::parse(TEXT);
        let [fence] = page.fences.as_slice() else { panic!("{:?}", page.fences) };
        assert_eq!((fence.line, fence.language(), fence.text.as_str()), (7, "sh", "bowline ccm\n"));
        assert_eq!(fence.words, ["sh", "run=sims"]);
    }

    #[test]
    fn a_fence_within_a_longer_fence_is_text() {
        let page = Page::parse("````text\n```sh\n```\n````\n[a](b)\n");
        assert_eq!((page.fences.len(), page.links.len()), (1, 1));
    }
}
