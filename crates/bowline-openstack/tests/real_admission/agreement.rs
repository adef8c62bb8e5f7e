//! The policy and the controller agree.

use std::collections::BTreeSet;

use bowline_openstack::loadbalancer::admission::judges;
use bowline_openstack::loadbalancer::annotations::{ANNOTATIONS, Annotation, Kind};
use futures::{StreamExt, TryStreamExt, stream};
use proptest::collection::btree_map;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use crate::harness::{Annotations, Harness, Verdict, one, problems};
use crate::values::{any_value, values};

/// How many requests are under way at a time.
const AT_ONCE: usize = 8;

/// What one value of one annotation showed: whether it was refused, or what is wrong with the verdict.
async fn compare(site: &Harness, row: &Annotation, value: &str) -> anyhow::Result<Result<bool, String>> {
    let annotations = one(row.key, value);
    let (verdict, problems) = (site.verdict(&annotations).await?, problems(&annotations));
    let expected = match &verdict {
        Verdict::Admitted => problems.is_empty() || !judges(row.kind) && row.kind != Kind::Networks,
        // The words are the controller's own, unless the value is cut or cleaned.
        Verdict::Policy(message) => match &problems[..] {
            [problem] if plain(value) => problem == message,
            [_problem] => message.contains(row.key) && message.ends_with(&row.kind.accepted()),
            _ => false,
        },
        Verdict::Server(_message) => row.kind == Kind::Networks,
    };
    let refused = matches!(verdict, Verdict::Policy(_));
    Ok(if expected {
        Ok(refused)
    } else {
        Err(format!("{} {value:?}: {verdict:?}, the controller says {problems:?}", row.key))
    })
}

fn plain(value: &str) -> bool {
    value.len() <= 40
        && value.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic() && !b"\"\\".contains(&byte))
}

/// Every annotation with values: all of them for the first of a kind, a few for the others, which share its expression.
fn tries() -> Vec<(&'static Annotation, String)> {
    let values = values();
    let mut kinds = Vec::new();
    let mut tries = Vec::new();
    for row in ANNOTATIONS {
        let step = if kinds.contains(&row.kind) { 6 } else { 1 };
        kinds.push(row.kind);
        tries.extend(values.iter().step_by(step).map(|value| (row, value.clone())));
    }
    tries
}

#[tokio::test]
async fn every_value_of_every_annotation_is_judged_as_the_controller_judges_it() -> anyhow::Result<()> {
    let site = Harness::new().await?;
    let all = tries();
    let tried = stream::iter(all).map(|(row, value)| {
        let site = &site;
        async move { Ok::<_, anyhow::Error>((row, compare(site, row, &value).await?)) }
    });
    let tried: Vec<_> = tried.buffer_unordered(AT_ONCE).try_collect().await?;
    let wrong: Vec<_> = tried.iter().filter_map(|(_, result)| result.as_ref().err()).collect();
    assert!(wrong.is_empty(), "{} of {} verdicts differ: {wrong:#?}", wrong.len(), tried.len());
    for row in ANNOTATIONS {
        let of_row = tried.iter().filter(|(of, _)| of.key == row.key);
        let refused: BTreeSet<bool> = of_row.filter_map(|(_, result)| result.clone().ok()).collect();
        // Of certificates the policy judges the length only.
        let is_judged = judges(row.kind) || row.kind == Kind::Certificate;
        let both: BTreeSet<bool> = if is_judged { [false, true].into() } else { [false].into() };
        assert_eq!(refused, both, "{}", row.key);
    }
    Ok(())
}

/// Several annotations at once, from the same choices every time.
fn services(count: usize) -> anyhow::Result<Vec<Annotations>> {
    let judged: Vec<String> =
        ANNOTATIONS.iter().filter(|row| judges(row.kind)).map(|row| row.key.to_owned()).collect();
    let annotations = btree_map(proptest::sample::select(judged), any_value(), 1..12);
    let mut runner = TestRunner::deterministic();
    let drawn = (0..count).map(|_| annotations.new_tree(&mut runner).map(|tree| tree.current()));
    drawn.collect::<Result<_, _>>().map_err(|reason| anyhow::anyhow!("no values: {reason}"))
}

