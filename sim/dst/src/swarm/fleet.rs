//! Many Services at once whose load balancers all serve nobody some time later, in one of ten seeds. Its dice are its own: the rest of a
//! seed is as it was without.

use std::time::Duration;

use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;

use super::Dice;
use crate::action::{Action, ServiceSpec};
use crate::case::Timed;

/// The numbers of these Services. Nobody edits them.
const NUMBERS: std::ops::RangeInclusive<usize> = 10..=crate::world::SERVICES;

/// What is done besides, until the end of what else is done.
pub(super) fn of(seed: u64, end: Duration) -> Vec<Timed> {
    let mut dice = Dice(Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x464c_4f54));
    if !dice.one_in(10) {
        return Vec::new();
    }
    let mut actions = Vec::new();
    // With few of them they are replaced, with many they are not.
    for number in NUMBERS.take(dice.of(0..=4)) {
        let at = dice.moment(Duration::ZERO, end / 2);
        actions.push(Timed { at, action: Action::Create(number, ServiceSpec::default()) });
    }
    let at = dice.moment(end / 4, end) + Duration::from_secs(30);
    actions.push(Timed { at, action: Action::BalancersInError { offline: true } });
    actions
}
