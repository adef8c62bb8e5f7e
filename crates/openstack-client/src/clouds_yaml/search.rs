//! Finds and reads the files. Callers pass the environment.

use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
};

use zeroize::Zeroizing;

use super::{CloudEntry, CloudsError, Documents};

/// The paths that are searched for clouds.yaml, secure.yaml and clouds-public.yaml.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Search {
    /// An explicitly named clouds.yaml, which is tried first. If it does not exist, the search continues in `directories`.
    pub file: Option<PathBuf>,
    /// The directories, in the order in which they are searched.
    pub directories: Vec<PathBuf>,
}

impl Search {
    /// The standard locations: the file named by `OS_CLIENT_CONFIG_FILE`, then the working directory, `~/.config/openstack` and
    /// `/etc/openstack`.
    pub fn usual(variable: impl Fn(&str) -> Option<String>) -> Self {
        let set = |name| variable(name).filter(|text| !text.is_empty());
        let mut directories = vec![PathBuf::from(".")];
        directories.extend(set("HOME").map(|home| Path::new(&home).join(".config/openstack")));
        directories.push(PathBuf::from("/etc/openstack"));
        Self { file: set("OS_CLIENT_CONFIG_FILE").map(PathBuf::from), directories }
    }

    /// The same search with another explicit file.
    #[must_use]
    pub fn file(mut self, file: impl Into<PathBuf>) -> Self {
        self.file = Some(file.into());
        self
    }

    /// Reads the files and merges the settings of the cloud `name`; without a name there must be exactly one cloud.
    ///
    /// # Errors
    ///
    /// [`CloudsError`], which names the paths that were tried and does not quote the files.
    pub fn load(&self, name: Option<&str>) -> Result<CloudEntry, CloudsError> {
        let named = self.file.as_deref().map(read).transpose()?.flatten();
        let clouds = match named {
            Some(named) => Some(named),
            None => first(&self.places("clouds"))?,
        };
        let looked = || self.file.iter().cloned().chain(self.places("clouds")).collect();
        let clouds = clouds.ok_or_else(|| CloudsError::NoFile { looked: looked() })?;
        let secure = first(&self.places("secure"))?;
        let public = first(&self.places("clouds-public"))?;
        let text = |read: &Option<Read>| read.as_ref().map(|read| read.text.clone());
        let documents = Documents {
            clouds: clouds.text.clone(),
            secure: text(&secure),
            public: text(&public),
            clouds_name: clouds.path.display().to_string(),
        };
        documents.entry(name)
    }

    /// Every path that [`Self::load`] may read, whether it exists or not. For callers that watch the files for changes.
    #[must_use]
    pub fn candidates(&self) -> Vec<PathBuf> {
        let places = ["clouds", "secure", "clouds-public"].map(|stem| self.places(stem)).concat();
        self.file.iter().cloned().chain(places).collect()
    }

    /// `<stem>.yaml` in all directories, then `<stem>.yml` in all directories.
    fn places(&self, stem: &str) -> Vec<PathBuf> {
        let of = |ending: &str| {
            let name = format!("{stem}.{ending}");
            self.directories.iter().map(move |directory| directory.join(&name)).collect::<Vec<_>>()
        };
        [of("yaml"), of("yml")].concat()
    }
}

struct Read {
    path: PathBuf,
    text: Zeroizing<String>,
}

/// Reads the first of these files that exists. The paths are defaults, so a file that this process may not read, such as one in another
/// user's home directory, is skipped with a warning.
fn first(paths: &[PathBuf]) -> Result<Option<Read>, CloudsError> {
    for path in paths {
        match std::fs::read_to_string(path) {
            Ok(text) => return Ok(Some(Read { path: path.clone(), text: Zeroizing::new(text) })),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::NotADirectory) => {
                tracing::warn!(path = %path.display(), %error, "passed over: it cannot be read");
            }
            Err(error) => return Err(unreadable(path, &error)),
        }
    }
    Ok(None)
}

/// Reads an explicitly named file; `None` if it does not exist.
fn read(path: &Path) -> Result<Option<Read>, CloudsError> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(Read { path: path.to_owned(), text: Zeroizing::new(text) })),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unreadable(path, &error)),
    }
}

fn unreadable(path: &Path, error: &std::io::Error) -> CloudsError {
    CloudsError::Unreadable { path: path.to_owned(), why: error.to_string() }
}
