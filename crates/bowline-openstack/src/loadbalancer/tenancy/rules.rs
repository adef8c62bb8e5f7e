//! Checks the values that a Service requests against the rules of its namespace, with one table row per rule. Pure.
//!
//! The rules apply to what the Service itself sets: its annotations and `spec.loadBalancerIP`. Values from cloud.conf are the choice of the
//! administrator. A rule applies to requests and never removes what a Service has. [`class`] determines whether a class is in force.

pub mod class;

use std::net::IpAddr;

use bowline_cloud::ServiceView;
use openstack_client::load_balancer::LoadBalancer;

use crate::config::tenancy::{Allowed, NONE, TenancySection, allows, allows_address, allows_exactly};
use crate::config::{CloudConf, Tenancy};
use crate::loadbalancer::annotations::{self, Annotation, Place, clipped};
use crate::loadbalancer::found::Found;
use crate::loadbalancer::intent::Notice;
use crate::loadbalancer::names::Names;
use crate::loadbalancer::tenancy::sharing;
use crate::loadbalancer::unreadable::Serving;
use crate::loadbalancer::wanted::Wanted;

/// How a value is compared with the allowed values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compared {
    /// `*` stands for any characters.
    Pattern,
    /// Like `Pattern`, and the empty value of the annotation is checked, too, because it overrides cloud.conf.
    PatternOrEmpty,
    /// Exact match.
    Exactly,
    /// As an IP address in one of the networks.
    Address,
}

/// A rule about an annotation.
#[derive(Debug, Clone, Copy)]
pub struct RuleRow {
    /// Its key in `[Tenancy]`.
    pub key: &'static str,
    /// The annotation that it limits.
    pub annotation: Annotation,
    /// How its value is compared.
    pub compared: Compared,
    /// The values that a section allows.
    pub allowed: fn(&TenancySection) -> &Allowed,
}

macro_rules! rows {
    ($($key:literal $annotation:ident $compared:ident $field:ident;)*) => {
        /// All rules about annotations.
        pub static RULES: &[RuleRow] = &[$(RuleRow {
            key: $key,
            annotation: annotations::$annotation,
            compared: Compared::$compared,
            allowed: |section| &section.$field,
        }),*];
    };
}

rows! {
    "floating-ip" FLOATING_IP Address floating_ip;
    "floating-network-id" FLOATING_NETWORK_ID PatternOrEmpty floating_network_id;
    "floating-subnet-id" FLOATING_SUBNET_ID Pattern floating_subnet_id;
    "floating-subnet" FLOATING_SUBNET Exactly floating_subnet;
    "floating-subnet-tags" FLOATING_SUBNET_TAGS Exactly floating_subnet_tags;
    "vip-address" VIP_ADDRESS Address vip_address;
    "port-id" PORT_ID Pattern port_id;
    "network-id" NETWORK_ID Pattern network_id;
    "subnet-id" SUBNET_ID Pattern subnet_id;
    "member-subnet-id" MEMBER_SUBNET_ID Pattern member_subnet_id;
    "flavor-id" FLAVOR_ID PatternOrEmpty flavor_id;
    "availability-zone" AVAILABILITY_ZONE PatternOrEmpty availability_zone;
    "default-tls-container-ref" TLS_CONTAINER_REF PatternOrEmpty tls_container_ref;
    "class" CLASS Pattern class;
}

/// The key in `[Tenancy]` of the rule about classes.
const CLASS: &str = "class";

/// The field of a Service that requests an address, as messages name it.
pub(super) const SPEC_LOAD_BALANCER_IP: &str = "spec.loadBalancerIP";

/// A value that a rule forbids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forbidden {
    /// The key of the rule.
    pub rule: &'static str,
    /// The annotation or field that has the value.
    pub place: Place,
    /// The value.
    pub value: String,
    /// The message: place, value, rule, and what to do.
    pub message: String,
}

