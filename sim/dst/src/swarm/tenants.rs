//! Other tenants, one of them hostile, in one of three seeds. Their dice are their own: the rest of a seed is as it was without.

use std::time::Duration;

use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;

use super::{Dice, SERVICES};
use crate::action::{Action, Attack, Shop, Target, TenantAction};
use crate::case::{Setting, Timed};
use crate::world::{ATTACKERS, LAST_ATTACKER};

/// An attack that follows what makes it possible comes within this time.
const SOON: Duration = Duration::from_secs(150);

/// The Service that names a load balancer, for those of higher numbers, each of which asks for one thing.
const NAMER: usize = ATTACKERS + 2;

fn dice(seed: u64) -> Dice {
    Dice(Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x5445_4e54))
}

/// Whether a seed has tenants.
pub(super) fn are_there(seed: u64) -> bool {
    dice(seed).one_in(3)
}

/// Whether the other cluster of such a seed has the same `--cluster-name`.
pub(super) fn has_same_cluster_name(seed: u64) -> bool {
    are_there(seed) && more_dice(seed).one_in(3)
}

/// What they do, mostly until the end of what else is done.
pub(super) fn of(setting: &Setting, end: Duration) -> Vec<Timed> {
    let mut dice = dice(setting.seed);
    if !dice.one_in(3) {
        return Vec::new();
    }
    let mut actions = Vec::new();
    let mut act = |at: Duration, action| actions.push(Timed { at, action: Action::Tenant(action) });
    let opened = dice.moment(Duration::ZERO, end / 2);
    act(opened, TenantAction::Open(Shop::Front));
    // What makes attacks possible, and when it happens.
    let mut chances = Vec::new();
    if dice.one_in(2) {
        let kept = dice.moment(Duration::ZERO, end / 2);
        let closed = dice.moment(kept, end) + Duration::from_secs(30);
        act(kept, TenantAction::Open(Shop::Archive));
        act(closed, TenantAction::Close(Shop::Archive));
        chances.push((closed, Target::Shop(Shop::Archive)));
    }
    if dice.one_in(2) {
        let away = dice.moment(opened, end) + Duration::from_secs(30);
        act(away, TenantAction::LoseBalancer(Shop::Front));
        chances.push((away, Target::Shop(Shop::Front)));
    }
    for number in 1..=ATTACKERS {
        let mut last = Duration::ZERO;
        for _ in 0..dice.of(1..=3) {
            let chance = dice.one_in(2).then(|| chances.get(dice.of(0..=chances.len())).copied()).flatten();
            let (from, to, target) = match chance {
                Some((at, target)) => (at, at + SOON, target),
                None => (Duration::ZERO, end, dice.target()),
            };
            let at = dice.moment(from, to);
            act(at, TenantAction::Attack(number, dice.attack(target)));
            last = last.max(at);
        }
        // At last it goes: what it is refused is told again now and then, and rest would be no rest.
        let went = dice.moment(last, last.max(end)) + Duration::from_secs(20);
        act(went, TenantAction::Withdraw(number));
    }
    actions
}

fn more_dice(seed: u64) -> Dice {
    Dice(Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x5348_4f50))
}

/// Shops that use what a person allocated, and one more Service of the hostile tenant. Its dice are its own, too.
pub(super) fn more(setting: &Setting, end: Duration) -> Vec<Timed> {
    let mut dice = more_dice(setting.seed);
    let _same_cluster_name = dice.one_in(3);
    if !setting.tenants || dice.one_in(3) {
        return Vec::new();
    }
    let mut actions = Vec::new();
    let mut act = |at: Duration, action| actions.push(Timed { at, action: Action::Tenant(action) });
    let mut chances = Vec::new();
    for shop in [Shop::Given, Shop::Pinned] {
        if dice.one_in(2) {
            let opened = dice.moment(Duration::ZERO, end / 2);
            let away = dice.moment(opened, end) + Duration::from_secs(60);
            act(opened, TenantAction::Open(shop));
            act(away, TenantAction::LoseBalancer(shop));
            chances.push((away, Target::Shop(shop)));
        }
    }
    let mut last = Duration::ZERO;
    for _ in 0..dice.of(1..=2) {
        let chance = (!chances.is_empty() && !dice.one_in(4)).then(|| chances[dice.of(0..chances.len())]);
        let (from, to, target) = match chance {
            Some((at, target)) => (at, at + SOON, target),
            None => (Duration::ZERO, end, dice.pick(&[Target::Joined, Target::Joined, Target::Ownerless])),
        };
        let at = dice.moment(from, to);
        act(at, TenantAction::Attack(ATTACKERS + 1, dice.further_attack(target)));
        last = last.max(at);
    }
    let went = dice.moment(last, last.max(end)) + Duration::from_secs(60);
    act(went, TenantAction::Withdraw(ATTACKERS + 1));
    actions
}

