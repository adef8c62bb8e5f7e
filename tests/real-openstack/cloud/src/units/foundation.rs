//! What OpenStack stands on: the database, the message queue, the token cache, the web server.

use super::{Operator, Port, Ready, Unit, When, api_ports, port};
use crate::process::Launch;
use crate::settings::Settings;

pub(super) fn units(settings: &Settings, operator: &Operator) -> Vec<Unit> {
    let mut units = database(settings);
    units.extend(messages(settings));
    let memcached = Launch::new("memcached").words(&format!("-l 127.0.0.1 -m 64 -p {}", port("memcached")));
    let memcached = memcached.arg("-u").arg(&operator.account);
    units.push(Unit::service("memcached", &[], memcached).listens(&[port("memcached")]).foundation());
    let configuration = settings.etc().join("nginx.conf");
    let nginx = Launch::new("nginx").words("-e stderr -c").arg(&configuration);
    units.push(Unit::service("nginx", &[], nginx).listens(&api_ports()).reads(&[configuration]).foundation());
    units
}

fn database(settings: &Settings) -> Vec<Unit> {
    let configuration = settings.etc().join("mariadb.cnf");
    let defaults = format!("--defaults-file={}", configuration.display());
    let create = Launch::new("mariadb-install-db")
        .arg(&defaults)
        .words("--auth-root-authentication-method=normal --skip-test-db");
    let fill = Launch::new("mariadb")
        .words("--no-defaults --user=root --socket")
        .arg(settings.database_socket())
        .arg("--execute")
        .arg(format!("source {}", settings.etc().join("databases.sql").display()));
    vec![
        Unit::task("mariadb-data", &[], When::Once, vec![create]),
        Unit::service("mariadb", &["mariadb-data"], Launch::new("mariadbd").arg(&defaults))
            .listens(&[port("mariadb")])
            .reads(&[configuration])
            .foundation(),
        Unit::task("databases", &["mariadb"], When::Once, vec![fill]),
    ]
}

fn messages(settings: &Settings) -> Vec<Unit> {
    let data = settings.data().join("rabbitmq");
    let configuration = settings.etc().join("rabbitmq.conf");
    let epmd = format!("-address 127.0.0.1 -port {}", port("epmd"));
    // Erlang's schedulers spin while they wait, unless told not to.
    let erlang = "+S 2:2 +sbwt none +sbwtdcpu none +sbwtdio none -kernel inet_dist_use_interface {127,0,0,1}";
    let server = Launch::new("/usr/lib/rabbitmq/bin/rabbitmq-server")
        .env("HOME", &data)
        .env("ERL_EPMD_ADDRESS", "127.0.0.1")
        .env("ERL_EPMD_PORT", port("epmd").to_string())
        .env("RABBITMQ_NODENAME", "bowline@localhost")
        .env("RABBITMQ_DIST_PORT", port("rabbitmq-peers").to_string())
        .env("RABBITMQ_MNESIA_BASE", data.join("mnesia"))
        .env("RABBITMQ_LOGS", "-")
        .env("RABBITMQ_LOG_BASE", data.join("log"))
        .env("ERL_CRASH_DUMP", data.join("crash.dump"))
        .env("RABBITMQ_CONFIG_FILE", &configuration)
        .env("RABBITMQ_ENABLED_PLUGINS_FILE", data.join("enabled_plugins"))
        .env("RABBITMQ_PID_FILE", settings.run().join("rabbitmq.own-pid"))
        .env("RABBITMQ_CONF_ENV_FILE", data.join("none.conf"))
        .env("RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS", erlang);
    vec![
        // Rabbit would start it by itself, but as a daemon that nobody ends.
        Unit::service("epmd", &[], Launch::new("epmd").words(&epmd)).listens(&[port("epmd")]).foundation(),
        Unit::service("rabbitmq", &["epmd"], server)
            .with(|service| {
                service.ports = vec![Port::Tcp(port("rabbitmq")), Port::Tcp(port("rabbitmq-peers"))];
                service.ready = Ready::Port(port("rabbitmq"));
            })
            .reads(&[configuration])
            .foundation(),
    ]
}
