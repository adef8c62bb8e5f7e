//! Cluster IPs, families and ports of Services: the only place that draws them.

use std::net::IpAddr;

use serde_json::{Value, json};

use super::{is_headless, needs_cluster_ip, needs_health_port, needs_node_port};
use crate::core::Core;
use crate::object::{self, at, list, map_at, text, texts};
use crate::status::FieldError;
use crate::strategy::allocations;

const FIRST_PORT: u16 = 30_000;
/// How many at the lower end are not given out before the others are.
const CHOSEN_PORTS: u16 = 86;
const LAST_PORT: u16 = 32_767;

impl Core {
    /// Fills in what the Service needs and does not have.
    pub(crate) fn allocate_service(&mut self, old: Option<&Value>, service: &mut Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        if needs_cluster_ip(service) {
            self.choose_families(service);
            if !is_headless(service) {
                self.allocate_ips(old, service, &mut errors);
            }
        }
        self.allocate_ports(old, service, &mut errors);
        if needs_health_port(service) && at(service, &["spec", "healthCheckNodePort"]).is_none() {
            let port = self.free_port();
            map_at(service, &["spec"]).insert("healthCheckNodePort".into(), json!(port));
        }
        errors
    }

    /// `ipFamilies` and `ipFamilyPolicy`, from addresses, wishes and what the cluster has.
    fn choose_families(&self, service: &mut Value) {
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

    fn allocate_ports(&mut self, old: Option<&Value>, service: &mut Value, errors: &mut Vec<FieldError>) {
        let wanted = needs_node_port(service);
        let mut ports = list(service, &["spec", "ports"]).to_vec();
        let kept = old.map(allocations::node_ports).unwrap_or_default();
        // Two protocols of one port share the node port, and ports chosen in this request are taken too.
        let mut mine: Vec<(u16, String, Value)> = Vec::new();
        for (index, port) in ports.iter_mut().enumerate() {
            let protocol = text(port, &["protocol"]).to_owned();
            let number = port.get("port").cloned().unwrap_or_default();
            let chosen =
                port.get("nodePort").and_then(Value::as_u64).and_then(|port| u16::try_from(port).ok());
            let node_port = match chosen {
                Some(chosen) => {
                    let field = format!("spec.ports[{index}].nodePort");
                    errors.extend(
                        self.port_fault(chosen, &protocol, &kept)
                            .map(|why| FieldError::invalid(field, chosen, why)),
                    );
                    chosen
                }
                None if wanted => {
                    let shared = mine.iter().find(|(_, other, same)| *same == number && *other != protocol);
                    match shared {
                        Some((shared, _, _)) => *shared,
                        None => loop {
                            let candidate = self.free_port();
                            if !mine.iter().any(|(taken, _, _)| *taken == candidate) {
                                break candidate;
                            }
                        },
                    }
                }
                None => continue,
            };
            mine.push((node_port, protocol, number));
            object::map_of(port).insert("nodePort".into(), json!(node_port));
        }
        if !ports.is_empty() {
            map_at(service, &["spec"]).insert("ports".into(), json!(ports));
        }
    }

    fn port_fault(&self, port: u16, protocol: &str, kept: &[(u16, String)]) -> Option<String> {
        if kept.iter().any(|(has, with)| *has == port && with == protocol) {
            return None;
        }
        if !(FIRST_PORT..=LAST_PORT).contains(&port) {
            return Some(format!(
                "provided port is not in the valid range. The range of valid ports is {FIRST_PORT}-{LAST_PORT}"
            ));
        }
        self.allocations.has_port(port, protocol).then(|| "provided port is already allocated".to_owned())
    }

    /// A free node port, from a random place on. With every port taken it is the first, and validation complains.
    fn free_port(&mut self) -> u16 {
        // The lower end is left to those who choose for themselves, as long as there are others.
        let upper = u64::from(LAST_PORT - FIRST_PORT - CHOSEN_PORTS) + 1;
        let start = (self.config.numbers)() % upper;
        (0..upper)
            .filter_map(|step| u16::try_from((start + step) % upper).ok())
            .map(|step| FIRST_PORT + CHOSEN_PORTS + step)
            .chain(FIRST_PORT..FIRST_PORT + CHOSEN_PORTS)
            .find(|port| !self.allocations.has_port_at_all(*port))
            .unwrap_or(FIRST_PORT)
    }
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
