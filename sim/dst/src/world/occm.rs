//! OpenStack's own manager, which runs before Bowline does: as far as what it leaves counts. It holds the Lease, initialises Nodes and
//! serves Services step by step, so that its end finds it at any of them. It reconciles nothing that was edited.

use std::time::Duration;

use http::Method;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::api::core::v1::{Node, NodeAddress, NodeStatus, Service};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use serde_json::{Value, json};
use sim_openstack::State;
use sim_openstack::load_balancer::LoadBalancer;

use super::{LEADER_LEASE, NAMESPACE, SERVICES, UNINITIALIZED, World, annotation, service_name};
use crate::action::{Action, Edit};
use crate::case::Provider;
use crate::invariants::FINALIZER;

/// The pause between two steps.
pub const TURN: Duration = Duration::from_secs(1);

/// Its name in the Lease.
const HOLDER: &str = "occm-0_5f1b";

const LEASE_SECONDS: i32 = 15;

/// A Service that it served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Inherited {
    /// The UID of the Service.
    service: String,
    /// The load balancer.
    balancer: String,
    /// The addresses that the Service shows.
    published: Vec<String>,
}

impl World {
    /// One step for the Lease, and for every Node and Service.
    pub fn occm_turn(&self) {
        self.occm_renews();
        for node in self.nodes().list().expect("nodes can be read") {
            self.occm_initialises(&node);
        }
        for service in self.services().list().expect("services can be read") {
            self.occm_serves(&service);
        }
    }

    /// It is killed. What it had published has to stay as it is.
    pub fn occm_ends(&self) {
        let services = self.services().list().expect("services can be read");
        let served = services.iter().filter_map(|service| {
            let published = published(service);
            let balancer =
                self.cloud.with(|cloud| balancer_of(cloud.state(), service).map(|one| one.id.clone()))?;
            let service = service.metadata.uid.clone()?;
            (!published.is_empty()).then_some(Inherited { service, balancer, published })
        });
        self.inherited.lock().extend(served);
        // What it lost already is not ours: it makes another floating IP for one that somebody took off its load balancer.
        let lost: Vec<(String, String)> = self.cloud.with(|cloud| {
            let all = cloud.state().network.floating_ips.iter().filter(|one| one.port_id.is_none());
            all.map(|one| (one.id.clone(), HOLDER.to_owned())).collect()
        });
        self.strays.lock().extend(lost);
    }

    /// Notes who may have another load balancer or address from now on.
    pub(super) fn note_moved(&self, action: &Action) {
        if let Action::Edit(number, Edit::IsBalanced(_) | Edit::Annotate(..)) | Action::Meddle(number, _) =
            action
        {
            self.moved.lock().insert(service_name(*number));
        }
        if let Action::BalancersInError { offline: true } = action {
            self.moved.lock().extend((1..=SERVICES).map(service_name));
        }
    }

    /// What it served, and is served in another way now although nobody asked for that.
    #[must_use]
    pub fn changed_since_occm(&self) -> Option<String> {
        let mut services = self.services().list().expect("services can be read");
        let moved = self.moved.lock();
        services.retain(|service| !service.metadata.name.as_ref().is_some_and(|name| moved.contains(name)));
        let inherited = self.inherited.lock();
        inherited.iter().find_map(|was| {
            let service = services.iter().find(|one| one.metadata.uid.as_ref() == Some(&was.service))?;
            let now = self.cloud.with(|cloud| balancer_of(cloud.state(), service).map(|one| one.id.clone()));
            let is_same = now.as_ref() == Some(&was.balancer) && published(service) == was.published;
            (!is_same).then(|| format!("{was:?} is now {now:?} at {:?}", published(service)))
        })
    }

    fn occm_renews(&self) {
        let leases = self.kube.objects::<Lease>("kube-system");
        let now = Some(MicroTime(self.cloud.now()));
        if leases.get(LEADER_LEASE).expect("leases can be read").is_some() {
            let renew = |lease: &mut Lease| lease.spec.get_or_insert_default().renew_time.clone_from(&now);
            leases.edit(LEADER_LEASE, renew).expect("its Lease can be renewed");
            return;
        }
        let spec = LeaseSpec {
            holder_identity: Some(HOLDER.to_owned()),
            lease_duration_seconds: Some(LEASE_SECONDS),
            acquire_time: now.clone(),
            renew_time: now,
            ..LeaseSpec::default()
        };
        let metadata = ObjectMeta { name: Some(LEADER_LEASE.to_owned()), ..ObjectMeta::default() };
        leases.create(&Lease { metadata, spec: Some(spec) }).expect("a Lease can be made");
    }

