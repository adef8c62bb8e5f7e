//! `bowline support-bundle --out PLACE`: what somebody needs who shall help, in one folder or tar file, without anything secret.
//!
//! [`gather`] collects documents, [`scrub`] takes out what is secret, [`tar`] writes them down. No Secret is read for it but the cloud.conf
//! of the manager, of which only the names of keys and the values of kinds that cannot be secret are kept.

mod gather;
pub mod scrub;
pub mod tar;

use std::fs;
use std::io::{self, Write as _};
use std::path::{Component, Path, PathBuf};

use serde::Serialize;

use crate::ending::{EXIT_CODES, Ending, FINE, FOUND};
use crate::output::{Output, Report};
use crate::session::{Access, Session};
use crate::terminal::line_of;
use crate::way;

/// Where to.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub struct Arguments {
    /// A file that ends with .tar, or a folder; it must not be there yet
    #[arg(long, value_name = "PLACE")]
    pub out: PathBuf,
    #[command(flatten)]
    pub(crate) way: way::Arguments,
    #[command(flatten)]
    pub(crate) access: Access,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// A document of the bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Its name, with folders.
    pub name: String,
    /// What it says.
    pub text: String,
}

/// What was written.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Bundle {
    /// Where to.
    pub out: String,
    /// The names of the documents.
    pub documents: Vec<String>,
    /// What could not be had, with the reason.
    pub missing: Vec<String>,
}

/// Gathers, scrubs and writes.
///
/// # Errors
///
/// [`Ending`] if the place is taken or cannot be written to, or there is no cluster.
pub async fn run(arguments: &Arguments) -> Result<Bundle, Ending> {
    let out = &arguments.out;
    // A link that leads nowhere is there, too.
    if out.symlink_metadata().is_ok() {
        return Err(Ending::not_looked(format!("{} is there already; name another place", out.display())));
    }
    let session = Session::open(&arguments.access).await?;
    let gather::Gathered { documents, missing, secrets } = gather::gather(&session, &arguments.way).await;
    let scrubbed: Vec<Document> = documents
        .into_iter()
        .map(|document| Document { text: scrub::literal(&document.text, &secrets), ..document })
        .collect();
    write(out, &scrubbed).map_err(|error| Ending::not_looked(format!("{}: {error}", out.display())))?;
    let names = scrubbed.into_iter().map(|document| document.name).collect();
    Ok(Bundle { out: out.display().to_string(), documents: names, missing })
}

fn write(out: &Path, documents: &[Document]) -> io::Result<()> {
    if out.extension().is_some_and(|extension| extension == "tar") {
        return write_new(out, &tar::archive(documents)?);
    }
    if let Some(parent) = out.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        fs::create_dir_all(parent)?;
    }
    // Not recursive, so that it fails where anything is already, a link too: what is made in it is ours alone.
    private_folder().create(out)?;
    for document in documents {
        let name = Path::new(&document.name);
        if !name.components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(io::Error::other(format!("{:?} is no name for a document", document.name)));
        }
        let path = out.join(name);
        if let Some(folder) = path.parent() {
            private_folder().recursive(true).create(folder)?;
        }
        write_new(&path, document.text.as_bytes())?;
    }
    Ok(())
}

/// Writes a file that is not there yet and that only its owner may read. It does not write through a link.
fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)?.write_all(bytes)
}

/// Makes folders that only their owner may look into.
fn private_folder() -> fs::DirBuilder {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

impl Report for Bundle {
    fn text(&self) -> String {
        let mut text: String = self.documents.iter().map(|name| line_of(format!("  {name}"))).collect();
        text.extend(self.missing.iter().map(|why| line_of(format!("missing: {why}"))));
        text.push_str(&line_of(format!("Written to {}. Look through it before you give it away.", self.out)));
        text
    }

    fn code(&self) -> u8 {
        if self.missing.is_empty() { FINE } else { FOUND }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, symlink};

    use super::*;

    fn document(name: &str) -> Document {
        Document { name: name.to_owned(), text: "what the cluster holds".to_owned() }
    }

    fn mode(path: &Path) -> u32 {
        path.metadata().unwrap().mode() & 0o7777
    }

    #[test]
    fn a_bundle_is_for_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let documents = [document("about.json"), document("manager/log.txt")];
        let (tar, plain) = (folder.path().join("bundle.tar"), folder.path().join("new/bundle"));
        write(&tar, &documents).unwrap();
        write(&plain, &documents).unwrap();
        for file in [&tar, &plain.join("about.json"), &plain.join("manager/log.txt")] {
            assert_eq!(mode(file), 0o600, "{}", file.display());
        }
        for within in [&plain, &plain.join("manager")] {
            assert_eq!(mode(within), 0o700, "{}", within.display());
        }
    }

    #[test]
    fn nothing_is_written_over_or_through_what_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let victim = folder.path().join("victim");
        let (tar, plain) = (folder.path().join("bundle.tar"), folder.path().join("bundle"));
        // Somebody who shares the folder puts links there, to a file that is not there yet, and to a folder of theirs.
        symlink(&victim, &tar).unwrap();
        fs::create_dir(folder.path().join("theirs")).unwrap();
        symlink(folder.path().join("theirs"), &plain).unwrap();
        for out in [&tar, &plain] {
            let refused = write(out, &[document("about.json")]).unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists, "{}", out.display());
        }
        assert!(!victim.exists() && !folder.path().join("theirs/about.json").exists());
        fs::remove_file(&tar).unwrap();
        fs::write(&tar, "mine").unwrap();
        assert_eq!(write(&tar, &[]).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&tar).unwrap(), "mine");
        for outside in ["../x", "/tmp/x", "a/../../x"] {
            assert!(
                write(&folder.path().join("b2").join(outside.replace('/', "_")), &[document(outside)])
                    .is_err()
            );
        }
        assert!(!folder.path().join("b2/x").exists());
    }
}
