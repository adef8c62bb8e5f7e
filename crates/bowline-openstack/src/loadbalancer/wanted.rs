//! The wanted state of a Service in the cloud, as values that can be compared with the observed state.
//!
//! Computed from the intent, the Nodes and the resolved references. Pure. One request creates a new load balancer from it with everything
//! on it, and its fingerprint shows whether the wanted state has changed.

mod create;
mod fingerprint;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

use bowline_cloud::NodeSet;
use openstack_client::load_balancer::{
    AdditionalVip, Algorithm, BatchMember, MonitorType, Protocol, SessionPersistence,
};
use openstack_client::{LoadBalancerFlavorId, LoadBalancerId, NetworkId, PortId, SubnetId};

pub use self::create::NewBalancer;
pub(super) use self::fingerprint::request_digest;
use super::group::WantedGroup;
use super::intent::{
    CreationOption, ExtraTags, Intent, MemberIntent, MonitorValues, Notice, PortIntent, Publication, Timeouts,
};
use super::members::{Members, Rosters};
use super::names::{self, Names};
use super::ownership::Ownership;
use crate::config::LoadBalancer;

/// The references of an intent, resolved in the cloud.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Resolved {
    /// Where a new load balancer is placed.
    pub vip: Vip,
    /// The address of an earlier load balancer of the Service, if a new one can have it.
    pub earlier_address: Option<IpAddr>,
    /// The subnets of further addresses of a new load balancer, for Services of two IP families.
    pub additional_vips: Vec<SubnetId>,
    /// The subnets through which Nodes are reached.
    pub members: Arc<MemberSubnets>,
    /// Where a floating IP is allocated; `None` for an internal Service, or if the cloud has no external network.
    pub floating: Option<FloatingPlace>,
    /// Events for the Service about the resolution.
    pub notices: Vec<Notice>,
}

/// Where a load balancer is placed. Octavia chooses what is `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Vip {
    /// The Neutron port; then the subnet and the network are `None`.
    pub port: Option<PortId>,
    /// The subnet.
    pub subnet: Option<SubnetId>,
    /// The network.
    pub network: Option<NetworkId>,
}

/// The subnets through which Nodes are reached.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemberSubnets {
    /// The subnet of all members that `by_address` does not list.
    pub all: Option<SubnetId>,
    /// The subnet of a member by its address, if the Nodes are in several subnets.
    pub by_address: BTreeMap<IpAddr, SubnetId>,
    /// By name, the address of each Node that has one in the members' subnet, but not as its first address.
    pub addresses: BTreeMap<String, IpAddr>,
}

impl MemberSubnets {
    /// The member address of a Node whose first address is `first`.
    #[must_use]
    pub fn address_of(&self, node: &str, first: IpAddr) -> IpAddr {
        self.addresses.get(node).copied().unwrap_or(first)
    }

    /// The subnet through which an address is reached; `None` leaves the choice to Octavia.
    #[must_use]
    pub fn of(&self, address: IpAddr) -> Option<&SubnetId> {
        self.by_address.get(&address).or(self.all.as_ref())
    }
}

/// Where a floating IP is allocated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FloatingPlace {
    /// The external network.
    pub network: NetworkId,
    /// The subnets to try in order; if empty, Neutron chooses.
    pub subnets: Vec<SubnetId>,
}

/// The wanted state of one Service in the cloud.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// The names of the cloud objects of the Service.
    pub names: Names,
    /// The tags that prove ownership.
    pub ownership: Ownership,
    /// The load balancer that annotation `load-balancer-id` names.
    pub named: Option<LoadBalancerId>,
    /// The load balancer itself.
    pub balancer: WantedBalancer,
    /// Its listeners, in the order of `spec.ports`.
    pub listeners: Vec<WantedListener>,
    /// The address at which it is reached.
    pub address: WantedAddress,
    /// The security group of the Nodes; `None` if Bowline does not manage security groups.
    pub group: Option<WantedGroup>,
    /// How the status of the Service shows the address.
    pub publication: Publication,
    /// Whether the status shows the additional VIPs as well.
    pub dual_stack: bool,
    /// The annotations that take effect only when a load balancer is created.
    pub creation: Vec<CreationOption>,
    /// Events for the Service about things that do not prevent the load balancer.
    pub notices: Vec<Notice>,
    /// Values of the Service that a rule of `[Tenancy]` forbids, each as a message.
    pub forbidden: Vec<String>,
    /// The forbidden values that are not in force and are treated as not set.
    pub withheld: Vec<String>,
    /// Values that cannot be parsed, each as a message with the value used instead.
    pub unreadable: Vec<String>,
    /// Whether the provider requires serial calls: a new load balancer is created without children, and members one by one.
    pub serial: bool,
    /// The most Services on one load balancer.
    pub most_sharers: i64,
    /// Whether a load balancer in ERROR is deleted and created again.
    pub recreate_on_error: bool,
    /// Additional tags for the load balancer, listeners and pools of the Service.
    pub extra_tags: ExtraTags,
}

