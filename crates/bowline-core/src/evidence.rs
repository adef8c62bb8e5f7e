//! Existence is evidence (safety rail SR-1): something is there, is proven gone, or we do not know.
//!
//! Only [`Evidence::Absent`] may ever justify a deletion, and it takes a proof to say it.

use std::fmt;
use std::time::Duration;

use crate::{CloudError, ErrorClass};

/// What is known about one thing in the cloud.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Evidence<T> {
    /// It is there, and this is it.
    Present(T),
    /// It is gone, and this is the proof.
    Absent(Proof),
    /// Nobody can say: nothing may be concluded and nothing deleted.
    Unknown(Doubt),
}

/// A positive, provider-native proof of absence: which authority said so, about which id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proof {
    said: String,
}

impl Proof {
    /// `said` names the authority and the id: "Nova answered 404 for server 8f1… (request id req-…)".
    ///
    /// Failed authentication, an error page of a proxy, a time-out or a list that may be cut short prove nothing.
    #[must_use]
    pub fn new(said: impl Into<String>) -> Self {
        Self { said: said.into() }
    }
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.said)
    }
}

/// Why nobody can say whether a thing exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doubt {
    /// The class of the failure behind it.
    pub class: ErrorClass,
    /// What was tried and what came back.
    pub why: String,
    /// When the cloud asked to be asked again.
    pub retry_after: Option<Duration>,
}

impl Doubt {
    /// A doubt that time may resolve.
    #[must_use]
    pub fn new(why: impl Into<String>) -> Self {
        Self { class: ErrorClass::Transient, why: why.into(), retry_after: None }
    }
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl From<&CloudError> for Doubt {
    fn from(error: &CloudError) -> Self {
        Self { class: error.class(), why: error.to_string(), retry_after: error.asked_to_wait() }
    }
}

impl<T> From<CloudError> for Evidence<T> {
    /// An error is never proof of absence, not even one of class "not found".
    fn from(error: CloudError) -> Self {
        Self::Unknown(Doubt::from(&error))
    }
}

impl<T> Evidence<T> {
    /// Changes what is present; absence and doubt stay what they are.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Evidence<U> {
        match self {
            Self::Present(thing) => Evidence::Present(change(thing)),
            Self::Absent(proof) => Evidence::Absent(proof),
            Self::Unknown(doubt) => Evidence::Unknown(doubt),
        }
    }

    /// Borrows what is present.
    pub fn as_ref(&self) -> Evidence<&T> {
        match self {
            Self::Present(thing) => Evidence::Present(thing),
            Self::Absent(proof) => Evidence::Absent(proof.clone()),
            Self::Unknown(doubt) => Evidence::Unknown(doubt.clone()),
        }
    }

    /// `Some` or `None` if it is known, an error if it is not: the only way into a planner, which never sees doubt.
    ///
    /// # Errors
    ///
    /// The [`Doubt`], if the thing's existence is unknown.
    pub fn known(self) -> Result<Option<T>, Doubt> {
        match self {
            Self::Present(thing) => Ok(Some(thing)),
            Self::Absent(_) => Ok(None),
            Self::Unknown(doubt) => Err(doubt),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_never_becomes_proof_of_absence() {
        for class in [ErrorClass::NotFound, ErrorClass::Unauthenticated, ErrorClass::Transient] {
            let evidence: Evidence<()> = CloudError::new(class, "no").into();
            assert!(matches!(evidence, Evidence::Unknown(Doubt { class: kept, .. }) if kept == class));
        }
    }

    #[test]
    fn doubt_does_not_reach_a_planner() {
        assert_eq!(Evidence::Present(1).known(), Ok(Some(1)));
        assert_eq!(Evidence::<u8>::Absent(Proof::new("Nova said 404")).known(), Ok(None));
        assert!(Evidence::<u8>::Unknown(Doubt::new("time-out")).known().is_err());
    }
}
