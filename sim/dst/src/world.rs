//! A cluster and a cloud, both simulated, and what people, kubelets and the cloud's operator do to them. Nothing of Bowline is here.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, StatusCode};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Service};
use serde_json::{Value, json};
use sim_kube::SimKube;
use sim_openstack::load_balancer::LoadBalancerQuota;
use sim_openstack::{
    ADMIN, Cloud, Config, Estate, EstateSize, Fault, Latencies, MEMBER, Outcome, Rule,
    Service as CloudService, SimService, State, seed,
};

use crate::action::{Action, Edit, Meddling, ServiceSpec};
use crate::case::{Provider, Setting};
use crate::net::Net;
use crate::replica::CloudConf;

/// When every run begins.
const START: &str = "2026-11-15T08:00:00Z";

/// The taint of Nodes that no cloud-controller-manager has seen yet.
pub const UNINITIALIZED: &str = "node.cloudprovider.kubernetes.io/uninitialized";

/// The label that keeps traffic away from a Node.
pub const EXCLUDED: &str = "node.kubernetes.io/exclude-from-external-load-balancers";

/// How the annotations of the provider begin.
pub const ANNOTATION: &str = "loadbalancer.openstack.org/";

/// The annotation of Services whose floating IP is not given back.
const KEEP: &str = "keep-floatingip";

/// What was seen before somebody meddled may be acted on for this long.
const MEDDLED: jiff::SignedDuration = jiff::SignedDuration::from_secs(60);

/// So many floating IPs of a Service may be lost that way.
const STRAYS: usize = 2;

/// The namespace of all Services.
pub const NAMESPACE: &str = "default";

/// Secrets that must be seen nowhere: the passwords, or secrets of application credentials, before and after the change.
pub const CANARIES: [&str; 2] = ["canary-secret-1f7e", "canary-secret-2c9b"];

/// Nothing that the cloud does with a load balancer takes longer.
const STUCK: jiff::SignedDuration = jiff::SignedDuration::from_mins(3);

/// What belongs to somebody else, and has to stay as it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Foreign {
    /// Load balancer, listener and pool by id, as they were made.
    balancers: BTreeMap<String, String>,
    /// Floating IPs, security groups.
    network: BTreeMap<String, String>,
}

impl Foreign {
    /// Whether all that was there at first is there as it was. What came besides is not ours either, and may come.
    fn has_all_of(&self, first: &Self) -> bool {
        let has = |now: &BTreeMap<String, String>, first: &BTreeMap<String, String>| {
            first.iter().all(|(id, was)| now.get(id) == Some(was))
        };
        has(&self.balancers, &first.balancers) && has(&self.network, &first.network)
    }
}

/// Floating IPs that may be left over.
#[derive(Clone, Debug, Default)]
pub struct Excused {
    /// All of these Services.
    pub services: BTreeSet<String>,
    /// These, by id.
    pub floating_ips: BTreeSet<String>,
}

/// The world of a run.
pub struct World {
    /// The cluster.
    pub kube: SimKube,
    /// The cloud.
    pub cloud: SimService,
    /// What was in the cloud at first.
    pub estate: Estate,
    /// The setting.
    pub setting: Setting,
    /// The configuration of all processes.
    pub conf: CloudConf,
    foreign: Foreign,
    /// The Services that ever said that their floating IP shall be kept.
    kept: Mutex<BTreeSet<String>>,
    /// Floating IPs that lost their load balancer before anybody was told of them; see [`World::note_strays`].
    strays: Mutex<BTreeMap<String, String>>,
    /// When somebody deleted the Lease.
    lease_deleted: Mutex<Option<Timestamp>>,
    /// When somebody last changed what belongs to a Service behind its back.
    meddled: Mutex<BTreeMap<String, Timestamp>>,
    /// Since when a load balancer is seen at work.
    pending: Mutex<BTreeMap<String, Timestamp>>,
    /// Ports with a security group of somebody else's.
    guarded: Mutex<Vec<(String, String)>>,
}

impl World {
    /// A cloud with servers, a foreign load balancer and a cluster without Nodes.
    #[must_use]
    pub fn new(setting: &Setting) -> Self {
        let start: Timestamp = START.parse().expect("a time");
        let latencies = Latencies { amphora_create: Duration::from_secs(20), ..Latencies::default() };
        let default_load_balancer_provider = match setting.provider {
            Provider::Amphora => "amphora",
            Provider::Ovn => "ovn",
        };
        let config = Config {
            seed: setting.seed,
            latencies,
            default_load_balancer_provider: default_load_balancer_provider.to_owned(),
            ..Config::default()
        };
        let (mut cloud, estate) = seed(config, start, &EstateSize { servers: setting.servers, cidr: None });
        give_password(&mut cloud, &estate, CANARIES[0]);
        cloud.edit(|state| {
            let credentials = credentials(state, &estate);
            state.identity.application_credentials.extend(credentials);
        });
        let mut config = sim_kube::Config::seeded(setting.seed);
        config.clock = sim_kube::Clock::virtual_from(start);
        config.log_bodies = false;
        config.log_limit = 0;
        let (kube, cloud) = (SimKube::new(config), SimService::on_tokio_time(cloud));
        let conf = CloudConf::new(String::new());
        let setting = setting.clone();
        let mut world = Self {
            kube,
            cloud,
            estate,
            setting,
            conf,
            foreign: Foreign::default(),
            kept: Mutex::default(),
            strays: Mutex::default(),
            lease_deleted: Mutex::default(),
            meddled: Mutex::default(),
            pending: Mutex::default(),
            guarded: Mutex::default(),
        };
        world.write_conf(CANARIES[0]);
        world.foreign = world.plant_foreign();
        world
    }

