//! The status tree of a load balancer.

use serde_json::{Map, Value, json};

use super::model::{Listener, LoadBalancer, Pool};
use crate::cloud::World;

/// Everything below a load balancer, with statuses only.
pub(super) fn tree(world: &World, balancer: &LoadBalancer) -> Value {
    let listeners = world.state.load_balancer.listeners.find("loadbalancer_id", &balancer.id);
    let listeners: Vec<Value> = listeners.map(|row| listener(world, row)).collect();
    json!({"statuses": {"loadbalancer": {
        "id": balancer.id, "name": balancer.name, "operating_status": balancer.operating_status,
        "provisioning_status": balancer.provisioning_status, "listeners": listeners,
    }}})
}

fn listener(world: &World, row: &Listener) -> Value {
    let default = row.default_pool_id.as_ref().and_then(|id| world.state.load_balancer.pools.get(id));
    let pools: Vec<Value> = default.into_iter().map(|row| pool(world, row)).collect();
    json!({
        "id": row.id, "name": row.name, "operating_status": row.operating_status,
        "provisioning_status": row.provisioning_status, "pools": pools,
    })
}

fn pool(world: &World, row: &Pool) -> Value {
    let state = &world.state.load_balancer;
    let members = state.members.find("pool_id", &row.id).map(|member| {
        json!({
            "id": member.id, "name": member.name, "operating_status": member.operating_status,
            "provisioning_status": member.provisioning_status, "address": member.address,
            "protocol_port": member.protocol_port,
        })
    });
    let mut shown = Map::new();
    shown.insert("id".into(), json!(row.id));
    shown.insert("name".into(), json!(row.name));
    shown.insert("provisioning_status".into(), json!(row.provisioning_status));
    shown.insert("operating_status".into(), json!(row.operating_status));
    shown.insert("members".into(), members.collect());
    let monitor = state.monitors.find("pool_id", &row.id).next().map(|monitor| {
        json!({
            "id": monitor.id, "name": monitor.name, "type": monitor.kind,
            "provisioning_status": monitor.provisioning_status, "operating_status": monitor.operating_status,
        })
    });
    shown.insert("health_monitor".into(), json!(monitor));
    Value::Object(shown)
}
