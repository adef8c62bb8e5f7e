//! A text in gcfg's dialect that can be changed: what is not touched keeps its value to the letter, with its quotes, its
//! continuations and its comments; order is kept. Blank lines and the columns of `=` are set anew.
//!
//! Reading is the provider's own (`bowline_openstack::config::gcfg`), so that nothing is understood here that the manager
//! would understand otherwise.

use bowline_openstack::config::gcfg::{self, Item, ItemKind, equal_fold};
use zeroize::Zeroizing;

use super::problem::{ConfigError, Problem};

/// A text that can be changed.
#[derive(Default)]
pub(super) struct Ini {
    /// Comments above the first section.
    head: Vec<String>,
    pub(super) sections: Vec<Section>,
}

/// A section; several of one name are read as one, as gcfg does.
pub(super) struct Section {
    /// Comments right above the header.
    lead: Vec<String>,
    /// The header as it was written.
    header: String,
    pub(super) line: Option<usize>,
    pub(super) name: String,
    pub(super) subsection: Option<String>,
    lines: Vec<Line>,
}

enum Line {
    Comment(String),
    Entry(Entry),
}

/// A key of a section.
pub(super) struct Entry {
    pub(super) line: Option<usize>,
    pub(super) key: String,
    /// What it says; `None` is the key alone.
    pub(super) value: Option<Zeroizing<String>>,
    written: Written,
}

/// How an entry is written.
enum Written {
    /// The key alone, with its comment.
    Alone(String),
    /// A value behind the key, with its comment.
    Value(Zeroizing<String>),
}

impl Ini {
    /// Reads a text.
    pub(super) fn parse(text: &str) -> Result<Self, ConfigError> {
        let document = gcfg::parse(text);
        if !document.errors().is_empty() {
            let problem = |error: &gcfg::SyntaxError| Problem {
                line: Some(error.position.line),
                // Above the first section there may be anything, a secret too.
                key: error.key.clone().filter(|_| error.problem != gcfg::Syntax::NoSection),
                what: error.problem.to_string(),
            };
            return Err(ConfigError::Invalid(document.errors().iter().map(problem).collect()));
        }
        let mut ini = Self::default();
        // Comments whose owner is not known before the next line.
        let mut comments = Vec::new();
        for item in document.items() {
            ini.take(item, text.get(item.span.start..item.span.end).unwrap_or_default(), &mut comments);
        }
        ini.own(&mut comments);
        Ok(ini.joined())
    }

    fn take(&mut self, item: &Item, text: &str, comments: &mut Vec<String>) {
        match &item.kind {
            ItemKind::Blank if text.trim().is_empty() => self.own(comments),
            ItemKind::Blank => comments.push(text.trim().to_owned()),
            ItemKind::Section(header) => self.enter(header, text, std::mem::take(comments)),
            ItemKind::Entry(entry) => {
                self.own(comments);
                if let Some(section) = self.sections.last_mut() {
                    section.lines.push(Line::Entry(Entry::read(entry, text)));
                }
            }
            // A document without errors has neither.
            ItemKind::Homeless(_) | ItemKind::Broken => {}
        }
    }

    /// Gives comments to the section we are in.
    fn own(&mut self, comments: &mut Vec<String>) {
        match self.sections.last_mut() {
            Some(section) => section.lines.extend(comments.drain(..).map(Line::Comment)),
            None => self.head.append(comments),
        }
    }

    fn enter(&mut self, header: &gcfg::Section, text: &str, lead: Vec<String>) {
        let subsection = header.subsection.clone().filter(|name| !name.is_empty());
        self.sections.push(Section {
            lead,
            header: text.trim().to_owned(),
            line: Some(header.position.line),
            name: header.name.clone(),
            subsection,
            lines: Vec::new(),
        });
    }

    /// Joins sections of one name, each at its first place.
    fn joined(self) -> Self {
        let mut sections: Vec<Section> = Vec::new();
        for section in self.sections {
            let same = |known: &&mut Section| {
                equal_fold(&known.name, &section.name) && known.subsection == section.subsection
            };
            match sections.iter_mut().find(same) {
                Some(known) => {
                    known.lines.extend(section.lead.into_iter().map(Line::Comment));
                    known.lines.extend(section.lines);
                }
                None => sections.push(section),
            }
        }
        Self { head: self.head, sections }
    }

    /// The section of this name without a sub-section.
    pub(super) fn section(&self, name: &str) -> Option<&Section> {
        self.sections.iter().find(|section| section.is(name))
    }

    /// The section of this name without a sub-section; it is made at the end if there is none.
    pub(super) fn section_or_new(&mut self, name: &str) -> &mut Section {
        let at = self.sections.iter().position(|section| section.is(name)).unwrap_or(self.sections.len());
        if at == self.sections.len() {
            self.sections.push(Section::new(name, None));
        }
        // The index is in bounds: the section was found or pushed.
        #[expect(clippy::indexing_slicing, reason = "found or pushed just above")]
        &mut self.sections[at]
    }

    /// Removes all sections of this name, and says where they were.
    pub(super) fn remove_sections(&mut self, name: &str) -> Vec<Option<usize>> {
        let (gone, kept) = std::mem::take(&mut self.sections)
            .into_iter()
            .partition(|section| equal_fold(&section.name, name));
        self.sections = kept;
        let gone: Vec<Section> = gone;
        gone.iter().map(|section| section.line).collect()
    }

