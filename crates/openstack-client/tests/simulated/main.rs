//! The client against the simulated OpenStack, in virtual time and without sockets: what both were built from separately
//! must fit together.

#![expect(clippy::unwrap_used, reason = "what is not as it should be fails the test")]

mod logins;

use std::{net::IpAddr, ops::Deref, time::Duration};

use bowline_testkit::Wait;
use bowline_testkit::cloud::{Cloud, Options};
use http::StatusCode;
use jiff::Timestamp;
use openstack_client::{
    Client, Error, ErrorClass, FlavorId, LoadBalancerId, NetworkId, Outcome, PageLimits, PortId, ProjectId,
    RouterId, SecurityGroupId, ServerId, SubnetId, Timeouts, Transport,
    compute::{Microversion, ServerQuery},
    load_balancer::{
        Algorithm, BatchMember, HealthMonitorCreate, ListenerCreate, ListenerQuery, ListenerUpdate,
        LoadBalancerCreate, LoadBalancerQuery, LoadBalancerUpdate, MonitorType, PoolCreate, PoolQuery,
        Protocol, ProvisioningStatus,
    },
    network::{
        Direction, EtherType, FloatingIpCreate, FloatingIpQuery, FloatingIpUpdate, NetworkQuery,
        NewSecurityGroupRule, PortQuery, Route, SecurityGroupCreate, SecurityGroupQuery, SubnetQuery,
        TagFilter, Tagged,
    },
};
use sim_openstack::{Chaos, Config, Fault, Rule, Service};
use tokio::time::{Instant, sleep};

struct Simulation {
    cloud: Cloud,
    client: Client,
}

impl Deref for Simulation {
    type Target = Cloud;

    fn deref(&self) -> &Cloud {
        &self.cloud
    }
}

fn start() -> Timestamp {
    "2026-11-15T08:00:00Z".parse().unwrap()
}

impl Simulation {
    fn new(config: Config, servers: usize) -> Self {
        Self::with_pages(config, servers, PageLimits::default())
    }

    fn with_pages(config: Config, servers: usize, pages: PageLimits) -> Self {
        let cloud = Cloud::in_process(Options { servers, now: start(), config });
        let settings = cloud.settings("sim").unwrap().pages(pages);
        let client = Client::new(Transport::new(cloud.sim.clone(), Timeouts::default()), settings);
        Self { cloud, client }
    }

    fn fault(&self, rule: Rule) {
        self.disturb(|faults| faults.add(rule));
    }

    fn subnet(&self) -> SubnetId {
        SubnetId::new(&self.estate.subnet).unwrap()
    }

    /// Waits until the load balancer is at rest.
    async fn settled(&self, id: &LoadBalancerId) -> ProvisioningStatus {
        let wait = Wait::within_unscaled(Duration::from_secs(300)).every(Duration::from_secs(1));
        let status = async || Ok(self.client.load_balancer().load_balancer(id).await?.provisioning_status);
        wait.until_value("the load balancer is at rest", status, |status| !status.is_pending()).await.unwrap()
    }
}

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn whole_balancer(subnet: SubnetId) -> LoadBalancerCreate {
    let monitor = HealthMonitorCreate {
        pool_id: None,
        name: "monitor".into(),
        kind: MonitorType::Tcp,
        delay: 5,
        timeout: 3,
        max_retries: 1,
        max_retries_down: Some(3),
        url_path: None,
        http_method: None,
        expected_codes: None,
        tags: vec![],
    };
    let pool = PoolCreate {
        name: "pool".into(),
        protocol: Protocol::Tcp,
        lb_algorithm: Algorithm::RoundRobin,
        members: vec![BatchMember::new(address("10.10.0.50"), 30080)],
        healthmonitor: Some(monitor),
        ..PoolCreate::default()
    };
    let listener = ListenerCreate {
        name: "listener".into(),
        protocol: Protocol::Tcp,
        protocol_port: 80,
        default_pool: Some(pool),
        ..ListenerCreate::default()
    };
    LoadBalancerCreate {
        name: "kube_service_x".into(),
        provider: Some("amphora".into()),
        vip_subnet_id: Some(subnet),
        tags: vec!["kube_service_x".into()],
        listeners: vec![listener],
        ..LoadBalancerCreate::default()
    }
}

