//! Reads the sources of this crate: a word that looks like a reason is in a table, or is known to be something else.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::{CONDITIONS, EVENTS};

/// Words of the API, of Go's or of a type, that are written like reasons.
const NO_REASONS: &[&str] = &[
    "ConfigMap",
    "ExternalDNS",
    "ExternalIP",
    "InternalDNS",
    "InternalIP",
    "NetworkUnavailable",
    "NoExecute",
    "NoSchedule",
    "ToBeDeletedByClusterAutoscaler",
];

/// Reasons of one hump: too many other words look like them.
const ONE_HUMP: &[&str] = &["Synced", "Ensured", "Refused"];

fn sources(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            if name != "tests" && name != "reference" {
                sources(&path, into);
            }
        } else if !["tests.rs", "fixture.rs", "harness.rs", "reference.rs"].contains(&name.as_str()) {
            into.push(path);
        }
    }
}

/// Whether it is written like `EnsuredLoadBalancer`.
fn looks_like_a_reason(text: &str) -> bool {
    let humps = text.chars().filter(char::is_ascii_uppercase).count();
    let is_word =
        text.chars().all(|c| c.is_ascii_alphabetic()) && text.starts_with(|c: char| c.is_ascii_uppercase());
    is_word && humps > 1 && text.chars().any(|c| c.is_ascii_lowercase())
}

/// What is between quotes outside of comments and of tests.
fn words() -> BTreeSet<String> {
    let mut files = Vec::new();
    sources(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src")), &mut files);
    let texts = files.iter().map(|file| fs::read_to_string(file).unwrap());
    let code =
        texts.map(|text| text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default().to_owned());
    let lines: Vec<String> =
        code.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>()).collect();
    let lines = lines.iter().filter(|line| !line.trim_start().starts_with("//"));
    let quoted = lines.flat_map(|line| line.split('"').skip(1).step_by(2));
    quoted.filter(|text| looks_like_a_reason(text) || ONE_HUMP.contains(text)).map(str::to_owned).collect()
}

#[test]
fn every_reason_that_is_said_is_in_a_table_and_no_other_is() {
    let found = words();
    let events = EVENTS.iter().map(|row| row.reason);
    let listed: BTreeSet<String> =
        events.chain(CONDITIONS.iter().map(|row| row.reason)).map(str::to_owned).collect();
    let known: BTreeSet<String> = NO_REASONS.iter().map(|word| (*word).to_owned()).collect();
    let missing: Vec<&String> = found.difference(&listed).filter(|word| !known.contains(*word)).collect();
    assert!(missing.is_empty(), "reasons without a row, or words for NO_REASONS: {missing:?}");
    let stale: Vec<&String> = listed.difference(&found).collect();
    assert!(stale.is_empty(), "rows that nobody says: {stale:?}");
}

#[test]
fn a_reason_has_one_row() {
    let reasons: BTreeSet<&str> = EVENTS.iter().map(|row| row.reason).collect();
    assert_eq!(reasons.len(), EVENTS.len());
}