/// The values of a Service that the rules of its namespace forbid, in the order of the table.
#[must_use]
pub fn forbidden(service: &ServiceView, conf: &CloudConf) -> Vec<Forbidden> {
    let rules = &conf.tenancy;
    if rules.0.is_empty() {
        return Vec::new();
    }
    let annotated = RULES.iter().filter_map(|row| {
        let value = service.annotations.get(row.annotation.key)?;
        judge(rules, &service.namespace, row, Place::Annotation(row.annotation.key), value)
    });
    let asked = service.load_balancer_ip.as_deref().into_iter();
    let by_spec = asked.flat_map(|value| {
        let rows = RULES.iter().filter(|row| governs_load_balancer_ip(row, service, conf));
        rows.filter_map(|row| judge(rules, &service.namespace, row, Place::LoadBalancerIp, value))
    });
    annotated.chain(by_spec).collect()
}

/// Whether a rule applies to `spec.loadBalancerIP`. The field requests the VIP for an internal Service, the floating IP for others, and
/// either for one that prefers IPv6.
fn governs_load_balancer_ip(row: &RuleRow, service: &ServiceView, conf: &CloudConf) -> bool {
    let internal = service.annotations.get(annotations::INTERNAL.key) == Some("true");
    let internal = internal || conf.load_balancer.internal_lb;
    let prefers_v6 = service.ip_families.first() == Some(&bowline_cloud::IpFamily::V6);
    match row.key {
        "floating-ip" => !internal,
        "vip-address" => internal || prefers_v6,
        _ => false,
    }
}

fn judge(rules: &Tenancy, namespace: &str, row: &RuleRow, place: Place, value: &str) -> Option<Forbidden> {
    if value.is_empty() && row.compared != Compared::PatternOrEmpty {
        return None;
    }
    let rule = rules.rule(namespace, |section| (row.allowed)(section).as_deref())?;
    let is_allowed = match row.compared {
        Compared::Pattern | Compared::PatternOrEmpty => allows(rule.value, value),
        Compared::Exactly => allows_exactly(rule.value, value),
        // Anything that is no address is refused elsewhere.
        Compared::Address => {
            value.parse().ok().is_none_or(|address: IpAddr| allows_address(rule.value, address))
        }
    };
    if is_allowed {
        return None;
    }
    let allowed = listed(rule.value);
    let at = match place {
        Place::Annotation(key) => format!("annotation {key}"),
        Place::LoadBalancerIp => SPEC_LOAD_BALANCER_IP.to_owned(),
    };
    let message = format!(
        "{at} is {:?}, which {} of cloud.conf forbids to namespace {namespace} (allowed: {allowed}); change or remove it, or ask an \
         administrator",
        clipped(value),
        rule.label(row.key)
    );
    Some(Forbidden { rule: row.key, place, value: value.to_owned(), message })
}

/// Whether the rules of a namespace allow its Services to request an address.
#[must_use]
pub fn allows_address_of(
    rules: &Tenancy,
    namespace: &str,
    of: fn(&TenancySection) -> &Allowed,
    address: IpAddr,
) -> bool {
    let rule = rules.rule(namespace, |section| of(section).as_deref());
    rule.is_none_or(|rule| allows_address(rule.value, address))
}

/// The values that a rule allows, for messages.
pub(super) fn listed(allowed: &[String]) -> String {
    let listed: Vec<&str> = allowed.iter().map(String::as_str).filter(|one| *one != NONE).collect();
    if listed.is_empty() { "none".to_owned() } else { listed.join(", ") }
}

/// What happens with a forbidden value of a Service that has a load balancer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It is already in force, and stays.
    Kept,
    /// It is treated as not set, and the existing objects agree with it or do not depend on it.
    Unsaid,
    /// It is treated as not set, and this is reported on the Service.
    Withheld,
}

/// Whether a Service already uses this load balancer. If so, a rule removes nothing from it.
#[must_use]
pub fn is_served(names: &Names, balancer: &LoadBalancer) -> bool {
    is_owner(names, balancer) || balancer.tags.contains(&names.tag())
}

