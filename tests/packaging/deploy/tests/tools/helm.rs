//! helm on the chart of this workspace, and what it makes.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, ensure};
use bowline_testkit::apiserver::binaries::cache_folder;
use serde_json::Value;

use crate::location;

/// The chart.
pub(crate) const CHART: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../deploy/chart");
/// The values that are tried, and what comes of them.
pub(crate) const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases");

/// The program.
pub(crate) struct Helm(PathBuf);

impl Helm {
    /// helm of this machine; none, said aloud, if it is missing.
    pub(crate) fn locate() -> Option<Self> {
        match location::helm(&cache_folder()) {
            Ok(path) => Some(Self(path)),
            Err(problem) => {
                println!("not tested: {problem}");
                None
            }
        }
    }

    /// Runs it in a folder of its own, so that it finds no settings of people.
    pub(crate) fn run(&self, arguments: &[&str]) -> anyhow::Result<Output> {
        let home = tempfile::tempdir()?;
        let mut command = Command::new(&self.0);
        for (name, folder) in
            [("HELM_CACHE_HOME", "cache"), ("HELM_CONFIG_HOME", "config"), ("HELM_DATA_HOME", "data")]
        {
            command.env(name, home.path().join(folder));
        }
        command.env("KUBECONFIG", home.path().join("none")).args(arguments);
        command.output().context("start helm")
    }

    /// The objects that it makes of values, and NOTES besides if they are asked for.
    pub(crate) fn template(&self, release: &str, values: &Path, more: &[&str]) -> anyhow::Result<String> {
        let values = values.to_str().context("a path that is no text")?;
        let fixed = [
            "template",
            release,
            CHART,
            "--namespace",
            "kube-system",
            "--kube-version",
            "1.36.0",
            "--values",
            values,
        ];
        let output = self.run(&[&fixed, more].concat())?;
        ensure!(output.status.success(), "helm template: {}", String::from_utf8_lossy(&output.stderr));
        Ok(String::from_utf8(output.stdout)?)
    }
}

/// The values that are tried, by name.
pub(crate) fn cases() -> anyhow::Result<Vec<(String, PathBuf)>> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(CASES)? {
        let path = entry?.path();
        let name = path.file_stem().and_then(|name| name.to_str()).context("a name")?.to_owned();
        if path.extension().is_some_and(|extension| extension == "yaml") {
            all.push((name, path));
        }
    }
    all.sort();
    Ok(all)
}

/// The documents of a text of YAML, empty ones left out.
pub(crate) fn documents(text: &str) -> anyhow::Result<Vec<Value>> {
    let mut all = Vec::new();
    for document in format!("\n{text}").split("\n---") {
        let value: Value = serde_saphyr::from_str(document).with_context(|| document.to_owned())?;
        if !value.is_null() {
            all.push(value);
        }
    }
    Ok(all)
}
