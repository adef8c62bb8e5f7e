//! The files that are generated from tables in the code: written by `gen`, compared by `gen --check`.
//!
//! Knows only which command prints which file. The tables stay in the crates that use them, and xtask does not link
//! those crates.

use std::fs;
use std::path::Path;

use anyhow::{Context, bail};

use crate::run::{cargo, workspace_root};

/// A file, and the cargo command that prints what belongs into it.
struct Generated {
    path: &'static str,
    cargo: &'static [&'static str],
}

/// All generated files; add a line for a new one.
const GENERATED: &[Generated] = &[Generated {
    path: "docs/reference/flags.md",
    cargo: &["run", "--quiet", "--package", "bowline-manager", "--example", "reference", "--", "flags"],
}];

/// Writes all generated files.
pub(crate) fn write() -> anyhow::Result<()> {
    for file in GENERATED {
        let path = workspace_root().join(file.path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
        }
        fs::write(&path, print(file)?).with_context(|| format!("write {}", file.path))?;
        println!("      wrote {}", file.path);
    }
    Ok(())
}

/// Fails if a generated file is not what the code says.
pub(crate) fn check() -> anyhow::Result<()> {
    let mut stale = Vec::new();
    for file in GENERATED {
        if !is_current(&workspace_root().join(file.path), &print(file)?) {
            stale.push(file.path);
        }
    }
    if !stale.is_empty() {
        bail!("not what the code says: {}. Run `cargo xtask gen` and commit the result", stale.join(", "));
    }
    println!("      {} generated files, all current", GENERATED.len());
    Ok(())
}

fn print(file: &Generated) -> anyhow::Result<Vec<u8>> {
    let mut command = cargo(file.cargo);
    let output = command.stderr(std::process::Stdio::inherit()).output()?;
    if !output.status.success() {
        bail!("`cargo {}` failed ({}), so {} is unknown", file.cargo.join(" "), output.status, file.path);
    }
    Ok(output.stdout)
}

fn is_current(path: &Path, wanted: &[u8]) -> bool {
    fs::read(path).is_ok_and(|found| found == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_current_only_if_it_is_there_and_equal() {
        let path = std::env::temp_dir().join(format!("bowline-generated-{}", std::process::id()));
        assert!(!is_current(&path, b"text"));
        fs::write(&path, "text").unwrap();
        assert!(is_current(&path, b"text"));
        assert!(!is_current(&path, b"other text"));
        fs::remove_file(&path).unwrap();
    }
}
