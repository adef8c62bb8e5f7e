//! What people, kubelets and the cloud's operator do. Only values: [`World`](crate::world::World) performs them.

use std::fmt;
use std::time::Duration;

/// What a person says in a Service. The number is the Service's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceSpec {
    /// Protocol and port of each port.
    pub ports: Vec<(&'static str, u16)>,
    /// Annotations below `loadbalancer.openstack.org/`, or whole.
    pub annotations: Vec<(&'static str, String)>,
    /// `loadBalancerSourceRanges`.
    pub source_ranges: Vec<&'static str>,
    /// `externalTrafficPolicy: Local`.
    pub local: bool,
    /// `sessionAffinity: ClientIP`.
    pub affinity: bool,
}

impl Default for ServiceSpec {
    fn default() -> Self {
        Self {
            ports: vec![("TCP", 80)],
            annotations: Vec::new(),
            source_ranges: Vec::new(),
            local: false,
            affinity: false,
        }
    }
}

/// A change of a Service that exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// Other ports.
    Ports(Vec<(&'static str, u16)>),
    /// An annotation, set or taken away.
    Annotate(&'static str, Option<String>),
    /// Other ranges.
    SourceRanges(Vec<&'static str>),
    /// `externalTrafficPolicy`.
    Local(bool),
    /// `sessionAffinity`.
    Affinity(bool),
    /// `type: ClusterIP` or back to LoadBalancer.
    IsBalanced(bool),
}

/// What the operator of the cloud, or a script of somebody's, does to what we made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meddling {
    /// Deletes the load balancer with all that hangs on it.
    DeleteBalancer,
    /// Sets it to ERROR; it goes on to serve.
    BalancerError,
    /// Sets it to ERROR, and it serves nobody any more.
    BalancerDies,
    /// A change fails: provisioning and operating status become ERROR, and it goes on to serve. The OVN driver reports failed changes so.
    UpdateFails,
    /// Deletes one listener.
    DeleteListener,
    /// Deletes one pool.
    DeletePool,
    /// Deletes one member.
    DeleteMember,
    /// Adds a member that is nobody's.
    AddMember,
    /// Deletes a health monitor.
    DeleteMonitor,
    /// Takes the floating IP off the load balancer.
    DetachFloatingIp,
    /// Deletes the floating IP.
    DeleteFloatingIp,
    /// Deletes a rule of the security group.
    DeleteRule,
    /// Gives the ports of all servers one more security group, which is not ours.
    GuardPorts,
    /// Adds a listener or pool of their own, which is not ours.
    Add(Addition),
}

/// What a person adds to a load balancer of a Service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addition {
    /// A listener without tags, with a pool.
    Listener,
    /// A listener with a tag, with a pool.
    TaggedListener,
    /// A pool that no listener uses.
    Pool,
}

/// A Service of namespace `shop`, which nobody edits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shop {
    /// Has a floating IP for as long as it exists.
    Front,
    /// Has `keep-floatingip`: its floating IP stays when it is deleted.
    Archive,
    /// Requests a floating IP that a person allocated.
    Given,
    /// Requests a port that a person created.
    Pinned,
    /// Internal: its status shows the VIP of its load balancer.
    Inside,
    /// Internal, at a port that a person created.
    PinnedInside,
    /// Requests a floating IP that a person allocated, and its status shows a host name.
    Named,
}

/// What the hostile tenant names in its Service although it belongs to somebody else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// What belongs to a Service of namespace `shop`.
    Shop(Shop),
    /// What belongs to Service `default/web-<number>`.
    Web(usize),
    /// What was made in another cluster, for a Service of the same namespace and name as the attacker's.
    OtherCluster,
    /// A load balancer that no Service made and that such a Service of the other cluster shares.
    Joined,
    /// A load balancer with the name of a Service that is gone, and with a listener that no Service made.
    Ownerless,
    /// What no Service made.
    Unmanaged,
    /// The port of a server, to which a person attached a floating IP.
    NodePort,
    /// The port of a router.
    RouterPort,
}

/// What the Service of the hostile tenant asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attack {
    /// A floating IP, by annotation.
    FloatingIp(Target),
    /// A floating IP, by `spec.loadBalancerIP`.
    LoadBalancerIp(Target),
    /// A load balancer, by annotation `load-balancer-id`.
    Join(Target),
    /// The same, with a forged annotation `load-balancer-address`.
    JoinForged(Target),
    /// The port of a load balancer, by annotation `port-id`.
    PortId(Target),
    /// The VIP of a load balancer, by annotation.
    VipAddress(Target),
    /// The same, by `spec.loadBalancerIP` of an internal Service.
    InternalIp(Target),
    /// Tags that say that everything of the attacker belongs to another Service.
    Tags(Target),
}

