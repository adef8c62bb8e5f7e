//! A simulated project, the Services of a cluster in it, and a small controller that brings them where they want to be.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bowline_cloud::{
    About, AddressKind, Doubt, ErrorClass, EventKind, EventSink, Evidence, Ingress, IpFamily,
    LoadBalancerRequest, LoadBalancerStatus, LoadBalancers, NodeAddress, NodeSet, NodeView, Plan, Protocol,
    Purpose, Refusal, ServiceDirectory, ServiceLookup, ServicePort, ServiceType, ServiceView, Text, Unfenced,
};
use jiff::Timestamp;
use openstack_client::Client;
use sim_openstack::{Config, LogEntry, Service};

use crate::config::CloudConf;
use crate::instances::simulation::Simulation;
use crate::inventory::{AGE_LIMIT, Inventory};
use crate::loadbalancer::found::Found;
use crate::loadbalancer::step::CloudStep;
use crate::loadbalancer::wanted::Wanted;
use crate::loadbalancer::{Balancers, Observed};

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
        let events = self.0.lock().unwrap();
        let mut texts =
            events.iter().filter(|(known, _)| known == reason).map(|(_, message)| message.clone());
        let text = texts.next().unwrap();
        assert_eq!(texts.next(), None, "{reason} was told more than once");
        text
    }
}

impl EventSink for Events {
    fn emit(&self, _about: About<'_>, _kind: EventKind, reason: &str, message: &str) {
        self.0.lock().unwrap().push((reason.to_owned(), message.to_owned()));
    }
}

/// Whether a Service wants a load balancer, and the Service as it was last seen.
type Known = (bool, Arc<ServiceView>);

/// The Services that exist, by namespace and name.
#[derive(Debug, Default)]
struct Existing(Mutex<BTreeMap<(String, String), Known>>);

impl ServiceLookup for Existing {
    fn has(&self, namespace: &str, name: &str) -> bool {
        self.0.lock().unwrap().contains_key(&(namespace.to_owned(), name.to_owned()))
    }

    fn wants_load_balancer(&self, namespace: &str, name: &str) -> bool {
        self.0
            .lock()
            .unwrap()
            .get(&(namespace.to_owned(), name.to_owned()))
            .is_some_and(|(wants, _service)| *wants)
    }

