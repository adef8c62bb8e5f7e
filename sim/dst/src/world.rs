//! A cluster and a cloud, both simulated, and what is done to them: by people and kubelets (`people`), by the cloud's operator and
//! others (`operator`, `strangers`), by OpenStack's own manager, which may have run before (`occm`), by other tenants
//! of the cluster (`tenants`), beside what belongs to others (`foreign`, `property`). Nothing of Bowline is here.

mod excuses;
mod foreign;
mod occm;
mod operator;
mod people;
mod property;
mod strangers;
mod tenants;
mod traffic;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use http::{Method, StatusCode};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Service};
use parking_lot::Mutex;
use serde_json::Value;
use sim_kube::SimKube;
use sim_openstack::{ADMIN, Cloud, Config, Estate, EstateSize, Latencies, MEMBER, SimService, State, seed};

use crate::action::Action;
use crate::case::{Provider, Setting};
use crate::net::Net;
use crate::replica::CloudConf;

pub use self::excuses::Excused;
use self::foreign::Foreign;
pub use self::occm::TURN;
use self::property::Property;
use self::strangers::Strangers;
pub(crate) use self::strangers::{ADDED_BY_HAND, is_added_by_hand};
pub(crate) use self::tenants::{ATTACKER, ATTACKERS, LAST_ATTACKER, SHOP, is_of_a_shop, tenant_names};
use self::traffic::Traffic;

/// When every run begins.
const START: &str = "2026-11-15T08:00:00Z";

/// The taint of Nodes that no cloud-controller-manager has seen yet.
pub const UNINITIALIZED: &str = "node.cloudprovider.kubernetes.io/uninitialized";

/// The Lease by which a manager leads.
pub const LEADER_LEASE: &str = "cloud-controller-manager";

/// The label that keeps traffic away from a Node.
pub const EXCLUDED: &str = "node.kubernetes.io/exclude-from-external-load-balancers";

/// How the annotations of the provider begin.
pub const ANNOTATION: &str = "loadbalancer.openstack.org/";

/// The namespace of all Services.
pub const NAMESPACE: &str = "default";

/// The highest number that a Service of [`NAMESPACE`] has in any run.
pub(crate) const SERVICES: usize = 13;

/// Secrets that must be seen nowhere: the passwords, or secrets of application credentials, before and after the change.
pub const CANARIES: [&str; 2] = ["canary-secret-1f7e", "canary-secret-2c9b"];

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
    /// What belongs to another cluster, or to no Service, in a run with tenants.
    property: Property,
    /// What people added to load balancers of Services.
    strangers: Mutex<Strangers>,
    /// Which load balancers pass traffic.
    traffic: Mutex<Traffic>,
    /// The floating IP that a person attached to the port of a server: its id and that of the port.
    reached: Mutex<Option<(String, String)>>,
    /// Load balancers that a Service joined before it named another one; see [`Excused::left_behind`].
    left_behind: Mutex<BTreeSet<(String, String)>>,
    /// The Services that ever said that their floating IP shall be kept.
    kept: Mutex<BTreeSet<String>>,
    /// Floating IPs that lost their load balancer before anybody was told of them; see [`World::note_strays`].
    strays: Mutex<BTreeMap<String, String>>,
    /// When somebody deleted the Lease.
    lease_deleted: Mutex<Option<Timestamp>>,
    lease_seen: Mutex<BTreeSet<String>>,
    /// When somebody last changed what belongs to a Service behind its back.
    meddled: Mutex<BTreeMap<String, Timestamp>>,
    /// Since when a load balancer is seen at work.
    pending: Mutex<BTreeMap<String, Timestamp>>,
    /// Ports with a security group of somebody else's.
    guarded: Mutex<Vec<(String, String)>>,
    /// The Services whose load balancer or address may become another: people wanted it, or somebody changed it behind our back.
    moved: Mutex<BTreeSet<String>>,
    /// The Services that were made to share the load balancer of another.
    guests: Mutex<BTreeSet<String>>,
    /// What OpenStack's own manager had published when it ended: Service, load balancer and addresses.
    inherited: Mutex<Vec<occm::Inherited>>,
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
            property: Property::default(),
            strangers: Mutex::default(),
            traffic: Mutex::default(),
            reached: Mutex::default(),
            left_behind: Mutex::default(),
            kept: Mutex::default(),
            strays: Mutex::default(),
            lease_deleted: Mutex::default(),
            lease_seen: Mutex::default(),
            meddled: Mutex::default(),
            pending: Mutex::default(),
            guarded: Mutex::default(),
            moved: Mutex::default(),
            guests: Mutex::default(),
            inherited: Mutex::default(),
        };
        world.write_conf(CANARIES[0]);
        world.foreign = world.plant_foreign();
        if world.setting.tenants {
            world.property = world.plant_property();
        }
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

    /// A request of the cloud's operator.
    pub fn operator(&self, method: Method, path: &str, body: &Value) -> (u16, Value) {
        let (status, body) = self.cloud.with(|cloud| cloud.ask(ADMIN, method, path, body));
        assert_ne!(status, StatusCode::UNAUTHORIZED, "the operator cannot log in: {body}");
        (status.as_u16(), body)
    }

    /// Does what an action says.
    pub fn perform(&self, action: &Action, net: &Net) {
        self.note_kept(action);
        self.note_moved(action);
        self.note_traffic();
        match action {
            // Where somebody has deleted the server meanwhile, there is no kubelet.
            Action::Join(number) if !self.has_living_server(*number) => {}
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
            Action::Readdress(number) => self.readdress(*number),
            Action::DeleteNode(number) => {
                let _gone = self.nodes().delete(&node_name(*number)).is_ok();
            }
            // Without a server there is no kubelet that could say so.
            Action::Ready(number, ready) => {
                self.set_ready(*number, *ready && self.has_living_server(*number));
            }
            Action::Metal(ready) => self.metal(*ready),
            Action::Exclude(number, excluded) => self.exclude(*number, *excluded),
            Action::Create(number, spec) => self.create_service(*number, spec),
            Action::Edit(number, edit) => self.edit_service(*number, edit),
            Action::Share(number, with) => self.share(*number, *with),
            Action::Delete(number) => {
                let _gone = self.services().delete(&service_name(*number)).is_ok();
            }
            Action::Meddle(number, meddling) => self.meddle(*number, *meddling),
            Action::Tenant(action) => self.tenant(*action),
            Action::BalancersInError { offline } => self.all_fail(*offline),
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
            Action::DeleteLease if self.has_newcomers(net) => {
                net.tell("people", "leave the Lease alone while a process starts", "");
            }
            Action::DeleteLease => {
                *self.lease_deleted.lock() = Some(self.cloud.now());
                let path =
                    format!("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/{LEADER_LEASE}");
                self.kube.request(Method::DELETE, &path, &Value::Null);
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

    /// Who holds the Lease.
    #[must_use]
    pub fn leader(&self) -> Option<String> {
        let leases = self.kube.stored("coordination.k8s.io", "leases");
        let lease = leases.iter().find(|lease| lease["metadata"]["name"] == LEADER_LEASE)?;
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

/// The whole name of an annotation.
#[must_use]
pub fn annotation(key: &str) -> String {
    if key.contains('/') { key.to_owned() } else { format!("{ANNOTATION}{key}") }
}

/// The name of a Node.
#[must_use]
pub fn node_name(number: usize) -> String {
    format!("node-{number}")
}

/// The Node of a physical machine, which is in no cloud.
pub const METAL: &str = "metal-1";

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
