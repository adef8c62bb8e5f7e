//! Where the files are. The environment is handed in; only files are read here.

use std::path::{Path, PathBuf};

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
        let looked: Vec<PathBuf> = self.file.iter().cloned().chain(self.places("clouds")).collect();
        let clouds = first(&looked)?.ok_or(CloudsError::NoFile { looked })?;
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

/// The first of these files that is there.
fn first(paths: &[PathBuf]) -> Result<Option<Read>, CloudsError> {
    for path in paths {
        match std::fs::read_to_string(path) {
            Ok(text) => return Ok(Some(Read { path: path.clone(), text: Zeroizing::new(text) })),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(CloudsError::Unreadable { path: path.clone(), why: error.to_string() }),
        }
    }
    Ok(None)
}
