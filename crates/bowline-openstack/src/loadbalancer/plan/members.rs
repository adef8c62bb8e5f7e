//! Plans the members of a pool: as one batch, or one by one if the provider requires serial calls.
//!
//! Octavia identifies a member by its address and port, and cannot change its subnet: such a member is removed and added again, at most
//! half of the members at a time, so that the pool keeps serving. Members of Nodes that leave stay with weight 0 until they are drained.
//! Other weights and disabled members stay as they were set by others; where members are drained, a weight of 0 is set by Bowline and
//! reverted.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use bowline_cloud::{Planned, SetChange};
use openstack_client::load_balancer::{BatchMember, Member};

use super::Steps;
use super::claim::Claim;
use super::conflict::port;
use super::text::few;
use crate::loadbalancer::found::FoundPool;
use crate::loadbalancer::members;
use crate::loadbalancer::step::{Action, CloudStep};
use crate::loadbalancer::wanted::{Wanted, WantedListener, WantedPool};

/// The address and port by which Octavia identifies a member.
type Spot = (IpAddr, u16);

/// A pool with its observed and its wanted members.
struct Members<'a> {
    claim: &'a Claim<'a>,
    at: String,
    pool: &'a FoundPool,
    wanted: &'a [BatchMember],
    /// The wanted members in their shared form, if the Service does not drain members.
    wish: Option<&'a members::Members>,
    found: BTreeMap<Spot, &'a Member>,
}

pub(super) fn steps(wanted: &Wanted, claim: &Claim<'_>, wish: &WantedListener, pool: &FoundPool) -> Steps {
    let nobody_leaves = wish.pool.leaving.as_ref().is_none_or(Vec::is_empty);
    // Skips the comparison of thousands of members if the members that were last sent are known to be in the pool and equal the wanted
    // ones.
    if nobody_leaves && !wanted.serial && pool.members.are(&wish.pool.members) {
        return Steps::new();
    }
    let there = pool.members.to_vec();
    let found = there.iter().map(|member| (spot_of(member), member)).collect();
    let all = with_leaving(&wish.pool, &found);
    let as_wished = wish.pool.leaving.is_none().then_some(&wish.pool.members);
    let members = Members { claim, at: port(&wish.key), pool, wanted: &all, wish: as_wished, found };
    if wanted.serial { members.one_by_one() } else { members.all_at_once() }
}

/// All members that a pool should have: the wanted ones, and those of leaving Nodes that are still in the pool, with the subnet they have
/// there.
fn with_leaving(wish: &WantedPool, found: &BTreeMap<Spot, &Member>) -> Vec<BatchMember> {
    let members = wish.members.to_vec();
    let Some(leaving) = &wish.leaving else { return members };
    let taken: BTreeSet<Spot> = members.iter().map(spot).collect();
    let weighed = |member: &BatchMember, found: Option<&&Member>| {
        // Octavia keeps the weight of a member if the request has none.
        let serves_again = found.is_some_and(|found| weight(found) == 0).then_some(1);
        BatchMember { weight: member.weight.or(serves_again), ..member.clone() }
    };
    let stay = members.iter().map(|member| weighed(member, found.get(&spot(member))));
    let leave = leaving.iter().filter(|member| !taken.contains(&spot(member))).filter_map(|member| {
        let there = found.get(&spot(member))?;
        Some(BatchMember { subnet_id: there.subnet_id.clone(), ..weighed(member, Some(there)) })
    });
    stay.chain(leave).collect()
}

/// The weight of a member; 1, the default of Octavia, if the answer has none.
fn weight(member: &Member) -> i64 {
    member.weight.unwrap_or(1)
}

fn spot(member: &BatchMember) -> Spot {
    (member.address, member.protocol_port)
}

fn spot_of(member: &Member) -> Spot {
    (member.address, member.protocol_port)
}

/// Whether a member is in another subnet than wanted. `false` if either side does not name a subnet: Octavia then chose one.
fn is_elsewhere(wanted: &BatchMember, found: &Member) -> bool {
    let (wanted, found) = (wanted.subnet_id.as_ref(), found.subnet_id.as_ref());
    wanted.zip(found).is_some_and(|(wanted, found)| wanted != found)
}

