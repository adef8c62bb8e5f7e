//! The intent of a Service: Service, configuration and class, parsed into typed values.
//!
//! Every text is parsed here once, and all errors are reported together. References that need a lookup in the cloud stay unresolved; the
//! features of the cloud are an input. Pure: makes no call and reads no clock.

mod creation;
mod floating;
mod local;
mod members;
mod monitor;
pub(super) mod node_selector;
mod notice;
mod placement;
mod publication;
pub(super) mod tags;
#[cfg(test)]
pub(super) mod tests;
mod tls;
mod traffic;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

use bowline_cloud::{IpFamily, IpMode, Protocol, Refusal, ServiceView, SessionAffinity, SourceRanges};
use openstack_client::load_balancer::{Algorithm, SessionPersistence};
use openstack_client::{LoadBalancerFlavorId, LoadBalancerId};

pub use self::creation::CreationOption;
pub use self::floating::{Floating, FloatingSubnet};
pub use self::local::unmonitored_local_traffic;
pub use self::members::{MemberIntent, member_address};
pub use self::monitor::MonitorValues;
pub use self::node_selector::NodeSelector;
pub use self::notice::Notice;
pub use self::placement::{MemberSubnet, VipPlace};
pub use self::publication::Publication;
pub use self::tags::ExtraTags;
#[cfg(test)]
pub(super) use self::tags::parse as parse_tags;
pub use self::tls::{Stored, TlsReference};
use self::traffic::Speech;
pub use self::traffic::{PortIntent, ProxyProtocol};
use super::annotations::{self, Reader, Rejected, clipped};
use super::features::Features;
use super::names::Names;
use super::ownership::Ownership;
use crate::config::{LoadBalancer, LoadBalancerClass};

/// The most ports of a Service. Each needs a listener, a pool and a member for each Node; a load balancer with a tenth of this is already
/// large.
const MOST_PORTS: usize = 1_000;
/// The most ports times source ranges of a Service. Each pair is an entry of a listener or a rule of a security group. What Octavia and
/// Neutron return of them is in memory for every Service of a batch at once, about 60 bytes each. All networks of a country on two ports
/// stay below this limit.
const MOST_RULES: usize = 20_000;

/// The inputs that are the same for all Services.
#[derive(Debug, Clone, Copy)]
pub struct Surroundings<'a> {
    /// `--cluster-name`.
    pub cluster: &'a str,
    /// The `[LoadBalancer]` section of cloud.conf.
    pub config: &'a LoadBalancer,
    /// The `[LoadBalancerClass]` sections of cloud.conf, by name.
    pub classes: &'a BTreeMap<String, LoadBalancerClass>,
    /// The features of the cloud.
    pub features: Features,
}

/// What a Service requests from the cloud.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Intent {
    /// The names of its cloud objects.
    pub names: Names,
    /// The load balancer that the annotation names: its own, or one to share.
    pub load_balancer: Option<LoadBalancerId>,
    /// Whether it is internal, that is, has no floating IP.
    pub internal: bool,
    /// The preferred IP family, if `spec.ipFamilies` is set.
    pub family: Option<IpFamily>,
    /// Whether it is dual-stack, if the cloud supports that.
    pub dual_stack: bool,
    /// Where a new load balancer is placed.
    pub vip: VipPlace,
    /// The VIP of a new load balancer; `None` lets Octavia choose.
    pub vip_address: Option<IpAddr>,
    /// The subnet through which the Nodes are reached.
    pub member_subnet: MemberSubnet,
    /// The floating IP; `None` if it is internal.
    pub floating: Option<Floating>,
    /// Whether the floating IP is kept when it is no longer needed.
    pub keep_floating_ip: bool,
    /// The flavor of a new load balancer.
    pub flavor: Option<LoadBalancerFlavorId>,
    /// The availability zone of a new load balancer.
    pub zone: Option<String>,
    /// The connection limit of each listener; -1 means no limit.
    pub connection_limit: i64,
    /// The timeouts of each listener; `None` if the cloud does not support them.
    pub timeouts: Option<Timeouts>,
    /// The source ranges that may connect.
    pub source_ranges: SourceRanges,
    /// Whether listeners enforce the source ranges (`allowed_cidrs`).
    pub allowed_cidrs: bool,
    /// The load balancing algorithm.
    pub algorithm: Algorithm,
    /// The session persistence.
    pub session_persistence: Option<SessionPersistence>,
    /// The values of the health monitors; `None` if there are none.
    pub monitor: Option<MonitorValues>,
    /// Its ports, in the order of `spec.ports`.
    pub ports: Vec<PortIntent>,
    /// The health check node port (`spec.healthCheckNodePort`), whether or not the load balancer uses it.
    pub health_check_node_port: Option<u16>,
    /// Which Nodes are members.
    pub nodes: NodeSelector,
    /// Whether members of leaving Nodes are drained.
    pub drains: bool,
    /// How the status of the Service shows its address.
    pub publication: Publication,
    /// The annotations that take effect only when a load balancer is created.
    pub creation: Vec<CreationOption>,
    /// Events for the Service about things that do not prevent the load balancer.
    pub notices: Vec<Notice>,
    /// Values of the Service that a rule of `[Tenancy]` forbids, each as a message.
    pub forbidden: Vec<String>,
    /// The forbidden values that are not in force and are treated as not set.
    pub withheld: Vec<String>,
    /// Values that cannot be parsed, each as a message with the value used instead. Only for a Service that has a load balancer.
    pub unreadable: Vec<String>,
    /// Whether a load balancer in ERROR is deleted and created again.
    pub recreate_on_error: bool,
    /// Additional tags for the objects of the Service; empty if the cloud does not support tags.
    pub tags: ExtraTags,
}

