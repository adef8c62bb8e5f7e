//! Snippets that the real gcfg 1.2.3 was given, and what it answered: it was run over structures with OCCM's keys, with
//! OCCM's defaults, and every value that was no default was written down, or the place of the error. The data is
//! `golden.json`.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::config::keys::{self, Field, Section};
use crate::config::{CloudConf, Problem, Source, decode};

#[derive(Deserialize)]
struct Case {
    name: String,
    text: Option<String>,
    hex: Option<String>,
    error: Option<String>,
    #[serde(default)]
    set: BTreeMap<String, Value>,
    #[serde(default)]
    classes: BTreeMap<String, (String, String)>,
    /// Whether gcfg found sections or keys that the structure does not have.
    #[serde(default)]
    warns: bool,
}

fn cases() -> Vec<Case> {
    serde_json::from_str(include_str!("golden.json")).unwrap()
}

fn bytes(case: &Case) -> Vec<u8> {
    match (&case.text, &case.hex) {
        (Some(text), _) => text.clone().into_bytes(),
        (None, Some(hex)) => {
            (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
        }
        (None, None) => panic!("{}: no text", case.name),
    }
}

/// What the configuration says of a key, as the data writes it.
fn shown(conf: &mut CloudConf, key: &keys::Key) -> Option<Value> {
    use secrecy::ExposeSecret;
    Some(match key.field {
        Field::Text(field) | Field::Word(field) => json!(field(conf)),
        Field::Secret(field) => {
            json!(field(conf).as_ref().map(ExposeSecret::expose_secret).unwrap_or_default())
        }
        Field::Flag(field) => json!(field(conf)),
        Field::Integer(field) => json!(field(conf)),
        Field::Unsigned(field) => json!(field(conf)),
        Field::Duration(field) => json!(i64::try_from(field(conf).as_nanos()).unwrap()),
        Field::List(field) => json!(field(conf)),
        Field::ClassText(_) | Field::RuleFlag(_) | Field::RuleList(_) | Field::Ignored => return None,
    })
}

fn differing(conf: &mut CloudConf) -> BTreeMap<String, Value> {
    let mut defaults = CloudConf::default();
    let mut found = BTreeMap::new();
    for key in keys::KEYS {
        let value = shown(conf, key);
        if value != shown(&mut defaults, key) {
            found.insert(key.name.to_owned(), value.unwrap());
        }
    }
    found
}

fn classes(conf: &CloudConf) -> BTreeMap<String, (String, String)> {
    let shown = |class: &crate::config::LoadBalancerClass| {
        (class.subnet_id.clone(), class.floating_subnet_tags.clone())
    };
    conf.classes.iter().map(|(name, class)| (name.clone(), shown(class))).collect()
}

/// `syntax at 2:5` or `value of key`, as the data writes errors.
fn place(problem: &Problem) -> (String, String) {
    let position = problem.position.map(|position| format!("syntax at {position}")).unwrap_or_default();
    let key = problem.key.as_deref().and_then(|key| key.rsplit(' ').next()).unwrap_or_default();
    (position, format!("value of {key}"))
}

#[test]
fn every_snippet_reads_as_gcfg_reads_it() {
    let cases = cases();
    assert!(cases.len() >= 200, "{}", cases.len());
    let mut wrong = Vec::new();
    for case in &cases {
        let read = Source::from_bytes("cloud.conf", &bytes(case)).and_then(|source| decode(&[source]));
        match (read, &case.error) {
            (Ok(mut read), None) => {
                let found = (differing(&mut read.conf), classes(&read.conf));
                if found != (case.set.clone(), case.classes.clone()) {
                    wrong.push(format!(
                        "{}: wanted {:?}, found {found:?}",
                        case.name,
                        (&case.set, &case.classes)
                    ));
                }
                if case.warns && read.warnings.is_empty() {
                    wrong.push(format!("{}: no warning", case.name));
                }
            }
            (Err(problems), Some(error)) => {
                let places: Vec<_> = problems.0.iter().map(place).collect();
                if !places.iter().any(|(position, key)| position == error || key.eq_ignore_ascii_case(error))
                {
                    wrong.push(format!("{}: wanted {error}, found {problems}", case.name));
                }
            }
            (Ok(_), Some(error)) => wrong.push(format!("{}: wanted {error}, but it was read", case.name)),
            (Err(problems), None) => wrong.push(format!("{}: read by gcfg, but {problems}", case.name)),
        }
    }
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

#[test]
fn sections_of_the_data_are_known() {
    // A slip in the data would make its cases say nothing.
    let known: usize = cases().iter().map(|case| case.set.len()).sum();
    assert!(known > 100, "{known}");
    assert!(Section::find("loadbalancerCLASS").is_some());
}