impl<'a> Members<'a> {
    fn missing(&self) -> Vec<&'a BatchMember> {
        self.wanted.iter().filter(|member| !self.found.contains_key(&spot(member))).collect()
    }

    fn leftover(&self) -> Vec<&'a Member> {
        let wanted: BTreeSet<Spot> = self.wanted.iter().map(spot).collect();
        self.found.iter().filter(|(spot, _)| !wanted.contains(spot)).map(|(_, member)| *member).collect()
    }

    /// Members with the same address and port for which `differs` is true.
    fn differing(
        &self,
        differs: impl Fn(&BatchMember, &Member) -> bool,
    ) -> Vec<(&'a BatchMember, &'a Member)> {
        let both = self.wanted.iter().filter_map(|wanted| Some((wanted, *self.found.get(&spot(wanted))?)));
        both.filter(|(wanted, found)| differs(wanted, found)).collect()
    }

    fn all_at_once(&self) -> Steps {
        let moving: Vec<Spot> = self.differing(is_elsewhere).iter().map(|(wanted, _)| spot(wanted)).collect();
        let news = self.news().map(|(reason, removed)| {
            let change = SetChange { before: self.found.len(), removed };
            self.set(&[], &moving, change, &reason)
        });
        news.into_iter().chain(self.moves(&moving)).collect()
    }

    /// Removes the members that are in another subnet and adds them again, at most half of all members at a time.
    fn moves(&self, moving: &[Spot]) -> Steps {
        let before = self.wanted.len();
        let mut steps = Steps::new();
        let mut rest = moving;
        while !rest.is_empty() {
            let (out, later) = rest.split_at((before / 2).clamp(1, rest.len()));
            let names = self.names(out);
            let removed = SetChange { before, removed: out.len() };
            let reason = format!("{names} must be in another subnet, which needs a new member");
            steps.push(self.set(out, later, removed, &reason));
            let back = SetChange { before: before.saturating_sub(out.len()), removed: 0 };
            steps.push(self.set(&[], later, back, &format!("{names} back in the right subnet")));
            rest = later;
        }
        steps
    }

    fn names(&self, spots: &[Spot]) -> String {
        let spots: BTreeSet<&Spot> = spots.iter().collect();
        let these = self.wanted.iter().filter(|member| spots.contains(&spot(member)));
        few(&these.map(|member| member.name.as_str()).collect::<Vec<_>>())
    }

    /// Sets all wanted members except `out`. The members in `stay` keep their observed subnet.
    fn set(&self, out: &[Spot], stay: &[Spot], change: SetChange, reason: &str) -> Planned<CloudStep> {
        let (out, stay): (BTreeSet<_>, BTreeSet<_>) = (out.iter().collect(), stay.iter().collect());
        let within = self.wanted.iter().filter(|member| !out.contains(&spot(member)));
        let members = within.map(|member| {
            let found = self.found.get(&spot(member)).filter(|_found| stay.contains(&spot(member)));
            found.map_or_else(
                || member.clone(),
                |found| BatchMember { subnet_id: found.subnet_id.clone(), ..member.clone() },
            )
        });
        let members = match self.wish {
            Some(wish) if out.is_empty() && stay.is_empty() => wish.clone(),
            _ => members.collect(),
        };
        let pool = self.pool.pool.id.clone();
        self.claim.step(Action::SetMembers { pool, members, change }, format!("{}: {reason}", self.at))
    }

    /// A description of what changes, and the number of members removed; `None` if nothing differs.
    fn news(&self) -> Option<(String, usize)> {
        let joined: Vec<&str> = self.missing().iter().map(|member| member.name.as_str()).collect();
        let leftover = self.leftover();
        let left_names: BTreeSet<&str> = leftover.iter().map(|member| member.name.as_str()).collect();
        let other = |wanted: &BatchMember, found: &Member| {
            wanted.name != found.name || wanted.monitor_port != found.monitor_port
        };
        let changed = self.differing(other);
        let changed: Vec<&str> = changed.iter().map(|(wanted, _)| wanted.name.as_str()).collect();
        let weighed = |to: i64| {
            let other =
                |wanted: &BatchMember, found: &Member| wanted.weight == Some(to) && weight(found) != to;
            self.differing(other).iter().map(|(wanted, _)| wanted.name.as_str()).collect::<Vec<_>>()
        };
        let (drained, back) = (weighed(0), weighed(1));
        let (moved, joined): (Vec<&str>, Vec<&str>) =
            joined.into_iter().partition(|name| left_names.contains(name));
        let moved_names: BTreeSet<&str> = moved.iter().copied().collect();
        let left = leftover.iter().map(|member| member.name.as_str());
        let left: Vec<&str> = left.filter(|name| !moved_names.contains(name)).collect();
        // A drained member counts as removed, so the limit on removals holds back draining as well.
        let removed = left.len() + drained.len();
        let told = [
            (joined, "joined"),
            (left, "left"),
            (moved, "moved to another address or port"),
            (drained, "set to drain"),
            (back, "set to serve again"),
            (changed, "changed in name or monitor port"),
        ];
        let told: Vec<String> = told
            .iter()
            .filter(|(names, _)| !names.is_empty())
            .map(|(names, what)| format!("{} {what}", few(names)))
            .collect();
        (!told.is_empty()).then(|| (told.join("; "), removed))
    }

    /// Adds missing members before it deletes others, so that the pool does not shrink. A member that has to be recreated is deleted first.
    fn one_by_one(&self) -> Steps {
        let (leftover, found) = (self.leftover(), self.found.len());
        let other = |wanted: &BatchMember, found: &Member| {
            wanted.monitor_port != found.monitor_port || is_elsewhere(wanted, found)
        };
        let mut steps: Steps =
            self.missing().into_iter().map(|member| self.create(member, "joined")).collect();
        for (wanted, found_member) in self.differing(other) {
            let change = SetChange { before: found, removed: 1 };
            let what = "must be asked at another port or be in another subnet, which needs a new member";
            steps.push(self.delete(found_member, change, what));
            steps.push(self.create(wanted, "comes back"));
        }
        let change = SetChange { before: found, removed: leftover.len() };
        steps.extend(leftover.into_iter().map(|member| self.delete(member, change, "left")));
        steps
    }

    fn create(&self, member: &BatchMember, what: &str) -> Planned<CloudStep> {
        let action = Action::CreateMember(self.pool.pool.id.clone(), member.clone());
        self.claim.step(action, format!("{}: {} {what}", self.at, member.name))
    }

    fn delete(&self, member: &Member, change: SetChange, what: &str) -> Planned<CloudStep> {
        let (pool, id) = (self.pool.pool.id.clone(), member.id.clone());
        let action = Action::DeleteMember { pool, member: id, change };
        self.claim.step(action, format!("{}: {} {what}", self.at, member.name))
    }
}
