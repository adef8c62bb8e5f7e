//! Node ports of Services and of their health checks, as the real allocator gives them out: by number, whatever the
//! protocol. Only ports of one Service share a number.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{is_via_node_port, needs_health_port, needs_node_port};
use crate::core::Core;
use crate::object::{self, at, list, map_at};
use crate::resource::Resource;
use crate::status::{ApiError, FieldError};
use crate::strategy::allocations;

/// At most how many at the lower end are not given out before the others are.
const CHOSEN_PORTS: u16 = 86;

/// The ports that one request has taken so far.
type Mine = BTreeSet<u16>;

impl Core {
    pub(super) fn allocate_ports(
        &mut self,
        resource: &Resource,
        old: Option<&Value>,
        service: &mut Value,
    ) -> Result<(), ApiError> {
        let mut mine = Mine::new();
        if is_via_node_port(service) {
            let mut ports = list(service, &["spec", "ports"]).to_vec();
            let wanted = needs_node_port(service);
            match old {
                None => self.ports_of_new(wanted, &mut ports, &mut mine),
                Some(old) => self.ports_of_changed(wanted, &numbers(old), &mut ports, &mut mine),
            }
            .map_err(|fault| fault.error(resource, object::name(service)))?;
            if !ports.is_empty() {
                map_at(service, &["spec"]).insert("ports".into(), json!(ports));
            }
        }
        if needs_health_port(service) && !old.is_some_and(needs_health_port) {
            self.allocate_health_port(service, &mut mine)?;
        }
        Ok(())
    }

    /// A new Service: its ports of one number share a node port, also one that a later of them names.
    fn ports_of_new(&mut self, wanted: bool, ports: &mut [Value], mine: &mut Mine) -> Result<(), Fault> {
        let mut of_number: BTreeMap<u64, u16> = BTreeMap::new();
        let named: Vec<(u64, u16)> =
            ports.iter().filter_map(|port| Some((number_of(port), node_port(port)?))).collect();
        for (index, port) in ports.iter_mut().enumerate() {
            let (number, own) = (number_of(port), node_port(port));
            if own.is_none() && !wanted {
                continue;
            }
            let chosen = match (of_number.get(&number), own) {
                (Some(shared), None) => *shared,
                (Some(shared), Some(own)) => {
                    if *shared != own {
                        self.take(own, index, mine)?;
                    }
                    own
                }
                (None, _) => {
                    let requested = named.iter().find(|(same, _)| *same == number).map(|(_, port)| *port);
                    let chosen = match requested {
                        Some(requested) => {
                            self.take(requested, index, mine)?;
                            requested
                        }
                        None => self.free_port(mine).ok_or(Fault::Full)?,
                    };
                    of_number.insert(number, chosen);
                    // A port may name one that differs from what an earlier one of its number has.
                    own.unwrap_or(chosen)
                }
            };
            mine.insert(chosen);
            object::map_of(port).insert("nodePort".into(), json!(chosen));
        }
        Ok(())
    }

    /// A changed Service: what it has it keeps, and what is new is its own.
    fn ports_of_changed(
        &mut self,
        wanted: bool,
        kept: &Mine,
        ports: &mut [Value],
        mine: &mut Mine,
    ) -> Result<(), Fault> {
        for (index, port) in ports.iter_mut().enumerate() {
            match node_port(port) {
                Some(chosen) if kept.contains(&chosen) || mine.contains(&chosen) => {}
                Some(chosen) => self.take(chosen, index, mine)?,
                None if wanted => {
                    let chosen = self.free_port(mine).ok_or(Fault::Full)?;
                    mine.insert(chosen);
                    object::map_of(port).insert("nodePort".into(), json!(chosen));
                }
                None => {}
            }
        }
        Ok(())
    }

    fn allocate_health_port(&mut self, service: &mut Value, mine: &mut Mine) -> Result<(), ApiError> {
        let chosen = at(service, &["spec", "healthCheckNodePort"]).and_then(Value::as_u64);
        if let Some(chosen) = chosen {
            let fault = u16::try_from(chosen)
                .map_or_else(|_| Some(self.out_of_range()), |port| self.port_fault(port, mine));
            return match fault {
                Some(why) => Err(ApiError::internal_error(&format!(
                    "failed to allocate requested HealthCheck NodePort {chosen}: {why}"
                ))),
                None => Ok(()),
            };
        }
        let port = self.free_port(mine).ok_or_else(|| {
            ApiError::internal_error("failed to allocate a HealthCheck NodePort 0: range is full")
        })?;
        map_at(service, &["spec"]).insert("healthCheckNodePort".into(), json!(port));
        Ok(())
    }

    fn take(&self, port: u16, index: usize, mine: &mut Mine) -> Result<(), Fault> {
        if let Some(why) = self.port_fault(port, mine) {
            return Err(Fault::Refused { index, port, why });
        }
        mine.insert(port);
        Ok(())
    }

    fn port_fault(&self, port: u16, mine: &Mine) -> Option<String> {
        if !self.config.node_ports.contains(&port) {
            return Some(self.out_of_range());
        }
        let taken = mine.contains(&port) || self.allocations.has_port(port);
        taken.then(|| "provided port is already allocated".to_owned())
    }

    fn out_of_range(&self) -> String {
        let (first, last) = (self.config.node_ports.start(), self.config.node_ports.end());
        format!("provided port is not in the valid range. The range of valid ports is {first}-{last}")
    }

    /// A free node port, from a random place on, or `None` when all are taken.
    fn free_port(&mut self, mine: &Mine) -> Option<u16> {
        let range = self.config.node_ports.clone();
        // The lower end is left to those who choose for themselves, as long as there are others.
        let count = u64::try_from(range.len()).ok().filter(|count| *count > 0)?;
        let band = if count > u64::from(CHOSEN_PORTS) * 2 { u64::from(CHOSEN_PORTS) } else { 0 };
        let upper = count - band;
        let start = (self.config.numbers)() % upper;
        (0..upper)
            .map(|step| band + (start + step) % upper)
            .chain(0..band)
            .filter_map(|step| range.start().checked_add(u16::try_from(step).ok()?))
            .find(|port| !mine.contains(port) && !self.allocations.has_port(*port))
    }
}

/// Why a node port cannot be had.
enum Fault {
    /// The one that the client chose.
    Refused { index: usize, port: u16, why: String },
    /// None is left.
    Full,
}

impl Fault {
    fn error(self, resource: &Resource, name: &str) -> ApiError {
        match self {
            Self::Refused { index, port, why } => {
                let error = FieldError::invalid(format!("spec.ports[{index}].nodePort"), port, why);
                ApiError::invalid_object(resource, name, &[error])
            }
            Self::Full => ApiError::internal_error("failed to allocate a nodePort: range is full"),
        }
    }
}

/// The node ports of a Service without its health check's.
fn numbers(service: &Value) -> Mine {
    list(service, &["spec", "ports"]).iter().filter_map(node_port).collect()
}

fn number_of(port: &Value) -> u64 {
    port.get("port").and_then(Value::as_u64).unwrap_or_default()
}

fn node_port(port: &Value) -> Option<u16> {
    allocations::port(port.get("nodePort"))
}
