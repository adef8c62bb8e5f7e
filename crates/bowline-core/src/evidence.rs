//! Evidence of existence (safety rail SR-1): an object is present, is proven absent, or its state is unknown.
//!
//! Only [`Evidence::Absent`] can justify a deletion, and it requires a proof.

use std::fmt;
use std::time::Duration;

use crate::{CloudError, ErrorClass};

/// What is known about one object in the cloud.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Evidence<T> {
    /// The object exists, with these values.
    Present(T),
    /// The object does not exist, with the proof.
    Absent(Proof),
    /// It is unknown whether the object exists. Nothing may be deleted because of this.
    Unknown(Doubt),
}

/// Proof of absence: which API said so, about which id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proof {
    said: String,
}

impl Proof {
    /// `said` names the API and the id: "Nova answered 404 for server 8f1… (request id req-…)".
    ///
    /// Failed authentication, an error page of a proxy, a timeout, or a list that may be truncated are no proof.
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

/// Why it is unknown whether an object exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doubt {
    /// The class of the error that caused it.
    pub class: ErrorClass,
    /// What was requested and what the cloud answered.
    pub why: String,
    /// The `Retry-After` of the cloud, if it sent one.
    pub retry_after: Option<Duration>,
}

impl Doubt {
    /// A reason that may pass with time, such as a timeout.
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
    /// Maps the value of `Present`; the other variants stay unchanged.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Evidence<U> {
        match self {
            Self::Present(thing) => Evidence::Present(change(thing)),
            Self::Absent(proof) => Evidence::Absent(proof),
            Self::Unknown(doubt) => Evidence::Unknown(doubt),
        }
    }

    /// Borrows the value of `Present`.
    pub fn as_ref(&self) -> Evidence<&T> {
        match self {
            Self::Present(thing) => Evidence::Present(thing),
            Self::Absent(proof) => Evidence::Absent(proof.clone()),
            Self::Unknown(doubt) => Evidence::Unknown(doubt.clone()),
        }
    }

    /// `Some` if the object is present, `None` if it is absent, an error if that is unknown. Planners take this result, so they never plan for
    /// the unknown.
    ///
    /// # Errors
    ///
    /// The [`Doubt`], if it is unknown whether the object exists.
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
