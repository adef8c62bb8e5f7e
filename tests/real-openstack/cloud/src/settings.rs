//! Where everything of the cloud is, on which ports it listens, and the few things that can be chosen.
//!
//! Only names things; it must not create or start any.

use std::path::{Path, PathBuf};

use crate::cache::cache_folder;
use crate::fingerprint::fingerprint;

/// The packages with their versions and checksums: the one place where they are written.
pub(crate) const LOCK: &str = include_str!("../requirements.txt");

/// Names another folder for the whole cloud. Its path must be short: sockets below it may have 107 characters at most.
pub(crate) const FOLDER_VARIABLE: &str = "BOWLINE_OPENSTACK";

/// The hosts that servers run on, each a zone.
pub(crate) const HOSTS: [&str; 2] = ["compute1", "compute2"];

/// What is added to an API's port for its https twin.
pub(crate) const TLS_PORT_OFFSET: u16 = 10_000;

/// The APIs with their ports, which are OpenStack's usual ones, and a path that answers without a token.
pub(crate) const APIS: [Api; 6] = [
    Api { name: "keystone", port: 5000, probe: "/v3" },
    Api { name: "placement", port: 8778, probe: "/" },
    Api { name: "glance", port: 9292, probe: "/versions" },
    Api { name: "neutron", port: 9696, probe: "/" },
    Api { name: "nova", port: 8774, probe: "/" },
    Api { name: "octavia", port: 9876, probe: "/" },
];

/// The ports of the rest: none is a default, because Debian starts what it installs.
pub(crate) const PORTS: [(&str, u16); 8] = [
    ("mariadb", 13306),
    ("epmd", 14369),
    ("rabbitmq", 15671),
    ("rabbitmq-peers", 15673),
    ("memcached", 11212),
    ("ovn-nb", 16641),
    ("ovn-sb", 16642),
    ("octavia-health-manager", 15555),
];

/// An OpenStack API.
pub(crate) struct Api {
    pub(crate) name: &'static str,
    pub(crate) port: u16,
    pub(crate) probe: &'static str,
}

/// What can be chosen when the cloud is started; a service whose choice changed is started anew.
#[derive(Clone, Debug, clap::Args)]
pub struct Choices {
    /// How long a token is valid: a short time makes clients authenticate again
    #[arg(long, value_name = "SECONDS", default_value_t = Self::default().token_lifetime)]
    pub token_lifetime: u32,
    /// How many objects Octavia answers at most: a small number makes clients turn pages
    #[arg(long, value_name = "OBJECTS", default_value_t = Self::default().page_size)]
    pub page_size: u32,
    /// Octavia's default provider: ovn, amphora or noop_driver
    #[arg(long, value_name = "NAME", default_value_t = Self::default().default_provider)]
    pub default_provider: String,
}

impl Default for Choices {
    fn default() -> Self {
        Self { token_lifetime: 3600, page_size: 1000, default_provider: "ovn".into() }
    }
}

/// The folders of one cloud.
#[derive(Clone, Debug)]
pub struct Settings {
    folder: PathBuf,
}

impl Settings {
    /// The cloud of this user: in the folder that `BOWLINE_OPENSTACK` names, else in the cache folder, under a name that
    /// changes with the lock file.
    #[must_use]
    pub fn locate() -> Self {
        let named = std::env::var_os(FOLDER_VARIABLE).filter(|folder| !folder.is_empty());
        let folder = named.map_or_else(
            || cache_folder().join(format!("openstack-{:08x}", fingerprint([LOCK]) >> 32)),
            PathBuf::from,
        );
        Self::of_folder(folder)
    }

    /// The cloud in a given folder.
    #[must_use]
    pub fn of_folder(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// The folder of all others.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The virtual environment with OpenStack in it.
    #[must_use]
    pub fn venv(&self) -> PathBuf {
        self.folder.join("venv")
    }

    /// The configuration, written anew by each start.
    #[must_use]
    pub fn etc(&self) -> PathBuf {
        self.folder.join("etc")
    }

    /// Databases, images, keys: what a stopped cloud keeps.
    #[must_use]
    pub fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// Process ids and sockets.
    #[must_use]
    pub fn run(&self) -> PathBuf {
        self.folder.join("run")
    }

    /// A log file for each service and task, since the cloud was last started.
    #[must_use]
    pub fn logs(&self) -> PathBuf {
        self.folder.join("logs")
    }

    /// The description of the seeded cloud.
    #[must_use]
    pub fn description_file(&self) -> PathBuf {
        self.folder.join("cloud.json")
    }

    /// A program of the virtual environment.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.venv().join("bin").join(name)
    }

    /// One of our own Python files, as `configure` writes it.
    pub(crate) fn script(&self, name: &str) -> PathBuf {
        self.etc().join("python").join(name)
    }

    /// The log of a service or task.
    pub(crate) fn log(&self, name: &str) -> PathBuf {
        self.logs().join(format!("{name}.log"))
    }

    /// MariaDB's socket.
    pub(crate) fn database_socket(&self) -> PathBuf {
        self.run().join("mariadb.sock")
    }

    /// The file in which a test names the members that are to be down.
    pub(crate) fn members_down(&self) -> PathBuf {
        self.run().join("members-down")
    }

    /// What the seed made, with ids.
    pub(crate) fn estate_file(&self) -> PathBuf {
        self.data().join("estate.json")
    }

    /// The authority that signed the certificates of the https twins.
    pub(crate) fn ca_file(&self) -> PathBuf {
        self.data().join("tls/ca.pem")
    }
}

/// The port of a service or API. Zero, which nothing can connect to, for a name that is in no table: a test goes through all that are used.
pub(crate) fn port(name: &str) -> u16 {
    let apis = APIS.iter().map(|api| (api.name, api.port));
    apis.chain(PORTS).find(|(known, _)| *known == name).map_or(0, |(_, port)| port)
}

/// Keystone's address for clients.
pub(crate) fn auth_url() -> String {
    format!("http://127.0.0.1:{}/v3", port("keystone"))
}

/// Keystone's address by https.
pub(crate) fn tls_auth_url() -> String {
    format!("https://127.0.0.1:{}/v3", port("keystone") + TLS_PORT_OFFSET)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_services_share_a_port_also_by_https() {
        let mut ports: Vec<u16> = PORTS.iter().map(|(_, port)| *port).collect();
        ports.extend(APIS.iter().flat_map(|api| [api.port, api.port + TLS_PORT_OFFSET]));
        let number = ports.len();
        ports.sort_unstable();
        ports.dedup();
        assert_eq!(ports.len(), number);
    }
}