#[tokio::test(start_paused = true)]
async fn servers_flavors_and_interfaces_are_found() {
    let simulation = Simulation::new(Config::default(), 3);
    let client = &simulation.client;
    let identity = client.identity().await.unwrap();
    assert_eq!(identity.project_id.unwrap().as_str(), simulation.estate.project);
    let compute = client.compute();
    let servers = compute.servers(&ServerQuery::default()).all().await.unwrap();
    let mut names: Vec<&str> = servers.iter().map(|server| server.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["node-1", "node-2", "node-3"]);
    let named = compute.servers(&ServerQuery::by_name("node-2")).all().await.unwrap();
    let [server] = named.as_slice() else { panic!("{named:?}") };
    let again = compute.server(&server.id).await.unwrap();
    assert_eq!(again, *server);
    let flavor = compute.flavor(server.flavor.id.as_ref().unwrap()).await.unwrap();
    assert_eq!(flavor.name, "m1.tiny");
    let newer = compute.at(Microversion::FLAVOR_IN_SERVER).server(&server.id).await.unwrap();
    assert_eq!(newer.flavor.original_name.as_deref(), Some("m1.tiny"));
    assert!(compute.microversions().await.unwrap().unwrap().1 > Microversion::FLAVOR_IN_SERVER);
    let interfaces = compute.interfaces(&server.id).await.unwrap();
    let ports = client.network().ports(&PortQuery::of_device(server.id.as_str())).all().await.unwrap();
    assert_eq!(interfaces.first().unwrap().port_id, ports.first().unwrap().id);
    assert_eq!(compute.availability_zones().await.unwrap().len(), 2);
    let none =
        compute.server(&ServerId::new("00000000-0000-0000-0000-000000000000").unwrap()).await.unwrap_err();
    assert!(none.is_not_found(), "{none}");
    assert!(compute.flavor(&FlavorId::new("none").unwrap()).await.unwrap_err().is_not_found());
}

#[tokio::test(start_paused = true)]
async fn a_load_balancer_lives_from_one_call_to_its_end() {
    let simulation = Simulation::new(Config::default(), 3);
    let octavia = simulation.client.load_balancer();
    let made = octavia.create_load_balancer(&whole_balancer(simulation.subnet())).await.unwrap();
    assert_eq!(made.provisioning_status, ProvisioningStatus::PendingCreate);
    let rename = LoadBalancerUpdate { name: Some("other".into()), ..LoadBalancerUpdate::default() };
    let busy = octavia.update_load_balancer(&made.id, &rename).await.unwrap_err();
    assert_eq!((busy.class(), busy.outcome()), (ErrorClass::Busy, Outcome::Refused), "{busy}");
    let busy = octavia.delete_load_balancer(&made.id, true).await.unwrap_err();
    assert_eq!(busy.class(), ErrorClass::Busy, "{busy}");
    assert_eq!(simulation.settled(&made.id).await, ProvisioningStatus::Active);

    let found = octavia.load_balancers(&LoadBalancerQuery::by_name("kube_service_x")).all().await.unwrap();
    assert_eq!(found.first().unwrap().id, made.id);
    let query = LoadBalancerQuery { tags: TagFilter::with("kube_service_x"), ..LoadBalancerQuery::default() };
    assert_eq!(octavia.load_balancers(&query).all().await.unwrap().len(), 1);
    let listeners = octavia.listeners(&ListenerQuery::of(made.id.clone())).all().await.unwrap();
    let pools = octavia.pools(&PoolQuery::of(made.id.clone())).all().await.unwrap();
    let (listener, pool) = (listeners.first().unwrap(), pools.first().unwrap());
    assert_eq!(listener.default_pool_id.as_ref(), Some(&pool.id));
    octavia.health_monitor(pool.healthmonitor_id.as_ref().unwrap()).await.unwrap();
    let tree = octavia.status_tree(&made.id).await.unwrap();
    assert_eq!(tree.listeners.first().unwrap().pools.first().unwrap().members.len(), 1);

    let new =
        [BatchMember::new(address("10.10.0.51"), 30080), BatchMember::new(address("10.10.0.52"), 30080)];
    let new = move || new.to_vec();
    octavia.batch_members(&pool.id, new.clone(), true).await.unwrap();
    let busy = octavia.batch_members(&pool.id, new.clone(), false).await.unwrap_err();
    assert_eq!(busy.class(), ErrorClass::Busy, "{busy}");
    simulation.settled(&made.id).await;
    assert_eq!(octavia.members(&pool.id).all().await.unwrap().len(), 3);
    octavia.batch_members(&pool.id, new, false).await.unwrap();
    simulation.settled(&made.id).await;
    assert_eq!(octavia.members(&pool.id).all().await.unwrap().len(), 2);
    let update = ListenerUpdate { timeout_client_data: Some(1000), ..ListenerUpdate::default() };
    octavia.update_listener(&listener.id, &update).await.unwrap();
    simulation.settled(&made.id).await;
    let clash = ListenerCreate {
        loadbalancer_id: Some(made.id.clone()),
        name: "second".into(),
        protocol: Protocol::Tcp,
        protocol_port: 80,
        ..ListenerCreate::default()
    };
    assert_eq!(octavia.create_listener(&clash).await.unwrap_err().class(), ErrorClass::Conflict);

    octavia.delete_load_balancer(&made.id, true).await.unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    let gone = loop {
        match octavia.load_balancer(&made.id).await {
            Ok(found) => assert_eq!(found.provisioning_status, ProvisioningStatus::PendingDelete),
            Err(error) => break error,
        }
        assert!(Instant::now() < deadline);
        sleep(Duration::from_secs(1)).await;
    };
    assert!(gone.is_not_found(), "{gone}");
    assert!(octavia.delete_load_balancer(&made.id, true).await.unwrap_err().is_not_found());
}

