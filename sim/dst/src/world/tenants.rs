//! Other tenants of the cluster, one of them hostile, and what belongs to another cluster or to no Service in the same project.
//!
//! Services of namespace `shop` are left alone by their users, so nothing of theirs may change. Services of namespace `attacker` ask for
//! what belongs to others, in every way that a user of a namespace has.

use k8s_openapi::api::core::v1::Service;
use serde_json::{Value, json};
use sim_openstack::State;
use sim_openstack::load_balancer::LoadBalancer;
use sim_openstack::network::FloatingIp;

use super::property::{GIVEN, JOINED, NAMED, OWNERLESS, PINNED, PINNED_INSIDE, REACHED, SPARE, UNMANAGED};
use super::{NAMESPACE, World, annotation, service_name};
use crate::action::{Attack, Shop, Target, TenantAction};

/// The namespace of the Services that nobody edits.
pub(crate) const SHOP: &str = "shop";

/// The namespace of the hostile tenant.
pub(crate) const ATTACKER: &str = "attacker";

/// How many Services the hostile tenant has in the older attacks. As many are in the other cluster under the same names.
pub(crate) const ATTACKERS: usize = 2;

/// The highest number that a Service of the hostile tenant has.
pub(crate) const LAST_ATTACKER: usize = ATTACKERS + 5;

/// The host name in the status of [`Shop::Named`].
const HOST_NAME: &str = "shop.example.org";

const INTERNAL: &str = "service.beta.kubernetes.io/openstack-internal-load-balancer";

impl Shop {
    fn name(self) -> &'static str {
        match self {
            Self::Front => "front",
            Self::Archive => "archive",
            Self::Given => "given",
            Self::Pinned => "pinned",
            Self::Inside => "inside",
            Self::PinnedInside => "pinned-inside",
            Self::Named => "named",
        }
    }

    fn is_internal(self) -> bool {
        matches!(self, Self::Inside | Self::PinnedInside)
    }
}

/// The names that Services of the tenants have in a run, by namespace.
pub(crate) fn tenant_names() -> impl Iterator<Item = (&'static str, String)> {
    let shops = [
        Shop::Front,
        Shop::Archive,
        Shop::Given,
        Shop::Pinned,
        Shop::Inside,
        Shop::PinnedInside,
        Shop::Named,
    ];
    let attackers = (1..=LAST_ATTACKER).map(|number| (ATTACKER, attack_name(number)));
    shops.into_iter().map(|shop| (SHOP, shop.name().to_owned())).chain(attackers)
}

/// Whether this is a Service of namespace `shop`.
pub(crate) fn is_of_a_shop(service: &Value) -> bool {
    service["metadata"]["namespace"] == SHOP
}

/// The name of a Service of the hostile tenant.
pub(super) fn attack_name(number: usize) -> String {
    format!("attack-{number}")
}

fn service_of(target: Target) -> Option<(&'static str, String)> {
    match target {
        Target::Shop(shop) => Some((SHOP, shop.name().to_owned())),
        Target::Web(number) => Some((NAMESPACE, service_name(number))),
        Target::OtherCluster
        | Target::Joined
        | Target::Ownerless
        | Target::Unmanaged
        | Target::NodePort
        | Target::RouterPort => None,
    }
}

/// The tag of a Service of this cluster, which is the name of its load balancer as well.
fn tag_of(target: Target) -> Option<String> {
    service_of(target).map(|(namespace, name)| format!("kube_service_kubernetes_{namespace}_{name}"))
}

fn balancer<'s>(state: &'s State, name: &str) -> Option<&'s LoadBalancer> {
    state.load_balancer.load_balancers.iter().find(|one| one.name == name)
}

fn described<'s>(state: &'s State, description: &str) -> Option<&'s FloatingIp> {
    state.network.floating_ips.iter().find(|one| one.description == description)
}

/// The address of the floating IP that a person allocated for a shop.
fn given_address(state: &State) -> Option<String> {
    described(state, GIVEN).map(|one| one.floating_ip_address.clone())
}

/// The port that a person created for a shop.
fn pinned_port(state: &State) -> Option<String> {
    port_named(state, PINNED)
}

fn port_named(state: &State, name: &str) -> Option<String> {
    state.network.ports.iter().find(|port| port.name == name).map(|port| port.id.clone())
}

/// The port of a router in the network of the servers.
fn router_port(state: &State) -> Option<String> {
    let mut ports = state.network.ports.iter();
    ports.find(|port| port.device_owner == "network:router_interface").map(|port| port.id.clone())
}

/// What a Service of the hostile tenant says.
struct Claims {
    annotations: Vec<(String, String)>,
    load_balancer_ip: Option<String>,
}

impl World {
    /// The name of the load balancer that a Service of the hostile tenant means.
    fn balancer_name(&self, number: usize, target: Target) -> String {
        match target {
            Target::Unmanaged => UNMANAGED.to_owned(),
            Target::Joined => JOINED.to_owned(),
            Target::Ownerless => OWNERLESS.to_owned(),
            Target::Shop(_) | Target::Web(_) => tag_of(target).unwrap_or_default(),
            Target::NodePort | Target::RouterPort => String::new(),
            Target::OtherCluster => {
                format!("kube_service_{}_{ATTACKER}_{}", self.other_cluster(), attack_name(number))
            }
        }
    }

