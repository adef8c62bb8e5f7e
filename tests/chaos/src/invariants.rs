//! What must be so at every instant, as pure functions of what the cloud knows.

use std::collections::BTreeMap;

use sim_openstack::State;
use sim_openstack::load_balancer::{HealthMonitor, Listener, LoadBalancer, Member, Pool};
use sim_openstack::network::{FloatingIp, Port, SecurityGroup, SecurityGroupRule};

/// How the tag begins that says whose a load balancer is.
const OF_SERVICE: &str = "bowline-service:";
/// How names of security groups of Services begin.
const GROUP: &str = "lb-sg-";
/// How descriptions of floating IPs of Services begin.
const FLOATING: &str = "Floating IP for Kubernetes external service ";

/// Things of somebody else, as they were when the run began.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Foreign {
    balancers: Vec<LoadBalancer>,
    listeners: Vec<Listener>,
    pools: Vec<Pool>,
    members: Vec<Member>,
    monitors: Vec<HealthMonitor>,
    ports: Vec<Port>,
    groups: Vec<SecurityGroup>,
    rules: Vec<SecurityGroupRule>,
    floating: Vec<FloatingIp>,
}

impl Foreign {
    /// All that is in the cloud before a manager runs, but for the ports of servers and routers, which managers may use.
    #[must_use]
    pub fn of(state: &State) -> Self {
        let (octavia, neutron) = (&state.load_balancer, &state.network);
        Self {
            balancers: octavia.load_balancers.iter().cloned().collect(),
            listeners: octavia.listeners.iter().cloned().collect(),
            pools: octavia.pools.iter().cloned().collect(),
            members: octavia.members.iter().cloned().collect(),
            monitors: octavia.monitors.iter().cloned().collect(),
            ports: neutron.ports.iter().filter(|port| is_strangers(port)).cloned().collect(),
            groups: neutron.security_groups.iter().cloned().collect(),
            rules: neutron.rules.iter().cloned().collect(),
            floating: neutron.floating_ips.iter().cloned().collect(),
        }
    }

    /// What of it is not as it was.
    #[must_use]
    pub fn disturbed(&self, state: &State) -> Vec<String> {
        let (octavia, neutron) = (&state.load_balancer, &state.network);
        let mut found = Vec::new();
        let mut check = |what: &str, name: &str, is_same: bool| {
            if !is_same {
                found.push(format!("S3: the {what} {name} of somebody else was changed or deleted"));
            }
        };
        for row in &self.balancers {
            check("load balancer", &row.name, octavia.load_balancers.get(&row.id) == Some(row));
        }
        for row in &self.listeners {
            check("listener", &row.name, octavia.listeners.get(&row.id) == Some(row));
        }
        for row in &self.pools {
            check("pool", &row.name, octavia.pools.get(&row.id) == Some(row));
        }
        for row in &self.members {
            check("member", &row.name, octavia.members.get(&row.id) == Some(row));
        }
        for row in &self.monitors {
            check("monitor", &row.name, octavia.monitors.get(&row.id) == Some(row));
        }
        for row in &self.ports {
            check("port", &row.name, neutron.ports.get(&row.id) == Some(row));
        }
        for row in &self.groups {
            check("security group", &row.name, neutron.security_groups.get(&row.id) == Some(row));
        }
        for row in &self.rules {
            check("rule in group", &row.security_group_id, neutron.rules.get(&row.id) == Some(row));
        }
        for row in &self.floating {
            check("floating IP", &row.floating_ip_address, neutron.floating_ips.get(&row.id) == Some(row));
        }
        found
    }

    /// What there is besides, of the kinds that Services have.
    #[must_use]
    pub fn besides(&self, state: &State) -> Vec<String> {
        let (octavia, neutron) = (&state.load_balancer, &state.network);
        let balancers = octavia.load_balancers.iter().filter(|row| !self.has_balancer(&row.id));
        let floating = neutron.floating_ips.iter().filter(|row| !self.has_floating(&row.id));
        let groups = neutron.security_groups.iter().filter(|row| !self.has_group(&row.id));
        let balancers = balancers.map(|row| format!("load balancer {}", row.name));
        let floating =
            floating.map(|row| format!("floating IP {} ({})", row.floating_ip_address, row.description));
        let groups = groups.map(|row| format!("security group {}", row.name));
        balancers.chain(floating).chain(groups).collect()
    }

    /// Whether a load balancer is one of these.
    #[must_use]
    pub fn has_balancer(&self, id: &str) -> bool {
        self.balancers.iter().any(|row| row.id == id)
    }

