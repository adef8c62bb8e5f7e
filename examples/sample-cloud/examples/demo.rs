//! Shows the sample cloud's manager at work on a real kube-apiserver and etcd, all on loopback. `cargo xtask sample` runs it.
//!
//! With `--once` it ends by itself when everything was seen; else it stays until Ctrl-C, for a person with kubectl.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, bail};
use bowline_testkit::apiserver::{Cluster, Identity, kubernetes_version};
use k8s_openapi::api::core::v1::Node;
use kube::api::{ListParams, ObjectMeta, PostParams};
use kube::{Api, Client};
use tokio::time::{Instant, sleep, timeout};

const CONFIGURATION: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/cloud.yaml");
const RACK: &str = "sample.bowline.dev/rack";

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
    let shown = timeout(PATIENCE, show(&client)).await.context("the nodes were not found in time")?;
    let ended = manager.0.try_wait()?;
    shown?;
    if let Some(status) = ended {
        bail!("the manager ended early: {status}");
    }

    println!("\nLook around, from another terminal:");
    println!("  export KUBECONFIG={}", kubeconfig.display());
    println!("  kubectl get nodes -L {RACK}");
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

/// Registers three Nodes, as kubelets would, and waits until each was found in the cloud.
async fn show(client: &Client) -> anyhow::Result<()> {
    let nodes = Api::<Node>::all(client.clone());
    for name in ["worker-1", "worker-2", "worker-3"] {
        let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
        nodes.create(&PostParams::default(), &Node { metadata, ..Node::default() }).await?;
        println!("  node {name} joins");
    }
    let mut told = std::collections::BTreeSet::new();
    while told.len() < 3 {
        for node in nodes.list(&ListParams::default()).await? {
            let name = node.metadata.name.unwrap_or_default();
            if let Some(rack) = node.metadata.labels.unwrap_or_default().get(RACK)
                && told.insert(name.clone())
            {
                println!("  node {name} was found in the cloud: it stands in rack {rack}");
            }
        }
        sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}
