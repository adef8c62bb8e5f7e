//! Writes every configuration file: templates from `etc/`, filled; our Python files; keys and certificates, once.
//!
//! It must not start or change anything that runs: `start` notices what changed.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Context, anyhow};

use crate::certificates;
use crate::settings::{APIS, Api, Choices, HOSTS, PORTS, Settings, TLS_PORT_OFFSET, port};
use crate::template::{Values, fill};
use crate::units::Operator;

/// The accounts by which the services use each other.
const SERVICE_USERS: [&str; 5] = ["placement", "glance", "nova", "neutron", "octavia"];

/// The templates, and where each goes below `etc`.
const FILES: [(&str, &str); 9] = [
    ("mariadb.cnf", include_str!("../etc/mariadb.cnf")),
    ("databases.sql", include_str!("../etc/databases.sql")),
    ("rabbitmq.conf", include_str!("../etc/rabbitmq.conf")),
    ("keystone/keystone.conf", include_str!("../etc/keystone.conf")),
    ("placement/placement.conf", include_str!("../etc/placement.conf")),
    ("glance/glance-api.conf", include_str!("../etc/glance-api.conf")),
    ("neutron/neutron.conf", include_str!("../etc/neutron.conf")),
    ("neutron/ml2_conf.ini", include_str!("../etc/ml2_conf.ini")),
    ("octavia/octavia.conf", include_str!("../etc/octavia.conf")),
];
const NOVA: &str = include_str!("../etc/nova.conf");
const NGINX: &str = include_str!("../etc/nginx.conf");
const NGINX_SERVER: &str = include_str!("../etc/nginx-server.part");
const LOGIN: &str = include_str!("../etc/login.part");
const TOKENS: &str = include_str!("../etc/tokens.part");
const MESSAGES: &str = include_str!("../etc/messages.part");

const SCRIPTS: [(&str, &str); 3] = [
    ("seed.py", include_str!("../python/seed.py")),
    ("plugger.py", include_str!("../python/plugger.py")),
    ("heartbeat.py", include_str!("../python/heartbeat.py")),
];
const FAKE_DRIVER: (&str, &str) = ("remembering_fake.py", include_str!("../python/remembering_fake.py"));

/// The folders that services expect.
const DATA_FOLDERS: [&str; 10] = [
    "done",
    "mariadb",
    "rabbitmq",
    "ovn",
    "keystone",
    "glance/images",
    "neutron",
    "octavia",
    "nginx",
    "nova-controller",
];

/// Makes the folders of the cloud, closed to others: root's services would otherwise be open to every local account.
pub(crate) fn make_folders(settings: &Settings) -> anyhow::Result<()> {
    let data = DATA_FOLDERS.iter().map(|folder| settings.data().join(folder));
    let hosts = HOSTS
        .iter()
        .flat_map(|host| [settings.data().join(format!("nova-{host}")), settings.run().join(host)]);
    for folder in [settings.etc(), settings.logs(), settings.run()].into_iter().chain(data).chain(hosts) {
        fs::create_dir_all(&folder).with_context(|| format!("create {}", folder.display()))?;
    }
    fs::set_permissions(settings.folder(), fs::Permissions::from_mode(0o700))?;
    Ok(())
}

/// Writes all files.
pub(crate) fn configure(settings: &Settings, choices: &Choices, operator: &Operator) -> anyhow::Result<()> {
    certificates::make_missing(settings, &operator.password)?;
    let values = values(settings, choices, &operator.password, &operator.account)?;
    for (name, template) in FILES {
        write(settings, name, template, &values)?;
    }
    for host in HOSTS.into_iter().chain(["controller"]) {
        let mut values = values.clone();
        values.insert("host".into(), host.into());
        write(settings, &format!("nova-{host}/nova.conf"), NOVA, &values)?;
    }
    write(settings, "nginx.conf", NGINX, &with_servers(values)?)?;
    copy_paste_files(settings)?;
    prepare_rabbitmq(settings)?;
    for (name, text) in SCRIPTS {
        write_text(&settings.script(name), text)?;
    }
    write_text(&nova_drivers(settings)?.join(FAKE_DRIVER.0), FAKE_DRIVER.1)
}

/// The password of all accounts: made once, and kept with the data that knows it.
pub(crate) fn password(settings: &Settings) -> anyhow::Result<String> {
    let file = settings.data().join("password");
    if !file.exists() {
        let random = fs::read_to_string("/proc/sys/kernel/random/uuid")
            .context("ask the kernel for a random number")?;
        write_text(&file, &random.trim().replace('-', ""))?;
    }
    fs::read_to_string(&file).with_context(|| format!("read {}", file.display()))
}