/// What tenants do in namespaces of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TenantAction {
    /// Creates a Service of namespace `shop`.
    Open(Shop),
    /// Deletes it.
    Close(Shop),
    /// Somebody deletes its load balancer in the cloud.
    LoseBalancer(Shop),
    /// A person attaches a floating IP to the port of the server of `node-1`.
    ReachNode,
    /// The hostile tenant creates Service `attacker/attack-<number>`, or edits it.
    Attack(usize, Attack),
    /// The hostile tenant deletes it.
    Withdraw(usize),
}

/// Something that is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// The kubelet of a server registers its Node.
    Join(usize),
    /// The server is deleted in the cloud; its kubelet is heard no more.
    ServerGone(usize),
    /// The server stops; its kubelet is heard no more.
    ServerStops(usize),
    /// It starts again.
    ServerStarts(usize),
    /// The server is deleted, and another one of the same name made; its kubelet has still to register.
    ServerReplaced(usize),
    /// A further server with its Node.
    NewServer(usize),
    /// The port of the server gets another address, and the server has it at once.
    Readdress(usize),
    /// A Node is deleted by a person.
    DeleteNode(usize),
    /// A Node is Ready, or not.
    Ready(usize, bool),
    /// The kubelet of a physical machine, which is in no cloud, registers its Node, and is Ready or not.
    Metal(bool),
    /// A person labels a Node as excluded from load balancers, or not.
    Exclude(usize, bool),
    /// A person creates a Service.
    Create(usize, ServiceSpec),
    /// A person edits a Service.
    Edit(usize, Edit),
    /// A person creates a Service that shares the load balancer of another one.
    Share(usize, usize),
    /// A person deletes a Service.
    Delete(usize),
    /// Somebody changes what belongs to a Service.
    Meddle(usize, Meddling),
    /// A tenant does something in a namespace of its own.
    Tenant(TenantAction),
    /// Octavia reports all load balancers in ERROR. If its management network failed, all of them go on to serve; if all amphorae are lost,
    /// the operating status is OFFLINE and none of them serves.
    BalancersInError {
        /// Whether none of them serves any more.
        offline: bool,
    },
    /// No more load balancers are allowed, or as many as wanted.
    Quota(bool),
    /// The password of the cloud's user is changed, and cloud.conf a moment later.
    RotatePassword,
    /// The configuration is replaced by one that cannot be used, or is mended.
    BreakConfig(bool),
    /// Every token of the cloud is revoked.
    RevokeTokens,
    /// A service of the cloud answers nothing but 503 for a while.
    Outage(sim_openstack::Service, Duration),
    /// The leader is killed.
    KillLeader,
    /// The leader is asked to end.
    StopLeader,
    /// The leader is cut off for a while.
    PauseLeader(Duration),
    /// Somebody deletes the Lease.
    DeleteLease,
    /// All watches break.
    BreakWatches,
    /// All watches end with 410.
    ExpireWatches,
}

impl fmt::Display for Action {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Join(number) => write!(out, "the kubelet of node-{number} registers"),
            Self::ServerGone(number) => write!(out, "the server of node-{number} is deleted"),
            Self::ServerStops(number) => write!(out, "the server of node-{number} stops"),
            Self::ServerStarts(number) => write!(out, "the server of node-{number} starts"),
            Self::ServerReplaced(number) => {
                write!(out, "the server of node-{number} is replaced by a namesake")
            }
            Self::NewServer(number) => write!(out, "a server node-{number} is made and registers"),
            Self::Readdress(number) => write!(out, "the server of node-{number} gets another address"),
            Self::DeleteNode(number) => write!(out, "Node node-{number} is deleted by hand"),
            Self::Ready(number, ready) => write!(out, "node-{number} ready: {ready}"),
            Self::Metal(ready) => write!(out, "the bare-metal Node is ready: {ready}"),
            Self::Exclude(number, excluded) => write!(out, "node-{number} excluded: {excluded}"),
            Self::Create(number, spec) => write!(out, "create Service web-{number}: {spec:?}"),
            Self::Edit(number, edit) => write!(out, "edit Service web-{number}: {edit:?}"),
            Self::Delete(number) => write!(out, "delete Service web-{number}"),
            Self::Meddle(number, meddling) => write!(out, "behind the back of web-{number}: {meddling:?}"),
            Self::BalancersInError { offline: false } => {
                write!(out, "Octavia reports all load balancers in ERROR, and they go on to serve")
            }
            Self::BalancersInError { offline: true } => {
                write!(
                    out,
                    "Octavia reports all load balancers in ERROR and OFFLINE, and none of them serves"
                )
            }
            Self::Tenant(action) => write!(out, "tenant: {action:?}"),
            Self::Quota(exhausted) => write!(out, "quota of load balancers exhausted: {exhausted}"),
            other => write!(out, "{other:?}"),
        }
    }
}
