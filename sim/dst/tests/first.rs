//! x
use std::time::Duration;
use dst::action::{Action, ServiceSpec};
use dst::case::{Case, Timed};

#[test]
fn a_quiet_run() {
    let at = Duration::from_secs;
    let mut actions: Vec<Timed> = (1..=3).map(|n| Timed { at: at(2), action: Action::Join(n) }).collect();
    actions.push(Timed { at: at(5), action: Action::Create(1, ServiceSpec::default()) });
    actions.push(Timed { at: at(60), action: Action::Delete(1) });
    actions.push(Timed { at: at(90), action: Action::Create(2, ServiceSpec::default()) });
    let case = Case { name: "first".into(), actions, ..Case::default() };
    let t = std::time::Instant::now();
    let one = dst::run(&case);
    println!("{}", one.story());
    println!("{:?} {:?} lines {}", t.elapsed(), one.counts, one.trace.lines().len());
    let two = dst::run(&case);
    for (a, b) in one.trace.lines().iter().zip(two.trace.lines()) { assert_eq!(a, b); }
    assert_eq!(one.trace.hash(), two.trace.hash());
    assert!(one.is_sound());
}

#[test]
fn a_count() {
    let at = Duration::from_secs;
    let mut actions: Vec<Timed> = (1..=3).map(|n| Timed { at: at(2), action: Action::Join(n) }).collect();
    actions.push(Timed { at: at(5), action: Action::Create(1, ServiceSpec::default()) });
    let case = Case { name: "first".into(), actions, ..Case::default() };
    let one = dst::run(&case);
    let mut m = std::collections::BTreeMap::new();
    for l in one.trace.lines() { *m.entry((l.who.clone(), l.what.split(' ').take(2).collect::<Vec<_>>().join(" "))).or_insert(0) += 1; }
    for (k, v) in m { println!("{v:5} {k:?}"); }
    let t = std::time::Instant::now();
    for _ in 0..5 { dst::run(&case); }
    println!("{:?}", t.elapsed() / 5);
}