    /// The floating IP that a Service of the hostile tenant means.
    fn floating_ip<'s>(&self, state: &'s State, number: usize, target: Target) -> Option<&'s FloatingIp> {
        match (target, service_of(target)) {
            (Target::Shop(Shop::Given), _) => described(state, GIVEN),
            (Target::Shop(Shop::Named), _) => described(state, NAMED),
            (Target::NodePort, _) => described(state, REACHED),
            (_, Some((namespace, name))) => described(
                state,
                &format!(
                    "Floating IP for Kubernetes external service {namespace}/{name} from cluster kubernetes"
                ),
            ),
            (Target::OtherCluster, None) if !self.setting.same_cluster_name => described(state, SPARE),
            (_, None) => {
                let at = &balancer(state, &self.balancer_name(number, target))?.vip_port_id;
                state.network.floating_ips.iter().find(|one| one.port_id.as_ref() == Some(at))
            }
        }
    }

    pub(super) fn tenant(&self, action: TenantAction) {
        match action {
            TenantAction::Open(shop) => self.open(shop),
            TenantAction::Close(shop) => {
                let _gone = self.kube.objects::<Service>(SHOP).delete(shop.name()).is_ok();
            }
            TenantAction::LoseBalancer(shop) => {
                let name = self.balancer_name(0, Target::Shop(shop));
                let there = self.cloud.with(|cloud| balancer(cloud.state(), &name).map(|one| one.id.clone()));
                if let Some(id) = there {
                    self.delete_balancer(&id);
                }
            }
            TenantAction::ReachNode => self.reach_node(),
            TenantAction::Attack(number, attack) => self.attack(number, attack),
            TenantAction::Withdraw(number) => {
                let _gone = self.kube.objects::<Service>(ATTACKER).delete(&attack_name(number)).is_ok();
            }
        }
    }

    fn open(&self, shop: Shop) {
        let name = shop.name();
        let services = self.kube.objects::<Service>(SHOP);
        if services.get(name).expect("services can be read").is_some() {
            return;
        }
        let mut service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name},
            "spec": {"type": "LoadBalancer", "selector": {"app": name},
                "ports": [{"name": "http", "protocol": "TCP", "port": 80}]}});
        let state = |what: fn(&State) -> Option<String>| self.cloud.with(|cloud| what(cloud.state()));
        match shop {
            Shop::Front => {}
            Shop::Archive => {
                service["metadata"]["annotations"] = json!({annotation("keep-floatingip"): "true"});
                self.kept.lock().insert(name.to_owned());
            }
            Shop::Given => service["spec"]["loadBalancerIP"] = json!(state(given_address)),
            Shop::Pinned => {
                service["metadata"]["annotations"] = json!({annotation("port-id"): state(pinned_port)});
            }
            Shop::Inside => service["metadata"]["annotations"] = json!({INTERNAL: "true"}),
            Shop::PinnedInside => {
                let port = || state(|state| port_named(state, PINNED_INSIDE));
                if port().is_none() {
                    self.plant_port(PINNED_INSIDE);
                }
                service["metadata"]["annotations"] = json!({INTERNAL: "true", annotation("port-id"): port()});
            }
            Shop::Named => {
                let address =
                    || state(|state| described(state, NAMED).map(|one| one.floating_ip_address.clone()));
                if address().is_none() {
                    self.plant_floating_ip_at(NAMED, None);
                }
                service["metadata"]["annotations"] = json!({annotation("hostname"): HOST_NAME});
                service["spec"]["loadBalancerIP"] = json!(address());
            }
        }
        services.create(&serde_json::from_value(service).expect("a Service")).expect("a Service can be made");
    }

    /// Once in a run: the floating IP stays there.
    fn reach_node(&self) {
        let mut reached = self.reached.lock();
        let Some(server) = self.server_id(1).filter(|_server| reached.is_none()) else { return };
        let port = self.cloud.with(|cloud| {
            cloud
                .state()
                .network
                .ports
                .iter()
                .find(|port| port.device_id == server)
                .map(|port| port.id.clone())
        });
        *reached = port.map(|port| (self.plant_floating_ip_at(REACHED, Some(&port)), port));
    }

    /// What became of the floating IP that a person attached to a server, if it is not as it was. It leads nowhere when the server is gone.
    #[must_use]
    pub fn server_is_reached_otherwise(&self) -> Option<String> {
        let (id, port) = self.reached.lock().clone()?;
        self.cloud.with(|cloud| {
            let network = &cloud.state().network;
            let Some(floating) = network.floating_ips.get(&id) else {
                return Some(format!("floating IP {id} of a server is deleted"));
            };
            let is_changed = floating.port_id.as_ref() != Some(&port) && network.ports.get(&port).is_some();
            let is_changed = is_changed || floating.description != REACHED;
            is_changed.then(|| format!("floating IP {id} of a server is {floating:?}"))
        })
    }

    /// The address that an internal shop shows.
    fn shown_inside(&self, target: Target) -> Option<String> {
        let Target::Shop(shop) = target else { return None };
        let services = self.kube.stored("", "services");
        let of_shop = |one: &&Value| is_of_a_shop(one) && one["metadata"]["name"] == shop.name();
        let service = services.iter().find(of_shop).filter(|_service| shop.is_internal())?;
        service["status"]["loadBalancer"]["ingress"][0]["ip"].as_str().map(str::to_owned)
    }

    /// Nobody can name what is not there.
    fn attack(&self, number: usize, attack: Attack) {
        let Some(claims) = self.claims(number, attack) else { return };
        let name = attack_name(number);
        let services = self.kube.objects::<Service>(ATTACKER);
        if services.get(&name).expect("services can be read").is_none() {
            let port = 7100 + number;
            let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name},
                "spec": {"type": "LoadBalancer", "selector": {"app": name}, "loadBalancerIP": claims.load_balancer_ip,
                    "ports": [{"name": "tcp", "protocol": "TCP", "port": port}]}});
            let mut service: Service = serde_json::from_value(service).expect("a Service");
            service.metadata.annotations = Some(claims.annotations.into_iter().collect());
            services.create(&service).expect("a Service can be made");
            return;
        }
        let _there = services
            .edit(&name, |service| {
                self.note_left_behind(service, &claims);
                service.metadata.annotations.get_or_insert_default().extend(claims.annotations);
                service.spec.get_or_insert_default().load_balancer_ip = claims.load_balancer_ip;
            })
            .is_ok();
    }

    /// A known gap, as with OCCM: a Service that names another load balancer in `load-balancer-id` stays on the one that it named before.
    fn note_left_behind(&self, service: &Service, claims: &Claims) {
        let key = annotation("load-balancer-id");
        let before = service.metadata.annotations.as_ref().and_then(|all| all.get(&key));
        let after = claims.annotations.iter().find(|(name, _)| *name == key).map(|(_, id)| id);
        let (Some(after), Some(name)) = (after, &service.metadata.name) else { return };
        let tag = format!("kube_service_kubernetes_{ATTACKER}_{name}");
        // The Service's own load balancer is not excused: it is deleted with the Service.
        let is_own = |id: &String| {
            self.cloud.with(|cloud| {
                cloud.state().load_balancer.load_balancers.get(id).is_some_and(|one| one.name == tag)
            })
        };
        let left = before.filter(|id| *id != after && !is_own(id)).cloned();
        self.left_behind.lock().extend(left.map(|id| (tag.clone(), id)));
    }

    fn claims(&self, number: usize, attack: Attack) -> Option<Claims> {
        let shown = match attack {
            Attack::VipAddress(target) | Attack::InternalIp(target) => self.shown_inside(target),
            _ => None,
        };
        self.cloud.with(|cloud| {
            let state = cloud.state();
            let address =
                |target| self.floating_ip(state, number, target).map(|one| one.floating_ip_address.clone());
            let named = |target| balancer(state, &self.balancer_name(number, target));
            let mut claims = Claims { annotations: Vec::new(), load_balancer_ip: None };
            let mut annotate = |key: &str, value: String| claims.annotations.push((annotation(key), value));
            match attack {
                Attack::FloatingIp(target) => {
                    annotate("loadbalancer.bowline.dev/floating-ip", address(target)?);
                }
                Attack::LoadBalancerIp(target) => claims.load_balancer_ip = Some(address(target)?),
                Attack::Join(target) => annotate("load-balancer-id", named(target)?.id.clone()),
                Attack::JoinForged(target) => {
                    let balancer = named(target)?;
                    annotate("load-balancer-id", balancer.id.clone());
                    annotate("load-balancer-address", balancer.vip_address.clone());
                }
                Attack::PortId(Target::Shop(Shop::Pinned)) => annotate("port-id", pinned_port(state)?),
                Attack::PortId(Target::Shop(Shop::PinnedInside)) => {
                    annotate("port-id", port_named(state, PINNED_INSIDE)?);
                }
                Attack::PortId(Target::NodePort) => {
                    annotate("port-id", described(state, REACHED)?.port_id.clone()?);
                }
                Attack::PortId(Target::RouterPort) => annotate("port-id", router_port(state)?),
                Attack::PortId(target) => annotate("port-id", named(target)?.vip_port_id.clone()),
                Attack::VipAddress(target) => {
                    let vip = shown.or_else(|| Some(named(target)?.vip_address.clone()));
                    annotate("loadbalancer.bowline.dev/vip-address", vip?);
                }
                Attack::InternalIp(target) => {
                    let vip = shown.or_else(|| Some(named(target)?.vip_address.clone()));
                    annotate(INTERNAL, "true".to_owned());
                    claims.load_balancer_ip = Some(vip?);
                }
                Attack::Tags(target) => {
                    let forged =
                        tag_of(target).unwrap_or_else(|| "bowline-cluster:0b7e9a52-other".to_owned());
                    for key in ["load-balancer-tags", "listener-tags", "pool-tags"] {
                        annotate(key, forged.clone());
                    }
                }
            }
            Some(claims)
        })
    }
}
