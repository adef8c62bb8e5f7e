//! Whatever a cloud has, plans come to an end: the plan after all that was planned is done is empty, also for who looks once more.
//! Seeds and how they are repeated: [`crate::fuzzing::seeds`].

use super::*;
use crate::fuzzing::scene::{Scene, removal};
use crate::fuzzing::{Choices, seeds};

/// More steps than anything here needs.
const MOST_ROUNDS: usize = 300;

/// Performs plans until nothing is left to do.
fn end_of(world: &mut World, plan: impl Fn(&World) -> LoadBalancerPlan) -> Result<LoadBalancerPlan, String> {
    for _round in 0..MOST_ROUNDS {
        let next = plan(world);
        match &next {
            Plan::Act(steps) => world.perform(&steps[0]),
            // A load balancer that Octavia is not at work on stays as it is.
            Plan::Wait(_) if !is_at_work(world) => return Ok(next),
            Plan::Wait(_) => world.finish(),
            _ => return Ok(next),
        }
    }
    let tail = world.done.len().saturating_sub(12);
    Err(format!("no end after {:#?}", &world.done[tail..]))
}

fn is_at_work(world: &World) -> bool {
    world.balancer.as_ref().is_some_and(|balancer| balancer.provisioning_status.is_pending())
}

fn comes_to_an_end(bytes: &[u8]) -> Result<(), String> {
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
        let tags: Vec<_> = left.tags.iter().filter(|tag| *tag == TAG).collect();
        let theirs = left.tags.iter().any(|tag| tag == "bowline-cluster:c2");
        if scene.wanted.balancer.tagged && !tags.is_empty() && !theirs {
            return Err(format!("its tag is left on {left:?}"));
        }
    }
    Ok(())
}

#[test]
fn whatever_a_cloud_has_the_plan_after_the_plan_is_empty() {
    seeds::run("plan, performed", 4_000, comes_to_an_end);
}

#[test]
fn a_pool_that_a_listener_of_another_service_has_too_is_left_alone() {
    let mut wanted = wanted();
    let mut world = World::of(&wanted);
    world.lb().tags.push(OTHER_TAG.to_owned());
    world.foreign_listener("TCP", 8080, &[OTHER_TAG]);
    world.listener(8080).default_pool_id = "pool-1".parse().ok();
    wanted.listeners[0].pool.members.push(member(3, 30080));
    let before = world.tree.clone();
    let end = told(&world.settle(&wanted));
    assert!(
        end[0].contains("pool pool-1 is that of listener listener-1 and of listener foreign-8080"),
        "{end:?}"
    );
    assert_eq!(world.tree, before);
}

#[test]
fn two_listeners_that_have_one_pool_do_not_take_turns_with_its_members() {
    let mut wanted = wanted();
    wanted.listeners.push(listener(1, Protocol::Tcp, 443));
    let mut world = World::of(&wanted);
    world.listener(443).default_pool_id = "pool-1".parse().ok();
    let end = told(&world.settle(&wanted));
    assert!(end[0].contains("is this Service's as well; give one of them a pool of its own"), "{end:?}");
}
