//! The real `openstack` command-line client against the simulator's HTTP server: a scripted session over all services.
//!
//! The client is a Python program of its own; what it prints is asked for as JSON. `cargo xtask openstack-client` installs it.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "an answer without what is looked for fails the test, as it should"
)]

#[path = "openstack_client/location.rs"]
mod client_location;

use std::path::PathBuf;

use bowline_testkit::apiserver::binaries::cache_folder;
use bowline_testkit::cloud::Cloud;
use bowline_testkit::command::{self, Finished};
use serde_json::Value;
use sim_openstack::Service;
use tempfile::TempDir;

/// A served cloud, and the client that talks to it.
struct Session {
    client: PathBuf,
    folder: TempDir,
    cloud: Cloud,
}

impl Session {
    async fn start(client: PathBuf) -> Self {
        let (folder, cloud) = (tempfile::tempdir().unwrap(), Cloud::start(3).await.unwrap());
        cloud.write_clouds_yaml(folder.path()).unwrap();
        Self { client, folder, cloud }
    }

    async fn run(&self, cloud: &str, arguments: &[&str]) -> Finished {
        let mut command = command::openstack(&self.client, self.folder.path(), cloud);
        command.args(arguments);
        command::run(command).await.unwrap()
    }

    async fn expect_success(&self, cloud: &str, arguments: &[&str]) -> String {
        let finished = self.run(cloud, arguments).await;
        assert_eq!(finished.code, 0, "{finished:#?}");
        finished.out
    }

    /// A command that gives JSON.
    async fn json(&self, arguments: &[&str]) -> Value {
        self.json_as("sim", arguments).await
    }