/// The timeouts of a listener, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// How long a client may be inactive.
    pub client_data: i64,
    /// How long the connection to a member may take.
    pub member_connect: i64,
    /// How long a member may be inactive.
    pub member_data: i64,
    /// How long to wait for additional TCP packets for content inspection.
    pub tcp_inspect: i64,
}

impl Intent {
    /// Parses the intent of a Service.
    ///
    /// # Errors
    ///
    /// If the Service is invalid: all problems, each with its place, the value found and the accepted values.
    pub fn of(service: &ServiceView, around: &Surroundings<'_>) -> Result<Self, Refusal> {
        Self::read(service, around).map_err(|rejected| rejected.refusal)
    }

    /// Like [`Self::of`], but the error tells which values cannot be parsed. The caller needs that for a Service that has a load balancer.
    ///
    /// # Errors
    ///
    /// If the Service is invalid.
    pub fn read(service: &ServiceView, around: &Surroundings<'_>) -> Result<Self, Rejected> {
        let mut reader = Reader::new(service);
        let read = &mut reader;
        if service.ports.is_empty() {
            read.problem("spec.ports is empty; a load balancer needs at least one port".to_owned());
        }
        if service.ports.len() > MOST_PORTS {
            let count = service.ports.len();
            read.problem(format!("spec.ports has {count} ports; accepted: at most {MOST_PORTS}"));
        }
        let internal = read.flag_or_fixed(&annotations::INTERNAL) || around.config.internal_lb;
        let class = placement::class(read, around);
        let (vip, member_subnet) = placement::place(read, around, class, internal);
        let address = address(read, service);
        let pinned = read.parsed(&annotations::FLOATING_IP, |text| text.parse().ok());
        let vip_pinned = read.parsed(&annotations::VIP_ADDRESS, |text| text.parse().ok());
        let family = service.ip_families.first().copied();
        let floating = if internal {
            floating::check(read);
            None
        } else {
            Some(Floating {
                insist: pinned.is_some(),
                ..floating::floating(read, around, class, pinned.or(address))
            })
        };
        let monitor = monitor::values(read, around.config);
        let speech = speech(read, around, monitor.is_some());
        if around.features.ovn {
            refuse_what_ovn_does_not_speak(read, service, &speech);
        }
        let timeouts = timeouts(read);
        let load_balancer = read.id(&annotations::LOAD_BALANCER_ID);
        let keep_floating_ip = read.flag_or_fixed(&annotations::KEEP_FLOATING_IP);
        let flavor = flavor(read, around);
        let connection_limit = read.number_or_fixed(&annotations::CONNECTION_LIMIT);
        let algorithm = algorithm(read, around);
        let nodes = nodes(read, around);
        let drains = drain(read, around.config).is_some_and(|_period| !around.features.ovn);
        let recreate_on_error = read.flag_or_fixed(&annotations::RECREATE_ON_ERROR);
        let tags = extra_tags(read);
        let source_ranges = match SourceRanges::of(service) {
            Ok(ranges) => ranges,
            Err(wrong) => {
                read.problem(wrong.to_string());
                return Err(reader.reject());
            }
        };
        let (ports, ranges) = (service.ports.len(), source_ranges.iter().count());
        if ports.saturating_mul(ranges) > MOST_RULES {
            read.problem(format!(
                "{ports} ports and {ranges} source ranges need {ports} times {ranges} rules; accepted: at most {MOST_RULES}. \
                 Combine source ranges, or divide the ports among several Services"
            ));
            return Err(reader.reject());
        }
        let intent = Self {
            names: Names::of(around.cluster, service)
                .with_former_clusters(&around.config.former_cluster_names),
            load_balancer,
            creation: creation::options(read, &vip, around),
            internal,
            family,
            dual_stack: service.ip_families.len() > 1,
            vip,
            vip_address: vip_pinned
                .or_else(|| address.filter(|_address| internal || family == Some(IpFamily::V6))),
            member_subnet,
            floating,
            keep_floating_ip,
            flavor,
            zone: zone(read, around),
            connection_limit,
            timeouts: Some(timeouts).filter(|_timeouts| around.features.timeouts),
            allowed_cidrs: around.features.allowed_cidrs,
            algorithm,
            session_persistence: (service.session_affinity == Some(SessionAffinity::ClientIp))
                .then(SessionPersistence::source_ip),
            monitor,
            ports: traffic::ports(service, &speech, around.features),
            health_check_node_port: service.health_check_node_port.filter(|port| *port != 0),
            nodes,
            drains,
            publication: publication(read, around.config, &speech),
            notices: notice::notices(read, service, around, &speech, &source_ranges),
            tags: if around.features.tags { tags } else { ExtraTags::default() },
            source_ranges,
            forbidden: Vec::new(),
            withheld: Vec::new(),
            unreadable: Vec::new(),
            recreate_on_error,
        };
        if reader.is_fine() { Ok(intent) } else { Err(reader.reject()) }
    }
}