#[tokio::test(start_paused = true)]
async fn what_the_cloud_offers_is_read() {
    let simulation = Simulation::new(Config::default(), 1);
    let octavia = simulation.client.load_balancer();
    let versions = octavia.api_versions().await.unwrap();
    assert_eq!(versions.iter().filter_map(openstack_client::identity::Version::number).max(), Some((2, 30)));
    let providers = octavia.providers().await.unwrap();
    assert!(providers.iter().any(|provider| provider.name == "ovn"), "{providers:?}");
    octavia.flavors(None).all().await.unwrap();
    octavia.availability_zones().all().await.unwrap();
    let project = ProjectId::new(&simulation.estate.project).unwrap();
    octavia.quota(&project).await.unwrap();
    simulation.client.network().quota(&project).await.unwrap();
    let extensions = simulation.client.network().extensions().await.unwrap();
    assert!(extensions.iter().any(|extension| extension.alias == "extraroute-atomic"));
    let mut wrong = whole_balancer(simulation.subnet());
    wrong.provider = Some("nosuch".into());
    assert_eq!(octavia.create_load_balancer(&wrong).await.unwrap_err().class(), ErrorClass::Invalid);
    wrong.provider = Some("ovn".into());
    let unsupported = octavia.create_load_balancer(&wrong).await.unwrap_err();
    assert_eq!(unsupported.class(), ErrorClass::Unsupported, "{unsupported}");
}

#[tokio::test(start_paused = true)]
async fn a_floating_ip_is_made_attached_detached_and_deleted() {
    let simulation = Simulation::new(Config::default(), 1);
    let network = simulation.client.network();
    let external =
        network.networks(&NetworkQuery { external: Some(true), ..Default::default() }).all().await.unwrap();
    assert_eq!(external.first().unwrap().id.as_str(), simulation.estate.external_network);
    let server = simulation.estate.servers.first().unwrap();
    let ports = network.ports(&PortQuery::of_device(server)).all().await.unwrap();
    let port = ports.first().unwrap();
    let create = FloatingIpCreate {
        floating_network_id: external.first().unwrap().id.clone(),
        subnet_id: None,
        floating_ip_address: None,
        port_id: Some(port.id.clone()),
        description: "for a Service".into(),
    };
    let made = network.create_floating_ip(&create).await.unwrap();
    let found = network.floating_ips(&FloatingIpQuery::of_port(port.id.clone())).all().await.unwrap();
    assert_eq!(found.first().unwrap().floating_ip_address, made.floating_ip_address);
    let taken = network.create_floating_ip(&create).await.unwrap_err();
    assert_eq!(taken.class(), ErrorClass::Conflict, "{taken}");
    let detached = network.update_floating_ip(&made.id, &FloatingIpUpdate::default(), None).await.unwrap();
    assert_eq!(detached.port_id, None);
    network.delete_floating_ip(&made.id).await.unwrap();
    assert!(network.floating_ip(&made.id).await.unwrap_err().is_not_found());
}