/// Whether a load balancer has the name of this Service. A truncated name never counts, because it may be that of another Service as well.
pub(in crate::loadbalancer) fn is_owner(names: &Names, balancer: &LoadBalancer) -> bool {
    let own = balancer.name == names.load_balancer() || balancer.name == names.legacy_load_balancer();
    own && !names.is_cut()
}

impl Forbidden {
    /// Whether the value is a class; [`class::outcome`] determines its outcome.
    #[must_use]
    pub fn is_class(&self) -> bool {
        self.rule == CLASS
    }

    /// Whether the outcome depends on the listeners and pools of the load balancer.
    #[must_use]
    pub fn needs_tree(&self, conf: &CloudConf) -> bool {
        match self.rule {
            "default-tls-container-ref" | "member-subnet-id" => true,
            CLASS => conf.classes.get(&self.value).is_some_and(class::may_say_subnet_of_members),
            _ => false,
        }
    }

    /// What happens with the value, for a Service with this load balancer. For classes see [`class::outcome`].
    #[must_use]
    pub fn outcome(&self, service: &ServiceView, serving: Serving<'_>) -> Outcome {
        let on = serving.balancer;
        let is = |there: Option<&str>| there.unwrap_or_default() == self.value;
        let address = self.value.parse::<IpAddr>().ok();
        let in_force = match self.rule {
            // An attached floating IP stays whatever the annotation says, so the value is never needed to attach one.
            "floating-ip" => {
                let shown = service.status.ingress.iter().any(|ingress| ingress.ip == address);
                return if shown { Outcome::Unsaid } else { Outcome::Withheld };
            }
            // They take effect when a floating IP is created, and cannot be determined from it later.
            "floating-network-id" | "floating-subnet-id" | "floating-subnet" | "floating-subnet-tags" => {
                return Outcome::Unsaid;
            }
            "vip-address" => on.vip_address == address,
            "port-id" => is(on.vip_port_id.as_ref().map(openstack_client::PortId::as_str)),
            "network-id" => is(on.vip_network_id.as_ref().map(openstack_client::NetworkId::as_str)),
            "subnet-id" => is(on.vip_subnet_id.as_ref().map(openstack_client::SubnetId::as_str)),
            "flavor-id" => is(on.flavor_id.as_ref().map(openstack_client::LoadBalancerFlavorId::as_str)),
            "availability-zone" => is(on.availability_zone.as_deref()),
            "member-subnet-id" => serving.has_members_in(&self.value),
            "default-tls-container-ref" => self.is_certificate_of(serving),
            _ => false,
        };
        if in_force { Outcome::Kept } else { Outcome::Withheld }
    }

    /// Whether the listeners of the Service have this certificate, or none if the value is empty.
    fn is_certificate_of(&self, serving: Serving<'_>) -> bool {
        let mut certificates = serving
            .own_listeners()
            .map(|listener| listener.default_tls_container_ref.as_deref().unwrap_or_default())
            .peekable();
        if self.value.is_empty() {
            certificates.peek().is_some() && certificates.all(str::is_empty)
        } else {
            certificates.any(|text| text == self.value)
        }
    }
}

/// The event for a forbidden value that is in force.
#[must_use]
pub fn notice(forbidden: &Forbidden) -> Notice {
    let message = format!("{}. What the Service has stays as it is", forbidden.message);
    Notice { reason: "LoadBalancerValueForbidden", message }
}

/// The problems to report for a Service with a load balancer, after everything that the rules allow is done.
#[must_use]
pub fn held_back(wanted: &Wanted, found: &Found) -> Vec<String> {
    let gone = found.balancer.as_ref().and_then(|at| sharing::owner_is_gone(wanted, &at.balancer));
    wanted.withheld.iter().cloned().chain(gone).collect()
}

/// Why a load balancer in ERROR is not deleted and created again: the new one could not have values that are forbidden now or cannot be
/// parsed. `None` if nothing prevents it.
#[must_use]
pub fn keeps_from_recreation(wanted: &Wanted) -> Option<String> {
    let first = wanted.forbidden.first().or(wanted.unreadable.first())?;
    Some(format!("it is not deleted and made anew, because {first}"))
}

#[cfg(test)]
mod tests;