    fn write_conf(&self, password: &str) {
        let Estate { subnet, external_network, router, .. } = &self.estate;
        let login = match self.setting.application_credential {
            true => format!(
                "application-credential-id={}\napplication-credential-secret={password}\n",
                credential_id(password)
            ),
            false => format!(
                "username={}\npassword={password}\ntenant-name={}\ndomain-name=Default\n",
                MEMBER.user, MEMBER.project
            ),
        };
        let provider = match self.setting.provider {
            Provider::Amphora => "",
            Provider::Ovn => "lb-provider=ovn\nlb-method=SOURCE_IP_PORT\n",
        };
        let groups = if self.setting.security_groups { "manage-security-groups=true\n" } else { "" };
        let route =
            if self.setting.routes { format!("[Route]\nrouter-id={router}\n") } else { String::new() };
        self.conf.write(format!(
            "[Global]\nauth-url=http://openstack.sim/identity/v3\n{login}region=RegionOne\n[LoadBalancer]\n\
             subnet-id={subnet}\nfloating-network-id={external_network}\n{provider}{groups}{route}"
        ));
    }

    /// Another tenant of the same project: a load balancer, a floating IP and a security group that are not ours.
    fn plant_foreign(&self) -> Foreign {
        let (provider, method) = match self.setting.provider {
            Provider::Amphora => ("amphora", "ROUND_ROBIN"),
            Provider::Ovn => ("ovn", "SOURCE_IP_PORT"),
        };
        let body = json!({"loadbalancer": {"name": "somebody-elses", "vip_subnet_id": self.estate.subnet,
            "project_id": self.estate.project, "provider": provider,
            "listeners": [{"name": "theirs", "protocol": "TCP", "protocol_port": 8443,
                "default_pool": {"name": "theirs", "protocol": "TCP", "lb_algorithm": method,
                    "members": [{"address": "10.10.99.9", "protocol_port": 1}]}}]}});
        let (code, answer) = self.operator(Method::POST, "/load-balancer/v2/lbaas/loadbalancers", &body);
        assert_eq!(code, 201, "{answer}");
        let (code, _) = self.operator(
            Method::POST,
            "/network/v2.0/floatingips",
            &json!({"floatingip": {"floating_network_id": self.estate.external_network,
                "project_id": self.estate.project, "description": "somebody else's"}}),
        );
        assert_eq!(code, 201);
        let far = self.cloud.now().checked_add(jiff::SignedDuration::from_mins(5)).expect("within time");
        self.cloud.with(|cloud| {
            // Its making is over before the run begins; time itself does not move.
            while cloud.next_due().is_some_and(|due| due <= far) {
                let due = cloud.next_due().unwrap_or(far);
                let now = cloud.now();
                cloud.settle(due);
                cloud.world().now = now;
            }
            foreign_in(cloud.state())
        })
    }

    /// What of somebody else's has changed since the start.
    #[must_use]
    pub fn foreign_changes(&self) -> Option<String> {
        let now = self.cloud.with(|cloud| foreign_in(cloud.state()));
        self.unguarded()
            .or_else(|| (!now.has_all_of(&self.foreign)).then(|| format!("{:?} was {:?}", now, self.foreign)))
    }

    /// A request of the cloud's operator.
    pub fn operator(&self, method: Method, path: &str, body: &Value) -> (u16, Value) {
        self.cloud.with(|cloud| {
            cloud.faults().pause(true);
            let token = operator_token(cloud);
            let answer = send(cloud, method, path, Some(&token), body);
            cloud.faults().pause(false);
            (answer.0, answer.2)
        })
    }

    /// The Services that ever said that their floating IP shall be kept: one may be left of each, and more of namesakes.
    #[must_use]
    pub fn kept(&self) -> BTreeSet<String> {
        self.kept.lock().expect("one thread").clone()
    }

    /// Whether somebody changed what belongs to a Service so lately that nobody could know.
    #[must_use]
    pub fn meddled_lately(&self, service: &str) -> bool {
        let meddled = self.meddled.lock().expect("one thread").get(service).copied();
        meddled.is_some_and(|at| self.cloud.now().duration_since(at) < MEDDLED)
    }

