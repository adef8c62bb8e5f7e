//! `bowline operator manifests`: what installs the operator, as YAML.

use clap::Args;

use crate::install::{self, Installation};

/// The flags of `bowline operator manifests`.
#[derive(Debug, Clone, Args)]
pub struct Arguments {
    /// What is installed.
    #[command(flatten)]
    pub installation: Installation,
}

/// Why there are none.
#[derive(Debug, thiserror::Error)]
pub enum ManifestsError {
    /// An object has no JSON.
    #[error(transparent)]
    Object(#[from] crate::render::ObjectError),
    /// A document has no YAML.
    #[error("cannot be written as YAML: {0}")]
    Yaml(#[from] serde_saphyr::SerializeError),
}

/// The text.
///
/// # Errors
///
/// If it cannot be written.
pub fn run(arguments: &Arguments) -> Result<String, ManifestsError> {
    Ok(install::yaml(&install::objects(&arguments.installation)?)?)
}