/// What is needed to remove the cloud objects of a Service. Invalid annotations never prevent a removal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removal {
    /// The names of its cloud objects.
    pub names: Names,
    /// The load balancer that the annotation names, if it is a valid id.
    pub load_balancer: Option<LoadBalancerId>,
    /// Whether the floating IP is kept. It is also kept if the annotation cannot be parsed, because a released address cannot be recovered.
    pub keep_floating_ip: bool,
    /// The tags that prove ownership.
    pub ownership: Ownership,
    /// Whether a load balancer is deleted with a cascade: `[LoadBalancer] cascade-delete`.
    pub cascade: bool,
    /// Whether load balancers and listeners support tags.
    pub tagged: bool,
}

impl Removal {
    /// The removal of a Service of a cluster.
    #[must_use]
    pub fn of(
        service: &ServiceView,
        cluster: &str,
        ownership: Ownership,
        config: &LoadBalancer,
        tagged: bool,
    ) -> Self {
        let reader = Reader::new(service);
        Self {
            ownership,
            cascade: config.cascade_delete,
            tagged,
            names: Names::of(cluster, service).with_former_clusters(&config.former_cluster_names),
            load_balancer: reader.text(&annotations::LOAD_BALANCER_ID).and_then(|id| id.parse().ok()),
            keep_floating_ip: reader.text(&annotations::KEEP_FLOATING_IP).is_some_and(|text| text != "false"),
        }
    }
}

fn address(reader: &mut Reader<'_>, service: &ServiceView) -> Option<IpAddr> {
    let text = service.load_balancer_ip.as_deref().filter(|text| !text.is_empty())?;
    let address = text.parse().ok();
    if address.is_none() {
        reader.wrong_load_balancer_ip(text);
    }
    address
}

fn speech(reader: &mut Reader<'_>, around: &Surroundings<'_>, monitored: bool) -> Speech {
    let proxy = reader.word(&annotations::PROXY_PROTOCOL).and_then(ProxyProtocol::asked);
    let x_forwarded_for = reader.flag_or_fixed(&annotations::X_FORWARDED_FOR);
    if proxy.is_some() && x_forwarded_for {
        let (one, other) = (annotations::PROXY_PROTOCOL.key, annotations::X_FORWARDED_FOR.key);
        reader.problem(format!("annotations {one} and {other} exclude each other; remove one of them"));
    }
    Speech { proxy, x_forwarded_for, tls: tls::reference(reader, around), monitored }
}

/// OVN forwards packets and terminates no protocol. Octavia would reject such a request, too, but without saying what to do.
fn refuse_what_ovn_does_not_speak(reader: &mut Reader<'_>, service: &ServiceView, speech: &Speech) {
    let asked = [
        (&annotations::PROXY_PROTOCOL, "the PROXY protocol", speech.proxy.is_some()),
        (&annotations::X_FORWARDED_FOR, "X-Forwarded-For", speech.x_forwarded_for),
        (&annotations::TLS_CONTAINER_REF, "TLS", speech.tls.is_some()),
    ];
    let over_tcp = service.ports.iter().any(|port| port.protocol == Protocol::Tcp);
    for (row, what, _asked) in asked.into_iter().filter(|(.., asked)| *asked && over_tcp) {
        let place = match reader.raw(row) {
            Some(value) => format!("annotation {} is {:?}", row.key, clipped(value)),
            None => format!("cloud.conf asks for it for all Services ({})", row.key),
        };
        reader.problem(format!(
            "load balancers of provider ovn cannot speak {what}, and {place}; remove it (with ovn the pods see the client's own \
             address), or use another lb-provider"
        ));
    }
}

