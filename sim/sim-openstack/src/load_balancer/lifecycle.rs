//! The state machine: an operation begins with PENDING and ends, when it is due, with ACTIVE, ERROR or nothing left.

use std::time::Duration;

use super::errors::{conflict, immutable, not_found};
use super::model::{LoadBalancer, Operation, OperationKind};
use super::{health, monitor_ports, vip};
use crate::clock::{later, plain};
use crate::cloud::World;
use crate::http::Refusal;
use crate::schedule::Effect;

/// How an operation ends when a fault decides it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// In ERROR.
    Error,
    /// Never: it stays PENDING.
    Stuck,
}

/// Refuses unless the load balancer can be changed: for calls about its children.
pub(super) fn check_mutable(world: &World, id: &str) -> Result<(), Refusal> {
    let found = world.state.load_balancer.load_balancers.get(id);
    match found.map(|balancer| balancer.provisioning_status.as_str()) {
        None => Err(not_found("Load Balancer", id)),
        Some("ACTIVE") => Ok(()),
        Some(_) => Err(immutable("Load Balancer", id)),
    }
}

/// Refuses while a child itself is still being changed: with OVN it may lag behind its load balancer.
pub(super) fn check_settled(kind: &str, id: &str, status: &str) -> Result<(), Refusal> {
    if status.starts_with("PENDING") { Err(immutable(kind, id)) } else { Ok(()) }
}

/// Refuses in states in which the load balancer itself cannot be changed or deleted.
pub(super) fn check_state(balancer: &LoadBalancer, deletes: bool) -> Result<(), Refusal> {
    let status = balancer.provisioning_status.as_str();
    if status == "ACTIVE" || (deletes && status == "ERROR") {
        return Ok(());
    }
    Err(conflict(&format!("Invalid state {status} of loadbalancer resource {}", balancer.id)))
}

/// Begins an operation: the load balancer is PENDING until it is due. Every change of its row, by a change below it too,
/// moves the time of its last change.
pub(super) fn begin(world: &mut World, id: &str, kind: OperationKind) {
    let status = match kind {
        OperationKind::Create => "PENDING_CREATE",
        OperationKind::Change => "PENDING_UPDATE",
        OperationKind::Delete => "PENDING_DELETE",
    };
    let changed = (kind != OperationKind::Create).then(|| plain(world.now));
    let provider = world.state.load_balancer.load_balancers.update(id, |balancer| {
        status.clone_into(&mut balancer.provisioning_status);
        balancer.updated_at = changed.or_else(|| balancer.updated_at.take());
        balancer.provider.clone()
    });
    let provider = provider.unwrap_or_default();
    let mut fate = world.load_balancer_fate;
    // This provider does nothing, and says nothing when it has done it.
    if provider == "noop_driver" {
        fate = Some(Fate::Stuck);
    }
    let due = later(world.now, duration(world, &provider, kind));
    world.state.load_balancer.operations.insert(id.to_owned(), Operation { kind, due, fate });
    if fate != Some(Fate::Stuck) {
        world.schedule.add(due, Effect::LoadBalancer(id.to_owned()));
    }
}

fn duration(world: &World, provider: &str, kind: OperationKind) -> Duration {
    let latencies = &world.config.latencies;
    match (provider, kind) {
        ("ovn", OperationKind::Create) => latencies.ovn_create,
        ("ovn", OperationKind::Change) => latencies.ovn_change,
        ("ovn", OperationKind::Delete) => latencies.ovn_delete,
        (_, OperationKind::Create) => latencies.amphora_create,
        (_, OperationKind::Change) => latencies.amphora_change,
        (_, OperationKind::Delete) => latencies.amphora_delete,
    }
}

/// Ends the operation of a load balancer, if it is due by now.
pub(crate) fn finish(world: &mut World, id: &str) {
    let operations = &mut world.state.load_balancer.operations;
    let Some(operation) = operations.get(id).copied().filter(|operation| operation.due <= world.now) else {
        return;
    };
    operations.remove(id);
    if operation.kind == OperationKind::Delete && operation.fate.is_none() {
        return remove(world, id);
    }
    let status = if operation.fate == Some(Fate::Error) { "ERROR" } else { "ACTIVE" };
    let time = plain(world.now);
    let provider = world.state.load_balancer.load_balancers.update(id, |balancer| {
        status.clone_into(&mut balancer.provisioning_status);
        balancer.updated_at = Some(time);
        balancer.provider.clone()
    });
    if status == "ERROR" {
        end_children(world, id, "ERROR");
        return;
    }
    let lag = world.config.latencies.ovn_child_lag;
    if provider.as_deref() == Some("ovn") && !lag.is_zero() {
        world.schedule.add(later(world.now, lag), Effect::LoadBalancerChildren(id.to_owned()));
        health::refresh_alone(world, id);
    } else {
        end_children(world, id, "ACTIVE");
        health::refresh(world, id);
    }
}

