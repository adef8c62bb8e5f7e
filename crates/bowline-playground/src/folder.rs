//! The folder with the files of a playground: kubeconfig, clouds.yaml, cloud.conf and the manager's log. One that nobody named goes
//! with the playground.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::Context;
use tempfile::TempDir;

/// Where the files are.
pub(crate) enum Folder {
    /// Somebody named it: it stays.
    Given(PathBuf),
    /// Nobody did.
    Temporary(TempDir),
}

impl Folder {
    /// The folder that was asked for, or a new one.
    pub(crate) fn open(wanted: Option<&Path>) -> anyhow::Result<Self> {
        match wanted {
            Some(path) => {
                std::fs::create_dir_all(path)
                    .with_context(|| format!("make the folder {}", path.display()))?;
                let whole = path.canonicalize().with_context(|| format!("open {}", path.display()))?;
                Ok(Self::Given(whole))
            }
            None => {
                let made = tempfile::Builder::new().prefix("bowline-playground-").tempdir();
                Ok(Self::Temporary(made.context("make a temporary folder; name one with --dir")?))
            }
        }
    }

    /// Where a file is.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        match self {
            Self::Given(path) => path.join(name),
            Self::Temporary(folder) => folder.path().join(name),
        }
    }

    /// Writes a file.
    pub(crate) fn write(&self, name: &str, text: &str) -> anyhow::Result<PathBuf> {
        let path = self.file(name);
        std::fs::write(&path, text).with_context(|| format!("write {}", path.display()))?;
        Ok(path)
    }

    /// A new, empty file to write to.
    pub(crate) fn create(&self, name: &str) -> anyhow::Result<File> {
        let path = self.file(name);
        File::create(&path).with_context(|| format!("write {}", path.display()))
    }

    /// What becomes of it at the end, in words.
    pub(crate) fn end(self) -> String {
        match self {
            Self::Given(path) => format!("The files are in {}.", path.display()),
            Self::Temporary(folder) => {
                let path = folder.path().to_owned();
                match folder.close() {
                    Ok(()) => "Its files are removed.".to_owned(),
                    Err(error) => format!("Its files in {} could not be removed: {error}.", path.display()),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_was_named_stays_and_another_goes() {
        let place = tempfile::tempdir().unwrap();
        let named = Folder::open(Some(&place.path().join("a/b"))).unwrap();
        let kept = named.write("kubeconfig", "x").unwrap();
        assert!(named.end().contains("a/b"));
        assert!(kept.exists());
        let unnamed = Folder::open(None).unwrap();
        let gone = unnamed.write("kubeconfig", "x").unwrap();
        assert!(unnamed.end().contains("removed"));
        assert!(!gone.exists());
    }
}
