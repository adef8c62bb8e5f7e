//! Computes the steps from the observed state to the wanted state of a load balancer.
//!
//! Pure: makes no call and reads no clock. The executor performs the first step, together with the following steps that are marked as safe
//! without another observation, and then observes again. The remaining steps only show what will follow. Steps on an object that does not
//! exist yet are planned after it was created.

mod address;
mod balancer;
mod children;
mod claim;
mod conflict;
mod listener;
mod members;
mod monitor;
pub(super) mod order;
mod pool;
mod removal;
mod rename;
pub(super) mod tags;
#[cfg(test)]
mod tests;
mod text;

use std::net::IpAddr;
use std::time::Duration;

use bowline_cloud::{LoadBalancerStatus, Plan, Planned, Refusal, Wait};
use openstack_client::load_balancer::{LoadBalancer, ProvisioningStatus};

pub use self::removal::{remove, strangers};

use self::claim::Claim;
use super::found::{Children, Found, FoundBalancer};
use super::group;
use super::step::CloudStep;
use super::tenancy;
use super::wanted::Wanted;

/// How long to wait for an operation of Octavia before observing again, if no poll reports its end earlier.
const LOOK_AGAIN: Duration = Duration::from_secs(30);

type Steps = Vec<Planned<CloudStep>>;
type LoadBalancerPlan = Plan<CloudStep, LoadBalancerStatus>;

/// Planned steps, and the reasons why other changes are not possible.
#[derive(Default)]
struct Draft {
    steps: Steps,
    problems: Vec<String>,
}

/// Returns the plan that gives a Service its load balancer. Changes that a `[Tenancy]` rule forbids are reported once nothing else is left
/// to do.
#[must_use]
pub fn ensure(wanted: &Wanted, found: &Found) -> LoadBalancerPlan {
    let plan = planned(wanted, found);
    let problems = tenancy::held_back(wanted, found);
    if matches!(plan, Plan::Settled(_)) && !problems.is_empty() { refuse(problems) } else { plan }
}

fn planned(wanted: &Wanted, found: &Found) -> LoadBalancerPlan {
    if let Some(problem) = claim::namesakes(&wanted.names, found) {
        return refuse(vec![problem]);
    }
    let Some(there) = there(found) else { return balancer::create(wanted, found) };
    let claim = Claim::of(&wanted.names, &wanted.ownership, found, there);
    let refusals = claim.refusals(wanted);
    if !refusals.is_empty() {
        return refuse(refusals);
    }
    match there.balancer.provisioning_status {
        ProvisioningStatus::Active => active(wanted, found, &claim),
        ProvisioningStatus::Error => balancer::broken(wanted, found, &claim),
        ProvisioningStatus::PendingDelete => wait(&there.balancer),
        _ => at_work(wanted, found, &claim),
    }
}

/// Whether the Service uses the load balancer that was found, as its owner or as one of several Services, and is allowed to use it.
#[must_use]
pub fn has(wanted: &Wanted, found: &Found) -> bool {
    let claim = there(found).map(|there| Claim::of(&wanted.names, &wanted.ownership, found, there));
    claim.is_some_and(|claim| claim.joined() && claim.refusals(wanted).is_empty())
}

/// Whether the Service uses the load balancer that was found, as its owner or as one of several Services.
#[must_use]
pub fn uses(wanted: &Wanted, found: &Found) -> bool {
    there(found).is_some_and(|there| Claim::of(&wanted.names, &wanted.ownership, found, there).joined())
}

/// Whether the Service owns the load balancer that was found, as opposed to sharing one of another Service.
#[must_use]
pub fn owns(wanted: &Wanted, found: &Found) -> bool {
    there(found).is_some_and(|there| Claim::of(&wanted.names, &wanted.ownership, found, there).owner)
}

/// The status that the Service will have once all planned steps are done; `None` while its address is unknown.
#[must_use]
pub fn outlook(wanted: &Wanted, found: &Found) -> Option<LoadBalancerStatus> {
    Some(balancer::status(wanted, &there(found)?.balancer, address(wanted, found)?))
}

/// The address of the Service; `None` while it is unknown, or while a floating IP has yet to be attached or detached.
#[must_use]
pub fn address(wanted: &Wanted, found: &Found) -> Option<IpAddr> {
    let claim = Claim::of(&wanted.names, &wanted.ownership, found, there(found)?);
    let reached = address::reached(wanted, found, &claim);
    reached.address.filter(|_address| reached.steps.is_empty())
}