    fn occm_initialises(&self, node: &Node) {
        let name = node.metadata.name.clone().unwrap_or_default();
        let taints = node.spec.iter().flat_map(|spec| spec.taints.iter().flatten());
        if !taints.into_iter().any(|taint| taint.key == UNINITIALIZED) {
            return;
        }
        let Some((id, address)) = self.cloud.with(|cloud| server_of(cloud.state(), &name)) else { return };
        let initialise = |node: &mut Node| {
            let spec = node.spec.get_or_insert_default();
            spec.provider_id = Some(format!("openstack:///{id}"));
            spec.taints.iter_mut().for_each(|all| all.retain(|taint| taint.key != UNINITIALIZED));
            let status: &mut NodeStatus = node.status.get_or_insert_default();
            let of = |type_: &str, address: &str| NodeAddress {
                type_: type_.to_owned(),
                address: address.to_owned(),
            };
            status.addresses = Some(vec![of("InternalIP", &address), of("Hostname", &name)]);
        };
        self.nodes().edit(&name, initialise).expect("a Node can be initialised");
    }

    fn occm_serves(&self, service: &Service) {
        let (meta, spec) = (&service.metadata, service.spec.clone().unwrap_or_default());
        let name = meta.name.clone().unwrap_or_default();
        let has_finalizer = meta.finalizers.iter().flatten().any(|one| one == FINALIZER);
        let is_wanted = meta.deletion_timestamp.is_none() && spec.type_.as_deref() == Some("LoadBalancer");
        let balancer = self.cloud.with(|cloud| balancer_of(cloud.state(), service).cloned());
        let is_shared = balancer.is_none() && note(service, "load-balancer-id").is_some();
        match balancer {
            _ if is_shared => {}
            None if !is_wanted && has_finalizer => self.occm_edits(&name, |service| {
                service.metadata.finalizers.iter_mut().for_each(|all| all.retain(|one| one != FINALIZER));
            }),
            None if !is_wanted => {}
            None if !has_finalizer => self.occm_edits(&name, |service| {
                service.metadata.finalizers.get_or_insert_default().push(FINALIZER.to_owned());
            }),
            None => self.occm_creates(service),
            Some(balancer) if balancer.provisioning_status != "ACTIVE" => {}
            Some(balancer) if is_wanted => self.occm_publishes(service, &balancer),
            Some(balancer) => self.occm_removes(&balancer),
        }
    }

    fn occm_edits(&self, name: &str, change: impl FnOnce(&mut Service)) {
        self.services().edit(name, change).expect("a Service can be edited");
    }

    fn occm_creates(&self, service: &Service) {
        let name = balancer_name(service);
        let members: Vec<(String, String)> =
            self.nodes().list().expect("nodes can be read").iter().filter_map(backend).collect();
        let asked = service.spec.as_ref().and_then(|spec| spec.load_balancer_source_ranges.clone());
        // OVN takes no ranges.
        let (provider, method, ranges) = match self.setting.provider {
            Provider::Amphora => {
                ("amphora", "ROUND_ROBIN", json!(asked.unwrap_or_else(|| vec!["0.0.0.0/0".to_owned()])))
            }
            Provider::Ovn => ("ovn", "SOURCE_IP_PORT", Value::Null),
        };
        let ports = service.spec.iter().flat_map(|spec| spec.ports.iter().flatten());
        let listener = |(place, port): (usize, &k8s_openapi::api::core::v1::ServicePort)| {
            let protocol = port.protocol.as_deref().unwrap_or("TCP");
            let member = |(node, address): &(String, String)| {
                json!({"name": node, "address": address,
                "protocol_port": port.node_port, "subnet_id": self.estate.subnet})
            };
            json!({"name": format!("listener_{place}_{name}"), "protocol": protocol, "protocol_port": port.port,
                "connection_limit": -1, "tags": [name], "allowed_cidrs": ranges,
                "default_pool": {"name": format!("pool_{place}_{name}"), "protocol": protocol,
                    "lb_algorithm": method, "members": members.iter().map(member).collect::<Vec<_>>()}})
        };
        let body = json!({"loadbalancer": {"name": name, "description": description(service), "tags": [name],
            "vip_subnet_id": self.estate.subnet, "provider": provider, "project_id": self.estate.project,
            "listeners": ports.enumerate().map(listener).collect::<Vec<_>>()}});
        // Without quota it tries again and again.
        let _refused = self.operator(Method::POST, "/load-balancer/v2/lbaas/loadbalancers", &body);
    }

