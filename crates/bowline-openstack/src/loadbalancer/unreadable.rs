//! What counts in place of values that cannot be read, for a Service that has a load balancer. Pure.
//!
//! What decides is the row of the annotation, see [`Fallback`]. Whether the Service has a load balancer is decided by
//! [`is_served`](super::tenancy::rules::is_served): nothing that a user of a namespace writes proves it.

use bowline_cloud::ServiceView;
use openstack_client::load_balancer::{Listener, LoadBalancer};

use super::annotations::Unreadable;
use super::annotations::{Fallback, Kind, LB_METHOD, LOAD_BALANCER_ADDRESS, Place, TLS_CONTAINER_REF};
use super::found::Tree;
use super::names::{LOAD_BALANCER_PREFIX, Names};
use super::tenancy::rules;

/// The load balancer that a Service has.
#[derive(Debug, Clone, Copy)]
pub struct Serving<'a> {
    /// What the Service's things are called.
    pub names: &'a Names,
    /// The load balancer.
    pub balancer: &'a LoadBalancer,
    /// What hangs on it, if that was read.
    pub tree: Option<&'a Tree>,
}

impl<'a> Serving<'a> {
    /// The listeners of the Service: those with its tag, and on its own load balancer those that no other Service has tagged. What other
    /// Services and people have on the load balancer proves nothing about this Service.
    pub fn own_listeners(self) -> impl Iterator<Item = &'a Listener> {
        let (tag, is_owner) = (self.names.tag(), rules::is_owner(self.names, self.balancer));
        let is_own = move |listener: &&Listener| {
            let mut of_services =
                listener.tags.iter().filter(|tag| tag.starts_with(LOAD_BALANCER_PREFIX)).peekable();
            (is_owner && of_services.peek().is_none()) || of_services.any(|other| *other == tag)
        };
        self.tree.into_iter().flat_map(|tree| &tree.listeners).filter(is_own)
    }

    /// Whether a member of the Service is in this subnet.
    #[must_use]
    pub fn has_members_in(self, subnet: &str) -> bool {
        let Some(tree) = self.tree else { return false };
        let pools = self.own_listeners().flat_map(|listener| tree.pools_of(listener));
        let mut members = pools.flat_map(|found| found.members.to_vec());
        members.any(|member| member.subnet_id.as_ref().is_some_and(|id| id.as_str() == subnet))
    }
}

/// Makes the Service say this at a place; nothing if it shall say nothing there.
pub fn replace(service: &mut ServiceView, place: Place, value: Option<String>) {
    match (place, value) {
        (Place::Annotation(key), Some(value)) => service.annotations.insert(key.to_owned(), value),
        (Place::Annotation(key), None) => service.annotations.remove(key),
        (Place::LoadBalancerIp, value) => service.load_balancer_ip = value.map(Into::into),
    }
}

impl Unreadable {
    /// Whether [`Unreadable::substitute`] needs to know what hangs on the load balancer.
    #[must_use]
    pub fn needs_tree(&self) -> bool {
        self.place.fallback() == Fallback::InForce
    }

    /// What the Service says in its place, as far as that is known without its load balancer: enough to look for that.
    #[must_use]
    pub fn preliminary(&self) -> Option<String> {
        match self.place.fallback() {
            Fallback::Value(value) => Some(value.to_owned()),
            _ => None,
        }
    }

    /// What the Service says in its place; none if it counts as not said.
    #[must_use]
    pub fn substitute(&self, service: &ServiceView, serving: Serving<'_>) -> Option<String> {
        match self.place.fallback() {
            Fallback::Unset | Fallback::Refusal => None,
            Fallback::Value(value) => Some(value.to_owned()),
            Fallback::Shown => Some(is_shown_as_internal(service, serving).to_string()),
            Fallback::InForce => in_force(self.place, service, serving),
        }
    }

    /// What the owner is told: what cannot be read, and what counts until that is corrected.
    #[must_use]
    pub fn told(&self, substitute: Option<&str>) -> String {
        let counts = match substitute {
            Some("") => "none counts, as the load balancer has it".to_owned(),
            Some(value) => format!("{value:?} counts"),
            None => "it counts as not set".to_owned(),
        };
        format!("{}; the Service keeps its load balancer, and until it is corrected {counts}", self.message)
    }
}

/// Whether a Service with a load balancer of its own shows the address of that, and no floating IP. Where only a host name is shown,
/// the annotation tells the address: a user who changes that chooses between two things that he may choose anyway.
fn is_shown_as_internal(service: &ServiceView, serving: Serving<'_>) -> bool {
    let Serving { names, balancer, .. } = serving;
    let is_own = balancer.name == names.load_balancer() || balancer.name == names.legacy_load_balancer();
    let noted = || service.annotations.get(LOAD_BALANCER_ADDRESS.key)?.parse().ok();
    let shown = service.status.ingress.iter().find_map(|ingress| ingress.ip).or_else(noted);
    let vip = balancer.vip_address.filter(std::net::IpAddr::is_ipv4);
    is_own && shown.is_some() && shown == vip
}

/// What the first listener of the Service has, or its pool.
fn in_force(place: Place, service: &ServiceView, serving: Serving<'_>) -> Option<String> {
    let tree = serving.tree?;
    let ports = || service.ports.iter().map(|port| port.port);
    let is_wanted = |listener: &&Listener| ports().any(|port| port == listener.protocol_port);
    let listeners: Vec<&Listener> = serving.own_listeners().filter(is_wanted).collect();
    match place {
        Place::Annotation(key) if key == TLS_CONTAINER_REF.key => {
            let mut certificates = listeners.iter().filter_map(|one| one.default_tls_container_ref.clone());
            Some(certificates.find(|text| !text.is_empty()).unwrap_or_default())
        }
        Place::Annotation(key) if key == LB_METHOD.key => {
            let pool = listeners.iter().find_map(|listener| tree.pools_of(listener).next())?;
            let Kind::Word(words) = LB_METHOD.kind else { return None };
            let method = pool.pool.lb_algorithm.as_str();
            words.contains(&method).then(|| method.to_owned())
        }
        _ => None,
    }
}
