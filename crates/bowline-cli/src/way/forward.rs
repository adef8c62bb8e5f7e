//! A way to a port of a pod, which kubectl makes and keeps for as long as it is wanted.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

/// So long kubectl may take until the way is there.
const PATIENCE: Duration = Duration::from_secs(30);

/// So long its last words are waited for.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Not more is kept of what kubectl complains of.
const MOST_COMPLAINTS_BYTES: u64 = 4096;

/// Which port of which pod, and as whom kubectl goes there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Goal {
    pub(super) kubectl: PathBuf,
    pub(super) kubeconfig: Option<PathBuf>,
    pub(super) context: Option<String>,
    pub(super) namespace: String,
    pub(super) pod: String,
    pub(super) port: u16,
    /// The fingerprint of the certificate that the Lease names for it.
    pub(super) certificate: Option<String>,
}

impl Goal {
    /// What kubectl is told.
    fn words(&self) -> Vec<String> {
        let place = |path: &PathBuf| format!("--kubeconfig={}", path.display());
        let mut words: Vec<String> = self.kubeconfig.iter().map(place).collect();
        words.extend(self.context.iter().map(|context| format!("--context={context}")));
        words.push(format!("--namespace={}", self.namespace));
        words.extend(["port-forward", "--address=127.0.0.1"].map(str::to_owned));
        words.extend([format!("pod/{}", self.pod), format!(":{}", self.port)]);
        words
    }
}

/// A way that is there. It ends with this value.
#[derive(Debug)]
pub(super) struct Forward {
    pub(super) goal: Goal,
    /// Its end on 127.0.0.1.
    pub(super) port: u16,
    child: Child,
}

impl Forward {
    /// Has the way made, and waits for it.
    ///
    /// # Errors
    ///
    /// What kubectl complains of, and what to do.
    pub(super) async fn open(goal: Goal) -> Result<Self, String> {
        let mut command = Command::new(&goal.kubectl);
        command.args(goal.words()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child =
            command.kill_on_drop(true).spawn().map_err(|error| no_kubectl(&goal.kubectl, &error))?;
        let (output, complaints) = (child.stdout.take(), child.stderr.take());
        let told = async {
            let mut lines = BufReader::new(output?).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                if let Some(port) = port_of(&line) {
                    // Who does not read on would make kubectl wait, which tells of every connection.
                    tokio::spawn(async move { while let Ok(Some(_line)) = lines.next_line().await {} });
                    return Some(port);
                }
            }
            None
        };
        if let Ok(Some(port)) = timeout(PATIENCE, told).await {
            if let Some(mut complaints) = complaints {
                tokio::spawn(async move { tokio::io::copy(&mut complaints, &mut tokio::io::sink()).await });
            }
            return Ok(Self { goal, port, child });
        }
        // It may have ended by itself.
        child.kill().await.ok();
        let mut said = Vec::new();
        if let Some(complaints) = complaints {
            // What it started itself may still hold its end of this.
            let mut complaints = complaints.take(MOST_COMPLAINTS_BYTES);
            timeout(LAST_WORDS, complaints.read_to_end(&mut said)).await.ok();
        }
        let said = String::from_utf8_lossy(&said);
        Err(format!(
            "kubectl port-forward makes no way to pod {}/{}: {}; without it, give the manager's address with --url",
            goal.namespace,
            goal.pod,
            if said.trim().is_empty() { "it says nothing" } else { said.trim() }
        ))
    }

    /// Whether kubectl is still at it.
    pub(super) fn is_open(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }
}

fn no_kubectl(program: &Path, error: &std::io::Error) -> String {
    format!(
        "{} cannot be started ({error}), and it makes the way to the leader; name it with --kubectl, or give the manager's address with --url",
        program.display()
    )
}

/// The port on loopback, in `Forwarding from 127.0.0.1:41233 -> 10258`.
fn port_of(line: &str) -> Option<u16> {
    line.strip_prefix("Forwarding from 127.0.0.1:")?.split(" ->").next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn goal(kubectl: &Path) -> Goal {
        Goal {
            kubectl: kubectl.to_owned(),
            kubeconfig: Some("/home/k".into()),
            context: Some("prod".into()),
            namespace: "kube-system".into(),
            pod: "ccm-1".into(),
            port: 10258,
            certificate: None,
        }
    }

    #[test]
    fn kubectl_is_told_where_and_tells_the_port() {
        assert_eq!(
            goal(Path::new("kubectl")).words().join(" "),
            "--kubeconfig=/home/k --context=prod --namespace=kube-system port-forward --address=127.0.0.1 pod/ccm-1 :10258"
        );
        assert_eq!(port_of("Forwarding from 127.0.0.1:41233 -> 10258"), Some(41233));
        assert_eq!(port_of("Handling connection for 41233"), None);
    }

    #[tokio::test]
    async fn what_kubectl_complains_of_is_told_with_what_to_do() {
        let missing = Forward::open(goal(Path::new("/nowhere/kubectl"))).await.unwrap_err();
        assert!(missing.contains("/nowhere/kubectl") && missing.contains("--url"), "{missing}");
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("kubectl");
        std::fs::write(&script, "#!/bin/sh\necho 'Error: pods \"ccm-1\" not found' >&2\nexit 1\n").unwrap();
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
        let ended = Forward::open(goal(&script)).await.unwrap_err();
        assert!(
            ended.contains("makes no way to pod kube-system/ccm-1: Error: pods \"ccm-1\" not found"),
            "{ended}"
        );
    }
}
