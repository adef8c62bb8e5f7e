//! The real kubectl against the simulator's HTTP server. Skipped, with a line that says so, where
//! `KUBEBUILDER_ASSETS` names a folder without kubectl.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use anyhow::{Context, ensure};
use bowline_testkit::apiserver::Binaries;
use bowline_testkit::simulated::SimulatedCluster;
use sim_kube::Config;
use tokio::io::{AsyncBufReadExt, BufReader};

/// How long kubectl may take to see something.
const PATIENCE: Duration = Duration::from_secs(60);

/// kubectl, with a home of its own and the way to a simulator.
struct Kubectl {
    program: PathBuf,
    home: tempfile::TempDir,
    _cluster: SimulatedCluster,
}

impl Kubectl {
    /// Starts a simulator; nothing if somebody else's folder has no kubectl.
    async fn start() -> anyhow::Result<Option<Self>> {
        let Some(program) = Binaries::locate()?.kubectl else {
            let own = std::env::var_os("KUBEBUILDER_ASSETS").is_some_and(|folder| !folder.is_empty());
            ensure!(own, "the cache of binaries has no kubectl; run `cargo xtask kubernetes`");
            println!("skipped: there is no kubectl in the folder that KUBEBUILDER_ASSETS names");
            return Ok(None);
        };
        let (cluster, home) = (SimulatedCluster::start(Config::real()).await?, tempfile::tempdir()?);
        std::fs::write(home.path().join("config"), cluster.kubeconfig())?;
        Ok(Some(Self { program, home, _cluster: cluster }))
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        let home = self.home.path();
        command.args(arguments).env_clear().env("HOME", home).env("KUBECONFIG", home.join("config"));
        command.current_dir(home).stdin(Stdio::null());
        command
    }

    async fn output(&self, arguments: &[&str]) -> anyhow::Result<Output> {
        let mut command = tokio::process::Command::from(self.command(arguments));
        let output = tokio::time::timeout(PATIENCE, command.kill_on_drop(true).output());
        output.await.with_context(|| format!("kubectl {arguments:?} takes too long"))?.map_err(Into::into)
    }

    /// What kubectl prints; an error if it fails.
    async fn run(&self, arguments: &[&str]) -> anyhow::Result<String> {
        let output = self.output(arguments).await?;
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        ensure!(output.status.success(), "kubectl {arguments:?} failed\n{out}{err}");
        ensure!(!err.contains("Warning") && !err.contains("error"), "kubectl {arguments:?} complains: {err}");
        Ok(out.into_owned())
    }

    /// Runs it, and wants to read `wanted`.
    async fn says(&self, arguments: &[&str], wanted: &str) -> anyhow::Result<()> {
        let out = self.run(arguments).await?;
        ensure!(out.contains(wanted), "kubectl {arguments:?} does not say {wanted:?}:\n{out}");
        Ok(())
    }

    fn file(&self, name: &str, text: &str) -> anyhow::Result<()> {
        Ok(std::fs::write(self.home.path().join(name), text)?)
    }
}