/// Shops whose address or port is their own while their load balancer is away, and up to four more Services of the hostile tenant, in one
/// of two seeds with tenants. Its dice are its own, too.
pub(super) fn places(setting: &Setting, end: Duration) -> Vec<Timed> {
    let mut dice = Dice(Xoshiro256PlusPlus::seed_from_u64(setting.seed ^ 0x5649_4449));
    if !setting.tenants || dice.one_in(2) {
        return Vec::new();
    }
    let mut actions = Vec::new();
    let mut act = |at: Duration, action| actions.push(Timed { at, action: Action::Tenant(action) });
    let mut chances = Vec::new();
    for shop in [Shop::Inside, Shop::PinnedInside, Shop::Named] {
        if dice.one_in(2) {
            let opened = dice.moment(Duration::ZERO, end / 2);
            let away = dice.moment(opened, end) + Duration::from_secs(60);
            act(opened, TenantAction::Open(shop));
            act(away, TenantAction::LoseBalancer(shop));
            chances.push((away, Target::Shop(shop)));
        }
    }
    let reached = dice.moment(Duration::ZERO, end / 2);
    if dice.one_in(2) {
        act(reached, TenantAction::ReachNode);
        chances.push((reached, Target::NodePort));
    }
    if chances.is_empty() || dice.one_in(8) {
        chances.push((Duration::ZERO, Target::RouterPort));
    }
    let mut last = Duration::ZERO;
    for asker in NAMER + 1..=NAMER + dice.of(1..=3) {
        let (from, target) = dice.pick(&chances);
        let at = dice.moment(from, from + SOON);
        if target == Target::Shop(Shop::Named) {
            // Names the load balancer while it is there.
            let named = from.saturating_sub(Duration::from_secs(dice.of(5..30)));
            act(named, TenantAction::Attack(NAMER, Attack::Join(target)));
        }
        act(at, TenantAction::Attack(asker, dice.attack_on_place(target)));
        last = last.max(at);
    }
    for number in NAMER..=LAST_ATTACKER {
        let went = dice.moment(last, last.max(end)) + Duration::from_secs(60);
        act(went, TenantAction::Withdraw(number));
    }
    actions
}

impl Dice {
    fn attack_on_place(&mut self, target: Target) -> Attack {
        match (target, self.of(0..6)) {
            (Target::Shop(Shop::Named), 0..4) => Attack::FloatingIp(target),
            (Target::Shop(Shop::Named), _) => Attack::LoadBalancerIp(target),
            (Target::Shop(Shop::PinnedInside), 0..3) => Attack::PortId(target),
            (Target::Shop(_), 0..3) => Attack::VipAddress(target),
            (Target::Shop(_), _) => Attack::InternalIp(target),
            (Target::NodePort, 0) => Attack::FloatingIp(target),
            _ => Attack::PortId(target),
        }
    }

    fn further_attack(&mut self, target: Target) -> Attack {
        match (target, self.of(0..8)) {
            (Target::Joined | Target::Ownerless, 0..6) => Attack::Join(target),
            (Target::Shop(Shop::Given), 0..3) => Attack::FloatingIp(target),
            (Target::Shop(Shop::Given), 3..6) => Attack::LoadBalancerIp(target),
            (_, 0..6) => Attack::PortId(target),
            (_, 6) => Attack::VipAddress(target),
            _ => Attack::Tags(target),
        }
    }

    fn target(&mut self) -> Target {
        match self.of(0..6) {
            0 => Target::Shop(Shop::Front),
            1 => Target::Shop(Shop::Archive),
            2 => Target::Web(self.of(1..=SERVICES)),
            3 => Target::Unmanaged,
            _ => Target::OtherCluster,
        }
    }

    fn attack(&mut self, target: Target) -> Attack {
        match self.of(0..4) {
            0 => Attack::FloatingIp(target),
            1 => Attack::LoadBalancerIp(target),
            2 => Attack::Join(target),
            _ => Attack::JoinForged(target),
        }
    }
}
