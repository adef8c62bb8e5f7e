//! How safe pods are, by the API server's own pod security admission.

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use crate::harness::{Harness, Tools};
use crate::helm::{CASES, documents};

/// The pod of a workload, in the namespace that is watched over.
fn pod(text: &str, kind: &str) -> anyhow::Result<String> {
    let objects = documents(text)?;
    let workload =
        objects.iter().find(|object| object["kind"] == kind).with_context(|| format!("no {kind}"))?;
    let mut spec: Value = workload["spec"]["template"]["spec"].clone();
    spec["serviceAccountName"] = json!("default");
    Ok(json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "safe", "namespace": "safe"}, "spec": spec}).to_string())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pods_satisfy_the_restricted_standard_but_for_the_hosts_network() -> anyhow::Result<()> {
    let Some(tools) = Tools::locate()? else { return Ok(()) };
    let stage = Harness::start(&tools).await?;
    stage.admin.run(&["create", "namespace", "safe"]).await?;
    stage.admin.run(&["label", "namespace", "safe", "pod-security.kubernetes.io/enforce=restricted"]).await?;
    stage.default_account("safe").await?;
    let case = |name: &str| std::path::Path::new(CASES).join(format!("{name}.yaml"));
    let create = async |text: String| {
        let file = stage.write("pod.yaml", &text)?;
        stage.admin.run(&["create", "--dry-run=server", "--validate=strict", "-f", &file]).await
    };
    let rendered = tools.helm.template("bowline", &case("pod-network"), &[])?;
    create(pod(&rendered, "Deployment")?).await.context("without the host's network")?;
    for (values, kind) in [("minimal", "Deployment"), ("daemonset", "DaemonSet")] {
        let rendered = tools.helm.template("bowline", &case(values), &[])?;
        let error =
            create(pod(&rendered, kind)?).await.err().context("the host's network was allowed")?.to_string();
        let violations = error.split("\"restricted:latest\": ").nth(1).with_context(|| error.clone())?;
        let mut reasons: Vec<&str> =
            violations.split("), ").map(|reason| reason.split(" (").next().unwrap_or_default()).collect();
        reasons.sort_unstable();
        // The third is how probes reach a pod whose node has no address yet.
        ensure!(reasons == ["host namespaces", "hostPort", "probe or lifecycle host"], "{values}: {error}");
    }
    Ok(())
}
