//! Operating statuses: what monitors see, from members up to the load balancer.

use super::model::{LoadBalancerState, Member};
use crate::clock::plain;
use crate::cloud::World;

/// Says whether a member answers its monitor, as if traffic had shown it.
pub fn set_member_health(world: &mut World, member_id: &str, answers: bool) {
    let state = &mut world.state.load_balancer;
    if answers {
        state.down_members.remove(member_id);
    } else {
        state.down_members.insert(member_id.to_owned());
    }
    let pool = state.members.get(member_id).and_then(|member| state.pools.get(&member.pool_id));
    if let Some(balancer) = pool.map(|pool| pool.loadbalancer_id.clone()) {
        refresh(world, &balancer);
    }
}

/// Octavia reports a load balancer in provisioning status ERROR, and it and its pools in this operating status: `ONLINE` where only the
/// control plane has a problem, `ERROR` or `OFFLINE` where no traffic passes.
pub fn set_failed(state: &mut LoadBalancerState, id: &str, operating: &str) {
    state.load_balancers.update(id, |balancer| {
        "ERROR".clone_into(&mut balancer.provisioning_status);
        operating.clone_into(&mut balancer.operating_status);
    });
    for pool in state.pools.find_ids("loadbalancer_id", id) {
        state.pools.update(&pool, |pool| operating.clone_into(&mut pool.operating_status));
    }
}

/// A load balancer shows that it works before its children do.
pub(super) fn refresh_alone(world: &mut World, id: &str) {
    world.state.load_balancer.load_balancers.update(id, |balancer| {
        if balancer.operating_status == "OFFLINE" && balancer.admin_state_up {
            "ONLINE".clone_into(&mut balancer.operating_status);
        }
        // OVN says at once what is switched off; an amphora goes on saying that it lives.
        if balancer.provider == "ovn" && !balancer.admin_state_up {
            "OFFLINE".clone_into(&mut balancer.operating_status);
        }
    });
}

/// Shows a status; a row that shows another one than before has been changed now.
fn show(shown: &mut String, updated_at: &mut Option<String>, status: &str, now: &str) {
    if shown != status {
        status.clone_into(shown);
        *updated_at = Some(now.to_owned());
    }
}

/// Works the operating statuses of a load balancer out anew.
pub(super) fn refresh(world: &mut World, id: &str) {
    let now = plain(world.now);
    let state = &mut world.state.load_balancer;
    let Some(balancer) = state.load_balancers.get(id) else { return };
    let (provider, up) = (balancer.provider.clone(), balancer.admin_state_up);
    let mut pools = Vec::new();
    for pool in state.pools.find_ids("loadbalancer_id", id) {
        let monitored = state.monitors.find("pool_id", &pool).next().is_some();
        let mut members = Vec::new();
        for member in state.members.find_ids("pool_id", &pool) {
            let status =
                member_status(state.members.get(&member), monitored, state.down_members.contains(&member));
            members.push(status);
            state.members.update(&member, |member| {
                show(&mut member.operating_status, &mut member.updated_at, status, &now);
            });
        }
        for monitor in state.monitors.find_ids("pool_id", &pool) {
            state.monitors.update(&monitor, |monitor| {
                show(&mut monitor.operating_status, &mut monitor.updated_at, "ONLINE", &now);
            });
        }
        // An amphora does not know pools that no listener uses.
        let used = provider == "ovn" || state.listeners.find("default_pool_id", &pool).next().is_some();
        let status = if used { worst(&members) } else { "OFFLINE" };
        state.pools.update(&pool, |pool| {
            show(&mut pool.operating_status, &mut pool.updated_at, status, &now);
        });
        if used {
            pools.push(status);
        }
    }
    for listener in state.listeners.find_ids("loadbalancer_id", id) {
        state.listeners.update(&listener, |listener| {
            let status = if listener.admin_state_up { "ONLINE" } else { "OFFLINE" };
            show(&mut listener.operating_status, &mut listener.updated_at, status, &now);
        });
    }
    let status = if up { worst(&pools) } else { "OFFLINE" };
    state.load_balancers.update(id, |balancer| {
        show(&mut balancer.operating_status, &mut balancer.updated_at, status, &now);
    });
}

fn member_status(member: Option<&Member>, monitored: bool, down: bool) -> &'static str {
    match member {
        Some(member) if !member.admin_state_up => "OFFLINE",
        _ if !monitored => "NO_MONITOR",
        _ if down => "ERROR",
        _ => "ONLINE",
    }
}

/// All well, some not, or none.
fn worst(parts: &[&str]) -> &'static str {
    let bad = parts.iter().filter(|status| **status == "ERROR").count();
    let degraded = parts.contains(&"DEGRADED");
    match bad {
        0 if !degraded => "ONLINE",
        all if all == parts.len() => "ERROR",
        _ => "DEGRADED",
    }
}
