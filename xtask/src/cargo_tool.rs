//! Programs that `cargo install` builds, such as cargo-deny: one version of each, in our cache folder, built on first use.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::binaries::cache_folder;
use crate::run::{cargo, run_slowly};

/// A program from crates.io.
pub(crate) struct CargoTool {
    /// The name of its crate and of its binary.
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    /// The features it is built with, in place of its default ones; `None` for the default ones.
    pub(crate) features: Option<&'static str>,
    /// How long the build takes.
    pub(crate) usually: &'static str,
}

impl CargoTool {
    /// The one in our cache, or one the developer has; otherwise it is built into the cache.
    pub(crate) fn ensure(&self) -> anyhow::Result<PathBuf> {
        let folder = cache_folder().join(format!("tools/{}-{}", self.name, self.version));
        let cached = folder.join("bin").join(self.name);
        if let Some(program) =
            [cached.clone(), PathBuf::from(self.name)].into_iter().find(|path| works(path, self.name))
        {
            return Ok(program);
        }
        self.install(&folder)?;
        Ok(cached)
    }

    /// Built without optimization: that takes a fraction of the time, and these programs mostly wait for files and compilers.
    fn install(&self, folder: &Path) -> anyhow::Result<()> {
        let target = folder.join("target");
        let mut command =
            cargo(&["install", self.name, "--version", self.version, "--locked", "--quiet", "--debug"]);
        if let Some(features) = self.features {
            command.args(["--no-default-features", "--features", features]);
        }
        command.arg("--root").arg(folder).arg("--target-dir").arg(&target);
        command.env("CARGO_PROFILE_DEV_DEBUG", "0").env("CARGO_INCREMENTAL", "0");
        let what = format!("installing {} {} into {}", self.name, self.version, folder.display());
        run_slowly(&mut command, &what, self.usually)?;
        fs::remove_dir_all(&target)?;
        Ok(())
    }
}

/// Whether the program can be run. A subcommand of cargo gets its own name as the first argument.
fn works(program: &Path, name: &str) -> bool {
    let mut command = Command::new(program);
    command.args(name.strip_prefix("cargo-")).arg("--version");
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
