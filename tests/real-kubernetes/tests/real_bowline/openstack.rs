//! The real `openstack` client, started once and told one command after the other: it takes seconds to start.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, ensure};
use bowline_testkit::apiserver::binaries::cache_folder;
use bowline_testkit::{command, deadline};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::client_location;

/// What is printed after each command. The client's own shell passes on what is behind a `!`.
const END: &str = "=== end of the answer ===";

/// The client, if it is installed.
pub(crate) fn locate() -> Result<PathBuf, String> {
    client_location::locate(&cache_folder())
}

/// A client that runs as somebody.
pub(crate) struct OpenStack(Mutex<Session>);

struct Session {
    _child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    complaints: PathBuf,
}

impl OpenStack {
    /// Starts it for a cloud of the clouds.yaml in a folder.
    pub(crate) fn start(program: &Path, cloud: &str, folder: &Path) -> anyhow::Result<Self> {
        let complaints = folder.join(format!("openstack-{cloud}.err"));
        let mut child = Command::from(command::openstack(program, folder, cloud))
            .env("PYTHONUNBUFFERED", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(std::fs::File::create(&complaints)?)
            .kill_on_drop(true)
            .spawn()
            .context("start the openstack client")?;
        let input = child.stdin.take().context("its input")?;
        let output = BufReader::new(child.stdout.take().context("its output")?).lines();
        Ok(Self(Mutex::new(Session { _child: child, input, output, complaints })))
    }

    /// Runs a command that answers with JSON.
    pub(crate) async fn json(&self, command: &str) -> anyhow::Result<Value> {
        let (answer, complaints) = self.tell(&format!("{command} -f json")).await?;
        serde_json::from_str(&answer).with_context(|| format!("openstack {command}: {answer}{complaints}"))
    }

    /// Runs a command that has nothing to say when it succeeds.
    pub(crate) async fn done(&self, command: &str) -> anyhow::Result<()> {
        let (_, complaints) = self.tell(command).await?;
        ensure!(complaints.is_empty(), "openstack {command}: {complaints}");
        Ok(())
    }

    /// The rows of a list.
    pub(crate) async fn rows(&self, command: &str) -> anyhow::Result<Vec<Value>> {
        let answer = self.json(command).await?;
        answer.as_array().cloned().with_context(|| format!("openstack {command}: {answer} is no list"))
    }

    async fn tell(&self, command: &str) -> anyhow::Result<(String, String)> {
        let mut session = self.0.lock().await;
        let before = std::fs::read_to_string(&session.complaints)?.len();
        session.input.write_all(format!("{command}\n!echo '{END}'\n").as_bytes()).await?;
        let mut answer = String::new();
        let read = async {
            loop {
                let line = session.output.next_line().await?.context("the openstack client ended")?;
                // What does not end in a newline has the mark on its last line.
                if let Some(last) = line.strip_suffix(END) {
                    answer.push_str(last);
                    return anyhow::Ok(());
                }
                answer.push_str(&line);
                answer.push('\n');
            }
        };
        timeout(deadline(), read).await.with_context(|| format!("openstack {command} gives no answer"))??;
        let complaints = std::fs::read_to_string(&session.complaints)?.split_off(before);
        Ok((answer, complaints))
    }
}
