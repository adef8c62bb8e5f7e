//! Whatever a cloud has, plans come to an end: the plan after all that was planned is done is empty, also for who looks once more.
//! Seeds and how they are repeated: [`crate::fuzzing::seeds`].

use super::*;
use crate::fuzzing::{performed, seeds};

#[test]
fn whatever_a_cloud_has_the_plan_after_the_plan_is_empty() {
    seeds::run("plan, performed", 4_000, performed);
}

#[test]
fn a_pool_that_a_listener_of_another_service_has_too_is_left_alone() {
    let mut wanted = wanted();
    let mut world = World::of(&wanted);
    world.lb().tags.push(OTHER_TAG.to_owned());
    world.foreign_listener("TCP", 8080, &[OTHER_TAG]);
    world.listener(8080).default_pool_id = "pool-1".parse().ok();
    wanted.listeners[0].pool.members.change(|all| all.push(member(3, 30080)));
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