/// The load balancer, unless Octavia lists it as DELETED.
fn there(found: &Found) -> Option<&FoundBalancer> {
    let gone = |there: &&FoundBalancer| there.balancer.provisioning_status == ProvisioningStatus::Deleted;
    found.balancer.as_ref().filter(|there| !gone(there))
}

/// Octavia rejects changes while it works on the load balancer (immutable state), so only Neutron steps are planned.
fn at_work(wanted: &Wanted, found: &Found, claim: &Claim<'_>) -> LoadBalancerPlan {
    let mut steps = address::reached(wanted, found, claim).steps;
    if claim.joined() {
        steps.extend(group_steps(wanted, found));
    }
    if steps.is_empty() { wait(&claim.there.balancer) } else { Plan::Act(in_one_go(steps)) }
}

/// Marks the steps that need no observation before them. Neutron steps do not: each changes a separate object, which was observed. At most
/// one Octavia step can be among them, because it makes the load balancer immutable and its observed state outdated.
fn in_one_go(steps: Steps) -> Steps {
    let mut octavia_is_free = true;
    let mark = |planned: Planned<CloudStep>| {
        let of_octavia = planned.step.on.is_some();
        let at_once = !of_octavia || octavia_is_free;
        octavia_is_free &= !of_octavia;
        if at_once { planned.at_once() } else { planned }
    };
    steps.into_iter().map(mark).collect()
}

fn active(wanted: &Wanted, found: &Found, claim: &Claim<'_>) -> LoadBalancerPlan {
    let tree = match &claim.there.children {
        Children::Known(tree) => Some(tree),
        Children::AsWanted => None,
        Children::Busy => return wait(&claim.there.balancer),
    };
    if let Some(former) = claim.former {
        return Plan::Act(rename::steps(wanted, found, claim, tree, former));
    }
    let mut draft = tree.map(|tree| children::draft(wanted, claim, tree)).unwrap_or_default();
    let reached = address::reached(wanted, found, claim);
    draft.problems.extend(reached.problem);
    // A Service that does not use this load balancer yet is refused if anything is invalid. One that already uses it gets every change that
    // is possible; the rest is reported afterwards.
    if !draft.problems.is_empty() && !claim.joined() {
        return refuse(draft.problems);
    }
    let mut steps: Steps = balancer::join(wanted, claim).into_iter().collect();
    steps.append(&mut draft.steps);
    steps.extend(reached.steps);
    steps.extend(group_steps(wanted, found));
    steps.extend(balancer::twins(found));
    if !steps.is_empty() {
        return Plan::Act(in_one_go(steps));
    }
    match reached.address {
        _ if !draft.problems.is_empty() => refuse(draft.problems),
        Some(address) => Plan::Settled(balancer::status(wanted, &claim.there.balancer, address)),
        None => Plan::Wait(Wait {
            reason: format!(
                "Octavia does not tell the address of load balancer {} yet",
                claim.there.balancer.id
            ),
            at_most: LOOK_AGAIN,
        }),
    }
}

fn group_steps(wanted: &Wanted, found: &Found) -> Steps {
    match (&wanted.group, &found.group) {
        (None, Some(found)) => group::removal_steps(found),
        (wanted, found) => group::ensure_steps(wanted.as_ref(), found.as_ref()),
    }
}

fn refuse(problems: Vec<String>) -> LoadBalancerPlan {
    Plan::Refuse(Refusal { problems })
}

fn wait(on: &LoadBalancer) -> LoadBalancerPlan {
    let status = &on.provisioning_status;
    let what = match status {
        ProvisioningStatus::PendingCreate => "is being created by Octavia",
        ProvisioningStatus::PendingUpdate => "is being changed by Octavia",
        ProvisioningStatus::PendingDelete => "is being deleted by Octavia",
        ProvisioningStatus::Active => {
            "could not be read whole while Octavia was at work, and is looked at again"
        }
        _ => "is in a state that Octavia has to leave first",
    };
    let reason = format!("load balancer {} {what} ({status})", on.id);
    Plan::Wait(Wait { reason, at_most: LOOK_AGAIN })
}
