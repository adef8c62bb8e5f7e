//! Octavia's answer to the creation of a load balancer with listeners, pools and members: all of these objects, complete and with their
//! ids.

use serde::{Deserialize, Deserializer, de::DeserializeOwned, de::Error as _};
use serde_json::{Map, Value};

use super::{
    BatchMember, HealthMonitor, Listener, LoadBalancer, Member, OperatingStatus, Pool, ProvisioningStatus,
};
use crate::MemberId;

/// A load balancer whose creation was just requested.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct MadeLoadBalancer {
    /// The load balancer.
    pub balancer: LoadBalancer,
    /// Its listeners and pools; `None` if Octavia returned only ids instead of complete objects.
    pub parts: Option<MadeParts>,
}

/// The listeners and pools of a load balancer whose creation was just requested.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct MadeParts {
    /// The listeners.
    pub listeners: Vec<Listener>,
    /// The pools.
    pub pools: Vec<MadePool>,
}

/// A pool whose creation was just requested, with its members and health monitor.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct MadePool {
    /// The pool.
    pub pool: Pool,
    /// Its members.
    pub members: Vec<Member>,
    /// Its health monitor; `None` if it has none.
    pub monitor: Option<HealthMonitor>,
}

impl<'de> Deserialize<'de> for MadeLoadBalancer {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let mut object = Map::<String, Value>::deserialize(input)?;
        let (listeners, pools) = (object.remove("listeners"), object.remove("pools"));
        let (listener_ids, pool_ids) = (ids(listeners.as_ref()), ids(pools.as_ref()));
        let mut balancer: LoadBalancer =
            serde_json::from_value(Value::Object(object)).map_err(D::Error::custom)?;
        balancer.listeners = listener_ids.ok_or_else(|| D::Error::custom("a listener without an id"))?;
        balancer.pools = pool_ids.ok_or_else(|| D::Error::custom("a pool without an id"))?;
        Ok(Self { balancer, parts: parts(listeners, pools) })
    }
}

fn parts(listeners: Option<Value>, pools: Option<Value>) -> Option<MadeParts> {
    let listeners: Vec<Listener> = serde_json::from_value(listeners?).ok()?;
    let Value::Array(pools) = pools? else { return None };
    let pools = pools.into_iter().map(pool).collect::<Option<_>>()?;
    Some(MadeParts { listeners, pools })
}

/// The pool with its members and health monitor; `None` if these are not complete objects.
fn pool(shown: Value) -> Option<MadePool> {
    let Value::Object(mut shown) = shown else { return None };
    let members: Vec<Member> = serde_json::from_value(shown.remove("members")?).ok()?;
    let monitor = shown.remove("healthmonitor").unwrap_or_default();
    let monitor: Option<HealthMonitor> = serde_json::from_value(monitor).ok()?;
    let mut pool: Pool = serde_json::from_value(Value::Object(shown)).ok()?;
    pool.healthmonitor_id = monitor.as_ref().map(|monitor| monitor.id.clone());
    Some(MadePool { pool, members, monitor })
}

/// The ids of a list of objects, complete or not. `None` if an object has no valid id.
fn ids<T: DeserializeOwned>(told: Option<&Value>) -> Option<Vec<T>> {
    let id = |one: &Value| serde_json::from_value(one.get("id")?.clone()).ok();
    told.and_then(Value::as_array).into_iter().flatten().map(id).collect()
}

impl BatchMember {
    /// The member that Octavia creates from this. Its id is a placeholder, because a batch update returns no ids.
    #[must_use]
    pub fn made(&self) -> Member {
        Member {
            id: MemberId::unknown(&format!("{}-{}", self.address, self.protocol_port)),
            name: self.name.clone(),
            address: self.address,
            protocol_port: self.protocol_port,
            subnet_id: self.subnet_id.clone(),
            weight: Some(self.weight.unwrap_or(1)),
            monitor_port: self.monitor_port,
            monitor_address: None,
            backup: false,
            admin_state_up: Some(true),
            provisioning_status: ProvisioningStatus::Active,
            operating_status: OperatingStatus::default(),
            tags: self.tags.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer() -> Value {
        json!({
            "id": "lb", "name": "web", "provisioning_status": "PENDING_CREATE",
            "listeners": [{"id": "l", "name": "L", "protocol": "TCP", "protocol_port": 80, "default_pool_id": "p"}],
            "pools": [{
                "id": "p", "name": "P", "protocol": "TCP", "lb_algorithm": "ROUND_ROBIN", "listeners": [{"id": "l"}],
                "members": [{"id": "m", "name": "M", "address": "10.0.0.1", "protocol_port": 30080}],
                "healthmonitor": {"id": "h", "type": "TCP", "delay": 5},
            }],
        })
    }

    #[test]
    fn all_that_hangs_on_a_new_load_balancer_is_told_with_its_ids() {
        let made: MadeLoadBalancer = serde_json::from_value(answer()).unwrap();
        assert_eq!((made.balancer.listeners[0].as_str(), made.balancer.pools[0].as_str()), ("l", "p"));
        let parts = made.parts.unwrap();
        assert_eq!(parts.listeners[0].protocol_port, 80);
        let [pool] = &parts.pools[..] else { panic!("{parts:?}") };
        assert_eq!((pool.members[0].id.as_str(), pool.pool.listeners[0].as_str()), ("m", "l"));
        assert_eq!(pool.monitor.as_ref().map(|one| &one.id), pool.pool.healthmonitor_id.as_ref());
    }

    #[test]
    fn an_octavia_that_names_ids_only_tells_no_parts_and_is_understood() {
        let mut bare = answer();
        bare["listeners"] = json!([{"id": "l"}]);
        let made: MadeLoadBalancer = serde_json::from_value(bare).unwrap();
        assert_eq!(made.balancer.listeners.len(), 1);
        assert!(made.parts.is_none());
        let mut bare = answer();
        bare["pools"] = json!([{"id": "p", "protocol": "TCP", "members": [{"id": "m"}]}]);
        let made: MadeLoadBalancer = serde_json::from_value(bare).unwrap();
        assert!(made.parts.is_none());
    }
}
