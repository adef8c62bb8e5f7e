//! A reader's shell: blocks are run one after the other, and variables stay.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, bail};
use bowline_testkit::scaled;
use tokio::process::Command;
use tokio::time::timeout;

/// Longer than any block waits by itself.
const PATIENCE: Duration = Duration::from_secs(400);

/// A shell in a folder.
pub(crate) struct Shell {
    folder: PathBuf,
    /// Where variables are kept between blocks.
    memory: PathBuf,
    variables: Vec<(String, String)>,
}

impl Shell {
    pub(crate) fn new(folder: &Path, setup: &str, variables: Vec<(String, String)>) -> Self {
        Self { folder: folder.to_owned(), memory: folder.join(format!(".{setup}.variables")), variables }
    }

    /// Runs a block; answers what it printed on both outputs. Fails with it, if the block fails.
    pub(crate) async fn run(&self, script: &str) -> anyhow::Result<String> {
        let memory = self.memory.display();
        let script = format!(
            "exec 2>&1\n[ -e {memory} ] && . {memory}\nset -euo pipefail\n{script}\nset +u\ndeclare -p | grep -v -e '^declare -[a-zA-Z]*r' -e '^declare -[a-zA-Z]* [A-Z_]*=()' > {memory}\n"
        );
        let mut command = Command::new("bash");
        command.args(["--noprofile", "--norc", "-c", &script]).current_dir(&self.folder);
        for (name, _value) in
            std::env::vars().filter(|(name, _)| name.starts_with("OS_") || name == "KUBECONFIG")
        {
            command.env_remove(name);
        }
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).stderr(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true);
        let output =
            timeout(scaled(PATIENCE), command.output()).await.context("the block does not end")??;
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        if !output.status.success() {
            bail!("the block failed ({}) after printing\n{printed}", output.status);
        }
        Ok(printed)
    }
}
