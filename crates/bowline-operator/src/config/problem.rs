//! What a transformation gives, and what can be wrong with its source. Never quotes the source.

use std::fmt;

use zeroize::Zeroizing;

/// One thing that is wrong, or, as a warning, doubtful.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The line of the source, from one.
    pub line: Option<usize>,
    /// The key, as `[Global] region` in an INI text and `vcenter.host.port` in the others.
    pub key: Option<String>,
    /// What, and what to do.
    pub what: String,
}

impl Problem {
    pub(super) fn of_text(what: impl Into<String>) -> Self {
        Self { line: None, key: None, what: what.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        match &self.key {
            Some(key) if !self.what.contains(key.as_str()) => write!(f, "{key}: {}", self.what),
            _ => f.write_str(&self.what),
        }
    }
}

/// Why a configuration cannot be made. The last good one has to stay in use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The cluster does not say what it runs on.
    #[error("platformStatus is required")]
    NoPlatform,
    /// The configuration of one platform on another.
    #[error("invalid platform, expected to be {expected}")]
    WrongPlatform {
        /// The platform that the transformation is for.
        expected: &'static str,
    },
    /// The configuration of one Azure on another.
    #[error("invalid platform, expected CloudName to be {expected}")]
    WrongCloud {
        /// The cloud that the transformation is for.
        expected: &'static str,
    },
    /// An Azure that nobody knows.
    #[error(
        "status.platformStatus.azure.cloudName: Unsupported value: {found:?}: supported values: {supported}"
    )]
    UnsupportedCloud {
        /// What the cluster says.
        found: String,
        /// What would be accepted.
        supported: String,
    },
    /// The cluster names a key that the ConfigMap does not have.
    #[error("key {key} specified in infra resource does not exist in source configmap {origin}")]
    NoSuchKey {
        /// The key.
        key: String,
        /// Namespace and name of the ConfigMap.
        origin: String,
    },
    /// The text is wrong at these places; never none.
    #[error("failed to read the cloud.conf: {}", list(.0))]
    Invalid(Vec<Problem>),
}

fn list(problems: &[Problem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

impl ConfigError {
    pub(super) fn one(problem: Problem) -> Self {
        Self::Invalid(vec![problem])
    }

    /// The places that are wrong.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        match self {
            Self::Invalid(problems) => problems,
            _ => &[],
        }
    }

    /// The first line that is wrong.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        self.problems().iter().find_map(|problem| problem.line)
    }

    /// The first key that is wrong.
    #[must_use]
    pub fn key(&self) -> Option<&str> {
        match self {
            Self::NoSuchKey { key, .. } => Some(key),
            other => other.problems().iter().find_map(|problem| problem.key.as_deref()),
        }
    }
}

/// What was done to a key or a section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The line of the source that is affected; none for what is new.
    pub line: Option<usize>,
    /// The key, as in a [`Problem`], or a section.
    pub key: String,
    /// What was done.
    pub kind: ChangeKind,
}

/// What can be done to a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeKind {
    /// It has this value now.
    Set(String),
    /// It is no longer there.
    Removed,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        match &self.kind {
            ChangeKind::Set(value) => write!(f, "{} is now {value}", self.key),
            ChangeKind::Removed => write!(f, "{} is removed", self.key),
        }
    }
}

/// A configuration that was made.
#[derive(Clone, PartialEq, Eq)]
pub struct Transformed {
    /// What the manager reads. May hold secrets.
    pub text: Zeroizing<String>,
    /// How it differs from the source in what it says.
    pub changes: Vec<Change>,
    /// What a person should look at.
    pub warnings: Vec<Problem>,
}

impl Transformed {
    pub(super) fn unchanged(text: &str) -> Self {
        Self { text: Zeroizing::new(text.to_owned()), changes: Vec::new(), warnings: Vec::new() }
    }
}

impl fmt::Debug for Transformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transformed")
            .field("changes", &self.changes)
            .field("warnings", &self.warnings)
            .finish_non_exhaustive()
    }
}
