//! A load balancer with everything below it in one request: all of it is checked before anything is made.

use serde_json::{Map, Value};

use super::errors::invalid;
use super::model::{HealthMonitor, Listener, LoadBalancer, Member, Pool};
use super::{listeners, members, monitors, pools, quotas};
use crate::cloud::World;
use crate::http::Refusal;
use crate::http::json::members as as_map;

/// What will be made with a load balancer.
#[derive(Default)]
pub(super) struct Children {
    listeners: Vec<Listener>,
    pools: Vec<Pool>,
    members: Vec<Member>,
    monitors: Vec<HealthMonitor>,
}

/// Checks what is wanted below a new load balancer.
pub(super) fn plan(
    world: &mut World,
    balancer: &LoadBalancer,
    wanted: &Map<String, Value>,
) -> Result<Children, Refusal> {
    let mut children = Children::default();
    for wanted in list(wanted, "pools") {
        add_pool(world, balancer, &as_map(wanted), None, &mut children)?;
    }
    for wanted in list(wanted, "listeners") {
        add_listener(world, balancer, &as_map(wanted), &mut children)?;
    }
    let project = &balancer.project_id;
    quotas::check(world, project, "Listener", children.listeners.len())?;
    quotas::check(world, project, "Pool", children.pools.len())?;
    quotas::check(world, project, "Member", children.members.len())?;
    quotas::check(world, project, "Health Monitor", children.monitors.len())?;
    Ok(children)
}

fn list<'a>(wanted: &'a Map<String, Value>, name: &str) -> impl Iterator<Item = &'a Value> {
    wanted.get(name).and_then(Value::as_array).into_iter().flatten()
}

fn add_listener(
    world: &mut World,
    balancer: &LoadBalancer,
    wanted: &Map<String, Value>,
    children: &mut Children,
) -> Result<(), Refusal> {
    let mut own = wanted.clone();
    let pool = own.remove("default_pool").filter(|pool| !pool.is_null());
    own.remove("l7policies");
    let mut listener = listeners::planned(world, balancer, &own)?;
    listeners::check_port_free(children.listeners.iter(), &listener)?;
    if let Some(pool) = pool {
        let pool = as_map(&pool);
        let named = pool.get("name").and_then(Value::as_str);
        // A default pool with nothing but a name means one of the pools of the request.
        let shared = if pool.len() == 1 {
            children.pools.iter().find(|own| Some(own.name.as_str()) == named)
        } else {
            None
        };
        let id = match shared {
            Some(shared) => shared.id.clone(),
            None => add_pool(world, balancer, &pool, Some(&listener), children)?,
        };
        listener.default_pool_id = Some(id);
    }
    children.listeners.push(listener);
    Ok(())
}

fn add_pool(
    world: &mut World,
    balancer: &LoadBalancer,
    wanted: &Map<String, Value>,
    listener: Option<&Listener>,
    children: &mut Children,
) -> Result<String, Refusal> {
    let mut own = wanted.clone();
    let member_list = own.remove("members");
    let monitor = own.remove("healthmonitor").filter(|monitor| !monitor.is_null());
    let pool = pools::planned(world, balancer, listener, &own)?;
    let mut seen: Vec<(String, u16)> = Vec::new();
    for wanted in member_list.as_ref().and_then(Value::as_array).into_iter().flatten() {
        let member = members::planned(world, balancer, &pool, &as_map(wanted))?;
        let key = (member.address.clone(), member.protocol_port);
        if seen.contains(&key) {
            return Err(invalid("Member must be updated only once in the same request."));
        }
        seen.push(key);
        children.members.push(member);
    }
    if let Some(monitor) = monitor {
        children.monitors.push(monitors::planned(world, balancer, &pool, &as_map(&monitor))?);
    }
    let id = pool.id.clone();
    children.pools.push(pool);
    Ok(id)
}

/// Makes what was planned.
pub(super) fn insert(world: &mut World, children: Children) {
    let state = &mut world.state.load_balancer;
    children.pools.into_iter().for_each(|pool| state.pools.insert(pool));
    children.listeners.into_iter().for_each(|listener| state.listeners.insert(listener));
    children.members.into_iter().for_each(|member| state.members.insert(member));
    children.monitors.into_iter().for_each(|monitor| state.monitors.insert(monitor));
}
