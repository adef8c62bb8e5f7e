//! A cluster and a cloud, both simulated, and what people and kubelets do to them. Nothing of Bowline is here.

use std::time::Duration;

use bowline_testkit::Wait;
use bowline_testkit::cloud::{Cloud, Options};
use bowline_testkit::nodes::UNINITIALIZED;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Event, Namespace, Node, Service};
use serde_json::{Value, json};
use sim_kube::SimKube;
use sim_openstack::{Config, MEMBER, Rule, State};
use tokio::time::{Instant, sleep};

/// When everything begins.
const START: &str = "2026-11-15T08:00:00Z";

/// A condition that is waited for is looked at so many times at most: a look at a large cluster takes real time.
const LOOKS: u32 = 1000;

/// But not more often than this.
const LOOK: Duration = Duration::from_millis(500);

pub(crate) struct World {
    pub(crate) kube: SimKube,
    pub(crate) cloud: Cloud,
    /// More lines of `[LoadBalancer]`.
    pub(crate) load_balancer: &'static str,
}

impl World {
    /// A cloud with servers `node-1` and so on, and a cluster without Nodes.
    pub(crate) fn new(config: Config, servers: usize) -> Self {
        let start: Timestamp = START.parse().unwrap();
        let cloud = Cloud::in_process(Options { servers, now: start, config });
        let mut config = sim_kube::Config::seeded(7);
        config.clock = sim_kube::Clock::virtual_from(start);
        // Two ports each for a thousand Services.
        config.node_ports = 20_000..=32_767;
        config.log_bodies = false;
        Self { kube: SimKube::new(config), cloud, load_balancer: "" }
    }

    /// The configuration of a cluster in this cloud.
    pub(crate) fn cloud_conf(&self) -> String {
        self.cloud.conf(MEMBER, self.load_balancer)
    }

    /// The kubelets of these servers register their Nodes.
    pub(crate) fn register(&self, numbers: impl IntoIterator<Item = usize>) {
        for number in numbers {
            self.register_as(&format!("node-{number}"), None, "True");
        }
    }