#[tokio::test(start_paused = true)]
async fn routes_tags_and_security_groups_are_changed() {
    let simulation = Simulation::new(Config::default(), 1);
    let network = simulation.client.network();
    let router = RouterId::new(&simulation.estate.router).unwrap();
    let server = simulation.estate.servers.first().unwrap();
    let port = network.ports(&PortQuery::of_device(server)).all().await.unwrap().remove(0);
    let nexthop = port.fixed_ips.first().unwrap().ip_address.to_string();
    let route = Route { destination: "10.244.0.0/24".into(), nexthop };
    let before = network.router(&router).await.unwrap();
    network.add_routes(&router, std::slice::from_ref(&route)).await.unwrap();
    let stale = network.replace_routes(&router, &[], before.revision_number).await.unwrap_err();
    assert_eq!((stale.class(), stale.status()), (ErrorClass::Conflict, Some(412)), "{stale}");
    assert_eq!(network.remove_routes(&router, &[route]).await.unwrap().routes, Some(vec![]));

    network.replace_tags(Tagged::Port(&port.id), &["a".into(), "b".into()]).await.unwrap();
    network.add_tag(Tagged::Port(&port.id), "c d").await.unwrap();
    network.remove_tag(Tagged::Port(&port.id), "a").await.unwrap();
    assert_eq!(network.tags(Tagged::Port(&port.id)).await.unwrap(), ["b", "c d"]);
    let query = PortQuery { tags: TagFilter::with("b"), ..PortQuery::default() };
    assert_eq!(network.ports(&query).all().await.unwrap().first().unwrap().id, port.id);

    let create = SecurityGroupCreate { name: "lb-sg-x".into(), description: String::new() };
    let group = network.create_security_group(&create).await.unwrap();
    let rule = |port: u16| NewSecurityGroupRule {
        security_group_id: group.id.clone(),
        direction: Direction::Ingress,
        ethertype: EtherType::Ipv4,
        protocol: Some("tcp".into()),
        port_range_min: Some(port),
        port_range_max: Some(port),
        remote_ip_prefix: Some("10.10.0.0/16".into()),
        remote_group_id: None,
        description: String::new(),
    };
    assert_eq!(network.create_security_group_rules(&[rule(31000), rule(31001)]).await.unwrap().len(), 2);
    let there = network.create_security_group_rule(&rule(31000)).await.unwrap_err();
    assert_eq!((there.class(), there.fault()), (ErrorClass::Conflict, Some("SecurityGroupRuleExists")));
    let found = network.security_groups(&SecurityGroupQuery::by_name("lb-sg-x")).all().await.unwrap();
    assert_eq!(found.first().unwrap().id, group.id);
    network.delete_security_group(&group.id).await.unwrap();
    let used = SecurityGroupId::new(&simulation.estate.security_group).unwrap();
    assert_eq!(network.delete_security_group(&used).await.unwrap_err().class(), ErrorClass::Conflict);
    let query = SubnetQuery {
        network_id: Some(NetworkId::new(&simulation.estate.network).unwrap()),
        ..Default::default()
    };
    assert_eq!(network.subnets(&query).all().await.unwrap().first().unwrap().id, simulation.subnet());
    let none = PortId::new("00000000-0000-0000-0000-000000000000").unwrap();
    assert!(network.port(&none).await.unwrap_err().is_not_found());
}

