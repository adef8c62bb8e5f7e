//! The state that a Service wants in the cloud, as values that can be compared with what is there.
//!
//! Made of the intent, the Nodes, and what the intent's references came to. Pure. A new load balancer is made of it in one call,
//! and its fingerprint tells whether a wish is still the same as before.

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

/// What the references of an intent came to in the cloud.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Resolved {
    /// Where a new load balancer stands.
    pub vip: Vip,
    /// The address of an earlier load balancer of the Service, if a new one can have it.
    pub earlier_address: Option<IpAddr>,
    /// The subnets of further addresses of a new load balancer, for Services of two IP families.
    pub additional_vips: Vec<SubnetId>,
    /// The subnets by which Nodes are reached.
    pub members: Arc<MemberSubnets>,
    /// Where a floating IP comes from; none for an internal Service, or if the cloud has no external network.
    pub floating: Option<FloatingPlace>,
    /// What the owner should know of the search.
    pub notices: Vec<Notice>,
}

/// Where a load balancer stands. What is not said is left to Octavia.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Vip {
    /// On this port; then the rest is not said.
    pub port: Option<PortId>,
    /// In this subnet.
    pub subnet: Option<SubnetId>,
    /// In this network.
    pub network: Option<NetworkId>,
}

/// The subnets by which Nodes are reached.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemberSubnets {
    /// The subnet of all members, unless the next says otherwise.
    pub all: Option<SubnetId>,
    /// The subnet of a member by its address, where Nodes are in several.
    pub by_address: BTreeMap<IpAddr, SubnetId>,
    /// The address of a Node, by its name, where it has one in the members' subnet and its first is elsewhere.
    pub addresses: BTreeMap<String, IpAddr>,
}

impl MemberSubnets {
    /// The address of a Node whose first one is this.
    #[must_use]
    pub fn address_of(&self, node: &str, first: IpAddr) -> IpAddr {
        self.addresses.get(node).copied().unwrap_or(first)
    }

    /// The subnet by which an address is reached.
    #[must_use]
    pub fn of(&self, address: IpAddr) -> Option<&SubnetId> {
        self.by_address.get(&address).or(self.all.as_ref())
    }
}

/// Where a floating IP comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FloatingPlace {
    /// The external network.
    pub network: NetworkId,
    /// The subnets to try, one after the other; any if there is none.
    pub subnets: Vec<SubnetId>,
}

/// What a Service wants to be in the cloud.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// What things are called.
    pub names: Names,
    /// The tags that say whose it is.
    pub ownership: Ownership,
    /// The load balancer that the Service names, if it names one.
    pub named: Option<LoadBalancerId>,
    /// The load balancer.
    pub balancer: WantedBalancer,
    /// Its listeners, in the order of `spec.ports`.
    pub listeners: Vec<WantedListener>,
    /// By which address it is reached.
    pub address: WantedAddress,
    /// The security group of the Nodes; none if groups are not ours to manage.
    pub group: Option<WantedGroup>,
    /// How the address is shown.
    pub publication: Publication,
    /// Whether further addresses of the load balancer are shown as well.
    pub dual_stack: bool,
    /// What the Service's annotations say that counts only when a load balancer is created.
    pub creation: Vec<CreationOption>,
    /// What the owner should know.
    pub notices: Vec<Notice>,
    /// Values that a rule of `[Tenancy]` forbids and that the Service says all the same, each in a message.
    pub forbidden: Vec<String>,
    /// Those of them that are not in force, and count as not said.
    pub withheld: Vec<String>,
    /// Values that cannot be read, each in a message with what counts in its place.
    pub unreadable: Vec<String>,
    /// Whether the provider takes one thing at a time: no children with a new load balancer, members one by one.
    pub serial: bool,
    /// The most Services on one load balancer.
    pub most_sharers: i64,
    /// Whether a load balancer that Octavia gave up is made anew.
    pub recreate_on_error: bool,
    /// Tags to add to what is the Service's, beside those that say so.
    pub extra_tags: ExtraTags,
}

