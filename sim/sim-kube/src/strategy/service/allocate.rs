//! Cluster IPs and families of Services: the only place that draws them. Node ports are `ports.rs`.

use std::net::IpAddr;

use serde_json::{Value, json};

use super::{is_headless, needs_cluster_ip};
use crate::core::Core;
use crate::object::{self, at, map_at, text, texts};
use crate::resource::Resource;
use crate::status::{ApiError, FieldError};
use crate::strategy::allocations;

impl Core {
    /// Fills in what the Service needs and does not have.
    ///
    /// # Errors
    /// What cannot be had, the first of it, as the real server says.
    pub(crate) fn allocate_service(
        &mut self,
        resource: &Resource,
        old: Option<&Value>,
        service: &mut Value,
    ) -> Result<(), ApiError> {
        let mut errors = Vec::new();
        if needs_cluster_ip(service) {
            self.choose_families(service, &mut errors);
            if errors.is_empty() && !is_headless(service) {
                self.allocate_ips(old, service, &mut errors);
            }
        }
        if !errors.is_empty() {
            return Err(ApiError::invalid_object(resource, object::name(service), &errors));
        }
        self.allocate_ports(resource, old, service)
    }

    /// `ipFamilies` and `ipFamilyPolicy`, from addresses, wishes and what the cluster has.
    fn choose_families(&self, service: &mut Value, errors: &mut Vec<FieldError>) {
        let available: Vec<&str> =
            self.config.service_cidrs.iter().map(|cidr| family(&cidr.addr())).collect();
        let ips = texts(service, &["spec", "clusterIPs"]);
        let mut families = texts(service, &["spec", "ipFamilies"]);
        for ip in ips.iter().skip(families.len()).filter_map(|ip| ip.parse::<IpAddr>().ok()) {
            families.push(family(&ip).to_owned());
        }
        let selectorless_headless = is_headless(service) && at(service, &["spec", "selector"]).is_none();
        let policy = match text(service, &["spec", "ipFamilyPolicy"]) {
            "" if ips.len() == 2 || families.len() == 2 => "RequireDualStack",
            "" if selectorless_headless => "RequireDualStack",
            "" => "SingleStack",
            chosen => chosen,
        }
        .to_owned();
        if !selectorless_headless {
            errors.extend(family_faults(&policy, &families, &available));
        }
        if families.is_empty() {
            families.extend(available.first().map(|one| (*one).to_owned()));
        }
        if policy == "SingleStack" {
            families.truncate(1);
        } else {
            let missing = available.iter().find(|one| !families.iter().any(|has| has == *one));
            if families.len() == 1 {
                families.extend(missing.map(|one| (*one).to_owned()));
            }
            if families.len() == 1 && selectorless_headless {
                let other = if families.iter().any(|family| family == "IPv4") { "IPv6" } else { "IPv4" };
                families.push(other.to_owned()); // nothing is allocated: both families, whatever the cluster has
            }
        }
        let spec = map_at(service, &["spec"]);
        spec.insert("ipFamilies".into(), json!(families));
        spec.insert("ipFamilyPolicy".into(), json!(policy));
    }

    fn allocate_ips(&mut self, old: Option<&Value>, service: &mut Value, errors: &mut Vec<FieldError>) {
        let families = texts(service, &["spec", "ipFamilies"]);
        let kept = old.map(allocations::ips).unwrap_or_default();
        let mut ips = texts(service, &["spec", "clusterIPs"]);
        ips.truncate(families.len());
        for ip in &ips {
            if !kept.contains(ip) && self.allocations.has_ip(ip) {
                let why = "failed to allocate IP ".to_owned() + ip + ": provided IP is already allocated";
                errors.push(FieldError::invalid("spec.clusterIPs", json!(ips), why));
            } else if !kept.contains(ip) && !self.is_inside(ip) {
                let why = format!(
                    "failed to allocate IP {ip}: the provided network does not match the current range"
                );
                errors.push(FieldError::invalid("spec.clusterIPs", json!(ips), why));
            }
        }
        for family in families.iter().skip(ips.len()) {
            match self.free_ip(family) {
                Some(ip) => ips.push(ip),
                None => errors.push(FieldError::invalid(
                    "spec.clusterIPs",
                    json!(ips),
                    "failed to allocate an IP: range is full",
                )),
            }
        }
        let spec = map_at(service, &["spec"]);
        if let Some(first) = ips.first() {
            spec.insert("clusterIP".into(), json!(first));
        }
        spec.insert("clusterIPs".into(), json!(ips));
    }

    fn is_inside(&self, ip: &str) -> bool {
        ip.parse::<IpAddr>().is_ok_and(|ip| self.config.service_cidrs.iter().any(|cidr| cidr.contains(&ip)))
    }

    /// A free address of the family, from a random place on.
    fn free_ip(&mut self, wanted: &str) -> Option<String> {
        let cidr = *self.config.service_cidrs.iter().find(|cidr| family(&cidr.addr()) == wanted)?;
        let bits = u32::from(cidr.max_prefix_len() - cidr.prefix_len()).min(20);
        // Neither the network itself nor the last address.
        let count = (1_u64 << bits).checked_sub(2).filter(|count| *count > 0)?;
        // The lower end is left to those who choose for themselves, as long as there are others.
        let band = ((1_u64 << bits) / 16).clamp(16, 256).min(count / 2);
        let upper = count - band;
        let start = (self.config.numbers)() % upper;
        (0..upper)
            .map(|step| band + (start + step) % upper)
            .chain(0..band)
            .map(|step| offset(cidr.network(), step + 1).to_string())
            .find(|ip| !self.allocations.has_ip(ip))
    }
}

/// What the cluster does not have of the wanted families.
fn family_faults(policy: &str, families: &[String], available: &[&str]) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if policy == "RequireDualStack" && available.len() < 2 {
        let why = "this cluster is not configured for dual-stack services";
        errors.push(FieldError::invalid("spec.ipFamilyPolicy", policy, why));
    }
    for (index, family) in families.iter().enumerate().filter(|(_, one)| !available.contains(&one.as_str())) {
        let field = format!("spec.ipFamilies[{index}]");
        errors.push(FieldError::invalid(field, family.as_str(), "not configured on this cluster"));
    }
    errors
}

fn family(ip: &IpAddr) -> &'static str {
    if ip.is_ipv4() { "IPv4" } else { "IPv6" }
}

fn offset(base: IpAddr, step: u64) -> IpAddr {
    match base {
        IpAddr::V4(ip) => {
            let step = u32::try_from(step).unwrap_or(u32::MAX);
            IpAddr::V4(u32::from(ip).wrapping_add(step).into())
        }
        IpAddr::V6(ip) => IpAddr::V6(u128::from(ip).wrapping_add(u128::from(step)).into()),
    }
}
