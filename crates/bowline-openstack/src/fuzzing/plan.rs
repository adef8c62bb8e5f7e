//! Any wish against any cloud: what holds of every plan.

use bowline_cloud::{LoadBalancerStatus, Plan, Step};

use super::ours::{Judge, Purpose};
use super::scene::{Scene, removal};
use super::{Choices, Held, order};
use crate::loadbalancer::found::Found;
use crate::loadbalancer::names::Names;
use crate::loadbalancer::plan::{ensure, outlook, remove};
use crate::loadbalancer::step::CloudStep;

type LoadBalancerPlan = Plan<CloudStep, LoadBalancerStatus>;

/// Bytes as what a Service wants and what a cloud has.
///
/// # Errors
///
/// If a plan touches what is not ours, has no steps and no end, or is another one when the same was listed in another order.
pub fn plan(bytes: &[u8]) -> Held {
    let mut choices = Choices::new(bytes);
    let scene = Scene::of(&mut choices);
    let removal = removal(&mut choices);
    judged(&scene, &mut choices, Purpose::Ensure, |scene| ensure(&scene.wanted, &scene.found))?;
    judged(&scene, &mut choices, Purpose::Remove, |scene| remove(&removal, &scene.found))?;
    let otherwise = order::listed_otherwise(&scene.found, &mut choices);
    if outlook(&scene.wanted, &scene.found) != outlook(&scene.wanted, &otherwise) {
        return Err("the outlook depends on the order of a list".to_owned());
    }
    Ok(())
}

fn judged(
    scene: &Scene,
    choices: &mut Choices<'_>,
    purpose: Purpose,
    plan: impl Fn(&Scene) -> LoadBalancerPlan,
) -> Held {
    let first = plan(scene);
    ours(&first, &scene.found, scene.names(), purpose).map_err(|why| format!("{purpose:?}: {why}"))?;
    let differs = |what: &str, one: &[String], other: &[String]| {
        Err(format!("{purpose:?}: the order of {what} counts:\n{one:#?}\n{other:#?}"))
    };
    let listed = Scene { found: order::listed_otherwise(&scene.found, choices), ..scene.clone() };
    let (one, other) = (order::told(&first), order::told(&plan(&listed)));
    if one != other {
        return differs("a list", &one, &other);
    }
    let wished = Scene { wanted: order::wished_otherwise(&scene.wanted, choices), ..scene.clone() };
    let (one, other) = (order::told_in_any_order(&first), order::told_in_any_order(&plan(&wished)));
    if one != other {
        return differs("the ports", &one, &other);
    }
    Ok(())
}

fn ours(plan: &LoadBalancerPlan, found: &Found, names: &Names, purpose: Purpose) -> Held {
    let judge = Judge::new(found, names, purpose);
    match plan {
        Plan::Act(steps) if steps.is_empty() => {
            Err("there is something to do, and nothing is done".to_owned())
        }
        Plan::Refuse(refusal) if refusal.problems.is_empty() => Err("a refusal without a reason".to_owned()),
        Plan::Act(steps) => steps.iter().try_for_each(|planned| {
            if planned.reason.is_empty() || planned.step.facts().target.is_empty() {
                return Err(format!("a step without a reason or a target: {:?}", planned.step));
            }
            judge.allow(&planned.step)
        }),
        _ => Ok(()),
    }
}
