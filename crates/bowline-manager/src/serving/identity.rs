//! Who a request comes from: the value that authentication produces and authorization judges.

use std::collections::BTreeMap;

/// Group of everyone who proved who they are.
pub const AUTHENTICATED: &str = "system:authenticated";
/// Group of everyone who did not.
pub const UNAUTHENTICATED: &str = "system:unauthenticated";
/// Group that may do everything.
pub const MASTERS: &str = "system:masters";

/// A user, as Kubernetes reviews describe one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct User {
    /// Unique name.
    pub name: String,
    /// Identity across renames; empty if unknown.
    pub uid: String,
    /// Groups, in the order they were learnt.
    pub groups: Vec<String>,
    /// Further attributes, by lower-case key.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl User {
    /// A user with a name and groups.
    #[must_use]
    pub fn new(name: impl Into<String>, groups: &[&str]) -> Self {
        let groups = groups.iter().map(|group| (*group).to_owned()).collect();
        Self { name: name.into(), groups, ..Self::default() }
    }

    /// Who asks without presenting anything.
    #[must_use]
    pub fn anonymous() -> Self {
        Self::new("system:anonymous", &[UNAUTHENTICATED])
    }

    /// Who asks with the token only this process knows.
    #[must_use]
    pub fn loopback() -> Self {
        Self::new("system:apiserver", &[AUTHENTICATED, MASTERS])
    }

    /// The same user as a member of `system:authenticated`.
    #[must_use]
    pub fn authenticated(mut self) -> Self {
        if !self.is_member_of(AUTHENTICATED) && !self.is_member_of(UNAUTHENTICATED) {
            self.groups.push(AUTHENTICATED.to_owned());
        }
        self
    }

    /// Whether the user proved who they are.
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