    /// A known gap: a floating IP whose load balancer goes before its address was published is found again only by the process
    /// that made it. If that dies too it is left over, because nothing proves whose it is (seeds 54 and 233). Not counted.
    pub fn note_strays(&self) {
        let shown: BTreeSet<String> = self
            .kube
            .stored("", "services")
            .iter()
            .filter(|service| service["status"]["loadBalancer"]["ingress"].is_array())
            .filter_map(|service| service["metadata"]["name"].as_str().map(str::to_owned))
            .collect();
        let of = |text: &str| {
            let rest = text.split_once("external service default/")?.1;
            rest.split_once(" from cluster").map(|(name, _)| name.to_owned())
        };
        let found: Vec<(String, String)> = self.cloud.with(|cloud| {
            let floating = cloud.state().network.floating_ips.iter().filter(|one| one.port_id.is_none());
            floating.filter_map(|one| Some((one.id.clone(), of(&one.description)?))).collect()
        });
        let mut strays = self.strays.lock().expect("one thread");
        for (id, name) in found.into_iter().filter(|(_, name)| !shown.contains(name)) {
            // A few, not one for each look.
            if strays.values().filter(|other| **other == name).count() < STRAYS {
                strays.entry(id).or_insert(name);
            }
        }
    }

    /// What is left over on purpose, or known to be.
    #[must_use]
    pub fn excused(&self) -> Excused {
        Excused {
            services: self.kept(),
            floating_ips: self.strays.lock().expect("one thread").keys().cloned().collect(),
        }
    }

    /// How long a new process has still to wait. A known limit: one that never saw the leader takes a Lease that is not there as
    /// client-go does, and then two lead until the other looks. Whoever deletes the Lease must not start a manager just then.
    #[must_use]
    pub fn newcomers_wait(&self) -> Duration {
        let deleted = *self.lease_deleted.lock().expect("one thread");
        let since = deleted.map(|at| self.cloud.now().duration_since(at).unsigned_abs());
        since.map_or(Duration::ZERO, |since| Duration::from_secs(60).saturating_sub(since))
    }

    fn note_kept(&self, action: &Action) {
        let number = match action {
            Action::Create(number, spec) if spec.annotations.iter().any(|(key, _)| *key == KEEP) => *number,
            Action::Edit(number, Edit::Annotate(KEEP, Some(_))) => *number,
            _ => return,
        };
        self.kept.lock().expect("one thread").insert(service_name(number));
    }

    /// Does what an action says.
    pub fn perform(&self, action: &Action, net: &Net) {
        self.note_kept(action);
        match action {
            Action::Join(number) => self.register(*number),
            Action::ServerGone(number) => {
                self.remove_server(*number);
                self.set_ready(*number, false);
            }
            Action::ServerStops(number) => {
                self.server_action(*number, "os-stop");
                self.set_ready(*number, false);
            }
            Action::ServerStarts(number) => {
                self.server_action(*number, "os-start");
                self.set_ready(*number, self.has_living_server(*number));
            }
            Action::ServerReplaced(number) => {
                self.remove_server(*number);
                self.add_server(*number);
                self.set_ready(*number, false);
            }
            Action::NewServer(number) => {
                self.add_server(*number);
                self.register(*number);
            }
            Action::DeleteNode(number) => {
                let _gone = self.nodes().delete(&node_name(*number)).is_ok();
            }
            // Without a server there is no kubelet that could say so.
            Action::Ready(number, ready) => {
                self.set_ready(*number, *ready && self.has_living_server(*number));
            }
            Action::Exclude(number, excluded) => self.exclude(*number, *excluded),
            Action::Create(number, spec) => self.create_service(*number, spec),
            Action::Edit(number, edit) => self.edit_service(*number, edit),
            Action::Share(number, with) => self.share(*number, *with),
            Action::Delete(number) => {
                let _gone = self.services().delete(&service_name(*number)).is_ok();
            }
            Action::Meddle(number, meddling) => self.meddle(*number, *meddling),
            Action::Quota(exhausted) => self.quota(*exhausted),
            Action::RotatePassword => {
                self.cloud.with(|cloud| {
                    give_password(cloud, &self.estate, CANARIES[1]);
                    cloud.edit(|state| {
                        state.identity.application_credentials.remove(&credential_id(CANARIES[0]))
                    });
                });
                self.revoke_tokens();
                self.write_conf(CANARIES[1]);
            }
            Action::BreakConfig(true) => self.conf.write("[Global]\nauth-url=nowhere\n[Nothing\n".to_owned()),
            Action::BreakConfig(false) => self.write_conf(self.password()),
            Action::RevokeTokens => self.revoke_tokens(),
            Action::Outage(service, length) => self.outage(*service, *length),
            Action::KillLeader => self.leader().into_iter().for_each(|leader| net.kill(&leader)),
            Action::StopLeader => self.leader().into_iter().for_each(|leader| net.terminate(&leader)),
            Action::PauseLeader(pause) => {
                self.leader().into_iter().for_each(|leader| net.pause(&leader, *pause));
            }
            Action::DeleteLease => {
                *self.lease_deleted.lock().expect("one thread") = Some(self.cloud.now());
                let path =
                    "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/cloud-controller-manager";
                self.kube.request(Method::DELETE, path, &Value::Null);
            }
            Action::BreakWatches => self.kube.break_watches(),
            Action::ExpireWatches => self.kube.expire_watches(),
        }
    }

