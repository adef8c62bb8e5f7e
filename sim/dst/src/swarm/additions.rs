//! People who add listeners and pools of their own to load balancers of Services, in one of eight seeds. Their dice are their own.

use std::time::Duration;

use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;

use super::{Dice, SERVICES};
use crate::action::{Action, Addition, Meddling};
use crate::case::Timed;

/// What is added, until the end of what else is done.
pub(super) fn of(seed: u64, end: Duration) -> Vec<Timed> {
    let mut dice = Dice(Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x4144_4444));
    if !dice.one_in(8) {
        return Vec::new();
    }
    let mut actions = Vec::new();
    for _ in 0..dice.of(1..=3) {
        let addition = dice.pick(&[Addition::Listener, Addition::TaggedListener, Addition::Pool]);
        let action = Action::Meddle(dice.of(1..=SERVICES), Meddling::Add(addition));
        actions.push(Timed { at: dice.moment(end / 4, end), action });
    }
    actions
}
