//! A simulated project, the Services of a cluster in it, and a small controller that brings them where they want to be.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bowline_cloud::{
    About, AddressKind, CloudError, Doubt, ErrorClass, EventKind, EventSink, Ingress, IpFamily,
    LoadBalancerRequest, LoadBalancerStatus, LoadBalancers, NodeAddress, NodeSet, NodeView,
    ObservedLoadBalancer, Plan, Protocol, Purpose, Refusal, ServiceDirectory, ServiceLookup, ServicePort,
    ServiceType, ServiceView, Text, Unfenced,
};
use jiff::Timestamp;
use openstack_client::network::{FloatingIpCreate, NewFixedIp, PortCreate};
use openstack_client::{Client, NetworkId};
use parking_lot::Mutex;
use sim_openstack::network::FloatingIp;
use sim_openstack::{Config, LogEntry, Service};

use crate::config::CloudConf;
use crate::instances::simulation::Simulation;
use crate::inventory::{AGE_LIMIT, Inventory};
use crate::loadbalancer::annotations::LOAD_BALANCER_ID;
use crate::loadbalancer::found::Found;
use crate::loadbalancer::step::CloudStep;
use crate::loadbalancer::wanted::Wanted;
use crate::loadbalancer::{Balancers, Observation, Observed};

/// What became of a Service.
#[derive(Debug)]
pub(super) enum End {
    Settled(LoadBalancerStatus),
    Refused(Refusal),
    Unknown(Doubt),
}

impl End {
    pub(super) fn settled(self) -> LoadBalancerStatus {
        match self {
            Self::Settled(status) => status,
            Self::Refused(refusal) => panic!("refused: {refusal}"),
            Self::Unknown(doubt) => panic!("unknown: {doubt}"),
        }
    }