/// The annotations that a message tells of.
fn told(messages: &[String]) -> BTreeSet<&'static str> {
    let tells = |key: &str| messages.iter().any(|message| message.contains(&format!("{key} ")));
    ANNOTATIONS.iter().map(|row| row.key).filter(|key| tells(key)).collect()
}

#[tokio::test]
async fn every_wrong_annotation_of_a_service_is_told_and_no_other() -> anyhow::Result<()> {
    let site = Harness::new().await?;
    let mut counts = [0, 0];
    for annotations in services(300)? {
        let problems = problems(&annotations);
        let messages = match site.verdict(&annotations).await? {
            Verdict::Admitted => Vec::new(),
            Verdict::Policy(message) => vec![message],
            Verdict::Server(message) => anyhow::bail!("{annotations:?}: {message}"),
        };
        assert_eq!(told(&messages), told(&problems), "{annotations:?}: {messages:?}");
        counts[usize::from(problems.is_empty())] += 1;
    }
    assert!(counts.iter().all(|count| *count > 10), "refused and admitted: {counts:?}");
    Ok(())
}

#[tokio::test]
async fn two_annotations_that_exclude_each_other_are_refused_in_the_controllers_words() -> anyhow::Result<()>
{
    let site = Harness::new().await?;
    for proxy in ["", "true", "v1", "v2", "false", "nonsense"] {
        for forwarded in ["", "true", "false", "nonsense"] {
            let mut annotations = one("proxy-protocol", proxy);
            annotations.extend(one("x-forwarded-for", forwarded));
            let problems = problems(&annotations);
            let said: BTreeSet<String> = match site.verdict(&annotations).await? {
                Verdict::Policy(message) => message
                    .split("; annotation")
                    .map(|part| part.trim_start_matches("annotation").to_owned())
                    .collect(),
                Verdict::Admitted => BTreeSet::new(),
                Verdict::Server(message) => anyhow::bail!("{annotations:?}: {message}"),
            };
            let wanted: BTreeSet<String> =
                problems.iter().map(|problem| problem.trim_start_matches("annotation").to_owned()).collect();
            assert_eq!(said, wanted, "{annotations:?}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn values_of_many_kilobytes_are_judged_as_well() -> anyhow::Result<()> {
    let site = Harness::new().await?;
    let entries = vec!["zone=a"; 30_000].join(",");
    let longest = |bytes: usize| vec!["zone=a"; (bytes + 1) / 7].join(",");
    // Selectors and tags have limits of their own, and count up to them.
    let (selector, tags) = (longest(8 << 10), longest(4 << 10));
    for (key, value) in [("node-selector", &selector), ("floating-subnet-tags", &tags), ("class", &entries)] {
        let annotations = one(key, value);
        assert!(problems(&annotations).is_empty() || key == "class", "{key}");
        assert_eq!(site.verdict(&annotations).await?, Verdict::Admitted, "{key}");
    }
    for (key, value) in [
        ("port-id", entries.clone()),
        ("hostname", entries.clone()),
        ("default-tls-container-ref", format!("https://kms/v1/{entries}/containers/c-1")),
        ("node-selector", format!("{selector},zone=a")),
        ("node-selector", "=c,zone=a".to_owned()),
        ("floating-subnet-tags", format!("{tags},zone=a")),
    ] {
        assert!(!problems(&one(key, &value)).is_empty(), "{key}");
        let Verdict::Policy(message) = site.verdict(&one(key, &value)).await? else {
            anyhow::bail!("{key} should be refused");
        };
        // The value is quoted up to 128 characters.
        assert!(message.len() < 400, "{message}");
    }
    Ok(())
}