const FIRST: &str = "
apiVersion: v1
kind: Service
metadata: {name: web, labels: {app: web}}
spec:
  selector: {app: web}
  ports: [{name: http, port: 80}, {name: https, port: 443}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {color: blue}
";

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_applies_on_the_clients_side() -> anyhow::Result<()> {
    let Some(kubectl) = Kubectl::start().await? else { return Ok(()) };
    kubectl.file("all.yaml", FIRST)?;
    kubectl.says(&["apply", "-f", "all.yaml"], "service/web created").await?;
    kubectl.says(&["apply", "-f", "all.yaml"], "service/web unchanged").await?;
    kubectl.file("all.yaml", &FIRST.replace("port: 443", "port: 8443").replace("blue", "red"))?;
    let out = kubectl.run(&["apply", "-f", "all.yaml"]).await?;
    assert!(out.contains("service/web configured") && out.contains("configmap/settings configured"), "{out}");
    kubectl.says(&["get", "service", "web", "-o", "jsonpath={.spec.ports[*].port}"], "80 8443").await?;
    kubectl.says(&["get", "configmap", "settings", "-o", "jsonpath={.data.color}"], "red").await?;
    kubectl.says(&["delete", "-f", "all.yaml"], "service \"web\" deleted").await
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_applies_on_the_servers_side() -> anyhow::Result<()> {
    let Some(kubectl) = Kubectl::start().await? else { return Ok(()) };
    kubectl.file("all.yaml", FIRST)?;
    kubectl.says(&["apply", "--server-side", "-f", "all.yaml"], "service/web serverside-applied").await?;
    kubectl.run(&["patch", "configmap", "settings", "-p", r#"{"data":{"color":"green"}}"#]).await?;
    let refused = kubectl.output(&["apply", "--server-side", "-f", "all.yaml"]).await?;
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("conflict with \"kubectl-patch\"") && said.contains(".data.color"), "{said}");
    let force = ["apply", "--server-side", "--force-conflicts", "-f", "all.yaml"];
    kubectl.says(&force, "configmap/settings serverside-applied").await?;
    kubectl.says(&["get", "configmap", "settings", "-o", "jsonpath={.data.color}"], "blue").await
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_patches_labels_and_annotates() -> anyhow::Result<()> {
    let Some(kubectl) = Kubectl::start().await? else { return Ok(()) };
    kubectl.says(&["create", "service", "loadbalancer", "lb", "--tcp=80:8080"], "service/lb created").await?;
    let patch =
        |kind: &'static str, patch: &'static str| ["patch", "service", "lb", "--type", kind, "-p", patch];
    kubectl
        .says(
            &patch("strategic", r#"{"spec":{"ports":[{"port":81,"name":"b"},{"port":80,"name":"a"}]}}"#),
            "patched",
        )
        .await?;
    kubectl.says(&patch("merge", r#"{"spec":{"externalTrafficPolicy":"Local"}}"#), "patched").await?;
    kubectl
        .says(&patch("json", r#"[{"op":"add","path":"/metadata/finalizers","value":["x.io/a"]}]"#), "patched")
        .await?;
    kubectl.says(&patch("merge", r#"{"spec":{"externalTrafficPolicy":"Local"}}"#), "(no change)").await?;
    let status = [
        "patch",
        "service",
        "lb",
        "--subresource",
        "status",
        "--type",
        "merge",
        "-p",
        r#"{"status":{"loadBalancer":{"ingress":[{"ip":"198.51.100.1"}]}}}"#,
    ];
    kubectl.says(&status, "patched").await?;
    kubectl.says(&["annotate", "service", "lb", "note=hello"], "annotated").await?;
    kubectl.says(&["label", "service", "lb", "tier=front"], "labeled").await?;
    kubectl.says(&["get", "services", "-l", "tier=front", "-o", "name"], "service/lb").await?;
    kubectl.says(&["get", "services"], "198.51.100.1").await?;
    kubectl.says(&["describe", "service", "lb"], "External Traffic Policy:").await?;
    let ports = ["get", "service", "lb", "-o", "jsonpath={.spec.ports[*].name}"];
    let out = kubectl.run(&ports).await?;
    assert!(out.contains('a') && out.contains('b'), "{out}");
    kubectl.says(&["delete", "service", "lb", "--wait=false"], "deleted").await?;
    kubectl.says(&["get", "service", "lb", "-o", "jsonpath={.metadata.deletionTimestamp}"], "20").await?;
    kubectl.says(&patch("json", r#"[{"op":"remove","path":"/metadata/finalizers"}]"#), "patched").await?;
    let gone = kubectl.output(&["get", "service", "lb"]).await?;
    let said = String::from_utf8_lossy(&gone.stderr).into_owned();
    assert!(said.contains("Error from server (NotFound): services \"lb\" not found"), "{said}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_sees_tables_kinds_and_namespaces() -> anyhow::Result<()> {
    let Some(kubectl) = Kubectl::start().await? else { return Ok(()) };
    kubectl
        .file("node.yaml", "{apiVersion: v1, kind: Node, metadata: {name: node-1}, spec: {providerID: x}}")?;
    kubectl.says(&["create", "-f", "node.yaml"], "node/node-1 created").await?;
    kubectl.says(&["get", "nodes"], "NAME     STATUS").await?;
    kubectl.says(&["get", "nodes", "-o", "wide"], "INTERNAL-IP").await?;
    kubectl.says(&["get", "svc"], "CLUSTER-IP").await?;
    kubectl.says(&["api-resources"], "services").await?;
    kubectl.says(&["api-versions"], "coordination.k8s.io/v1").await?;
    kubectl.says(&["version"], "Server Version").await?;
    kubectl.says(&["create", "namespace", "other"], "namespace/other created").await?;
    kubectl.says(&["get", "ns", "other"], "Active").await?;
    kubectl.says(&["describe", "node", "node-1"], "ProviderID:").await?;
    kubectl.says(&["cordon", "node-1"], "node/node-1 cordoned").await?;
    kubectl.says(&["taint", "nodes", "node-1", "a=b:NoSchedule"], "node/node-1 tainted").await?;
    kubectl.says(&["get", "nodes"], "SchedulingDisabled").await?;
    kubectl.says(&["delete", "namespace", "other"], "deleted").await?;
    kubectl.says(&["delete", "node", "node-1"], "deleted").await
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_watches_and_waits() -> anyhow::Result<()> {
    let Some(kubectl) = Kubectl::start().await? else { return Ok(()) };
    kubectl.run(&["create", "configmap", "seen", "--from-literal=a=b"]).await?;
    let mut watch =
        tokio::process::Command::from(kubectl.command(&["get", "configmaps", "-w", "-o", "name"]))
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
    let mut lines = BufReader::new(watch.stdout.take().context("no output")?).lines();
    let next = async |lines: &mut tokio::io::Lines<_>| {
        tokio::time::timeout(PATIENCE, lines.next_line()).await?.map_err(anyhow::Error::from)
    };
    assert_eq!(next(&mut lines).await?.as_deref(), Some("configmap/seen"));
    kubectl.run(&["create", "configmap", "later", "--from-literal=a=b"]).await?;
    assert_eq!(next(&mut lines).await?.as_deref(), Some("configmap/later"));
    watch.kill().await?;

    let wait = ["wait", "configmap/seen", "--for=jsonpath={.data.a}=c", "--timeout=50s"];
    let waiting = kubectl.output(&wait);
    let change = kubectl.run(&["patch", "configmap", "seen", "-p", r#"{"data":{"a":"c"}}"#]);
    let (waited, changed) = tokio::join!(waiting, change);
    changed?;
    let waited = waited?;
    assert!(waited.status.success(), "{}", String::from_utf8_lossy(&waited.stderr));
    let gone = ["wait", "configmap/later", "--for=delete", "--timeout=50s"];
    let (gone, deleted) = tokio::join!(kubectl.output(&gone), kubectl.run(&["delete", "configmap", "later"]));
    deleted?;
    assert!(gone?.status.success());
    Ok(())
}
