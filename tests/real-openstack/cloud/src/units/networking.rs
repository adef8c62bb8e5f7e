//! OVN, and two hosts with a virtual switch each: real, but for the datapath, which is a dummy in user space.

use std::ffi::OsString;

use super::{Ready, Unit, When, port};
use crate::process::Launch;
use crate::settings::{HOSTS, Settings};

const OVN_SCHEMAS: &str = "/usr/share/ovn";
const SWITCH_SCHEMA: &str = "/usr/share/openvswitch/vswitch.ovsschema";

pub(super) fn units(settings: &Settings) -> Vec<Unit> {
    let mut units = central(settings);
    for (index, host) in HOSTS.iter().enumerate() {
        units.extend(hypervisor(settings, host, index + 1));
    }
    let python = Launch::new(settings.program("python")).arg(settings.script("plugger.py"));
    let plugger = python.arg(southbound()).arg(settings.run());
    let files = [settings.script("plugger.py")];
    units.push(Unit::service("plugger", &["ovn-databases"], plugger).reads(&files));
    units
}

/// The two databases of OVN and what translates one into the other.
fn central(settings: &Settings) -> Vec<Unit> {
    let northbound = format!("tcp:127.0.0.1:{}", port("ovn-nb"));
    let steps = vec![
        Launch::new("ovn-nbctl").arg(format!("--db={northbound}")).arg("init"),
        Launch::new("ovn-sbctl").arg(format!("--db={}", southbound())).arg("init"),
    ];
    let northd = Launch::new("ovn-northd")
        .arg(format!("--ovnnb-db={northbound}"))
        .arg(format!("--ovnsb-db={}", southbound()))
        .arg(format!("--unixctl={}", settings.run().join("ovn-northd.ctl").display()))
        .arg("-vconsole:info");
    let mut units = database(settings, "ovn-nb");
    units.extend(database(settings, "ovn-sb"));
    units.push(Unit::task("ovn-databases", &["ovn-nb", "ovn-sb"], When::Once, steps));
    units.push(Unit::service("ovn-northd", &["ovn-databases"], northd));
    units
}

fn database(settings: &Settings, name: &str) -> Vec<Unit> {
    let file = settings.data().join("ovn").join(format!("{name}.db"));
    let create =
        Launch::new("ovsdb-tool").arg("create").arg(&file).arg(format!("{OVN_SCHEMAS}/{name}.ovsschema"));
    let server = Launch::new("ovsdb-server")
        .arg(format!("--remote=ptcp:{}:127.0.0.1", port(name)))
        .arg(format!("--unixctl={}", settings.run().join(format!("{name}.ctl")).display()))
        .arg("-vconsole:info")
        .arg(&file);
    let data = format!("{name}-data");
    vec![
        Unit::task(&data, &[], When::Once, vec![create]),
        Unit::service(name, &[&data], server).listens(&[port(name)]).foundation(),
    ]
}

/// A host: its switch's database, its switch, and the real ovn-controller.
fn hypervisor(settings: &Settings, host: &str, number: usize) -> Vec<Unit> {
    let folder = settings.run().join(host);
    let file = settings.data().join("ovn").join(format!("{host}.db"));
    let socket = folder.join("db.sock");
    let connection: OsString = format!("unix:{}", socket.display()).into();
    let on_host = |program: &str| {
        let launch = Launch::new(program).env("OVS_RUNDIR", &folder).env("OVN_RUNDIR", &folder);
        launch.env("OVS_LOGDIR", settings.logs()).env("OVN_LOGDIR", settings.logs()).env("OVS_DBDIR", &folder)
    };
    let create = on_host("ovsdb-tool").arg("create").arg(&file).arg(SWITCH_SCHEMA);
    let database = on_host("ovsdb-server")
        .arg(format!("--remote=punix:{}", socket.display()))
        .arg(format!("--unixctl={}", folder.join("ovsdb.ctl").display()))
        .arg("-vconsole:info")
        .arg(&file);
    let set_up = on_host("ovs-vsctl")
        .arg(format!("--db=unix:{}", socket.display()))
        .words(&switch_settings(host, number));
    let switch = on_host("ovs-vswitchd")
        .words("--enable-dummy=override --disable-system -vconsole:warn")
        .arg(format!("--unixctl={}", folder.join("vswitchd.ctl").display()))
        .arg(&connection);
    let controller = on_host("ovn-controller").arg("-vconsole:info").arg(&connection);
    let [data, server, ready, switch_name, controller_name] =
        ["switch-data", "switch-database", "switch-settings", "switch", "ovn-controller"]
            .map(|part| format!("{part}-{host}"));
    vec![
        Unit::task(&data, &[], When::Once, vec![create]),
        Unit::service(&server, &[&data], database).ready(Ready::Socket(socket)).foundation(),
        Unit::task(&ready, &[&server], When::Once, vec![set_up]),
        Unit::service(&switch_name, &[&ready], switch),
        Unit::service(&controller_name, &[&ready, "ovn-databases"], controller),
    ]
}

/// The names are those of the Nova hosts: by them Neutron finds where a port belongs.
fn switch_settings(host: &str, number: usize) -> String {
    let ids = [
        ("system-id", host),
        ("hostname", host),
        ("ovn-remote", &southbound()),
        ("ovn-encap-type", "geneve"),
        ("ovn-encap-ip", &format!("127.0.1.{number}")),
        ("ovn-bridge-mappings", "public:br-ex"),
        ("ovn-cms-options", "enable-chassis-as-gw"),
        ("ovn-monitor-all", "true"),
    ];
    let ids: Vec<String> = ids.iter().map(|(name, value)| format!("external-ids:{name}={value}")).collect();
    format!(
        "--no-wait init -- set Open_vSwitch . {} \
         -- --may-exist add-br br-int -- set bridge br-int datapath_type=dummy fail-mode=secure \
         -- --may-exist add-br br-ex -- set bridge br-ex datapath_type=dummy",
        ids.join(" ")
    )
}

fn southbound() -> String {
    format!("tcp:127.0.0.1:{}", port("ovn-sb"))
}