    /// Whether a floating IP is one of these.
    #[must_use]
    pub fn has_floating(&self, id: &str) -> bool {
        self.floating.iter().any(|row| row.id == id)
    }

    /// Whether a security group is one of these.
    #[must_use]
    pub fn has_group(&self, id: &str) -> bool {
        self.groups.iter().any(|row| row.id == id)
    }
}

fn is_strangers(port: &Port) -> bool {
    !port.device_owner.starts_with("compute:") && !port.device_owner.starts_with("network:router")
}

/// S1: what is there more than once for a Service.
#[must_use]
pub fn doubled(state: &State) -> Vec<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut count = |what: String| *counts.entry(what).or_default() += 1;
    for balancer in state.load_balancer.load_balancers.iter() {
        count(format!("load balancer {}", balancer.name));
        for tag in balancer.tags.iter().filter(|tag| tag.starts_with(OF_SERVICE)) {
            count(format!("load balancer with the tag {tag}"));
        }
    }
    for group in state.network.security_groups.iter().filter(|group| group.name.starts_with(GROUP)) {
        count(format!("security group {}", group.name));
    }
    for floating in
        state.network.floating_ips.iter().filter(|floating| floating.description.starts_with(FLOATING))
    {
        count(format!("floating IP with the description {:?}", floating.description));
    }
    counts.retain(|_, count| *count > 1);
    counts.into_iter().map(|(what, count)| format!("S1: {count} times: {what}")).collect()
}

/// S4: what is left of a Service, by its UID and its name.
#[must_use]
pub fn left_of(state: &State, uid: &str, service: &str) -> Vec<String> {
    let tag = format!("{OF_SERVICE}{uid}");
    let balancers = state.load_balancer.load_balancers.iter().filter(|row| row.tags.contains(&tag));
    let groups =
        state.network.security_groups.iter().filter(|row| row.name.starts_with(&format!("{GROUP}{uid}")));
    let description = format!("{FLOATING}{service} from cluster kubernetes");
    let floating = state.network.floating_ips.iter().filter(|row| row.description == description);
    let balancers = balancers.map(|row| format!("load balancer {}", row.name));
    let groups = groups.map(|row| format!("security group {}", row.name));
    // One that moved to whoever shares the load balancer stays, on the port of that load balancer.
    let unused = floating.filter(|row| row.port_id.is_none());
    let floating = unused.map(|row| format!("floating IP {}", row.floating_ip_address));
    balancers.chain(groups).chain(floating).collect()
}

/// The servers that run under an id.
#[must_use]
pub fn has_server(state: &State, id: &str) -> bool {
    state.compute.servers.contains(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn balancer(id: &str, name: &str, tags: &[&str]) -> LoadBalancer {
        let tags = tags.iter().map(|tag| (*tag).to_owned()).collect();
        LoadBalancer { id: id.to_owned(), name: name.to_owned(), tags, ..LoadBalancer::default() }
    }

    #[test]
    fn two_load_balancers_of_one_service_are_seen_by_name_and_by_tag() {
        let mut state = State::default();
        state.load_balancer.load_balancers.insert(balancer("1", "a", &["bowline-service:u"]));
        assert!(doubled(&state).is_empty());
        state.load_balancer.load_balancers.insert(balancer("2", "b", &["bowline-service:u"]));
        assert_eq!(doubled(&state), ["S1: 2 times: load balancer with the tag bowline-service:u"]);
        state.load_balancer.load_balancers.insert(balancer("3", "b", &[]));
        assert_eq!(doubled(&state).len(), 2);
    }

    #[test]
    fn what_is_left_of_a_service_is_found_by_its_uid() {
        let mut state = State::default();
        state.load_balancer.load_balancers.insert(balancer("1", "a", &["bowline-service:u"]));
        assert_eq!(left_of(&state, "u", "default/web"), ["load balancer a"]);
        assert!(left_of(&state, "v", "default/web").is_empty());
    }

    #[test]
    fn a_touched_load_balancer_of_somebody_else_is_noticed() {
        let mut state = State::default();
        state.load_balancer.load_balancers.insert(balancer("1", "theirs", &[]));
        let foreign = Foreign::of(&state);
        assert!(foreign.disturbed(&state).is_empty());
        state.load_balancer.load_balancers.update("1", |row| row.tags.push("ours".to_owned()));
        assert_eq!(
            foreign.disturbed(&state),
            ["S3: the load balancer theirs of somebody else was changed or deleted"]
        );
    }
}