    fn password(&self) -> &'static str {
        let current = self.cloud.with(|cloud| {
            cloud.state().identity.users.get(&self.estate.user).map(|user| user.password.clone())
        });
        CANARIES.into_iter().find(|canary| Some(*canary) == current.as_deref()).unwrap_or(CANARIES[0])
    }

    fn revoke_tokens(&self) {
        self.cloud.with(|cloud| cloud.edit(|state| state.identity.tokens.clear()));
    }

    fn outage(&self, service: CloudService, length: Duration) {
        let now = self.cloud.now();
        let length = jiff::SignedDuration::try_from(length).expect("an outage is short");
        let end = now.checked_add(length).expect("within time");
        let rule = Rule::new(Fault::html(StatusCode::SERVICE_UNAVAILABLE)).on(service).between(now, end);
        self.cloud.with(|cloud| cloud.faults().add(rule));
    }

    /// Who holds the Lease.
    #[must_use]
    pub fn leader(&self) -> Option<String> {
        let leases = self.kube.stored("coordination.k8s.io", "leases");
        let lease = leases.iter().find(|lease| lease["metadata"]["name"] == "cloud-controller-manager")?;
        lease["spec"]["holderIdentity"].as_str().filter(|holder| !holder.is_empty()).map(str::to_owned)
    }

    /// The Nodes.
    #[must_use]
    pub fn nodes(&self) -> sim_kube::Objects<Node> {
        self.kube.objects("")
    }

    /// The Services.
    #[must_use]
    pub fn services(&self) -> sim_kube::Objects<Service> {
        self.kube.objects(NAMESPACE)
    }

    fn register(&self, number: usize) {
        let name = node_name(number);
        if self.nodes().get(&name).expect("nodes can be read").is_some() {
            // It goes on with the Node that it finds.
            self.set_ready(number, true);
            return;
        }
        let taint = json!({"key": UNINITIALIZED, "value": "true", "effect": "NoSchedule"});
        let mut node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name},
            "spec": {"taints": [taint]}, "status": {"conditions": [ready_condition(true)]}});
        if self.setting.routes {
            // As kube-controller-manager gives it.
            node["spec"]["podCIDR"] = json!(format!("10.244.{number}.0/24"));
            node["spec"]["podCIDRs"] = json!([format!("10.244.{number}.0/24")]);
        }
        self.nodes().create(&serde_json::from_value(node).expect("a Node")).expect("a Node can be made");
    }

    fn set_ready(&self, number: usize, ready: bool) {
        let change = |node: &mut Node| {
            let condition = serde_json::from_value(ready_condition(ready)).expect("a condition");
            node.status.get_or_insert_default().conditions = Some(vec![condition]);
        };
        let _there = self.nodes().edit(&node_name(number), change).is_ok();
    }

    fn exclude(&self, number: usize, excluded: bool) {
        let change = |node: &mut Node| {
            let labels = node.metadata.labels.get_or_insert_default();
            if excluded {
                labels.insert(EXCLUDED.to_owned(), "true".to_owned());
            } else {
                labels.remove(EXCLUDED);
            }
        };
        let _there = self.nodes().edit(&node_name(number), change).is_ok();
    }

    fn has_living_server(&self, number: usize) -> bool {
        let name = node_name(number);
        let lives = |server: &sim_openstack::compute::Server| {
            !matches!(server.transition, Some((sim_openstack::compute::Transition::Delete, _)))
        };
        self.cloud.with(|cloud| {
            cloud.state().compute.servers.iter().any(|server| server.name == name && lives(server))
        })
    }

    fn server_id(&self, number: usize) -> Option<String> {
        let name = node_name(number);
        self.cloud.with(|cloud| {
            cloud
                .state()
                .compute
                .servers
                .iter()
                .find(|server| server.name == name)
                .map(|server| server.id.clone())
        })
    }

    fn remove_server(&self, number: usize) {
        let name = node_name(number);
        let ids: Vec<String> = self.cloud.with(|cloud| {
            let servers = cloud.state().compute.servers.iter().filter(|server| server.name == name);
            servers.map(|server| server.id.clone()).collect()
        });
        for id in ids {
            self.operator(Method::DELETE, &format!("/compute/v2.1/servers/{id}"), &Value::Null);
        }
    }

    fn add_server(&self, number: usize) {
        let new = sim_openstack::compute::NewServer {
            name: node_name(number),
            project_id: self.estate.project.clone(),
            user_id: self.estate.user.clone(),
            flavor_id: self.estate.flavor.clone(),
            image_id: Some(self.estate.image.clone()),
            networks: vec![self.estate.network.clone()],
            security_groups: vec![self.estate.security_group.clone()],
            zone: None,
            metadata: BTreeMap::new(),
        };
        self.cloud.with(|cloud| sim_openstack::compute::boot(cloud.world(), new));
    }

    fn server_action(&self, number: usize, action: &str) {
        if let Some(id) = self.server_id(number) {
            self.operator(
                Method::POST,
                &format!("/compute/v2.1/servers/{id}/action"),
                &json!({action: null}),
            );
        }
    }

    fn create_service(&self, number: usize, spec: &ServiceSpec) {
        let name = service_name(number);
        if self.services().get(&name).expect("services can be read").is_some() {
            return;
        }
        let annotations: BTreeMap<String, &String> =
            spec.annotations.iter().map(|(key, value)| (annotation(key), value)).collect();
        let mut service = json!({"apiVersion": "v1", "kind": "Service",
            "metadata": {"name": name, "annotations": annotations},
            "spec": {"type": "LoadBalancer", "ports": ports(&spec.ports), "selector": {"app": name}}});
        if !spec.source_ranges.is_empty() {
            service["spec"]["loadBalancerSourceRanges"] = json!(spec.source_ranges);
        }
        if spec.local {
            service["spec"]["externalTrafficPolicy"] = json!("Local");
        }
        if spec.affinity {
            service["spec"]["sessionAffinity"] = json!("ClientIP");
        }
        self.services()
            .create(&serde_json::from_value(service).expect("a Service"))
            .expect("a Service can be made");
    }

    fn share(&self, number: usize, with: usize) {
        let name = balancer_name(with);
        let parts = self.cloud.with(|cloud| Parts::of(cloud.state(), &name));
        if let Some(parts) = parts {
            let annotations = vec![("load-balancer-id", parts.balancer)];
            let spec = ServiceSpec {
                ports: vec![("TCP", 7000 + number as u16)],
                annotations,
                ..ServiceSpec::default()
            };
            self.create_service(number, &spec);
        }
    }

    /// The security group of somebody's tool comes onto the ports of all servers.
    fn guard_ports(&self) {
        let body =
            json!({"security_group": {"name": "somebody-elses-guard", "project_id": self.estate.project}});
        let (code, answer) = self.operator(Method::POST, "/network/v2.0/security-groups", &body);
        assert_eq!(code, 201, "{answer}");
        let group = answer["security_group"]["id"].as_str().expect("an id").to_owned();
        let ports: Vec<(String, Vec<String>)> = self.cloud.with(|cloud| {
            let all =
                cloud.state().network.ports.iter().filter(|port| port.device_owner.starts_with("compute:"));
            all.map(|port| (port.id.clone(), port.security_groups.clone())).collect()
        });
        for (id, mut groups) in ports {
            groups.push(group.clone());
            let body = json!({"port": {"security_groups": groups}});
            let (code, answer) = self.operator(Method::PUT, &format!("/network/v2.0/ports/{id}"), &body);
            assert_eq!(code, 200, "{answer}");
            self.guarded.lock().expect("one thread").push((id, group.clone()));
        }
    }

    /// A port that has lost the security group of somebody's tool.
    fn unguarded(&self) -> Option<String> {
        let guarded = self.guarded.lock().expect("one thread");
        self.cloud.with(|cloud| {
            let ports = &cloud.state().network.ports;
            let lost = guarded
                .iter()
                .find(|(id, group)| ports.get(id).is_some_and(|port| !port.security_groups.contains(group)));
            lost.map(|(id, group)| format!("port {id} has lost security group {group}, which is not ours"))
        })
    }

    fn edit_service(&self, number: usize, edit: &Edit) {
        let change = |service: &mut Service| {
            let mut value = serde_json::to_value(&*service).expect("a Service is JSON");
            apply_edit(&mut value, edit);
            *service = serde_json::from_value(value).expect("a Service");
        };
        let _there = self.services().edit(&service_name(number), change).is_ok();
    }

    fn quota(&self, exhausted: bool) {
        let project = self.estate.project.clone();
        self.cloud.with(|cloud| {
            let count =
                i64::try_from(cloud.state().load_balancer.load_balancers.count_of(&project)).unwrap_or(0);
            let load_balancer = if exhausted { count } else { -1 };
            let quota = LoadBalancerQuota { load_balancer, ..LoadBalancerQuota::default() };
            cloud.edit(|state| state.load_balancer.quotas.insert(project.clone(), quota));
        });
    }

    fn meddle(&self, number: usize, meddling: Meddling) {
        let name = balancer_name(number);
        self.meddled.lock().expect("one thread").insert(service_name(number), self.cloud.now());
        let lbaas = "/load-balancer/v2/lbaas";
        let found = self.cloud.with(|cloud| Parts::of(cloud.state(), &name));
        let Some(parts) = found else { return };
        let delete = |path: String| self.operator(Method::DELETE, &path, &Value::Null).0;
        match meddling {
            Meddling::DeleteBalancer => {
                delete(format!("{lbaas}/loadbalancers/{}?cascade=true", parts.balancer));
            }
            Meddling::BalancerError => self.cloud.with(|cloud| {
                cloud.edit(|state| {
                    state.load_balancer.load_balancers.update(&parts.balancer, |balancer| {
                        if balancer.provisioning_status == "ACTIVE" {
                            balancer.provisioning_status = "ERROR".to_owned();
                        }
                    })
                });
            }),
            Meddling::DeleteListener => {
                parts.listener.map(|id| delete(format!("{lbaas}/listeners/{id}")));
            }
            Meddling::DeletePool => {
                parts.pool.map(|id| delete(format!("{lbaas}/pools/{id}")));
            }
            Meddling::DeleteMember => {
                parts.member.map(|(pool, id)| delete(format!("{lbaas}/pools/{pool}/members/{id}")));
            }
            Meddling::AddMember => {
                let member = json!({"member": {"address": "10.10.77.7", "protocol_port": 7}});
                parts.pool.map(|pool| {
                    self.operator(Method::POST, &format!("{lbaas}/pools/{pool}/members"), &member)
                });
            }
            Meddling::DeleteMonitor => {
                parts.monitor.map(|id| delete(format!("{lbaas}/healthmonitors/{id}")));
            }
            Meddling::DetachFloatingIp => {
                let nowhere = json!({"floatingip": {"port_id": null}});
                parts.floating_ip.map(|id| {
                    self.operator(Method::PUT, &format!("/network/v2.0/floatingips/{id}"), &nowhere)
                });
            }
            Meddling::DeleteFloatingIp => {
                parts.floating_ip.map(|id| delete(format!("/network/v2.0/floatingips/{id}")));
            }
            Meddling::GuardPorts => self.guard_ports(),
            Meddling::DeleteRule => {
                let rule = self.cloud.with(|cloud| managed_rule(cloud.state()));
                rule.map(|id| delete(format!("/network/v2.0/security-group-rules/{id}")));
            }
        }
    }

    /// What a person does when a load balancer never ends what it began: the operator of the cloud sets it to ERROR.
    pub fn mend_stuck(&self) -> Vec<String> {
        let now = self.cloud.now();
        let mut since = self.pending.lock().expect("one thread");
        self.cloud.with(|cloud| {
            let all = cloud.state().load_balancer.load_balancers.iter();
            let pending = all.filter(|balancer| balancer.provisioning_status.starts_with("PENDING"));
            let pending: BTreeSet<String> = pending.map(|balancer| balancer.id.clone()).collect();
            since.retain(|id, _since| pending.contains(id));
            let is_stuck = |id: &String| now.duration_since(*since.entry(id.clone()).or_insert(now)) > STUCK;
            let stuck: Vec<String> = pending.into_iter().filter(is_stuck).collect();
            cloud.edit(|state| {
                for id in &stuck {
                    state.load_balancer.load_balancers.update(id, |balancer| {
                        balancer.provisioning_status = "ERROR".to_owned();
                    });
                }
            });
            stuck
        })
    }

    /// What a person does with a load balancer in ERROR that several Services share: nobody may make it anew under them, so the
    /// operator of the cloud fails it over.
    pub fn fail_over_shared(&self) -> Vec<String> {
        let shared = |balancer: &&sim_openstack::load_balancer::LoadBalancer| {
            let users = balancer.tags.iter().filter(|tag| tag.starts_with("kube_service_")).count();
            users > 1 && balancer.provisioning_status == "ERROR"
        };
        self.cloud.with(|cloud| {
            let all = cloud.state().load_balancer.load_balancers.iter();
            let ids: Vec<String> = all.filter(shared).map(|balancer| balancer.id.clone()).collect();
            cloud.edit(|state| {
                let active = |status: &mut String| "ACTIVE".clone_into(status);
                let octavia = &mut state.load_balancer;
                for id in &ids {
                    octavia.load_balancers.update(id, |one| active(&mut one.provisioning_status));
                    let listeners = octavia.listeners.find_ids("loadbalancer_id", id);
                    for listener in listeners {
                        octavia.listeners.update(&listener, |one| active(&mut one.provisioning_status));
                    }
                    let pools: Vec<String> = octavia
                        .pools
                        .iter()
                        .filter(|pool| pool.loadbalancer_id == *id)
                        .map(|pool| pool.id.clone())
                        .collect();
                    for pool in pools {
                        octavia.pools.update(&pool, |one| active(&mut one.provisioning_status));
                        for member in octavia.members.find_ids("pool_id", &pool) {
                            octavia.members.update(&member, |one| active(&mut one.provisioning_status));
                        }
                    }
                }
            });
            ids
        })
    }
}