fn timeouts(reader: &mut Reader<'_>) -> Timeouts {
    Timeouts {
        client_data: reader.number_or_fixed(&annotations::TIMEOUT_CLIENT_DATA),
        member_connect: reader.number_or_fixed(&annotations::TIMEOUT_MEMBER_CONNECT),
        member_data: reader.number_or_fixed(&annotations::TIMEOUT_MEMBER_DATA),
        tcp_inspect: reader.number_or_fixed(&annotations::TIMEOUT_TCP_INSPECT),
    }
}

/// The flavor. An empty annotation means none and overrides cloud.conf.
fn flavor(reader: &mut Reader<'_>, around: &Surroundings<'_>) -> Option<LoadBalancerFlavorId> {
    let row = &annotations::FLAVOR_ID;
    let flavor = match reader.raw(row) {
        Some(_said) => reader.id(row),
        None => reader.configured("LoadBalancer", row, &around.config.flavor_id, |text| text.parse().ok()),
    };
    flavor.filter(|_flavor| around.features.flavors)
}

/// The availability zone. An empty annotation means none and overrides cloud.conf.
fn zone(reader: &mut Reader<'_>, around: &Surroundings<'_>) -> Option<String> {
    let zone = reader.short(&annotations::AVAILABILITY_ZONE).unwrap_or(&around.config.availability_zone);
    Some(zone.to_owned()).filter(|zone| !zone.is_empty() && around.features.zones)
}

/// The algorithm. OVN supports only `SOURCE_IP_PORT`, so the annotation and cloud.conf are ignored.
fn algorithm(reader: &mut Reader<'_>, around: &Surroundings<'_>) -> Algorithm {
    let annotated = reader.word(&annotations::LB_METHOD);
    if around.features.ovn {
        return Algorithm::SourceIpPort;
    }
    Algorithm::from(annotated.unwrap_or(&around.config.lb_method))
}

/// The keys of the Node labels that decide which Nodes are members of a Service.
#[must_use]
pub fn node_labels(service: &ServiceView, config: &LoadBalancer) -> BTreeSet<String> {
    node_selector(service, config).keys().map(ToOwned::to_owned).collect()
}

/// The node selector of a Service. One that cannot be parsed is ignored here; [`Intent::read`] reports it.
#[must_use]
pub fn node_selector(service: &ServiceView, config: &LoadBalancer) -> NodeSelector {
    let said = Reader::new(service).raw(&annotations::NODE_SELECTOR).and_then(NodeSelector::parse);
    said.or_else(|| NodeSelector::parse(&config.node_selector)).unwrap_or_default()
}

/// The node selector. An empty annotation selects all Nodes and overrides cloud.conf.
fn nodes(reader: &mut Reader<'_>, around: &Surroundings<'_>) -> NodeSelector {
    let row = &annotations::NODE_SELECTOR;
    if reader.raw(row).is_some() {
        return reader.parsed(row, NodeSelector::parse).unwrap_or_default();
    }
    let configured = &around.config.node_selector;
    reader.configured("LoadBalancer", row, configured, NodeSelector::parse).unwrap_or_default()
}

/// How long members of leaving Nodes are drained; `None` if they are not, as with serial calls.
fn drain(reader: &mut Reader<'_>, config: &LoadBalancer) -> Option<Duration> {
    let asked = reader.duration(&annotations::DRAIN)?;
    (!asked.is_zero() && !config.provider_requires_serial_api_calls).then_some(asked)
}

/// How long members of a Service are drained; `None` if they are not, as with provider ovn. An invalid annotation is ignored here and
/// reported elsewhere.
#[must_use]
pub fn drain_of(service: &ServiceView, config: &LoadBalancer) -> Option<Duration> {
    drain(&mut Reader::new(service), config).filter(|_period| config.lb_provider != "ovn")
}

fn extra_tags(reader: &mut Reader<'_>) -> ExtraTags {
    let mut read = |row| reader.parsed(row, tags::parse).unwrap_or_default();
    ExtraTags {
        balancer: read(&annotations::LOAD_BALANCER_TAGS),
        listener: read(&annotations::LISTENER_TAGS),
        pool: read(&annotations::POOL_TAGS),
    }
}

fn publication(reader: &mut Reader<'_>, config: &LoadBalancer, speech: &Speech) -> Publication {
    if let Some(name) = reader.short(&annotations::HOSTNAME).filter(|name| !name.is_empty()) {
        return Publication::Hostname(name.to_owned());
    }
    match speech.proxy {
        Some(_) if config.enable_ingress_hostname => {
            Publication::HostnameOfAddress(config.ingress_hostname_suffix.clone())
        }
        Some(_) => Publication::Address(IpMode::Proxy),
        None => Publication::Address(IpMode::Vip),
    }
}
