//! The soak: `tests/chaos`.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use anyhow::Context;

use crate::kubernetes;
use crate::run::run;
use crate::workspace::workspace;

/// Builds as it is tried by people, instead of as it is tested: what its memory does is nearer to what is shipped.
const RELEASE: &str = "--release";

/// Builds what is needed and becomes the soak: it is the one to be interrupted, and cleans up.
pub(crate) fn soak(arguments: &[OsString]) -> anyhow::Result<()> {
    kubernetes::ensure()?;
    let (release, arguments): (Vec<_>, Vec<_>) = arguments.iter().partition(|argument| *argument == RELEASE);
    let (profile, folder): (&[&str], _) =
        if release.is_empty() { (&[], "debug") } else { (&[RELEASE], "release") };
    run(&mut workspace("build", &[&["--bin", "bowline", "--bin", "soak"], profile].concat()))?;
    let here = std::env::current_exe()?;
    let target = here.parent().and_then(Path::parent).context("the target folder of this program")?;
    Err(Command::new(target.join(folder).join("soak")).args(arguments).exec()).context("start the soak")
}
