//! `bowline support-bundle --out PLACE`: what somebody needs who shall help, in one folder or tar file, without anything secret.
//!
//! [`gather`] collects documents, [`scrub`] takes out what is secret, [`tar`] writes them down. No Secret is read for it but the cloud.conf
//! of the manager, of which only the names of keys and the values of kinds that cannot be secret are kept.

mod gather;
pub mod scrub;
pub mod tar;

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::ending::{EXIT_CODES, Ending, FINE, FOUND};
use crate::output::{Output, Report};
use crate::session::{Access, Session};
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
    if out.exists() {
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

fn write(out: &Path, documents: &[Document]) -> std::io::Result<()> {
    if out.extension().is_some_and(|extension| extension == "tar") {
        return std::fs::write(out, tar::archive(documents)?);
    }
    for document in documents {
        let path = out.join(&document.name);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(path, &document.text)?;
    }
    Ok(())
}

impl Report for Bundle {
    fn text(&self) -> String {
        let mut text: String = self.documents.iter().map(|name| format!("  {name}\n")).collect();
        text.extend(self.missing.iter().map(|why| format!("missing: {why}\n")));
        format!("{text}Written to {}. Look through it before you give it away.\n", self.out)
    }

    fn code(&self) -> u8 {
        if self.missing.is_empty() { FINE } else { FOUND }
    }
}
