//! What is shipped is built otherwise than what is tested: alone, and without the playground. That it compiles so, and that what it consists of can be
//! told. It must not be built for the image here: that takes too long for every change.

use crate::run::{cargo, run, workspace_root};
use crate::sbom::sbom;

/// The target whose packages are listed; they are those of all that we ship for.
const TARGET: &str = "x86_64-unknown-linux-musl";

/// Checks the binary with the features of the image, and writes its SBOM.
pub(crate) fn check() -> anyhow::Result<()> {
    run(&mut cargo(&["check", "--package", "bowline", "--no-default-features", "--locked"]))?;
    sbom(TARGET, &workspace_root().join("target/bowline.spdx.json"))
}
