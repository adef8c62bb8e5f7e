//! What a command is about: `svc/NAME` or `node/NAME`, as kubectl writes it. Pure.

use std::fmt;
use std::str::FromStr;

/// A Service or a Node, by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A Service.
    Service(String),
    /// A Node.
    Node(String),
}

/// Neither.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("wanted svc/NAME or node/NAME, found {0:?}")]
pub struct NoTarget(String);

impl FromStr for Target {
    type Err = NoTarget;

    fn from_str(text: &str) -> Result<Self, NoTarget> {
        let no_target = || NoTarget(text.to_owned());
        let (kind, name) = text.split_once('/').ok_or_else(no_target)?;
        if name.is_empty() || name.contains('/') {
            return Err(no_target());
        }
        match kind.to_ascii_lowercase().as_str() {
            "svc" | "service" | "services" => Ok(Self::Service(name.to_owned())),
            "no" | "node" | "nodes" => Ok(Self::Node(name.to_owned())),
            _ => Err(no_target()),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Service(name) => write!(f, "svc/{name}"),
            Self::Node(name) => write!(f, "node/{name}"),
        }
    }
}

/// A Service alone, where a Node would make no sense.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceTarget(pub String);

impl FromStr for ServiceTarget {
    type Err = NoTarget;

    fn from_str(text: &str) -> Result<Self, NoTarget> {
        match text.parse()? {
            Target::Service(name) => Ok(Self(name)),
            Target::Node(_) => Err(NoTarget(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_written_as_for_kubectl() {
        for text in ["svc/web", "service/web", "Services/web"] {
            assert_eq!(text.parse(), Ok(Target::Service("web".into())), "{text}");
        }
        assert_eq!("node/n1".parse(), Ok(Target::Node("n1".into())));
        for text in ["web", "svc/", "pod/x", "svc/a/b", ""] {
            assert!(text.parse::<Target>().is_err(), "{text}");
        }
        assert!("node/n1".parse::<ServiceTarget>().is_err());
    }
}