/// What counts when a load balancer is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedBalancer {
    /// The driver that makes it.
    pub provider: String,
    /// Where it stands.
    pub vip: Vip,
    /// Its address; any if none.
    pub address: Option<IpAddr>,
    /// The address that an earlier one of the Service had: requested again, and given up if it cannot be had.
    pub earlier_address: Option<IpAddr>,
    /// Further addresses.
    pub additional_vips: Vec<AdditionalVip>,
    /// Its flavor.
    pub flavor: Option<LoadBalancerFlavorId>,
    /// Its zone.
    pub zone: Option<String>,
    /// Whether it can have tags.
    pub tagged: bool,
}

/// A listener is known by this.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ListenerKey {
    /// What it speaks.
    pub protocol: Protocol,
    /// Its port.
    pub port: u16,
}

/// A listener.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedListener {
    /// By what it is known.
    pub key: ListenerKey,
    /// Its name, if it is made.
    pub name: String,
    /// The most connections; -1 is without limit.
    pub connection_limit: i64,
    /// Its timeouts, if the cloud has them.
    pub timeouts: Option<Timeouts>,
    /// Who may connect, if the cloud can tell listeners. All listeners of a Service share it: there may be thousands of networks.
    pub allowed_cidrs: Option<Arc<BTreeSet<String>>>,
    /// Headers that it adds.
    pub insert_headers: BTreeMap<String, String>,
    /// Its certificate.
    pub certificate: Option<String>,
    /// Its pool.
    pub pool: WantedPool,
}

/// A pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedPool {
    /// Its name, if it is made.
    pub name: String,
    /// What members are spoken to with.
    pub protocol: Protocol,
    /// How a member is chosen.
    pub algorithm: Algorithm,
    /// How a client is sent to the same member again.
    pub session_persistence: Option<SessionPersistence>,
    /// Its members, by name of the Node.
    pub members: Members,
    /// The members of Nodes that leave, which stay as long as they are there; none at all if nothing is drained, and weights are
    /// left as they are.
    pub leaving: Option<Vec<BatchMember>>,
    /// Its monitor.
    pub monitor: Option<WantedMonitor>,
}

/// A health monitor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedMonitor {
    /// Its name.
    pub name: String,
    /// How members are asked.
    pub kind: MonitorType,
    /// How often.
    pub values: MonitorValues,
}

/// By which address a Service is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WantedAddress {
    /// By that of the load balancer; a floating IP of ours goes, unless it is kept.
    Own {
        /// Whether the floating IP that is not needed any more stays.
        keep_floating_ip: bool,
    },
    /// By a floating IP. A load balancer with an IPv6 address has none and is reached by its own.
    Floating {
        /// Where it comes from; none if the cloud has no external network.
        place: Option<FloatingPlace>,
        /// This one.
        asked: Option<IpAddr>,
        /// Whether it is this one also if another is there already.
        insist: bool,
        /// Whether the one that it takes the place of stays.
        keep_floating_ip: bool,
    },
}

/// What is decided for all Services alike.
#[derive(Debug, Clone, Copy)]
pub struct Rules<'a> {
    /// `[LoadBalancer]`.
    pub config: &'a LoadBalancer,
    /// Whether load balancers and listeners can have tags.
    pub tagged: bool,
    /// Who serves, counted out once for all Services.
    pub rosters: &'a Rosters,
}

impl Wanted {
    /// What a Service wants, from its intent, the Nodes and what was looked up. `group` is made by [`super::group`].
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

/// A listener without the networks from which it may be reached.
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
        // Their names tell their ports.
        Some(_) if serial => intent.members(port, nodes).into_iter().map(member).collect(),
        Some(node_port) => Members::Alike {
            roster: rules.rosters.of(intent, nodes, subnets),
            port: node_port,
            monitor_port: port.monitor_port,
        },
    };
    // Somebody has to serve: where all leave, all go on until they are gone.
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

/// A member to be. Its address is another one of the Node's if only that is in the members' subnet.
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
