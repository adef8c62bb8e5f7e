//! The real kubectl against the simulator's HTTP server. Skipped, with a line that says so, where
//! `KUBEBUILDER_ASSETS` names a folder without kubectl.

use std::process::Command;

use anyhow::{Context, ensure};
use bowline_testkit::command::{self, Finished};
use bowline_testkit::process::Process;
use bowline_testkit::simulated::SimulatedCluster;
use bowline_testkit::{deadline, kubectl};
use sim_kube::Config;
use tempfile::TempDir;

/// kubectl, with a home of its own and the way to a simulator.
struct Kubectl {
    kubectl: kubectl::Kubectl,
    home: TempDir,
    _cluster: SimulatedCluster,
}

impl Kubectl {
    /// Starts a simulator; nothing if somebody else's folder has no kubectl.
    async fn start() -> anyhow::Result<Option<Self>> {
        let Some(program) = kubectl::Kubectl::locate()? else {
            let own = std::env::var_os("KUBEBUILDER_ASSETS").is_some_and(|folder| !folder.is_empty());
            ensure!(own, "the cache of binaries has no kubectl; run `cargo xtask kubernetes`");
            return Ok(None);
        };
        let (cluster, home) = (SimulatedCluster::start(Config::real()).await?, tempfile::tempdir()?);
        let kubeconfig = home.path().join("config");
        std::fs::write(&kubeconfig, cluster.kubeconfig())?;
        let kubectl = kubectl::Kubectl::new(&program, kubeconfig, &home.path().join("cache"));
        Ok(Some(Self { kubectl, home, _cluster: cluster }))
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.kubectl.command(arguments);
        command.env("HOME", self.home.path()).current_dir(self.home.path());
        command
    }

    async fn finished(&self, arguments: &[&str]) -> anyhow::Result<Finished> {
        let finished = tokio::time::timeout(deadline(), command::run(self.command(arguments))).await;
        finished.with_context(|| format!("kubectl {arguments:?} takes too long"))?
    }

    /// What kubectl prints; an error if it fails or complains.
    async fn run(&self, arguments: &[&str]) -> anyhow::Result<String> {
        let finished = self.finished(arguments).await?;
        let complains = finished.err.contains("Warning") || finished.err.contains("error");
        ensure!(finished.code == 0 && !complains, "{finished:#?}");
        Ok(finished.out)
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
    let said = kubectl.finished(&["apply", "--server-side", "-f", "all.yaml"]).await?.err;
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
    let said = kubectl.finished(&["get", "service", "lb"]).await?.err;
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
    let watch = kubectl.command(&["get", "configmaps", "-w", "-o", "name"]);
    let mut watch = Process::start(watch, kubectl.home.path().join("watch.log"))?;
    assert_eq!(watch.line("").await?, "configmap/seen");
    kubectl.run(&["create", "configmap", "later", "--from-literal=a=b"]).await?;
    assert_eq!(watch.line("").await?, "configmap/later");
    watch.kill()?;

    let wait = ["wait", "configmap/seen", "--for=jsonpath={.data.a}=c", "--timeout=50s"];
    let waiting = kubectl.finished(&wait);
    let change = kubectl.run(&["patch", "configmap", "seen", "-p", r#"{"data":{"a":"c"}}"#]);
    let (waited, changed) = tokio::join!(waiting, change);
    changed?;
    waited?.prints(0, &[])?;
    let gone = ["wait", "configmap/later", "--for=delete", "--timeout=50s"];
    let (gone, deleted) =
        tokio::join!(kubectl.finished(&gone), kubectl.run(&["delete", "configmap", "later"]));
    deleted?;
    gone?.prints(0, &[])
}