/// What of a Service's load balancer can be meddled with: the first of each.
struct Parts {
    balancer: String,
    listener: Option<String>,
    pool: Option<String>,
    member: Option<(String, String)>,
    monitor: Option<String>,
    floating_ip: Option<String>,
}

impl Parts {
    fn of(state: &State, name: &str) -> Option<Self> {
        let octavia = &state.load_balancer;
        let balancer = octavia.load_balancers.iter().find(|balancer| balancer.name == name)?;
        let listener = octavia.listeners.iter().find(|listener| listener.loadbalancer_id == balancer.id);
        let pool = octavia.pools.iter().find(|pool| pool.loadbalancer_id == balancer.id);
        let in_pool = |id: &str| pool.is_some_and(|pool| pool.id == id);
        let member = octavia.members.iter().find(|member| in_pool(&member.pool_id));
        let monitor = octavia.monitors.iter().find(|monitor| in_pool(&monitor.pool_id));
        let floating = state
            .network
            .floating_ips
            .iter()
            .find(|floating| floating.port_id.as_deref() == Some(balancer.vip_port_id.as_str()));
        Some(Self {
            balancer: balancer.id.clone(),
            listener: listener.map(|listener| listener.id.clone()),
            pool: pool.map(|pool| pool.id.clone()),
            member: member.map(|member| (member.pool_id.clone(), member.id.clone())),
            monitor: monitor.map(|monitor| monitor.id.clone()),
            floating_ip: floating.map(|floating| floating.id.clone()),
        })
    }
}

