//! Any wish against any cloud, performed on a small model of it.

use bowline_cloud::{LoadBalancerStatus, Plan};

use super::order::told;
use super::scene::{OWN, Scene, removal};
use super::world::World;
use super::{Choices, Held};
use crate::loadbalancer::step::CloudStep;

type LoadBalancerPlan = Plan<CloudStep, LoadBalancerStatus>;

/// More steps than anything here needs.
const MOST_ROUNDS: usize = 300;

/// Performs plans until nothing is left to do.
fn end_of(world: &mut World, plan: impl Fn(&World) -> LoadBalancerPlan) -> Result<LoadBalancerPlan, String> {
    for _round in 0..MOST_ROUNDS {
        let next = plan(world);
        match &next {
            Plan::Act(steps) => world.perform(steps.first().ok_or("a plan to act without a step")?),
            // A load balancer that Octavia is not at work on stays as it is.
            Plan::Wait(_) if !is_at_work(world) => return Ok(next),
            Plan::Wait(_) => world.finish(),
            _ => return Ok(next),
        }
    }
    let tail = world.done.len().saturating_sub(12);
    Err(format!("no end after {:#?}", world.done.get(tail..)))
}

fn is_at_work(world: &World) -> bool {
    world.balancer.as_ref().is_some_and(|balancer| balancer.provisioning_status.is_pending())
}

/// Bytes as what a Service wants and what a cloud has; plans for it are performed until nothing is left to do.
///
/// # Errors
///
/// If that has no end, if the plan after it is another one, or if a Service that was removed is still on its load balancer.
pub fn performed(bytes: &[u8]) -> Held {
    let mut choices = Choices::new(bytes);
    let scene = Scene::of(&mut choices);
    let removal = removal(&mut choices);
    if !scene.found.namesakes.is_empty() {
        return Ok(());
    }
    let mut world = World::found_as(&scene.found);
    let end = end_of(&mut world, |world| world.ensure(&scene.wanted))?;
    let again = told(&world.ensure(&scene.wanted));
    if again != told(&end) {
        return Err(format!("it was {end:?}, and is {again:?}"));
    }
    let gone = end_of(&mut world, |world| world.remove(&removal))?;
    if let (Plan::Settled(_), Some(left)) = (&gone, &world.balancer) {
        let tags: Vec<_> = left.tags.iter().filter(|tag| *tag == OWN).collect();
        let theirs = left.tags.iter().any(|tag| tag == "bowline-cluster:c2");
        if scene.wanted.balancer.tagged && !tags.is_empty() && !theirs {
            return Err(format!("its tag is left on {left:?}"));
        }
    }
    Ok(())
}
