//! The files: one for each object, in the order in which they are applied. Those of an earlier run that no longer belong are
//! removed; files of others are never touched.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::render::{MANIFESTS, NODE_FOLDER, Object, StaticPod};

/// The first line of our files, by which they are known again.
const MARK: &str = "# Rendered by `bowline operator render`.";

/// A file that cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The disk says no.
    #[error("{what} {path}: {error}")]
    Disk {
        /// What was tried.
        what: &'static str,
        /// Which file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// An object has no YAML.
    #[error("{object} cannot be written as YAML: {error}")]
    Yaml {
        /// Which.
        object: String,
        /// Why.
        error: serde_saphyr::SerializeError,
    },
    /// A file of this name is somebody else's.
    #[error(
        "{path} exists and is not ours: its first line is not {MARK:?}; remove it, or choose another folder"
    )]
    Foreign {
        /// Which.
        path: PathBuf,
    },
}

/// A file to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct File {
    /// Its path in the folder.
    pub(super) path: String,
    pub(super) text: String,
    is_secret: bool,
}

/// The files of objects and of a static pod.
pub(super) fn of(objects: &[Object], pod: Option<&StaticPod>) -> Result<Vec<File>, WriteError> {
    let numbered = objects.iter().zip(1_usize..);
    let mut files = numbered
        .map(|(object, number)| {
            let path = format!("{number:02}-{}-{}.yaml", object.kind.to_lowercase(), file_name(&object.name));
            Ok(File { path, text: manifest("", object)?, is_secret: object.kind == "Secret" })
        })
        .collect::<Result<Vec<_>, WriteError>>()?;
    if let Some(StaticPod { pod, files: expected }) = pod {
        let place = format!("# To {MANIFESTS} of each control-plane node, after the files that it reads.\n");
        let path = format!("{NODE_FOLDER}/{}.yaml", file_name(&pod.name));
        files.push(File { path, text: manifest(&place, pod)?, is_secret: false });
        for (path, text) in expected {
            if let Some(text) = text {
                files.push(File { path: node_path(path), text: text.clone(), is_secret: true });
            }
        }
    }
    Ok(files)
}

/// A file for the nodes keeps its path, so that the folder can be copied to their root.
fn node_path(path: &str) -> String {
    format!("{NODE_FOLDER}{path}")
}

fn manifest(note: &str, object: &Object) -> Result<String, WriteError> {
    let yaml = serde_saphyr::to_string(&object.body)
        .map_err(|error| WriteError::Yaml { object: object.to_string(), error })?;
    Ok(format!("{MARK}\n{note}{yaml}"))
}

/// Names of roles have colons, which files should not.
fn file_name(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || "-._".contains(c) { c } else { '-' }).collect()
}

/// Writes all files, and returns the names of those of an earlier run that it removed.
pub(super) fn write(folder: &Path, files: &[File]) -> Result<Vec<String>, WriteError> {
    fs::create_dir_all(folder).map_err(disk("create", folder))?;
    for file in files {
        refuse_foreign(&folder.join(&file.path), file)?;
    }
    let removed = remove_stale(folder, files)?;
    for file in files {
        let path = folder.join(&file.path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(disk("create", parent))?;
        }
        write_one(&path, file).map_err(disk("write", &path))?;
    }
    Ok(removed)
}

fn disk(what: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> WriteError {
    let path = path.to_owned();
    move |error| WriteError::Disk { what, path, error }
}

fn is_ours(path: &Path) -> bool {
    fs::read_to_string(path).is_ok_and(|text| text.starts_with(MARK))
}

/// A file without our mark in the place of one that would have it is somebody else's.
fn refuse_foreign(path: &Path, file: &File) -> Result<(), WriteError> {
    if file.text.starts_with(MARK) && path.exists() && !is_ours(path) {
        return Err(WriteError::Foreign { path: path.to_owned() });
    }
    Ok(())
}

/// Files that an earlier run left and this one has not: what would be applied along with ours.
fn remove_stale(folder: &Path, files: &[File]) -> Result<Vec<String>, WriteError> {
    let wanted: BTreeSet<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let mut removed = Vec::new();
    for entry in fs::read_dir(folder).map_err(disk("list", folder))? {
        let path = entry.map_err(disk("list", folder))?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        if !wanted.contains(name.as_str()) && path.is_file() && is_ours(&path) {
            fs::remove_file(&path).map_err(disk("remove", &path))?;
            removed.push(name);
        }
    }
    removed.sort();
    Ok(removed)
}

/// What may hold passwords can be read by its owner only, also if the file was there before.
fn write_one(path: &Path, file: &File) -> std::io::Result<()> {
    let mode = if file.is_secret { 0o600 } else { 0o644 };
    let mut open = OpenOptions::new().write(true).create(true).truncate(true).mode(mode).open(path)?;
    if file.is_secret {
        open.set_permissions(fs::Permissions::from_mode(mode))?;
    }
    open.write_all(file.text.as_bytes())
}

/// What was done, and what is left to a person.
pub(super) fn summary(folder: &Path, files: &[File], removed: &[String], pod: Option<&StaticPod>) -> String {
    let mut text = format!("{} files in {}\n", files.len(), folder.display());
    text.extend(files.iter().map(|file| format!("  {}\n", file.path)));
    if !removed.is_empty() {
        text.push_str(&format!("removed, from an earlier run: {}\n", removed.join(", ")));
    }
    let missing = pod.iter().flat_map(|pod| &pod.files).filter(|(_, text)| text.is_none());
    for (path, _) in missing {
        text.push_str(&format!("each control-plane node needs {path}, which is not made here\n"));
    }
    text
}
