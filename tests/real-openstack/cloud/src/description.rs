//! What a test has to know of the seeded cloud: `cloud.json`.

use std::fs;
use std::path::PathBuf;

use anyhow::Context;
use serde::{Deserialize, Serialize};

use crate::settings::{Settings, auth_url, tls_auth_url};

/// The seeded cloud.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Description {
    /// Keystone's address.
    pub auth_url: String,
    /// The region whose endpoints are without TLS.
    pub region: String,
    /// The same services by https.
    pub tls: Tls,
    /// Who may log in.
    pub accounts: Accounts,
    /// An application credential of the member.
    pub application_credential: ApplicationCredential,
    /// The `openstack` command-line client.
    pub client: PathBuf,
    /// A Python with openstacksdk.
    pub python: PathBuf,
    /// Process ids and sockets.
    pub run: PathBuf,
    /// A log for each service.
    pub logs: PathBuf,
    /// One JSON object for each call of an API: time, port, method, path, status, seconds, agent, body (none for Keystone).
    pub calls: PathBuf,
    /// Members of amphora load balancers that are named here (one id or address:port a line) are reported as down. May be absent.
    pub members_down: PathBuf,
    /// What was seeded, by id.
    pub estate: Estate,
}

/// The https twins of all endpoints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tls {
    /// Keystone's address.
    pub auth_url: String,
    /// The region with the https endpoints.
    pub region: String,
    /// The authority that signed their certificate; no system knows it.
    pub ca_file: PathBuf,
}

/// Who may log in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accounts {
    /// The administrator.
    pub admin: Account,
    /// The Kubernetes user, with the roles `member` and `load-balancer_member`.
    pub member: Account,
    /// The same in a project of its own.
    pub other: Account,
}

/// A user with a password.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// Name of the user.
    pub user: String,
    /// The password.
    pub password: String,
    /// Name of the project.
    pub project: String,
    /// Name of the domain of both.
    pub domain: String,
}

/// A credential without a password.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApplicationCredential {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its secret.
    pub secret: String,
}

/// What was seeded. All are ids unless said otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Estate {
    /// The member's project.
    pub project: String,
    /// The member.
    pub user: String,
    /// The other project.
    pub other_project: String,
    /// The user in the other project.
    pub other_user: String,
    /// The network of floating IPs.
    pub external_network: String,
    /// Its IPv4 subnet.
    pub external_subnet: String,
    /// The network of the nodes.
    pub network: String,
    /// Its IPv4 subnet.
    pub subnet: String,
    /// Its IPv6 subnet.
    pub subnet6: String,
    /// The router between the two networks.
    pub router: String,
    /// The security group of the nodes.
    pub security_group: String,
    /// An image that any server can be made of.
    pub image: String,
    /// The flavor of the nodes.
    pub flavor: String,
    /// The network of the amphorae.
    pub management_network: String,
    /// Names of Nova's availability zones, with one host each.
    pub zones: Vec<String>,
    /// An Octavia flavor, for the amphora provider.
    pub octavia_flavor: String,
    /// Name of an Octavia availability zone, for the amphora provider.
    pub octavia_availability_zone: String,
    /// The nodes: `node-1`, `node-2`, `node-3`.
    pub servers: Vec<Server>,
}

/// A server of the estate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Server {
    /// Its name.
    pub name: String,
    /// Its id.
    pub id: String,
    /// Its availability zone.
    pub zone: String,
    /// Its IPv4 address.
    pub address: String,
    /// Its IPv6 address.
    pub address6: String,
}

/// What the seed writes.
#[derive(Deserialize)]
struct Seeded {
    application_credential: String,
    #[serde(flatten)]
    estate: Estate,
}

impl Description {
    /// Reads what `up` wrote.
    ///
    /// # Errors
    /// When the cloud was never seeded; the message says what to run.
    pub fn read(settings: &Settings) -> anyhow::Result<Self> {
        let file = settings.description_file();
        let text = fs::read_to_string(&file).with_context(|| {
            format!("read {}; `cargo xtask cloud up` makes the cloud and writes it", file.display())
        })?;
        serde_json::from_str(&text).with_context(|| format!("understand {}", file.display()))
    }

    /// Puts together what is known and what the seed wrote.
    pub(crate) fn compose(settings: &Settings, password: &str) -> anyhow::Result<Self> {
        let file = settings.estate_file();
        let text = fs::read_to_string(&file).with_context(|| format!("read {}", file.display()))?;
        let seeded: Seeded =
            serde_json::from_str(&text).with_context(|| format!("understand {}", file.display()))?;
        let account = |name: &str| Account {
            user: name.into(),
            password: password.into(),
            project: name.into(),
            domain: "Default".into(),
        };
        Ok(Self {
            auth_url: auth_url(),
            region: "RegionOne".into(),
            tls: Tls { auth_url: tls_auth_url(), region: "RegionTLS".into(), ca_file: settings.ca_file() },
            accounts: Accounts { admin: account("admin"), member: account("k8s"), other: account("other") },
            application_credential: ApplicationCredential {
                id: seeded.application_credential,
                name: "ccm".into(),
                secret: password.into(),
            },
            client: settings.program("openstack"),
            python: settings.program("python"),
            run: settings.run(),
            logs: settings.logs(),
            calls: settings.logs().join("calls.log"),
            members_down: settings.members_down(),
            estate: seeded.estate,
        })
    }

    /// Writes it where [`Description::read`] looks; a reader never sees half of it.
    pub(crate) fn write(&self, settings: &Settings) -> anyhow::Result<()> {
        let file = settings.description_file();
        let unfinished = file.with_extension("json.new");
        fs::write(&unfinished, serde_json::to_string_pretty(self)?)
            .and_then(|()| fs::rename(&unfinished, &file))
            .with_context(|| format!("write {}", file.display()))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// What the seed writes, in its form.
    const SEEDED: &str = include_str!("description/estate.json");

    pub(crate) fn example(settings: &Settings) -> Description {
        fs::create_dir_all(settings.data()).unwrap();
        fs::write(settings.estate_file(), SEEDED).unwrap();
        Description::compose(settings, "secret").unwrap()
    }

    #[test]
    fn what_the_seed_writes_is_described_written_and_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let settings = Settings::of_folder(folder.path().to_owned());
        let description = example(&settings);
        description.write(&settings).unwrap();
        assert_eq!(Description::read(&settings).unwrap(), description);
        assert_eq!(description.estate.servers[0].name, "node-1");
        assert_eq!(description.application_credential.secret, "secret");
    }

    #[test]
    fn a_cloud_that_was_never_seeded_says_what_to_run() {
        let error = format!("{:#}", Description::read(&Settings::of_folder("/nowhere".into())).unwrap_err());
        assert!(error.contains("cargo xtask cloud up"), "{error}");
    }
}