    async fn json_as(&self, cloud: &str, arguments: &[&str]) -> Value {
        let with_format: Vec<&str> = arguments.iter().copied().chain(["-f", "json"]).collect();
        let text = self.expect_success(cloud, &with_format).await;
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}: {text}", arguments.join(" ")))
    }

    /// A command that gives nothing worth reading.
    async fn done(&self, arguments: &[&str]) {
        self.expect_success("sim", arguments).await;
    }

    /// A command that is refused; what it says.
    async fn refused(&self, cloud: &str, arguments: &[&str]) -> String {
        let finished = self.run(cloud, arguments).await;
        assert_ne!(finished.code, 0, "{finished:#?}");
        finished.err
    }
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_else(|| panic!("{name} in {value}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_real_client_works_on_the_simulator() {
    let client = match client_location::locate(&cache_folder()) {
        Ok(client) => client,
        Err(problem) => return println!("not tested: {problem}"),
    };
    let session = Session::start(client).await;
    identity(&session).await;
    network_and_servers(&session).await;
    load_balancer(&session).await;
    refusals(&session).await;
    println!("the client made {} requests", session.cloud.requests().0);
}

async fn identity(session: &Session) {
    let token = session.json(&["token", "issue"]).await;
    assert_eq!(text(&token, "project_id"), session.cloud.estate.project);
    let catalog = session.json(&["catalog", "list"]).await;
    assert_eq!(catalog.as_array().unwrap().len(), Service::ALL.len());
    let project = session.json_as("sim-admin", &["project", "create", "other"]).await;
    assert_eq!(text(&project, "name"), "other");
    let credential = session.json(&["application", "credential", "create", "ccm"]).await;
    assert!(text(&credential, "Secret").len() > 20);
}

async fn network_and_servers(session: &Session) {
    session.done(&["network", "create", "cli-net", "--tag", "blue"]).await;
    let subnet =
        ["subnet", "create", "cli-subnet", "--network", "cli-net", "--subnet-range", "192.168.7.0/24"];
    let subnet = session.json(&subnet).await;
    assert_eq!(text(&subnet, "gateway_ip"), "192.168.7.1");
    session.done(&["router", "create", "cli-router", "--external-gateway", "public"]).await;
    session.done(&["router", "add", "subnet", "cli-router", "cli-subnet"]).await;
    let blue = session.json(&["network", "list", "--tags", "blue"]).await;
    assert_eq!(blue.as_array().unwrap().len(), 1);
    session.done(&["security", "group", "create", "cli-group"]).await;
    let rule =
        ["security", "group", "rule", "create", "cli-group", "--protocol", "tcp", "--dst-port", "80:80"];
    session.done(&rule).await;
    let server =
        ["server", "create", "cli-server", "--flavor", "m1.tiny", "--image", "tiny", "--network", "cli-net"];
    session.done(&[&server[..], &["--security-group", "cli-group", "--wait"]].concat()).await;
    let server = session.json(&["server", "show", "cli-server"]).await;
    assert_eq!(text(&server, "status"), "ACTIVE");
    assert_eq!(server["addresses"]["cli-net"].as_array().unwrap().len(), 1, "{server}");
    let servers = session.json(&["server", "list"]).await;
    assert_eq!(servers.as_array().unwrap().len(), 4);
    session.done(&["server", "stop", "cli-server"]).await;
    assert_eq!(text(&session.json(&["server", "show", "cli-server"]).await, "status"), "SHUTOFF");
    session.done(&["server", "start", "cli-server"]).await;
    let ports = session.json(&["port", "list", "--server", "cli-server"]).await;
    assert_eq!(ports.as_array().unwrap().len(), 1);
}

async fn load_balancer(session: &Session) {
    let create = [
        "loadbalancer",
        "create",
        "--name",
        "lb1",
        "--vip-subnet-id",
        "cli-subnet",
        "--wait",
        "--tag",
        "red",
    ];
    let balancer = session.json(&create).await;
    assert_eq!(text(&balancer, "provisioning_status"), "ACTIVE");
    let listener = [
        "loadbalancer",
        "listener",
        "create",
        "--name",
        "http",
        "--protocol",
        "TCP",
        "--protocol-port",
        "80",
        "--wait",
        "lb1",
    ];
    session.done(&listener).await;
    let pool = ["loadbalancer", "pool", "create", "--name", "web", "--listener", "http", "--protocol", "TCP"];
    session.done(&[&pool[..], &["--lb-algorithm", "ROUND_ROBIN", "--wait"]].concat()).await;
    for number in ["10", "11"] {
        let address = format!("192.168.7.{number}");
        let member = [
            "loadbalancer",
            "member",
            "create",
            "--address",
            &address,
            "--protocol-port",
            "8080",
            "--wait",
            "web",
        ];
        session.done(&member).await;
    }
    let monitor =
        ["loadbalancer", "healthmonitor", "create", "--name", "alive", "--type", "TCP", "--delay", "5"];
    session.done(&[&monitor[..], &["--timeout", "3", "--max-retries", "2", "--wait", "web"]].concat()).await;
    let members = session.json(&["loadbalancer", "member", "list", "web"]).await;
    assert_eq!(members.as_array().unwrap().len(), 2);
    let tree = session.expect_success("sim", &["loadbalancer", "status", "show", "lb1"]).await;
    assert!(tree.contains("\"operating_status\": \"ONLINE\""), "{tree}");
    let tagged = session.json(&["loadbalancer", "list", "--tags", "red"]).await;
    assert_eq!(tagged.as_array().unwrap().len(), 1);
    let port = text(&balancer, "vip_port_id");
    let floating =
        session.json(&["floating", "ip", "create", "public", "--port", port, "--tag", "kept"]).await;
    assert_eq!(text(&floating, "port_id"), port);
    session.done(&["loadbalancer", "delete", "--cascade", "--wait", "lb1"]).await;
    let floating = session.json(&["floating", "ip", "show", text(&floating, "id")]).await;
    assert!(floating["port_id"].is_null() && text(&floating, "status") == "DOWN", "{floating}");
    assert_eq!(session.json(&["loadbalancer", "list"]).await, serde_json::json!([]));
}

async fn refusals(session: &Session) {
    let wrong = session.refused("sim", &["--os-password", "wrong", "token", "issue"]).await;
    assert!(wrong.contains("401"), "{wrong}");
    let missing = session.refused("sim", &["network", "show", "nosuch"]).await;
    assert!(missing.contains("nosuch"), "{missing}");
    let missing = session.refused("sim", &["loadbalancer", "show", "nosuch"]).await;
    assert!(missing.to_lowercase().contains("unable to locate nosuch"), "{missing}");
    let used = session.refused("sim", &["network", "delete", "cli-net"]).await;
    assert!(used.contains("409") || used.contains("Conflict") || used.contains("still in use"), "{used}");
    let project = session.cloud.estate.project.as_str();
    session.expect_success("sim-admin", &["quota", "set", "--floating-ips", "1", "--force", project]).await;
    let full = session.refused("sim", &["floating", "ip", "create", "public"]).await;
    assert!(full.contains("Quota exceeded"), "{full}");
    let quota = session.json(&["quota", "show", "--network"]).await;
    assert!(quota.to_string().contains("floating"), "{quota}");
    let forbidden = session.refused("sim", &["project", "create", "mine"]).await;
    assert!(forbidden.contains("403") || forbidden.contains("not authorized"), "{forbidden}");
}
