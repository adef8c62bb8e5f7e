//! OpenStack itself: for each of its services the database, the API and the workers.
//!
//! APIs run in uwsgi, one process with threads each: a second would double the memory and the time to start.

use std::path::PathBuf;

use super::{Operator, Port, Ready, Unit, When, auth_url, port, seed};
use crate::process::Launch;
use crate::settings::{APIS, HOSTS, Settings};

/// Octavia's provider library knows no other place.
pub(crate) const OCTAVIA_SOCKETS: &str = "/var/run/octavia";

pub(super) fn units(settings: &Settings, operator: &Operator) -> Vec<Unit> {
    let parts = [
        keystone(settings, operator),
        neutron(settings, operator),
        octavia(settings, operator),
        nova(settings),
        placement(settings),
        glance(settings),
    ];
    parts.into_iter().flatten().collect()
}

fn keystone(settings: &Settings, operator: &Operator) -> Vec<Unit> {
    let configuration = settings.etc().join("keystone/keystone.conf");
    let manage = |arguments: &str| {
        let launch =
            Launch::new(settings.program("keystone-manage")).arg("--config-file").arg(&configuration);
        launch.words(arguments)
    };
    let bootstrap = manage(&format!(
        "bootstrap --bootstrap-region-id RegionOne --bootstrap-admin-url {url}/ --bootstrap-internal-url {url}/ \
         --bootstrap-public-url {url}/",
        url = auth_url()
    ));
    let owner = format!("--keystone-user {} --keystone-group {}", operator.account, operator.group);
    let steps = vec![
        manage("db_sync"),
        manage("fernet_setup").words(&owner),
        manage("credential_setup").words(&owner),
        bootstrap.env("OS_BOOTSTRAP_PASSWORD", &operator.password),
    ];
    let api = web(settings, "keystone", "keystone.wsgi.api", &["keystone-database", "memcached", "nginx"]);
    vec![
        Unit::task("keystone-database", &["databases", "memcached"], When::Once, steps),
        api.with(|service| {
            service.launch =
                service.launch.clone().env("OS_KEYSTONE_CONFIG_DIR", settings.etc().join("keystone"));
        })
        .reads(&[configuration]),
        Unit::task("catalog", &["keystone"], When::Once, vec![seed(settings, operator, "catalog")]),
    ]
}

fn placement(settings: &Settings) -> Vec<Unit> {
    let configuration = settings.etc().join("placement/placement.conf");
    let sync = tool(settings, "placement-manage", &[&configuration]).words("db sync");
    let api = web(settings, "placement", "placement.wsgi.api", &["placement-database", "catalog"]);
    vec![
        Unit::task("placement-database", &["databases"], When::Once, vec![sync]),
        api.with(|service| {
            service.launch =
                service.launch.clone().env("OS_PLACEMENT_CONFIG_DIR", settings.etc().join("placement"));
        })
        .reads(&[configuration]),
    ]
}

fn glance(settings: &Settings) -> Vec<Unit> {
    let configuration = settings.etc().join("glance/glance-api.conf");
    let sync = tool(settings, "glance-manage", &[&configuration]).words("db_sync");
    let api = web(settings, "glance", "glance.wsgi.api", &["glance-database", "catalog"]);
    vec![
        Unit::task("glance-database", &["databases"], When::Once, vec![sync]),
        api.with(|service| {
            let launch = service.launch.clone().env("OS_GLANCE_CONFIG_DIR", settings.etc().join("glance"));
            service.launch = launch.env("OS_GLANCE_CONFIG_FILES", "glance-api.conf");
        })
        .reads(&[configuration]),
    ]
}

fn nova(settings: &Settings) -> Vec<Unit> {
    let configuration = settings.etc().join("nova-controller/nova.conf");
    let manage = |arguments: &str| tool(settings, "nova-manage", &[&configuration]).words(arguments);
    // Without a connection it takes that of the main cell, with another name at its end.
    let first = vec![manage("api_db sync"), manage("cell_v2 map_cell0")];
    let needs = ["nova-cell-database", "rabbitmq", "catalog"];
    let api = web(settings, "nova", "nova.wsgi.osapi_compute", &needs);
    let mut units = vec![
        Unit::task("nova-api-database", &["databases"], When::Once, first),
        Unit::task(
            "nova-cell",
            &["nova-api-database"],
            When::Once,
            vec![manage("cell_v2 create_cell --name cell1")],
        ),
        Unit::task("nova-cell-database", &["nova-cell"], When::Once, vec![manage("db sync")]),
        api.with(|service| {
            service.launch =
                service.launch.clone().env("OS_NOVA_CONFIG_DIR", settings.etc().join("nova-controller"));
        })
        .reads(std::slice::from_ref(&configuration)),
    ];
    for name in ["nova-conductor", "nova-scheduler"] {
        let launch = tool(settings, name, &[&configuration]);
        units.push(Unit::service(name, &needs, launch).reads(std::slice::from_ref(&configuration)));
    }
    for host in HOSTS {
        let configuration = settings.etc().join(format!("nova-{host}/nova.conf"));
        let launch = tool(settings, "nova-compute", &[&configuration]);
        let needs = ["nova-conductor", "placement", &format!("ovn-controller-{host}")];
        units.push(Unit::service(&format!("nova-{host}"), &needs, launch).reads(&[configuration]));
    }
    units
}

