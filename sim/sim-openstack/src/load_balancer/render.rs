//! Octavia's objects as JSON.

use serde_json::{Map, Value, json};

use super::model::{HealthMonitor, Listener, LoadBalancer, Member, Pool};
use super::wanted::without_newer;
use crate::cloud::World;
use crate::http::json::to_map;
use crate::table::Row;

fn references<'a, T: Row + 'a>(rows: impl Iterator<Item = &'a T>) -> Value {
    rows.map(|row| json!({"id": row.id()})).collect()
}

/// Adds the old name of the project, which Octavia still shows.
fn finished(world: &World, mut shown: Map<String, Value>) -> Value {
    let project = shown.get("project_id").cloned().unwrap_or_default();
    shown.insert("tenant_id".into(), project);
    Value::Object(without_newer(world, shown))
}

/// A load balancer, with references to what is below it.
pub(super) fn load_balancer(world: &World, balancer: &LoadBalancer) -> Value {
    let state = &world.state.load_balancer;
    let mut shown = to_map(balancer);
    shown.insert("listeners".into(), references(state.listeners.find("loadbalancer_id", &balancer.id)));
    shown.insert("pools".into(), references(state.pools.find("loadbalancer_id", &balancer.id)));
    finished(world, shown)
}

/// A new load balancer, with everything below it in full.
pub(super) fn populated(world: &World, balancer: &LoadBalancer) -> Value {
    let state = &world.state.load_balancer;
    let listeners = state.listeners.find("loadbalancer_id", &balancer.id).map(|row| {
        let mut shown = listener(world, row);
        if let Some(shown) = shown.as_object_mut() {
            shown.remove("loadbalancers");
        }
        shown
    });
    let pools = state.pools.find("loadbalancer_id", &balancer.id).map(|row| populated_pool(world, row));
    let (listeners, pools): (Vec<Value>, Vec<Value>) = (listeners.collect(), pools.collect());
    let mut shown = to_map(balancer);
    shown.insert("listeners".into(), json!(listeners));
    shown.insert("pools".into(), json!(pools));
    finished(world, shown)
}

fn populated_pool(world: &World, row: &Pool) -> Value {
    let state = &world.state.load_balancer;
    let mut shown = pool(world, row);
    if let Some(shown) = shown.as_object_mut() {
        shown.remove("loadbalancers");
        shown.remove("healthmonitor_id");
        let members: Vec<Value> =
            state.members.find("pool_id", &row.id).map(|row| member(world, row)).collect();
        shown.insert("members".into(), json!(members));
        let monitor = state.monitors.find("pool_id", &row.id).next().map(|row| {
            let mut inner = monitor(world, row);
            if let Some(inner) = inner.as_object_mut() {
                inner.remove("pools");
            }
            inner
        });
        shown.insert("healthmonitor".into(), json!(monitor));
    }
    shown
}

/// A listener.
pub(super) fn listener(world: &World, row: &Listener) -> Value {
    let mut shown = to_map(row);
    shown.remove("loadbalancer_id");
    shown.insert("loadbalancers".into(), json!([{"id": row.loadbalancer_id}]));
    shown.insert("l7policies".into(), json!([]));
    finished(world, shown)
}

/// A pool.
pub(super) fn pool(world: &World, row: &Pool) -> Value {
    let state = &world.state.load_balancer;
    let mut shown = to_map(row);
    shown.remove("loadbalancer_id");
    shown.insert("loadbalancers".into(), json!([{"id": row.loadbalancer_id}]));
    shown.insert("listeners".into(), references(state.listeners.find("default_pool_id", &row.id)));
    shown.insert("members".into(), references(state.members.find("pool_id", &row.id)));
    // A pool without a monitor says nothing about one.
    if let Some(monitor) = state.monitors.find("pool_id", &row.id).next() {
        shown.insert("healthmonitor_id".into(), json!(monitor.id));
    }
    finished(world, shown)
}

/// A member.
pub(super) fn member(world: &World, row: &Member) -> Value {
    let mut shown = to_map(row);
    shown.remove("pool_id");
    finished(world, shown)
}

/// A health monitor.
pub(super) fn monitor(world: &World, row: &HealthMonitor) -> Value {
    let mut shown = to_map(row);
    shown.remove("pool_id");
    shown.insert("pools".into(), json!([{"id": row.pool_id}]));
    finished(world, shown)
}