/// The children of a load balancer leave PENDING.
pub(crate) fn finish_children(world: &mut World, id: &str) {
    // Another operation may have begun meanwhile; it brings its own end.
    if !world.state.load_balancer.operations.contains_key(id) {
        end_children(world, id, "ACTIVE");
        health::refresh(world, id);
    }
}

/// Ends what is pending below a load balancer: deleted things are gone, others get the status.
fn end_children(world: &mut World, id: &str, status: &str) {
    let time = plain(world.now);
    let state = &mut world.state.load_balancer;
    let pools = state.pools.find_ids("loadbalancer_id", id);
    for pool in &pools {
        for member in state.members.find_ids("pool_id", pool) {
            match state.members.get(&member).map(|member| member.provisioning_status.as_str()) {
                Some("PENDING_DELETE") if status == "ACTIVE" => {
                    state.members.remove(&member);
                    state.down_members.remove(&member);
                }
                Some(pending) if pending.starts_with("PENDING") => {
                    state.members.update(&member, |member| {
                        status.clone_into(&mut member.provisioning_status);
                        member.updated_at = Some(time.clone());
                    });
                }
                _ => {}
            }
        }
        for monitor in state.monitors.find_ids("pool_id", pool) {
            match state.monitors.get(&monitor).map(|monitor| monitor.provisioning_status.as_str()) {
                Some("PENDING_DELETE") if status == "ACTIVE" => {
                    state.monitors.remove(&monitor);
                }
                Some(pending) if pending.starts_with("PENDING") => {
                    state.monitors.update(&monitor, |monitor| {
                        status.clone_into(&mut monitor.provisioning_status);
                        monitor.updated_at = Some(time.clone());
                    });
                }
                _ => {}
            }
        }
    }
    for listener in state.listeners.find_ids("loadbalancer_id", id) {
        match state.listeners.get(&listener).map(|listener| listener.provisioning_status.as_str()) {
            Some("PENDING_DELETE") if status == "ACTIVE" => {
                state.listeners.remove(&listener);
            }
            Some(pending) if pending.starts_with("PENDING") => {
                state.listeners.update(&listener, |listener| {
                    status.clone_into(&mut listener.provisioning_status);
                    listener.updated_at = Some(time.clone());
                });
            }
            _ => {}
        }
    }
    end_pools(world, pools, status, &time);
    if let Some(balancer) = world.state.load_balancer.load_balancers.get(id).cloned() {
        monitor_ports::sync(world, &balancer);
    }
}

fn end_pools(world: &mut World, pools: Vec<String>, status: &str, time: &str) {
    let gone = |world: &World, pool: &str| {
        let pool = world.state.load_balancer.pools.get(pool);
        status == "ACTIVE" && pool.is_some_and(|pool| pool.provisioning_status == "PENDING_DELETE")
    };
    for pool in pools {
        if gone(world, &pool) {
            forget_pool(world, &pool);
            continue;
        }
        world.state.load_balancer.pools.update(&pool, |pool| {
            if pool.provisioning_status.starts_with("PENDING") {
                status.clone_into(&mut pool.provisioning_status);
                pool.updated_at = Some(time.to_owned());
            }
        });
    }
}

/// Takes a pool out, with its members and monitor; listeners lose it.
fn forget_pool(world: &mut World, id: &str) {
    let state = &mut world.state.load_balancer;
    for member in state.members.find_ids("pool_id", id) {
        state.members.remove(&member);
        state.down_members.remove(&member);
    }
    for monitor in state.monitors.find_ids("pool_id", id) {
        state.monitors.remove(&monitor);
    }
    for listener in state.listeners.find_ids("default_pool_id", id) {
        state.listeners.update(&listener, |listener| listener.default_pool_id = None);
    }
    state.pools.remove(id);
}

/// Takes a load balancer out, with everything below it and its address.
fn remove(world: &mut World, id: &str) {
    for listener in world.state.load_balancer.listeners.find_ids("loadbalancer_id", id) {
        world.state.load_balancer.listeners.remove(&listener);
    }
    for pool in world.state.load_balancer.pools.find_ids("loadbalancer_id", id) {
        forget_pool(world, &pool);
    }
    if let Some(balancer) = world.state.load_balancer.load_balancers.remove(id) {
        vip::give_back(world, &balancer);
        monitor_ports::sync(world, &balancer);
    }
}
