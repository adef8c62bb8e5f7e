//! Where the files are. The environment is handed in; only files are read here.

use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
};

use zeroize::Zeroizing;

use super::{CloudEntry, CloudsError, Documents};

/// Where clouds.yaml and its companions are looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Search {
    /// A clouds.yaml that was named; looked at first. One that is not there is passed over.
    pub file: Option<PathBuf>,
    /// The directories, in their order.
    pub directories: Vec<PathBuf>,
}

impl Search {
    /// The usual places: the file named by `OS_CLIENT_CONFIG_FILE`, then the working directory, `~/.config/openstack`
    /// and `/etc/openstack`.
    pub fn usual(variable: impl Fn(&str) -> Option<String>) -> Self {
        let set = |name| variable(name).filter(|text| !text.is_empty());
        let mut directories = vec![PathBuf::from(".")];
        directories.extend(set("HOME").map(|home| Path::new(&home).join(".config/openstack")));
        directories.push(PathBuf::from("/etc/openstack"));
        Self { file: set("OS_CLIENT_CONFIG_FILE").map(PathBuf::from), directories }
    }

    /// The same search with another file in front.
    #[must_use]
    pub fn file(mut self, file: impl Into<PathBuf>) -> Self {
        self.file = Some(file.into());
        self
    }

    /// Reads the cloud called `name`; without a name the only one that there is.
    ///
    /// # Errors
    ///
    /// [`CloudsError`], which says what was looked for and where, and quotes nothing.
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

    /// Every file that [`Self::load`] may read, there or not: whoever wants to see changes looks at these.
    #[must_use]
    pub fn candidates(&self) -> Vec<PathBuf> {
        let places = ["clouds", "secure", "clouds-public"].map(|stem| self.places(stem)).concat();
        self.file.iter().cloned().chain(places).collect()
    }

    /// All of `<stem>.yaml`, then all of `<stem>.yml`.
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

/// The first of these files that is there and may be read. Nobody has named them: one that is not meant for us, such as
/// in the home of somebody else, is passed over.
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

/// A file that somebody named; none if it is not there.
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