    fn occm_publishes(&self, service: &Service, balancer: &LoadBalancer) {
        let internal =
            note(service, "service.beta.kubernetes.io/openstack-internal-load-balancer") == Some("true");
        let floating = self.cloud.with(|cloud| {
            let mut all = cloud.state().network.floating_ips.iter();
            let at = all.find(|one| one.port_id.as_deref() == Some(balancer.vip_port_id.as_str()));
            at.map(|one| one.floating_ip_address.clone())
        });
        let address = if internal { Some(balancer.vip_address.clone()) } else { floating };
        let Some(address) = address else {
            let body = json!({"floatingip": {"floating_network_id": self.estate.external_network,
                "port_id": balancer.vip_port_id, "project_id": self.estate.project,
                "description": format!("Floating IP for {}", description(service))}});
            let _refused = self.operator(Method::POST, "/network/v2.0/floatingips", &body);
            return;
        };
        if published(service).contains(&address) {
            return;
        }
        self.occm_edits(service.metadata.name.as_deref().unwrap_or_default(), |service| {
            let notes = service.metadata.annotations.get_or_insert_default();
            notes.insert(annotation("load-balancer-id"), balancer.id.clone());
            notes.insert(annotation("load-balancer-address"), address.clone());
            let status = json!({"loadBalancer": {"ingress": [{"ip": address}]}});
            service.status = serde_json::from_value(status).ok();
        });
    }

    fn occm_removes(&self, balancer: &LoadBalancer) {
        let floating = self.cloud.with(|cloud| {
            let mut all = cloud.state().network.floating_ips.iter();
            all.find(|one| one.port_id.as_deref() == Some(balancer.vip_port_id.as_str()))
                .map(|one| one.id.clone())
        });
        match floating {
            Some(id) => {
                let path = format!("/network/v2.0/floatingips/{id}");
                let _refused = self.operator(Method::DELETE, &path, &Value::Null);
            }
            None => self.delete_balancer(&balancer.id),
        }
    }
}

fn balancer_name(service: &Service) -> String {
    format!("kube_service_kubernetes_{NAMESPACE}_{}", service.metadata.name.as_deref().unwrap_or_default())
}

fn description(service: &Service) -> String {
    let name = service.metadata.name.as_deref().unwrap_or_default();
    format!("Kubernetes external service {NAMESPACE}/{name} from cluster kubernetes")
}

fn note<'s>(service: &'s Service, key: &str) -> Option<&'s str> {
    service.metadata.annotations.as_ref()?.get(&annotation(key)).map(String::as_str)
}

fn published(service: &Service) -> Vec<String> {
    let status = service.status.as_ref().and_then(|status| status.load_balancer.as_ref());
    let ingress = status.into_iter().flat_map(|balancer| balancer.ingress.iter().flatten());
    ingress.filter_map(|one| one.ip.clone()).collect()
}

fn balancer_of<'s>(state: &'s State, service: &Service) -> Option<&'s LoadBalancer> {
    let name = balancer_name(service);
    state.load_balancer.load_balancers.iter().find(|one| one.name == name)
}

/// The server of a name, with its address.
fn server_of(state: &State, name: &str) -> Option<(String, String)> {
    let server = state.compute.servers.iter().find(|server| server.name == name)?;
    let port = state.network.ports.iter().find(|port| port.device_id == server.id)?;
    Some((server.id.clone(), port.fixed_ips.first()?.ip_address.clone()))
}

/// Name and address of a Node that is initialised.
fn backend(node: &Node) -> Option<(String, String)> {
    let addresses = node.status.as_ref()?.addresses.as_ref()?;
    let internal = addresses.iter().find(|address| address.type_ == "InternalIP")?;
    Some((node.metadata.name.clone()?, internal.address.clone()))
}
