//! Ends what a cluster's processes leave behind, also when this test is killed: those whose command line names its folder.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::Context;

/// Waits until its owner is gone, and then ends every process that was told a kubeconfig in the folder `$1`.
const SCRIPT: &str = r#"
cat >/dev/null
for process in /proc/[0-9]*; do
    if tr '\0' '\n' <"$process/cmdline" 2>/dev/null | grep -qF -e "--kubeconfig=$1/"; then
        kill -9 "${process#/proc/}" 2>/dev/null
    fi
done
"#;

/// A watchdog; it bites when this is dropped.
pub(crate) struct Watchdog(Child);

impl Watchdog {
    /// One for the processes of a cluster.
    pub(crate) fn of(folder: &Path) -> anyhow::Result<Self> {
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
