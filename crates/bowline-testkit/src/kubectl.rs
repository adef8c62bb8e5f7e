//! The real kubectl, as one identity.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use serde_json::Value;
use tokio::io::AsyncWriteExt;

use crate::apiserver::Binaries;

/// kubectl with a kubeconfig, in a namespace.
pub struct Kubectl {
    program: PathBuf,
    kubeconfig: PathBuf,
    cache: PathBuf,
    /// Where it works unless an argument names another one.
    namespace: Option<&'static str>,
}

impl Kubectl {
    /// The program beside kube-apiserver; `None`, with a line on standard output, if it is missing.
    ///
    /// # Errors
    /// When kube-apiserver is missing, too.
    pub fn locate() -> anyhow::Result<Option<PathBuf>> {
        let program = Binaries::locate()?.kubectl;
        if program.is_none() {
            println!("not tested: no kubectl beside kube-apiserver; run `cargo xtask kubernetes`");
        }
        Ok(program)
    }

    /// This program with a kubeconfig, and a folder for what it caches.
    #[must_use]
    pub fn new(program: &Path, kubeconfig: PathBuf, cache: &Path) -> Self {
        let namespace = None;
        Self { program: program.to_owned(), kubeconfig, cache: cache.to_owned(), namespace }
    }

    /// The same in a namespace.
    #[must_use]
    pub fn within(self, namespace: &'static str) -> Self {
        Self { namespace: Some(namespace), ..self }
    }

    /// The command that runs it with these arguments.
    #[must_use]
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("--kubeconfig").arg(&self.kubeconfig);
        command.args(self.namespace.map(|namespace| format!("--namespace={namespace}")));
        command.args(arguments).env("KUBECACHEDIR", &self.cache);
        command
    }

    /// Runs it; the answer is what it prints.
    ///
    /// # Errors
    /// With what it prints on standard error, when it fails.
    pub async fn run(&self, arguments: &[&str]) -> anyhow::Result<String> {
        self.run_with(arguments, "").await
    }

    /// Runs it with something on its standard input.
    async fn run_with(&self, arguments: &[&str], input: &str) -> anyhow::Result<String> {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = tokio::process::Command::from(command).kill_on_drop(true).spawn();
        let mut child = child.context("start kubectl")?;
        let mut stdin = child.stdin.take().context("its input")?;
        stdin.write_all(input.as_bytes()).await?;
        drop(stdin);
        let output = child.wait_with_output().await?;
        let error = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "kubectl {}: {error}", arguments.join(" "));
        Ok(String::from_utf8(output.stdout)?)
    }

    /// Runs it with `--output=json`; null if it prints nothing.
    ///
    /// # Errors
    /// When it fails.
    pub async fn json(&self, arguments: &[&str]) -> anyhow::Result<Value> {
        let text = self.run(&[arguments, &["--output=json"]].concat()).await?;
        if text.trim().is_empty() { Ok(Value::Null) } else { Ok(serde_json::from_str(&text)?) }
    }

    /// Applies an object.
    ///
    /// # Errors
    /// When it fails.
    pub async fn apply(&self, object: &Value) -> anyhow::Result<()> {
        self.run_with(&["apply", "-f", "-"], &object.to_string()).await.map(drop)
    }

    /// Applies many objects.
    ///
    /// # Errors
    /// When it fails.
    pub async fn apply_all(&self, objects: &[Value]) -> anyhow::Result<()> {
        let documents: Vec<String> = objects.iter().map(Value::to_string).collect();
        self.run_with(&["apply", "-f", "-"], &documents.join("\n---\n")).await.map(drop)
    }

    /// A Service.
    ///
    /// # Errors
    /// When it fails.
    pub async fn service(&self, name: &str) -> anyhow::Result<Value> {
        self.json(&["get", "service", name]).await
    }

    /// Changes a Service by a merge patch.
    ///
    /// # Errors
    /// When it fails.
    pub async fn patch(&self, name: &str, patch: &Value) -> anyhow::Result<()> {
        self.run(&["patch", "service", name, "--type=merge", "-p", &patch.to_string()]).await.map(drop)
    }

    /// Changes the status of an object by a merge patch, as kubelets and controllers do.
    ///
    /// # Errors
    /// When it fails.
    pub async fn patch_status(&self, object: &str, status: &Value) -> anyhow::Result<()> {
        let patch = format!("{{\"status\": {status}}}");
        self.run(&["patch", object, "--subresource=status", "--type=merge", "-p", &patch]).await.map(drop)
    }

    /// Sets an annotation of a Service (`key=value`) or removes it (`key-`).
    ///
    /// # Errors
    /// When it fails.
    pub async fn annotate(&self, name: &str, annotation: &str) -> anyhow::Result<()> {
        self.run(&["annotate", "--overwrite", "service", name, annotation]).await.map(drop)
    }
}