    /// A kubelet registers its Node, which may know its provider ID and may be ready.
    pub(crate) fn register_as(&self, name: &str, provider_id: Option<&str>, ready: &str) {
        let taint = json!({"key": UNINITIALIZED, "value": "true", "effect": "NoSchedule"});
        let ready = json!({"type": "Ready", "status": ready, "reason": "KubeletReady", "message": ""});
        let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name},
            "spec": {"taints": [taint], "providerID": provider_id}, "status": {"conditions": [ready]}});
        self.kube.objects::<Node>("").create(&serde_json::from_value(node).unwrap()).unwrap();
    }

    /// A kubelet, or who waits for it in vain, says whether a Node is ready.
    pub(crate) fn report(&self, number: usize, ready: &str) {
        self.edit_node(number, |node| {
            let conditions = node.status.iter_mut().flat_map(|status| status.conditions.iter_mut().flatten());
            for condition in conditions.filter(|condition| condition.type_ == "Ready") {
                condition.status = ready.to_owned();
            }
        });
    }

    pub(crate) fn has_node(&self, number: usize) -> bool {
        self.kube.objects::<Node>("").get(&format!("node-{number}")).unwrap().is_some()
    }

    /// The server of a Node is deleted, with its ports.
    pub(crate) fn remove_server(&self, number: usize) {
        let name = format!("node-{number}");
        self.edit(|state| {
            let id = state.compute.servers.iter().find(|server| server.name == name).unwrap().id.clone();
            state.remove_server(&id).unwrap();
        });
    }

    /// How many Nodes are initialised and have an address.
    pub(crate) fn initialised(&self) -> usize {
        let nodes = self.kube.stored("", "nodes");
        let done = |node: &&Value| {
            let taints = node.pointer("/spec/taints").and_then(Value::as_array);
            !taints.is_some_and(|taints| taints.iter().any(|taint| taint["key"] == UNINITIALIZED))
                && node.pointer("/spec/providerID").is_some()
                && node.pointer("/status/addresses").is_some()
        };
        nodes.iter().filter(done).count()
    }

    /// An administrator makes a namespace.
    pub(crate) fn add_namespace(&self, name: &str) {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        self.kube.objects::<Namespace>("").create(&serde_json::from_value(namespace).unwrap()).unwrap();
    }

    /// A person applies a Service.
    pub(crate) fn apply(&self, name: &str, ports: u16) {
        self.apply_in("default", name, ports);
    }

    pub(crate) fn apply_in(&self, namespace: &str, name: &str, ports: u16) {
        let ports: Vec<Value> = (0..ports)
            .map(|place| json!({"name": format!("p{place}"), "protocol": "TCP", "port": 80 + place}))
            .collect();
        let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name},
            "spec": {"type": "LoadBalancer", "ports": ports, "selector": {"app": name}}});
        self.services_of(namespace).create(&serde_json::from_value(service).unwrap()).unwrap();
    }

    pub(crate) fn apply_many(&self, count: usize, ports: u16) {
        for number in 0..count {
            self.apply(&format!("web-{number}"), ports);
        }
    }

    pub(crate) fn annotate(&self, name: &str, key: &str, value: &str) {
        let note = |service: &mut Service| {
            let annotations = service.metadata.annotations.get_or_insert_default();
            annotations.insert(key.to_owned(), value.to_owned());
        };
        self.services().edit(name, note).unwrap();
    }

    /// A person says who may connect.
    pub(crate) fn allow(&self, name: &str, range: &str) {
        let allow = |service: &mut Service| {
            let spec = service.spec.get_or_insert_default();
            spec.load_balancer_source_ranges = Some(vec![range.to_owned()]);
        };
        self.services().edit(name, allow).unwrap();
    }

    /// How many listeners let these connect.
    pub(crate) fn allowing(&self, range: &str) -> usize {
        self.cloud.look(|state| {
            let ranges = state.load_balancer.listeners.iter().filter_map(|one| one.allowed_cidrs.as_ref());
            ranges.filter(|ranges| ranges.iter().any(|one| one == range)).count()
        })
    }

    pub(crate) fn delete(&self, name: &str) {
        self.services().delete(name).unwrap();
    }

    pub(crate) fn exists(&self, name: &str) -> bool {
        self.services().get(name).unwrap().is_some()
    }

    fn services(&self) -> sim_kube::Objects<Service> {
        self.services_of("default")
    }

    fn services_of(&self, namespace: &str) -> sim_kube::Objects<Service> {
        self.kube.objects(namespace)
    }

    /// The address at which a Service is reached.
    pub(crate) fn address(&self, name: &str) -> Option<String> {
        self.address_in("default", name)
    }

    pub(crate) fn address_in(&self, namespace: &str, name: &str) -> Option<String> {
        let service = self.services_of(namespace).get(name).unwrap()?;
        service.status?.load_balancer?.ingress?.into_iter().next()?.ip
    }

    /// How many Services are reached somewhere.
    pub(crate) fn served(&self) -> usize {
        let services = self.kube.stored("", "services");
        services
            .iter()
            .filter(|service| service.pointer("/status/loadBalancer/ingress/0/ip").is_some())
            .count()
    }

    /// The messages of the events of Services with a reason.
    pub(crate) fn events(&self, reason: &str) -> Vec<String> {
        let events = self.kube.objects::<Event>("default").list().unwrap();
        let of = events.into_iter().filter(|event| event.reason.as_deref() == Some(reason));
        of.filter_map(|event| event.message).collect()
    }

    pub(crate) fn edit(&self, change: impl FnOnce(&mut State)) {
        self.cloud.edit(change);
    }

    pub(crate) fn fault(&self, rule: Rule) -> sim_openstack::RuleId {
        self.cloud.disturb(|faults| faults.add(rule))
    }

    pub(crate) fn balancers(&self) -> usize {
        self.cloud.look(|state| state.load_balancer.load_balancers.len())
    }

    pub(crate) fn floating_ips(&self) -> usize {
        self.cloud.look(|state| state.network.floating_ips.len())
    }

    pub(crate) fn members(&self) -> usize {
        self.cloud.look(|state| state.load_balancer.members.len())
    }

    /// The protocols of all pools.
    pub(crate) fn pool_protocols(&self) -> Vec<String> {
        self.cloud.look(|state| state.load_balancer.pools.iter().map(|pool| pool.protocol.clone()).collect())
    }

    /// Somebody changes a Node.
    pub(crate) fn edit_node(&self, number: usize, edit: impl FnOnce(&mut Node)) {
        self.kube.objects::<Node>("").edit(&format!("node-{number}"), edit).unwrap();
    }

    /// How many members have a weight.
    pub(crate) fn weighing(&self, weight: u16) -> usize {
        self.cloud
            .look(|state| state.load_balancer.members.iter().filter(|member| member.weight == weight).count())
    }

    /// How many load balancers are ACTIVE.
    pub(crate) fn active(&self) -> usize {
        self.cloud.look(|state| {
            let all = state.load_balancer.load_balancers.iter();
            all.filter(|one| one.provisioning_status == "ACTIVE").count()
        })
    }
}

/// Waits in virtual time until something is so, and tells how long that took.
pub(crate) async fn until(what: &str, limit: Duration, is_so: impl Fn() -> bool) -> Duration {
    let began = Instant::now();
    let wait = Wait::within_unscaled(limit).every(LOOK.max(limit / LOOKS));
    wait.until(what, async || Ok(is_so().then_some(()))).await.unwrap();
    began.elapsed()
}

pub(crate) async fn seconds(count: u64) {
    sleep(Duration::from_secs(count)).await;
}
