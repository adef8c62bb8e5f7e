//! Shows the sample cloud's manager at work on a real kube-apiserver and etcd, all on loopback. `cargo xtask sample` runs it.
//!
//! With `--once` it ends by itself when everything was seen; else it stays until Ctrl-C, for a person with kubectl.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, bail};
use bowline_testkit::apiserver::{Cluster, Identity, kubernetes_version};
use k8s_openapi::api::core::v1::{Node, Service};
use kube::api::{ListParams, PostParams};
use kube::{Api, Client};
use serde_json::json;
use tokio::time::{Instant, sleep, timeout};

const CONFIGURATION: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/cloud.yaml");
const RACK: &str = "sample.bowline.dev/rack";
const UNINITIALIZED: &str = "node.cloudprovider.kubernetes.io/uninitialized";

/// How long the whole show may take; it takes seconds.
const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let once = std::env::args().any(|argument| argument == "--once");
    let began = Instant::now();
    println!("Starting etcd and kube-apiserver {} on loopback …", kubernetes_version());
    let cluster = Cluster::start().await?;
    let client = cluster.client(&Identity::Admin).await?;
    let kubeconfig = cluster.kubeconfig(&Identity::Admin).await?;
    println!("  ready after {:.1} s: {}", began.elapsed().as_secs_f64(), cluster.url());

    println!("Starting the sample cloud's controller manager …");
    let mut manager = start_manager(&kubeconfig)?;
    let shown = timeout(PATIENCE, show(&client)).await.context("not everything was seen in time")?;
    let ended = manager.0.try_wait()?;
    shown?;
    if let Some(status) = ended {
        bail!("the manager ended early: {status}");
    }

    println!("\nLook around, from another terminal:");
    println!("  export KUBECONFIG={}", kubeconfig.display());
    println!("  kubectl get nodes -o wide -L {RACK}");
    println!("  kubectl get service web; kubectl describe service web");
    println!("  kubectl get lease -n kube-system cloud-controller-manager -o yaml");
    println!("  kubectl label node worker-1 {RACK}=wrong --overwrite   # is put right at once");
    if !once {
        println!("\nCtrl-C ends all of it.");
        tokio::signal::ctrl_c().await?;
    }
    println!("Ending …");
    manager.end()
}

/// The manager's process. Killed if it is not ended.
struct Manager(Child);

impl Manager {
    fn end(&mut self) -> anyhow::Result<()> {
        Command::new("kill").args(["-TERM", &self.0.id().to_string()]).status()?;
        self.0.wait()?;
        Ok(())
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        // It may have ended already, which is just as well.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn start_manager(kubeconfig: &Path) -> anyhow::Result<Manager> {
    let here = std::env::current_exe()?;
    let binary = here.parent().and_then(Path::parent).context("the target folder")?.join("sample-cloud");
    let flags = [
        "--cloud-provider=sample".to_owned(),
        format!("--cloud-config={CONFIGURATION}"),
        format!("--kubeconfig={}", kubeconfig.display()),
        "--secure-port=0".to_owned(),
    ];
    println!("  {} {}", binary.display(), flags.join(" "));
    let child = Command::new(&binary).args(flags).stdin(Stdio::null()).spawn();
    Ok(Manager(child.with_context(|| {
        format!("start {}; build it with `cargo build -p sample-cloud`", binary.display())
    })?))
}

/// What a newcomer should see: nodes that join become usable, a Service gets an address.
async fn show(client: &Client) -> anyhow::Result<()> {
    let nodes = Api::<Node>::all(client.clone());
    for name in ["worker-1", "worker-2", "worker-3"] {
        let node = serde_json::from_value(json!({
            "metadata": {"name": name},
            "spec": {"taints": [{"key": UNINITIALIZED, "value": "true", "effect": "NoSchedule"}]},
        }))?;
        nodes.create(&PostParams::default(), &node).await?;
        println!("  node {name} joins; nothing may run on it yet");
    }
    let services = Api::<Service>::default_namespaced(client.clone());
    let service = serde_json::from_value(json!({
        "metadata": {"name": "web"},
        "spec": {"type": "LoadBalancer", "selector": {"app": "web"}, "ports": [{"port": 80}]},
    }))?;
    services.create(&PostParams::default(), &service).await?;
    println!("  service web asks for a load balancer");
    let (mut known, mut address) = (BTreeSet::new(), None);
    while known.len() < 3 || address.is_none() {
        for node in nodes.list(&ListParams::default()).await? {
            if let Some((name, found)) = found_in_the_cloud(&node)
                && known.insert(name.clone())
            {
                println!("  node {name} was found in the cloud: {found}");
            }
        }
        let status = services.get("web").await?.status.and_then(|status| status.load_balancer);
        let ip = status.and_then(|status| status.ingress?.into_iter().next()?.ip);
        if let (None, Some(ip)) = (&address, ip) {
            println!("  service web has the address {ip}");
            address = Some(ip);
        }
        sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}

/// The name of a Node that is ready to be used, and what the cloud says of its machine.
fn found_in_the_cloud(node: &Node) -> Option<(String, String)> {
    let (spec, labels) = (node.spec.as_ref()?, node.metadata.labels.as_ref()?);
    let tainted = spec.taints.iter().flatten().any(|taint| taint.key == UNINITIALIZED);
    let rack = labels.get(RACK).filter(|_rack| !tainted)?;
    let zone = labels.get("topology.kubernetes.io/zone")?;
    let addresses = node.status.as_ref()?.addresses.as_ref()?;
    let ip = addresses.iter().find(|address| address.type_ == "InternalIP")?;
    Some((node.metadata.name.clone()?, format!("{} in zone {zone}, rack {rack}", ip.address)))
}
