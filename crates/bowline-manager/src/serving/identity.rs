//! The identity of a caller: the result of authentication and the input of authorization.

use std::collections::BTreeMap;

/// The group of all authenticated users.
pub const AUTHENTICATED: &str = "system:authenticated";
/// The group of all users that are not authenticated.
pub const UNAUTHENTICATED: &str = "system:unauthenticated";
/// The group that is allowed everything.
pub const MASTERS: &str = "system:masters";

/// A user, as Kubernetes reviews describe one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct User {
    /// The unique name.
    pub name: String,
    /// Identifies the user across renames; empty if unknown.
    pub uid: String,
    /// The groups, in the order in which they were added.
    pub groups: Vec<String>,
    /// Additional attributes by lower-case key.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl User {
    /// Creates a user with a name and groups.
    #[must_use]
    pub fn new(name: impl Into<String>, groups: &[&str]) -> Self {
        let groups = groups.iter().map(|group| (*group).to_owned()).collect();
        Self { name: name.into(), groups, ..Self::default() }
    }

    /// The identity of a caller without credentials.
    #[must_use]
    pub fn anonymous() -> Self {
        Self::new("system:anonymous", &[UNAUTHENTICATED])
    }

    /// The identity of a caller with the loopback token, which only this process knows.
    #[must_use]
    pub fn loopback() -> Self {
        Self::new("system:apiserver", &[AUTHENTICATED, MASTERS])
    }

    /// Adds the user to `system:authenticated`, unless it is in that group or in `system:unauthenticated`.
    #[must_use]
    pub fn authenticated(mut self) -> Self {
        if !self.is_member_of(AUTHENTICATED) && !self.is_member_of(UNAUTHENTICATED) {
            self.groups.push(AUTHENTICATED.to_owned());
        }
        self
    }

    /// Whether the user is authenticated.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.is_member_of(AUTHENTICATED)
    }

    /// Whether the user is in `group`.
    #[must_use]
    pub fn is_member_of(&self, group: &str) -> bool {
        self.groups.iter().any(|member| member == group)
    }
}
