//! What runs, what memory it uses, which APIs answer.

use std::fmt;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::http;
use crate::process::Record;
use crate::settings::{APIS, Settings};
use crate::units::{self, Kind, Operator};

const PROBE_LIMIT: Duration = Duration::from_secs(5);

/// The state of the whole cloud.
#[derive(Clone, Debug, Serialize)]
pub struct Status {
    /// The services, in the order of their start.
    pub services: Vec<ServiceStatus>,
    /// The APIs.
    pub apis: Vec<ApiStatus>,
}

/// A service.
#[derive(Clone, Debug, Serialize)]
pub struct ServiceStatus {
    /// Its name, as `service` takes it.
    pub name: String,
    /// Whether it runs.
    pub state: ServiceState,
    /// Its process.
    pub pid: Option<u32>,
    /// How many processes it consists of.
    pub processes: usize,
    /// Their memory, with shared pages divided.
    pub memory_kib: u64,
}

/// Whether a service runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ServiceState {
    /// It runs.
    Up,
    /// It was stopped by a signal and can go on.
    Frozen,
    /// It ended without being told to.
    Dead,
    /// It was not started, or was stopped.
    Stopped,
}

/// An API.
#[derive(Clone, Debug, Serialize)]
pub struct ApiStatus {
    /// Its name.
    pub name: &'static str,
    /// The HTTP status of a call without a token.
    pub status: Option<u16>,
    /// How long that took.
    pub milliseconds: u128,
}

impl Status {
    /// Looks at everything.
    #[must_use]
    pub fn of(settings: &Settings) -> Self {
        let units = units::all(settings, &Operator::default());
        let services = units.iter().filter(|unit| matches!(unit.kind, Kind::Service(_)));
        Self {
            services: services.map(|unit| service_status(settings, &unit.name)).collect(),
            apis: APIS.iter().map(|api| api_status(api.name, api.port, api.probe)).collect(),
        }
    }

    /// Whether everything runs and answers.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.services.iter().all(|service| service.state == ServiceState::Up)
            && self.apis.iter().all(|api| api.status.is_some_and(http::is_answer))
    }
}

fn service_status(settings: &Settings, name: &str) -> ServiceStatus {
    let record = Record::read(settings, name);
    let state = match record {
        None => ServiceState::Stopped,
        Some(record) if record.is_frozen() => ServiceState::Frozen,
        Some(record) if record.is_running() => ServiceState::Up,
        Some(_) => ServiceState::Dead,
    };
    ServiceStatus {
        name: name.into(),
        state,
        pid: record.map(|record| record.pid),
        processes: record.map_or(0, |record| record.members().len()),
        memory_kib: record.map_or(0, |record| record.memory_kib()),
    }
}

fn api_status(name: &'static str, port: u16, probe: &str) -> ApiStatus {
    let start = Instant::now();
    let status = http::status(port, probe, PROBE_LIMIT);
    ApiStatus { name, status, milliseconds: start.elapsed().as_millis() }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:28}{:>9}{:>9}{:>11}{:>8}", "service", "state", "pid", "processes", "MiB")?;
        for service in &self.services {
            let pid = service.pid.map_or_else(String::new, |pid| pid.to_string());
            let state = format!("{:?}", service.state).to_lowercase();
            let memory = service.memory_kib / 1024;
            writeln!(f, "{:28}{state:>9}{pid:>9}{:>11}{memory:>8}", service.name, service.processes)?;
        }
        let total: u64 = self.services.iter().map(|service| service.memory_kib).sum();
        let processes: usize = self.services.iter().map(|service| service.processes).sum();
        writeln!(f, "{:28}{:>9}{:>9}{processes:>11}{:>8}\n", "in all", "", "", total / 1024)?;
        for api in &self.apis {
            let status = api.status.map_or_else(|| "silent".into(), |status| status.to_string());
            writeln!(f, "{:28}{status:>9}{:>9} ms", format!("API of {}", api.name), api.milliseconds)?;
        }
        Ok(())
    }
}