fn values(settings: &Settings, choices: &Choices, password: &str, account: &str) -> anyhow::Result<Values> {
    let folder = |folder: std::path::PathBuf| folder.display().to_string();
    let mut values: Values = [
        ("account", account.to_owned()),
        ("password", password.to_owned()),
        ("data", folder(settings.data())),
        ("run", folder(settings.run())),
        ("logs", folder(settings.logs())),
        ("venv", folder(settings.venv())),
        ("database", format!("mysql+pymysql://root:{password}@127.0.0.1:{}", port("mariadb"))),
        ("messages", format!("rabbit://openstack:{password}@127.0.0.1:{}/", port("rabbitmq"))),
        ("messaging", MESSAGES.trim_end().to_owned()),
        ("token lifetime", choices.token_lifetime.to_string()),
        ("page size", choices.page_size.to_string()),
        ("default provider", choices.default_provider.clone()),
        // nginx's workers must open the sockets that uwsgi makes; for others than root the line is not allowed.
        ("nginx user", if account == "root" { "user root;".to_owned() } else { String::new() }),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into();
    let ports = APIS.iter().map(|api| (api.name, api.port)).chain(PORTS);
    values.extend(ports.map(|(name, port)| (format!("port {name}"), port.to_string())));
    for user in SERVICE_USERS {
        values.insert("user".into(), user.into());
        for (name, part) in [("login", LOGIN), ("tokens", TOKENS)] {
            let filled = fill(part, &values)?.trim_end().to_owned();
            values.insert(format!("{name} {user}"), filled);
        }
    }
    values.remove("user");
    Ok(values)
}

/// Adds nginx's part for each API.
fn with_servers(mut values: Values) -> anyhow::Result<Values> {
    let mut servers = String::new();
    for Api { name, port, .. } in &APIS {
        values.insert("name".into(), (*name).into());
        values.insert("port".into(), port.to_string());
        values.insert("tls port".into(), (port + TLS_PORT_OFFSET).to_string());
        values.insert("log format".into(), if *name == "keystone" { "identity" } else { "calls" }.into());
        servers.push_str(&fill(NGINX_SERVER, &values)?);
    }
    values.insert("servers".into(), servers);
    Ok(values)
}

/// Nova and Neutron look for these beside their configuration.
fn copy_paste_files(settings: &Settings) -> anyhow::Result<()> {
    for (from, to) in [("nova", "nova-controller"), ("neutron", "neutron")] {
        let source = settings.venv().join("etc").join(from).join("api-paste.ini");
        let text = fs::read_to_string(&source).with_context(|| format!("read {}", source.display()))?;
        write_text(&settings.etc().join(to).join("api-paste.ini"), &text)?;
    }
    Ok(())
}

/// No plugins, and nothing of the machine's own configuration.
fn prepare_rabbitmq(settings: &Settings) -> anyhow::Result<()> {
    let folder = settings.data().join("rabbitmq");
    write_text(&folder.join("enabled_plugins"), "[].\n")?;
    write_text(&folder.join("none.conf"), "")
}

/// The folder of the one package that Nova loads drivers from.
fn nova_drivers(settings: &Settings) -> anyhow::Result<std::path::PathBuf> {
    let library = settings.venv().join("lib");
    let versions = fs::read_dir(&library).with_context(|| format!("read {}", library.display()))?;
    let mut folders = versions.flatten().map(|entry| entry.path().join("site-packages/nova/virt"));
    folders.find(|folder| folder.is_dir()).ok_or_else(|| anyhow!("no nova/virt below {}", library.display()))
}

fn write(settings: &Settings, name: &str, template: &str, values: &Values) -> anyhow::Result<()> {
    let text = fill(template, values).with_context(|| format!("fill {name}"))?;
    write_text(&settings.etc().join(name), &text)
}

fn write_text(path: &Path, text: &str) -> anyhow::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
    }
    fs::write(path, text).with_context(|| format!("write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(template: &str) -> String {
        let settings = Settings::of_folder("/cloud".into());
        let choices = Choices { token_lifetime: 60, page_size: 3, default_provider: "amphora".into() };
        let mut values = with_servers(values(&settings, &choices, "secret", "someone").unwrap()).unwrap();
        values.insert("host".into(), "compute1".into());
        fill(template, &values).unwrap()
    }

    #[test]
    fn every_template_can_be_filled() {
        for (name, template) in FILES.into_iter().chain([("nova.conf", NOVA), ("nginx.conf", NGINX)]) {
            assert!(!filled(template).contains("{{"), "{name}");
        }
    }

    #[test]
    fn the_choices_reach_the_services() {
        let octavia = filled(FILES[8].1);
        assert!(
            octavia.contains("\ndefault_provider_driver = amphora\n")
                && octavia.contains("\npagination_max_limit = 3\n")
        );
        assert!(filled(FILES[3].1).contains("\nexpiration = 60\n"));
    }

    #[test]
    fn each_service_logs_in_as_itself() {
        assert!(filled(NOVA).contains("[glance]\nauth_url = http://127.0.0.1:5000\n"));
        assert_eq!(filled(NOVA).matches("username = nova\n").count(), 3);
    }
}
