//! A person with a kubeconfig at the command line.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::ensure;
use bowline_testkit::command::{self, Finished};
use bowline_testkit::process::program;

/// Somebody.
pub(crate) struct Person {
    kubeconfig: PathBuf,
    /// Nobody's home but theirs: what is in that of whoever runs the tests is not read.
    home: PathBuf,
}

impl Person {
    pub(crate) fn with(kubeconfig: PathBuf, home: &Path) -> Self {
        Self { kubeconfig, home: home.to_owned() }
    }

    /// Runs `bowline` with these words.
    pub(crate) async fn run(&self, line: &str) -> anyhow::Result<Finished> {
        let mut bowline = Command::new(program("bowline")?);
        command::without_cloud_variables(&mut bowline)
            .args(line.split_whitespace())
            .env("KUBECONFIG", &self.kubeconfig)
            .env("HOME", &self.home)
            .env("OS_CLIENT_CONFIG_FILE", self.home.join("clouds.yaml"))
            .current_dir(&self.home);
        let answer = command::run(bowline).await?;
        // What a program makes of an answer is not for people.
        for dump in ["ApiError", "Status {", "Some(", "panicked"] {
            ensure!(!answer.out.contains(dump) && !answer.err.contains(dump), "{dump:?} is in {answer:#?}");
        }
        Ok(answer)
    }
}