    /// The text.
    pub(super) fn text(&self) -> Zeroizing<String> {
        let mut text = Zeroizing::new(String::new());
        for comment in &self.head {
            push_line(&mut text, comment);
        }
        for section in &self.sections {
            if !text.is_empty() {
                text.push('\n');
            }
            section.print(&mut text);
        }
        text
    }
}

fn push_line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

impl Section {
    pub(super) fn new(name: &str, subsection: Option<&str>) -> Self {
        let header = match subsection {
            None => format!("[{name}]"),
            Some(sub) => format!("[{name} \"{}\"]", sub.replace('\\', "\\\\").replace('"', "\\\"")),
        };
        Self {
            lead: Vec::new(),
            header,
            line: None,
            name: name.to_owned(),
            subsection: subsection.map(str::to_owned),
            lines: Vec::new(),
        }
    }

    pub(super) fn is(&self, name: &str) -> bool {
        self.subsection.is_none() && equal_fold(&self.name, name)
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.lines.iter().filter_map(|line| match line {
            Line::Entry(entry) => Some(entry),
            Line::Comment(_) => None,
        })
    }

    /// All of a key, in order.
    pub(super) fn all<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a Entry> {
        self.entries().filter(move |entry| equal_fold(&entry.key, key))
    }

    /// Adds a key at the end.
    pub(super) fn add(&mut self, key: &str, value: &str) {
        self.lines.push(Line::Entry(Entry {
            line: None,
            key: key.to_owned(),
            value: Some(Zeroizing::new(value.to_owned())),
            written: Written::Value(quoted(value)),
        }));
    }

    /// Gives a key one value, at the place where it was or at the end. Says where it was, or `None` if it had that
    /// value before.
    pub(super) fn set(&mut self, key: &str, value: &str) -> Option<Option<usize>> {
        let before: Vec<&Entry> = self.all(key).collect();
        let place = before.first().and_then(|entry| entry.line);
        let says = |entry: &&Entry| entry.value.as_ref().is_some_and(|text| text.as_str() == value);
        if before.len() == 1 && before.iter().all(says) {
            return None;
        }
        let mut is_first = true;
        self.lines.retain_mut(|line| match line {
            Line::Entry(entry) if equal_fold(&entry.key, key) => {
                if is_first {
                    entry.value = Some(Zeroizing::new(value.to_owned()));
                    entry.written = Written::Value(quoted(value));
                }
                std::mem::take(&mut is_first)
            }
            _ => true,
        });
        if is_first {
            self.add(key, value);
        }
        Some(place)
    }

    /// Removes a key, and says where it was.
    pub(super) fn remove(&mut self, key: &str) -> Vec<Option<usize>> {
        let lines = self.all(key).map(|entry| entry.line).collect();
        self.lines.retain(|line| !matches!(line, Line::Entry(entry) if equal_fold(&entry.key, key)));
        lines
    }

    fn print(&self, text: &mut String) {
        for comment in &self.lead {
            push_line(text, comment);
        }
        push_line(text, &self.header);
        let with_value = self.entries().filter(|entry| matches!(entry.written, Written::Value(_)));
        let width = with_value.map(|entry| entry.key.chars().count()).max().unwrap_or(0);
        for line in &self.lines {
            match line {
                Line::Comment(comment) => push_line(text, comment),
                Line::Entry(Entry { key, written: Written::Value(written), .. }) if written.is_empty() => {
                    push_line(text, &format!("{key:width$} ="));
                }
                Line::Entry(Entry { key, written: Written::Value(written), .. }) => {
                    text.push_str(&format!("{key:width$} = "));
                    push_line(text, written);
                }
                Line::Entry(Entry { written: Written::Alone(line), .. }) => push_line(text, line),
            }
        }
    }
}

impl Entry {
    fn read(entry: &gcfg::Entry, text: &str) -> Self {
        let value = entry.value.as_ref().map(|value| value.text.clone());
        Self {
            line: Some(entry.position.line),
            key: entry.key.clone(),
            written: match &value {
                Some(value) => Written::Value(written(text, value)),
                None => Written::Alone(text.trim().to_owned()),
            },
            value,
        }
    }
}

/// How a value is written in its line: as it was, if it says the same with another line behind it; else in quotes.
fn written(line: &str, value: &str) -> Zeroizing<String> {
    let raw = line.split_once('=').map_or("", |(_, raw)| raw).trim_start_matches([' ', '\t', '\r']);
    let raw = raw.strip_suffix('\n').unwrap_or(raw).trim_end_matches([' ', '\t', '\r']);
    let probe = Zeroizing::new(format!("[a]\nb = {raw}\nc = d\n"));
    let probe = gcfg::parse(&probe);
    let values: Vec<&str> = probe
        .items()
        .iter()
        .filter_map(|item| match &item.kind {
            ItemKind::Entry(entry) => entry.value.as_ref().map(|value| value.text.as_str()),
            _ => None,
        })
        .collect();
    if probe.errors().is_empty() && values == [value, "d"] {
        return Zeroizing::new(raw.to_owned());
    }
    quoted(value)
}

/// A value as gcfg reads it back: in double quotes if anything in it would be taken for something else.
pub(super) fn quoted(value: &str) -> Zeroizing<String> {
    let plain = value.trim() == value && !value.contains(['"', '\\', '#', ';', '\n', '\t']);
    if plain {
        return Zeroizing::new(value.to_owned());
    }
    let mut text = Zeroizing::new(String::from("\""));
    for c in value.chars() {
        match c {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\t' => text.push_str("\\t"),
            other => text.push(other),
        }
    }
    text.push('"');
    text
}
