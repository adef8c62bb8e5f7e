//! What the cloud consists of: services that run, tasks that end, and what each has to wait for.
//!
//! A list and nothing else: `start` walks it. The order matters only among those that could start at the same time.

mod foundation;
mod networking;
mod openstack;

pub(crate) use openstack::OCTAVIA_SOCKETS;

use std::path::PathBuf;

use crate::configure::password;
use crate::machine;
use crate::process::Launch;
use crate::settings::{APIS, Settings, TLS_PORT_OFFSET, auth_url, port};

/// A service or a task.
#[derive(Clone, Debug)]
pub(crate) struct Unit {
    pub(crate) name: String,
    /// What has to be ready or done before.
    pub(crate) needs: Vec<String>,
    pub(crate) kind: Kind,
}

/// Whether something runs on or ends.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// Runs until it is stopped.
    Service(Service),
    /// Some programs, one after the other, each of which has to succeed.
    Task { steps: Vec<Launch>, when: When },
}

/// When a task is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    /// Once in the life of the data.
    Once,
    /// At each start of the cloud.
    Always,
}

/// Something that runs.
#[derive(Clone, Debug)]
pub(crate) struct Service {
    pub(crate) launch: Launch,
    pub(crate) ready: Ready,
    /// The ports it listens on.
    pub(crate) ports: Vec<Port>,
    /// The files that it reads when it starts.
    pub(crate) files: Vec<PathBuf>,
    /// The others use it while they stop: it is stopped after them.
    pub(crate) is_foundation: bool,
}

/// A port on loopback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Port {
    Tcp(u16),
    Udp(u16),
}

/// How a service shows that others can use it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ready {
    /// Others wait for it by themselves: it is enough that it was started.
    Started,
    /// It listens on a port.
    Port(u16),
    /// It made a socket. The file of a former run is removed before it starts.
    Socket(PathBuf),
    /// It answers through nginx.
    Http { port: u16, path: &'static str },
}

impl Unit {
    fn service(name: &str, needs: &[&str], launch: Launch) -> Self {
        let service = Service {
            launch,
            ready: Ready::Started,
            ports: Vec::new(),
            files: Vec::new(),
            is_foundation: false,
        };
        Self { name: name.into(), needs: owned(needs), kind: Kind::Service(service) }
    }

    fn task(name: &str, needs: &[&str], when: When, steps: Vec<Launch>) -> Self {
        Self { name: name.into(), needs: owned(needs), kind: Kind::Task { steps, when } }
    }

    fn with(mut self, change: impl FnOnce(&mut Service)) -> Self {
        if let Kind::Service(service) = &mut self.kind {
            change(service);
        }
        self
    }

    fn ready(self, ready: Ready) -> Self {
        self.with(|service| service.ready = ready)
    }

    /// It is ready when it listens on its first port.
    fn listens(self, ports: &[u16]) -> Self {
        self.with(|service| {
            service.ports = ports.iter().copied().map(Port::Tcp).collect();
            service.ready = ports.first().map_or(Ready::Started, |port| Ready::Port(*port));
        })
    }

    fn reads(self, files: &[PathBuf]) -> Self {
        self.with(|service| service.files = files.to_vec())
    }

    fn foundation(self) -> Self {
        self.with(|service| service.is_foundation = true)
    }
}

/// Who runs the cloud. The default will do for one who only looks at the list.
#[derive(Clone, Debug, Default)]
pub(crate) struct Operator {
    pub(crate) account: String,
    pub(crate) group: String,
    /// Of all accounts in the cloud.
    pub(crate) password: String,
}

impl Operator {
    /// Ourselves.
    pub(crate) fn of(settings: &Settings) -> anyhow::Result<Self> {
        Ok(Self { account: machine::account()?, group: machine::group()?, password: password(settings)? })
    }
}

/// All of them.
pub(crate) fn all(settings: &Settings, operator: &Operator) -> Vec<Unit> {
    let mut units = foundation::units(settings, operator);
    units.extend(networking::units(settings));
    units.extend(openstack::units(settings, operator));
    let services = units.iter().filter(|unit| matches!(unit.kind, Kind::Service(_)));
    let needs: Vec<&str> = services.map(|unit| unit.name.as_str()).collect();
    let estate = seed(settings, operator, "estate").arg(settings.estate_file());
    let last = Unit::task("estate", &needs, When::Always, vec![estate]);
    units.push(last);
    units
}

/// A part of the seed, with the administrator's login.
fn seed(settings: &Settings, operator: &Operator, part: &str) -> Launch {
    let mut launch = Launch::new(settings.program("python")).arg(settings.script("seed.py")).arg(part);
    for (name, value) in login("admin", "admin", &operator.password) {
        launch = launch.env(name, value);
    }
    for api in &APIS {
        launch = launch.env(&format!("CLOUD_PORT_{}", api.name.to_uppercase()), api.port.to_string());
    }
    launch.env("CLOUD_PASSWORD", &operator.password)
}

/// The variables by which OpenStack's clients log in, to the region without TLS.
pub(crate) fn login(user: &str, project: &str, password: &str) -> [(&'static str, String); 8] {
    [
        ("OS_AUTH_URL", auth_url()),
        ("OS_IDENTITY_API_VERSION", "3".into()),
        ("OS_REGION_NAME", "RegionOne".into()),
        ("OS_USERNAME", user.into()),
        ("OS_PASSWORD", password.into()),
        ("OS_PROJECT_NAME", project.into()),
        ("OS_USER_DOMAIN_NAME", "Default".into()),
        ("OS_PROJECT_DOMAIN_NAME", "Default".into()),
    ]
}

/// The ports of nginx: all APIs, in both forms.
fn api_ports() -> Vec<u16> {
    APIS.iter().flat_map(|api| [api.port, api.port + TLS_PORT_OFFSET]).collect()
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[cfg(test)]
mod tests;