    /// Why it was refused.
    pub(super) fn refused(self) -> String {
        match self {
            Self::Refused(refusal) => refusal.to_string(),
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn unknown(self) -> Doubt {
        match self {
            Self::Unknown(doubt) => doubt,
            other => panic!("{other:?}"),
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Events(Mutex<Vec<(String, String)>>);

impl Events {
    /// The message of the only event with this reason.
    pub(super) fn text(&self, reason: &str) -> String {
        let events = self.0.lock();
        let mut texts =
            events.iter().filter(|(known, _)| known == reason).map(|(_, message)| message.clone());
        let text = texts.next().unwrap();
        assert_eq!(texts.next(), None, "{reason} was told more than once");
        text
    }
}

impl EventSink for Events {
    fn emit(&self, _about: About<'_>, _kind: EventKind, reason: &str, message: &str) {
        self.0.lock().push((reason.to_owned(), message.to_owned()));
    }
}

/// Whether a Service wants a load balancer, and the Service as it was last seen.
type Known = (bool, Arc<ServiceView>);

/// The Services that exist, by namespace and name.
#[derive(Debug, Default)]
struct Existing(Mutex<BTreeMap<(String, String), Known>>);

impl ServiceLookup for Existing {
    fn has(&self, namespace: &str, name: &str) -> bool {
        self.0.lock().contains_key(&(namespace.to_owned(), name.to_owned()))
    }

    fn wants_load_balancer(&self, namespace: &str, name: &str) -> bool {
        let services = self.0.lock();
        services.get(&(namespace.to_owned(), name.to_owned())).is_some_and(|(wants, _service)| *wants)
    }

    fn find(&self, fits: &dyn Fn(&ServiceView) -> bool) -> Option<Arc<ServiceView>> {
        let services = self.0.lock();
        services
            .values()
            .find(|(wants, service)| *wants && fits(service))
            .map(|(_wants, service)| service.clone())
    }
}

pub(super) struct Stage {
    pub(super) simulation: Simulation,
    pub(super) conf: CloudConf,
    pub(super) balancers: Balancers,
    pub(super) events: Arc<Events>,
    pub(super) nodes: NodeSet,
    /// `--cluster-name`.
    pub(super) cluster: &'static str,
    /// The UID of the cluster; counts after a restart.
    pub(super) cluster_uid: &'static str,
    /// What the framework keeps for the next leader.
    fingerprints: Mutex<BTreeMap<Text, Text>>,
    services: Arc<Existing>,
    /// Calls that polls made.
    pub(super) polls: u64,
}

impl Stage {
    /// A cloud with three Nodes, whose configuration names subnet and external network.
    pub(super) fn new() -> Self {
        Self::with(Config::default(), |_conf| {})
    }

    pub(super) fn with(config: Config, change: impl FnOnce(&mut CloudConf)) -> Self {
        Self::of_size(3, config, change)
    }

    /// One that gives each Service a security group.
    pub(super) fn with_groups() -> Self {
        Self::with(Config::default(), |conf| conf.load_balancer.manage_security_groups = true)
    }

    /// A cloud in which this Service has its load balancer.
    pub(super) async fn serving(mut service: Arc<ServiceView>) -> (Self, Arc<ServiceView>) {
        let mut stage = Self::new();
        stage.ensure(&mut service).await;
        (stage, service)
    }

    pub(super) fn of_size(servers: usize, config: Config, change: impl FnOnce(&mut CloudConf)) -> Self {
        let simulation = Simulation::new(config, servers);
        let mut conf = CloudConf::default();
        conf.load_balancer.subnet_id = simulation.estate.subnet.clone();
        conf.load_balancer.floating_network_id = simulation.estate.external_network.clone();
        change(&mut conf);
        let events = Arc::new(Events::default());
        let cluster_uid = "cluster-1";
        let balancers = balancers(simulation.client.clone(), &conf, &events, cluster_uid);
        let mut stage = Self {
            simulation,
            conf,
            balancers,
            events,
            nodes: NodeSet::default(),
            cluster: "kubernetes",
            cluster_uid,
            fingerprints: Mutex::default(),
            services: Arc::default(),
            polls: 0,
        };
        stage.nodes = NodeSet { epoch: 1, nodes: Arc::new(stage.node_views(servers)), ..NodeSet::default() };
        stage
    }

    fn node_views(&self, count: usize) -> BTreeMap<Text, Arc<NodeView>> {
        let view = |index: usize| {
            let id = &self.simulation.estate.servers[index];
            let address = self.simulation.port(id).unwrap().fixed_ips[0].ip_address.clone();
            let node = NodeView {
                addresses: vec![NodeAddress::new(AddressKind::InternalIP, address)],
                ..self.simulation.of(index)
            };
            (node.name.clone(), Arc::new(node))
        };
        (0..count).map(view).collect()
    }

    /// With this change to the Nodes.
    pub(super) fn change_nodes(&mut self, change: impl FnOnce(&mut BTreeMap<Text, Arc<NodeView>>)) {
        let mut nodes = (*self.nodes.nodes).clone();
        change(&mut nodes);
        self.nodes = NodeSet { epoch: self.nodes.epoch + 1, nodes: Arc::new(nodes), ..self.nodes.clone() };
    }

    /// Another process takes over: it knows nothing.
    pub(super) fn restart(&mut self) {
        self.restart_as("sim");
    }

    /// The same, with the account of this name in the simulator's clouds.yaml.
    pub(super) fn restart_as(&mut self, account: &str) {
        self.balancers = self.new_process(account);
    }

    /// The same in a cluster with another UID.
    pub(super) fn restart_with_uid(&mut self, cluster_uid: &'static str) {
        self.cluster_uid = cluster_uid;
        self.restart();
    }

    /// The same with another `--cluster-name`.
    pub(super) fn restart_with_name(&mut self, cluster: &'static str) {
        self.cluster = cluster;
        self.restart();
    }

    /// The same, where load balancers are compared with their Services so often.
    pub(super) fn restart_comparing_every(&mut self, period: Duration) {
        self.balancers = self.new_process("sim").compared_every(Some(period));
    }

    /// The configuration is another one: the process goes on.
    pub(super) fn reconfigure(&mut self, change: impl FnOnce(&mut CloudConf)) {
        change(&mut self.conf);
        self.balancers = self.new_process("sim").knowing(&self.balancers.lore());
    }

    /// Another process takes over, and the one before is not dead yet.
    pub(super) fn taken_over(&mut self) -> Balancers {
        let next = self.new_process("sim");
        std::mem::replace(&mut self.balancers, next)
    }

    fn new_process(&self, account: &str) -> Balancers {
        let client = self.simulation.cloud.client(account).unwrap();
        balancers(client, &self.conf, &self.events, self.cluster_uid)
    }

    pub(super) fn told(&self) -> Vec<String> {
        self.events.0.lock().iter().map(|(reason, _message)| reason.clone()).collect()
    }

    /// The Services of the cluster: those for which a load balancer was last asked for, and not its removal.
    fn directory(&self, service: &Arc<ServiceView>, purpose: Purpose) -> ServiceDirectory {
        let key = (service.namespace.to_string(), service.name.to_string());
        let mut services = self.services.0.lock();
        match purpose {
            Purpose::Ensure => services.insert(key, (true, Arc::clone(service))),
            Purpose::Remove => services.remove(&key),
        };
        ServiceDirectory::new(self.services.clone())
    }

    /// A Service that has left its load balancer still exists: its deletion is not over, or it is of another type now.
    pub(super) fn still_exists(&self, service: &ServiceView) {
        let key = (service.namespace.to_string(), service.name.to_string());
        self.services.0.lock().insert(key, (false, Arc::new(service.clone())));
    }

    pub(super) fn request(&self, service: &Arc<ServiceView>, purpose: Purpose) -> LoadBalancerRequest {
        LoadBalancerRequest {
            cluster: self.cluster.into(),
            service: Arc::clone(service),
            nodes: self.nodes.clone(),
            purpose,
            fingerprints: self.fingerprints.lock().get(&service.uid).cloned().into_iter().collect(),
            urgency: bowline_cloud::Urgency::User,
            services: self.directory(service, purpose),
        }
    }

    /// What was kept for the next leader is lost: it has to read all.
    pub(super) fn forget_fingerprints(&self) {
        self.fingerprints.lock().clear();
    }

    pub(super) async fn look(&self, service: &Arc<ServiceView>, purpose: Purpose) -> Result<Observed, Doubt> {
        let request = self.request(service, purpose);
        LoadBalancers::observe(&self.balancers, &[request]).await.pop().unwrap()
    }

    pub(super) async fn observed(&self, service: &Arc<ServiceView>) -> (Wanted, Found) {
        match self.look(service, Purpose::Ensure).await.unwrap().observation {
            Observation::Ensure { wanted, found } => (*wanted, *found),
            other => panic!("{other:?}"),
        }
    }

    pub(super) async fn observed_refusal(&self, service: &Arc<ServiceView>) -> String {
        match self.look(service, Purpose::Ensure).await.unwrap().observation {
            Observation::Refused(refusal) => refusal.to_string(),
            other => panic!("{other:?}"),
        }
    }

    pub(super) async fn first_step(&self, service: &Arc<ServiceView>, purpose: Purpose) -> CloudStep {
        match self.look(service, purpose).await.unwrap().plan(Timestamp::UNIX_EPOCH) {
            Plan::Act(mut steps) => steps.remove(0).step,
            other => panic!("{other:?}"),
        }
    }

    /// Performs the first of the steps that are planned for a Service.
    pub(super) async fn perform_first(
        &self,
        service: &Arc<ServiceView>,
        purpose: Purpose,
    ) -> Result<(), CloudError> {
        let step = self.first_step(service, purpose).await;
        LoadBalancers::execute(&self.balancers, &step, &Unfenced).await
    }

    /// Gives a Service its load balancer.
    pub(super) async fn ensure(&mut self, service: &mut Arc<ServiceView>) -> LoadBalancerStatus {
        self.drive(service, Purpose::Ensure).await.settled()
    }

    /// Why a Service gets no load balancer, or not the changes that it asks for.
    pub(super) async fn refusal(&mut self, service: &mut Arc<ServiceView>) -> String {
        self.drive(service, Purpose::Ensure).await.refused()
    }

    /// Takes its load balancer from a Service.
    pub(super) async fn remove(&mut self, service: &mut Arc<ServiceView>) {
        self.drive(service, Purpose::Remove).await.settled();
    }

    pub(super) async fn settle_all(&mut self, services: &mut [Arc<ServiceView>], purpose: Purpose) {
        for end in self.drive_all(services, purpose).await {
            end.settled();
        }
    }

    /// Brings a Service to its end.
    pub(super) async fn drive(&mut self, service: &mut Arc<ServiceView>, purpose: Purpose) -> End {
        self.drive_all(std::slice::from_mut(service), purpose).await.pop().unwrap()
    }

    /// Brings Services to their end, all at once: what is noted is written, and who waits is woken by the poll.
    pub(super) async fn drive_all(
        &mut self,
        services: &mut [Arc<ServiceView>],
        purpose: Purpose,
    ) -> Vec<End> {
        let mut ends: Vec<Option<End>> = services.iter().map(|_service| None).collect();
        let mut open: Vec<usize> = (0..services.len()).collect();
        let mut waiting: Vec<usize> = Vec::new();
        for _round in 0..500 {
            let batches: Vec<Vec<usize>> = open.chunks(256).map(<[usize]>::to_vec).collect();
            open.clear();
            for batch in batches {
                let requests: Vec<_> =
                    batch.iter().map(|place| self.request(&services[*place], purpose)).collect();
                let observed = LoadBalancers::observe(&self.balancers, &requests).await;
                for ((place, request), observed) in batch.iter().zip(&requests).zip(observed) {
                    match self.conclude(&mut services[*place], request, observed, true).await {
                        Some(Some(end)) => ends[*place] = Some(end),
                        Some(None) => open.push(*place),
                        None => waiting.push(*place),
                    }
                }
            }
            if open.is_empty() && waiting.is_empty() {
                return ends.into_iter().map(Option::unwrap).collect();
            }
            if open.is_empty() {
                tokio::time::sleep(self.balancers.policy().poll_period()).await;
                let requests: Vec<_> =
                    waiting.iter().map(|place| self.request(&services[*place], purpose)).collect();
                let before = self.simulation.calls();
                let ready = LoadBalancers::poll(&self.balancers, &requests).await.unwrap();
                self.polls += self.simulation.calls() - before;
                (open, waiting) =
                    waiting.into_iter().partition(|place| ready.contains(&services[*place].key()));
            }
        }
        panic!("no end after 500 rounds");
    }

    /// Looks once and performs one step at most. The end, or none; nothing at all if it waits.
    pub(super) async fn one_round(
        &self,
        service: &mut Arc<ServiceView>,
        purpose: Purpose,
    ) -> Option<Option<End>> {
        let request = self.request(service, purpose);
        let observed = LoadBalancers::observe(&self.balancers, std::slice::from_ref(&request)).await.pop();
        self.conclude(service, &request, observed.unwrap(), false).await
    }

    /// The end, or none; nothing at all if it waits. `further`: with the steps that need no look in between.
    async fn conclude(
        &self,
        service: &mut Arc<ServiceView>,
        request: &LoadBalancerRequest,
        observed: Result<Observed, Doubt>,
        further: bool,
    ) -> Option<Option<End>> {
        let observed = match observed {
            Ok(observed) => observed,
            Err(doubt) => return Some(Some(End::Unknown(doubt))),
        };
        let notes = observed.annotations();
        if !notes.stand_in(&service.annotations) {
            let annotations = notes.written_on(&service.annotations);
            Arc::make_mut(service).annotations = annotations;
        }
        match observed.plan(Timestamp::UNIX_EPOCH) {
            Plan::Settled(status) => {
                if let Some(word) = observed.fingerprint() {
                    self.fingerprints.lock().insert(service.uid.clone(), word);
                }
                Arc::make_mut(service).status = status.clone();
                self.directory(service, request.purpose);
                Some(Some(End::Settled(status)))
            }
            Plan::Act(steps) => {
                let rest = steps.iter().skip(1).take_while(|planned| further && planned.at_once);
                for planned in steps.iter().take(1).chain(rest) {
                    match LoadBalancers::execute(&self.balancers, &planned.step, &Unfenced).await {
                        // Somebody was faster, or may have been: it is looked at again.
                        Err(error) if error.class() == ErrorClass::Conflict => {
                            tokio::time::sleep(error.asked_to_wait().unwrap_or_default()).await;
                            break;
                        }
                        result => result.unwrap(),
                    }
                }
                Some(None)
            }
            Plan::Wait(_) => None,
            Plan::Refuse(refusal) => Some(Some(End::Refused(refusal))),
            Plan::Elsewhere => panic!("nobody else does it"),
        }
    }

    pub(super) fn clear(&mut self) {
        self.polls = 0;
        self.simulation.forget();
    }

    pub(super) fn mutating(&self) -> u64 {
        self.simulation.requests().1
    }

    /// Calls that changed nothing and were no poll.
    pub(super) fn reads(&self) -> u64 {
        self.simulation.calls() - self.mutating() - self.polls
    }

    pub(super) fn targets(&self, service: Service) -> Vec<String> {
        let of = |entry: &&LogEntry| entry.service == Some(service);
        self.simulation.sim.with(|cloud| {
            let entries = cloud.log().entries().filter(of);
            entries.map(|entry| format!("{} {}", entry.method, entry.target)).collect()
        })
    }

    pub(super) fn counts(&self) -> Vec<String> {
        self.simulation.counts()
    }

    /// How many load balancers there are.
    pub(super) fn balancer_count(&self) -> usize {
        self.simulation.look(|state| state.load_balancer.load_balancers.len())
    }

    /// The addresses of all floating IPs.
    pub(super) fn floating_ips(&self) -> Vec<String> {
        self.simulation.look(|state| {
            state.network.floating_ips.iter().map(|one| one.floating_ip_address.clone()).collect()
        })
    }

    /// A floating IP that a person made, with terraform for example.
    pub(super) async fn users_floating_ip(&self) -> IpAddr {
        let new = FloatingIpCreate {
            floating_network_id: self.simulation.estate.external_network.parse().unwrap(),
            subnet_id: None,
            floating_ip_address: None,
            port_id: None,
            description: "users".to_owned(),
        };
        self.simulation.client.network().create_floating_ip(&new).await.unwrap().floating_ip_address
    }

    /// A port that belongs to nothing.
    pub(super) async fn users_port(&self) -> String {
        self.port_with(Vec::new()).await
    }

    /// The same with this address.
    pub(super) async fn users_port_at(&self, address: IpAddr) -> String {
        self.port_with(vec![NewFixedIp { subnet_id: None, ip_address: Some(address) }]).await
    }

    async fn port_with(&self, fixed_ips: Vec<NewFixedIp>) -> String {
        let new = PortCreate {
            network_id: NetworkId::new(self.simulation.estate.network.as_str()).unwrap(),
            name: String::new(),
            description: String::new(),
            fixed_ips,
            security_groups: None,
        };
        self.simulation.client.network().create_port(&new).await.unwrap().id.to_string()
    }

    /// Somebody deletes the load balancer of a Service behind our back.
    pub(super) async fn lose(&self, service: &ServiceView) {
        let id = id_of(service).parse().unwrap();
        self.simulation.client.load_balancer().delete_load_balancer(&id, true).await.unwrap();
        tokio::time::sleep(Duration::from_secs(120)).await;
    }

    /// The same, and another process takes over.
    pub(super) async fn lose_and_restart(&mut self, service: &ServiceView) {
        self.lose(service).await;
        self.restart();
    }

    /// The load balancer of this name is as OCCM leaves it: without the tags of the cluster and of the Service.
    pub(super) fn untag(&self, name: &str) {
        self.edit_balancer(name, |one| one.tags.retain(|tag| !tag.starts_with("bowline-")));
    }

    /// Somebody detaches all floating IPs.
    pub(super) fn detach_floating_ips(&self) {
        self.simulation.edit(|state| {
            let all = &mut state.network.floating_ips;
            for id in all.iter().map(|one| one.id.clone()).collect::<Vec<_>>() {
                let detach = |one: &mut FloatingIp| {
                    (one.port_id, one.fixed_ip_address, one.router_id) = (None, None, None);
                };
                all.update(&id, detach).unwrap();
            }
        });
    }

    /// Octavia reports the load balancer of this name in ERROR, and this operating status of it and its pools.
    pub(super) fn fail_balancer(&self, name: &str, operating: &str) {
        self.simulation.edit(|state| {
            let ids = state.load_balancer.load_balancers.find_ids("name", name);
            sim_openstack::load_balancer::set_failed(&mut state.load_balancer, &ids[0], operating);
        });
    }

    /// Changes the load balancer of this name behind everybody's back.
    pub(super) fn edit_balancer(
        &self,
        name: &str,
        change: impl FnOnce(&mut sim_openstack::load_balancer::LoadBalancer),
    ) {
        self.simulation.edit(|state| {
            let ids = state.load_balancer.load_balancers.find_ids("name", name);
            state.load_balancer.load_balancers.update(&ids[0], change).unwrap();
        });
    }
}

fn balancers(client: Client, conf: &CloudConf, events: &Arc<Events>, cluster_uid: &str) -> Balancers {
    let inventory = Arc::new(Inventory::new(client.clone(), AGE_LIMIT));
    let events = Arc::clone(events) as Arc<dyn EventSink>;
    Balancers::new(client, Arc::new(conf.clone()), inventory, Some(cluster_uid.into()), events)
}

/// A Service with so many TCP ports.
pub(super) fn service(name: &str, ports: u16) -> Arc<ServiceView> {
    let port = |place: u16| ServicePort {
        name: Some(format!("p{place}").into()),
        protocol: Protocol::Tcp,
        port: 80 + place,
        node_port: Some(30080 + place),
        ..ServicePort::default()
    };
    Arc::new(ServiceView {
        namespace: "default".into(),
        name: name.into(),
        uid: format!("uid-of-{name}").into(),
        kind: ServiceType::LoadBalancer,
        ports: (0..ports).map(port).collect(),
        ip_families: vec![IpFamily::V4],
        ..ServiceView::default()
    })
}

/// Services with one port each: web-0, web-1 and so on.
pub(super) fn services(numbers: Range<u16>) -> Vec<Arc<ServiceView>> {
    numbers.map(|number| service(&format!("web-{number}"), 1)).collect()
}

/// The same Service with a change.
pub(super) fn edited(service: &Arc<ServiceView>, change: impl FnOnce(&mut ServiceView)) -> Arc<ServiceView> {
    let mut service = Arc::clone(service);
    change(Arc::make_mut(&mut service));
    service
}

/// The same Service with an annotation.
pub(super) fn annotated(service: &Arc<ServiceView>, key: &str, value: &str) -> Arc<ServiceView> {
    edited(service, |view| view.annotations.insert(key.to_owned(), value.to_owned()))
}

/// The same Service as if it had an address.
pub(super) fn reached(service: &Arc<ServiceView>) -> Arc<ServiceView> {
    let ingress = Ingress { ip: Some("192.0.2.9".parse().unwrap()), ..Ingress::default() };
    edited(service, |view| view.status = LoadBalancerStatus { ingress: vec![ingress] })
}

/// The load balancer that a Service names.
pub(super) fn id_of(service: &ServiceView) -> String {
    service.annotations.get(LOAD_BALANCER_ID.key).unwrap().to_owned()
}

/// The address that a Service shows.
pub(super) fn address_of(service: &ServiceView) -> IpAddr {
    service.status.ingress[0].ip.unwrap()
}
