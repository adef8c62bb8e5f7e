//! The rows of the table. The order is that of the reference page.

use super::Effect::{Always, Creation, FloatingIp, Removal, Written};
use super::Otherwise::{ClassOrConfig, Config, Fixed, Nothing};
use super::{Annotation, Effect, Fallback, Kind, Otherwise};

/// Octavia takes timeouts up to a year.
const YEAR_MS: i64 = 31_536_000_000;
/// What Octavia's database holds.
const MOST: i64 = 2_147_483_647;

/// Who drains for longer has forgotten it.
const DAY: u32 = 86_400;

const MILLISECONDS: Kind = Kind::Number { least: 0, most: YEAR_MS, unit: "milliseconds" };
const SECONDS: Kind = Kind::Number { least: 1, most: MOST, unit: "seconds" };

const fn row(
    key: &'static str,
    kind: Kind,
    otherwise: Otherwise,
    effect: Effect,
    doc: &'static str,
) -> Annotation {
    Annotation { key, kind, otherwise, effect, fallback: fallback(kind, effect), deprecated: None, doc }
}

/// As OCCM has it, unless a row says otherwise.
const fn fallback(kind: Kind, effect: Effect) -> Fallback {
    match (kind, effect) {
        // OCCM reads them with every change.
        (Kind::Class | Kind::Networks, _) => Fallback::Refusal,
        // OCCM looks at ids when something is created with them. Those that count at once are in calls that fail.
        (Kind::Id, Creation | FloatingIp) => Fallback::Unset,
        (Kind::Id, _) => Fallback::Refusal,
        (Kind::Certificate, _) => Fallback::InForce,
        _ => Fallback::Unset,
    }
}

macro_rules! bowline {
    ($name:literal) => {
        concat!("loadbalancer.bowline.dev/", $name)
    };
}

macro_rules! openstack {
    ($name:literal) => {
        concat!("loadbalancer.openstack.org/", $name)
    };
}