fn managed_rule(state: &State) -> Option<String> {
    let ours: BTreeSet<&str> = state
        .network
        .security_groups
        .iter()
        .filter(|group| group.name.starts_with("lb-sg-"))
        .map(|group| group.id.as_str())
        .collect();
    let rule = state
        .network
        .rules
        .iter()
        .find(|rule| ours.contains(rule.security_group_id.as_str()) && rule.direction == "ingress");
    rule.map(|rule| rule.id.clone())
}

fn foreign_in(state: &State) -> Foreign {
    let octavia = &state.load_balancer;
    let theirs = octavia
        .load_balancers
        .iter()
        .filter(|balancer| balancer.name == "somebody-elses" && balancer.provisioning_status == "ACTIVE");
    let mut balancers = BTreeMap::new();
    for balancer in theirs {
        balancers.insert(balancer.id.clone(), format!("{} {:?}", balancer.name, balancer.tags));
        for listener in octavia.listeners.iter().filter(|one| one.loadbalancer_id == balancer.id) {
            balancers.insert(listener.id.clone(), format!("{} {}", listener.name, listener.protocol_port));
        }
        for pool in octavia.pools.iter().filter(|pool| pool.loadbalancer_id == balancer.id) {
            let members = octavia.members.iter().filter(|member| member.pool_id == pool.id).count();
            balancers.insert(pool.id.clone(), format!("{} {members}", pool.name));
        }
    }
    let floating = state.network.floating_ips.iter().filter(|one| one.description == "somebody else's");
    let groups = state.network.security_groups.iter();
    let groups =
        groups.filter(|group| !group.name.starts_with("lb-sg-") && group.name != "somebody-elses-guard");
    let network = floating
        .map(|one| (one.id.clone(), format!("{:?} {:?}", one.port_id, one.tags)))
        .chain(groups.map(|group| {
            let rules = state.network.rules.iter().filter(|rule| rule.security_group_id == group.id).count();
            (group.id.clone(), format!("{} {rules} {:?}", group.name, group.tags))
        }))
        .collect();
    Foreign { balancers, network }
}

