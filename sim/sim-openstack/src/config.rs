//! What a simulated cloud looks like from outside: its services, their addresses, page sizes, and how long things take.
//!
//! Only values; nothing here acts.

use std::collections::BTreeMap;
use std::time::Duration;

/// A service of the cloud.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Service {
    /// Keystone.
    Identity,
    /// Nova.
    Compute,
    /// Neutron.
    Network,
    /// Octavia.
    LoadBalancer,
    /// Barbican.
    KeyManager,
    /// Glance: as much as the command-line client asks for.
    Image,
}

impl Service {
    /// Every service.
    pub const ALL: [Self; 6] =
        [Self::Identity, Self::Compute, Self::Network, Self::LoadBalancer, Self::KeyManager, Self::Image];

    /// The type in the catalog, which is also the default path prefix.
    #[must_use]
    pub fn catalog_type(self) -> &'static str {
        match self {
            Self::Identity => "identity",
            Self::Compute => "compute",
            Self::Network => "network",
            Self::LoadBalancer => "load-balancer",
            Self::KeyManager => "key-manager",
            Self::Image => "image",
        }
    }

    /// The project that provides it, as the catalog names it.
    #[must_use]
    pub fn project_name(self) -> &'static str {
        match self {
            Self::Identity => "keystone",
            Self::Compute => "nova",
            Self::Network => "neutron",
            Self::LoadBalancer => "octavia",
            Self::KeyManager => "barbican",
            Self::Image => "glance",
        }
    }
}

/// Where one service is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The root of the service, without a slash at the end, such as `http://127.0.0.1:8774` or `http://sim/compute`.
    pub base: String,
    /// What the catalog's address has after the root, such as `/v2.1`.
    pub catalog_suffix: String,
}

/// The endpoints of one region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// Its name in the catalog.
    pub name: String,
    /// Which interfaces the catalog lists.
    pub interfaces: Vec<String>,
    /// Its services.
    pub endpoints: BTreeMap<Service, Endpoint>,
}

impl Region {
    /// All services under one address, each with its own path prefix: `http://host/compute/v2.1`.
    #[must_use]
    pub fn by_path(name: &str, root: &str) -> Self {
        let root = root.trim_end_matches('/');
        let endpoint = |service: Service| {
            let catalog_suffix = default_suffix(service).to_owned();
            (service, Endpoint { base: format!("{root}/{}", service.catalog_type()), catalog_suffix })
        };
        Self::of(name, &["public", "internal", "admin"], Service::ALL.map(endpoint))
    }

    /// Each service under its own port of one host, the ports that real clouds use.
    #[must_use]
    pub fn by_port(name: &str, scheme_and_host: &str) -> Self {
        let endpoint = |service: Service| {
            let base = format!("{scheme_and_host}:{}", default_port(service));
            (service, Endpoint { base, catalog_suffix: default_suffix(service).to_owned() })
        };
        Self::of(name, &["public", "internal", "admin"], Service::ALL.map(endpoint))
    }

    fn of<const N: usize>(name: &str, interfaces: &[&str], endpoints: [(Service, Endpoint); N]) -> Self {
        let interfaces = interfaces.iter().map(|&interface| interface.to_owned()).collect();
        Self { name: name.to_owned(), interfaces, endpoints: endpoints.into() }
    }
}

fn default_suffix(service: Service) -> &'static str {
    match service {
        Service::Compute => "/v2.1",
        Service::Identity => "/v3/",
        _ => "",
    }
}

fn default_port(service: Service) -> u16 {
    match service {
        Service::Identity => 5000,
        Service::Compute => 8774,
        Service::Network => 9696,
        Service::LoadBalancer => 9876,
        Service::KeyManager => 9311,
        Service::Image => 9292,
    }
}