fn neutron(settings: &Settings, operator: &Operator) -> Vec<Unit> {
    let folder = settings.etc().join("neutron");
    let files = [folder.join("neutron.conf"), folder.join("ml2_conf.ini")];
    let both = [&files[0], &files[1]];
    let sync = tool(settings, "neutron-db-manage", &both).words("upgrade heads");
    let needs = ["neutron-database", "rabbitmq", "catalog", "ovn-northd"];
    let maintenance = tool(settings, "neutron-ovn-maintenance-worker", &both);
    let network = seed(settings, operator, "management").arg(amphora_file(settings));
    vec![
        Unit::task("neutron-database", &["databases"], When::Once, vec![sync]),
        web(settings, "neutron", "neutron.wsgi.api", &needs)
            .with(|service| {
                let launch = service.launch.clone().env("OS_NEUTRON_CONFIG_DIR", &folder);
                service.launch = launch.env("OS_NEUTRON_CONFIG_FILES", "neutron.conf;ml2_conf.ini");
            })
            .reads(&files),
        Unit::task("amphora-network", &["neutron"], When::Once, vec![network]),
        Unit::service("neutron-maintenance", &["neutron"], maintenance).reads(&files),
    ]
}

fn octavia(settings: &Settings, operator: &Operator) -> Vec<Unit> {
    let configuration = settings.etc().join("octavia/octavia.conf");
    let run = |program: &str| tool(settings, program, &[&configuration]);
    let steps = ["upgrade head", "upgrade_persistence"].map(|step| run("octavia-db-manage").words(step));
    let worker_files = [configuration.clone(), amphora_file(settings)];
    let worker = tool(settings, "octavia-worker", &[&worker_files[0], &worker_files[1]]);
    let heartbeat = Launch::new(settings.program("python"))
        .arg(settings.script("heartbeat.py"))
        .arg(settings.database_socket())
        .arg(port("octavia-health-manager").to_string())
        .arg(settings.members_down())
        .env("CLOUD_PASSWORD", &operator.password);
    let needs = ["octavia-database", "rabbitmq", "catalog", "ovn-northd"];
    let reads = std::slice::from_ref(&configuration);
    vec![
        Unit::task("octavia-database", &["databases"], When::Once, steps.to_vec()),
        Unit::service("octavia-driver-agent", &needs, run("octavia-driver-agent"))
            .ready(Ready::Socket(PathBuf::from(OCTAVIA_SOCKETS).join("status.sock")))
            .reads(reads),
        // Without the agent's socket the API waits three minutes and then has no provider `ovn`.
        web(settings, "octavia", "octavia.wsgi.api", &["octavia-driver-agent"])
            .with(|service| {
                let arguments = format!("--config-file {}", configuration.display());
                service.launch = service.launch.clone().arg("--pyargv").arg(arguments);
            })
            .reads(reads),
        Unit::service("octavia-worker", &["octavia-database", "rabbitmq", "amphora-network"], worker)
            .reads(&worker_files),
        Unit::service("octavia-health-manager", &needs, run("octavia-health-manager"))
            .with(|service| service.ports = vec![Port::Udp(port("octavia-health-manager"))])
            .reads(reads),
        Unit::service("heartbeat", &["octavia-database"], heartbeat)
            .reads(&[settings.script("heartbeat.py")]),
    ]
}

/// The part of Octavia's configuration that the seed writes: it outlives the rest, like the network that it names.
fn amphora_file(settings: &Settings) -> PathBuf {
    settings.data().join("octavia/amphora.conf")
}

/// A program of OpenStack with its configuration files.
fn tool(settings: &Settings, name: &str, files: &[&PathBuf]) -> Launch {
    let launch = Launch::new(settings.program(name));
    files.iter().fold(launch, |launch, file| launch.arg("--config-file").arg(*file))
}

/// An API in uwsgi, behind nginx.
fn web(settings: &Settings, name: &'static str, module: &str, needs: &[&str]) -> Unit {
    let launch = Launch::new(settings.program("uwsgi"))
        .words(&format!("--module {module}:application --uwsgi-socket"))
        .arg(settings.run().join(format!("{name}.uwsgi")))
        .words("--master --processes 1 --threads 8 --enable-threads --lazy-apps --need-app --die-on-term")
        .words("--buffer-size 65535 --disable-logging --thunder-lock");
    let probe = APIS.iter().find(|api| api.name == name).map_or("/", |api| api.probe);
    Unit::service(name, needs, launch).ready(Ready::Http { port: port(name), path: probe })
}