/// The values with which a load balancer is created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedBalancer {
    /// The Octavia provider (driver).
    pub provider: String,
    /// Where it is placed.
    pub vip: Vip,
    /// Its VIP; `None` lets Octavia choose.
    pub address: Option<IpAddr>,
    /// The address of an earlier load balancer of the Service. It is requested again; if it is not available, Octavia chooses one.
    pub earlier_address: Option<IpAddr>,
    /// Additional VIPs.
    pub additional_vips: Vec<AdditionalVip>,
    /// Its flavor.
    pub flavor: Option<LoadBalancerFlavorId>,
    /// Its availability zone.
    pub zone: Option<String>,
    /// Whether this Octavia supports tags.
    pub tagged: bool,
}

/// Identifies a listener.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ListenerKey {
    /// The protocol.
    pub protocol: Protocol,
    /// Its port.
    pub port: u16,
}

/// A listener.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedListener {
    /// Its protocol and port.
    pub key: ListenerKey,
    /// Its name on creation; an existing name is not changed.
    pub name: String,
    /// The connection limit; -1 means no limit.
    pub connection_limit: i64,
    /// Its timeouts; `None` if the cloud does not support them.
    pub timeouts: Option<Timeouts>,
    /// The networks that may connect; `None` if the cloud does not support that. The listeners of a Service share the set, because it may
    /// have thousands of networks.
    pub allowed_cidrs: Option<Arc<BTreeSet<String>>>,
    /// The headers that it inserts.
    pub insert_headers: BTreeMap<String, String>,
    /// Its certificate.
    pub certificate: Option<String>,
    /// Its pool.
    pub pool: WantedPool,
}

/// A pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedPool {
    /// Its name on creation; an existing name is not changed.
    pub name: String,
    /// The protocol to the members.
    pub protocol: Protocol,
    /// The load balancing algorithm.
    pub algorithm: Algorithm,
    /// The session persistence.
    pub session_persistence: Option<SessionPersistence>,
    /// Its members, by name of the Node.
    pub members: Members,
    /// The members of leaving Nodes, which stay with weight 0 if they are in the pool. `None` if the Service does not drain; then weights
    /// are not changed.
    pub leaving: Option<Vec<BatchMember>>,
    /// Its monitor.
    pub monitor: Option<WantedMonitor>,
}

/// A health monitor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedMonitor {
    /// Its name.
    pub name: String,
    /// The type of the health checks.
    pub kind: MonitorType,
    /// Their intervals and counts.
    pub values: MonitorValues,
}

/// The address at which a Service is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WantedAddress {
    /// The address of the load balancer. A floating IP that was created for the Service is deleted unless it is kept; others are detached.
    Own {
        /// Whether the floating IP that is no longer needed is kept.
        keep_floating_ip: bool,
    },
    /// A floating IP. A load balancer with an IPv6 address has none and is reached at its own address.
    Floating {
        /// Where it is allocated; `None` if the cloud has no external network.
        place: Option<FloatingPlace>,
        /// The requested address, if there is one.
        asked: Option<IpAddr>,
        /// Whether the requested address replaces another floating IP that is already attached.
        insist: bool,
        /// Whether the replaced floating IP is kept.
        keep_floating_ip: bool,
    },
}

/// Settings that are the same for all Services.
#[derive(Debug, Clone, Copy)]
pub struct Rules<'a> {
    /// The `[LoadBalancer]` section of cloud.conf.
    pub config: &'a LoadBalancer,
    /// Whether load balancers and listeners support tags.
    pub tagged: bool,
    /// The member lists, computed once and shared by all Services.
    pub rosters: &'a Rosters,
}

