//! What comes on top of a case in some seeds: a guest on somebody's load balancer, servers that get another address, a crowd, a
//! physical machine.
//!
//! Its dice are its own: the rest of a seed is as it was without.

use std::time::Duration;

use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;

use super::{Dice, SERVICES};
use crate::action::{Action, ServiceSpec};
use crate::case::{Setting, Timed};

/// The number of the guest: nobody edits it, so that its one port is never that of its host.
const GUEST: usize = SERVICES + 1;

/// The numbers of the Services that come all at once.
const CROWD: std::ops::RangeInclusive<usize> = GUEST + 1..=GUEST + 5;

/// What is done besides, until the end of what else is done.
pub(super) fn of(setting: &Setting, end: Duration) -> Vec<Timed> {
    let mut dice = Dice(Xoshiro256PlusPlus::seed_from_u64(setting.seed ^ 0x434f_4d50));
    let mut actions = Vec::new();
    // The one who leads before us in some seeds knows no guests.
    if dice.one_in(4) && setting.predecessor.is_none() {
        let came = dice.moment(Duration::ZERO, end);
        let host = dice.of(1..=SERVICES);
        actions.push(Timed { at: came, action: Action::Share(GUEST, host) });
        if dice.one_in(2) {
            actions.push(Timed { at: dice.moment(came, end), action: Action::Delete(GUEST) });
        }
    }
    if dice.one_in(4) {
        for _ in 0..dice.of(1..=2) {
            let node = dice.of(1..=setting.servers);
            actions.push(Timed { at: dice.moment(Duration::ZERO, end), action: Action::Readdress(node) });
        }
    }
    if dice.one_in(8) {
        let came = dice.moment(Duration::ZERO, end);
        let went = dice.one_in(2).then(|| dice.moment(came, end));
        for number in CROWD {
            let at = came + Duration::from_millis(dice.of(0..300));
            actions.push(Timed { at, action: Action::Create(number, ServiceSpec::default()) });
            if let Some(went) = went.filter(|_| dice.one_in(2)) {
                let at = went.max(at) + Duration::from_millis(dice.of(0..300));
                actions.push(Timed { at, action: Action::Delete(number) });
            }
        }
    }
    actions.extend(metal(setting, end));
    actions
}

/// A physical machine in the cluster, in one of four seeds: it comes, and most often it is switched off for a while or for good.
fn metal(setting: &Setting, end: Duration) -> Vec<Timed> {
    let mut dice = Dice(Xoshiro256PlusPlus::seed_from_u64(setting.seed ^ 0x4d45_5441));
    let mut actions = Vec::new();
    if !dice.one_in(4) {
        return actions;
    }
    let came = dice.moment(Duration::ZERO, end);
    actions.push(Timed { at: came, action: Action::Metal(true) });
    if !dice.one_in(4) {
        let off = dice.moment(came, end);
        actions.push(Timed { at: off, action: Action::Metal(false) });
        if dice.one_in(2) {
            actions.push(Timed { at: dice.moment(off, end), action: Action::Metal(true) });
        }
    }
    actions
}