    fn find(&self, fits: &dyn Fn(&ServiceView) -> bool) -> Option<Arc<ServiceView>> {
        let services = self.0.lock().unwrap();
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
    pub(super) fn restart(&mut self, account: &str) {
        self.balancers = balancers(self.new_client(account), &self.conf, &self.events, self.cluster_uid);
    }

    /// The same, where load balancers are compared with their Services so often.
    pub(super) fn restart_comparing_every(&mut self, period: Duration) {
        let next = balancers(self.new_client("sim"), &self.conf, &self.events, self.cluster_uid);
        self.balancers = next.compared_every(Some(period));
    }

    /// The configuration is another one: the process goes on.
    pub(super) fn reconfigure(&mut self, change: impl FnOnce(&mut CloudConf)) {
        change(&mut self.conf);
        let next = balancers(self.new_client("sim"), &self.conf, &self.events, self.cluster_uid);
        self.balancers = next.knowing(&self.balancers.lore());
    }

    /// Another process takes over, and the one before is not dead yet.
    pub(super) fn taken_over(&mut self) -> Balancers {
        let next = balancers(self.new_client("sim"), &self.conf, &self.events, self.cluster_uid);
        std::mem::replace(&mut self.balancers, next)
    }

    /// A client that knows nothing yet, by the name of its account in the simulator's clouds.yaml.
    fn new_client(&self, account: &str) -> Client {
        self.simulation.cloud.client(account).unwrap()
    }

    pub(super) fn told(&self) -> Vec<String> {
        self.events.0.lock().unwrap().iter().map(|(reason, _message)| reason.clone()).collect()
    }

    /// The Services of the cluster: those for which a load balancer was last asked for, and not its removal.
    fn directory(&self, service: &Arc<ServiceView>, purpose: Purpose) -> ServiceDirectory {
        let key = (service.namespace.to_string(), service.name.to_string());
        let mut services = self.services.0.lock().unwrap();
        match purpose {
            Purpose::Ensure => services.insert(key, (true, Arc::clone(service))),
            Purpose::Remove => services.remove(&key),
        };
        ServiceDirectory::new(self.services.clone())
    }

    /// A Service that has left its load balancer still exists: its deletion is not over, or it is of another type now.
    pub(super) fn still_exists(&self, service: &ServiceView) {
        let key = (service.namespace.to_string(), service.name.to_string());
        self.services.0.lock().unwrap().insert(key, (false, Arc::new(service.clone())));
    }

    pub(super) fn request(&self, service: &Arc<ServiceView>, purpose: Purpose) -> LoadBalancerRequest {
        LoadBalancerRequest {
            cluster: self.cluster.into(),
            service: Arc::clone(service),
            nodes: self.nodes.clone(),
            purpose,
            fingerprints: self.fingerprints.lock().unwrap().get(&service.uid).cloned().into_iter().collect(),
            urgency: bowline_cloud::Urgency::User,
            services: self.directory(service, purpose),
        }
    }

    /// What was kept for the next leader is lost: it has to read all.
    pub(super) fn forget_fingerprints(&self) {
        self.fingerprints.lock().unwrap().clear();
    }

    pub(super) async fn look(&self, service: &Arc<ServiceView>, purpose: Purpose) -> Evidence<Observed> {
        let request = self.request(service, purpose);
        LoadBalancers::observe(&self.balancers, &[request]).await.pop().unwrap()
    }

    pub(super) async fn ensured(&self, service: &Arc<ServiceView>) -> (Wanted, Found) {
        match self.look(service, Purpose::Ensure).await {
            Evidence::Present(Observed::Ensure { wanted, found }) => (*wanted, *found),
            other => panic!("{other:?}"),
        }
    }

    pub(super) async fn refused(&self, service: &Arc<ServiceView>) -> String {
        match self.look(service, Purpose::Ensure).await {
            Evidence::Present(Observed::Refused(refusal)) => refusal.to_string(),
            other => panic!("{other:?}"),
        }
    }

    pub(super) async fn first_step(&self, service: &Arc<ServiceView>, purpose: Purpose) -> CloudStep {
        let request = self.request(service, purpose);
        let observed = self.look(service, purpose).await.known().unwrap();
        match LoadBalancers::plan(&self.balancers, &request, observed.as_ref(), Timestamp::UNIX_EPOCH) {
            Plan::Act(mut steps) => steps.remove(0).step,
            other => panic!("{other:?}"),
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
                for ((place, request), evidence) in batch.iter().zip(&requests).zip(observed) {
                    match self.conclude(&mut services[*place], request, evidence, true).await {
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
                tokio::time::sleep(self.balancers.poll_period()).await;
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
        let evidence = LoadBalancers::observe(&self.balancers, std::slice::from_ref(&request)).await.pop();
        self.conclude(service, &request, evidence.unwrap(), false).await
    }

    /// The end, or none; nothing at all if it waits. `further`: with the steps that need no look in between.
    async fn conclude(
        &self,
        service: &mut Arc<ServiceView>,
        request: &LoadBalancerRequest,
        evidence: Evidence<Observed>,
        further: bool,
    ) -> Option<Option<End>> {
        let observed = match evidence.known() {
            Ok(observed) => observed,
            Err(doubt) => return Some(Some(End::Unknown(doubt))),
        };
        let notes = self.balancers.notes(request, observed.as_ref());
        if !notes.stand_in(&service.annotations) {
            let annotations = notes.written_on(&service.annotations);
            Arc::make_mut(service).annotations = annotations;
        }
        match LoadBalancers::plan(&self.balancers, request, observed.as_ref(), Timestamp::UNIX_EPOCH) {
            Plan::Settled(status) => {
                if let Some(word) = LoadBalancers::fingerprint(&self.balancers, request, observed.as_ref()) {
                    self.fingerprints.lock().unwrap().insert(service.uid.clone(), word);
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
        self.simulation.sim.with(|cloud| cloud.log_mut().clear());
    }

    pub(super) fn mutating(&self) -> u64 {
        self.simulation.sim.with(|cloud| cloud.log().mutating())
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

/// The same Service with an annotation.
pub(super) fn annotated(service: &Arc<ServiceView>, key: &str, value: &str) -> Arc<ServiceView> {
    let mut service = (**service).clone();
    service.annotations.insert(key.to_owned(), value.to_owned());
    Arc::new(service)
}

/// The same Service as if it had an address.
pub(super) fn reached(service: &Arc<ServiceView>) -> Arc<ServiceView> {
    let mut service = (**service).clone();
    let ingress = Ingress { ip: Some("192.0.2.9".parse().unwrap()), ..Ingress::default() };
    service.status = LoadBalancerStatus { ingress: vec![ingress] };
    Arc::new(service)
}

pub(super) fn id_of(found: &Found) -> String {
    found.balancer.as_ref().unwrap().balancer.id.to_string()
}

/// Why a Service was refused.
pub(super) fn refused(end: End) -> String {
    match end {
        End::Refused(refusal) => refusal.to_string(),
        other => panic!("{other:?}"),
    }
}

/// The address that a Service shows.
pub(super) fn address_of(service: &ServiceView) -> IpAddr {
    service.status.ingress[0].ip.unwrap()
}
