//! The facts as a map, and their encoding in an annotation: one line per object, with its UID and the fact. Pure.

use std::collections::{BTreeMap, BTreeSet};

use bowline_core::Text;

use super::Subject;

impl Subject {
    /// The annotation with the facts about objects of this kind.
    pub(super) const fn annotation(self) -> &'static str {
        match self {
            Self::Service => "bowline.dev/ledger",
            Self::Node => "bowline.dev/ledger-nodes",
        }
    }

    /// The maximum size of the annotation in bytes; further facts are not stored. All annotations of an object together are limited to 256
    /// KiB, so this leaves 16 KiB for others. It is enough for about 3,700 Services with facts of 16 characters, and for about 450 Nodes
    /// with provider IDs of 50 characters: a Node has a fact only while it has no provider ID.
    const fn most_bytes(self) -> usize {
        match self {
            Self::Service => 200 * 1024,
            Self::Node => 40 * 1024,
        }
    }
}

/// The facts about objects of one kind, by UID.
#[derive(Debug)]
pub(super) struct Book {
    subject: Subject,
    facts: BTreeMap<Text, Text>,
    bytes: usize,
}

impl Book {
    pub(super) const fn new(subject: Subject) -> Self {
        Self { subject, facts: BTreeMap::new(), bytes: 0 }
    }

    pub(super) fn get(&self, uid: &str) -> Option<&Text> {
        self.facts.get(uid)
    }

    /// Stores a fact; returns whether that changed the book. A fact with whitespace, or one that does not fit, is not stored, and removes
    /// the older one.
    pub(super) fn note(&mut self, uid: &Text, fact: Text) -> bool {
        if self.facts.get(uid) == Some(&fact) {
            return false;
        }
        let forgotten = self.forget(uid);
        let (fits, bytes) = (is_word(uid) && is_word(&fact), line(uid, &fact));
        if !fits || self.bytes + bytes > self.subject.most_bytes() {
            return forgotten;
        }
        self.bytes += bytes;
        self.facts.insert(uid.clone(), fact);
        true
    }

    /// Removes the fact about an object; returns whether there was one.
    pub(super) fn forget(&mut self, uid: &str) -> bool {
        let Some(fact) = self.facts.remove(uid) else { return false };
        self.bytes = self.bytes.saturating_sub(line(uid, &fact));
        true
    }

    /// Removes all facts except those of these objects; returns whether there were others.
    pub(super) fn keeps_only(&mut self, uids: &BTreeSet<Text>) -> bool {
        let gone: Vec<Text> = self.facts.keys().filter(|uid| !uids.contains(*uid)).cloned().collect();
        for uid in &gone {
            self.forget(uid);
        }
        !gone.is_empty()
    }

    /// Loads the facts from annotations. Malformed lines are skipped, and facts in the book are kept because they are newer.
    pub(super) fn read(&mut self, annotations: &BTreeMap<String, String>) {
        let lines = annotations.get(self.subject.annotation()).into_iter().flat_map(|text| text.lines());
        for (uid, fact) in lines.filter_map(|line| line.split_once(' ')) {
            if !self.facts.contains_key(uid) {
                self.note(&uid.into(), fact.into());
            }
        }
    }

    /// Writes all facts to `annotations`; other annotations stay. An empty book adds no annotation.
    pub(super) fn write(&self, annotations: &mut BTreeMap<String, String>) {
        let mut text = String::with_capacity(self.bytes);
        for (uid, fact) in &self.facts {
            for part in [uid.as_str(), " ", fact.as_str(), "\n"] {
                text.push_str(part);
            }
        }
        let key = self.subject.annotation();
        if !text.is_empty() || annotations.contains_key(key) {
            annotations.insert(key.to_owned(), text);
        }
    }
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && !text.contains(char::is_whitespace)
}

/// The length of a line in bytes.
fn line(uid: &str, fact: &str) -> usize {
    uid.len() + fact.len() + 2
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANNOTATION: &str = Subject::Service.annotation();
    const MOST_BYTES: usize = Subject::Service.most_bytes();

    fn written(book: &Book) -> BTreeMap<String, String> {
        let mut annotations = BTreeMap::from([("theirs".to_owned(), "stays".to_owned())]);
        book.write(&mut annotations);
        annotations
    }

    #[test]
    fn what_is_written_is_read_again_and_what_is_known_is_newer() {
        let mut book = Book::new(Subject::Service);
        assert!(book.note(&"u-1".into(), "a1".into()) && book.note(&"u-2".into(), "b2".into()));
        assert!(!book.note(&"u-1".into(), "a1".into()), "no news");
        let annotations = written(&book);
        assert_eq!(annotations[ANNOTATION], "u-1 a1\nu-2 b2\n");
        assert_eq!(annotations["theirs"], "stays");
        let mut next = Book::new(Subject::Service);
        next.note(&"u-2".into(), "c3".into());
        next.read(&annotations);
        assert_eq!((next.get("u-1").unwrap(), next.get("u-2").unwrap()), (&"a1".into(), &"c3".into()));
    }

    #[test]
    fn lines_of_somebody_else_are_passed_over() {
        let mut book = Book::new(Subject::Service);
        let text = "nonsense\n\nu-1 two words\nu-2 b2\n u-3";
        book.read(&BTreeMap::from([(ANNOTATION.to_owned(), text.to_owned())]));
        assert_eq!(written(&book)[ANNOTATION], "u-2 b2\n");
    }

    #[test]
    fn objects_that_are_gone_are_forgotten() {
        let mut book = Book::new(Subject::Service);
        for uid in ["u-1", "u-2", "u-3"] {
            book.note(&uid.into(), "f".into());
        }
        assert!(book.forget("u-1") && !book.forget("u-1"));
        assert!(book.keeps_only(&BTreeSet::from(["u-3".into()])));
        assert!(!book.keeps_only(&BTreeSet::from(["u-3".into(), "u-4".into()])));
        assert_eq!(written(&book)[ANNOTATION], "u-3 f\n");
    }

    #[test]
    fn it_never_grows_beyond_what_an_object_may_have_and_a_fact_without_room_is_not_a_stale_one() {
        let mut book = Book::new(Subject::Service);
        let uid = |number: usize| Text::from(format!("00000000-0000-0000-0000-{number:012}"));
        for number in 0..10_000 {
            book.note(&uid(number), "0123456789abcdef".into());
        }
        let text = &written(&book)[ANNOTATION];
        assert!(text.len() <= MOST_BYTES && text.len() == book.bytes && book.facts.len() > 3_700);
        let long = Text::from("f".repeat(MOST_BYTES));
        assert!(book.note(&uid(0), long), "the old one does not hold any more");
        assert_eq!(book.get(&uid(0)), None);
    }
}
