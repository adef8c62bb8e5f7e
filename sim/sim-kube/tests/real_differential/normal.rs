//! Makes the answers of two servers comparable: what must differ (uids, times, versions, what is generated or allocated)
//! gets the names that its order gives it.
//!
//! Left out altogether: descriptions of table columns and hashes of storage versions, which say nothing a client acts on.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::exchange::Answer;

/// The answers of one server to one script, comparable with the other's.
pub(crate) fn normalised(answers: &[Answer]) -> Vec<Answer> {
    let mut names = Names::of(answers);
    answers.iter().map(|answer| names.answer(answer)).collect()
}

struct Names {
    versions: BTreeMap<u64, usize>,
    given: BTreeMap<String, String>,
    counts: BTreeMap<&'static str, usize>,
}

impl Names {
    fn of(answers: &[Answer]) -> Self {
        let mut versions = BTreeSet::new();
        answers.iter().for_each(|answer| object_versions(&answer.body, &mut versions));
        let versions = versions.into_iter().enumerate().map(|(rank, version)| (version, rank)).collect();
        Self { versions, given: BTreeMap::new(), counts: BTreeMap::new() }
    }

    fn answer(&mut self, answer: &Answer) -> Answer {
        let mut body = answer.body.clone();
        self.learn(&body);
        self.value(&mut body);
        let headers = answer.headers.iter().map(|(name, value)| (name.clone(), self.text(value))).collect();
        Answer { code: answer.code, headers, body }
    }

    /// Gives names to what a server has made up: in the order in which it first shows.
    fn learn(&mut self, value: &Value) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| self.learn(item)),
            Value::Object(map) => {
                if let Some(name) = generated_name(map) {
                    self.name("generated", name);
                }
                for (key, value) in map {
                    match (key.as_str(), value) {
                        ("uid", Value::String(uid)) if uid.len() == 36 => self.name("uid", uid),
                        ("clusterIP", Value::String(ip)) if ip.starts_with("10.0.") => {
                            self.name("cluster-ip", ip);
                        }
                        ("nodePort" | "healthCheckNodePort", Value::Number(port)) => {
                            self.name("node-port", &port.to_string());
                        }
                        _ => self.learn(value),
                    }
                }
            }
            _ => {}
        }
    }

    fn name(&mut self, what: &'static str, value: &str) {
        // Requests choose theirs at the lower end, where neither server allocates of itself.
        let chosen = value.parse().is_ok_and(|port: u32| port < 30_086) || value.starts_with("10.0.0.");
        if chosen || self.given.contains_key(value) {
            return;
        }
        let count = self.counts.entry(what).or_default();
        *count += 1;
        self.given.insert(value.to_owned(), format!("<{what} {count}>"));
    }

    fn value(&self, value: &mut Value) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(map) => self.map(map),
            Value::String(text) => *text = self.text(text),
            _ => {}
        }
    }

    fn map(&self, map: &mut Map<String, Value>) {
        let is_list = map.contains_key("items") || map.contains_key("rows");
        if map.contains_key("columnDefinitions") {
            for column in map.get_mut("columnDefinitions").and_then(Value::as_array_mut).into_iter().flatten()
            {
                column.as_object_mut().map(|column| column.remove("description"));
            }
        }
        map.remove("storageVersionHash");
        // Keys of owners in managedFields hold uids.
        let keyed: Vec<String> = map.keys().filter(|key| key.starts_with("k:{\"uid\"")).cloned().collect();
        for key in keyed {
            if let Some(value) = map.remove(&key) {
                map.insert(self.text(&key), value);
            }
        }
        for (key, value) in map.iter_mut() {
            match (key.as_str(), &mut *value) {
                ("resourceVersion", Value::String(text)) => {
                    *text =
                        text.parse().ok().and_then(|version: u64| self.versions.get(&version)).map_or_else(
                            || if text.len() > 1 { "<version of a list>".to_owned() } else { text.clone() },
                            |rank| format!("<version {rank}>"),
                        );
                }
                ("metadata", Value::Object(meta)) if is_list => {
                    self.map(meta);
                    if meta.contains_key("resourceVersion") {
                        meta.insert("resourceVersion".to_owned(), "<version of a list>".into());
                    }
                }
                ("nodePort" | "healthCheckNodePort", Value::Number(port)) => {
                    if let Some(name) = self.given.get(&port.to_string()) {
                        *value = name.as_str().into();
                    }
                }
                ("continue", Value::String(text)) if !text.is_empty() => *text = "<continue>".to_owned(),
                ("managedFields", Value::Array(entries)) => {
                    entries.iter_mut().for_each(|entry| self.value(entry));
                    // Their order is that of the seconds in which they were written.
                    let part = |entry: &Value, name: &str| entry.get(name).map(Value::to_string);
                    entries.sort_by_key(|entry| {
                        ["operation", "manager", "subresource", "apiVersion"].map(|name| part(entry, name))
                    });
                }
                ("causes", Value::Array(causes)) => {
                    causes.iter_mut().for_each(|cause| self.value(cause));
                    causes.sort_by_key(Value::to_string); // Go walks its maps in any order
                }
                ("cells", Value::Array(cells)) => cells.iter_mut().for_each(|cell| self.cell(cell)),
                _ => self.value(value),
            }
        }
    }

    /// Ages differ by a second.
    fn cell(&self, cell: &mut Value) {
        match cell.as_str() {
            Some(text) if text.ends_with('s') && text[..text.len() - 1].parse::<u32>().is_ok() => {
                *cell = "<age>".into();
            }
            _ => self.value(cell),
        }
    }

    fn text(&self, text: &str) -> String {
        if let Some(name) = self.given.get(text) {
            return name.clone();
        }
        let mut result = text.to_owned();
        for (value, name) in self.given.iter().filter(|(value, _)| value.len() > 5) {
            result = result.replace(value, name);
        }
        without_versions(&without_times(&result))
    }
}

