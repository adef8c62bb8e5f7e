//! A program that is run to its end, with what it printed.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use serde_json::Value;

/// How a program ended, and what it printed.
#[derive(Debug)]
pub struct Finished {
    /// The arguments that it was started with.
    pub line: String,
    /// Its exit code.
    pub code: i32,
    /// Its standard output.
    pub out: String,
    /// Its standard error.
    pub err: String,
}

/// Runs a program to its end, without input. It is killed when the future is dropped.
///
/// # Errors
/// When it cannot be started, is killed by a signal, or prints something that is no UTF-8.
pub async fn run(mut command: Command) -> anyhow::Result<Finished> {
    command.stdin(Stdio::null());
    let words: Vec<_> = command.get_args().map(|word| word.to_string_lossy().into_owned()).collect();
    let context = format!("start {command:?}");
    let output = tokio::process::Command::from(command).kill_on_drop(true).output().await.context(context)?;
    Ok(Finished {
        line: words.join(" "),
        code: output.status.code().context("it was killed by a signal")?,
        out: String::from_utf8(output.stdout)?,
        err: String::from_utf8(output.stderr)?,
    })
}

/// Takes the variables of the OpenStack client (`OS_…`) away from a program, so that it does not use those of whoever runs the tests.
pub fn without_cloud_variables(command: &mut Command) -> &mut Command {
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("OS_")) {
        command.env_remove(name);
    }
    command
}

/// The `openstack` client for a cloud of the `clouds.yaml` in a folder, without the settings of whoever runs the tests.
#[must_use]
pub fn openstack(program: &Path, folder: &Path, cloud: &str) -> Command {
    let mut command = Command::new(program);
    without_cloud_variables(&mut command)
        .env("OS_CLIENT_CONFIG_FILE", folder.join("clouds.yaml"))
        .env("OS_CLOUD", cloud)
        .env("HOME", folder)
        .env("NO_PROXY", "127.0.0.1")
        .current_dir(folder);
    command
}

impl Finished {
    /// Fails unless it ended with this code and printed these words, on either output.
    ///
    /// # Errors
    /// With all that it printed.
    pub fn says(&self, code: i32, words: &[&str]) -> anyhow::Result<()> {
        self.has(code, &format!("{}\n{}", self.out, self.err), words)
    }

    /// Fails unless it ended with this code and printed these words on standard output.
    ///
    /// # Errors
    /// With all that it printed.
    pub fn prints(&self, code: i32, words: &[&str]) -> anyhow::Result<()> {
        self.has(code, &self.out, words)
    }

    /// Fails unless it ended with this code and printed these words on standard error.
    ///
    /// # Errors
    /// With all that it printed.
    pub fn complains(&self, code: i32, words: &[&str]) -> anyhow::Result<()> {
        self.has(code, &self.err, words)
    }

    fn has(&self, code: i32, text: &str, words: &[&str]) -> anyhow::Result<()> {
        ensure!(self.code == code, "expected exit code {code}: {self:#?}");
        let missing = words.iter().find(|word| !text.contains(**word));
        ensure!(missing.is_none(), "{missing:?} is missing: {self:#?}");
        Ok(())
    }

    /// Fails unless it ended with this code and printed nothing but an error of one line with these words.
    ///
    /// # Errors
    /// With all that it printed.
    pub fn fails(&self, code: i32, words: &[&str]) -> anyhow::Result<()> {
        self.says(code, words)?;
        let one_line = self.err.starts_with("error: ") && self.err.trim_end().lines().count() == 1;
        ensure!(one_line && self.out.is_empty(), "expected one line on standard error: {self:#?}");
        Ok(())
    }

    /// Its standard output as JSON.
    ///
    /// # Errors
    /// When it is none.
    pub fn json(&self) -> anyhow::Result<Value> {
        serde_json::from_str(&self.out).with_context(|| format!("{self:#?}"))
    }
}
