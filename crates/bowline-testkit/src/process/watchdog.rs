//! Kills the processes of a folder when their owner is gone, also when the owner was killed.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::Context;

/// Waits for the end of its input, which is when its owner is gone, and kills every process with a kubeconfig in the folder `$1`.
const SCRIPT: &str = r#"
cat >/dev/null
for process in /proc/[0-9]*; do
    if tr '\0' '\n' <"$process/cmdline" 2>/dev/null | grep -qF -e "--kubeconfig=$1/"; then
        kill -9 "${process#/proc/}" 2>/dev/null
    fi
done
"#;

/// A shell that waits. It kills when this is dropped, or when this program ends in any other way.
pub struct Watchdog(Child);

impl Watchdog {
    /// Watches over the processes whose kubeconfig is in this folder.
    ///
    /// # Errors
    /// When there is no shell.
    pub fn of(folder: &Path) -> anyhow::Result<Self> {
        let mut command = Command::new("sh");
        command.args(["-c", SCRIPT, "watchdog"]).arg(folder);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(Self(command.spawn().context("start the watchdog")?))
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        self.0.wait().ok();
    }
}
