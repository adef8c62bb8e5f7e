//! What is shipped around the binary: the chart's values, their schema and page, plain manifests and those for kustomize, alert rules
//! and the dashboard. All of it is made from tables, the manager's, the provider's and the operator's among them.
//!
//! Pure: it returns texts, and `cargo xtask gen` puts them into their places. Nothing here is linked into the binary.

pub mod chart;
pub mod manifests;
pub mod monitoring;

/// Why a file cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum PackagingError {
    /// A value has no YAML.
    #[error("{what} cannot be written as YAML: {error}")]
    Yaml {
        /// What it is.
        what: String,
        /// Why.
        error: serde_saphyr::SerializeError,
    },
    /// A value has no JSON, or a default in a table is none.
    #[error("{what}: {error}")]
    Json {
        /// What it is.
        what: String,
        /// Why.
        error: serde_json::Error,
    },
    /// The operator cannot make the objects.
    #[error(transparent)]
    Render(#[from] bowline_operator::render::RenderError),
}

/// A value as YAML.
pub(crate) fn yaml(what: &str, value: &serde_json::Value) -> Result<String, PackagingError> {
    serde_saphyr::to_string(value).map_err(|error| PackagingError::Yaml { what: what.to_owned(), error })
}

/// A value as JSON for people.
pub(crate) fn json(what: &str, value: &serde_json::Value) -> Result<String, PackagingError> {
    let text = serde_json::to_string_pretty(value);
    Ok(text.map_err(|error| PackagingError::Json { what: what.to_owned(), error })? + "\n")
}
