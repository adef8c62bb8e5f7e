//! Every object that is shipped, by a strict server-side dry run: an unknown field, a wrong type or a name that cannot be fails.

use std::path::Path;

use anyhow::{Context, ensure};

use crate::harness::{DEPLOY, Harness, Tools};
use crate::helm::{cases, documents};

/// The folders for kustomize.
const FOLDERS: [&str; 4] =
    ["overlays/deployment", "overlays/daemonset", "overlays/shadow", "overlays/example"];
/// The files for kubectl.
const FILES: [&str; 10] = [
    "admission.yaml",
    "crd.yaml",
    "manifests/daemonset.yaml",
    "manifests/deployment.yaml",
    "manifests/shadow.yaml",
    "manifests/static-pod/cloud-controller-manager.yaml",
    "manifests/static-pod/rights.yaml",
    "rbac.yaml",
    "rbac-service-account-credentials.yaml",
    "rbac-shadow.yaml",
];

async fn accepted(stage: &Harness, what: &str, text: &str) -> anyhow::Result<usize> {
    let count = documents(text)?.len();
    let file = stage.write("accepted.yaml", text)?;
    let dry_run = ["apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", &file];
    let said = stage.admin.run(&dry_run).await.with_context(|| what.to_owned())?;
    ensure!(said.lines().count() == count, "{what}: {count} objects, and {said}");
    Ok(count)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_api_server_accepts_everything_that_is_shipped() -> anyhow::Result<()> {
    let Some(tools) = Tools::locate()? else { return Ok(()) };
    let stage = Harness::start(&tools).await?;
    stage.define_monitoring().await?;
    // The namespace of a Lease is not made by the chart.
    stage.admin.run(&["create", "namespace", "openstack"]).await?;
    stage.default_account("kube-system").await?;
    let mut objects = 0;
    for (name, values) in cases()? {
        objects += accepted(&stage, &name, &tools.helm.template("bowline", &values, &[])?).await?;
    }
    for folder in FOLDERS {
        objects += accepted(&stage, folder, &stage.kustomize(folder).await?).await?;
    }
    for file in FILES {
        let text = std::fs::read_to_string(Path::new(DEPLOY).join(file)).with_context(|| file.to_owned())?;
        objects += accepted(&stage, file, &text).await?;
    }
    println!("{objects} objects were accepted");
    ensure!(objects > 150, "only {objects} objects");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dry_run_that_is_strict_refuses_a_field_that_nobody_knows() -> anyhow::Result<()> {
    let Some(tools) = Tools::locate()? else { return Ok(()) };
    let stage = Harness::start(&tools).await?;
    let text = std::fs::read_to_string(Path::new(DEPLOY).join("manifests/deployment.yaml"))?;
    let wrong = text.replace("terminationGracePeriodSeconds", "terminationGraceSeconds");
    ensure!(wrong != text);
    let error = accepted(&stage, "wrong", &wrong).await.err().context("it was accepted")?;
    ensure!(format!("{error:#}").contains("terminationGraceSeconds"), "{error:#}");
    Ok(())
}
