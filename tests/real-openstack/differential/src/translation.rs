//! Which identifier or address of the simulator stands for which one of the real cloud.
//!
//! It is learned from answers: what stands at the same place in both means the same thing.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use serde_json::Value;

use crate::compare::canonical;

/// The dictionary.
#[derive(Clone, Debug, Default)]
pub struct Translation {
    words: BTreeMap<String, String>,
    own: BTreeSet<String>,
}

impl Translation {
    /// Says which identifier of the simulator is meant by one of the real cloud.
    pub fn insert(&mut self, real: &str, own: &str) {
        self.words.insert(real.to_owned(), own.to_owned());
        self.own.insert(own.to_owned());
    }

    /// Says which identifier of the simulator takes the place of one of the real cloud in requests, although they do not mean
    /// the same thing: where one is as good as another.
    pub fn stand_in(&mut self, real: &str, own: &str) {
        self.words.insert(real.to_owned(), own.to_owned());
    }

    /// The simulator's identifier for one of the real cloud.
    #[must_use]
    pub fn get(&self, real: &str) -> Option<&str> {
        self.words.get(real).map(String::as_str)
    }

    /// Whether an identifier of the simulator stands for one of the real cloud. Addresses do not count: each cloud gives
    /// out its own, and one may have given to something what the other was told to use for something else.
    #[must_use]
    pub fn knows(&self, own: &str) -> bool {
        self.own.contains(own) && own.parse::<IpAddr>().is_err()
    }

    /// Identifiers and addresses at the same place in both answers mean the same thing. What is known stays.
    pub fn learn(&mut self, real: &Value, own: &Value) {
        match (real, own) {
            (Value::String(real), Value::String(own)) => {
                let new = is_identifier(real) && is_identifier(own) && real != own;
                if new && !self.words.contains_key(real) && !self.own.contains(own) {
                    self.insert(real, own);
                }
            }
            (Value::Object(real), Value::Object(own)) => {
                for (name, value) in real {
                    self.learn(value, own.get(name).unwrap_or(&Value::Null));
                }
            }
            (Value::Array(real), Value::Array(own)) if real.len() == own.len() => {
                for (real, own) in self.paired(real, own) {
                    self.learn(real, own);
                }
            }
            _ => {}
        }
    }

    /// Elements that look alike belong together, in whatever order they come. Where several look alike, nothing can be
    /// learned from them; where they do not, names decide.
    fn paired<'a>(&self, real: &'a [Value], own: &'a [Value]) -> Vec<(&'a Value, &'a Value)> {
        let known = |word: &str| self.knows(word);
        let mut by_look: BTreeMap<String, (Vec<&Value>, Vec<&Value>)> = BTreeMap::new();
        for element in real {
            by_look.entry(canonical(&self.value(element), &known).to_string()).or_default().0.push(element);
        }
        for element in own {
            by_look.entry(canonical(element, &known).to_string()).or_default().1.push(element);
        }
        if by_look.values().any(|(real, own)| real.len() != own.len()) {
            return by_name(real, own);
        }
        let pair = |(real, own): (Vec<&'a Value>, Vec<&'a Value>)| match (real.as_slice(), own.as_slice()) {
            ([real], [own]) => Some((*real, *own)),
            _ => None,
        };
        by_look.into_values().filter_map(pair).collect()
    }

    /// A document with the simulator's identifiers.
    #[must_use]
    pub fn value(&self, real: &Value) -> Value {
        match real {
            Value::String(text) => Value::String(self.text(text)),
            Value::Array(elements) => elements.iter().map(|element| self.value(element)).collect(),
            Value::Object(members) => {
                members.iter().map(|(name, value)| (self.text(name), self.value(value))).collect()
            }
            other => other.clone(),
        }
    }

    /// A text with the simulator's identifiers.
    #[must_use]
    pub fn text(&self, text: &str) -> String {
        by_word(text, |word| self.word(word))
    }

    /// A word that is an identifier or an address, or ends with one: a name, an encoded equals sign, a full stop.
    fn word(&self, word: &str) -> String {
        let stem = word.trim_end_matches('.');
        let tail = word.get(stem.len()..).unwrap_or_default();
        let starts = [0, stem.len().saturating_sub(36), stem.len().saturating_sub(32), 2.min(stem.len())];
        for start in starts {
            let Some((before, id)) = stem.split_at_checked(start) else { continue };
            if let Some(own) = self.words.get(id) {
                return format!("{before}{own}{tail}");
            }
        }
        word.to_owned()
    }
}

/// Elements with the same name, where names tell them apart; and an only element with the other.
fn by_name<'a>(real: &'a [Value], own: &'a [Value]) -> Vec<(&'a Value, &'a Value)> {
    if let ([real], [own]) = (real, own) {
        return vec![(real, own)];
    }
    let only = |elements: &'a [Value], name: &str| {
        let mut called = elements.iter().filter(|element| name_of(element) == Some(name));
        called.next().filter(|_| called.next().is_none())
    };
    let pair = |element: &'a Value| {
        let name = name_of(element)?;
        Some((only(real, name)?, only(own, name)?))
    };
    real.iter().filter_map(pair).collect()
}

fn name_of(element: &Value) -> Option<&str> {
    element.get("name")?.as_str().filter(|name| !name.is_empty())
}

/// A text with each of its words replaced; what identifiers and addresses are made of makes a word.
pub(crate) fn by_word(text: &str, replace: impl Fn(&str) -> String) -> String {
    if let (true, Ok(_)) = (text.contains(':'), text.parse::<IpAddr>()) {
        return replace(text);
    }
    let belongs = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '.';
    let mut result = String::with_capacity(text.len());
    for part in text.split_inclusive(|letter| !belongs(letter)) {
        let end = part.find(|letter| !belongs(letter)).unwrap_or(part.len());
        let (word, rest) = part.split_at(end);
        result.push_str(&replace(word));
        result.push_str(rest);
    }
    result
}

/// UUIDs with and without dashes, addresses.
pub(crate) fn is_identifier(text: &str) -> bool {
    let hex = text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    (hex && text.len() >= 32) || text.parse::<IpAddr>().is_ok()
}
