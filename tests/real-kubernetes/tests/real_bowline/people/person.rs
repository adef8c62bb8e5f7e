//! A person with a kubeconfig at the command line.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, ensure};
use bowline_testkit::process::program;
use serde_json::Value;
use tokio::process::Command;

/// Somebody.
pub(crate) struct Person {
    kubeconfig: PathBuf,
    /// Nobody's home but theirs: what is in that of whoever runs the tests is not read.
    home: PathBuf,
}

/// What a command answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) line: String,
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Person {
    pub(crate) fn with(kubeconfig: PathBuf, home: &Path) -> Self {
        Self { kubeconfig, home: home.to_owned() }
    }

    /// Runs `bowline` with these words.
    pub(crate) async fn run(&self, line: &str) -> anyhow::Result<Answer> {
        let mut command = Command::new(program("bowline")?);
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("OS_")) {
            command.env_remove(name);
        }
        let output = command
            .args(line.split_whitespace())
            .env("KUBECONFIG", &self.kubeconfig)
            .env("HOME", &self.home)
            .env("OS_CLIENT_CONFIG_FILE", self.home.join("clouds.yaml"))
            .current_dir(&self.home)
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output()
            .await
            .context("start bowline")?;
        let answer = Answer {
            line: line.to_owned(),
            code: output.status.code().context("it was killed")?,
            out: String::from_utf8(output.stdout)?,
            err: String::from_utf8(output.stderr)?,
        };
        // What a program makes of an answer is not for people.
        for dump in ["ApiError", "Status {", "Some(", "panicked"] {
            ensure!(!answer.out.contains(dump) && !answer.err.contains(dump), "{dump:?} is in {answer:#?}");
        }
        Ok(answer)
    }
}

impl Answer {
    /// It ended so, and these words are in it.
    pub(crate) fn says(&self, code: i32, words: &[&str]) -> anyhow::Result<()> {
        ensure!(self.code == code, "bowline {}: wanted {code}: {self:#?}", self.line);
        for word in words {
            ensure!(self.out.contains(word) || self.err.contains(word), "{word:?} is missing: {self:#?}");
        }
        Ok(())
    }

    /// It ended with this code and an error of one line, in which these words are.
    pub(crate) fn fails(&self, code: i32, words: &[&str]) -> anyhow::Result<()> {
        self.says(code, words)?;
        let one_line = self.err.starts_with("error: ") && self.err.trim_end().lines().count() == 1;
        ensure!(one_line && self.out.is_empty(), "wanted one line on standard error: {self:#?}");
        Ok(())
    }

    pub(crate) fn json(&self) -> anyhow::Result<Value> {
        serde_json::from_str(&self.out).with_context(|| format!("{self:#?}"))
    }
}
