//! The soak: `tests/perturbed`.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::Context;

use crate::kubernetes;
use crate::run::run;
use crate::workspace::workspace;

/// Builds what is needed and becomes the soak: it is the one to be interrupted, and cleans up.
pub(crate) fn soak(arguments: &[OsString]) -> anyhow::Result<()> {
    kubernetes::ensure()?;
    run(&mut workspace("build", &["--bin", "bowline", "--bin", "soak"]))?;
    let here = std::env::current_exe()?;
    let folder = here.parent().context("the folder of this program")?;
    Err(Command::new(folder.join("soak")).args(arguments).exec()).context("start the soak")
}