/// Each row gets a name, by which it is read, and stands in the table.
macro_rules! table {
    ($($name:ident = $row:expr;)*) => {
        $(#[doc = concat!("The row `", stringify!($name), "`.")] pub const $name: Annotation = $row;)*

        /// All annotations.
        pub static ANNOTATIONS: &[Annotation] = &[$($name),*];
    };
}

table! {
    INTERNAL = row(
        "service.beta.kubernetes.io/openstack-internal-load-balancer", Kind::Flag, Fixed("false"), Always,
        "No floating IP: the load balancer is reached inside of its network only. `internal-lb` of cloud.conf makes all \
         Services internal, whatever this says.").unreadable(Fallback::Shown);
    LOAD_BALANCER_ID = row(
        openstack!("load-balancer-id"), Kind::Id, Nothing, Always,
        "The load balancer to use. Set it to share one that is there; the controller writes it when it has found or made one.");
    LOAD_BALANCER_ADDRESS = row(
        openstack!("load-balancer-address"), Kind::Text, Nothing, Written,
        "The address by which the Service is reached. The controller writes it. If the load balancer that `load-balancer-id` \
         names is gone, a Service that has this annotation gets a new one, and one that never had an address is refused. While \
         the status shows host names only, it says which address to request again. It never proves whose a load balancer or \
         address is.");
    HOSTNAME = row(
        openstack!("hostname"), Kind::ShortText, Nothing, Always,
        "A host name to show in the Service's status in place of the address.");
    CLASS = row(
        openstack!("class"), Kind::Class, Nothing, Always,
        "The `[LoadBalancerClass]` of cloud.conf that counts for this Service. It is another thing than \
         `spec.loadBalancerClass`.");
    FLOATING_NETWORK_ID = row(
        openstack!("floating-network-id"), Kind::Id, ClassOrConfig("floating-network-id"), FloatingIp,
        "The external network of the floating IP. A class goes before the annotation. If it is empty, or nothing is said \
         anywhere, an external network is looked for.");
    FLOATING_SUBNET_ID = row(
        openstack!("floating-subnet-id"), Kind::Id, ClassOrConfig("floating-subnet-id"), FloatingIp,
        "The external subnet of the floating IP; goes before the name and the tags. A class goes before the annotation.");
    FLOATING_SUBNET = row(
        openstack!("floating-subnet"), Kind::NamePattern, ClassOrConfig("floating-subnet"), FloatingIp,
        "The names of external subnets to try, one after the other.");
    FLOATING_SUBNET_TAGS = row(
        openstack!("floating-subnet-tags"), Kind::Tags, ClassOrConfig("floating-subnet-tags"), FloatingIp,
        "The tags of external subnets to try. Together with a name, both must fit.");
    KEEP_FLOATING_IP = row(
        openstack!("keep-floatingip"), Kind::Flag, Fixed("false"), Removal,
        "The floating IP is kept, free for another use, when the Service goes or becomes internal.")
        .unreadable(Fallback::Value("true"));
    PORT_ID = row(
        openstack!("port-id"), Kind::Id, Nothing, Creation,
        "A port of Neutron that becomes the load balancer's own; subnet and network are then the port's.");
    SUBNET_ID = row(
        openstack!("subnet-id"), Kind::Id, ClassOrConfig("subnet-id"), Creation,
        "The subnet of the load balancer. If neither subnet nor network is said anywhere, it is the subnet of the Nodes. For a \
         Service with a floating IP the class goes before the annotation.")
        .unreadable(Fallback::Refusal);
    NETWORK_ID = row(
        openstack!("network-id"), Kind::Id, ClassOrConfig("network-id"), Creation,
        "The network of the load balancer; Neutron chooses the subnet. For a Service with a floating IP the class goes before \
         the annotation.");
    MEMBER_SUBNET_ID = row(
        openstack!("member-subnet-id"), Kind::Id, ClassOrConfig("member-subnet-id"), Always,
        "The subnet by which the Nodes are reached; else that of the load balancer.");
    LB_METHOD = row(
        openstack!("lb-method"),
        Kind::Word(&["ROUND_ROBIN", "LEAST_CONNECTIONS", "SOURCE_IP", "SOURCE_IP_PORT"]), Config("lb-method"), Always,
        "How a Node is chosen for a connection. OVN knows `SOURCE_IP_PORT` only.").unreadable(Fallback::InForce);
    PROXY_PROTOCOL = row(
        openstack!("proxy-protocol"), Kind::Word(&["true", "v1", "v2", "false"]), Fixed("false"), Always,
        "The PROXY protocol tells the pods the client's address: `true` or `v1` for version 1, `v2` for version 2. Only on TCP \
         ports; not together with `x-forwarded-for`.");
    X_FORWARDED_FOR = row(
        openstack!("x-forwarded-for"), Kind::Flag, Fixed("false"), Always,
        "TCP ports speak HTTP, and the header `X-Forwarded-For` tells the pods the client's address. Not together with \
         `proxy-protocol`.");
    TLS_CONTAINER_REF = row(
        openstack!("default-tls-container-ref"), Kind::Certificate, Config("default-tls-container-ref"), Always,
        "The certificate with which the load balancer ends TLS on TCP ports. Empty: no TLS, also if cloud.conf names a \
         certificate.");
    CONNECTION_LIMIT = row(
        openstack!("connection-limit"), Kind::Number { least: -1, most: MOST, unit: "" }, Fixed("-1"), Always,
        "The most connections at a time of each port; -1 is without limit.");
    TIMEOUT_CLIENT_DATA = row(
        openstack!("timeout-client-data"), MILLISECONDS, Fixed("50000"), Always,
        "How long a client may be silent. Not with OVN.");
    TIMEOUT_MEMBER_CONNECT = row(
        openstack!("timeout-member-connect"), MILLISECONDS, Fixed("5000"), Always,
        "How long a Node may take to accept a connection. Not with OVN.");
    TIMEOUT_MEMBER_DATA = row(
        openstack!("timeout-member-data"), MILLISECONDS, Fixed("50000"), Always,
        "How long a Node may be silent. Not with OVN.");
    TIMEOUT_TCP_INSPECT = row(
        openstack!("timeout-tcp-inspect"), MILLISECONDS, Fixed("0"), Always,
        "How long further packets are awaited for a look into them. Not with OVN.");
    FLAVOR_ID = row(
        openstack!("flavor-id"), Kind::Id, Config("flavor-id"), Creation,
        "The flavor of the load balancer. Empty: none, also if cloud.conf names one. Not with OVN.");
    AVAILABILITY_ZONE = row(
        openstack!("availability-zone"), Kind::ShortText, Config("availability-zone"), Creation,
        "The availability zone of the load balancer. Empty: none, also if cloud.conf names one. Not with OVN.");
    ENABLE_HEALTH_MONITOR = row(
        openstack!("enable-health-monitor"), Kind::Flag, Config("create-monitor"), Always,
        "Nodes are asked whether they are well. With `externalTrafficPolicy: Local` it should be on: it finds the Nodes that \
         have a pod.");
    HEALTH_MONITOR_DELAY = row(
        openstack!("health-monitor-delay"), SECONDS, Config("monitor-delay"), Always,
        "The pause between two questions.");
    HEALTH_MONITOR_TIMEOUT = row(
        openstack!("health-monitor-timeout"), SECONDS, Config("monitor-timeout"), Always,
        "How long an answer may take; it should be less than the pause.");
    HEALTH_MONITOR_MAX_RETRIES = row(
        openstack!("health-monitor-max-retries"), Kind::Number { least: 1, most: 10, unit: "" },
        Config("monitor-max-retries"), Always,
        "Good answers after which a Node is well.");
    HEALTH_MONITOR_MAX_RETRIES_DOWN = row(
        openstack!("health-monitor-max-retries-down"), Kind::Number { least: 0, most: 10, unit: "" },
        Config("monitor-max-retries-down"), Always,
        "Missing answers after which a Node is not well; 0 leaves it to Octavia.");
    NODE_SELECTOR = row(
        openstack!("node-selector"), Kind::Selector, Config("node-selector"), Always,
        "The labels of the Nodes that get traffic; all must fit. Empty: all Nodes, also if cloud.conf says otherwise.");
    LOAD_BALANCER_TAGS = row(
        openstack!("load-balancer-tags"), Kind::ExtraTags, Nothing, Always,
        "Tags to add to the load balancer, if it is the Service's own. Tags are only added: those of others stay, and so do those \
         that are taken out of the annotation.");
    LISTENER_TAGS = row(
        openstack!("listener-tags"), Kind::ExtraTags, Nothing, Always,
        "Tags to add to the listeners of the Service; see `load-balancer-tags`.");
    POOL_TAGS = row(
        openstack!("pool-tags"), Kind::ExtraTags, Nothing, Always,
        "Tags to add to the pools of the Service; see `load-balancer-tags`.");
    FLOATING_IP = row(
        bowline!("floating-ip"), Kind::Address, Nothing, Always,
        "The address of the floating IP; goes before `spec.loadBalancerIP`. Another value later gives the Service that address and \
         gives the one before back.");
    VIP_ADDRESS = row(
        bowline!("vip-address"), Kind::Address, Nothing, Creation,
        "The address of the load balancer in its own network; goes before `spec.loadBalancerIP`.");
    RECREATE_ON_ERROR = row(
        bowline!("recreate-on-error"), Kind::Flag, Fixed("true"), Always,
        "A load balancer that Octavia says is in ERROR is deleted and made anew, with the same address where that can be had. \
         `false` leaves it to a person.")
        .unreadable(Fallback::Value("false"));
    DRAIN = row(
        bowline!("drain"), Kind::Duration { most: DAY }, Fixed("0"), Always,
        "For how long a Node whose removal is announced (the autoscaler's taint, the label that excludes it, deletion) keeps its \
         connections and gets no new ones, before it is taken out. Then weights of 0 are the controller's: a Node that stays gets 1 \
         again. Not with OVN, nor with `provider-requires-serial-api-calls`.");
    SOURCE_RANGES = Annotation {
        deprecated: Some("`spec.loadBalancerSourceRanges`"),
        ..row(
            bowline_cloud::source_ranges::SOURCE_RANGES_ANNOTATION, Kind::Networks, Nothing, Always,
            "From where the Service may be reached; without it, from everywhere. Counts only if \
             `spec.loadBalancerSourceRanges` is empty.")
    };
}
