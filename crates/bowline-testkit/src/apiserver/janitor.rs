//! Removes a cluster's folder once its owner and all its servers are gone, however they went.
//!
//! It is a shell that waits for the end of a pipe. Our process and every supervisor hold the other end, so the end
//! comes when the last of them is gone: no polling, and nothing writes into the folder any more.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// `$1` is the folder, `$2` is not empty if the folder is to be kept.
const SCRIPT: &str = r#"cat >/dev/null; [ -n "$2" ] || rm -rf -- "$1""#;

/// The waiting shell. Dropping it lets go of the pipe and waits until the folder is removed.
pub(crate) struct Janitor {
    shell: Child,
    pipe: Option<OwnedFd>,
}

impl Janitor {
    /// Takes charge of `folder`; with `BOWLINE_KEEP` set it will be left for a look at the logs.
    pub(crate) fn take_charge_of(folder: &Path) -> io::Result<Self> {
        let keep = std::env::var_os("BOWLINE_KEEP").unwrap_or_default();
        let mut shell = Command::new("sh")
            .args(["-c", SCRIPT, "janitor"])
            .args([folder.as_os_str(), keep.as_os_str()])
            .stdin(Stdio::piped())
            // Whoever reads what the tests print must not wait for the janitor.
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()?;
        let pipe = shell.stdin.take().map(OwnedFd::from);
        Ok(Self { shell, pipe })
    }

    /// A handle for a child process: the janitor waits until the child has closed it.
    pub(crate) fn wait_for_me(&self) -> io::Result<Stdio> {
        match &self.pipe {
            Some(pipe) => Ok(Stdio::from(pipe.try_clone()?)),
            None => Err(io::Error::other("the janitor has no pipe")),
        }
    }
}

impl Drop for Janitor {
    fn drop(&mut self) {
        drop(self.pipe.take());
        self.shell.wait().ok();
    }
}
