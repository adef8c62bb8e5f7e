//! A cluster in memory, second by second, with an old writer of each kind, our manager, a person and an operator that decides by
//! [`decide`](super::super::decide) alone; pods are killed and cut off, the operator loses its memory, its status or both. At every
//! second at most one writer acts and no Service has two load balancers; in the end it is done, back, or blocked with words.

mod election;
mod observe;
mod operator;
mod trouble;
mod verdict;
mod world;

use std::collections::BTreeMap;
use std::time::Instant;

use self::world::{Setting, World};
use crate::api::{MigrationKind, Phase};

const KINDS: [MigrationKind; 5] = [
    MigrationKind::Fresh,
    MigrationKind::None,
    MigrationKind::InTree,
    MigrationKind::OtherManager,
    MigrationKind::Embedded,
];

/// How many runs there are of each kind, half of them with a way back. `BOWLINE_MODEL_RUNS` asks for more.
fn runs() -> u64 {
    std::env::var("BOWLINE_MODEL_RUNS").ok().and_then(|text| text.parse().ok()).unwrap_or(250)
}

/// For how many seconds things go wrong, and how many there are for all to end well.
const CHAOS: u64 = 240;
const END: u64 = 4000;

fn run(kind: MigrationKind, seed: u64) -> World {
    let mut world = World::new(kind, seed);
    for second in 0..END {
        world.tick(second < CHAOS);
        world.assert_safe();
        if second > CHAOS && world.is_settled() {
            break;
        }
    }
    world
}

fn assert_ended(world: &World) {
    let status = world.status();
    let wanted = world.setting.rollback_at.is_some();
    let is_done = match status.phase {
        Phase::Steady => !wanted,
        Phase::Previous => wanted,
        Phase::Blocked => status.blocked.is_some() && !world.message.is_empty(),
        _ => false,
    };
    assert!(is_done, "{}", world.story());
    if status.phase == Phase::Steady {
        world.assert_served();
    }
}

fn whatever_goes_wrong(kind: MigrationKind) {
    let begun = Instant::now();
    let mut ends: BTreeMap<String, usize> = BTreeMap::new();
    let (mut seconds, mut decisions, mut lost) = (0, 0, 0);
    for seed in 0..runs() {
        let world = run(kind, seed);
        assert_ended(&world);
        let status = world.status();
        let reason = status.blocked.clone().map(|reason| format!(" ({reason})")).unwrap_or_default();
        *ends.entry(format!("{}{reason}", status.phase)).or_default() += 1;
        seconds += world.now;
        decisions += world.decisions;
        lost += world.losses;
    }
    println!(
        "{kind:?}: {} runs, {seconds} simulated seconds, {decisions} decisions, status or memory lost {lost} times, {:?}: {ends:?}",
        runs(),
        begun.elapsed()
    );
}

#[test]
fn a_fresh_cluster_has_one_writer_and_an_end_whatever_goes_wrong() {
    whatever_goes_wrong(MigrationKind::Fresh);
}

#[test]
fn a_cluster_without_a_cloud_has_one_writer_and_an_end_whatever_goes_wrong() {
    whatever_goes_wrong(MigrationKind::None);
}

#[test]
fn a_cluster_with_the_provider_inside_has_one_writer_and_an_end_whatever_goes_wrong() {
    whatever_goes_wrong(MigrationKind::InTree);
}

#[test]
fn a_cluster_with_another_manager_has_one_writer_and_an_end_whatever_goes_wrong() {
    whatever_goes_wrong(MigrationKind::OtherManager);
}

#[test]
fn a_cluster_of_k3s_has_one_writer_and_an_end_whatever_goes_wrong() {
    whatever_goes_wrong(MigrationKind::Embedded);
}

#[test]
fn without_trouble_every_kind_ends_in_steady_and_the_gap_is_short() {
    for kind in KINDS {
        let mut world = World::calm(kind);
        for _ in 0..END {
            world.tick(false);
            world.assert_safe();
            if world.is_settled() {
                break;
            }
        }
        assert_eq!(world.status().phase, Phase::Steady, "{}", world.story());
        world.assert_served();
        assert!(world.longest_gap <= 60, "{kind:?}: nobody wrote for {} s", world.longest_gap);
    }
}

#[test]
fn a_cluster_whose_load_balancer_is_missing_is_not_handed_over_before_a_person_says_so() {
    let mut world = World::calm(MigrationKind::OtherManager);
    world.old_is_blind = true;
    world.lose_a_load_balancer();
    for _ in 0..600 {
        world.tick(false);
        world.assert_safe();
    }
    assert_eq!(world.status().blocked.as_deref(), Some("HandOverChanges"), "{}", world.story());
    world.accept_all();
    for _ in 0..END {
        world.tick(false);
        world.assert_safe();
    }
    assert_eq!(world.status().phase, Phase::Steady, "{}", world.story());
}

#[test]
fn settings_differ_between_seeds() {
    let settings: Vec<Setting> = (0..20).map(|seed| World::new(MigrationKind::None, seed).setting).collect();
    assert!(settings.iter().any(|setting| setting.rollback_at.is_some()));
    assert!(settings.iter().any(|setting| setting.rollback_at.is_none()));
}
