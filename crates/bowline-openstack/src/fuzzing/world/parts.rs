//! A load balancer and what hangs on it, as Octavia makes and changes it.

use std::collections::BTreeSet;

use openstack_client::Change;
use openstack_client::load_balancer::{
    BatchMember, HealthMonitor, HealthMonitorCreate, Listener, ListenerCreate, ListenerUpdate,
    LoadBalancerCreate, Member, PoolCreate, Protocol,
};
use serde_json::json;

use super::{VIP_PORT, World, from};
use crate::loadbalancer::found::{FoundBy, FoundPool};

impl World {
    pub(super) fn create_balancer(&mut self, new: &LoadBalancerCreate) {
        assert!(self.balancer.is_none(), "there is one already");
        let id = self.next("lb");
        let additional = serde_json::to_value(&new.additional_vips).unwrap();
        self.balancer = Some(from(json!({
            "id": id, "name": new.name, "description": new.description, "tags": new.tags,
            "provisioning_status": "PENDING_CREATE", "operating_status": "ONLINE", "admin_state_up": true, "vip_address": self.vip, "vip_port_id": VIP_PORT,
            "additional_vips": additional,
        })));
        self.by = FoundBy::Name;
        for listener in &new.listeners {
            self.create_listener(listener);
        }
    }

    pub(super) fn create_listener(&mut self, new: &ListenerCreate) {
        let family = |protocol: &Protocol| match protocol {
            Protocol::Udp => 1,
            Protocol::Sctp => 2,
            _ => 0,
        };
        let taken = |old: &Listener| {
            (old.protocol_port, family(&old.protocol)) == (new.protocol_port, family(&new.protocol))
        };
        assert!(!self.tree.listeners.iter().any(taken), "port {} is taken", new.protocol_port);
        let id = self.next("listener");
        let mut value = serde_json::to_value(new).unwrap();
        value["id"] = json!(id);
        value["provisioning_status"] = json!("ACTIVE");
        self.tree.listeners.push(from(value));
        if let Some(pool) = &new.default_pool {
            self.create_pool(&PoolCreate { listener_id: id.parse().ok(), ..pool.clone() });
        }
    }

    pub(super) fn create_pool(&mut self, new: &PoolCreate) {
        let id = self.next("pool");
        let of = new.listener_id.clone().unwrap();
        let mut value = serde_json::to_value(new).unwrap();
        value["id"] = json!(id);
        value["listeners"] = json!([{ "id": of.as_str() }]);
        value["members"] = json!([]);
        value["provisioning_status"] = json!("ACTIVE");
        value["operating_status"] = json!("ONLINE");
        let listener = self.tree.listeners.iter_mut().find(|listener| listener.id == of).unwrap();
        assert!(listener.default_pool_id.is_none(), "the listener has a pool");
        listener.default_pool_id = id.parse().ok();
        let members = new.members.iter().map(|member| self.member(member)).collect();
        let monitor = new.healthmonitor.as_ref().map(|monitor| self.monitor(monitor));
        self.tree.pools.push(FoundPool { pool: from(value), members, monitor });
    }

    pub(super) fn member(&mut self, new: &BatchMember) -> Member {
        let mut value = serde_json::to_value(new).unwrap();
        value["id"] = json!(self.next("member"));
        from(value)
    }

    pub(super) fn monitor(&mut self, new: &HealthMonitorCreate) -> HealthMonitor {
        let mut value = serde_json::to_value(new).unwrap();
        value["id"] = json!(self.next("monitor"));
        value["provisioning_status"] = json!("ACTIVE");
        if value.get("max_retries_down").is_none() {
            value["max_retries_down"] = json!(3);
        }
        from(value)
    }

    pub(super) fn pool_of(&mut self, id: &str) -> &mut FoundPool {
        self.tree.pools.iter_mut().find(|found| found.pool.id.as_str() == id).unwrap()
    }

    pub(super) fn set_members(&mut self, pool: &str, members: &[BatchMember]) {
        let old = std::mem::take(&mut self.pool_of(pool).members).to_vec();
        let mut seen = BTreeSet::new();
        let mut next = Vec::new();
        for member in members {
            assert!(seen.insert((member.address, member.protocol_port)), "a member is there twice");
            let at =
                |old: &&Member| (old.address, old.protocol_port) == (member.address, member.protocol_port);
            match old.iter().find(at) {
                None => next.push(self.member(member)),
                Some(found) => {
                    assert!(
                        member.subnet_id.is_none()
                            || found.subnet_id.is_none()
                            || member.subnet_id == found.subnet_id,
                        "Octavia cannot change the subnet of a member"
                    );
                    let mut found = found.clone();
                    (found.name, found.monitor_port) = (member.name.clone(), member.monitor_port);
                    found.weight = member.weight.or(found.weight);
                    next.push(found);
                }
            }
        }
        self.pool_of(pool).members = next.into();
    }
}

pub(super) fn set<T>(field: &mut Option<T>, change: Change<T>) {
    match change {
        Change::Keep => {}
        Change::Clear => *field = None,
        Change::Set(value) => *field = Some(value),
    }
}

pub(super) fn update_listener(listener: &mut Listener, change: ListenerUpdate) {
    listener.name = change.name.unwrap_or_else(|| listener.name.clone());
    listener.tags = change.tags.unwrap_or_else(|| listener.tags.clone());
    listener.connection_limit = change.connection_limit.or(listener.connection_limit);
    let mut cidrs = Some(std::mem::take(&mut listener.allowed_cidrs));
    set(&mut cidrs, change.allowed_cidrs);
    listener.allowed_cidrs = cidrs.unwrap_or_default();
    listener.insert_headers = change.insert_headers.unwrap_or_else(|| listener.insert_headers.clone());
    set(&mut listener.default_tls_container_ref, change.default_tls_container_ref);
    listener.timeout_client_data = change.timeout_client_data.or(listener.timeout_client_data);
    listener.timeout_member_connect = change.timeout_member_connect.or(listener.timeout_member_connect);
    listener.timeout_member_data = change.timeout_member_data.or(listener.timeout_member_data);
    listener.timeout_tcp_inspect = change.timeout_tcp_inspect.or(listener.timeout_tcp_inspect);
}