/// Versions inside messages depend on what else happens in the cluster.
fn without_versions(text: &str) -> String {
    let mut result = text.to_owned();
    for (before, after) in [("current: ", ""), ("ResourceVersion in record (", ")")] {
        if let Some((head, tail)) = result.clone().split_once(before) {
            let rest = tail.trim_start_matches(|sign: char| sign.is_ascii_digit());
            if rest.starts_with(after) {
                result = format!("{head}{before}<version>{rest}");
            }
        }
    }
    result
}

/// The versions of objects; those of lists and bookmarks depend on what else happens in the cluster.
fn object_versions(value: &Value, found: &mut BTreeSet<u64>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| object_versions(item, found)),
        Value::Object(map) => {
            let own = map.get("metadata").filter(|meta| meta.get("uid").is_some());
            let version: Option<u64> =
                own.and_then(|meta| meta.get("resourceVersion")?.as_str()?.parse().ok());
            found.extend(version);
            map.values().for_each(|value| object_versions(value, found));
        }
        _ => {}
    }
}

fn generated_name(map: &Map<String, Value>) -> Option<&str> {
    let base = map.get("generateName")?.as_str()?;
    map.get("name")?.as_str().filter(|name| name.len() == base.len() + 5 && name.starts_with(base))
}

/// Times of today become one word; other times are somebody's and must agree.
fn without_times(text: &str) -> String {
    let mut result = String::new();
    let mut rest = text;
    while let Some(start) = rest.find("20") {
        let tail = &rest[start..];
        let end = tail.find('Z').map(|end| end + 1).filter(|end| (20..=27).contains(end));
        let time = end.and_then(|end| tail.get(..end)?.parse::<Timestamp>().ok());
        let is_now = time.is_some_and(|time| {
            (time - Timestamp::now()).total(jiff::Unit::Hour).unwrap_or(99.0).abs() < 24.0
        });
        match end.filter(|_| is_now) {
            Some(end) => {
                result.push_str(&rest[..start]);
                result.push_str(if end > 20 { "<time in microseconds>" } else { "<time>" });
                rest = &rest[start + end..];
            }
            None => {
                result.push_str(&rest[..start + 2]);
                rest = &rest[start + 2..];
            }
        }
    }
    result.push_str(rest);
    result
}