/// The identifier, which is no secret.
fn credential_id(secret: &str) -> String {
    format!("credential-{}", CANARIES.iter().position(|canary| *canary == secret).unwrap_or_default())
}

/// An application credential for each of the secrets.
fn credentials(
    state: &State,
    estate: &Estate,
) -> Vec<(String, sim_openstack::identity::ApplicationCredential)> {
    let roles: Vec<String> = state
        .identity
        .assignments
        .iter()
        .filter(|(user, project, _)| *user == estate.user && *project == estate.project)
        .map(|(_, _, role)| role.clone())
        .collect();
    let credential = |secret: &str| {
        let id = credential_id(secret);
        let credential = sim_openstack::identity::ApplicationCredential {
            id: id.clone(),
            name: id.clone(),
            secret: secret.to_owned(),
            user_id: estate.user.clone(),
            project_id: estate.project.clone(),
            roles: roles.clone(),
            unrestricted: None,
            description: None,
            expires_at: None,
        };
        (id, credential)
    };
    CANARIES.into_iter().map(credential).collect()
}

fn give_password(cloud: &mut Cloud, estate: &Estate, password: &str) {
    cloud.edit(|state| {
        if let Some(user) = state.identity.users.get_mut(&estate.user) {
            password.clone_into(&mut user.password);
        }
    });
}