/// How long the cloud takes for what it does after it has answered. All in the clock that is handed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latencies {
    /// Until a new server is ACTIVE.
    pub server_build: Duration,
    /// Until a server has stopped, started, been shelved or unshelved.
    pub server_action: Duration,
    /// Until a deleted server is gone.
    pub server_delete: Duration,
    /// Until a floating IP shows its new status.
    pub floating_ip: Duration,
    /// Until a new amphora load balancer is ACTIVE: its virtual machine boots.
    pub amphora_create: Duration,
    /// Until a change to an amphora load balancer is done.
    pub amphora_change: Duration,
    /// Until an amphora load balancer is gone.
    pub amphora_delete: Duration,
    /// Until a new OVN load balancer is ACTIVE.
    pub ovn_create: Duration,
    /// Until a change to an OVN load balancer is done.
    pub ovn_change: Duration,
    /// Until an OVN load balancer is gone.
    pub ovn_delete: Duration,
    /// How much later than its load balancer a child of an OVN load balancer leaves PENDING: OVN reports object by
    /// object.
    pub ovn_child_lag: Duration,
}

impl Default for Latencies {
    fn default() -> Self {
        Self {
            server_build: Duration::from_secs(5),
            server_action: Duration::from_secs(1),
            server_delete: Duration::from_secs(2),
            floating_ip: Duration::from_secs(1),
            amphora_create: Duration::from_secs(60),
            amphora_change: Duration::from_secs(2),
            amphora_delete: Duration::from_secs(4),
            ovn_create: Duration::from_secs(1),
            ovn_change: Duration::from_secs(1),
            ovn_delete: Duration::from_secs(1),
            ovn_child_lag: Duration::from_millis(200),
        }
    }
}

impl Latencies {
    /// Everything is done at once: the very next request sees it.
    #[must_use]
    pub fn none() -> Self {
        let zero = Duration::ZERO;
        Self {
            server_build: zero,
            server_action: zero,
            server_delete: zero,
            floating_ip: zero,
            amphora_create: zero,
            amphora_change: zero,
            amphora_delete: zero,
            ovn_create: zero,
            ovn_change: zero,
            ovn_delete: zero,
            ovn_child_lag: zero,
        }
    }
}

/// Everything that is chosen before a cloud starts.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where identifiers, tokens and chance come from: the same seed gives the same cloud.
    pub seed: u64,
    /// The regions of the catalog. The first one's addresses are used in links.
    pub regions: Vec<Region>,
    /// How long things take.
    pub latencies: Latencies,
    /// How long a token is valid.
    pub token_lifetime: Duration,
    /// The most servers Nova gives in one answer.
    pub compute_page_max: usize,
    /// The most objects Neutron gives in one answer; none: no limit.
    pub network_page_max: Option<usize>,
    /// The most objects Octavia gives in one answer; none: no limit.
    pub load_balancer_page_max: Option<usize>,
    /// The newest minor version of Octavia's v2 API; features that are newer are unknown to it.
    pub load_balancer_minor_version: u32,
    /// The provider of load balancers that name none.
    pub default_load_balancer_provider: String,
    /// Aliases of Neutron extensions that this cloud lacks, such as `extraroute-atomic`.
    pub missing_network_extensions: Vec<String>,
    /// The availability zones of Nova.
    pub zones: Vec<String>,
}

impl Config {
    /// A cloud whose services are all under `root`, such as `http://127.0.0.1:8080`.
    #[must_use]
    pub fn at(root: &str) -> Self {
        Self { regions: vec![Region::by_path("RegionOne", root)], ..Self::default() }
    }

    /// The root address of a service in the first region.
    #[must_use]
    pub fn base(&self, service: Service) -> &str {
        self.regions
            .first()
            .and_then(|region| region.endpoints.get(&service))
            .map_or("", |endpoint| endpoint.base.as_str())
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            seed: 1,
            regions: vec![Region::by_path("RegionOne", "http://openstack.sim")],
            latencies: Latencies::default(),
            token_lifetime: Duration::from_secs(3600),
            compute_page_max: 1000,
            network_page_max: None,
            load_balancer_page_max: None,
            load_balancer_minor_version: 30,
            default_load_balancer_provider: "amphora".to_owned(),
            missing_network_extensions: Vec::new(),
            zones: vec!["az1".to_owned(), "az2".to_owned()],
        }
    }
}
