//! The real kubectl, as one person.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, ensure};
use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

/// kubectl as somebody, in a namespace.
pub(crate) struct Kubectl {
    program: PathBuf,
    kubeconfig: PathBuf,
    cache: PathBuf,
    /// Where it works if it is not told otherwise.
    namespace: Option<&'static str>,
}

impl Kubectl {
    pub(crate) fn new(program: &Path, kubeconfig: PathBuf, cache: &Path) -> Self {
        let namespace = None;
        Self { program: program.to_owned(), kubeconfig, cache: cache.to_owned(), namespace }
    }

    /// The same in a namespace.
    pub(crate) fn within(self, namespace: &'static str) -> Self {
        Self { namespace: Some(namespace), ..self }
    }

    /// Runs it; the answer is what it prints.
    pub(crate) async fn run(&self, arguments: &[&str]) -> anyhow::Result<String> {
        self.run_with(arguments, "").await
    }

    /// Runs it with something on its standard input.
    async fn run_with(&self, arguments: &[&str], input: &str) -> anyhow::Result<String> {
        let mut child = Command::new(&self.program)
            .arg("--kubeconfig")
            .arg(&self.kubeconfig)
            .args(self.namespace.map(|namespace| format!("--namespace={namespace}")))
            .args(arguments)
            .env("KUBECACHEDIR", &self.cache)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .context("start kubectl")?;
        let mut stdin = child.stdin.take().context("its input")?;
        stdin.write_all(input.as_bytes()).await?;
        drop(stdin);
        let output = child.wait_with_output().await?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "kubectl {}: {said}", arguments.join(" "));
        Ok(String::from_utf8(output.stdout)?)
    }

    /// Applies an object.
    pub(crate) async fn apply(&self, object: &Value) -> anyhow::Result<()> {
        self.run_with(&["apply", "-f", "-"], &object.to_string()).await.map(drop)
    }

    /// Applies many objects.
    pub(crate) async fn apply_all(&self, objects: &[Value]) -> anyhow::Result<()> {
        let documents: Vec<String> = objects.iter().map(Value::to_string).collect();
        self.run_with(&["apply", "-f", "-"], &documents.join("\n---\n")).await.map(drop)
    }

    /// A Service.
    pub(crate) async fn service(&self, name: &str) -> anyhow::Result<Value> {
        Ok(serde_json::from_str(&self.run(&["get", "service", name, "-o", "json"]).await?)?)
    }

    /// Changes a Service by a merge patch.
    pub(crate) async fn patch(&self, name: &str, patch: &Value) -> anyhow::Result<()> {
        self.run(&["patch", "service", name, "--type=merge", "-p", &patch.to_string()]).await.map(drop)
    }

    /// Sets an annotation (`key=value`) or removes it (`key-`).
    pub(crate) async fn annotate(&self, name: &str, annotation: &str) -> anyhow::Result<()> {
        self.run(&["annotate", "--overwrite", "service", name, annotation]).await.map(drop)
    }
}