fn operator_token(cloud: &mut Cloud) -> String {
    let body = json!({"auth": {"identity": {"methods": ["password"], "password": {"user": {"name": ADMIN.user,
        "domain": {"name": "Default"}, "password": ADMIN.password}}},
        "scope": {"project": {"name": ADMIN.project, "domain": {"name": "Default"}}}}});
    let (code, headers, answer) = send(cloud, Method::POST, "/identity/v3/auth/tokens", None, &body);
    assert_eq!(code, 201, "the operator cannot log in: {answer}");
    headers.get("x-subject-token").and_then(|token| token.to_str().ok()).expect("a token").to_owned()
}

fn send(
    cloud: &mut Cloud,
    method: Method,
    path: &str,
    token: Option<&str>,
    body: &Value,
) -> (u16, http::HeaderMap, Value) {
    let mut request = Request::builder().method(method).uri(format!("http://openstack.sim{path}"));
    request = request.header("content-type", "application/json");
    if let Some(token) = token {
        request = request.header("x-auth-token", token);
    }
    let bytes = if body.is_null() { Bytes::new() } else { Bytes::from(body.to_string()) };
    let now = cloud.now();
    match cloud.handle(request.body(bytes).expect("a request"), now) {
        Outcome::Reply(answer) | Outcome::Slow(_, answer) => {
            let (parts, body) = answer.into_parts();
            (parts.status.as_u16(), parts.headers, serde_json::from_slice(&body).unwrap_or(Value::Null))
        }
        Outcome::Silence | Outcome::Disconnect => panic!("the operator is never cut off"),
    }
}

fn apply_edit(service: &mut Value, edit: &Edit) {
    match edit {
        Edit::Ports(list) => service["spec"]["ports"] = ports(list),
        Edit::Annotate(key, value) => {
            let annotations = &mut service["metadata"]["annotations"];
            if annotations.is_null() {
                *annotations = json!({});
            }
            match value {
                Some(value) => annotations[annotation(key)] = json!(value),
                None => {
                    annotations.as_object_mut().map(|map| map.remove(&annotation(key)));
                }
            }
        }
        Edit::SourceRanges(ranges) => service["spec"]["loadBalancerSourceRanges"] = json!(ranges),
        Edit::Local(local) => {
            service["spec"]["externalTrafficPolicy"] = json!(if *local { "Local" } else { "Cluster" });
        }
        Edit::Affinity(affinity) => {
            service["spec"]["sessionAffinity"] = json!(if *affinity { "ClientIP" } else { "None" });
            if !affinity {
                service["spec"].as_object_mut().map(|spec| spec.remove("sessionAffinityConfig"));
            }
        }
        Edit::IsBalanced(balanced) => {
            service["spec"]["type"] = json!(if *balanced { "LoadBalancer" } else { "ClusterIP" });
            if !balanced {
                let gone = [
                    "externalTrafficPolicy",
                    "healthCheckNodePort",
                    "allocateLoadBalancerNodePorts",
                    "loadBalancerSourceRanges",
                ];
                let spec = service["spec"].as_object_mut().expect("a spec");
                for key in gone {
                    spec.remove(key);
                }
                for port in spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
                    port.as_object_mut().map(|port| port.remove("nodePort"));
                }
            }
        }
    }
}

fn ports(list: &[(&str, u16)]) -> Value {
    list.iter()
        .map(|(protocol, port)| json!({"name": format!("p{}{port}", protocol.to_lowercase()), "protocol": protocol, "port": port}))
        .collect()
}

/// The whole name of an annotation.
#[must_use]
pub fn annotation(key: &str) -> String {
    if key.contains('/') { key.to_owned() } else { format!("{ANNOTATION}{key}") }
}

fn ready_condition(ready: bool) -> Value {
    json!({"type": "Ready", "status": if ready { "True" } else { "Unknown" }, "reason": "Kubelet", "message": ""})
}

/// The name of a Node.
#[must_use]
pub fn node_name(number: usize) -> String {
    format!("node-{number}")
}

/// The name of a Service.
#[must_use]
pub fn service_name(number: usize) -> String {
    format!("web-{number}")
}

/// The name of a Service's load balancer.
#[must_use]
pub fn balancer_name(number: usize) -> String {
    format!("kube_service_kubernetes_{NAMESPACE}_{}", service_name(number))
}
