//! The status tree: a load balancer with its listeners, pools, members and health monitors, in one answer.

use std::net::IpAddr;

use serde::Deserialize;

use super::{OperatingStatus, ProvisioningStatus};
use crate::{HealthMonitorId, ListenerId, LoadBalancerId, MemberId, PoolId, decode};

#[derive(Deserialize)]
pub(super) struct Statuses {
    pub(super) loadbalancer: LoadBalancerHealth,
}

macro_rules! health {
    ($(#[$doc:meta])* $name:ident($id:ty) { $($(#[$fdoc:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
        #[non_exhaustive]
        pub struct $name {
            /// Its id.
            pub id: $id,
            /// Its name.
            #[serde(default, deserialize_with = "decode::or_default")]
            pub name: String,
            /// Its provisioning status.
            pub provisioning_status: ProvisioningStatus,
            /// Its operating status.
            #[serde(default)]
            pub operating_status: OperatingStatus,
            $($(#[$fdoc])* pub $field: $type,)*
        }
    };
}

health! {
    /// The status of a load balancer.
    LoadBalancerHealth(LoadBalancerId) {
        /// Its listeners.
        #[serde(default, deserialize_with = "decode::or_default")]
        listeners: Vec<ListenerHealth>,
    }
}

health! {
    /// The status of a listener.
    ListenerHealth(ListenerId) {
        /// Its pools.
        #[serde(default, deserialize_with = "decode::or_default")]
        pools: Vec<PoolHealth>,
    }
}

health! {
    /// The status of a pool.
    PoolHealth(PoolId) {
        /// Its members.
        #[serde(default, deserialize_with = "decode::or_default")]
        members: Vec<MemberHealth>,
        /// Its health monitor.
        #[serde(default, deserialize_with = "monitor")]
        health_monitor: Option<MonitorHealth>,
    }
}

health! {
    /// The status of a member.
    MemberHealth(MemberId) {
        /// Its address.
        #[serde(default, deserialize_with = "decode::address")]
        address: Option<IpAddr>,
        /// Its port.
        #[serde(default)]
        protocol_port: Option<u16>,
    }
}

health! {
    /// The status of a health monitor.
    MonitorHealth(HealthMonitorId) {}
}

/// A pool without a health monitor has null or an empty object.
fn monitor<'de, D: serde::Deserializer<'de>>(input: D) -> Result<Option<MonitorHealth>, D::Error> {
    let object = Option::<serde_json::Map<String, serde_json::Value>>::deserialize(input)?;
    match object.filter(|object| !object.is_empty()) {
        Some(object) => serde_json::from_value(object.into()).map(Some).map_err(serde::de::Error::custom),
        None => Ok(None),
    }
}