impl Wanted {
    /// Computes the wanted state of a Service from its intent, the Nodes and the resolved references. [`super::group`] makes `group`.
    #[must_use]
    pub fn of(
        intent: Intent,
        nodes: &NodeSet,
        resolved: Resolved,
        ownership: Ownership,
        rules: Rules<'_>,
        group: Option<WantedGroup>,
    ) -> Self {
        let serial = rules.config.provider_requires_serial_api_calls;
        let without_members = intent.without_members(nodes);
        let ranges = || Arc::new(intent.source_ranges.iter().map(ToString::to_string).collect());
        let allowed_cidrs = intent.allowed_cidrs.then(ranges);
        let listener = |port| WantedListener {
            allowed_cidrs: allowed_cidrs.clone(),
            ..listener(&intent, port, nodes, &resolved.members, rules)
        };
        let listeners = intent.ports.iter().map(listener).collect();
        let additional = |subnet_id| AdditionalVip { subnet_id, ip_address: None, port_id: None };
        let balancer = WantedBalancer {
            provider: rules.config.lb_provider.clone(),
            vip: resolved.vip,
            address: intent.vip_address,
            earlier_address: resolved.earlier_address,
            additional_vips: resolved.additional_vips.into_iter().map(additional).collect(),
            flavor: intent.flavor,
            zone: intent.zone,
            tagged: rules.tagged,
        };
        let address = match intent.floating {
            None => WantedAddress::Own { keep_floating_ip: intent.keep_floating_ip },
            Some(floating) => WantedAddress::Floating {
                place: resolved.floating,
                asked: floating.address,
                insist: floating.insist,
                keep_floating_ip: intent.keep_floating_ip,
            },
        };
        let notices = intent.notices.into_iter().chain(resolved.notices).chain(without_members).collect();
        Self {
            names: intent.names,
            ownership,
            named: intent.load_balancer,
            balancer,
            listeners,
            address,
            group,
            publication: intent.publication,
            dual_stack: intent.dual_stack,
            creation: intent.creation,
            notices,
            forbidden: intent.forbidden,
            withheld: intent.withheld,
            unreadable: intent.unreadable,
            serial,
            most_sharers: rules.config.max_shared_lb,
            recreate_on_error: intent.recreate_on_error,
            extra_tags: intent.tags,
        }
    }
}

/// A listener with `allowed_cidrs` left `None`; the caller sets the set that all listeners share.
fn listener(
    intent: &Intent,
    port: &PortIntent,
    nodes: &NodeSet,
    subnets: &Arc<MemberSubnets>,
    rules: Rules<'_>,
) -> WantedListener {
    let serial = rules.config.provider_requires_serial_api_calls;
    let member = |member: MemberIntent| batch_member(&member, subnets, serial);
    let members = match port.node_port {
        None => Members::default(),
        // Names of serial members contain the port, so these lists cannot be shared.
        Some(_) if serial => intent.members(port, nodes).into_iter().map(member).collect(),
        Some(node_port) => Members::Alike {
            roster: rules.rosters.of(intent, nodes, subnets),
            port: node_port,
            monitor_port: port.monitor_port,
        },
    };
    // If all Nodes leave, all their members keep their weight and serve until the Nodes are gone.
    let weight = (!members.is_empty()).then_some(0);
    let leaving = intent.drains.then(|| {
        let leaving = intent.leaving(port, nodes).into_iter();
        leaving.map(|leaving| BatchMember { weight, ..member(leaving) }).collect()
    });
    let pool = WantedPool {
        name: intent.names.pool(port.place),
        protocol: port.pool_protocol.clone(),
        algorithm: intent.algorithm.clone(),
        session_persistence: intent.session_persistence.clone(),
        members,
        leaving,
        monitor: port.monitor.clone().zip(intent.monitor).map(|(kind, values)| WantedMonitor {
            name: intent.names.monitor(port.place),
            kind,
            values,
        }),
    };
    WantedListener {
        key: ListenerKey { protocol: port.listener_protocol.clone(), port: port.port },
        name: intent.names.listener(port.place),
        connection_limit: intent.connection_limit,
        timeouts: intent.timeouts,
        allowed_cidrs: None,
        insert_headers: port.insert_headers.clone(),
        certificate: port.tls.as_ref().map(|tls| tls.text.clone()),
        pool,
    }
}

/// The request for a member. Its address is not the first one of the Node if only another one is in the members' subnet.
fn batch_member(member: &MemberIntent, subnets: &MemberSubnets, serial: bool) -> BatchMember {
    let address = subnets.address_of(&member.name, member.address);
    let name = if serial {
        names::serial_member(&member.name, &address.to_string(), member.port)
    } else {
        member.name.to_string()
    };
    BatchMember {
        name,
        subnet_id: subnets.of(address).cloned(),
        monitor_port: member.monitor_port,
        ..BatchMember::new(address, member.port)
    }
}