#[tokio::test(start_paused = true)]
async fn calls_go_on_for_hours_with_tokens_that_live_for_minutes() {
    let config = Config { token_lifetime: Duration::from_secs(120), ..Config::default() };
    let simulation = Simulation::new(config, 1);
    let id = ServerId::new(simulation.estate.servers.first().unwrap()).unwrap();
    for _ in 0..720 {
        simulation.client.compute().server(&id).await.unwrap();
        sleep(Duration::from_secs(10)).await;
    }
    for _ in 0..3 {
        simulation.fault(Rule::new(Fault::ExpireTokens).on(Service::Compute).times(1));
        simulation.client.compute().server(&id).await.expect("revoked tokens are replaced");
        // A new one that is refused at once is not replaced: the service may be what is wrong.
        sleep(Duration::from_secs(31)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn each_injected_fault_has_its_class_and_its_outcome() {
    let simulation = Simulation::new(Config::default(), 1);
    let id = ServerId::new(simulation.estate.servers.first().unwrap()).unwrap();
    let ask = || async { simulation.client.compute().server(&id).await.map(drop) };
    ask().await.unwrap();
    use ErrorClass::{Conflict, Forbidden, Throttled, Transient};
    for (fault, class, outcome) in [
        (Fault::status(StatusCode::INTERNAL_SERVER_ERROR), Transient, Outcome::Unknown),
        (Fault::html(StatusCode::BAD_GATEWAY), Transient, Outcome::Unknown),
        (Fault::html(StatusCode::NOT_FOUND), Transient, Outcome::Unknown),
        (Fault::html(StatusCode::FORBIDDEN), Transient, Outcome::Unknown),
        (Fault::forbidden(), Forbidden, Outcome::Refused),
        (Fault::conflict(), Conflict, Outcome::Refused),
        (Fault::too_many_requests(7), Throttled, Outcome::Refused),
        (Fault::over_limit(7), Throttled, Outcome::Refused),
        (Fault::SilenceBefore, Transient, Outcome::Unknown),
        (Fault::DisconnectAfter, Transient, Outcome::Unknown),
        (Fault::Slow(Duration::from_secs(90)), Transient, Outcome::Unknown),
        (Fault::CutBody { bytes: 100 }, Transient, Outcome::Unknown),
    ] {
        simulation.fault(Rule::new(fault.clone()).on(Service::Compute).times(1));
        let error = ask().await.expect_err(&format!("{fault:?}"));
        assert_eq!((error.class(), error.outcome()), (class, outcome), "{fault:?}: {error}");
        assert!(!error.is_not_found());
        ask().await.unwrap();
    }
    simulation.fault(Rule::new(Fault::unauthorized()).on(Service::Compute).times(1));
    ask().await.expect("one refused token is replaced");
}

#[tokio::test(start_paused = true)]
async fn every_list_is_whole_or_an_error_whatever_goes_wrong() {
    let pages = PageLimits { page_size: 7, ..PageLimits::default() };
    for seed in 0..8 {
        let simulation = Simulation::with_pages(Config { seed, ..Config::default() }, 50, pages);
        // Lists that lie about their end cannot be told from whole ones; that is for the provider to doubt.
        let chaos = Chaos { truncated_lists: 0.0, stale_reads: 0.0, ..Chaos::even(0.03) };
        simulation.sim.with(|cloud| cloud.faults().add_chaos(&chaos));
        let mut whole = 0;
        for _ in 0..20 {
            sleep(Duration::from_secs(40)).await;
            let servers = simulation.client.compute().servers(&ServerQuery::default()).all().await;
            let ports = simulation.client.network().ports(&PortQuery::default()).all().await;
            let (servers, ports): (Result<_, Error>, Result<_, Error>) =
                (servers.map(|l| l.len()), ports.map(|l| l.len()));
            whole += usize::from(servers.is_ok()) + usize::from(ports.is_ok());
            assert!(servers.is_err() || servers.is_ok_and(|count| count == 50));
            assert!(ports.is_err() || ports.is_ok_and(|count| count >= 50));
        }
        assert!(whole > 0, "seed {seed}: nothing ever worked");
    }
}

#[tokio::test(start_paused = true)]
async fn three_thousand_servers_come_in_pages() {
    let simulation =
        Simulation::with_pages(Config::default(), 3000, PageLimits { page_size: 1000, ..Default::default() });
    let mut pages = simulation.client.compute().servers(&ServerQuery::default());
    let (mut count, mut largest) = (0, 0);
    while let Some(page) = pages.next_page().await.unwrap() {
        count += page.len();
        largest = largest.max(page.len());
    }
    assert_eq!((count, largest), (3000, 1000));
}
