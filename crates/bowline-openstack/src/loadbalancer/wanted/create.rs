//! The requests that create objects in Octavia. One request creates a load balancer with everything on it.

use std::net::IpAddr;

use openstack_client::load_balancer::{
    HealthMonitorCreate, ListenerCreate, LoadBalancerCreate, MonitorType, PoolCreate,
};
use openstack_client::{ListenerId, LoadBalancerId, PoolId};

use super::{Wanted, WantedListener, WantedMonitor, WantedPool};
use crate::loadbalancer::members::Members;

/// A load balancer to create. The members are added only when the request is sent: otherwise a hundred queued creations would hold a
/// hundred copies of the member lists in memory.
#[derive(Debug, Clone)]
pub struct NewBalancer {
    /// The request without members.
    pub frame: LoadBalancerCreate,
    /// The members of each listener's pool, in the order of the listeners.
    pub members: Vec<Members>,
    /// The address of an earlier load balancer of the Service. It is requested first; if it is not available, Octavia chooses one.
    pub earlier_address: Option<IpAddr>,
}

impl NewBalancer {
    /// The request with its members, as it is sent.
    #[must_use]
    pub fn whole(&self) -> LoadBalancerCreate {
        let mut whole = self.frame.clone();
        for (listener, members) in whole.listeners.iter_mut().zip(&self.members) {
            if let Some(pool) = &mut listener.default_pool {
                pool.members = members.to_vec();
            }
        }
        whole
    }
}

impl Wanted {
    /// The tags of a new load balancer.
    #[must_use]
    pub fn tags(&self) -> Vec<String> {
        if !self.balancer.tagged {
            return Vec::new();
        }
        std::iter::once(self.names.tag()).chain(self.ownership.tags()).collect()
    }

    /// Appends the tags that the Service requests, if Octavia supports tags.
    fn with_extra(&self, mut tags: Vec<String>, extra: &[String]) -> Vec<String> {
        if self.balancer.tagged {
            tags.extend(extra.iter().cloned());
        }
        tags
    }

    /// The request for a new load balancer, with everything on it unless the provider requires serial calls.
    #[must_use]
    pub fn new_balancer(&self) -> NewBalancer {
        let members = self.made_at_once().iter().map(|listener| listener.pool.members.clone());
        let earlier_address = self.balancer.earlier_address;
        NewBalancer { frame: self.frame(), members: members.collect(), earlier_address }
    }

    /// The listeners that are created together with the load balancer.
    fn made_at_once(&self) -> &[WantedListener] {
        if self.serial { &[] } else { &self.listeners }
    }

    /// The request without its members, of which there may be thousands.
    pub(super) fn frame(&self) -> LoadBalancerCreate {
        self.frame_with(self.made_at_once())
    }

    /// The request with all listeners, even if the provider requires serial calls.
    pub(super) fn whole_frame(&self) -> LoadBalancerCreate {
        self.frame_with(&self.listeners)
    }

    fn frame_with(&self, listeners: &[WantedListener]) -> LoadBalancerCreate {
        let wanted = &self.balancer;
        LoadBalancerCreate {
            name: self.names.load_balancer(),
            description: self.names.load_balancer_description(),
            provider: Some(wanted.provider.clone()).filter(|provider| !provider.is_empty()),
            vip_subnet_id: wanted.vip.subnet.clone(),
            vip_network_id: wanted.vip.network.clone(),
            vip_port_id: wanted.vip.port.clone(),
            vip_address: wanted.address,
            additional_vips: wanted.additional_vips.clone(),
            flavor_id: wanted.flavor.clone(),
            availability_zone: wanted.zone.clone(),
            tags: self.with_extra(self.tags(), &self.extra_tags.balancer),
            listeners: listeners.iter().map(|listener| self.listener_with_pool(listener)).collect(),
            pools: Vec::new(),
        }
    }

    fn listener_with_pool(&self, listener: &WantedListener) -> ListenerCreate {
        let pool = &listener.pool;
        let default_pool = PoolCreate {
            healthmonitor: pool.monitor.as_ref().map(|monitor| monitor.create(None)),
            ..self.pool(pool)
        };
        ListenerCreate { default_pool: Some(default_pool), ..self.listener(listener) }
    }

    fn listener(&self, listener: &WantedListener) -> ListenerCreate {
        let timeouts = listener.timeouts;
        ListenerCreate {
            name: listener.name.clone(),
            protocol: listener.key.protocol.clone(),
            protocol_port: listener.key.port,
            connection_limit: Some(listener.connection_limit),
            allowed_cidrs: listener.allowed_cidrs.clone(),
            insert_headers: listener.insert_headers.clone(),
            default_tls_container_ref: listener.certificate.clone(),
            timeout_client_data: timeouts.map(|timeouts| timeouts.client_data),
            timeout_member_connect: timeouts.map(|timeouts| timeouts.member_connect),
            timeout_member_data: timeouts.map(|timeouts| timeouts.member_data),
            timeout_tcp_inspect: timeouts.map(|timeouts| timeouts.tcp_inspect),
            tags: {
                let own = Some(self.names.tag()).filter(|_tag| self.balancer.tagged);
                self.with_extra(own.into_iter().collect(), &self.extra_tags.listener)
            },
            ..ListenerCreate::default()
        }
    }

    fn pool(&self, pool: &WantedPool) -> PoolCreate {
        PoolCreate { tags: self.with_extra(Vec::new(), &self.extra_tags.pool), ..pool.create() }
    }

    /// The request for a pool of an existing listener; its members and monitor are created later.
    #[must_use]
    pub fn new_pool(&self, pool: &WantedPool, of: &ListenerId) -> PoolCreate {
        PoolCreate { listener_id: Some(of.clone()), ..self.pool(pool) }
    }

    /// The request for a listener of an existing load balancer; its pool is created later.
    #[must_use]
    pub fn new_listener(&self, listener: &WantedListener, of: &LoadBalancerId) -> ListenerCreate {
        ListenerCreate { loadbalancer_id: Some(of.clone()), ..self.listener(listener) }
    }
}

impl WantedPool {
    fn create(&self) -> PoolCreate {
        PoolCreate {
            name: self.name.clone(),
            protocol: self.protocol.clone(),
            lb_algorithm: self.algorithm.clone(),
            session_persistence: self.session_persistence.clone(),
            ..PoolCreate::default()
        }
    }
}

impl WantedMonitor {
    /// The path, method and expected codes of an HTTP health check; `None` for other types.
    #[must_use]
    pub fn http(&self) -> Option<[&'static str; 3]> {
        (self.kind == MonitorType::Http).then_some([bowline_cloud::service::HEALTH_CHECK_PATH, "GET", "200"])
    }

    fn create(&self, pool_id: Option<PoolId>) -> HealthMonitorCreate {
        let [path, method, codes] = self.http().map_or([None; 3], |http| http.map(Some));
        let text = |text: Option<&str>| text.map(ToOwned::to_owned);
        HealthMonitorCreate {
            pool_id,
            name: self.name.clone(),
            kind: self.kind.clone(),
            delay: self.values.delay,
            timeout: self.values.timeout,
            max_retries: self.values.max_retries,
            max_retries_down: self.values.max_retries_down,
            url_path: text(path),
            http_method: text(method),
            expected_codes: text(codes),
            tags: Vec::new(),
        }
    }

    /// The request for a health monitor of an existing pool.
    #[must_use]
    pub fn new_monitor(&self, of: &PoolId) -> HealthMonitorCreate {
        self.create(Some(of.clone()))
    }
}
