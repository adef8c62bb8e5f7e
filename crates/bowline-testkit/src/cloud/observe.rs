//! What is in a cloud, and what was asked of it.

use anyhow::Context;
use http::Method;
use serde_json::{Value, json};
use sim_openstack::Service;

use super::Cloud;

/// The lists that [`Cloud::contents`] reads: the key in the answer, and the path.
const LISTS: [(&str, &str); 6] = [
    ("loadbalancers", "/load-balancer/v2.0/lbaas/loadbalancers"),
    ("listeners", "/load-balancer/v2.0/lbaas/listeners"),
    ("pools", "/load-balancer/v2.0/lbaas/pools"),
    ("healthmonitors", "/load-balancer/v2.0/lbaas/healthmonitors"),
    ("floatingips", "/network/v2.0/floatingips"),
    ("security_groups", "/network/v2.0/security-groups"),
];

impl Cloud {
    /// All that has to do with load balancers, as the APIs show it.
    ///
    /// # Errors
    /// When the cloud refuses a list.
    pub async fn contents(&self) -> anyhow::Result<Value> {
        let mut contents = json!({});
        for (key, path) in LISTS {
            contents[key] = take(self.get(path)?, key);
        }
        let mut members = json!({});
        let pools = contents["pools"].as_array().into_iter().flatten();
        for pool in pools.filter_map(|row| row["id"].as_str()) {
            let path = format!("/load-balancer/v2.0/lbaas/pools/{pool}/members");
            members[pool] = take(self.get(&path)?, "members");
        }
        contents["members"] = members;
        Ok(contents)
    }

    /// The servers: name, id and address, in the order of Nova's list.
    ///
    /// # Errors
    /// When the cloud refuses the list, or a server has no address.
    pub async fn machines(&self) -> anyhow::Result<Vec<(String, String, String)>> {
        let servers = take(self.get("/compute/v2.1/servers/detail")?, "servers");
        let mut machines = Vec::new();
        for server in servers.as_array().context("no servers")? {
            let networks = server["addresses"].as_object().context("no addresses")?;
            let first = networks.values().next().context("no network")?;
            let field = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            machines.push((field(&server["name"]), field(&server["id"]), field(&first[0]["addr"])));
        }
        Ok(machines)
    }

    /// Whether Octavia is changing a load balancer.
    #[must_use]
    pub fn is_changing(&self) -> bool {
        self.look(|state| {
            let balancers = &state.load_balancer.load_balancers;
            balancers.iter().any(|one| one.provisioning_status.starts_with("PENDING"))
        })
    }

    /// How many requests there were since the last [`forget`](Self::forget), and how many of them changed something.
    #[must_use]
    pub fn requests(&self) -> (u64, u64) {
        self.sim.with(|cloud| (cloud.log().total(), cloud.log().mutating()))
    }

    /// The requests that changed something: method, path and status.
    #[must_use]
    pub fn changes(&self) -> Vec<String> {
        self.sim.with(|cloud| {
            let entries = cloud.log().entries();
            let changes = entries.filter(|entry| {
                !matches!(entry.method, Method::GET | Method::HEAD)
                    && entry.service != Some(Service::Identity)
            });
            changes.map(|entry| format!("{} {} -> {}", entry.method, entry.target, entry.status)).collect()
        })
    }

    /// How often each request was made.
    #[must_use]
    pub fn counts(&self) -> Vec<String> {
        self.sim.with(|cloud| {
            let counts = cloud.log().counts();
            counts.map(|(_, method, path, count)| format!("{count} {method} {path}")).collect()
        })
    }

    /// Forgets the requests so far.
    pub fn forget(&self) {
        self.sim.with(|cloud| cloud.log_mut().clear());
    }
}

fn take(mut answer: Value, key: &str) -> Value {
    answer.get_mut(key).map(Value::take).unwrap_or_default()
}
